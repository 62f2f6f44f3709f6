#!/usr/bin/env bash
# selftest [host|gpu]: runs every example on this machine and compares it with fp64. Without an argument: on
# the CPU, and on the GPU if there is one, both as the GPU's own target and as sm_80.
cd "$(dirname "$0")" || exit 1
passed=0 failed=0

try() {
  if output=$(bin/attnc run "$@" 2>&1); then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    printf 'FAILED: attnc run %s\n%s\n' "$*" "$output"
  fi
}

where=${1:-any}
gpu=no
case $where in
  host) ;;
  gpu) gpu=yes ;;
  any) bin/attnc env --json | grep -q '"sm": "sm_' && gpu=yes ;;
  *) echo "usage: selftest [host|gpu]" >&2; exit 2 ;;
esac

for spec in examples/*.yaml; do
  [ "$where" = gpu ] || try "$spec" --target host
  if [ $gpu = yes ]; then
    try "$spec" --target native
    try "$spec" --target sm_80
  fi
done
if [ "$where" = any ] && [ $gpu = no ]; then
  echo "no GPU here: the CPU only"
fi
echo "$passed passed, $failed failed"
[ $failed = 0 ]
