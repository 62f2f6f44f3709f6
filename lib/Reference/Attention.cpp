// Attention a row at a time: logits, score, mask, softmax, values. Keys a row does not see are
// never read, so that NaN behind a mask or past a length has no effect.
#include "Attention.h"
#include "RowKernels.h"

#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>
#include <mutex>
#include <thread>

using namespace attnc;
using namespace attnc::reference;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// The regions, compiled once and shared by all threads.
struct Programs {
  bool hasMask = false, hasScore = false;
  RegionProgram mask, score, plainScore;
};

/// One (sequence, query head) after the other, for one thread.
class HeadEvaluator {
public:
  HeadEvaluator(const Problem &problem, const Programs &programs, ReferenceResult &result)
      : problem(problem), programs(programs), result(result), op(problem.op),
        dimQK(problem.q->shape[3]), dimV(problem.v->shape[3]), group(op.getGroup()),
        scale(op.getScaleValue()), maskState(programs.mask.makeState()),
        scoreState(programs.score.makeState()), plainState(programs.plainScore.makeState()) {}

  /// Returns an error message, empty on success.
  std::string evaluate(int64_t b, int64_t head);

private:
  void loadKeys(int64_t b, int64_t head);
  void findVisible(int64_t b, int64_t head, int64_t row);
  void exactRow(int64_t b, int64_t head, int64_t row);
  void plainRow(int64_t b, int64_t head, int64_t row);
  void setPositions(RegionProgram::State &state, unsigned first, int64_t b, int64_t head,
                    int64_t row);
  template <typename T>
  void applyScore(const RegionProgram &program, RegionProgram::State &state, int64_t b,
                  int64_t head, int64_t row, std::vector<T> &logits);

  const Problem &problem;
  const Programs &programs;
  ReferenceResult &result;
  mlir::attn::AttentionOpInterface op;
  int64_t dimQK, dimV, group;
  double scale;
  RegionProgram::State maskState, scoreState, plainState;

  Sequence sequence;
  /// All inputs are exact in f32.
  std::vector<float> query, keys, values;
  /// Keys the current row sees.
  std::vector<int64_t> visible;
  std::vector<double> logits, accumulator, lanes;
  std::vector<float> plainLogits, plainAccumulator;
};

} // namespace

/// One row of a tensor [·, ·, seq, dim] as f32.
static void loadRow(const HostTensor &tensor, int64_t batch, int64_t head, int64_t row,
                    float *out) {
  int64_t dim = tensor.shape[3], size = dtypeSize(tensor.dtype);
  int64_t start = batch * tensor.strides[0] + head * tensor.strides[1] + row * tensor.strides[2];
  const uint8_t *address = tensor.data() + start * size;
  for (int64_t d = 0; d < dim; ++d)
    out[d] = static_cast<float>(loadElement(address + d * tensor.strides[3] * size, tensor.dtype));
}

void HeadEvaluator::loadKeys(int64_t b, int64_t head) {
  int64_t headKv = head / group;
  keys.resize(sequence.lenKv * dimQK);
  values.resize(sequence.lenKv * dimV);
  for (int64_t kv = 0; kv < sequence.lenKv; ++kv) {
    auto [batch, row] = problem.locate(sequence, b, kv);
    loadRow(*problem.k, batch, headKv, row, &keys[kv * dimQK]);
    loadRow(*problem.v, batch, headKv, row, &values[kv * dimV]);
  }
}

void HeadEvaluator::setPositions(RegionProgram::State &state, unsigned first, int64_t b,
                                 int64_t head, int64_t row) {
  state.setInt(first + 0, b);
  state.setInt(first + 1, head);
  state.setInt(first + 2, row);
  state.setIota(first + 3, 0, sequence.lenKv);
  state.setInt(first + 4, sequence.lenQ);
  state.setInt(first + 5, sequence.lenKv);
}

void HeadEvaluator::findVisible(int64_t b, int64_t head, int64_t row) {
  visible.clear();
  if (!programs.hasMask) {
    for (int64_t kv = 0; kv < sequence.lenKv; ++kv)
      visible.push_back(kv);
    return;
  }
  setPositions(maskState, 0, b, head, row);
  programs.mask.run(maskState, sequence.lenKv);
  const RegionProgram::Slot &sees = programs.mask.result(maskState, 0);
  for (int64_t kv = 0; kv < sequence.lenKv; ++kv)
    if (RegionProgram::intLane(sees, kv))
      visible.push_back(kv);
}

template <typename T>
void HeadEvaluator::applyScore(const RegionProgram &program, RegionProgram::State &state, int64_t b,
                               int64_t head, int64_t row, std::vector<T> &scores) {
  lanes.assign(sequence.lenKv, 0);
  for (size_t i = 0; i < visible.size(); ++i)
    lanes[visible[i]] = scores[i];
  state.setFloats(0, lanes.data(), lanes.size());
  setPositions(state, 1, b, head, row);
  program.run(state, lanes.size());
  const RegionProgram::Slot &scored = program.result(state, 0);
  for (size_t i = 0; i < visible.size(); ++i)
    scores[i] = static_cast<T>(RegionProgram::floatLane(scored, visible[i]));
}

