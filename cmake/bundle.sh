#!/usr/bin/env bash
# bundle.sh BUILD OUT: packs the static binaries of BUILD, the examples, packages compiled from them and
# a self-test into OUT/attnc-VERSION-linux-ARCH.tar.xz. Called by ./dev bundle.
set -euo pipefail
build=$1 out=$2
root=$PWD
version=$(sed -n 's/^project(attnc VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
name=attnc-$version-linux-$(uname -m)
limit_mib=64

die() { echo "bundle: error: $1" >&2; exit "${2:-1}"; }

rm -rf "${out:?}/$name"
mkdir -p "$out/$name"/{bin,examples,packages}
stage=$out/$name

for tool in attnc attn-bench; do
  [ -x "$build/bin/$tool" ] || continue
  strip -o "$stage/bin/$tool" "$build/bin/$tool"
  # Whatever a machine with a driver and a C library does not have must not be needed.
  foreign=$(ldd "$stage/bin/$tool" | awk '{print $1}' |
    grep -vE '^(linux-vdso|libc|libm|libdl|libpthread|librt)\.so|ld-linux' || true)
  [ -z "$foreign" ] || die "$tool needs $foreign, which a bare machine does not have"
done
[ -x "$stage/bin/attnc" ] || die "$build/bin/attnc is missing"

cp examples/*.yaml "$stage/examples/"
cp cmake/bundle-selftest.sh "$stage/selftest"
chmod +x "$stage/selftest"
for spec in examples/*.yaml; do
  "$stage/bin/attnc" compile "$spec" --emit=package -o "$stage/packages/" \
    --target sm_80,sm_86,sm_89,sm_90a,sm_100a,sm_120 2>"$out/bundle.log" ||
    { cat "$out/bundle.log" >&2; die "$spec does not compile"; }
done

glibc=$(objdump -T "$stage/bin/attnc" | grep -oE 'GLIBC_[0-9.]+' | sort -Vu | tail -n 1)
cat >"$stage/README" <<EOF
attnc $version: attention kernels compiled from specs. Nothing to install; needs ${glibc/_/ } or later.

  bin/attnc run examples/llama3-8b-prefill.yaml       run on the GPU here, or on this CPU, checked
  bin/attnc check examples/gemma2-9b-prefill.yaml     what each target can do
  bin/attnc env                                       what this machine has
  ./selftest                                          every example on this machine

packages/ holds NAME.TARGET.attnpkg, compiled from examples/, for the runtime. Without an assembler (nvJitLink
or ptxas) the GPU's driver compiles PTX when a kernel is loaded.
EOF

tar -C "$out" --sort=name --owner=0 --group=0 -c "$name" | xz -T0 -6 >"$out/$name.tar.xz.part"
mv "$out/$name.tar.xz.part" "$out/$name.tar.xz"
bytes=$(stat -c %s "$out/$name.tar.xz")
((bytes < limit_mib << 20)) || die "$out/$name.tar.xz has $bytes bytes, over $limit_mib MiB"

# The archive is tried as a stranger would: unpacked elsewhere, nothing of this tree in reach.
trial=$(mktemp -d)
trap 'rm -rf "$trial"' EXIT
tar -C "$trial" -xJf "$out/$name.tar.xz"
(cd "$trial/$name" && env -i PATH=/usr/bin:/bin HOME="$trial" ./selftest host) ||
  die "the unpacked archive does not pass its own tests"
printf '%s: %d.%d MB, needs %s\n' "${out#"$root"/}/$name.tar.xz" $((bytes / 1000000)) \
  $((bytes / 100000 % 10)) "$glibc" >&2
