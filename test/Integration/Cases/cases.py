"""Runs cases of attention kernels gone wrong through the real kernels.

    cases.py CASE|all [--target host|sm_80|sm_90a|native] [--attnc PATH]

Each case writes its inputs as safetensors, runs `attnc run`, and compares the outputs with values in
closed form (with Q = 0 every visible key weighs the same). `attnc run` checks against fp64 besides.
Left out: C6, C7 (bias strides are the caller's, `attnc run` passes contiguous tensors), C12 and S14
(checks of the runtime's plan: test/Unit/Runtime), E1, E8, E9 with boolean mask tensors, E5 (attn.combine
alone is not a spec; test/Unit/Reference), S9 (test/Spec), S12 (33,728 keys: too slow for the host).
"""
import argparse
import json
import math
import os
import struct
import subprocess
import sys
import tempfile

SIZES = {"F16": 2, "BF16": 2, "F32": 4, "I32": 4}
INF = float("inf")


def pack(dtype, values):
    if dtype == "F16":
        return struct.pack(f"<{len(values)}e", *values)
    if dtype == "BF16":
        words = [(struct.unpack("<I", struct.pack("<f", v))[0] + 0x7FFF) >> 16 if v == v else 0x7FC0 for v in values]
        return struct.pack(f"<{len(values)}H", *words)
    return struct.pack(f"<{len(values)}{'f' if dtype == 'F32' else 'i'}", *values)


def unpack(dtype, data):
    count = len(data) // SIZES[dtype]
    if dtype == "F16":
        return list(struct.unpack(f"<{count}e", data))
    if dtype == "BF16":
        return [struct.unpack("<f", struct.pack("<I", w << 16))[0] for w in struct.unpack(f"<{count}H", data)]
    return list(struct.unpack(f"<{count}{'f' if dtype == 'F32' else 'i'}", data))


def write(path, tensors):
    header, blobs, offset = {}, [], 0
    for name, (dtype, shape, values) in tensors.items():
        data = pack(dtype, values)
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [offset, offset + len(data)]}
        blobs.append(data)
        offset += len(data)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + b"".join(blobs))


def read(path):
    raw = open(path, "rb").read()
    size = struct.unpack("<Q", raw[:8])[0]
    result = {}
    for name, entry in json.loads(raw[8 : 8 + size]).items():
        if name != "__metadata__":
            a, b = entry["data_offsets"]
            result[name] = (entry["shape"], unpack(entry["dtype"], raw[8 + size + a : 8 + size + b]))
    return result


class Case:
    """One problem in [B, S, H, D] memory order with Q = 0 and V[j, :] = value(j), unless said otherwise."""

    def __init__(self, run, sq, skv, lines, b=1, hq=1, hkv=1, d=64, dtype="bf16", kind="prefill",
                 value=lambda j: j + 1.0, q=lambda i, d: 0.0, k=lambda j, d: 0.0, extra=None, splits=0):
        self.tolerance = 1e-2 if dtype == "bf16" else 2e-3
        spec = f"attn: 1\nname: case\nkind: {kind}\nheads: {{q: {hq}, kv: {hkv}}}\ndim: {d}\ndtype: {dtype}\nout: [o, lse]\n" + lines
        kind_name = dtype.upper()
        tensors = {
            "q": (kind_name, [b, sq, hq, d], [q(i, x) for _ in range(b) for i in range(sq) for _ in range(hq) for x in range(d)]),
            "k": (kind_name, [b, skv, hkv, d], [k(j, x) for _ in range(b) for j in range(skv) for _ in range(hkv) for x in range(d)]),
            "v": (kind_name, [b, skv, hkv, d], [value(j) for _ in range(b) for j in range(skv) for _ in range(hkv * d)]),
        }
        tensors.update(extra or {})
        with tempfile.TemporaryDirectory() as directory:
            path = lambda name: os.path.join(directory, name)
            with open(path("case.yaml"), "w") as f:
                f.write(spec)
            write(path("in"), tensors)
            command = [run.attnc, "run", path("case.yaml"), "--target", run.target, "--inputs", path("in"),
                       "--outputs", path("out"), "--json"]
            if splits:
                command += ["--splits", str(splits)]
            done = subprocess.run(command, capture_output=True, text=True, timeout=120)
            if done.returncode:
                raise AssertionError(f"exit {done.returncode}: {(done.stdout + done.stderr)[-400:]}")
            used = json.loads(done.stdout)["splits"]
            assert splits in (0, used), f"asked for {splits} splits, {used} ran"
            out = read(path("out"))
        self.hq, self.d, self.sq, self.b = hq, d, sq, b
        self.o, self.lse = out["o"][1], out["lse"][1]

    def rows(self, expected, lse=None, batch=0):
        """Every head's row i is expected[i], all columns alike; lse likewise."""
        for i, value in enumerate(expected):
            for h in range(self.hq):
                start = ((batch * self.sq + i) * self.hq + h) * self.d
                for x in self.o[start : start + self.d]:
                    limit = 0 if value == 0 else self.tolerance * max(1, abs(value))
                    assert abs(x - value) <= limit, f"row {i} head {h}: {x}, expected {value}"
                if lse is not None:
                    got = self.lse[(batch * self.hq + h) * self.sq + i]
                    same = got == lse[i] or abs(got - lse[i]) <= 1e-4
                    assert same, f"LSE of row {i} head {h}: {got}, expected {lse[i]}"


