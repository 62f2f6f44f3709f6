// attn-choose-config: attaches the best feasible #attn.config for a target and says what lost.
#include "attnc/Dialect/Attn/Passes.h"
#include "attnc/Target/ConfigModel.h"
#include "mlir/IR/Remarks.h"
#include "llvm/Support/FormatVariadic.h"

namespace mlir::attn {
#define GEN_PASS_DEF_ATTNCHOOSECONFIG
#include "attnc/Dialect/Attn/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;
using namespace attnc;

/// Fields a user forced with --config, each absent if not named.
struct Overrides {
  std::optional<int64_t> blockM, blockN, warps, stages, packGqa, qInRegisters, splitKv;
  std::optional<int64_t> warpSpecialized, persistent, ctasPerSm;

  /// Whether the tile itself is forced: that speaks of the plain schedule unless said otherwise.
  bool namesTile() const { return blockM || blockN || warps || stages || qInRegisters; }
};

/// Parses `block_m=64,block_n=32`; a bad key or value is an error at `loc`.
static FailureOr<Overrides> parseOverrides(StringRef text, Location loc) {
  Overrides result;
  SmallVector<StringRef> fields;
  text.split(fields, ',', -1, /*KeepEmpty=*/false);
  for (StringRef field : fields) {
    auto [key, value] = field.split('=');
    std::optional<int64_t> *slot =
        llvm::StringSwitch<std::optional<int64_t> *>(key.trim())
            .Case("block_m", &result.blockM)
            .Case("block_n", &result.blockN)
            .Case("warps", &result.warps)
            .Case("stages", &result.stages)
            .Case("pack_gqa", &result.packGqa)
            .Case("q_in_registers", &result.qInRegisters)
            .Case("split_kv", &result.splitKv)
            .Case("warp_specialized", &result.warpSpecialized)
            .Case("persistent", &result.persistent)
            .Case("ctas_per_sm", &result.ctasPerSm)
            .Default(nullptr);
    int64_t number = 0;
    if (!slot)
      return emitError(loc, "unknown configuration field '")
             << key
             << "'; known are block_m, block_n, warps, stages, pack_gqa, q_in_registers, split_kv, "
                "warp_specialized, persistent, ctas_per_sm";
    if (value.trim().getAsInteger(10, number) || number < 0)
      return emitError(loc, "configuration field '")
             << key << "' takes a whole number, got '" << value << "'";
    *slot = number;
  }
  return result;
}

/// Whether the tile sizes are ones the lowerings can express at all.
static LogicalResult checkSizes(const ConfigCandidate &c, const TargetInfo &target, Location loc) {
  if (c.blockN < 16 || c.blockN % 16 != 0 || c.blockN > 256)
    return emitError(loc, "block_n is a multiple of 16 up to 256, got ") << c.blockN;
  if (c.blockM < 16 || c.blockM % 16 != 0 || c.blockM > 256)
    return emitError(loc, "block_m is a multiple of 16 up to 256, got ") << c.blockM;
  if (c.warps < 1 || c.warps > 16)
    return emitError(loc, "warps is from 1 to 16, got ") << c.warps;
  if (c.stages < 2 || c.stages > 8)
    return emitError(loc, "stages is from 2 to 8, got ") << c.stages;
  if (!target.isHost && c.blockM % (16 * c.warps) != 0)
    return emitError(loc, "block_m is a multiple of 16 rows a warp; ")
           << c.warps << " warps need a multiple of " << 16 * c.warps << ", got " << c.blockM;
  return success();
}

/// Whether the bounds region reads the head: then the heads of one tile may not differ.
static bool boundsDependOnHead(AttentionOpInterface op) {
  Region &bounds = op.getBounds();
  return !bounds.empty() && !bounds.getArgument(1).use_empty();
}

static std::string describe(const ConfigCandidate &c) {
  return llvm::formatv("{0}x{1}, {2} warps, {3} stages, Q in {4}", c.blockM, c.blockN, c.warps,
                       c.stages, c.qInRegisters ? "registers" : "shared memory");
}

static void emitRemarks(Operation *op, ArrayRef<ConfigCandidate> candidates) {
  constexpr size_t kShown = 12;
  for (auto [index, c] : llvm::enumerate(candidates.take_front(kShown))) {
    if (!c.rejected.empty())
      remark::missed(op->getLoc(), remark::RemarkOpts::name("ConfigRejected").category("config"))
          << describe(c) << ": " << c.rejected;
    else if (index != 0)
      remark::analysis(op->getLoc(), remark::RemarkOpts::name("ConfigSlower").category("config"))
          << describe(c) << ": "
          << llvm::formatv("model {0:F1} cycles, chosen {1:F1}", c.cycles, candidates[0].cycles)
                 .str();
  }
}

/// Why a problem cannot take the schedule of TMA copies and asynchronous products; empty if it can.
static std::string whyNotSpecialized(AttentionOpInterface op, const TargetInfo &target, bool pack) {
  if (!target.wgmma || !target.tma)
    return (target.name + " has no asynchronous warp-group products").str();
  if (op.getQueryLimit())
    return "a decode has too few rows for a warp group";
  if (pack)
    return "packed heads are gathered, which the copy engine cannot do";
  if (op.isVarlen() || op.getKvLens())
    return "sequences end inside the tensor, where the copy engine would read on";
  if (op.isPaged())
    return "pages are gathered, which the copy engine cannot do";
  for (int64_t dim : {op.getDimQK(), op.getDimV()})
    if (dim % 64 != 0 || dim > 256)
      return llvm::formatv("head dim {0} is not a multiple of 64 up to 256", dim);
  return "";
}

/// The warp-specialised schedule: 64 rows for each of two warp groups; keys a step such that Q and
/// two stages of K and V fit.
static ConfigCandidate specializedCandidate(const ConfigProblem &problem, const TargetInfo &target,
                                            const Overrides &forced) {
  ConfigCandidate c{.blockM = forced.blockM.value_or(128), .warps = forced.warps.value_or(8),
                    .qInRegisters = false};
  // Small heads have short steps: a third stage covers the copies' latency (measured at dim 64:
  // 1.1 times the speed when causal).
  bool small = problem.dimQK <= 64 && problem.dimV <= 64;
  c.stages = forced.stages.value_or(small ? 3 : 2);
  for (int64_t blockN : {128, 96, 80, 64, 48, 32}) {
    c.blockN = forced.blockN.value_or(blockN);
    int64_t rowBytes = (problem.dimQK + problem.dimV) * problem.elementBytes;
    c.sharedBytes = c.blockM * problem.dimQK * problem.elementBytes +
                    c.stages * c.blockN * rowBytes + 1024;
    // A thread's share of 64 rows: the accumulator, the scores, and P in 16 bits.
    c.registers = problem.dimV / 2 + c.blockN / 2 + c.blockN / 4 + 40;
    c.ctasPerSm = 1;
    if (forced.blockN || (c.sharedBytes <= target.sharedPerBlock && c.registers <= 240))
      break;
  }
  return c;
}

static LogicalResult chooseConfig(AttentionOpInterface op, const TargetInfo &target,
                                  const Overrides &forced) {
  Location loc = op->getLoc();
  Type elementType = op.getK().getType().getElementType();
  if (!target.isHost && elementType.isF32())
    return op->emitError("f32 keys and values are not supported on ")
           << target.name << ": its matrix units take f16 and bf16; use dtype f16 or bf16, or "
                             "target host";
  if (op.getQ().getType().getElementType() != elementType && !target.isHost)
    return op->emitError("q is ") << op.getQ().getType().getElementType() << " and k, v are "
                                  << elementType << "; " << target.name
                                  << " takes one element type for all three";

  ConfigProblem problem{.dimQK = op.getDimQK(), .dimV = op.getDimV(),
                        .elementBytes = elementType.getIntOrFloatBitWidth() / 8};
  bool isDecode = op.getQueryLimit().has_value();
  bool pack = forced.packGqa ? *forced.packGqa != 0
                             : isDecode && op.getGroup() > 1 && !boundsDependOnHead(op);
  if (pack && boundsDependOnHead(op))
    return op->emitError("pack_gqa needs KV bounds that do not depend on the head");
  if (isDecode)
    problem.rowLimit = *op.getQueryLimit() * (pack ? op.getGroup() : 1);

  std::string whyNot = whyNotSpecialized(op, target, pack);
  bool specialized =
      forced.warpSpecialized.value_or(whyNot.empty() && !forced.namesTile()) != 0;
  if (specialized && !whyNot.empty())
    return op->emitError("warp_specialized is not possible here: ") << whyNot;
  if (target.wgmma && !whyNot.empty())
    remark::missed(loc, remark::RemarkOpts::name("NotWarpSpecialized").category("config")) << whyNot;
  if (specialized) {
    ConfigCandidate c = specializedCandidate(problem, target, forced);
    if (c.blockM != 128 || c.warps != 8 || c.blockN % 16 != 0 || c.blockN > 256 || c.stages < 2)
      return op->emitError("a warp-specialised schedule has block_m 128, 8 warps, block_n a multiple "
                           "of 16 up to 256 and at least 2 stages");
    if (c.sharedBytes > target.sharedPerBlock)
      return op->emitError("the warp-specialised schedule needs ")
             << c.sharedBytes << " bytes of shared memory with block_n " << c.blockN << " and "
             << c.stages << " stages; " << target.name << " allows " << target.sharedPerBlock
             << "; use a smaller block_n";
    op->setAttr("config", ConfigAttr::get(op->getContext(), c.blockM, c.blockN, c.warps, c.stages,
                                          /*packGqa=*/false, /*qInRegisters=*/false,
                                          /*splitKv=*/false, /*warpSpecialized=*/true,
                                          forced.persistent.value_or(1) != 0,
                                          /*ctasPerSm=*/1, target.l2Bytes / 2));
    remark::passed(loc, remark::RemarkOpts::name("ConfigChosen").category("config"))
        << describe(c)
        << llvm::formatv(", warp-specialised: {0} bytes of shared memory", c.sharedBytes).str();
    return success();
  }

  std::vector<ConfigCandidate> candidates = rankCandidates(problem, target);
  ConfigCandidate chosen = candidates.front();
  bool anyForced = forced.blockM || forced.blockN || forced.warps || forced.stages ||
                   forced.qInRegisters;
  if (anyForced) {
    // Keep the best candidate that agrees with what was forced, else patch the overall best.
    auto agrees = [&](const ConfigCandidate &c) {
      return (!forced.blockM || c.blockM == *forced.blockM) &&
             (!forced.blockN || c.blockN == *forced.blockN) &&
             (!forced.warps || c.warps == *forced.warps) &&
             (!forced.stages || c.stages == *forced.stages) &&
             (!forced.qInRegisters || c.qInRegisters == (*forced.qInRegisters != 0));
    };
    auto match = llvm::find_if(candidates, agrees);
    if (match != candidates.end())
      chosen = *match;
    chosen.blockM = forced.blockM.value_or(chosen.blockM);
    chosen.blockN = forced.blockN.value_or(chosen.blockN);
    chosen.warps = forced.warps.value_or(chosen.warps);
    chosen.stages = forced.stages.value_or(chosen.stages);
    chosen.qInRegisters = forced.qInRegisters.value_or(chosen.qInRegisters) != 0;
    if (failed(checkSizes(chosen, target, loc)))
      return failure();
    evaluateCandidate(chosen, problem, target);
  }
  // A forced configuration may exceed the register estimate (it is one), never the shared memory.
  bool fits = target.isHost || chosen.sharedBytes <= target.sharedPerBlock;
  if (!fits || (!anyForced && !chosen.rejected.empty()))
    return op->emitError("no tile size fits ")
           << target.name << " for head dims " << problem.dimQK << "/" << problem.dimV << ": "
           << describe(chosen) << " " << chosen.rejected;

  bool split = isDecode && (forced.splitKv ? *forced.splitKv != 0 : !target.isHost);
  if (op.isPartial())
    split = false;
  op->setAttr("config", ConfigAttr::get(op->getContext(), chosen.blockM, chosen.blockN,
                                        chosen.warps, chosen.stages, pack, chosen.qInRegisters,
                                        split, /*warpSpecialized=*/false,
                                        forced.persistent.value_or(0) != 0,
                                        target.isHost ? 0 : forced.ctasPerSm.value_or(chosen.ctasPerSm),
                                        target.l2Bytes / 2));
  remark::passed(loc, remark::RemarkOpts::name("ConfigChosen").category("config"))
      << describe(chosen) << ": "
      << llvm::formatv("{0} bytes of shared memory, about {1} registers, {2} CTAs an SM, model "
                       "{3:F1} cycles per 16x16 scores",
                       chosen.sharedBytes, chosen.registers, chosen.ctasPerSm, chosen.cycles)
             .str();
  emitRemarks(op, candidates);
  return success();
}

namespace {
struct ChooseConfig : attn::impl::AttnChooseConfigBase<ChooseConfig> {
  using AttnChooseConfigBase::AttnChooseConfigBase;

  void runOnOperation() override {
    Location loc = getOperation().getLoc();
    const TargetInfo *info = lookupTarget(target);
    if (!info) {
      emitError(loc, "unknown target '") << target << "'";
      return signalPassFailure();
    }
    FailureOr<Overrides> forced = parseOverrides(overrides, loc);
    if (failed(forced))
      return signalPassFailure();
    WalkResult result = getOperation().walk([&](AttentionOpInterface op) {
      if (op.getConfigAttr())
        return WalkResult::advance();
      return failed(chooseConfig(op, *info, *forced)) ? WalkResult::interrupt()
                                                      : WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace
