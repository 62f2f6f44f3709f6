// cuDNN's attention (the SDPA node of NVIDIA's cudnn-frontend) behind an interface that needs no
// cuDNN header: a problem, a session, a plan that runs. CudnnFrontend.cpp implements it where the
// headers were found when attn-bench was configured, CudnnAbsent.cpp says that they were not.
//
// Why the frontend and no graph of our own: which operations, in which order, cuDNN's engines
// recognise as one fused attention differs between its versions. A graph that we built by hand from
// backend operations was accepted by cuDNN 9.19 and got no engine for it.
#ifndef ATTNC_BENCH_CUDNNSDPA_H
#define ATTNC_BENCH_CUDNNSDPA_H

#include "Config.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace attnc::bench::cudnn {

/// What cuDNN is asked to compute. Tensors are [B, H, S, D] contiguous; O alike Q.
struct Problem {
  std::int64_t batch = 1, hq = 1, hkv = 1, lenQ = 1, lenKv = 1, headDim = 128;
  std::string dtype = "bf16";
  bool causal = false;
  /// Where the diagonal of causal and window is anchored when lenQ and lenKv differ.
  bool bottomRight = true;
  /// Keys visible up to and including the query's own.
  std::optional<std::int64_t> window;
  std::optional<float> softcap;
  bool alibi = false;
  /// K and V are [pages, Hkv, page, D] with a table [B, pages per sequence] and lengths [B].
  std::optional<std::int64_t> pageSize;
  std::int64_t pages = 0;
  /// Q, K, V and O are [total, H, D], sequences end to end, found by offsets [B + 1] in elements
  /// (ragged offsets); lenQ and lenKv are then the longest ones.
  bool varlen = false;

  /// \returns Unsupported for what cuDNN has no form for (documents, fp32), with the reason.
  static Result<Problem> of(const Config &config);
};

/// The slope of each head as ALiBi's authors define them, other than powers of two included.
std::vector<float> alibiSlopes(std::int64_t heads);

/// Device addresses of one run; those that the problem does not have stay 0.
struct Tensors {
  std::uint64_t q = 0, k = 0, v = 0, o = 0;
  std::uint64_t lensQ = 0, lensKv = 0;       ///< i32 [B]; paged and varlen
  std::uint64_t table = 0;                   ///< i32 [B, pages per sequence]; paged
  std::uint64_t offsetsQ = 0, offsetsKv = 0; ///< i32 [B + 1], in elements; varlen
  std::uint64_t slopes = 0;                  ///< f32 [Hq]; ALiBi
  std::uint64_t workspace = 0;
};

/// One cuDNN handle, on a stream of the current context.
class Session {
public:
  virtual ~Session() = default;
  /// Loads cuDNN and makes the handle; \p sm is the device's, 90 for 9.0. \returns Environment:
  /// what is missing and how to get it.
  static Result<std::shared_ptr<Session>> open(void *stream, int sm);
  /// "9.19.1"
  virtual std::string version() const = 0;
};

class Plan {
public:
  virtual ~Plan() = default;
  /// \returns Unsupported where cuDNN has no engine for \p problem, with what it said.
  static Result<std::unique_ptr<Plan>> create(std::shared_ptr<Session> session,
                                              const Problem &problem);
  virtual std::int64_t workspaceBytes() const = 0;
  /// For the row's `dispatch`: engine (cuDNN's index), knobs, plan (its name), engines_offered.
  virtual Json engine() const = 0;
  virtual Status run(const Tensors &tensors) = 0;
};

/// What is missing for cuDNN in this attn-bench or on this machine, or nothing.
std::optional<std::string> missing();

/// How far cuDNN gets with \p problem for a GPU that need not be here, described by the JSON that
/// cuDNN itself writes of device properties. Nothing is launched.
struct Outlook {
  bool described = false;   ///< the frontend accepted the attributes
  bool accepted = false;    ///< the backend accepted the operation graph
  std::int64_t offered = 0; ///< engines that its heuristics named
  std::string said;         ///< the first refusal
};
Outlook outlook(const Problem &problem, const std::string &deviceProperties, int sm);

} // namespace attnc::bench::cudnn

#endif // ATTNC_BENCH_CUDNNSDPA_H
