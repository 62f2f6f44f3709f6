// attnc run: a real launch, compared with fp64.
#include "CommonOptions.h"
#include "MemoryLimit.h"
#include "Messages.h"
#include "ProblemFiles.h"
#include "Runner.h"
#include "TargetSelection.h"
#include "Tuning.h"
#include "Verbs.h"

#include "attnc/Reference/Reference.h"
#include "attnc/Support/ExitCodes.h"
#include "attnc/Support/NearestName.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"

#include <thread>

using namespace llvm;

namespace attnc::cli {

static cl::opt<std::string>
    shapeText("shape", cl::value_desc("b=…,sq=…,skv=…"),
              cl::desc("Sizes of a generated problem; by default small ones that no tile divides"),
              cl::sub(runVerb()));
static cl::opt<std::string> inputsPath(
    "inputs", cl::value_desc("F"),
    cl::desc("Tensors from a safetensors file instead of generated ones (q, k, v, kv_lens, "
             "cu_seqlens_q, cu_seqlens_kv, block_table, bias, sinks, arg.NAME)"),
    cl::sub(runVerb()));
static cl::opt<std::string> outputsPath("outputs", cl::value_desc("F"),
                                        cl::desc("Write o and lse to a safetensors file"),
                                        cl::sub(runVerb()));
static cl::opt<uint64_t> seed("seed", cl::init(0), cl::desc("Seed of generated data"),
                              cl::sub(runVerb()));
static cl::opt<std::string> dataName(
    "data", cl::init("random"), cl::value_desc("KIND"),
    cl::desc("Generated values: random, outliers (some key rows 50 times larger), onehot (one head "
             "nearly one-hot), extreme (the range of f16)"),
    cl::sub(runVerb()));
static cl::opt<std::string> verifyName("verify", cl::init("fp64"), cl::value_desc("HOW"),
                                       cl::desc("fp64 (default) or none"), cl::sub(runVerb()));
static cl::list<std::string> argValues("arg", cl::CommaSeparated, cl::value_desc("NAME=VALUE"),
                                       cl::desc("Value of a scalar argument of the spec"),
                                       cl::sub(runVerb()));
static cl::opt<int64_t> splitCount("splits", cl::init(0),
                                   cl::desc("Decode: parts the keys are split into; 0: as the spec "
                                            "says, else chosen for the GPU and 1 on the host"),
                                   cl::sub(runVerb()));
static cl::opt<unsigned> threadCount("threads", cl::init(0), cl::desc("Host threads; 0: all cores"),
                                     cl::sub(runVerb()));

/// Most host threads that are started: more than any machine has cores.
static constexpr unsigned kMaxThreads = 4096;

/// One line of the result table.
namespace {
struct Row {
  std::string name, shape;
  Comparison comparison;
  Unwritten unwritten;
  bool guards = true;
  bool ok() const {
    return comparison.ok && unwritten.rows == 0 && unwritten.tailWritten == 0 && guards;
  }
};
} // namespace

static std::optional<DataKind> parseDataKind() {
  std::optional<DataKind> kind = StringSwitch<std::optional<DataKind>>(dataName)
                                     .Case("random", DataKind::Random)
                                     .Case("outliers", DataKind::Outliers)
                                     .Case("onehot", DataKind::OneHot)
                                     .Case("extreme", DataKind::Extreme)
                                     .Default(std::nullopt);
  if (!kind)
    error("unknown --data '" + dataName + "'" +
          didYouMean(dataName, {"random", "outliers", "onehot", "extreme"}) +
          "; known are random, outliers, onehot, extreme");
  return kind;
}

/// --arg NAME=VALUE,… checked against the spec.
static int parseArgs(const Spec &spec, std::map<std::string, double> &values) {
  std::vector<StringRef> known;
  for (const SpecArg &arg : spec.args)
    if (!arg.isTensor())
      known.push_back(arg.name);
  for (StringRef text : argValues) {
    auto [name, value] = text.split('=');
    name.consume_front("arg.");
    const SpecArg *arg = spec.findArg(name);
    if (!arg || arg->isTensor()) {
      error("--arg: " + spec.name + " has no scalar argument '" + name + "'" +
            didYouMean(name, known) +
            (known.empty() ? std::string() : "; it has " + join(known, ", ")));
      return kExitBadUsage;
    }
    double number = 0;
    int64_t integer = 0;
    bool bad = arg->dtype == DType::I32 ? value.getAsInteger(10, integer) || !isInt<32>(integer)
                                        : value.getAsDouble(number);
    if (bad) {
      error("--arg: '" + name + "' is " + dtypeName(arg->dtype) + ", got '" + value + "'");
      return kExitBadUsage;
    }
    values[name.str()] = arg->dtype == DType::I32 ? static_cast<double>(integer) : number;
  }
  return kExitOk;
}

static int makeProblem(const Spec &spec, Problem &problem) {
  std::map<std::string, double> args;
  if (int code = parseArgs(spec, args))
    return code;
  std::optional<DataKind> kind = parseDataKind();
  if (!kind)
    return kExitBadUsage;
  if (!inputsPath.empty()) {
    if (!shapeText.empty()) {
      error("--shape and --inputs exclude each other: the file's tensors have their shapes");
      return kExitBadUsage;
    }
    return readProblem(inputsPath, spec, args, problem);
  }
  if (std::string fault = parseShape(shapeText, spec, problem.shape); !fault.empty()) {
    error(fault);
    return kExitBadUsage;
  }
  if (int code = checkMemory(problem.shape.text() + " with its reference",
                             estimateBytes(spec, problem.shape), "use a smaller --shape"))
    return code;
  drawShape(spec, seed, problem.shape);
  generateData(spec, *kind, seed, args, problem);
  return kExitOk;
}

/// The targets to run on: as asked, else GPU 0, else the host, which a note says.
static int runTargets(std::vector<const TargetInfo *> &targets) {
  if (!targetNames.empty()) {
    if (is_contained(targetNames, "all")) {
      error("run takes targets this machine can run: native, host, or an SM that the GPU here "
            "accepts");
      return kExitBadUsage;
    }
    return selectTargets(std::vector<std::string>(targetNames), targets);
  }
  std::string reason;
  const TargetInfo *target = nativeTarget(reason);
  if (!target) {
    note("running on the host: " + reason);
    target = lookupTarget("host");
  }
  targets.push_back(target);
  return kExitOk;
}

static std::string shapeOf(const HostTensor &tensor) {
  std::string text;
  for (int64_t extent : tensor.shape) {
    if (!text.empty())
      text += 'x';
    text += std::to_string(extent);
  }
  return text;
}

static std::vector<Row> compareOutputs(const Problem &problem,
                                       const std::map<std::string, HostTensor> &outputs,
                                       const ReferenceResult *reference) {
  std::vector<Row> rows;
  for (const auto &[name, tensor] : outputs) {
    Row row;
    row.name = name;
    row.shape = shapeOf(tensor);
    row.guards = guardsIntact(tensor);
    row.unwritten = countUnwritten(tensor, problem.shape.tailQ);
    if (reference)
      row.comparison = compareWithReference(tensor, name == "o" ? reference->o : reference->lse,
                                            name == "o" ? reference->plainO : reference->plainLse);
    else
      row.comparison.ok = true;
    rows.push_back(std::move(row));
  }
  return rows;
}

static std::string verdictOf(const Row &row, bool verified) {
  if (!row.guards)
    return "WRONG: wrote outside the tensor";
  if (row.unwritten.rows > 0)
    return "WRONG: " + std::to_string(row.unwritten.rows) + " elements not written";
  if (row.unwritten.tailWritten > 0)
    return "WRONG: wrote " + std::to_string(row.unwritten.tailWritten) +
           " elements behind the last sequence";
  if (!row.comparison.ok)
    return "WRONG: " + row.comparison.message;
  return verified ? "ok" : "not compared";
}

static void printTable(const Spec &spec, const TargetInfo &target, const Problem &problem,
                       const RunFacts &facts, ArrayRef<Row> rows, bool verified) {
  raw_ostream &stream = outs();
  stream << spec.name << " for " << target.name << " on " << facts.where << "\n";
  stream << "  " << problem.shape.text();
  if (facts.splits > 1)
    stream << " splits=" << facts.splits;
  stream << ", "
         << (inputsPath.empty() ? dataName + " data, seed " + std::to_string(seed)
                                : "inputs from " + inputsPath)
         << "\n";
  for (const std::string &chosen : problem.chosenScalars)
    stream << "  " << chosen << " (chosen; set it with --arg)\n";
  stream << "  " << left_justify("output", 8) << left_justify("shape", 20)
         << left_justify("max error", 12) << left_justify("of plain", 10) << "verdict\n";
  for (const Row &row : rows) {
    std::string error = verified ? formatv("{0:E2}", row.comparison.maxAbs).str() : "-";
    std::string ratio = verified ? formatv("{0:F2}x", row.comparison.errorRatio).str() : "-";
    stream << "  " << left_justify(row.name, 8) << left_justify(row.shape, 20)
           << left_justify(error, 12) << left_justify(ratio, 10) << verdictOf(row, verified)
           << "\n";
  }
  if (!facts.workspaceGuardsIntact)
    stream << "  WRONG: wrote outside the workspace of " << facts.workspaceBytes << " bytes\n";
  if (verified)
    stream << "  error against fp64 on the same inputs; the plain implementation of the same dtype "
              "may be exceeded twice\n";
  stream << formatv("  {0:F2} ms (one run, not a benchmark)\n", facts.milliseconds);
  stream.flush();
}

static json::Object rowsToJson(const Spec &spec, const TargetInfo &target, const Problem &problem,
                               const RunFacts &facts, ArrayRef<Row> rows, bool ok) {
  json::Array outputs;
  for (const Row &row : rows)
    outputs.push_back(json::Object{{"name", row.name},
                                   {"max_abs", row.comparison.maxAbs},
                                   {"error_ratio", row.comparison.errorRatio},
                                   {"unwritten", row.unwritten.rows},
                                   {"tail_written", row.unwritten.tailWritten},
                                   {"guards_intact", row.guards},
                                   {"ok", row.ok()},
                                   {"message", row.comparison.message}});
  return json::Object{{"spec", spec.name},
                      {"target", target.name},
                      {"where", facts.where},
                      {"shape", problem.shape.text()},
                      {"splits", facts.splits},
                      {"milliseconds", facts.milliseconds},
                      {"workspace_bytes", facts.workspaceBytes},
                      {"outputs", std::move(outputs)},
                      {"ok", ok}};
}

static int runTarget(Input &input, const TargetInfo &target, Problem &problem,
                     const ReferenceResult *reference, unsigned threads) {
  CompileOptions options;
  options.target = &target;
  const int64_t splits = splitCount ? int64_t(splitCount) : input.spec.splitKv.value_or(0);
  // The host divides keys only when asked to: its cores are busy without. What --config says wins.
  if (target.isHost && splits > 0)
    options.config = "split_kv=1,";
  options.level = target.isHost ? CompileLevel::Program : CompileLevel::Ptx;
  TargetResult result;
  if (int code = compileTuned(input, options, result))
    return code;
  if (!target.isHost && hasOfflineAssembler())
    if (int code = assembleTarget(input, target, result))
      return code;
  std::map<std::string, HostTensor> outputs;
  outputs["o"] = makePoisonedOutput(input.spec, problem.shape, "o");
  if (input.spec.lse)
    outputs["lse"] = makePoisonedOutput(input.spec, problem.shape, "lse");
  RunFacts facts;
  int code = target.isHost ? runOnHost(input.spec, result, problem, outputs, threads, splits, facts)
                           : runOnGpu(input.spec, target, result, problem, outputs, splits, facts);
  if (code)
    return code;
  std::vector<Row> rows = compareOutputs(problem, outputs, reference);
  bool ok = facts.workspaceGuardsIntact && all_of(rows, [](const Row &row) { return row.ok(); });
  if (asJson)
    outs() << json::Value(rowsToJson(input.spec, target, problem, facts, rows, ok)) << "\n";
  else
    printTable(input.spec, target, problem, facts, rows, reference != nullptr);
  if (!outputsPath.empty())
    if (int writeCode = writeOutputs(outputsPath, input.spec, outputs))
      return writeCode;
  return ok ? kExitOk : kExitWrongNumbers;
}

int runMain() {
  if (verifyName != "fp64" && verifyName != "none") {
    error("unknown --verify '" + verifyName + "'; it takes fp64 or none");
    return kExitBadUsage;
  }
  if (splitCount < 0 || splitCount > kMaxSplits) {
    error("--splits is a whole number from 0 to " + Twine(kMaxSplits) + ", got " +
          Twine(splitCount));
    return kExitBadUsage;
  }
  if (threadCount > kMaxThreads) {
    error("--threads is a whole number from 0 to " + Twine(kMaxThreads) + ", got " +
          Twine(threadCount));
    return kExitBadUsage;
  }
  Input input;
  if (int code = input.load(specPath))
    return code;
  if (splitCount > 0 && input.spec.kind != SpecKind::Decode) {
    error("--splits divides the keys of a decode; " + input.spec.name + " is a prefill");
    return kExitBadUsage;
  }
  std::vector<const TargetInfo *> targets;
  if (int code = runTargets(targets))
    return code;
  if (!outputsPath.empty() && targets.size() > 1) {
    error("--outputs takes one target");
    return kExitBadUsage;
  }
  Problem problem;
  if (int code = makeProblem(input.spec, problem))
    return code;
  unsigned threads =
      threadCount ? unsigned(threadCount) : std::max(1u, std::thread::hardware_concurrency());
  ReferenceResult reference;
  bool verify = verifyName == "fp64";
  if (verify) {
    auto function = *input.module->getOps<mlir::func::FuncOp>().begin();
    std::string fault =
        evaluateReference(function, problem.inputs, problem.scalars, threads, reference);
    if (!fault.empty()) {
      error("the reference: " + fault);
      return kExitInternal;
    }
  }
  for (const TargetInfo *target : targets)
    if (int code = runTarget(input, *target, problem, verify ? &reference : nullptr, threads))
      return code;
  return kExitOk;
}

} // namespace attnc::cli
