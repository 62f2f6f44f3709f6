// RUN: attn-opt %s -canonicalize | FileCheck %s
#mma = #tile.layout<reg = [2:(0, 1), 2:(8, 0), 4:(0, 8)], lane = [4:(0, 2), 8:(1, 0)], warp = [4:(16, 0)]>

// A conversion to the layout that the tile has is the tile.
// CHECK-LABEL: func @convert_layout_to_itself
// CHECK-SAME: %[[T:.+]]: tensor<64x32xf32, #{{.+}}>
// CHECK-NEXT: return %[[T]]
func.func @convert_layout_to_itself(%t: tensor<64x32xf32, #mma>) -> tensor<64x32xf32, #mma> {
  %0 = tile.convert_layout %t : tensor<64x32xf32, #mma> -> tensor<64x32xf32, #mma>
  return %0 : tensor<64x32xf32, #mma>
}

// A conversion to another layout stays.
// CHECK-LABEL: func @convert_layout
// CHECK: tile.convert_layout
func.func @convert_layout(%t: tensor<64x32xf32>) -> tensor<64x32xf32, #mma> {
  %0 = tile.convert_layout %t : tensor<64x32xf32> -> tensor<64x32xf32, #mma>
  return %0 : tensor<64x32xf32, #mma>
}

// Products of tiles that nobody uses go; the effect of a product is only that it reads buffers.
// CHECK-LABEL: func @dead_product
// CHECK-NEXT: return
func.func @dead_product(%a: tensor<64x48xbf16>, %b: tensor<48x32xbf16>, %c: tensor<64x32xf32>) {
  %0 = tile.mma %a, %b, %c : tensor<64x48xbf16>, tensor<48x32xbf16> -> tensor<64x32xf32>
  return
}

// A loop whose results nobody uses and whose body writes nothing goes; one that writes stays.
// CHECK-LABEL: func @dead_loop
// CHECK-NOT: tile.kv_loop
// CHECK: return
func.func @dead_loop(%n: i32, %x: f32) {
  %r = tile.kv_loop %n to %n full(%n to %n) step 32 init(%x : f32) -> f32 {
  ^bb0(%n0: i32, %a: f32):
    tile.yield %a : f32
  }
  return
}

// CHECK-LABEL: func @writing_loop
// CHECK: tile.kv_loop
func.func @writing_loop(%n: i32, %t: tensor<64xf32>, %m: memref<?xf32, strided<[?]>>) {
  tile.kv_loop %n to %n full(%n to %n) step 32 {
  ^bb0(%n0: i32):
    tile.scatter %t, %m[%n0 : i32] : tensor<64xf32> -> memref<?xf32, strided<[?]>>
    tile.yield
  }
  return
}
