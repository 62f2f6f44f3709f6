// Fuzzes the package reader, and planning with whatever it accepts. Inputs are taken twice: as a
// file, and as a manifest behind a correct header, so that mutations get past the length field.
#include "FuzzTarget.h"

#include "attnc/Runtime/Package.h"
#include "attnc/Runtime/Plan.h"

#include <memory>

using namespace attnc::rt;

namespace {

std::string lengthField(std::uint64_t value) {
  std::string bytes;
  for (int i = 0; i < 8; ++i)
    bytes += char(value >> (8 * i) & 0xff);
  return bytes;
}

std::string withHeader(std::string_view manifest) {
  return "ATTNPKG1" + lengthField(manifest.size()) + std::string(manifest) + "ptx.cubin";
}

void checkAccepted(Package package) {
  // What was read can be written, and reading that gives the same again.
  Result<std::string> written = serializePackage(package);
  FUZZ_CHECK(written.ok());
  Result<Package> again = parsePackage(*written, "again");
  FUZZ_CHECK(again.ok());
  FUZZ_CHECK(*again->manifestJson() == *package.manifestJson());
  const auto shared = std::make_shared<const Package>(std::move(package));
  for (std::int64_t size :
       {std::int64_t(0), std::int64_t(1), std::int64_t(300), std::int64_t(1) << 31}) {
    ProblemSizes sizes;
    sizes.batch = sizes.maxLenQ = sizes.maxLenKv = sizes.totalQ = sizes.totalKv = size;
    Result<Plan> plan = Plan::create(shared, nullptr, sizes);
    if (!plan)
      continue;
    FUZZ_CHECK(plan->workspaceBytes() % 256 == 0);
    for (std::size_t i = 0; i < shared->kernels.size(); ++i)
      FUZZ_CHECK(plan->grid(i) >= 0);
    std::vector<TensorBinding> bindings;
    for (const TensorRequirement &tensor : plan->tensors()) {
      TensorView view;
      view.address = 0x1000;
      view.dtype = tensor.dtype;
      view.rank = int(tensor.shape.size());
      for (std::size_t d = 0; d < tensor.shape.size(); ++d) {
        view.shape[d] = tensor.shape[d];
        view.strides[d] = tensor.shape[d];
      }
      bindings.push_back({tensor.name, view});
    }
    (void)plan->run(bindings.data(), bindings.size(), nullptr, 0, 0, 0, nullptr);
  }
}

void read(std::string_view bytes) {
  Result<Package> package = parsePackage(bytes, "fuzz");
  if (package)
    checkAccepted(std::move(*package));
  else
    FUZZ_CHECK(!package.status().message().empty());
}

constexpr const char *manifest =
    R"({"format":1,"name":"d","compiler":"attnc 0.1","spec_hash":"00ff","spec":"attn: 1\n",
"target":"sm_90a","ptx_version":"8.0","problem":{"kind":"decode","heads_q":8,"heads_kv":2,
"dim_qk":64,"dim_v":64,"dtype":{"q":"bf16","kv":"f8e4m3","o":"bf16"},"layout":"bshd","seq":"kv_lens",
"page_size":16,"outputs":["o","lse"],"max_q":8},"config":{"block_m":128,"stages":2},
"kernels":[{"entry":"main","role":"main","block":256,"shared_bytes":98304,
"grid":["mul","batch",["mul","heads_kv",["ceildiv","max_len_q",["max",1,["min","splits",128]]]]],
"params":[{"name":"q","kind":"tensor","dtype":"bf16","rank":4,"unit_inner":true},
{"name":"k","kind":"tensor","dtype":"f8e4m3","rank":4},{"name":"kv_lens","kind":"tensor","dtype":"i32","rank":1},
{"name":"bias","kind":"tensor","dtype":"f32","rank":4,"unit_inner":false,"align":4},
{"name":"arg.t","kind":"tensor","dtype":"f32","rank":2,"shape":["heads_q",["sub","total_q",1]]},
{"name":"o_part","kind":"tensor","dtype":"f32","rank":2},
{"name":"batch","kind":"i32"},{"name":"len_kv","kind":"i64"},{"name":"scale","kind":"f32"},
{"name":"arg.cap","kind":"f32"}]},
{"entry":"combine","role":"combine","block":64,"shared_bytes":0,"grid":["add","batch",0],
"params":[{"name":"o_part","kind":"tensor","dtype":"f32","rank":2},{"name":"splits","kind":"i32"}]}],
"workspace":[{"name":"o_part","dtype":"f32","shape":["splits",["mul","batch",64]]}],
"blobs":{"ptx":{"offset":0,"size":4},"cubin":{"offset":4,"size":5}}})";

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char *>(data), size);
  read(bytes);
  read(withHeader(bytes));
  return 0;
}

std::vector<std::string> fuzzSeeds() { return {manifest, withHeader(manifest)}; }

std::vector<std::string> fuzzTokens() {
  return {"[\"mul\",",
          "[\"ceildiv\",",
          "\"batch\"",
          "\"splits\"",
          "{",
          "}",
          "[",
          "]",
          ",",
          ":",
          "null",
          "true",
          "\"\"",
          "\"o_part\"",
          "\"tensor\"",
          "\"f64\"",
          "\"bool\"",
          "-",
          "\\u0000",
          "\xff",
          std::string(40, '['),
          "\"arg.x\"",
          "\"varlen\"",
          "\"dense\"",
          "ATTNPKG1"};
}
