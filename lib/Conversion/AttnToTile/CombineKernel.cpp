// The kernel of attn.combine: one warp merges the partial results of one query row.
#include "AttnToTile.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace attnc;

namespace {
/// The kernel's arguments (null if absent) and the row that this CTA merges.
struct CombineProblem {
  Value oPart, lsePart, o, lse, sinks, splits;
  Value batch, head, query;
  int64_t dim = 0;
  Type outType;
};
} // namespace

/// lse of split `split` in this row.
static Value loadLse(TileBuilder &b, const CombineProblem &p, Value split) {
  return b.loadScalar(p.lsePart, {split, p.batch, p.head, p.query});
}

/// A loop over the splits carrying `inits`; `body` returns the next values.
static scf::ForOp
forSplits(TileBuilder &b, const CombineProblem &p, ValueRange inits,
          llvm::function_ref<SmallVector<Value>(TileBuilder &, Value, ValueRange)> body) {
  return scf::ForOp::create(b, b.i32(0), p.splits, b.i32(1), inits,
                            [&](OpBuilder &builder, Location loc, Value split, ValueRange carried) {
                              TileBuilder inner(loc, builder);
                              inner.restoreInsertionPoint(builder.saveInsertionPoint());
                              scf::YieldOp::create(inner, body(inner, split, carried));
                            });
}

static void mergeRow(TileBuilder &b, const CombineProblem &p) {
  Value zero = b.f32(0.0), one = b.f32(1.0);
  Value negInf = b.f32(-std::numeric_limits<double>::infinity());
  auto isEqual = [&](Value x, Value y) -> Value {
    return arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, x, y);
  };
  Value sink = p.sinks ? b.loadScalar(p.sinks, p.head) : Value();
  auto maxLoop = forSplits(b, p, sink ? sink : negInf,
                           [&](TileBuilder &inner, Value split, ValueRange carried) {
                             Value lse = loadLse(inner, p, split);
                             Value top = arith::MaxNumFOp::create(inner, carried[0], lse);
                             return SmallVector<Value>{top};
                           });
  // Weights are relative to the largest log-sum-exp: a lone non-empty part has weight 1 and sum 1,
  // so that (0, −∞) is the neutral element bit for bit.
  Value top = maxLoop.getResult(0);
  Value safe = arith::SelectOp::create(b, isEqual(top, negInf), zero, top);
  Value log2e = b.f32(llvm::numbers::log2e);
  auto weightOf = [&](TileBuilder &at, Value lse) -> Value {
    Value distance = arith::SubFOp::create(at, lse, safe);
    return math::Exp2Op::create(at, arith::MulFOp::create(at, distance, log2e));
  };
  Value firstSum = sink ? weightOf(b, sink) : zero;
  Value columns = tile::IotaOp::create(b, b.tileType(p.dim, b.getI32Type()));
  auto sumLoop =
      forSplits(b, p, {firstSum, b.dense(0.0, p.dim)},
                [&](TileBuilder &inner, Value split, ValueRange carried) {
                  Value weight = weightOf(inner, loadLse(inner, p, split));
                  Value part = tile::GatherOp::create(
                      inner, inner.tileType(p.dim, inner.getF32Type()), p.oPart,
                      ValueRange{split, p.batch, p.head, p.query, columns}, /*where=*/Value());
                  Value sum = arith::AddFOp::create(inner, carried[0], weight);
                  Value acc =
                      math::FmaOp::create(inner, inner.splat(weight, p.dim), part, carried[1]);
                  return SmallVector<Value>{sum, acc};
                });
  Value sum = sumLoop.getResult(0);
  Value divisor = arith::SelectOp::create(b, isEqual(sum, zero), one, sum);
  Value factor = arith::DivFOp::create(b, one, divisor);
  Value o = arith::MulFOp::create(b, sumLoop.getResult(1), b.splat(factor, p.dim));
  if (!p.outType.isF32())
    o = arith::TruncFOp::create(b, b.tileType(p.dim, p.outType), o);
  tile::ScatterOp::create(b, o, p.o, ValueRange{p.batch, p.head, p.query, columns},
                          /*where=*/Value());
  if (p.lse) {
    Value log =
        arith::MulFOp::create(b, math::Log2Op::create(b, divisor), b.f32(llvm::numbers::ln2));
    Value lse = arith::AddFOp::create(b, top, log);
    tile::ScatterOp::create(b, b.splat(lse, 1), p.lse, ValueRange{p.batch, p.head, p.query},
                            /*where=*/Value());
  }
}

