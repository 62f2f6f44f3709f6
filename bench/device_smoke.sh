#!/usr/bin/env bash
# A short run on a machine with a GPU that shows whether the whole bench works there: unit tests
# that need a GPU, every implementation on small cells, then a few real cells. Under four minutes.
#
#   bench/device_smoke.sh OUT_DIR [PACKAGES_DIR] [EXPERIMENTS_DIR]
#
# PACKAGES_DIR: packages made elsewhere by
#   attn-bench list --suite smoke --compile DIR --target sm_90a        (and for the other suites)
# for a machine without the compiler. EXPERIMENTS_DIR: see bench/plugins/experiments.py.
# Row files stay in OUT_DIR; `attn-bench report` makes the report from them where its packages are.
set -uo pipefail
out=${1:?usage: bench/device_smoke.sh OUT_DIR [PACKAGES_DIR] [EXPERIMENTS_DIR]}
packages=${2:-}
experiments=${3:-}
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
bin=${ATTNC_BIN:-$root/build/bin}
mkdir -p "$out"
out=$(cd "$out" && pwd)
start=$SECONDS
limit=${ATTNC_SMOKE_SECONDS:-235}
status=0
say() { printf '== %3ds  %s\n' $((SECONDS - start)) "$*"; }

# NVIDIA's libraries as torch brings them.
site=$(python3 -c 'import torch, os; print(os.path.dirname(os.path.dirname(torch.__file__)))' 2>/dev/null)
[ -n "$site" ] && export ATTNC_CUDA_PATH="${ATTNC_CUDA_PATH:+$ATTNC_CUDA_PATH:}$site/nvidia:/usr/local/cuda"

if [ -n "$experiments" ]; then
  export ATTNC_EXPERIMENTS=$experiments
  # Built in the background while the first parts run.
  (cd "$experiments/hopper-decode" 2>/dev/null && [ ! -e t.so ] && command -v nvcc >/dev/null &&
    nvcc -O3 -std=c++17 -gencode=arch=compute_90a,code=sm_90a -shared -Xcompiler -fPIC dec.cu -o t.so.new -lcuda \
      && mv t.so.new t.so) >"$out/decode-build.log" 2>&1 &
  (cd "$experiments/mma-sync-prefill" 2>/dev/null && [ ! -e out/k5.cubin ] && command -v nvcc >/dev/null &&
    python3 gen.py k5,k0 90) >"$out/mma-build.log" 2>&1 &
fi

run() { # run NAME SECONDS ARGUMENT…: one attn-bench run, at most that long, with what time is left
  local name=$1 most=$2 left=$((limit - (SECONDS - start))) code=0
  shift 2
  ((left < most)) || left=$most
  if ((left < 10)); then
    say "$name: skipped, no time left"
    return
  fi
  say "$name"
  rm -f "$out/$name.jsonl"
  timeout -s INT -k 10 "$left" "$bin/attn-bench" run -o "$out/$name.jsonl" --run-id "device-smoke" \
    --worker-timeout 60 ${packages:+--packages "$packages"} "$@" || code=$?
  ((code == 0 || code == 130)) || { say "$name: exit $code"; status=1; }
  [ -f "$out/$name.jsonl" ] && python3 - "$out/$name.jsonl" <<'PY'
import collections, json, statistics, sys

cells = collections.OrderedDict()
for line in open(sys.argv[1]):
    r = json.loads(line)
    c = r["config"]
    key = (f"{c['regime']} B{c['batch']} N{c['N']} {c['hq']}/{c['hkv']} D{c['head_dim']} "
           f"{'causal ' if c['causal'] else ''}{c['variant'] or ''} {c['launch']} {c['cache']}")
    cells.setdefault(key, collections.OrderedDict()).setdefault(r["implementation"], []).append(r)
refused = collections.Counter()
for key, impls in cells.items():
    print(f"  {key}")
    for impl, rows in impls.items():
        ok = [r for r in rows if r["status"] == "OK"]
        for r in rows:
            if r["status"] != "OK":
                refused[(impl, r["status"], (r["reason"] or "")[:230])] += 1
        if ok:
            m = [r["median_us"] for r in ok]
            k = ok[0]["correctness"] or {}
            d = ok[0]["dispatch"] or {}
            print(f"    {impl:20} {statistics.median(m):10.2f} us  reps {min(m):.2f}..{max(m):.2f}"
                  f"  err {k.get('max_abs') or 0:.2e} ({k.get('vs_baseline') or 0:.2f}x)"
                  f"  {d.get('observed')}"
                  f"{'' if ok[0]['stop']['met'] else '  unmet ' + ','.join(ok[0]['stop']['unmet'])}")
for (impl, status, reason), n in sorted(refused.items()):
    print(f"  {status:13} {impl:20} x{n}  {reason}")
PY
}

say "GPU tests"
if [ -x "$bin/BenchGpuTests" ]; then
  timeout 60 "$bin/BenchGpuTests" --gtest_brief=1 || status=1
else
  say "no BenchGpuTests in $bin"
fi

fast="--reps 1 --warmup 2 --min-samples 8 --time-cap 0.1"
peers="P0-naive,P2b-sdpa-mem-eff,P2c-sdpa-flash,P2d-sdpa-cudnn,P3-triton,P4-fa2,P4h-fa3"
own="P5-attnc,P6-cudnn,P7-hand,P7-hand-naive"
decoders="D0-naive-kv,D2-sdpa,D3-fa-kvcache,D4-flashinfer,D5-attnc,D6-fa-prefill-at-1,D7-cudnn,D8-hand"
plugins=
if [ -n "$experiments" ]; then
  file=$root/bench/plugins/experiments.py
  plugins="--impl hopper-prefill=$file:hopper_prefill --impl mma-sync-prefill=$file:mma_sync_prefill"
  plugins="$plugins --impl hopper-decode=$file:hopper_decode"
fi
# shellcheck disable=SC2086
run smoke 100 --suite smoke $fast --impl "$peers,$own,$decoders"

cat >"$out/cells.yaml" <<'YAML'
bench: 1
name: device-smoke
defaults: {hq: 32, head_dim: 128, dtype: bf16, launch: graph, cache: cold}
cells:
  - {regime: prefill, hkv: 32, batch: 4, N: [1024, 4096], causal: true}
  - {regime: decode, hkv: 8, batch: [1, 32], N: [2048, 8192]}
YAML
wait
# shellcheck disable=SC2086
run cells 110 --suite "$out/cells.yaml" --reps 3 --min-samples 10 --time-cap 0.25 \
  --impl "${peers#P0-naive,},P5-attnc,P6-cudnn,P7-hand" --impl "${decoders#D0-naive-kv,}" $plugins
# shellcheck disable=SC2086
run inductor 60 --suite smoke --only 0,6 $fast --impl P1-inductor,P1-inductor-nofuse,P1-inductor-where,D1-inductor
# shellcheck disable=SC2086
run variants 60 --suite variants --only 0,1,2,3,4 $fast --impl P5-attnc,P8-flex
say "done, rows in $out"
exit $status
