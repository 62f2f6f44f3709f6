#!/bin/sh
# attn-bench tune end to end on the host: candidates are measured and checked, a verdict is stored with
# its evidence, and attnc compiles by it. Argument: the executable.
set -eu
bench=$1
attnc=$(dirname "$bench")/attnc
[ -x "$attnc" ] || { echo "SKIPPED: no attnc beside attn-bench"; exit 77; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
export XDG_CACHE_HOME="$dir/cache" XDG_DATA_HOME="$dir/data"
unset ATTNC_TUNING || true
fail() { echo "FAILED: $*" >&2; exit 1; }

cat >suite.yaml <<'YAML'
bench: 1
name: tune-test
defaults: {regime: prefill, hq: 4, hkv: 2, head_dim: 64, dtype: bf16, causal: true, launch: eager, cache: cold}
cells:
  - {batch: 1, N: [128, 200]}
YAML
tune() { "$bench" tune --suite suite.yaml --host --reps 2 --turn 3 --min-samples 3 --time-cap 0.3 "$@"; }

tune --space 'block_m=16,64;block_n=64' --dry-run >listed
[ "$(cat listed)" = "block_m=16,block_n=64" ] || fail "the compiler's choice is not a candidate: $(cat listed)"

# A margin that anything meets: the candidate wins, however the machine feels today. One that the
# compiler refuses costs a row.
tune --space 'block_m=16;block_n=16' --space 'block_n=1000' --margin 0.99 -o never.jsonl >verdict
grep -q "own choice stays; the best other is block_m=16,block_n=16, x .* in the worst, cell" verdict || fail "nothing is 99% faster: $(cat verdict)"
store="$dir/data/attnc/tuning.jsonl"
[ "$(wc -l <"$store")" = 1 ] || fail "one verdict, one line"
grep -q '"config":"","device":"host"' "$store" || fail "the own choice is stored as such"
grep -q '"candidates":2,"refused":1' "$store" || fail "the refused candidate is counted"
grep -q 'block_n=1000.*"status":"[A-Z]*","reason":".*256' never.jsonl.screening.jsonl ||
  fail "the reason of a refusal is in the rows"
grep -q '"implementation":"P5-attnc+block_m=16+block_n=16".*"status":"OK".*"pass":true' never.jsonl ||
  fail "finalists are measured and checked"

# attnc reads what is there by default, and an entry of ours for the same problem.
"$attnc" explain "$dir"/cache/attn-bench/bench-prefill-h4x2-d64-bf16-causal.yaml --target host >explained
grep -q "tuned.*own choice, the fastest" explained || fail "attnc finds the verdict: $(cat explained)"
sed 's/"config":"","device"/"config":"block_m=16,block_n=32","device"/' "$store" >>"$store.new"
cat "$store.new" >>"$store"
"$attnc" explain "$dir"/cache/attn-bench/bench-prefill-h4x2-d64-bf16-causal.yaml --target host >explained
grep -q "config .*block_m 16, block_n 32" explained || fail "attnc compiles by it: $(cat explained)"
# What is stored does not move the baseline of the next search.
tune --only 1 --space 'block_m=16;block_n=32' --dry-run >listed
[ "$(cat listed)" = "block_m=16,block_n=32" ] || fail "the store changed the baseline: $(cat listed)"

# The same kernel by name, as a row's repeat command has it.
"$bench" run --suite suite.yaml --host --no-peers --impl P5-attnc+block_m=16+block_n=32 --only 0 --reps 1 \
  --min-samples 3 --time-cap 0.2 -o again.jsonl
grep -q '"implementation":"P5-attnc+block_m=16+block_n=32".*"status":"OK"' again.jsonl || fail "again"

code=0
tune --store none 2>message || code=$?
[ $code = 2 ] && grep -q "no tuning store to write to" message || fail "no store is an error (exit $code)"
code=0
tune --space 'block_n' 2>message || code=$?
[ $code = 2 ] && grep -q "is not FIELD=VALUE" message || fail "a wrong space is an error (exit $code)"
echo "all right"
