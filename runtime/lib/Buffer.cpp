// Device memory.
#include "attnc/Runtime/Buffer.h"

#include "StatusFormat.h"
#include "StatusMapping.h"

#include <utility>

namespace attnc::rt {

Result<Buffer> Buffer::allocate(std::shared_ptr<Device> device, std::size_t bytes) {
  Buffer buffer(device);
  buffer.bytes = bytes;
  if (bytes == 0)
    return buffer;
  const ContextGuard guard(*device);
  if (!guard.status().ok())
    return guard.status();
  const cuda::CUresult result = device->api().cuMemAlloc(&buffer.pointer, bytes);
  if (result == cuda::success)
    return buffer;
  buffer.pointer = 0;
  const Status status =
      driverStatus(device->api(), result, "cuMemAlloc", {{}, device->properties().sm});
  if (Result<Device::MemoryInfo> memory = device->memoryInfo())
    return Status(status.code(),
                  fmt::format("{}; asked for {} bytes, {} of {} are free", status.message(), bytes,
                              memory->freeBytes, memory->totalBytes));
  return status;
}

Buffer::Buffer(Buffer &&other) noexcept
    : owner(std::move(other.owner)), pointer(std::exchange(other.pointer, 0)),
      bytes(std::exchange(other.bytes, 0)) {}

Buffer::~Buffer() {
  if (!pointer)
    return;
  const ContextGuard guard(*owner);
  owner->api().cuMemFree(pointer);
}

Status Buffer::checkRange(std::size_t offset, std::size_t count) const {
  if (offset > bytes || count > bytes - offset)
    return invalidArgument("copy of {} bytes at {} leaves a buffer of {}", count, offset, bytes);
  return {};
}

Status Buffer::upload(const void *source, std::size_t count, const Stream &stream,
                      std::size_t offset) const {
  if (Status status = checkRange(offset, count); !status.ok() || count == 0)
    return status;
  const ContextGuard guard(*owner);
  if (!guard.status().ok())
    return guard.status();
  return driverStatus(
      owner->api(),
      owner->api().cuMemcpyHtoDAsync(pointer + offset, source, count, stream.handle()),
      "cuMemcpyHtoDAsync", {{}, owner->properties().sm});
}

Status Buffer::download(void *target, std::size_t count, const Stream &stream,
                        std::size_t offset) const {
  if (Status status = checkRange(offset, count); !status.ok() || count == 0)
    return status;
  const ContextGuard guard(*owner);
  if (!guard.status().ok())
    return guard.status();
  return driverStatus(
      owner->api(),
      owner->api().cuMemcpyDtoHAsync(target, pointer + offset, count, stream.handle()),
      "cuMemcpyDtoHAsync", {{}, owner->properties().sm});
}

Status Buffer::fill(unsigned char value, const Stream &stream) const {
  if (bytes == 0)
    return {};
  const ContextGuard guard(*owner);
  if (!guard.status().ok())
    return guard.status();
  return driverStatus(owner->api(),
                      owner->api().cuMemsetD8Async(pointer, value, bytes, stream.handle()),
                      "cuMemsetD8Async", {{}, owner->properties().sm});
}

} // namespace attnc::rt
