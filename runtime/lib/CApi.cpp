// The C interface: converts arguments, catches exceptions, keeps the last error of each thread.
#include "attnc/Runtime/attnc_rt.h"

#include "KernelAbi.h"
#include "StatusFormat.h"
#include "attnc/Runtime/Environment.h"
#include "attnc/Runtime/Executable.h"
#include "attnc/Runtime/Plan.h"

#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <new>

using namespace attnc::rt;

struct attnc_package {
  std::shared_ptr<const Package> package;
  std::string manifest;
};

struct attnc_kernel {
  std::shared_ptr<const Package> package;
  std::shared_ptr<Launcher> launcher; // Null for device -1.
};

struct attnc_plan {
  Plan plan;
};

static_assert(ATTNC_MAX_RANK == TensorView::maxRank, "one limit for both interfaces");
static_assert(int(DataType::F8E5M2) == ATTNC_F8E5M2, "one numbering for both interfaces");

namespace {

/// The last failure of each thread.
Status &lastError() {
  thread_local Status status;
  return status;
}

attnc_status codeOf(StatusCode code) {
  switch (code) {
  case StatusCode::Ok:
    return ATTNC_OK;
  case StatusCode::CompileFailed:
    return ATTNC_COMPILE_FAILED;
  case StatusCode::InvalidArgument:
    return ATTNC_INVALID_ARGUMENT;
  case StatusCode::Unsupported:
    return ATTNC_UNSUPPORTED;
  case StatusCode::Environment:
    return ATTNC_ENVIRONMENT;
  case StatusCode::OutOfMemory:
    return ATTNC_OUT_OF_MEMORY;
  default:
    return ATTNC_INTERNAL;
  }
}

/// Runs \p body, which returns a Status, at the border between C++ and C.
template <typename Body> attnc_status guarded(Body body) noexcept {
  try {
    Status status = body();
    if (status.ok())
      return ATTNC_OK;
    const attnc_status code = codeOf(status.code());
    lastError() = std::move(status);
    return code;
  } catch (const std::bad_alloc &) {
    // Making a long message could fail again; this one fits the string's own storage.
    lastError() = Status(StatusCode::OutOfMemory, "out of memory");
    return ATTNC_OUT_OF_MEMORY;
  } catch (const std::exception &error) {
    try {
      lastError() = Status(StatusCode::Internal, error.what());
    } catch (...) {
    }
    return ATTNC_INTERNAL;
  } catch (...) {
    return ATTNC_INTERNAL;
  }
}

Status nullArgument(const char *name) { return invalidArgument("argument '{}' is null", name); }

Status finishLoad(Result<Package> loaded, attnc_package **package) {
  if (!loaded)
    return loaded.status();
  Result<std::string> manifest = loaded->manifestJson();
  if (!manifest)
    return manifest.status();
  *package =
      new attnc_package{std::make_shared<const Package>(std::move(*loaded)), std::move(*manifest)};
  return {};
}

std::vector<std::int32_t> copyLengths(const std::int32_t *lengths, std::int64_t count) {
  return lengths && count > 0 ? std::vector<std::int32_t>(lengths, lengths + count)
                              : std::vector<std::int32_t>();
}

/// Fills \p bindings without allocating.
Status convertTensors(const attnc_tensor *tensors, std::size_t count, TensorBinding *bindings) {
  for (std::size_t i = 0; i < count; ++i) {
    const attnc_tensor &tensor = tensors[i];
    if (!tensor.name)
      return invalidArgument("tensors[{}].name is null", i);
    if (tensor.rank < 0 || tensor.rank > ATTNC_MAX_RANK)
      return invalidArgument("tensor '{}': {} dimensions; allowed are 0 to {}", tensor.name,
                             tensor.rank, ATTNC_MAX_RANK);
    bindings[i].name = tensor.name;
    TensorView &view = bindings[i].tensor;
    view.address = reinterpret_cast<std::uint64_t>(tensor.data);
    view.dtype = static_cast<DataType>(tensor.dtype);
    view.rank = tensor.rank;
    for (int d = 0; d < tensor.rank; ++d) {
      view.shape[std::size_t(d)] = tensor.shape[d];
      view.strides[std::size_t(d)] = tensor.strides[d];
    }
    view.extentBytes = tensor.extent_bytes;
  }
  return {};
}

} // namespace

const char *attnc_version(void) { return runtimeVersion(); }

const char *attnc_last_error(void) { return lastError().message().c_str(); }

const char *attnc_last_error_log(void) { return lastError().log().c_str(); }

const char *attnc_status_name(attnc_status status) {
  return statusCodeName(static_cast<StatusCode>(status));
}

attnc_status attnc_package_load_file(const char *path, attnc_package **package) {
  return guarded([&] {
    if (!path || !package)
      return nullArgument(path ? "package" : "path");
    return finishLoad(readPackage(path), package);
  });
}

attnc_status attnc_package_load_memory(const void *data, size_t size, attnc_package **package) {
  return guarded([&] {
    if (!data || !package)
      return nullArgument(data ? "package" : "data");
    return finishLoad(parsePackage({static_cast<const char *>(data), size}, "package in memory"),
                      package);
  });
}

const char *attnc_package_manifest(const attnc_package *package) {
  return package ? package->manifest.c_str() : "";
}

void attnc_package_destroy(attnc_package *package) { delete package; }

