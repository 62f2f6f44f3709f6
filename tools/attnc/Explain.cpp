// Explanations of compile results.
#include "Explain.h"
#include "Tuning.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;

namespace attnc::cli {

static const rt::KernelResources *resourcesOf(const TargetResult &result, StringRef entry) {
  if (!result.assembled)
    return nullptr;
  for (const rt::KernelResources &resources : result.assembled->kernels)
    if (resources.entry == entry)
      return &resources;
  return nullptr;
}

json::Object explainJson(const Input &input, const TargetInfo &target, const TargetResult &result) {
  json::Object config;
  for (const auto &[field, value] : result.compiled.config)
    config[field] = value;
  json::Array kernels;
  for (const KernelInterface &kernel : result.compiled.program.kernels) {
    json::Object entry{{"entry", kernel.entry},
                       {"role", kernel.role},
                       {"warps", kernel.warps},
                       {"grid", json::Value(kernel.grid)}};
    if (!target.isHost) {
      entry["threads"] = kernel.warps * 32;
      entry["shared_bytes"] = kernel.sharedBytes;
    }
    if (const rt::KernelResources *resources = resourcesOf(result, kernel.entry)) {
      entry["registers"] = resources->registers;
      entry["spill_store_bytes"] = resources->spillStoreBytes;
      entry["spill_load_bytes"] = resources->spillLoadBytes;
      entry["stack_bytes"] = resources->stackBytes;
    }
    kernels.push_back(std::move(entry));
  }
  json::Array remarks;
  for (const CompileRemark &remark : result.compiled.remarks)
    remarks.push_back(json::Object{
        {"kind", remark.kind}, {"name", remark.name}, {"message", remark.message}});
  json::Object object{{"spec", input.spec.name},
                      {"target", target.name},
                      {"products", target.products},
                      {"config", std::move(config)},
                      {"kernels", std::move(kernels)},
                      {"remarks", std::move(remarks)},
                      {"tuning_key", tuningKey(input.spec)}};
  if (result.tuned)
    object["tuned"] = json::Object{{"config", result.tuned->config},
                                   {"device", result.tuned->device},
                                   {"time", result.tuned->time},
                                   {"ratio", result.tuned->ratio},
                                   {"where", result.tuned->where}};
  if (!target.isHost) {
    object["shared_limit"] = target.sharedPerBlock;
    object["ptx_bytes"] = static_cast<int64_t>(result.compiled.ptx.size());
  }
  if (result.assembled)
    object["assembler"] =
        json::Object{{"name", rt::assemblerName(result.assembled->assembler.kind)},
                     {"version", result.assembled->assembler.version},
                     {"milliseconds", result.assembled->milliseconds},
                     {"cubin_bytes", static_cast<int64_t>(result.assembled->cubin.size())}};
  return object;
}

/// ["mul", "batch", 8] as batch * 8.
static std::string readable(const json::Value &value) {
  if (std::optional<int64_t> integer = value.getAsInteger())
    return std::to_string(*integer);
  if (std::optional<StringRef> symbol = value.getAsString())
    return symbol->str();
  const json::Array *array = value.getAsArray();
  if (!array || array->size() != 3)
    return "?";
  std::string op = (*array)[0].getAsString().value_or("?").str();
  std::string a = readable((*array)[1]), b = readable((*array)[2]);
  if (op == "mul")
    return a + " * " + b;
  if (op == "add")
    return "(" + a + " + " + b + ")";
  if (op == "sub")
    return "(" + a + " - " + b + ")";
  if (op == "ceildiv")
    return "ceil(" + a + " / " + b + ")";
  return op + "(" + a + ", " + b + ")";
}

static void printRow(raw_ostream &stream, StringRef label, const Twine &text) {
  stream << "  " << left_justify(label, 10) << text << "\n";
}

void printExplanation(raw_ostream &stream, const Input &input, const TargetInfo &target,
                      const TargetResult &result) {
  stream << input.spec.name << " on " << target.name << " (" << target.products << ")\n";
  std::string config;
  for (const auto &[field, value] : result.compiled.config)
    config += (config.empty() ? "" : ", ") + field + " " + std::to_string(value);
  printRow(stream, "config", config);
  if (const std::optional<rt::TunedConfig> &tuned = result.tuned) {
    std::string what = "the compiler's own choice, the fastest that was measured";
    if (!tuned->config.empty())
      what = formatv("{0}, {1:F3} x the time of the compiler's choice", tuned->config, tuned->ratio);
    printRow(stream, "tuned", what + " on " + tuned->device + ", " + tuned->time + " (" +
                                  tuned->where + ")");
  }
  for (const KernelInterface &kernel : result.compiled.program.kernels) {
    printRow(stream, "kernel", kernel.entry + " (" + kernel.role + ")");
    printRow(stream, "  grid", readable(kernel.grid));
    if (target.isHost)
      continue;
    printRow(stream, "  block", Twine(kernel.warps * 32) + " threads, " +
                                    Twine(kernel.sharedBytes) + " bytes of shared memory of " +
                                    Twine(target.sharedPerBlock));
    if (const rt::KernelResources *resources = resourcesOf(result, kernel.entry)) {
      int64_t spilled = resources->spillStoreBytes + resources->spillLoadBytes;
      printRow(stream, "  uses",
               Twine(resources->registers) + " registers a thread, " +
                   (spilled > 0 ? Twine(spilled) + " bytes spilled" : Twine("no spills")));
    }
  }
  if (!target.isHost)
    printRow(stream, "PTX", Twine(result.compiled.ptx.size()) + " bytes");
  if (result.assembled)
    printRow(stream, "cubin",
             formatv("{0} bytes by {1} {2} in {3:F0} ms", result.assembled->cubin.size(),
                     rt::assemblerName(result.assembled->assembler.kind),
                     result.assembled->assembler.version, result.assembled->milliseconds)
                 .str());
  else if (!target.isHost)
    printRow(stream, "cubin", "not assembled: registers and spills are not known");
  for (const CompileRemark &remark : result.compiled.remarks) {
    const char *label = remark.kind == "passed"   ? "chosen"
                        : remark.kind == "missed" ? "rejected"
                        : remark.kind == "failed" ? "failed"
                                                  : "considered";
    printRow(stream, label, " " + remark.message);
  }
}

} // namespace attnc::cli
