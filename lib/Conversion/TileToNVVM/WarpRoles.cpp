// tile.warp_roles as branches on the warp's index, made before the conversion of everything else.
//
// The branches carry who runs each of their regions (kRolesAttrName), so that the patterns of the
// conversion can ask for the role around the op they build, whatever has been converted already.
#include "ThreadView.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace attnc;
using namespace mlir;
using namespace mlir::tile;

/// On an scf.if: for each region, [role, first warp, warps], or unit where no role runs directly.
static constexpr StringLiteral kRolesAttrName = "tile.roles";
/// On the shuffle that makes the warp's index uniform.
static constexpr StringLiteral kUniformWarpAttrName = "tile.uniform_warp";

/// Registers of an SM, of which one CTA has them all here; registers are given out by eights.
static constexpr int64_t kRegistersOfSm = 65536, kRegisterUnit = 8;
static constexpr int64_t kWarpsOfGroup = 4;

static int64_t warpsOfKernel(Operation *op) {
  if (auto kernel = dyn_cast<KernelOp>(op))
    return kernel.getWarps();
  return cast<DenseI32ArrayAttr>(op->getAttr(NVVM::NVVMDialect::getMaxntidAttrName()))[0] / 32;
}

WarpRole attnc::enclosingRole(Block *block) {
  Region *region = block->getParent();
  for (Operation *op = region->getParentOp();; region = op->getParentRegion(),
                 op = op->getParentOp()) {
    if (auto roles = op->getAttrOfType<ArrayAttr>(kRolesAttrName))
      if (auto role = dyn_cast<DenseI32ArrayAttr>(roles[region->getRegionNumber()]))
        return {role[0], role[1], role[2]};
    if (isa<KernelOp, LLVM::LLVMFuncOp>(op))
      return {std::nullopt, 0, warpsOfKernel(op)};
  }
}

Value attnc::uniformWarp(ThreadBuilder &tb) {
  Block *block = tb.builder.getInsertionBlock();
  WarpRole role = enclosingRole(block);
  Operation *function = block->getParentOp();
  while (!isa<KernelOp, LLVM::LLVMFuncOp>(function))
    function = function->getParentOp();
  for (Operation &op : function->getRegion(0).front())
    if (op.hasAttr(kUniformWarpAttrName))
      return tb.add(op.getResult(0), -role.firstWarp);
  llvm_unreachable("prepareWarps makes the index in every kernel that needs it");
}

static LogicalResult verifyRoles(KernelOp kernel, WarpRolesOp op) {
  if (op->getParentOfType<WarpRolesOp>())
    return op.emitError("a warp role cannot contain warp roles");
  int64_t first = 0, registers = 0;
  for (auto [warps, budget] : llvm::zip(op.getWarps(), op.getRegisters())) {
    if (budget != 0 && (warps % kWarpsOfGroup != 0 || first % kWarpsOfGroup != 0))
      return op.emitError("registers are moved between groups of four warps; the role of warps ")
             << first << " to " << first + warps - 1 << " does not consist of such groups";
    if (budget != 0 && (budget % kRegisterUnit != 0 || budget < 24 || budget > 256))
      return op.emitError("a register budget is a multiple of 8 from 24 to 256, got ") << budget;
    first += warps;
    registers += budget * warps * 32;
  }
  if (first > kernel.getWarps())
    return op.emitError("the roles take ")
           << first << " warps; the kernel has " << kernel.getWarps();
  if (registers > kRegistersOfSm)
    return op.emitError("the roles' budgets take ")
           << registers << " registers; an SM has " << kRegistersOfSm;
  return success();
}

/// Moves the role's share of registers from or to the pool. All warps of a group execute it.
static void setRegisters(ImplicitLocOpBuilder &b, int64_t budget, int64_t kernelWarps) {
  int64_t launched = kRegistersOfSm / (kernelWarps * 32) / kRegisterUnit * kRegisterUnit;
  if (budget == 0 || budget == launched)
    return;
  NVVM::SetMaxRegisterOp::create(b, static_cast<uint32_t>(budget),
                                 budget < launched ? NVVM::SetMaxRegisterAction::decrease
                                                   : NVVM::SetMaxRegisterAction::increase);
}

static void lowerRoles(KernelOp kernel, WarpRolesOp op, Value warp) {
  ImplicitLocOpBuilder b(op.getLoc(), op);
  Attribute none = b.getUnitAttr();
  int64_t first = 0, count = op.getWarps().size();
  SmallVector<Attribute> regions;
  Block *target = nullptr;
  for (int64_t i = 0; i < count; ++i) {
    int64_t warps = op.getWarps()[i], end = first + warps;
    Attribute role = b.getDenseI32ArrayAttr(
        {static_cast<int32_t>(i), static_cast<int32_t>(first), static_cast<int32_t>(warps)});
    // The last role of a kernel without other warps is what is left.
    bool last = target && end == kernel.getWarps();
    if (last) {
      auto branch = cast<scf::IfOp>(target->getParentOp());
      branch->setAttr(kRolesAttrName,
                      b.getArrayAttr({cast<ArrayAttr>(branch->getAttr(kRolesAttrName))[0], role}));
    } else {
      Value bound = arith::ConstantOp::create(b, b.getI32IntegerAttr(end));
      Value inside = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, warp, bound);
      auto branch = scf::IfOp::create(b, inside, /*withElse=*/i + 1 < count);
      branch->setAttr(kRolesAttrName, b.getArrayAttr({role, none}));
      target = branch.thenBlock();
    }
    b.setInsertionPointToStart(target);
    setRegisters(b, op.getRegisters()[i], kernel.getWarps());
    Block &body = op.getRoles()[i].front();
    if (!body.empty() && isa<tile::YieldOp>(body.back()))
      body.back().erase();
    target->getOperations().splice(Block::iterator(target->getTerminator()), body.getOperations());
    if (i + 1 < count && !last) {
      target = cast<scf::IfOp>(target->getParentOp()).elseBlock();
      b.setInsertionPointToStart(target);
    }
    first = end;
  }
  op.erase();
}

LogicalResult attnc::prepareWarps(KernelOp kernel) {
  SmallVector<WarpRolesOp> roles;
  bool groups = false;
  kernel.walk([&](Operation *op) {
    if (auto found = dyn_cast<WarpRolesOp>(op))
      roles.push_back(found);
    groups |= isa<MmaAsyncOp>(op);
  });
  for (WarpRolesOp op : roles)
    if (failed(verifyRoles(kernel, op)))
      return failure();
  if (roles.empty() && !groups)
    return success();

  // A shuffle tells the assembler that all lanes agree: branches and descriptors become uniform.
  OpBuilder builder(kernel.getBody());
  ThreadBuilder tb(builder, kernel.getLoc());
  Value warp = arith::ShRUIOp::create(builder, kernel.getLoc(), tb.thread(), tb.i32(5));
  auto uniform =
      NVVM::ShflOp::create(builder, kernel.getLoc(), warp.getType(), tb.i32(-1), warp, tb.i32(0),
                           tb.i32(31), NVVM::ShflKind::idx, UnitAttr());
  uniform->setAttr(kUniformWarpAttrName, builder.getUnitAttr());
  for (WarpRolesOp op : roles) {
    // Without this promise the assembler ignores budgets (its note C7508).
    if (llvm::any_of(op.getRegisters(), [](int32_t budget) { return budget != 0; }))
      kernel->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(), builder.getI32IntegerAttr(1));
    lowerRoles(kernel, op, uniform);
  }
  return success();
}
