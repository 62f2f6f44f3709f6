// cuDNN through NVIDIA's header-only cudnn-frontend; cuDNN itself is opened at run time.
#include "CudnnSdpa.h"

#include "attnc/Runtime/CudaLocations.h"
#include "attnc/Runtime/DynamicLibrary.h"

#include <cmath>
#include <dlfcn.h>
#include <fmt/format.h>
#include <unordered_map>

// The frontend then looks up every cuDNN function in cudnn_dlhandle, and brings no JSON of its own.
#define NV_CUDNN_FRONTEND_USE_DYNAMIC_LOADING
#define CUDNN_FRONTEND_SKIP_JSON_LIB
#include <cudnn_frontend.h>

namespace cudnn_frontend {
void *cudnn_dlhandle = nullptr;
}

namespace attnc::bench::cudnn {

namespace fe = cudnn_frontend;
using fe::graph::Tensor_attributes;
using TensorHandle = std::shared_ptr<Tensor_attributes>;

namespace {

enum Uid : std::int64_t {
  uidQ = 1,
  uidK,
  uidV,
  uidO,
  uidLensQ,
  uidLensKv,
  uidTable,
  uidOffsetsQ,
  uidOffsetsKv,
  uidSlopes,
  uidSoftcap,
};

/// Opens libcudnn for the frontend once.
Status load() {
  static const Status status = [] {
    rt::LibraryRequest request;
    request.what = "cuDNN";
    request.fileNames = {"libcudnn.so.9", "libcudnn.so"};
    request.overrideVariable = "ATTNC_LIBCUDNN";
    request.advice = "pip install nvidia-cudnn-cu13, or set ATTNC_LIBCUDNN to libcudnn.so.9";
    Result<rt::DynamicLibrary> library =
        rt::DynamicLibrary::open(request, rt::CudaLocations::find());
    if (!library.ok())
      return library.status();
    // A second opening of the same file gives the same library, and the handle that is wanted.
    void *handle = dlopen(library->path().c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handle || !dlsym(handle, "cudnnBackendExecute") || !dlsym(handle, "cudnnGetVersion"))
      return Status(StatusCode::Environment,
                    fmt::format("{} has no graph API; cuDNN 9 is needed", library->path()));
    fe::cudnn_dlhandle = handle;
    if (const std::size_t v = fe::detail::get_backend_version(); v < 90000)
      return Status(StatusCode::Environment,
                    fmt::format("{} is version {}; cuDNN 9 is needed", library->path(), v));
    return Status();
  }();
  return status;
}

Status statusOf(fe::error_t error, const char *step) {
  if (error.is_good())
    return {};
  const fe::error_code_t code = error.get_code();
  const bool refused = code == fe::error_code_t::GRAPH_NOT_SUPPORTED ||
                       code == fe::error_code_t::HEURISTIC_QUERY_FAILED ||
                       code == fe::error_code_t::GRAPH_EXECUTION_PLAN_CREATION_FAILED ||
                       code == fe::error_code_t::UNSUPPORTED_GRAPH_FORMAT;
  std::string text = error.get_message();
  // A refusal lists every engine's error stack; the first lines say enough for a row.
  if (text.size() > 600)
    text = text.substr(0, 600) + " …";
  for (char &c : text)
    if (c == '\n')
      c = ' ';
  return {refused ? StatusCode::Unsupported : StatusCode::Internal,
          fmt::format("cuDNN {}: {}: {}", fe::detail::get_backend_version(), step, text)};
}

using Sizes = std::vector<std::int64_t>;

Sizes contiguous(const Sizes &d) { return {d[1] * d[2] * d[3], d[2] * d[3], d[3], 1}; }

/// The graph of \p p: one SDPA node. Nodes take a copy of the graph's SM (90) when they are made;
/// one that is not told would ask the CUDA runtime library, which is then not needed.
std::shared_ptr<fe::graph::Graph> describe(const Problem &p, int sm) {
  using namespace fe::graph;
  auto graph = std::make_shared<Graph>();
  graph->set_sm_version(sm)
      .set_io_data_type(p.dtype == "bf16" ? fe::DataType_t::BFLOAT16 : fe::DataType_t::HALF)
      .set_intermediate_data_type(fe::DataType_t::FLOAT)
      .set_compute_data_type(fe::DataType_t::FLOAT);
  const auto tensor = [&](const char *name, Uid uid, const Sizes &dims, const Sizes &strides) {
    return graph->tensor(
        Tensor_attributes().set_name(name).set_uid(uid).set_dim(dims).set_stride(strides));
  };
  const auto integers = [&](const char *name, Uid uid, const Sizes &dims) {
    TensorHandle t = tensor(name, uid, dims, contiguous(dims));
    t->set_data_type(fe::DataType_t::INT32);
    return t;
  };
  const auto packed = [](std::int64_t len, const Sizes &d) {
    return Sizes{len * d[1] * d[3], d[3], d[1] * d[3], 1};
  };

  const Sizes qDims = {p.batch, p.hq, p.lenQ, p.headDim};
  const Sizes kvDims = p.pageSize ? Sizes{p.pages, p.hkv, *p.pageSize, p.headDim}
                                  : Sizes{p.batch, p.hkv, p.lenKv, p.headDim};
  const Sizes qStrides = p.varlen ? packed(p.lenQ, qDims) : contiguous(qDims);
  const Sizes kvStrides = p.varlen ? packed(p.lenKv, kvDims) : contiguous(kvDims);
  TensorHandle q = tensor("q", uidQ, qDims, qStrides);
  TensorHandle k = tensor("k", uidK, kvDims, kvStrides);
  TensorHandle v = tensor("v", uidV, kvDims, kvStrides);

  SDPA_attributes sdpa;
  sdpa.set_name("sdpa").set_generate_stats(false);
  sdpa.set_attn_scale(1 / std::sqrt(float(p.headDim)));
  const auto alignment =
      p.bottomRight ? fe::DiagonalAlignment_t::BOTTOM_RIGHT : fe::DiagonalAlignment_t::TOP_LEFT;
  if (p.softcap || p.alibi) {
    // A score of one's own takes the place of the built-in masks, so causal is part of it.
    TensorHandle extra;
    if (p.softcap)
      extra = graph->tensor(*p.softcap);
    else {
      extra = tensor("slopes", uidSlopes, {1, p.hq, 1, 1}, {p.hq, 1, 1, 1});
      extra->set_data_type(fe::DataType_t::FLOAT);
    }
    const Problem copy = p;
    sdpa.set_score_mod([copy, extra, alignment](std::shared_ptr<Graph> g, TensorHandle score) {
      namespace mods = attn::score_modifiers;
      const auto pointwise = [](const char *name, fe::PointwiseMode_t mode) {
        return Pointwise_attributes().set_name(name).set_mode(mode).set_compute_data_type(
            fe::DataType_t::FLOAT);
      };
      const auto index = [&](const char *name, std::int64_t axis) {
        TensorHandle i = g->pointwise(score, Pointwise_attributes()
                                                 .set_name(name)
                                                 .set_mode(fe::PointwiseMode_t::GEN_INDEX)
                                                 .set_axis(axis)
                                                 .set_compute_data_type(fe::DataType_t::INT32));
        i->set_data_type(fe::DataType_t::INT32);
        return i;
      };
      if (copy.softcap) {
        score = g->pointwise(score, extra, pointwise("by_cap", fe::PointwiseMode_t::DIV));
        score = g->pointwise(score, pointwise("tanh", fe::PointwiseMode_t::TANH_FWD));
        score = g->pointwise(score, extra, pointwise("cap", fe::PointwiseMode_t::MUL));
      } else {
        TensorHandle row = index("row", 2), column = index("column", 3);
        TensorHandle distance = g->pointwise(column, row,
                                             Pointwise_attributes()
                                                 .set_name("distance")
                                                 .set_mode(fe::PointwiseMode_t::SUB)
                                                 .set_compute_data_type(fe::DataType_t::INT32));
        distance->set_data_type(fe::DataType_t::INT32);
        TensorHandle bias =
            g->pointwise(distance, extra, pointwise("bias", fe::PointwiseMode_t::MUL));
        score = g->pointwise(score, bias, pointwise("add_bias", fe::PointwiseMode_t::ADD));
      }
      if (copy.causal || copy.window)
        score = mods::sliding_window_mask(g, score, alignment,
                                          copy.window ? std::optional<std::int64_t>(*copy.window)
                                                      : std::nullopt,
                                          std::optional<std::int64_t>(0), copy.lenQ, copy.lenKv,
                                          nullptr, nullptr, nullptr, nullptr);
      return score;
    });
  } else {
    if (p.causal || p.window) {
      sdpa.set_diagonal_alignment(alignment);
      sdpa.set_diagonal_band_right_bound(0);
    }
    if (p.window)
      sdpa.set_diagonal_band_left_bound(int(*p.window));
  }
  if (p.pageSize || p.varlen) {
    sdpa.set_padding_mask(true)
        .set_seq_len_q(integers("lens_q", uidLensQ, {p.batch, 1, 1, 1}))
        .set_seq_len_kv(integers("lens_kv", uidLensKv, {p.batch, 1, 1, 1}));
  }
  if (p.pageSize) {
    const std::int64_t per = (p.lenKv + *p.pageSize - 1) / *p.pageSize;
    TensorHandle table = integers("table", uidTable, {p.batch, 1, per, 1});
    sdpa.set_paged_attention_k_table(table)
        .set_paged_attention_v_table(table)
        .set_paged_attention_max_seq_len_kv(int(p.lenKv));
  }
  TensorHandle offsetsQ;
  if (p.varlen) {
    offsetsQ = integers("offsets_q", uidOffsetsQ, {p.batch + 1, 1, 1, 1});
    TensorHandle offsetsKv = integers("offsets_kv", uidOffsetsKv, {p.batch + 1, 1, 1, 1});
    q->set_ragged_offset(offsetsQ);
    k->set_ragged_offset(offsetsKv);
    v->set_ragged_offset(offsetsKv);
  }
  TensorHandle o = graph->sdpa(q, k, v, sdpa)[0];
  o->set_output(true).set_uid(uidO).set_dim(qDims).set_stride(qStrides);
  if (p.varlen)
    o->set_ragged_offset(offsetsQ);
  return graph;
}

class FrontendSession : public Session {
public:
  ~FrontendSession() override {
    if (handle)
      (void)fe::detail::destroy_handle(handle);
  }
  std::string version() const override {
    const std::size_t v = fe::detail::get_backend_version();
    return fmt::format("{}.{}.{}", v / 10000, v / 100 % 100, v % 100);
  }

  cudnnHandle_t handle = nullptr;
  int sm = 0;
};

class FrontendPlan : public Plan {
public:
  FrontendPlan(std::shared_ptr<FrontendSession> session, const Problem &problem)
      : session(std::move(session)), problem(problem) {}

  Status build() {
    graph = describe(problem, session->sm);
    for (const auto &[step, run] : steps())
      if (Status s = statusOf(run(), step); !s.ok())
        return s;
    std::int64_t id = -1;
    std::unordered_map<fe::KnobType_t, std::int64_t> knobs;
    std::string name;
    (void)graph->get_plan_name(name);
    about = {{"plan", name}, {"engines_offered", graph->get_execution_plan_count()}};
    // The candidate that build_plans chose is the first of the offered ones that built.
    for (std::int64_t i = 0; i < graph->get_execution_plan_count(); ++i) {
      std::string candidate;
      if (graph->get_plan_name_at_index(i, candidate).is_bad() || candidate != name)
        continue;
      if (graph->get_engine_and_knobs_at_index(i, id, knobs).is_good()) {
        about["engine"] = id;
        Json values = Json::object();
        for (const auto &[knob, value] : knobs)
          values[std::to_string(std::int64_t(knob))] = value;
        about["knobs"] = values;
      }
      break;
    }
    return {};
  }

  std::int64_t workspaceBytes() const override { return graph->get_workspace_size(); }
  Json engine() const override { return about; }

  Status run(const Tensors &t) override {
    const std::pair<std::int64_t, std::uint64_t> all[] = {{uidQ, t.q},
                                                          {uidK, t.k},
                                                          {uidV, t.v},
                                                          {uidO, t.o},
                                                          {uidLensQ, t.lensQ},
                                                          {uidLensKv, t.lensKv},
                                                          {uidTable, t.table},
                                                          {uidOffsetsQ, t.offsetsQ},
                                                          {uidOffsetsKv, t.offsetsKv},
                                                          {uidSlopes, t.slopes}};
    std::unordered_map<std::int64_t, void *> pointers;
    for (const auto &[uid, address] : all)
      if (address)
        pointers[uid] = reinterpret_cast<void *>(address);
    try {
      return statusOf(
          graph->execute(session->handle, pointers, reinterpret_cast<void *>(t.workspace)),
          "execute");
    } catch (const std::exception &e) {
      return {StatusCode::Internal, std::string("cuDNN frontend: ") + e.what()};
    }
  }

private:
  std::vector<std::pair<const char *, std::function<fe::error_t()>>> steps() {
    return {
        {"validate", [this] { return graph->validate(); }},
        {"build_operation_graph", [this] { return graph->build_operation_graph(session->handle); }},
        {"heuristics",
         [this] {
           return graph->create_execution_plans({fe::HeurMode_t::A, fe::HeurMode_t::FALLBACK});
         }},
        {"check_support", [this] { return graph->check_support(); }},
        {"build_plans", [this] { return graph->build_plans(); }}};
  }

  std::shared_ptr<FrontendSession> session;
  Problem problem;
  std::shared_ptr<fe::graph::Graph> graph;
  Json about;
};

} // namespace

std::optional<std::string> missing() {
  const Status status = load();
  return status.ok() ? std::nullopt : std::optional<std::string>(status.message());
}

Result<std::shared_ptr<Session>> Session::open(void *stream, int sm) {
  if (Status s = load(); !s.ok())
    return s;
  auto out = std::make_shared<FrontendSession>();
  out->sm = sm;
  const auto failed = [](const char *what, cudnnStatus_t code) {
    return Status(StatusCode::Environment,
                  fmt::format("cuDNN {}: {}: {}", fe::detail::get_backend_version(), what,
                              fe::detail::get_error_string(code)));
  };
  if (const cudnnStatus_t code = fe::detail::create_handle(&out->handle);
      code != CUDNN_STATUS_SUCCESS)
    return failed("cudnnCreate", code);
  if (const cudnnStatus_t code =
          fe::detail::set_stream(out->handle, static_cast<cudaStream_t>(stream));
      code != CUDNN_STATUS_SUCCESS)
    return failed("cudnnSetStream", code);
  return std::shared_ptr<Session>(out);
}

Result<std::unique_ptr<Plan>> Plan::create(std::shared_ptr<Session> session,
                                           const Problem &problem) {
  try {
    auto plan = std::make_unique<FrontendPlan>(
        std::static_pointer_cast<FrontendSession>(std::move(session)), problem);
    if (Status s = plan->build(); !s.ok())
      return s;
    return std::unique_ptr<Plan>(std::move(plan));
  } catch (const std::exception &e) { // A library of CUDA's that the frontend cannot open.
    return Status(StatusCode::Environment, std::string("cuDNN frontend: ") + e.what());
  }
}

Outlook outlook(const Problem &problem, const std::string &deviceProperties, int sm) {
  Outlook out;
  if (Status s = load(); !s.ok()) {
    out.said = s.message();
    return out;
  }
  try {
    auto device = std::make_shared<fe::DeviceProperties>();
    const auto good = [&](fe::error_t e, const char *step) {
      if (e.is_good())
        return true;
      out.said = std::string(step) + ": " + e.get_message();
      return false;
    };
    if (!good(device->deserialize({deviceProperties.begin(), deviceProperties.end()}),
              "device properties"))
      return out;
    const auto graph = describe(problem, sm);
    graph->set_device_properties(device).set_sm_version(sm);
    if (!(out.described = good(graph->validate(), "validate")))
      return out;
    if (!(out.accepted = good(graph->build_operation_graph(), "build_operation_graph")))
      return out;
    good(graph->create_execution_plans({fe::HeurMode_t::A}), "heuristics");
    out.offered = graph->get_execution_plan_count();
  } catch (const std::exception &e) {
    out.said = e.what();
  }
  return out;
}

} // namespace attnc::bench::cudnn
