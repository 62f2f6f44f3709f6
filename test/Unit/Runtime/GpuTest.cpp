// Everything that needs a GPU: skipped, with the reason, where there is none. The kernels are small
// PTX texts; attention itself is tested elsewhere.
#include "TestPackages.h"
#include "attnc/Runtime/Assemble.h"
#include "attnc/Runtime/Buffer.h"
#include "attnc/Runtime/Executable.h"
#include "attnc/Runtime/Nvrtc.h"
#include "attnc/Runtime/Plan.h"
#include "attnc/Runtime/Stream.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

using namespace attnc::rt;
using namespace attnc::rt::testing;

namespace {

/// `fill(o: pointer and three strides, batch, arg.value)`: block b writes the value (as f32) to
/// o[b, 0, 0, thread]. Dynamic shared memory is touched at its end.
std::string fillPtx(std::int64_t sharedBytes) {
  return R"(.version 7.0
.target sm_80
.address_size 64
.extern .shared .align 16 .b8 scratch[];
.visible .entry fill(.param .u64 o, .param .u64 s0, .param .u64 s1, .param .u64 s2,
                     .param .u32 batch, .param .f32 value)
{
  .reg .b64 %rd<8>;
  .reg .b32 %r<6>;
  .reg .f32 %f<4>;
  .reg .pred %p;
  mov.u32 %r1, %ctaid.x;
  ld.param.u32 %r2, [batch];
  setp.ge.u32 %p, %r1, %r2;
  @%p trap;
  ld.param.u64 %rd1, [o];
  ld.param.u64 %rd2, [s0];
  ld.param.f32 %f1, [value];
  mov.u32 %r3, %tid.x;
  cvt.u64.u32 %rd3, %r1;
  mul.lo.u64 %rd3, %rd3, %rd2;
  cvt.u64.u32 %rd4, %r3;
  add.u64 %rd3, %rd3, %rd4;
  shl.b64 %rd3, %rd3, 2;
  add.u64 %rd5, %rd1, %rd3;
  mov.u32 %r4, scratch;
  st.shared.f32 [%r4+)" +
         std::to_string(sharedBytes - 4) + R"(], %f1;
  ld.shared.f32 %f2, [%r4+)" +
         std::to_string(sharedBytes - 4) + R"(];
  st.global.f32 [%rd5], %f2;
  ret;
}
)";
}

/// A package around fillPtx: o is [batch, 1, 1, 32] f32.
Package fillPackage(std::int64_t sharedBytes = 96 << 10) {
  Package package = prefillPackage();
  package.name = "fill";
  package.problem.headsQ = package.problem.headsKv = 1;
  package.problem.dimV = 32;
  package.problem.o = DataType::F32;
  package.problem.outputs = {"o"};
  KernelDesc kernel;
  kernel.entry = "fill";
  kernel.block = 32;
  kernel.sharedBytes = sharedBytes;
  kernel.grid = Expression::symbol("batch");
  kernel.params = {tensorParam("o", DataType::F32, 4), scalarParam("batch", ParamKind::I32),
                   scalarParam("arg.value", ParamKind::F32)};
  package.kernels = {kernel};
  package.blobs = {{"ptx", fillPtx(sharedBytes)}};
  return package;
}

class GpuTest : public ::testing::Test {
protected:
  void SetUp() override {
    Result<int> count = Device::count();
    if (!count)
      GTEST_SKIP() << count.status().message();
    if (*count == 0)
      GTEST_SKIP() << "the driver sees no GPU";
    Result<std::shared_ptr<Device>> opened = Device::open(0);
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    device = *opened;
  }

  /// A plan of fillPackage() for \p batch rows.
  Result<Plan> fillPlan(std::int64_t batch) {
    Result<std::shared_ptr<Executable>> loaded = Executable::load(device, fillPackage());
    if (!loaded)
      return loaded.status();
    ProblemSizes sizes;
    sizes.batch = batch;
    sizes.maxLenQ = 1;
    return Plan::create(std::make_shared<const Package>(fillPackage()), *loaded, sizes);
  }

  std::shared_ptr<Device> device;
};

TensorView rows(const Buffer &buffer, std::int64_t batch) {
  return TensorView::contiguous(buffer.address(), DataType::F32, {batch, 1, 1, 32});
}

TEST_F(GpuTest, PropertiesAreFilled) {
  const DeviceProperties &props = device->properties();
  EXPECT_FALSE(props.name.empty());
  EXPECT_TRUE(isTargetName(props.sm)) << props.sm;
  EXPECT_GT(props.multiprocessors, 0);
  EXPECT_GE(props.sharedOptinBytes, 48 << 10);
  EXPECT_GE(props.driverVersion, 12000);
  Result<Device::MemoryInfo> memory = device->memoryInfo();
  ASSERT_TRUE(memory.ok());
  EXPECT_GT(memory->freeBytes, 0);
  EXPECT_FALSE(Device::open(1000).ok());
}

