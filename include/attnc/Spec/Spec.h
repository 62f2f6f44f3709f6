// The spec language: an attention variant as a short strict YAML file, its C++ form, and the ways
// between that form, attn IR and Hugging Face configurations. Not the expression language inside
// `mask` and `score` (see Expression.h), and not the compiling of what a spec says (Pipelines).
//
// Worked example. The file
//
//     attn: 1
//     name: gqa-paged-decode
//     kind: decode
//     heads: {q: 32, kv: 8}
//     dim: 128
//     dtype: bf16
//     kv: paged(page=16)
//     seq: {q: 1..8, kv: lens}
//     mask: causal
//
// parses to a Spec with kind Decode, headsQ 32, headsKv 8, dimQk = dimV = 128, all dtypes BF16,
// seq KvLens, pageSize 16, maxQ 8, one mask (Causal) and outputs {o}. buildModule gives
// `func.func @gqa_paged_decode` whose body is one `attn.decode`; specFromModule gives the Spec
// back.
//
// Why errors are printed and not returned: every error has a place in a file, and SourceMgr already
// knows how to show it; a caller that wants them as data sets the SourceMgr's diagnostic handler.
#ifndef ATTNC_SPEC_SPEC_H
#define ATTNC_SPEC_SPEC_H

#include "attnc/Support/HostTensor.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/SourceMgr.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace attnc {

struct Expression;

/// A place in the spec file; lines and columns count from 1, line 0 means no place is known.
struct SpecLoc {
  unsigned line = 0, column = 0;
};

enum class SpecKind { Prefill, Decode };
enum class SpecLayout { BSHD, BHSD };
/// How sequence lengths are given: by the tensors' extents, by `kv_lens` [B], or packed with
/// `cu_seqlens_q` and `cu_seqlens_kv` [B+1].
enum class SpecSeq { Dense, KvLens, Varlen };

/// One mask; a spec's masks combine by AND.
struct SpecMask {
  enum class Kind {
    Causal,        ///< kv_pos <= q_pos, aligned bottom-right
    CausalTopLeft, ///< kv_pos <= q_idx
    Window,        ///< q_pos - left <= kv_pos <= q_pos + right, inclusive; -1 is unbounded
    PrefixLm,      ///< causal, or kv_pos < prefix; `arg` is i32 or i32[B]
    Document,      ///< query and key have the same id; `arg` is i32[B, S], S at least len_kv
    Expression,    ///< `expression`, of type bool
    Opaque         ///< a region the expression language cannot say; `text` is its assembly
  };
  Kind kind = Kind::Causal;
  int64_t left = -1, right = -1;
  std::string arg;
  std::shared_ptr<const Expression> expression;
  std::string text;
  SpecLoc loc;
};

/// One change of the scaled logit; a spec's scores are applied in order, `bias` last.
struct SpecScore {
  enum class Kind {
    Softcap,     ///< cap * tanh(s / cap)
    Alibi,       ///< s - slope(h) * (q_pos - kv_pos), the paper's slopes for Hq heads
    AlibiSlopes, ///< the same with slopes from `arg`, f32[Hq]
    Expression,  ///< `expression`, of type f32
    Opaque       ///< a region the expression language cannot say; `text` is its assembly
  };
  Kind kind = Kind::Softcap;
  double cap = 0;
  std::string arg;
  std::shared_ptr<const Expression> expression;
  std::string text;
  SpecLoc loc;
};

/// A run-time argument. `shape` is empty for a scalar (F32 or I32); -1 stands for any extent.
/// Tensor elements are F16, BF16, F32, I32 or Bool (one byte an element, i8 in IR, not zero =
/// true).
struct SpecArg {
  std::string name;
  DType dtype = DType::F32;
  std::vector<int64_t> shape;
  SpecLoc loc;
  bool isTensor() const { return !shape.empty(); }
};

/// A checked attention variant. Whatever parseSpec, specFromHf or specFromModule returns satisfies
/// every limit of docs/Spec.md; code that fills one by hand calls verifySpec.
struct Spec {
  /// File the locations below refer to; empty when made otherwise.
  std::string fileName;
  /// Letters, digits, '-' and '_'; see symbolName for the name of the function and kernel.
  std::string name;
  SpecKind kind = SpecKind::Prefill;
  int64_t headsQ = 0, headsKv = 0, dimQk = 0, dimV = 0;
  DType dtypeQ = DType::BF16, dtypeKv = DType::BF16, dtypeO = DType::BF16;
  SpecLayout layout = SpecLayout::BSHD;
  SpecSeq seq = SpecSeq::Dense;
  /// Tokens a page when the KV cache is paged (seq is KvLens then).
  std::optional<int64_t> pageSize;
  /// Decode: most query tokens a sequence has. Prefill: unused.
  int64_t maxQ = 1;
  std::vector<SpecMask> masks;
  std::vector<SpecScore> scores;
  /// Element type of the additive bias [B, Hq, Sq, Skv], if there is one.
  std::optional<DType> bias;
  /// Whether a sink logit per query head (`sinks`, f32 [Hq]) enters the denominator.
  bool sinks = false;
  /// f32 value; none means 1/sqrt(dimQk).
  std::optional<double> scale;
  /// Whether the log-sum-exp is an output beside o.
  bool lse = false;
  std::vector<SpecArg> args;
  /// Number of KV splits, or none for auto (decode; a prefill has none).
  std::optional<int64_t> splitKv;
  SpecLoc loc;