attnc_status attnc_kernel_create(const attnc_package *package, int device, attnc_kernel **kernel) {
  return guarded([&]() -> Status {
    if (!package || !kernel)
      return nullArgument(package ? "kernel" : "package");
    if (device < -1)
      return invalidArgument("device is {}; allowed are GPU ordinals from 0, and -1 for none",
                             device);
    std::shared_ptr<Launcher> launcher;
    if (device >= 0) {
      Result<std::shared_ptr<Device>> opened = Device::open(device);
      if (!opened)
        return opened.status();
      Result<std::shared_ptr<Executable>> loaded = Executable::load(*opened, *package->package);
      if (!loaded)
        return loaded.status();
      launcher = std::move(*loaded);
    }
    *kernel = new attnc_kernel{package->package, std::move(launcher)};
    return {};
  });
}

void attnc_kernel_destroy(attnc_kernel *kernel) { delete kernel; }

attnc_status attnc_plan_create(const attnc_kernel *kernel, const attnc_sizes *sizes,
                               attnc_plan **plan) {
  return guarded([&]() -> Status {
    if (!kernel || !sizes || !plan)
      return nullArgument(!kernel ? "kernel" : !sizes ? "sizes" : "plan");
    if (sizes->struct_size != sizeof(attnc_sizes))
      return invalidArgument("sizes.struct_size is {}, this runtime's is {}; begin with "
                             "ATTNC_SIZES_INIT",
                             sizes->struct_size, sizeof(attnc_sizes));
    // Before copying as many host lengths; the plan checks the rest.
    if (sizes->batch < 0 || sizes->batch > (std::int64_t(1) << 31) - 1)
      return invalidArgument("size batch is {}; allowed are 0 to 2147483647", sizes->batch);
    ProblemSizes converted;
    converted.batch = sizes->batch;
    converted.maxLenQ = sizes->max_len_q;
    converted.maxLenKv = sizes->max_len_kv;
    converted.splits = sizes->splits;
    converted.totalQ = sizes->total_q;
    converted.totalKv = sizes->total_kv;
    converted.pages = sizes->pages;
    converted.maxPages = sizes->max_pages;
    converted.hostKvLens = copyLengths(sizes->host_kv_lens, sizes->batch);
    converted.hostCuSeqlensQ = copyLengths(sizes->host_cu_seqlens_q, sizes->batch + 1);
    converted.hostCuSeqlensKv = copyLengths(sizes->host_cu_seqlens_kv, sizes->batch + 1);
    Result<Plan> created = Plan::create(kernel->package, kernel->launcher, converted);
    if (!created)
      return created.status();
    *plan = new attnc_plan{std::move(*created)};
    return {};
  });
}

attnc_status attnc_plan_workspace_size(const attnc_plan *plan, size_t *bytes) {
  return guarded([&]() -> Status {
    if (!plan || !bytes)
      return nullArgument(plan ? "bytes" : "plan");
    *bytes = plan->plan.workspaceBytes();
    return {};
  });
}

attnc_status attnc_plan_splits(const attnc_plan *plan, int64_t *splits) {
  return guarded([&]() -> Status {
    if (!plan || !splits)
      return nullArgument(plan ? "splits" : "plan");
    *splits = plan->plan.splits();
    return {};
  });
}

attnc_status attnc_plan_run(const attnc_plan *plan, const attnc_tensor *tensors,
                            size_t tensor_count, const attnc_scalar *scalars, size_t scalar_count,
                            void *workspace, size_t workspace_bytes, void *stream) {
  return guarded([&]() -> Status {
    if (!plan || (!tensors && tensor_count) || (!scalars && scalar_count))
      return nullArgument(!plan ? "plan" : !tensors && tensor_count ? "tensors" : "scalars");
    constexpr std::size_t limit = 64;
    if (tensor_count > limit || scalar_count > limit)
      return invalidArgument("{} tensors and {} scalars; at most {} of each can be bound",
                             tensor_count, scalar_count, limit);
    TensorBinding tensorBindings[limit];
    if (Status status = convertTensors(tensors, tensor_count, tensorBindings); !status.ok())
      return status;
    // No default constructor: a scalar is one kind or the other.
    alignas(ScalarBinding) unsigned char storage[limit * sizeof(ScalarBinding)];
    auto *scalarBindings = reinterpret_cast<ScalarBinding *>(storage);
    for (std::size_t i = 0; i < scalar_count; ++i) {
      if (!scalars[i].name)
        return invalidArgument("scalars[{}].name is null", i);
      if (scalars[i].is_float)
        new (&scalarBindings[i]) ScalarBinding(scalars[i].name, scalars[i].real);
      else
        new (&scalarBindings[i]) ScalarBinding(scalars[i].name, scalars[i].integer);
    }
    return plan->plan.run(tensorBindings, tensor_count, scalarBindings, scalar_count,
                          reinterpret_cast<std::uint64_t>(workspace), workspace_bytes, stream);
  });
}

void attnc_plan_destroy(attnc_plan *plan) { delete plan; }

attnc_status attnc_environment_json(char **json) {
  return guarded([&]() -> Status {
    if (!json)
      return nullArgument("json");
    const std::string text = environmentJson();
    char *copy = static_cast<char *>(std::malloc(text.size() + 1));
    if (!copy)
      return Status(StatusCode::OutOfMemory, "out of memory");
    std::memcpy(copy, text.c_str(), text.size() + 1);
    *json = copy;
    return {};
  });
}

void attnc_string_free(char *text) { std::free(text); }