TEST_F(GpuTest, PlanRunsAndWritesNothingElse) {
  constexpr std::int64_t batch = 70000; // More than a second grid dimension could hold.
  Result<Plan> plan = fillPlan(batch);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  Result<Stream> stream = Stream::create(device);
  ASSERT_TRUE(stream.ok());
  constexpr std::size_t values = batch * 32, guard = 64;
  Result<Buffer> buffer = Buffer::allocate(device, (values + guard) * 4);
  ASSERT_TRUE(buffer.ok());
  ASSERT_TRUE(buffer->fill(0xff, *stream).ok());
  const Status status =
      plan->run({{"o", rows(*buffer, batch)}}, {{"arg.value", 2.5}}, 0, 0, stream->handle());
  ASSERT_TRUE(status.ok()) << status.message();
  std::vector<float> host(values + guard);
  ASSERT_TRUE(buffer->download(host.data(), host.size() * 4, *stream).ok());
  ASSERT_TRUE(stream->synchronize().ok());
  for (std::size_t i = 0; i < values; ++i)
    ASSERT_EQ(host[i], 2.5f) << i;
  for (std::size_t i = values; i < values + guard; ++i) {
    std::uint32_t bits;
    std::memcpy(&bits, &host[i], 4);
    ASSERT_EQ(bits, 0xffffffffu) << "guard " << i - values;
  }
}

TEST_F(GpuTest, A9_TheCallersContextIsLeftAsItWas) {
  const cuda::DriverApi &api = device->api();
  cuda::CUcontext before = nullptr, after = nullptr;
  ASSERT_EQ(api.cuCtxGetCurrent(&before), cuda::success);
  Result<Plan> plan = fillPlan(4);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  Result<Stream> stream = Stream::create(device);
  Result<Buffer> buffer = Buffer::allocate(device, 4 * 32 * 4);
  ASSERT_TRUE(stream.ok() && buffer.ok());
  ASSERT_TRUE(
      plan->run({{"o", rows(*buffer, 4)}}, {{"arg.value", 1.0}}, 0, 0, stream->handle()).ok());
  ASSERT_TRUE(stream->synchronize().ok());
  ASSERT_EQ(api.cuCtxGetCurrent(&after), cuda::success);
  EXPECT_EQ(before, after);
}

TEST_F(GpuTest, RunIsCapturedAndReplayed) {
  Result<Plan> plan = fillPlan(8);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  Result<Stream> stream = Stream::create(device);
  Result<Buffer> buffer = Buffer::allocate(device, 8 * 32 * 4);
  ASSERT_TRUE(stream.ok() && buffer.ok());
  Result<Graph> graph = Graph::capture(*stream, [&] {
    return plan->run({{"o", rows(*buffer, 8)}}, {{"arg.value", 7.0}}, 0, 0, stream->handle());
  });
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  Result<Event> begin = Event::create(device), end = Event::create(device);
  ASSERT_TRUE(begin.ok() && end.ok());
  for (int replay = 0; replay < 3; ++replay) {
    std::vector<float> host(8 * 32);
    ASSERT_TRUE(buffer->fill(0xff, *stream).ok());
    ASSERT_TRUE(begin->record(*stream).ok());
    ASSERT_TRUE(graph->launch(*stream).ok());
    ASSERT_TRUE(end->record(*stream).ok());
    ASSERT_TRUE(buffer->download(host.data(), host.size() * 4, *stream).ok());
    ASSERT_TRUE(stream->synchronize().ok());
    for (float value : host)
      ASSERT_EQ(value, 7.0f);
    Result<float> elapsed = end->elapsedSince(*begin);
    ASSERT_TRUE(elapsed.ok());
    EXPECT_GE(*elapsed, 0.0f);
  }
  // A failing enqueue is reported and leaves the stream usable.
  EXPECT_EQ(Graph::capture(*stream, [] { return Status(StatusCode::Unsupported, "no"); })
                .status()
                .message(),
            "no");
  EXPECT_TRUE(stream->synchronize().ok());
}

TEST_F(GpuTest, TooMuchSharedMemoryIsRefusedWithBothFigures) {
  const std::int64_t tooMuch = device->properties().sharedOptinBytes + 16;
  const Status status = Executable::load(device, fillPackage(tooMuch)).status();
  EXPECT_EQ(status.code(), StatusCode::Unsupported);
  EXPECT_NE(status.message().find(std::to_string(tooMuch)), std::string::npos) << status.message();
  EXPECT_NE(status.message().find(std::to_string(tooMuch - 16)), std::string::npos);
}

TEST_F(GpuTest, J12_AnotherArchitectureIsRefused) {
  Package package = fillPackage();
  package.target = device->properties().sm == "sm_100" ? "sm_90a" : "sm_100a";
  const Status status = Executable::load(device, package).status();
  EXPECT_EQ(status.code(), StatusCode::Unsupported);
  EXPECT_NE(status.message().find("--target " + device->properties().sm), std::string::npos);
}

