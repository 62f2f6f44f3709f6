// A dense causal prefill kernel at the tile level, as text, for any block, head dim and type.
#ifndef ATTNC_TEST_UNIT_HOST_PREFILLTEXT_H
#define ATTNC_TEST_UNIT_HOST_PREFILLTEXT_H

#include "HostTesting.h"

namespace attnc::testing {

struct PrefillShape {
  std::string dtype = "bf16";
  int64_t heads = 2, group = 1, dim = 32, blockM = 16, blockN = 32;
};

inline std::string prefillText(const PrefillShape &shape) {
  static const char *text = R"mlir(
!g = memref<?x?x?x$DIMx$T, strided<[?, ?, ?, 1]>>
!lse = memref<?x?x?xf32, strided<[?, ?, ?]>>
tile.kernel @prefill(%q: !g {tile.name = "q"}, %k: !g {tile.name = "k"}, %v: !g {tile.name = "v"},
                     %o: !g {tile.name = "o"}, %lse: !lse {tile.name = "lse"},
                     %batch: i32 {tile.name = "batch"}, %len_q: i32 {tile.name = "max_len_q"},
                     %len_kv: i32 {tile.name = "max_len_kv"})
    attributes {warps = 4 : i32, role = "main",
                grid = ["mul", ["mul", "batch", $HEADS], ["ceildiv", "max_len_q", $M]]} {
  %c0 = arith.constant 0 : i32
  %heads = arith.constant $HEADS : i32
  %group = arith.constant $GROUP : i32
  %cm = arith.constant $M : i32
  %cn = arith.constant $N : i32
  %pid = tile.program_id : i32
  %blocks = arith.ceildivsi %len_q, %cm : i32
  %bh = arith.divsi %pid, %blocks : i32
  %mi = arith.remsi %pid, %blocks : i32
  %b = arith.divsi %bh, %heads : i32
  %h = arith.remsi %bh, %heads : i32
  %hk = arith.divsi %h, %group : i32
  %m0 = arith.muli %mi, %cm : i32
  %zero = arith.constant dense<0.0> : tensor<$Mx$Pxf32>
  %zs = arith.constant dense<0.0> : tensor<$Mx$Nxf32>
  %zl = arith.constant dense<0.0> : tensor<$Mxf32>
  %ninf = arith.constant dense<0xFF800000> : tensor<$Mxf32>
  %ninf2 = arith.constant dense<0xFF800000> : tensor<$Mx$Nxf32>
  %scale = arith.constant dense<$SCALE> : tensor<$Mxf32>
  %scale2 = arith.constant dense<$SCALE> : tensor<$Mx$Nxf32>
  %qt = tile.load %q[%b, %h, %m0] limit %len_q : !g -> tensor<$Mx$Px$T>
  %iq = tile.iota : tensor<$Mxi32>
  %m0t = tile.splat %m0 : i32 -> tensor<$Mxi32>
  %rows = arith.addi %m0t, %iq : tensor<$Mxi32>
  %rows2 = tile.broadcast %rows dim 1 : tensor<$Mxi32> -> tensor<$Mx$Nxi32>
  %off = arith.subi %len_kv, %len_q : i32
  %off2 = tile.splat %off : i32 -> tensor<$Mx$Nxi32>
  %qpos = arith.addi %rows2, %off2 : tensor<$Mx$Nxi32>
  %last = arith.addi %m0, %cm : i32
  %hi0 = arith.addi %last, %off : i32
  %hi = arith.minsi %hi0, %len_kv : i32
  %lenkv2 = tile.splat %len_kv : i32 -> tensor<$Mx$Nxi32>
  %r:3 = scf.for %n0 = %c0 to %hi step %cn iter_args(%acc = %zero, %m = %ninf, %l = %zl)
      -> (tensor<$Mx$Pxf32>, tensor<$Mxf32>, tensor<$Mxf32>) : i32 {
    %kt = tile.load %k[%b, %hk, %n0] limit %len_kv : !g -> tensor<$Nx$Px$T>
    %vt = tile.load %v[%b, %hk, %n0] limit %len_kv : !g -> tensor<$Nx$Px$T>
    %s0 = tile.mma %qt, %kt, %zs transpose_b : tensor<$Mx$Px$T>, tensor<$Nx$Px$T> -> tensor<$Mx$Nxf32>
    %ik = tile.iota : tensor<$Nxi32>
    %n0t = tile.splat %n0 : i32 -> tensor<$Nxi32>
    %keys = arith.addi %n0t, %ik : tensor<$Nxi32>
    %keys2 = tile.broadcast %keys dim 0 : tensor<$Nxi32> -> tensor<$Mx$Nxi32>
    %causal = arith.cmpi sge, %qpos, %keys2 : tensor<$Mx$Nxi32>
    %inr = arith.cmpi slt, %keys2, %lenkv2 : tensor<$Mx$Nxi32>
    %pred = arith.andi %causal, %inr : tensor<$Mx$Nxi1>
    %s = arith.select %pred, %s0, %ninf2 : tensor<$Mx$Nxi1>, tensor<$Mx$Nxf32>
    %smax = tile.reduce <max> %s dim 1 : tensor<$Mx$Nxf32> -> tensor<$Mxf32>
    %m1 = arith.maximumf %m, %smax : tensor<$Mxf32>
    %empty = arith.cmpf oeq, %m1, %ninf : tensor<$Mxf32>
    %msafe = arith.select %empty, %zl, %m1 : tensor<$Mxi1>, tensor<$Mxf32>
    %msc = arith.mulf %msafe, %scale : tensor<$Mxf32>
    %mb = tile.broadcast %msc dim 1 : tensor<$Mxf32> -> tensor<$Mx$Nxf32>
    %ssc = arith.mulf %s, %scale2 : tensor<$Mx$Nxf32>
    %sub = arith.subf %ssc, %mb : tensor<$Mx$Nxf32>
    %p = math.exp2 %sub : tensor<$Mx$Nxf32>
    %mo = arith.mulf %m, %scale : tensor<$Mxf32>
    %d = arith.subf %mo, %msc : tensor<$Mxf32>
    %corr = math.exp2 %d : tensor<$Mxf32>
    %ps = tile.reduce <sum> %p dim 1 : tensor<$Mx$Nxf32> -> tensor<$Mxf32>
    %l0 = arith.mulf %l, %corr : tensor<$Mxf32>
    %l1 = arith.addf %l0, %ps : tensor<$Mxf32>
    %cb = tile.broadcast %corr dim 1 : tensor<$Mxf32> -> tensor<$Mx$Pxf32>
    %acc1 = arith.mulf %acc, %cb : tensor<$Mx$Pxf32>
    $ROUND_P
    %acc2 = tile.mma %pb, %vt, %acc1 : tensor<$Mx$Nx$T>, tensor<$Nx$Px$T> -> tensor<$Mx$Pxf32>
    scf.yield %acc2, %m1, %l1 : tensor<$Mx$Pxf32>, tensor<$Mxf32>, tensor<$Mxf32>
  }
  %one = arith.constant dense<1.0> : tensor<$Mxf32>
  %ln2 = arith.constant dense<0.69314718> : tensor<$Mxf32>
  %dead = arith.cmpf oeq, %r#2, %zl : tensor<$Mxf32>
  %ls = arith.select %dead, %one, %r#2 : tensor<$Mxi1>, tensor<$Mxf32>
  %inv = arith.divf %one, %ls : tensor<$Mxf32>
  %invb = tile.broadcast %inv dim 1 : tensor<$Mxf32> -> tensor<$Mx$Pxf32>
  %of = arith.mulf %r#0, %invb : tensor<$Mx$Pxf32>
  $ROUND_O
  tile.store %ob, %o[%b, %h, %m0] limit %len_q : tensor<$Mx$Px$T> -> !g
  %lg = math.log2 %r#2 : tensor<$Mxf32>
  %ms = arith.mulf %r#1, %scale : tensor<$Mxf32>
  %sumlg = arith.addf %ms, %lg : tensor<$Mxf32>
  %lsev = arith.mulf %sumlg, %ln2 : tensor<$Mxf32>
  %lsef = arith.select %dead, %ninf, %lsev : tensor<$Mxi1>, tensor<$Mxf32>
  %lim = tile.splat %len_q : i32 -> tensor<$Mxi32>
  %ok = arith.cmpi slt, %rows, %lim : tensor<$Mxi32>
  tile.scatter %lsef, %lse[%b, %h, %rows : i32, i32, tensor<$Mxi32>] where %ok : tensor<$Mxi1>
      : tensor<$Mxf32> -> !lse
  tile.return
}
)mlir";
  int64_t padded = (shape.dim + 15) / 16 * 16;
  auto round = [&](std::string to, std::string from, std::string extents) {
    // An addition of zero keeps the text one form for f32, which is not rounded.
    return shape.dtype == "f32"
               ? "%" + to + "_z = arith.constant dense<0.0> : tensor<" + extents + "xf32>\n%" + to +
                     " = arith.addf %" + from + ", %" + to + "_z : tensor<" + extents + "xf32>"
               : "%" + to + " = arith.truncf %" + from + " : tensor<" + extents + "xf32> to tensor<" +
                     extents + "x" + shape.dtype + ">";
  };
  std::string m = std::to_string(shape.blockM), n = std::to_string(shape.blockN),
              p = std::to_string(padded);
  return substitute(
      text, {{"ROUND_P", round("pb", "p", m + "x" + n)},
             {"ROUND_O", round("ob", "of", m + "x" + p)},
             {"M", m},
             {"N", n},
             {"P", p},
             {"DIM", std::to_string(shape.dim)},
             {"T", shape.dtype},
             {"HEADS", std::to_string(shape.heads)},
             {"GROUP", std::to_string(shape.group)},
             {"SCALE", std::to_string(1.4426950408889634 / std::sqrt(double(shape.dim)))}});
}

} // namespace attnc::testing

#endif // ATTNC_TEST_UNIT_HOST_PREFILLTEXT_H
