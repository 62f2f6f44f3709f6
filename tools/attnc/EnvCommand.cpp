// attnc env.
#include "CommonOptions.h"
#include "Messages.h"
#include "Verbs.h"

#include "attnc/Runtime/Environment.h"
#include "attnc/Support/ExitCodes.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

using namespace llvm;

namespace attnc::cli {

/// "path (version)" or "missing: reason".
static std::string describe(const json::Object &tool) {
  if (tool.getBoolean("found").value_or(false)) {
    std::string text = tool.getString("path").value_or("").str();
    if (std::optional<StringRef> version = tool.getString("version"); version && !version->empty())
      text += (text.empty() ? "" : ", ") + std::string("version ") + version->str();
    return text;
  }
  return "missing: " + tool.getString("reason").value_or("not found").str();
}

int envMain() {
  Expected<json::Value> parsed = json::parse(rt::environmentJson());
  if (!parsed) {
    error("the runtime's description of this machine is no JSON: " + toString(parsed.takeError()));
    return kExitInternal;
  }
  json::Object &object = *parsed->getAsObject();
  object["compiler"] = compilerId();
  object["llvm"] = ATTNC_LLVM_VERSION;
  if (asJson) {
    outs() << formatv("{0:2}", *parsed) << "\n";
    return kExitOk;
  }
  outs() << left_justify("compiler", 11) << compilerId() << ", LLVM " ATTNC_LLVM_VERSION "\n";
  for (const char *name : {"driver", "nvml", "nvjitlink", "ptxas", "nvrtc", "cudnn"})
    if (const json::Object *tool = object.getObject(name))
      outs() << left_justify(name, 11) << describe(*tool) << "\n";
  if (const json::Array *gpus = object.getArray("gpus")) {
    if (gpus->empty())
      outs() << left_justify("gpus", 11) << "none; the host target runs everything\n";
    for (const json::Value &gpu : *gpus)
      if (const json::Object *entry = gpu.getAsObject())
        outs() << left_justify("gpu", 11) << entry->getString("name").value_or("?") << ", "
               << entry->getString("sm").value_or("?") << "\n";
  }
  if (const json::Array *remarks = object.getArray("remarks"))
    for (const json::Value &remark : *remarks)
      outs() << left_justify("remark", 11) << remark.getAsString().value_or("") << "\n";
  return kExitOk;
}

} // namespace attnc::cli