TEST_F(GpuTest, J15_PtxNewerThanTheDriverNamesBothVersions) {
  std::string ptx = fillPtx(1024);
  ptx.replace(ptx.find("7.0"), 3, "99.0");
  const Status status = Module::load(device, ptx, "future").status();
  EXPECT_EQ(status.code(), StatusCode::Unsupported) << status.message();
  EXPECT_NE(status.message().find("PTX ISA 99.0, driver for CUDA"), std::string::npos)
      << status.message();
}

TEST_F(GpuTest, TheDriverAssembles) {
  AssembleOptions options;
  options.use = Assembler::Driver;
  options.keepRejectedPtx = false;
  Result<AssembleResult> result = assemble(fillPtx(1024), device->properties().sm, options);
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_EQ(result->cubin.substr(0, 4), "\x7f"
                                        "ELF");
  std::string broken = fillPtx(1024);
  broken.replace(broken.find("ld.param.u64"), 12, "ld.param.foo");
  const Status status = assemble(broken, device->properties().sm, options).status();
  EXPECT_EQ(status.code(), StatusCode::CompileFailed) << status.message();
  EXPECT_NE(status.message().find("foo"), std::string::npos) << status.message();
}

TEST_F(GpuTest, CudaSourceRunsThroughTheSameInterface) {
  const std::string target =
      device->properties().sm == "sm_90" ? "sm_90a" : device->properties().sm;
  Result<NvrtcResult> compiled =
      compileCuda("extern \"C\" __global__ void twice(float *p) { p[threadIdx.x] *= 2; }", target);
  if (!compiled && compiled.status().code() == StatusCode::Environment)
    GTEST_SKIP() << compiled.status().message();
  ASSERT_TRUE(compiled.ok()) << compiled.status().message();
  Result<std::shared_ptr<Module>> module = Module::load(device, compiled->assembled.cubin, "twice");
  ASSERT_TRUE(module.ok()) << module.status().message();
  Result<Kernel> kernel = (*module)->kernel("twice", 0);
  ASSERT_TRUE(kernel.ok()) << kernel.status().message();
  EXPECT_GT(kernel->registers(), 0);
  Result<int> blocks = kernel->occupancy(32, 0);
  ASSERT_TRUE(blocks.ok());
  EXPECT_GT(*blocks, 0);
  Result<Stream> stream = Stream::create(device);
  Result<Buffer> buffer = Buffer::allocate(device, 4 * 4);
  ASSERT_TRUE(stream.ok() && buffer.ok());
  float host[4] = {1, 2, 3, 4};
  ASSERT_TRUE(buffer->upload(host, sizeof host, *stream).ok());
  std::uint64_t address = buffer->address();
  void *params[] = {&address};
  ASSERT_TRUE(kernel->launch(1, 4, 0, params, stream->handle()).ok());
  ASSERT_TRUE(buffer->download(host, sizeof host, *stream).ok());
  ASSERT_TRUE(stream->synchronize().ok());
  EXPECT_EQ(host[3], 8.0f);
  EXPECT_TRUE(kernel->launch(0, 4, 0, params, stream->handle()).ok());
  EXPECT_EQ(kernel->launch(std::int64_t(1) << 31, 4, 0, params, stream->handle()).code(),
            StatusCode::InvalidArgument);
  EXPECT_FALSE((*module)->kernel("missing", 0).ok());
}

TEST_F(GpuTest, AllocationErrorsSayWhatIsFree) {
  const Status status = Buffer::allocate(device, std::size_t(1) << 46).status();
  EXPECT_EQ(status.code(), StatusCode::OutOfMemory);
  EXPECT_NE(status.message().find("are free"), std::string::npos) << status.message();
  Result<Buffer> small = Buffer::allocate(device, 16);
  Result<Stream> stream = Stream::create(device);
  ASSERT_TRUE(small.ok() && stream.ok());
  char bytes[32] = {};
  EXPECT_EQ(small->upload(bytes, 32, *stream).code(), StatusCode::InvalidArgument);
  EXPECT_EQ(small->download(bytes, 1, *stream, 16).code(), StatusCode::InvalidArgument);
  EXPECT_EQ(Buffer::allocate(device, 0)->address(), 0u);
}

// Last: a fault ends the context's life.
TEST_F(GpuTest, ZAFaultIsReportedAtTheNextSynchronisation) {
  Result<Plan> plan = fillPlan(4);
  ASSERT_TRUE(plan.ok());
  Result<Stream> stream = Stream::create(device);
  ASSERT_TRUE(stream.ok());
  TensorView nowhere = TensorView::contiguous(0x10, DataType::F32, {4, 1, 1, 32});
  ASSERT_TRUE(plan->run({{"o", nowhere}}, {{"arg.value", 1.0}}, 0, 0, stream->handle()).ok());
  const Status status = stream->synchronize();
  EXPECT_EQ(status.code(), StatusCode::Internal);
  EXPECT_NE(status.message().find("CUDA_ERROR_ILLEGAL_ADDRESS"), std::string::npos)
      << status.message();
}

} // namespace
