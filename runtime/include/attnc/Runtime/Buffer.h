// Device memory with one owner, and copies to and from it. For tools and tests: launches themselves
// never allocate.
#ifndef ATTNC_RUNTIME_BUFFER_H
#define ATTNC_RUNTIME_BUFFER_H

#include "attnc/Runtime/Stream.h"

#include <cstddef>
#include <cstdint>
#include <memory>

namespace attnc::rt {

class Buffer {
public:
  /// Allocates \p bytes, at least 256-byte aligned; 0 bytes give a buffer with a null address.
  /// \returns OutOfMemory with what was asked for and what is free.
  static Result<Buffer> allocate(std::shared_ptr<Device> device, std::size_t bytes);
  Buffer(Buffer &&other) noexcept;
  Buffer &operator=(Buffer &&) = delete;
  ~Buffer();

  std::uint64_t address() const { return pointer; }
  std::size_t size() const { return bytes; }

  /// Copies, ordered in \p stream; host memory must stay valid until the stream got there.
  /// \returns InvalidArgument if the range leaves the buffer.
  Status upload(const void *source, std::size_t count, const Stream &stream,
                std::size_t offset = 0) const;
  Status download(void *target, std::size_t count, const Stream &stream,
                  std::size_t offset = 0) const;
  /// Sets every byte: 0xff poisons floating-point tensors with NaN.
  Status fill(unsigned char value, const Stream &stream) const;

private:
  Buffer(std::shared_ptr<Device> device) : owner(std::move(device)) {}
  Status checkRange(std::size_t offset, std::size_t count) const;

  std::shared_ptr<Device> owner;
  std::uint64_t pointer = 0;
  std::size_t bytes = 0;
};

} // namespace attnc::rt

#endif // ATTNC_RUNTIME_BUFFER_H
