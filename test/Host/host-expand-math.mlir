// f32 functions become arithmetic on scalars and vectors alike; other types are left.
// RUN: attn-opt %s -pass-pipeline='builtin.module(func.func(host-expand-math))' | FileCheck %s

// CHECK-LABEL: func.func @vector(
// CHECK-NOT: math.exp2
// CHECK: math.fma {{.*}} : vector<8xf32>
// CHECK: arith.bitcast {{.*}} : vector<8xf32> to vector<8xi32>
func.func @vector(%x: vector<8xf32>) -> vector<8xf32> {
  %0 = math.exp2 %x : vector<8xf32>
  return %0 : vector<8xf32>
}

// CHECK-LABEL: func.func @scalars(
// CHECK-NOT: math.{{exp|log|tanh}}
// CHECK: return
func.func @scalars(%x: f32) -> (f32, f32, f32, f32) {
  %0 = math.exp %x : f32
  %1 = math.log2 %x : f32
  %2 = math.log %x : f32
  %3 = math.tanh %x : f32
  return %0, %1, %2, %3 : f32, f32, f32, f32
}

// CHECK-LABEL: func.func @others(
// CHECK: math.exp2 %{{.*}} : f64
// CHECK: math.sin %{{.*}} : f32
func.func @others(%x: f64, %y: f32) -> (f64, f32) {
  %0 = math.exp2 %x : f64
  %1 = math.sin %y : f32
  return %0, %1 : f64, f32
}
