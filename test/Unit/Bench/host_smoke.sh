#!/bin/sh
# attn-bench as a user without a GPU meets it: a suite on the host, refusal to overwrite, Ctrl-C and
# --resume, shards that merge, the report. Argument: the executable.
set -eu
bench=$1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
export XDG_CACHE_HOME="$dir/cache"
fail() { echo "FAILED: $*" >&2; exit 1; }
run() {
  "$bench" run --suite smoke --host --no-peers --reps 2 --turn 3 --min-samples 3 --time-cap 0.2 "$@"
}

run --only 0,6 -o rows.jsonl
grep -q '"implementation":"P7-hand".*"status":"UNSUPPORTED","reason":"needs a GPU' rows.jsonl ||
  fail "a GPU kernel without a GPU gives its reason"
if [ -x "$(dirname "$bench")/attnc" ]; then
  grep -q '"implementation":"P5-attnc".*"status":"OK"' rows.jsonl || fail "the host was timed"
  grep -q '"implementation":"D5-attnc".*"status":"OK"' rows.jsonl || fail "the host decodes"
fi

code=0
run --only 0 -o rows.jsonl 2>message || code=$?
[ $code = 2 ] && grep -q -- --resume message || fail "rows are not overwritten (exit $code)"
before=$(cksum <rows.jsonl)
run --only 0,6 -o rows.jsonl --resume 2>message
[ "$before" = "$(cksum <rows.jsonl)" ] || fail "resuming a finished run adds nothing"

# A full disk: the reason and the file are named, and what is complete is kept.
code=0
(ulimit -f 4; run --only 0 -o full.jsonl) 2>message || code=$?
[ $code = 5 ] && grep -q 'full.jsonl: cannot append a row: File too large' message ||
  fail "a full disk is an error (exit $code)"
code=0
"$bench" list >/dev/full 2>message || code=$?
[ $code = 5 ] && grep -q 'cannot write to stdout: No space left' message ||
  fail "a full stdout is an error (exit $code)"

# Interrupted, then resumed: every repetition once.
if [ -x "$(dirname "$bench")/attnc" ]; then
  "$bench" run --suite smoke --host --no-peers --impl P5-attnc --only 0,2 --reps 200 --turn 1 \
    --min-samples 3 --time-cap 0.1 -o long.jsonl 2>message &
  pid=$!
  i=0
  while [ $i -lt 300 ] && [ "$(cat long.jsonl 2>/dev/null | wc -l)" -lt 2 ]; do
    sleep 0.1
    i=$((i + 1))
  done
  kill -INT $pid
  code=0
  wait $pid || code=$?
  [ $code = 130 ] || fail "an interrupted run exits with 130, not $code: $(cat message)"
  rows=$(wc -l <long.jsonl)
  "$bench" run --suite smoke --host --no-peers --impl P5-attnc --only 0 --reps $((rows + 1)) --turn 1 \
    --min-samples 3 --time-cap 0.1 -o long.jsonl --resume
  [ "$(wc -l <long.jsonl)" = $((rows + 1)) ] || fail "resuming adds what is missing only"
fi

run --shard 0/2 --run-id r -o a.jsonl --impl P6-cudnn,D7-cudnn
run --shard 1/2 --run-id r -o b.jsonl --impl P6-cudnn,D7-cudnn
[ "$(cat a.jsonl b.jsonl | wc -l)" = 10 ] || fail "two shards cover the ten cells once"
if "$bench" schema >/dev/null 2>&1; then
  "$bench" merge a.jsonl b.jsonl -o merged.jsonl
  "$bench" report rows.jsonl -o report.html
  [ "$(wc -c <report.html)" -gt 100000 ] || fail "the report is too short"
else
  echo "SKIPPED: merge and report; the analysis packages are not installed (./dev setup)"
fi
for words in "run --suite nosuch" "run --impl nosuch" "run --shard 3/2" "run --only 99" "nosuch"; do
  code=0
  # shellcheck disable=SC2086
  "$bench" $words -o x.jsonl >/dev/null 2>&1 || code=$?
  [ $code = 2 ] || fail "'$words' exits with 2, not $code"
done
echo "all right"
