// Writing specs and calling the compiler.
#include "Spec.h"

#include "Command.h"
#include "attnc/Runtime/FileIo.h"
#include "attnc/Runtime/TuningStore.h"

#include <cmath>
#include <fmt/format.h>
#include <functional>
#include <sys/stat.h>
#include <unistd.h>

namespace attnc::bench {

std::string specName(const Config &c) {
  std::string name =
      fmt::format("bench-{}-h{}x{}-d{}-{}", c.regime, c.hq, c.hkv, c.headDim, c.dtype);
  if (c.causal && !c.decode())
    name += "-causal";
  if (c.pageSize)
    name += fmt::format("-page{}", *c.pageSize);
  if (c.variant)
    name += "-" + *c.variant;
  for (char &ch : name)
    if (ch == '.')
      ch = '_';
  return name;
}

Result<std::string> specText(const Config &c) {
  if (c.mode != "fwd")
    return Status(StatusCode::Unsupported, "specs have no backward pass; found mode " + c.mode);
  Result<Variant> variant = c.parsedVariant();
  if (!variant.ok())
    return variant.status();
  const char *dtype = c.dtype == "fp16" ? "f16" : c.dtype == "fp32" ? "f32" : "bf16";
  std::string text = fmt::format("attn: 1\nname: {}\nkind: {}\nheads: {{q: {}, kv: {}}}\n"
                                 "dim: {}\ndtype: {}\nlayout: bhsd\n",
                                 specName(c), c.regime, c.hq, c.hkv, c.headDim, dtype);
  if (c.decode())
    text += c.pageSize ? fmt::format("seq: {{q: 1, kv: lens}}\nkv: paged(page={})\n", *c.pageSize)
                       : "seq: {q: 1, kv: dense}\n";
  // One query at the end of its keys sees them all, causal or not.
  std::string masks = c.causal && !c.decode() ? "causal" : "";
  const auto mask = [&](const std::string &m) { masks += (masks.empty() ? "" : ", ") + m; };
  const auto whole = [&] { return static_cast<long long>(std::llround(variant->value)); };
  switch (variant->kind) {
  case Variant::Kind::None:
    break;
  case Variant::Kind::Softcap:
    text += fmt::format("score: {{softcap: {}}}\n", variant->value);
    break;
  case Variant::Kind::Alibi:
    text += "score: alibi\n";
    break;
  case Variant::Kind::Window:
    mask(fmt::format("{{window: [{}, -1]}}", whole() - 1));
    break;
  case Variant::Kind::Document:
    mask(fmt::format("{{expr: \"q_pos // {0} == kv_pos // {0}\"}}", whole()));
    break;
  }
  if (!masks.empty())
    text += "mask: [" + masks + "]\n";
  return text + "out: [o]\n";
}

std::string targetOf(const std::string &sm) {
  if (sm == "sm_90")
    return "sm_90a";
  if (sm == "sm_100")
    return "sm_100a";
  return sm;
}

Result<std::string> PackageSource::path(const Config &cell, const std::string &target) const {
  Result<std::string> spec = specText(cell);
  if (!spec.ok())
    return spec.status();
  const std::string file = fmt::format("{}.{}.attnpkg", specName(cell), target);
  if (!prebuilt.empty() && config.empty()) {
    const std::string found = prebuilt + "/" + file;
    if (fileExists(found))
      return found;
    if (compiler.empty())
      return Status(StatusCode::Unsupported,
                    fmt::format("no package {} in {} and no attnc on this machine; make it with "
                                "attn-bench list --suite SUITE --compile DIR --target {}",
                                file, prebuilt, target));
  }
  if (compiler.empty())
    return Status(StatusCode::Unsupported,
                  "no attnc executable beside attn-bench or in PATH, and no --packages DIR");
  // A changed compiler must not meet old packages: its size and time are part of the key.
  struct stat info{}, store{};
  stat(compiler.c_str(), &info);
  stat(rt::tuningStorePath("").c_str(), &store);
  const std::size_t key = std::hash<std::string>()(fmt::format(
      "{}\n{}\n{}\n{}.{}\n{}\n{}\n{}.{}", *spec, target, info.st_size, info.st_mtim.tv_sec,
      info.st_mtim.tv_nsec, config, store.st_size, store.st_mtim.tv_sec, store.st_mtim.tv_nsec));
  const std::string directory = fmt::format("{}/{:016x}", workDirectory, key);
  const std::string out = directory + "/" + file;
  if (fileExists(out))
    return out;
  mkdir(workDirectory.c_str(), 0777);
  mkdir(directory.c_str(), 0777);
  const std::string specPath = directory + "/spec.yaml";
  if (Status s = rt::writeFileAtomically(specPath, *spec); !s.ok())
    return s;
  const std::string partial = fmt::format("{}/partial-{}.attnpkg", directory, getpid());
  std::vector<std::string> command = {compiler, "compile",        specPath, "--target",
                                      target,   "--emit=package", "-o",     partial};
  if (!config.empty())
    command.insert(command.end(), {"--config", config});
  const CommandResult run = runCommand(command, 120);
  if (run.exitCode != 0) {
    const std::string why = run.timedOut ? "took more than 120 s" : run.lastErrorLine();
    const StatusCode code = run.exitCode == 3   ? StatusCode::Unsupported
                            : run.exitCode == 5 ? StatusCode::Environment
                                                : StatusCode::CompileFailed;
    return Status(
        code, fmt::format("attnc compile, exit {}: {} (spec: {})", run.exitCode, why, specPath));
  }
  if (rename(partial.c_str(), out.c_str()))
    return Status(StatusCode::Environment, "cannot rename " + partial);
  return out;
}

} // namespace attnc::bench