def mean(first, last):
    return (first + last) / 2


CAUSAL = "mask: causal\n"


def M1(run):
    Case(run, 2, 5, CAUSAL, dtype="f16").rows([2.5, 3.0])
    for extra in (1, 63, 64, 65, 127, 128, 129):
        Case(run, 2, 2 + extra, CAUSAL, dtype="f16", value=lambda j: (j + 1) / 16).rows(
            [mean(1, 1 + extra) / 16, mean(1, 2 + extra) / 16])


def M2(run):
    Case(run, 5, 2, CAUSAL).rows([0, 0, 0, 1.0, 1.5], [-INF, -INF, -INF, 0, math.log(2)])


def M4(run):
    values = lambda i, d: math.sin(i * 7 + d)
    a = Case(run, 1, 1024, CAUSAL + "seq: {q: 1}\n", b=2, hq=8, hkv=8, d=128, kind="decode", q=values, k=values)
    c = Case(run, 1, 1024, "seq: {q: 1}\n", b=2, hq=8, hkv=8, d=128, kind="decode", q=values, k=values)
    assert a.o == c.o, "causal and not causal differ for one query"


def M5(run):
    for window in ("{window: [3, 0]}", "{window_tokens: 4}"):
        case = Case(run, 8, 8, f"mask: [causal, {window}]\n", dtype="f16")
        case.rows([mean(max(1, i - 2), i + 1) for i in range(8)])
        assert abs(case.o[7 * 64] - 6.5) < 1e-2


def M7(run):
    Case(run, 10, 10, "mask: [{window: [2, 4]}]\n", dtype="f16").rows(
        [mean(max(0, i - 2) + 1, min(9, i + 4) + 1) for i in range(10)])


def M8(run):
    for splits in (0, 1, 4, 16):
        Case(run, 1, 100, "mask: [causal, {window: [3, 0]}]\nseq: {q: 1}\n", kind="decode", splits=splits).rows([98.5])


def lens(values):
    return {"kv_lens": ("I32", [len(values)], values)}


def M9(run):
    Case(run, 5, 64, CAUSAL + "seq: {kv: lens}\n", value=lambda j: j + 1.0 if j < 5 else 1e4,
         extra=lens([5])).rows([1.0, 1.5, 2.0, 2.5, 3.0])


def E3(run):
    Case(run, 16, 0, "", b=2, hq=4, hkv=4, dtype="f16").rows([0] * 16, [-INF] * 16)


def E6(run):
    Case(run, 1, 8, "").rows([4.5], [math.log(8)])
    Case(run, 1, 8, "seq: {q: 1}\n", kind="decode").rows([4.5], [math.log(8)])
    Case(run, 1, 20, "seq: {q: 1, kv: lens}\n", kind="decode", extra=lens([8])).rows([4.5], [math.log(8)])


def E11(run):
    case = Case(run, 1, 128, "seq: {q: 1, kv: lens}\n", b=8, hq=16, hkv=2, d=128, kind="decode",
                value=lambda j: 1.0 if j < 7 else float("nan"), extra=lens([7] + [0] * 7))
    case.rows([1.0], [math.log(7)])
    for b in range(1, 8):
        case.rows([0], [-INF], batch=b)


