// Running on GPU 0 through the runtime: the same path that a serving engine takes.
#include "Messages.h"
#include "PackageBuilder.h"
#include "Runner.h"

#include "attnc/Runtime/Buffer.h"
#include "attnc/Runtime/Executable.h"
#include "attnc/Runtime/Plan.h"
#include "attnc/Support/ExitCodes.h"

#include <list>

namespace attnc::cli {

static constexpr uint64_t kWorkspaceGuard = 4096;

namespace {
/// Everything one run needs on the device; lives until the results are back.
class GpuRun {
public:
  GpuRun(const Spec &spec, const Problem &problem, std::map<std::string, HostTensor> &outputs)
      : spec(spec), problem(problem), outputs(outputs) {}

  rt::Status run(const rt::Package &package, int64_t splits, RunFacts &facts);

private:
  /// Uploads the tensor's whole storage, guards included, and binds the view.
  rt::Status bind(const std::string &name, const HostTensor &tensor, bool output);
  rt::ProblemSizes sizes(int64_t splits) const;
  rt::Status launch(const rt::Plan &plan, RunFacts &facts);
  rt::Status fetch(const rt::Buffer &workspace, uint64_t workspaceBytes, RunFacts &facts);

  const Spec &spec;
  const Problem &problem;
  std::map<std::string, HostTensor> &outputs;
  std::shared_ptr<rt::Device> device;
  std::unique_ptr<rt::Stream> stream;
  struct Upload {
    std::string name;
    const HostTensor *tensor;
    rt::Buffer buffer;
  };
  std::list<Upload> uploads;
  std::vector<rt::TensorBinding> bindings;
};
} // namespace

rt::Status GpuRun::bind(const std::string &name, const HostTensor &tensor, bool output) {
  rt::Result<rt::Buffer> buffer = rt::Buffer::allocate(device, tensor.storage->size());
  if (!buffer.ok())
    return buffer.status().withContext(name);
  uploads.push_back({name, &tensor, std::move(*buffer)});
  const Upload &upload = uploads.back();
  if (rt::Status status =
          upload.buffer.upload(tensor.storage->data(), tensor.storage->size(), *stream);
      !status.ok())
    return status;
  rt::TensorView view;
  uint64_t offset = static_cast<uint64_t>(tensor.offset * dtypeSize(tensor.dtype));
  view.address = upload.buffer.address() + offset;
  view.dtype = runtimeDType(tensor.dtype);
  view.rank = static_cast<int>(tensor.rank());
  for (int d = 0; d < view.rank; ++d) {
    view.shape[d] = tensor.shape[d];
    view.strides[d] = tensor.strides[d];
  }
  // An output ends where its guard zone begins, which is as long as the one in front of it.
  view.extentBytes = tensor.storage->size() - offset - (output ? offset : 0);
  bindings.push_back({upload.name, view});
  return {};
}

rt::ProblemSizes GpuRun::sizes(int64_t splits) const {
  const ProblemShape &shape = problem.shape;
  rt::ProblemSizes result;
  result.batch = shape.batch;
  result.maxLenQ = shape.maxQ;
  result.maxLenKv = shape.maxKv;
  result.splits = splits;
  result.pages = shape.pages;
  result.maxPages = shape.maxPages;
  if (spec.seq == SpecSeq::Varlen) {
    result.totalQ = shape.totalQ();
    result.totalKv = shape.totalKv();
    result.hostCuSeqlensQ = result.hostCuSeqlensKv = {0};
    for (int64_t length : shape.lensQ)
      result.hostCuSeqlensQ.push_back(result.hostCuSeqlensQ.back() + static_cast<int32_t>(length));
    for (int64_t length : shape.lensKv)
      result.hostCuSeqlensKv.push_back(result.hostCuSeqlensKv.back() +
                                       static_cast<int32_t>(length));
  }
  if (spec.seq == SpecSeq::KvLens)
    result.hostKvLens.assign(shape.lensKv.begin(), shape.lensKv.end());
  return result;
}

rt::Status GpuRun::launch(const rt::Plan &plan, RunFacts &facts) {
  uint64_t bytes = plan.workspaceBytes();
  rt::Result<rt::Buffer> workspace = rt::Buffer::allocate(device, bytes + 2 * kWorkspaceGuard);
  if (!workspace.ok())
    return workspace.status().withContext("workspace");
  if (rt::Status status = workspace->fill(0xff, *stream); !status.ok())
    return status;
  std::vector<rt::ScalarBinding> scalars;
  for (const auto &[name, value] : problem.scalars) {
    const SpecArg *arg = spec.findArg(llvm::StringRef(name).drop_front(4));
    if (arg && arg->dtype == DType::I32)
      scalars.emplace_back(name, static_cast<int64_t>(value));
    else
      scalars.emplace_back(name, value);
  }
  rt::Result<rt::Event> begin = rt::Event::create(device), end = rt::Event::create(device);
  if (!begin.ok() || !end.ok())
    return begin.ok() ? end.status() : begin.status();
  if (rt::Status status = begin->record(*stream); !status.ok())
    return status;
  if (rt::Status status =
          plan.run(bindings.data(), bindings.size(), scalars.data(), scalars.size(),
                   workspace->address() + kWorkspaceGuard, bytes, stream->handle());
      !status.ok())
    return status;
  if (rt::Status status = end->record(*stream); !status.ok())
    return status;
  if (rt::Status status = stream->synchronize(); !status.ok())
    return status;
  rt::Result<float> elapsed = end->elapsedSince(*begin);
  if (!elapsed.ok())
    return elapsed.status();
  facts.milliseconds = *elapsed;
  facts.workspaceBytes = static_cast<int64_t>(bytes);
  return fetch(*workspace, bytes, facts);
}

rt::Status GpuRun::fetch(const rt::Buffer &workspace, uint64_t workspaceBytes, RunFacts &facts) {
  for (const Upload &upload : uploads) {
    auto output = outputs.find(upload.name);
    if (output == outputs.end())
      continue;
    std::vector<uint8_t> &storage = *output->second.storage;
    if (rt::Status status = upload.buffer.download(storage.data(), storage.size(), *stream);
        !status.ok())
      return status;
  }
  std::vector<uint8_t> guards(2 * kWorkspaceGuard);
  for (uint64_t side : {uint64_t{0}, uint64_t{1}})
    if (rt::Status status = workspace.download(
            guards.data() + side * kWorkspaceGuard, kWorkspaceGuard, *stream,
            side * (kWorkspaceGuard + workspaceBytes));
        !status.ok())
      return status;
  if (rt::Status status = stream->synchronize(); !status.ok())
    return status;
  for (uint8_t byte : guards)
    facts.workspaceGuardsIntact &= byte == 0xff;
  return {};
}

rt::Status GpuRun::run(const rt::Package &package, int64_t splits, RunFacts &facts) {
  rt::Result<std::shared_ptr<rt::Device>> opened = rt::Device::open(0);
  if (!opened.ok())
    return opened.status();
  device = *opened;
  rt::Result<rt::Stream> created = rt::Stream::create(device);
  if (!created.ok())
    return created.status();
  stream = std::make_unique<rt::Stream>(std::move(*created));
  rt::Result<std::shared_ptr<rt::Executable>> executable = rt::Executable::load(device, package);
  if (!executable.ok())
    return executable.status();
  facts.where = device->properties().name + " (" + (*executable)->origin() + ")";
  rt::Result<rt::Plan> plan = rt::Plan::create(std::make_shared<const rt::Package>(package),
                                               *executable, sizes(splits));
  if (!plan.ok())
    return plan.status();
  facts.splits = plan->splits();
  for (const auto &[name, tensor] : problem.inputs)
    if (rt::Status status = bind(name, tensor, /*output=*/false); !status.ok())
      return status;
  for (const auto &[name, tensor] : outputs)
    if (rt::Status status = bind(name, tensor, /*output=*/true); !status.ok())
      return status;
  return launch(*plan, facts);
}

int runOnGpu(const Spec &spec, const TargetInfo &target, const TargetResult &result,
             const Problem &problem, std::map<std::string, HostTensor> &outputs, int64_t splits,
             RunFacts &facts) {
  rt::Result<rt::Package> package = buildPackage(spec, target, result);
  if (!package.ok())
    return report(package.status());
  rt::Status status = GpuRun(spec, problem, outputs).run(*package, splits, facts);
  if (status.ok())
    return kExitOk;
  int code = report(status);
  if (code == kExitEnvironment)
    note("the same spec runs on this CPU with --target host");
  return code;
}

} // namespace attnc::cli
