// Accuracy of the expanded f32 functions, through the whole pipeline.
#include "HostTesting.h"

#include <cstring>

using namespace attnc;
using namespace attnc::testing;

namespace {

constexpr int64_t kRows = 16, kColumns = 64;

std::string mapText(const std::string &function) {
  return substitute(R"mlir(
!g = memref<?x64xf32, strided<[?, 1]>>
tile.kernel @map(%x: !g {tile.name = "x"}, %y: !g {tile.name = "y"},
                 %rows: i32 {tile.name = "total_q"})
    attributes {warps = 1 : i32, role = "main", grid = ["ceildiv", "total_q", 16]} {
  %c16 = arith.constant 16 : i32
  %pid = tile.program_id : i32
  %r0 = arith.muli %pid, %c16 : i32
  %t = tile.load %x[%r0] limit %rows : !g -> tensor<16x64xf32>
  %f = $FUNCTION %t : tensor<16x64xf32>
  tile.store %f, %y[%r0] limit %rows : tensor<16x64xf32> -> !g
  tile.return
}
)mlir",
                    {{"FUNCTION", function}});
}

float fromBits(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

/// |got − exact| in units of the last place of the exact value rounded to f32.
double ulps(float got, double exact) {
  if (std::isnan(exact) || std::isnan(got))
    return std::isnan(exact) && std::isnan(got) ? 0 : INFINITY;
  auto rounded = static_cast<float>(exact);
  if (got == rounded)
    return 0;
  if (std::isinf(rounded) || std::isinf(got))
    return INFINITY;
  int exponent = std::max(std::ilogb(rounded == 0 ? 0x1p-149f : rounded), -126);
  return std::abs(got - exact) / std::ldexp(1.0, exponent - 23);
}

/// The worst error over every 2¹²th float (all signs, subnormals, ∞ and NaN) and `extra`.
void checkFunction(const std::string &op, double (*exact)(double), double allowed,
                   std::vector<float> extra = {}) {
  auto program = compileText(mapText(op));
  ASSERT_TRUE(program);
  std::vector<float> inputs(extra);
  for (uint64_t bits = 0; bits < (uint64_t(1) << 32); bits += 4093)
    inputs.push_back(fromBits(static_cast<uint32_t>(bits)));
  for (float special : {0.0f, -0.0f, INFINITY, -INFINITY, NAN, 1.0f, 0x1p-149f, -0x1p-149f})
    inputs.push_back(special);
  while (inputs.size() % kColumns)
    inputs.push_back(0.5f);
  int64_t rows = static_cast<int64_t>(inputs.size()) / kColumns;
  std::map<std::string, HostTensor> tensors{{"x", HostTensor::empty(DType::F32, {rows, kColumns})},
                                            {"y", HostTensor::empty(DType::F32, {rows, kColumns})}};
  std::memcpy(tensors["x"].data(), inputs.data(), inputs.size() * sizeof(float));
  ASSERT_EQ(program->run({{"total_q", rows}}, tensors, {}, 2), "");
  auto *outputs = reinterpret_cast<const float *>(tensors["y"].data());
  double worst = 0;
  float where = 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    double error = ulps(outputs[i], exact(inputs[i]));
    if (error > worst)
      worst = error, where = inputs[i];
  }
  EXPECT_LE(worst, allowed) << op << " at " << where;
  ::testing::Test::RecordProperty("worst_ulp", std::to_string(worst));
}

} // namespace

TEST(HostMath, Exp2) {
  checkFunction("math.exp2", [](double x) { return x < -126 ? 0.0 : std::exp2(x); }, 2.0,
                {-126.0f, -126.00001f, 127.99999f, 128.0f, -0.5f, 0.5f});
}
TEST(HostMath, Exp) {
  checkFunction("math.exp", [](double x) { return std::exp(x); }, 2.0);
}
TEST(HostMath, Log2) {
  checkFunction("math.log2", [](double x) { return std::log2(x); }, 2.0);
}
TEST(HostMath, Log) {
  checkFunction("math.log", [](double x) { return std::log(x); }, 2.0);
}
TEST(HostMath, Tanh) {
  checkFunction("math.tanh", [](double x) { return std::tanh(x); }, 2.0);
}
/// Not expanded: goes to the C library, which the JIT finds in the process.
TEST(HostMath, ErfFromTheLibrary) {
  checkFunction("math.erf", [](double x) { return std::erf(x); }, 2.0);
}