void HeadEvaluator::exactRow(int64_t b, int64_t head, int64_t row) {
  logits.resize(visible.size());
  dotKeys(query.data(), keys.data(), dimQK, visible, logits.data());
  for (double &s : logits)
    s *= scale;
  if (programs.hasScore)
    applyScore(programs.score, scoreState, b, head, row, logits);

  double sink = problem.sinks ? problem.sinks->get({head}) : -kInfinity, most = sink;
  for (double s : logits)
    most = std::isnan(s) ? s : std::max(most, s);
  accumulator.assign(dimV, 0);
  double sum = 0, lse = -kInfinity;
  // −∞ is the empty sum of exponentials: no key is visible, or a score hid them all.
  if (most != -kInfinity) {
    sum = problem.sinks ? std::exp(sink - most) : 0;
    for (double &s : logits) {
      s = std::exp(s - most);
      sum += s;
    }
    addValues(logits.data(), values.data(), dimV, visible, accumulator.data());
    for (double &o : accumulator)
      o /= sum;
    lse = most + std::log(sum);
  }
  int64_t outRow = sequence.firstQ + row;
  for (int64_t d = 0; d < dimV; ++d)
    result.o.set({sequence.batchQ, head, outRow, d}, accumulator[d]);
  result.lse.set({sequence.batchQ, head, outRow}, lse);
}

void HeadEvaluator::plainRow(int64_t b, int64_t head, int64_t row) {
  plainLogits.resize(visible.size());
  dotKeys(query.data(), keys.data(), dimQK, visible, plainLogits.data());
  for (float &s : plainLogits)
    s *= static_cast<float>(scale);
  if (programs.hasScore)
    applyScore(programs.plainScore, plainState, b, head, row, plainLogits);

  float sink = problem.sinks ? static_cast<float>(problem.sinks->get({head}))
                             : -std::numeric_limits<float>::infinity();
  float most = sink;
  for (float s : plainLogits)
    most = std::isnan(s) ? s : std::max(most, s);
  plainAccumulator.assign(dimV, 0);
  float sum = 0, lse = -std::numeric_limits<float>::infinity();
  if (most != lse) {
    sum = problem.sinks ? std::exp(sink - most) : 0;
    for (float &s : plainLogits) {
      s = std::exp(s - most);
      sum += s;
      s = roundProbability(s, problem.v->dtype);
    }
    addValues(plainLogits.data(), values.data(), dimV, visible, plainAccumulator.data());
    for (float &o : plainAccumulator)
      o /= sum;
    lse = most + std::log(sum);
  }
  int64_t outRow = sequence.firstQ + row;
  for (int64_t d = 0; d < dimV; ++d)
    result.plainO.set({sequence.batchQ, head, outRow, d}, plainAccumulator[d]);
  result.plainLse.set({sequence.batchQ, head, outRow}, lse);
}

std::string HeadEvaluator::evaluate(int64_t b, int64_t head) {
  sequence = problem.sequences[b];
  if (sequence.lenQ == 0)
    return "";
  loadKeys(b, head);
  query.resize(dimQK);
  for (int64_t row = 0; row < sequence.lenQ; ++row) {
    loadRow(*problem.q, sequence.batchQ, head, sequence.firstQ + row, query.data());
    findVisible(b, head, row);
    exactRow(b, head, row);
    plainRow(b, head, row);
  }
  for (const RegionProgram::State *state : {&maskState, &scoreState})
    if (!state->error.empty())
      return state->error;
  return "";
}

/// Rows no sequence owns keep this: they are not written, and comparisons leave them out.
static void fillWithNaN(HostTensor &tensor) {
  int64_t size = dtypeSize(tensor.dtype);
  for (int64_t i = 0; i < tensor.numElements(); ++i)
    storeElement(tensor.data() + i * size, tensor.dtype, std::nan(""));
}

std::string reference::evaluateAttention(const Problem &problem, unsigned threads,
                                         ReferenceResult &result) {
  mlir::attn::AttentionOpInterface op = problem.op;
  Programs programs;
  programs.hasMask = !op.getMask().empty();
  programs.hasScore = !op.getScore().empty();
  using Precision = RegionProgram::Precision;
  std::string error;
  if (programs.hasMask)
    error = programs.mask.compile(op.getMask(), problem.bindings, Precision::F64);
  if (programs.hasScore && error.empty())
    error = programs.score.compile(op.getScore(), problem.bindings, Precision::F64);
  if (programs.hasScore && error.empty())
    error = programs.plainScore.compile(op.getScore(), problem.bindings, Precision::F32);
  if (!error.empty())
    return error;

  std::vector<int64_t> shape = problem.q->shape;
  shape.back() = problem.v->shape.back();
  std::vector<int64_t> rows(shape.begin(), shape.end() - 1);
  result.o = HostTensor::empty(DType::F64, shape);
  result.plainO = HostTensor::empty(problem.outputType, shape);
  result.lse = HostTensor::empty(DType::F64, rows);
  result.plainLse = HostTensor::empty(DType::F32, rows);
  for (HostTensor *tensor : {&result.o, &result.plainO, &result.lse, &result.plainLse})
    fillWithNaN(*tensor);

  int64_t heads = op.getHeadsQ();
  int64_t jobs = static_cast<int64_t>(problem.sequences.size()) * heads;
  std::atomic<int64_t> next{0};
  std::mutex errorLock;
  auto work = [&] {
    HeadEvaluator evaluator(problem, programs, result);
    for (int64_t job; (job = next++) < jobs;) {
      std::string failure = evaluator.evaluate(job / heads, job % heads);
      if (!failure.empty()) {
        std::lock_guard<std::mutex> guard(errorLock);
        error = failure;
        next = jobs;
      }
    }
  };
  std::vector<std::thread> pool;
  for (int64_t i = 1; i < std::min<int64_t>(std::max(threads, 1u), jobs); ++i)
    pool.emplace_back(work);
  work();
  for (std::thread &thread : pool)
    thread.join();
  return error;
}
