// attnc spec fmt | schema | from-hf.
#include "Messages.h"
#include "Output.h"
#include "Verbs.h"

#include "attnc/Spec/Spec.h"
#include "attnc/Support/ExitCodes.h"
#include "attnc/Support/NearestName.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace llvm;

namespace attnc::cli {

static cl::opt<std::string> action(cl::Positional, cl::value_desc("ACTION"),
                                   cl::desc("<fmt | schema | from-hf>"), cl::Required,
                                   cl::sub(specVerb()));
static cl::list<std::string> files(cl::Positional, cl::value_desc("FILE"),
                                   cl::desc("[spec.yaml … | config.json]"), cl::sub(specVerb()));
static cl::opt<bool> inPlace("i", cl::desc("fmt: rewrite the files"), cl::sub(specVerb()));
static cl::opt<bool> checkOnly("check",
                               cl::desc("fmt: fail (1) when a file is not in canonical form"),
                               cl::sub(specVerb()));
static cl::opt<std::string> kindName("kind", cl::init("prefill"), cl::value_desc("KIND"),
                                     cl::desc("from-hf: prefill or decode"), cl::sub(specVerb()));
static cl::opt<int64_t> pageSize("page-size", cl::init(0),
                                 cl::desc("from-hf, decode: tokens a page of a paged cache"),
                                 cl::sub(specVerb()));

static int formatFiles() {
  if (files.empty()) {
    error("spec fmt takes one or more files ('-' is stdin)");
    return kExitBadUsage;
  }
  int worst = kExitOk;
  for (const std::string &path : files) {
    SourceMgr sources;
    std::optional<Spec> spec = parseSpecFile(path, sources);
    if (!spec) {
      worst = kExitBadUsage;
      continue;
    }
    StringRef before = sources.getMemoryBuffer(sources.getMainFileID())->getBuffer();
    std::string text = formatSpec(*spec, before);
    if (checkOnly) {
      if (before != text) {
        error("'" + path + "' is not in canonical form; attnc spec fmt -i rewrites it");
        worst = std::max<int>(worst, kExitCompileFailed);
      }
      continue;
    }
    if (!inPlace || path == "-") {
      outs() << text;
      continue;
    }
    if (before != text)
      if (int code = writeFile(path, text))
        return code;
  }
  return worst;
}

static int fromHf() {
  if (files.size() != 1) {
    error("spec from-hf takes one file, a model's config.json");
    return kExitBadUsage;
  }
  HfOptions options;
  options.pageSize = pageSize;
  if (kindName == "decode") {
    options.kind = SpecKind::Decode;
  } else if (kindName != "prefill") {
    error("unknown --kind '" + kindName + "'; it is prefill or decode");
    return kExitBadUsage;
  }
  auto buffer = MemoryBuffer::getFileOrSTDIN(files[0], /*IsText=*/true);
  if (!buffer) {
    error("cannot read '" + files[0] + "': " + buffer.getError().message());
    return kExitBadUsage;
  }
  SourceMgr sources;
  sources.AddNewSourceBuffer(std::move(*buffer), SMLoc());
  std::vector<std::string> notes;
  std::optional<Spec> spec = specFromHf(sources, options, notes);
  for (const std::string &text : notes)
    note(text);
  if (!spec)
    return kExitBadUsage;
  outs() << printSpec(*spec);
  return kExitOk;
}

int specMain() {
  if (action == "fmt")
    return formatFiles();
  if (action == "schema") {
    outs() << specSchema();
    return kExitOk;
  }
  if (action == "from-hf")
    return fromHf();
  error("unknown action '" + action + "'" + didYouMean(action, {"fmt", "schema", "from-hf"}) +
        "; spec takes fmt, schema or from-hf");
  return kExitBadUsage;
}

} // namespace attnc::cli