  /// `name` with '-' as '_'.
  std::string symbolName() const;
  double scaleValue() const;
  bool isPaged() const { return pageSize.has_value(); }
  /// Null if there is no such argument.
  const SpecArg *findArg(llvm::StringRef argName) const;
};

/// Parses the main buffer of `sources`. On failure every error found has been printed through
/// `sources` (file:line:col, found, allowed, what to do) and the result is empty.
std::optional<Spec> parseSpec(llvm::SourceMgr &sources);

/// Reads `path` ("-" is stdin) into `sources` and parses it. Files that are missing, unreadable or
/// longer than 64 KiB are errors of the same form.
std::optional<Spec> parseSpecFile(llvm::StringRef path, llvm::SourceMgr &sources);

/// Parses text held in memory; `name` stands for the file in diagnostics.
std::optional<Spec> parseSpecText(llvm::StringRef text, llvm::StringRef name,
                                  llvm::SourceMgr &sources);

/// A limit that a spec breaks: the key it is about, its place if it is one of several under that
/// key (else line 0), and what was found, what is allowed, what to do.
struct SpecFault {
  std::string key;
  std::string message;
  SpecLoc loc = {};
};

/// Checks every limit of docs/Spec.md on the C++ form; parsing and importing call it.
std::vector<SpecFault> verifySpec(const Spec &spec);

/// The limits themselves, for tools that show them.
inline constexpr int64_t kMaxHeads = 1024, kMaxDim = 576, kDimStep = 8, kMaxPage = 65536,
                         kMaxDecodeQ = 64, kMaxSplits = 256, kMaxWindow = int64_t(1) << 30;
inline constexpr size_t kMaxSpecArgs = 32, kMaxSpecParts = 16, kMaxArgRank = 5;

/// Canonical YAML: fixed key order, defaults left out, expressions in normal spacing. Parsing it
/// gives an equal spec, and printing that the same text.
std::string printSpec(const Spec &spec);

/// printSpec with the comments of the file the spec was parsed from: those above a key stay above
/// it, one at the end of a key's first line stays there. Formatting the result changes nothing.
std::string formatSpec(const Spec &spec, llvm::StringRef source);

/// BLAKE3 of the canonical form, 64 hex digits.
std::string specHash(const Spec &spec);

/// The spec as attn IR: one func.func whose body is one attn.prefill or attn.decode. Named masks
/// and scores are attributes where every one of them has an attribute, else everything is in the
/// region. split_kv: N becomes the function's attribute attn.split_kv (i64); a name that is not its
/// own symbolName becomes attn.name. Every op is located at its place in the spec file.
/// The context gets the dialects it needs. Null, with diagnostics, for a spec with an Opaque part.
mlir::OwningOpRef<mlir::ModuleOp> buildModule(const Spec &spec, mlir::MLIRContext *context);

/// The spec of a module at the attn level (as buildModule makes, after attn-resolve-variant, or
/// written by hand): exactly one function with exactly one attn.prefill or attn.decode. Regions
/// come back as expressions, or as Opaque parts. Empty, with diagnostics on the module, otherwise.
std::optional<Spec> specFromModule(mlir::ModuleOp module);

/// The spec of a model's attention from its Hugging Face config.json. Errors (not JSON, a model
/// type that is not known, a missing or odd field) are printed through `sources`, whose main buffer
/// is the file. Models that alternate layers give the spec of the layer with the most features; the
/// notes say what was chosen and are for the user to see.
struct HfOptions {
  SpecKind kind = SpecKind::Prefill;
  /// Paged KV cache of this page size in decode; 0 for a dense one with kv_lens.
  int64_t pageSize = 0;
};
std::optional<Spec> specFromHf(llvm::SourceMgr &sources, const HfOptions &options,
                               std::vector<std::string> &notes);

/// JSON schema (draft 2020-12) of the YAML form.
llvm::StringRef specSchema();

} // namespace attnc

#endif // ATTNC_SPEC_SPEC_H