/// Adds the workspace tensors to the module's list.
static LogicalResult declareWorkspace(func::FuncOp func, attn::CombineOp op, int64_t dim,
                                      bool varlen) {
  auto module = func->getParentOfType<ModuleOp>();
  Builder builder(func.getContext());
  if (module->hasAttr(tile::kWorkspaceAttrName))
    return op.emitError() << "the module already has a '" << tile::kWorkspaceAttrName
                          << "'; one attention problem with splits is allowed a module";
  SmallVector<Attribute> shape{
      symbol(builder, "splits"), varlen ? number(builder, 1) : symbol(builder, "batch"),
      symbol(builder, "heads_q"), symbol(builder, varlen ? "total_q" : "max_len_q")};
  auto entry = [&](StringRef name) {
    return builder.getDictionaryAttr({builder.getNamedAttr("name", builder.getStringAttr(name)),
                                      builder.getNamedAttr("dtype", builder.getStringAttr("f32")),
                                      builder.getNamedAttr("shape", builder.getArrayAttr(shape))});
  };
  Attribute lsePart = entry("lse_part");
  shape.push_back(number(builder, dim));
  module->setAttr(tile::kWorkspaceAttrName, builder.getArrayAttr({entry("o_part"), lsePart}));
  return success();
}

LogicalResult attnc::buildCombineKernel(func::FuncOp func, attn::CombineOp op) {
  // The parts are the workspace of a partial op of this function, or the caller's.
  auto parts = op.getOParts().getDefiningOp<attn::AttentionOpInterface>();
  bool ofCaller = isa<BlockArgument>(op.getOParts()) && isa<BlockArgument>(op.getLseParts());
  if (!ofCaller && (!parts || op.getLseParts() != parts.getLse()))
    return op.emitError()
           << "o_parts and lse_parts are neither the results of one partial attention "
              "op nor arguments; run attn-split-kv on an attn.decode to get this form";
  StringRef oName = returnedAs(func, op.getO()), lseName = returnedAs(func, op.getLse());
  if (oName.empty())
    return op.emitError() << "the function does not return the output; the kernel would compute "
                             "nothing";

  OpBuilder builder(func);
  Type i32 = builder.getI32Type();
  bool varlen = !ofCaller && parts.isVarlen();
  auto oType = cast<RankedTensorType>(op.getO().getType());
  auto partType = cast<RankedTensorType>(op.getOParts().getType());
  CombineProblem p;
  p.dim = partType.getShape().back();
  p.outType = oType.getElementType();
  KernelSignature signature(func);
  if (ofCaller) {
    if (failed(signature.addArgument(op.getOParts(), /*rowMajor=*/true)) ||
        failed(signature.addArgument(op.getLseParts())))
      return failure();
  } else {
    if (failed(declareWorkspace(func, op, p.dim, varlen)))
      return failure();
    signature.add("o_part", kernelMemRefType(partType, true));
    signature.add("lse_part",
                  kernelMemRefType(cast<RankedTensorType>(op.getLseParts().getType()), false));
  }
  signature.add(oName, kernelMemRefType(oType, true));
  if (!lseName.empty())
    signature.add(lseName, kernelMemRefType(cast<RankedTensorType>(op.getLse().getType()), false));
  if (varlen && failed(signature.addArgument(parts.getCuSeqlensQ())))
    return failure();
  if (op.getSinks() && failed(signature.addArgument(op.getSinks())))
    return failure();
  signature.add("batch", i32);
  signature.add(varlen ? "total_q" : "max_len_q", i32);
  signature.add("splits", i32);

  // One row a CTA. Varlen rows are those of all sequences one after the other.
  Attribute rows = symbol(builder, varlen ? "total_q" : "max_len_q");
  Attribute grid = binary(builder, "mul", symbol(builder, "heads_q"), rows);
  if (!varlen)
    grid = binary(builder, "mul", symbol(builder, "batch"), grid);
  IRMapping captures;
  std::string name = (func.getSymName() + (ofCaller ? "" : "_combine")).str();
  tile::KernelOp kernel = signature.create(name, /*warps=*/1, "combine", grid, captures);
  auto find = [&](StringRef name) { return KernelSignature::find(kernel, name); };
  p.oPart = ofCaller ? captures.lookup(op.getOParts()) : find("o_part");
  p.lsePart = ofCaller ? captures.lookup(op.getLseParts()) : find("lse_part");
  p.o = find(oName);
  p.lse = lseName.empty() ? Value() : find(lseName);
  p.sinks = op.getSinks() ? captures.lookup(op.getSinks()) : Value();
  p.splits = find("splits");

  TileBuilder b(op.getLoc(), kernel.getBody().front().getTerminator());
  Value pid = tile::ProgramIdOp::create(b, i32);
  Value numRows = find(varlen ? "total_q" : "max_len_q");
  Value heads = b.i32(oType.getDimSize(1));
  p.query = b.rem(pid, numRows);
  Value batchHead = b.div(pid, numRows);
  p.head = b.rem(batchHead, heads);
  p.batch = varlen ? b.i32(0) : b.div(batchHead, heads);
  if (!varlen) {
    mergeRow(b, p);
  } else {
    // Rows past the last sequence belong to nobody and are left as they are.
    Value end = b.loadScalar(captures.lookup(parts.getCuSeqlensQ()), find("batch"));
    auto exists = scf::IfOp::create(b, b.less(p.query, end), /*withElse=*/false);
    TileBuilder inside(op.getLoc(), exists.thenBlock()->getTerminator());
    mergeRow(inside, p);
  }
  eraseDeadOps(kernel.getBody());
  return success();
}
