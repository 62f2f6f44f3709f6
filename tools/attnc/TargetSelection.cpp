// Resolving target names.
#include "TargetSelection.h"

#include "Messages.h"

#include "attnc/Runtime/Device.h"
#include "attnc/Support/ExitCodes.h"
#include "attnc/Support/NearestName.h"
#include "llvm/ADT/STLExtras.h"

namespace attnc::cli {

/// The row `name` means: its own, or the one with an architecture suffix.
static const TargetInfo *findRow(llvm::StringRef name) {
  if (const TargetInfo *row = lookupTarget(name))
    return row;
  return lookupTarget((name + "a").str());
}

const TargetInfo *nativeTarget(std::string &reason) {
  rt::Result<int> count = rt::Device::count();
  if (!count.ok()) {
    reason = count.status().message();
    return nullptr;
  }
  if (*count == 0) {
    reason = "the driver finds no GPU";
    return nullptr;
  }
  rt::Result<std::shared_ptr<rt::Device>> device = rt::Device::open(0);
  if (!device.ok()) {
    reason = device.status().message();
    return nullptr;
  }
  const rt::DeviceProperties &properties = (*device)->properties();
  const TargetInfo *row = findRow(properties.sm);
  if (!row)
    reason = "GPU 0 (" + properties.name + ") is " + properties.sm +
             ", which is not in the target table; known are " + knownTargets();
  return row;
}

std::string knownTargets() {
  std::string text;
  for (const TargetInfo &target : allTargets())
    text += target.name.str() + ", ";
  return text + "all, native";
}

int selectTargets(llvm::ArrayRef<std::string> names, std::vector<const TargetInfo *> &targets) {
  auto add = [&](const TargetInfo *target) {
    if (!llvm::is_contained(targets, target))
      targets.push_back(target);
  };
  for (llvm::StringRef name : names) {
    if (name == "all") {
      for (const TargetInfo &target : allTargets())
        add(&target);
      continue;
    }
    if (name == "native") {
      std::string reason;
      const TargetInfo *native = nativeTarget(reason);
      if (!native) {
        error("no native GPU target: " + reason + "; name a target (" + knownTargets() +
              ") or use --target host");
        return kExitEnvironment;
      }
      add(native);
      continue;
    }
    const TargetInfo *row = findRow(name);
    if (!row) {
      std::vector<llvm::StringRef> known;
      for (const TargetInfo &target : allTargets())
        known.push_back(target.name);
      known.insert(known.end(), {"all", "native"});
      error("unknown target '" + name + "'" + didYouMean(name, known) + "; known are " +
            knownTargets());
      return kExitBadUsage;
    }
    if (row->name != name)
      note("target " + name + " is compiled as " + row->name +
           ": the code runs on the same GPUs and may use their own instructions");
    add(row);
  }
  return kExitOk;
}

} // namespace attnc::cli
