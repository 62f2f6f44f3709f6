// Checks of the command line.
#include "CommandLine.h"

#include "Messages.h"
#include "Verbs.h"

#include "attnc/Support/ExitCodes.h"
#include "attnc/Support/NearestName.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CommandLine.h"

#include <map>

using namespace llvm;

namespace attnc::cli {
namespace {

/// What is checked of one verb's command line.
class Checker {
public:
  explicit Checker(cl::SubCommand &verb) : verb(verb) {}

  int run(ArrayRef<const char *> arguments);

private:
  /// Checks `--name[=value]`; `next` is the argument after it. Sets `tookNext`. \returns an exit
  /// code.
  int option(StringRef argument, const char *next, bool &tookNext);
  int positionals(unsigned found) const;
  cl::Option *find(StringRef name) const;
  std::string help() const { return ("; see: attnc " + verb.getName() + " --help").str(); }

  cl::SubCommand &verb;
  std::map<const cl::Option *, unsigned> seen;
};

} // namespace

/// Options whose value is a whole number from 0.
static bool isWholeNumber(StringRef name) {
  return is_contained({"seed", "splits", "threads", "page-size"}, name);
}

static bool isSwitch(const cl::Option &option) {
  return option.getValueExpectedFlag() != cl::ValueRequired;
}

/// Options that LLVM's parser answers and is done, whatever else is there.
static bool asksForHelp(StringRef argument) {
  return is_contained({"help", "h", "help-hidden", "help-list", "help-list-hidden", "version"},
                      argument.ltrim('-'));
}

cl::Option *Checker::find(StringRef name) const {
  for (cl::SubCommand *sub : {&verb, &cl::SubCommand::getAll(), &cl::SubCommand::getTopLevel()}) {
    auto at = sub->OptionsMap.find(name);
    // The top level's own options are not this verb's; LLVM's, such as --help, are everybody's.
    if (at != sub->OptionsMap.end())
      return at->second;
  }
  return nullptr;
}

int Checker::option(StringRef argument, const char *next, bool &tookNext) {
  StringRef spelt = argument.split('=').first;
  StringRef name = spelt.ltrim('-');
  bool hasValue = argument.contains('=');
  StringRef value = argument.split('=').second;
  const cl::Option *option = find(name);
  if (!option) {
    std::vector<StringRef> known{"help"};
    for (const auto &entry : verb.OptionsMap)
      if (entry.second->getOptionHiddenFlag() == cl::NotHidden)
        known.push_back(entry.first);
    llvm::sort(known);
    known.erase(llvm::unique(known), known.end());
    StringRef nearest = nearestName(name, known);
    std::string hint =
        nearest.empty()
            ? std::string()
            : ("; did you mean '" + StringRef(nearest.size() == 1 ? "-" : "--") + nearest + "'?")
                  .str();
    std::vector<std::string> spellings;
    for (StringRef other : known)
      spellings.push_back((other.size() == 1 ? "-" : "--") + other.str());
    error("unknown option '" + spelt + "'" + hint + "; attnc " + verb.getName() + " takes " +
          join(spellings, ", "));
    return kExitBadUsage;
  }
  if (!hasValue && !isSwitch(*option)) {
    if (!next) {
      error("'" + spelt + "' takes a value: " + spelt + " " +
            (option->ValueStr.empty() ? StringRef("N") : option->ValueStr) + help());
      return kExitBadUsage;
    }
    value = next;
    tookNext = true;
  }
  if (isWholeNumber(name)) {
    uint64_t number = 0;
    if (value.getAsInteger(10, number) || (name != "seed" && number > INT32_MAX)) {
      error("'" + spelt + "' is a whole number from 0" +
            (name == "seed" ? Twine() : Twine(" to ") + Twine(INT32_MAX)) + ", got '" + value +
            "'");
      return kExitBadUsage;
    }
  }
  if (hasValue && isSwitch(*option) && name != "explain") {
    error("'" + spelt + "' takes no value, got '" + value + "'; give it or leave it out");
    return kExitBadUsage;
  }
  bool repeatable = option->getNumOccurrencesFlag() == cl::ZeroOrMore ||
                    option->getNumOccurrencesFlag() == cl::OneOrMore;
  if (seen[option]++ && !repeatable && !isSwitch(*option)) {
    error("'" + spelt + "' is given twice; give it once");
    return kExitBadUsage;
  }
  return kExitOk;
}

int Checker::positionals(unsigned found) const {
  unsigned least = 0, most = 0;
  std::string names;
  for (const cl::Option *option : verb.PositionalOpts) {
    bool list = option->getNumOccurrencesFlag() == cl::ZeroOrMore;
    least += option->getNumOccurrencesFlag() == cl::Required;
    most = list ? UINT_MAX : most == UINT_MAX ? most : most + 1;
    names += (" " + option->ValueStr + (list ? "…" : "")).str();
  }
  if (found < least) {
    error("attnc " + verb.getName() + " needs" + names + ", as in: attnc " + verb.getName() + " " +
          (verb.getName() == "spec" ? "fmt examples/llama3-8b-prefill.yaml"
                                    : "examples/llama3-8b-prefill.yaml") +
          help());
    return kExitBadUsage;
  }
  if (found > most) {
    error("attnc " + verb.getName() + " takes" + (names.empty() ? " no arguments" : names) +
          (most == 0 ? "" : " and no more arguments") + ", got " + Twine(found) + help());
    return kExitBadUsage;
  }
  return kExitOk;
}

int Checker::run(ArrayRef<const char *> arguments) {
  unsigned found = 0;
  bool onlyPositionals = false;
  for (size_t i = 0; i < arguments.size(); ++i) {
    StringRef argument = arguments[i];
    if (!onlyPositionals && argument == "--") {
      onlyPositionals = true;
    } else if (onlyPositionals || !argument.starts_with("-") || argument == "-") {
      ++found;
    } else {
      if (asksForHelp(argument))
        return kExitOk;
      bool tookNext = false;
      const char *next = i + 1 < arguments.size() ? arguments[i + 1] : nullptr;
      if (int code = option(argument, next, tookNext))
        return code;
      i += tookNext;
    }
  }
  return positionals(found);
}

int checkCommandLine(ArrayRef<const char *> arguments) {
  std::vector<StringRef> names;
  for (cl::SubCommand *verb : {&compileVerb(), &runVerb(), &checkVerb(), &explainVerb(),
                               &matrixVerb(), &envVerb(), &specVerb()}) {
    if (!arguments.empty() && arguments[0] == verb->getName())
      return Checker(*verb).run(arguments.drop_front());
    names.push_back(verb->getName());
  }
  if (arguments.empty()) {
    error("no verb given; verbs are " + join(names, ", ") + "; see: attnc --help");
    return kExitBadUsage;
  }
  StringRef first = arguments[0];
  if (!first.starts_with("-")) {
    error("unknown verb '" + first + "'" + didYouMean(first, names) + "; verbs are " +
          join(names, ", ") + "; see: attnc --help");
    return kExitBadUsage;
  }
  if (asksForHelp(first))
    return kExitOk;
  error("'" + first + "' comes before a verb; the verb is first: attnc compile SPEC " + first +
        "; verbs are " + join(names, ", "));
  return kExitBadUsage;
}

namespace {
/// A field of the configuration and the values it can have on some target; ChooseConfig.cpp has the
/// same fields and refuses what the target at hand cannot do.
struct ConfigField {
  StringLiteral name;
  int64_t least, most, step;
};
} // namespace

static constexpr ConfigField kConfigFields[] = {
    {"block_m", 16, 256, 16},  {"block_n", 16, 256, 16},      {"warps", 1, 16, 1},
    {"stages", 2, 8, 1},       {"pack_gqa", 0, 1, 1},         {"q_in_registers", 0, 1, 1},
    {"split_kv", 0, 1, 1},     {"warp_specialized", 0, 1, 1}, {"persistent", 0, 1, 1},
    {"ctas_per_sm", 0, 32, 1},      {"flat_loop", 0, 1, 1},   {"bulk_store", 0, 1, 1},
};

int checkConfig(StringRef text) {
  std::vector<StringRef> known;
  for (const ConfigField &field : kConfigFields)
    known.push_back(field.name);
  SmallVector<StringRef> entries;
  text.split(entries, ',', -1, /*KeepEmpty=*/false);
  std::map<StringRef, StringRef> given;
  for (StringRef entry : entries) {
    auto [key, value] = entry.split('=');
    key = key.trim();
    value = value.trim();
    const auto *field =
        find_if(kConfigFields, [&](const ConfigField &field) { return field.name == key; });
    if (field == std::end(kConfigFields)) {
      error("--config: unknown field '" + key + "'" + didYouMean(key, known) + "; known are " +
            join(known, ", "));
      return kExitBadUsage;
    }
    int64_t number = 0;
    if (value.getAsInteger(10, number) || number < field->least || number > field->most ||
        number % field->step != 0) {
      error("--config: " + key + " is " +
            (field->step > 1 ? "a multiple of " + Twine(field->step) : Twine("a whole number")) +
            " from " + Twine(field->least) + " to " + Twine(field->most) + ", got '" + value + "'");
      return kExitBadUsage;
    }
    if (!given.try_emplace(key, value).second) {
      error("--config: '" + key + "' is given twice, as " + given[key] + " and as " + value);
      return kExitBadUsage;
    }
  }
  return kExitOk;
}

} // namespace attnc::cli