def S1(run):
    for skv in (1, 16, 64, 255, 257):
        Case(run, 1, skv, "seq: {q: 1}\n", hq=8, hkv=8, d=128, kind="decode", value=lambda j: 1.0).rows([1.0])
        Case(run, 3, skv, "", hq=2, hkv=2, d=128, value=lambda j: 1.0).rows([1.0] * 3, [math.log(skv)] * 3)


def S2(run):
    for s in (1, 2, 15, 16, 17, 63, 64, 65, 127, 128, 129, 191, 250, 255, 257, 296):
        for d in (128, 96):
            Case(run, s, s, "", d=d, dtype="f16", value=lambda j: (j % 7) / 8.0,
                 q=lambda i, x: math.cos(i + x), k=lambda j, x: math.sin(3 * j + x))  # against fp64 by attnc


def S3(run):
    nan = float("nan")
    case = Case(run, 1, 128, "seq: {q: 1, kv: lens}\n", b=4, hq=8, hkv=8, kind="decode",
                value=lambda j: 1.0 if j < 32 else nan, k=lambda j, x: 0.0 if j < 32 else nan, extra=lens([32, 7, 31, 1]))
    for b in range(4):
        case.rows([1.0], batch=b)


def C1(run):
    # Logits 4 and 0 by q·k; V = 1 and 0; softcap 2 gives a weight of 0.8730.
    scale = "scale: 1.0\nscore: [{softcap: 2.0}]\n"
    for kind, sq, seq in (("decode", 1, "seq: {q: 1}\n"), ("prefill", 16, "")):
        Case(run, sq, 2, scale + seq, hq=8, hkv=4, d=256, kind=kind, q=lambda i, x: 2.0 if x == 0 else 0.0,
             k=lambda j, x: 2.0 if x == 0 and j == 0 else 0.0, value=lambda j: 1.0 - j).rows([0.8730] * sq)


def C3(run):
    score = 'score: "s - (q_pos - kv_pos)"\n'
    Case(run, 1, 4, score, dtype="f16").rows([3.4927])
    Case(run, 1, 4, score + "seq: {q: 1}\n", dtype="f16", kind="decode").rows([3.4927])
    Case(run, 1, 9, score + "seq: {q: 1, kv: lens}\n", dtype="f16", kind="decode", extra=lens([4])).rows([3.4927])
    Case(run, 1, 4, score, dtype="f16", hq=40, hkv=40).rows([3.4927])


def sinks(value, heads):
    return {"sinks": ("F32", [heads], [value] * heads)}


def C9(run):
    for kind, sq, seq in (("decode", 1, "seq: {q: 1}\n"), ("prefill", 16, "")):
        Case(run, sq, 5, "sinks: true\n" + seq, kind=kind, value=lambda j: 1.0,
             extra=sinks(math.log(15), 1)).rows([0.25] * sq)


def C11(run):
    lines = "mask: [causal, {window: [127, 0]}]\nsinks: true\nseq: {q: 1}\n"
    for splits in (0, 1, 4, 16):
        Case(run, 1, 4096, lines, hq=8, hkv=1, kind="decode", value=lambda j: 1.0,
             extra=sinks(math.log(128), 8), splits=splits).rows([0.5])
        Case(run, 1, 0, lines, hq=8, hkv=1, kind="decode", extra=sinks(math.log(128), 8),
             splits=splits).rows([0], [math.log(128)])


CASES = [M1, M2, M4, M5, M7, M8, M9, E3, E6, E11, S1, S2, S3, C1, C3, C9, C11]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("case")
    parser.add_argument("--target", default="host")
    parser.add_argument("--attnc", default="attnc")
    run = parser.parse_args()
    chosen = [case for case in CASES if run.case in (case.__name__, "all")]
    if not chosen:
        sys.exit(f"no case {run.case}; known are {' '.join(c.__name__ for c in CASES)} and all")
    failed = 0
    for case in chosen:
        try:
            case(run)
            print(f"PASS {case.__name__} on {run.target}")
        except AssertionError as error:
            failed += 1
            print(f"FAIL {case.__name__} on {run.target}: {error}")
    sys.exit(1 if failed else 0)


main()
