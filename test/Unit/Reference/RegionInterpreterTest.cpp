// The region interpreter's arithmetic where it is easy to get wrong: wrapping, signs, rounding.
#include "attnc/Reference/RegionInterpreter.h"
#include "attnc/Dialect/Attn/AttnDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace attnc;

namespace {
struct Interpreter : ::testing::Test {
  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  RegionProgram program;
  RegionProgram::State state;

  Interpreter() {
    context.loadDialect<attn::AttnDialect, arith::ArithDialect, func::FuncDialect,
                        math::MathDialect>();
  }

  /// Runs a function's body on %a, %b: i32 and %x: f32 (two lanes: x and 2x).
  std::string run(const std::string &body, const std::string &type, int32_t a, int32_t b, float x,
                  RegionProgram::Precision precision = RegionProgram::Precision::F64) {
    module = parseSourceString<ModuleOp>("func.func @f(%a: i32, %b: i32, %x: f32) -> " + type +
                                             " {\n" + body + "\nreturn %r : " + type + "\n}",
                                         &context);
    EXPECT_TRUE(module);
    auto function = *module->getOps<func::FuncOp>().begin();
    std::string error = program.compile(function.getBody(), RegionBindings(), precision);
    if (!error.empty())
      return error;
    state = program.makeState();
    state.setInt(0, a);
    state.setInt(1, b);
    double lanes[] = {x, 2.0 * x};
    state.setFloats(2, lanes, 2);
    program.run(state, 2);
    return "";
  }
  int64_t runInt(const std::string &body, const std::string &type, int32_t a, int32_t b) {
    EXPECT_EQ(run(body, type, a, b, 0), "");
    return RegionProgram::intLane(program.result(state, 0), 1);
  }
  double floatLane(size_t lane) { return RegionProgram::floatLane(program.result(state, 0), lane); }
};
} // namespace

TEST_F(Interpreter, IntegersWrapAndRound) {
  EXPECT_EQ(runInt("%r = arith.addi %a, %b : i32", "i32", INT32_MAX, 1), INT32_MIN);
  EXPECT_EQ(runInt("%r = arith.muli %a, %b : i32", "i32", 65536, 65536), 0);
  EXPECT_EQ(runInt("%r = arith.divsi %a, %b : i32", "i32", -7, 2), -3);
  EXPECT_EQ(runInt("%r = arith.floordivsi %a, %b : i32", "i32", -7, 2), -4);
  EXPECT_EQ(runInt("%r = arith.ceildivsi %a, %b : i32", "i32", 7, 2), 4);
  EXPECT_EQ(runInt("%r = arith.remsi %a, %b : i32", "i32", -7, 2), -1);
  EXPECT_EQ(runInt("%r = arith.shrsi %a, %b : i32", "i32", -8, 1), -4);
}

TEST_F(Interpreter, BoolsAreZeroOrOne) {
  EXPECT_EQ(
      runInt("%c = arith.cmpi slt, %a, %b : i32\n%r = arith.extui %c : i1 to i32", "i32", 1, 2), 1);
  EXPECT_EQ(
      runInt("%c = arith.cmpi slt, %a, %b : i32\n%r = arith.extsi %c : i1 to i32", "i32", 1, 2),
      -1);
  EXPECT_EQ(runInt("%r = arith.trunci %a : i32 to i1", "i1", 3, 0), 1);
  EXPECT_EQ(runInt("%r = arith.cmpi ult, %a, %b : i32", "i1", 1, -1), 1);
}

TEST_F(Interpreter, FloatLanes) {
  ASSERT_EQ(run("%r = math.exp2 %x : f32", "f32", 0, 0, 3), "");
  EXPECT_EQ(floatLane(0), 8);
  EXPECT_EQ(floatLane(1), 64);
  ASSERT_EQ(run("%f = arith.sitofp %a : i32 to f32\n%r = arith.divf %x, %f : f32", "f32", 3, 0, 1),
            "");
  EXPECT_EQ(floatLane(0), 1.0 / 3);
  ASSERT_EQ(run("%f = arith.sitofp %a : i32 to f32\n%r = arith.divf %x, %f : f32", "f32", 3, 0, 1,
                RegionProgram::Precision::F32),
            "");
  EXPECT_EQ(floatLane(0), static_cast<double>(1.0f / 3.0f));
}

TEST_F(Interpreter, WhatItCannotEvaluateIsAnError) {
  EXPECT_EQ(run("%r = arith.bitcast %x : f32 to i32", "i32", 0, 0, 1),
            "the reference does not evaluate 'arith.bitcast'");
}
