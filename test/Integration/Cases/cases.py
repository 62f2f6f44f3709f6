"""Runs cases of attention kernels gone wrong through the real kernels.

    cases.py CASE|all [--target host|sm_80|sm_90a|native] [--attnc PATH]

Each case writes its inputs as safetensors, runs `attnc run`, and compares the outputs with values in
closed form (with Q = 0 every visible key weighs the same). `attnc run` checks against fp64 besides.
Left out: C12 and S14 (checks of the runtime's plan: test/Unit/Runtime). C6 and C7 with strides of the
caller's own are there too: a file's tensors are contiguous.
"""
import argparse
import json
import math
import os
import struct
import subprocess
import sys
import tempfile

SIZES = {"F16": 2, "BF16": 2, "F32": 4, "I32": 4, "BOOL": 1}
INF = float("inf")


def pack(dtype, values):
    if isinstance(values, bytes):
        return values
    if dtype == "BOOL":
        return bytes(values)
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


def attnc_run(run, spec, tensors, splits=0, code=0, verify=True):
    """Runs a spec on tensors. Returns the outputs, or what was printed where another exit code is expected."""
    with tempfile.TemporaryDirectory() as directory:
        path = lambda name: os.path.join(directory, name)
        with open(path("case.yaml"), "w") as f:
            f.write(spec)
        write(path("in"), tensors)
        command = [run.attnc, "run", path("case.yaml"), "--target", run.target, "--inputs", path("in"),
                   "--outputs", path("out"), "--json"]
        if splits:
            command += ["--splits", str(splits)]
        if not verify:
            command += ["--verify", "none"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=240)
        if done.returncode != code:
            raise AssertionError(f"exit {done.returncode}: {(done.stdout + done.stderr)[-400:]}")
        if code:
            return done.stderr
        used = json.loads(done.stdout)["splits"]
        assert splits in (0, used), f"asked for {splits} splits, {used} ran"
        return read(path("out"))


def header(kind, hq, hkv, d, dtype):
    return f"attn: 1\nname: case\nkind: {kind}\nheads: {{q: {hq}, kv: {hkv}}}\ndim: {d}\ndtype: {dtype}\nout: [o, lse]\n"


class Case:
    """One problem in [B, S, H, D] memory order with Q = 0 and V[j, :] = value(j), unless said otherwise.
    `extra` are further tensors, or others in place of these."""

    def __init__(self, run, sq, skv, lines, b=1, hq=1, hkv=1, d=64, dtype="bf16", kind="prefill",
                 value=lambda j: j + 1.0, q=lambda i, d: 0.0, k=lambda j, d: 0.0, extra=None, splits=0, verify=True):
        self.tolerance = 1e-2 if dtype == "bf16" else 2e-3
        kind_name = dtype.upper()
        extra = extra or {}
        tensors = {
            "q": lambda: (kind_name, [b, sq, hq, d], [q(i, x) for _ in range(b) for i in range(sq) for _ in range(hq) for x in range(d)]),
            "k": lambda: (kind_name, [b, skv, hkv, d], [k(j, x) for _ in range(b) for j in range(skv) for _ in range(hkv) for x in range(d)]),
            "v": lambda: (kind_name, [b, skv, hkv, d], [value(j) for _ in range(b) for j in range(skv) for _ in range(hkv * d)]),
        }
        tensors = {name: make() for name, make in tensors.items() if name not in extra}
        tensors.update(extra)
        out = attnc_run(run, header(kind, hq, hkv, d, dtype) + lines, tensors, splits, verify=verify)
        self.hq, self.d, self.sq, self.b = hq, d, sq, b
        self.o, self.lse = out["o"][1], out["lse"][1]

    def same(self, other, rows=None):
        """The first `rows` rows (all without it) are bit for bit those of another case with one sequence."""
        count = (rows or self.sq) * self.hq * self.d
        assert self.o[:count] == other.o[:count], "outputs differ"
        for h in range(self.hq):
            mine, theirs = self.lse[h * self.sq :], other.lse[h * other.sq :]
            assert mine[: rows or self.sq] == theirs[: rows or self.sq], "LSE differs"

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


def bools(shape, values):
    return {"arg.m": ("BOOL", shape, [int(value) for value in values])}


def wave(a, b):
    return lambda i, x: math.sin(a * i + b * x)


MASK_2D = "args: {m: {tensor: bool, rank: 2}}\nmask: \"m[q_idx, kv_pos]\"\n"


def E1(run):
    for dtype, d in (("bf16", 64), ("f16", 64)) + ((("f32", 8), ("f32", 64)) if run.target == "host" else ()):
        data = dict(d=d, dtype=dtype, q=wave(3, 1), k=wave(5, 2))
        for visible in (lambda i, j: True, lambda i, j: (i + j) % 3 > 0):
            whole = Case(run, 8, 8, MASK_2D, extra=bools([8, 8], [i < 4 and visible(i, j) for i in range(8) for j in range(8)]), **data)
            for h in range(4 * d, 8 * d):
                assert whole.o[h] == 0, f"element {h} of the hidden rows is {whole.o[h]}"
            assert whole.lse[4:] == [-INF] * 4, f"LSE of the hidden rows is {whole.lse[4:]}"
            part = Case(run, 4, 8, MASK_2D, extra=bools([4, 8], [visible(i, j) for i in range(4) for j in range(8)]), **data)
            whole.same(part, rows=4)


def E5(run):
    # Splits without a key are merged with ones that have some, in every order, and with each other.
    data = dict(kind="decode", hq=4, hkv=2, q=wave(3, 1), k=wave(5, 2), value=lambda j: math.sin(j))
    lines = "seq: {q: 1, kv: lens}\n"
    for splits in (2, 5, 16):
        Case(run, 1, 2000, lines, extra=lens([0]), splits=splits, **data).rows([0], [-INF])
        # One block of keys: all but the first split are empty.
        Case(run, 1, 2000, lines, extra=lens([7]), splits=splits, **data).same(
            Case(run, 1, 2000, lines, extra=lens([7]), splits=1, **data))
        # A window at the end: all but the last split are empty.
        last = "mask: [causal, {window: [6, 0]}]\n" + lines
        Case(run, 1, 2000, last, extra=lens([1999]), splits=splits, **data).rows(
            [sum(math.sin(j) * w for j, w in weights(range(1992, 1999), data)) / sum(w for _, w in weights(range(1992, 1999), data))])


def weights(keys, data):
    """exp of the scaled logits of one query of a case with D = 64."""
    q = [data["q"](0, x) for x in range(64)]
    return [(j, math.exp(sum(q[x] * data["k"](j, x) for x in range(64)) / 8)) for j in keys]


def E8(run):
    # Logits -16384 and 0, the second hidden: it must not count, whatever stands for it.
    for sq in (1, 3):
        case = Case(run, sq, 2, "scale: 1.0\n" + MASK_2D, extra=bools([sq, 2], [1, 0] * sq), q=lambda i, x: 128.0 if x == 0 else 0.0,
                    k=lambda j, x: -128.0 if x == 0 and j == 0 else 0.0, value=lambda j: (1.0, 100.0)[j])
        assert case.o == [1.0] * (64 * sq) and case.lse == [-16384.0] * sq, f"{case.o[:2]} {case.lse}"


def E9(run):
    # Rule 19: what a mask hides must be finite; what a length or a page table hides may be anything.
    for dtype in ("bf16", "f16"):
        for bad in (float("nan"), INF, -INF):
            good = Case(run, 2, 1, "", dtype=dtype, q=wave(3, 1), k=wave(5, 2))
            hidden = lambda row: [wave(5, 2)(0, x) if row == 0 else bad for x in range(64)]
            values = lambda row: [1.0 if row == 0 else bad] * 64
            case = Case(run, 2, 2, "seq: {kv: lens}\n", dtype=dtype, q=wave(3, 1), extra=lens([1]) | {
                "k": (dtype.upper(), [1, 2, 1, 64], hidden(0) + hidden(1)), "v": (dtype.upper(), [1, 2, 1, 64], values(0) + values(1))})
            case.same(good)
            paged = Case(run, 2, 0, "seq: {q: 2, kv: lens}\nkv: paged(page=2)\n", kind="decode", dtype=dtype, q=wave(3, 1), extra=lens([1]) | {
                "k": (dtype.upper(), [2, 2, 1, 64], hidden(1) + hidden(1) + hidden(0) + hidden(1)),
                "v": (dtype.upper(), [2, 2, 1, 64], values(1) + values(1) + values(0) + values(1)),
                "block_table": ("I32", [1, 3], [1, -1, 77])})
            paged.rows([1.0, 1.0], good.lse)


def paged(kind_name, page, hkv, d, lengths, columns, value, spare=2):
    """Pools whose pages are handed out backwards, with zero keys, V[j] = value(j), NaN elsewhere, and the tables."""
    pages = sum(-(-n // page) for n in lengths) + spare
    k, v = [float("nan")] * (pages * page * hkv * d), [float("nan")] * (pages * page * hkv * d)
    table, free = [-1] * (len(lengths) * columns), pages - 1
    for b, length in enumerate(lengths):
        for j in range(length):
            if j % page == 0:
                table[b * columns + j // page] = free
                free -= 1
            at = (table[b * columns + j // page] * page + j % page) * hkv * d
            k[at : at + hkv * d] = [0.0] * (hkv * d)
            v[at : at + hkv * d] = [value(j)] * (hkv * d)
    shape = [pages, page, hkv, d]
    return {"k": (kind_name, shape, k), "v": (kind_name, shape, v), "kv_lens": ("I32", [len(lengths)], lengths),
            "block_table": ("I32", [len(lengths), columns], table)}


def E11(run):
    for n in (7, 1):
        case = Case(run, 1, 128, "seq: {q: 1, kv: lens}\n", b=8, hq=16, hkv=2, d=128, kind="decode",
                    value=lambda j: 1.0 if j < n else float("nan"), extra=lens([n] + [0] * 7))
        case.rows([1.0], [math.log(n)])
        for b in range(1, 8):
            case.rows([0], [-INF], batch=b)
        for splits in (0, 4):
            case = Case(run, 1, 0, "seq: {q: 1, kv: lens}\nkv: paged(page=16)\n", b=8, hq=16, hkv=2, d=128, kind="decode",
                        splits=splits, extra=paged("BF16", 16, 2, 128, [n] + [0] * 7, 8, lambda j: 1.0))
            case.rows([1.0], [math.log(n)])
            for b in range(1, 8):
                case.rows([0], [-INF], batch=b)


def S1(run):
    for skv in (1, 16, 64, 255, 257):
        Case(run, 1, skv, "seq: {q: 1}\n", hq=8, hkv=8, d=128, kind="decode", value=lambda j: 1.0).rows([1.0])
        Case(run, 3, skv, "", hq=2, hkv=2, d=128, value=lambda j: 1.0).rows([1.0] * 3, [math.log(skv)] * 3)
    for skv, page in ((1, 16), (16, 16), (64, 16), (255, 16), (257, 16), (64, 128)):
        Case(run, 1, 0, f"seq: {{q: 1, kv: lens}}\nkv: paged(page={page})\n", hq=8, hkv=8, d=128, kind="decode",
             extra=paged("BF16", page, 8, 128, [skv], -(-skv // page), lambda j: 1.0)).rows([1.0], [math.log(skv)])


def varlen(kind_name, hq, hkv, d, lens_q, lens_kv, value, tail_q=0, tail_kv=0):
    """Packed tensors with zero queries and keys, V = value(sequence, j) and NaN behind the last sequence."""
    nan = float("nan")
    total_q, total_kv = sum(lens_q), sum(lens_kv)
    offsets = lambda lengths: [sum(lengths[:i]) for i in range(len(lengths) + 1)]
    v = [value(n, j) for n, length in enumerate(lens_kv) for j in range(length) for _ in range(hkv * d)]
    return {"q": (kind_name, [total_q + tail_q, hq, d], [0.0] * (total_q * hq * d) + [nan] * (tail_q * hq * d)),
            "k": (kind_name, [total_kv + tail_kv, hkv, d], [0.0] * (total_kv * hkv * d) + [nan] * (tail_kv * hkv * d)),
            "v": (kind_name, [total_kv + tail_kv, hkv, d], v + [nan] * (tail_kv * hkv * d)),
            "cu_seqlens_q": ("I32", [len(lens_q) + 1], offsets(lens_q)),
            "cu_seqlens_kv": ("I32", [len(lens_kv) + 1], offsets(lens_kv))}


VARLEN = "seq: {varlen: cu_seqlens}\n"


def S5(run):
    Case(run, 2, 0, VARLEN + CAUSAL, hq=9, hkv=3, extra=varlen("BF16", 9, 3, 64, [1, 0, 1], [3, 0, 5], lambda n, j: 10 * n + j)).rows(
        [1.0, 22.0], [math.log(3), math.log(5)])


def S7(run):
    for d in (128, 256):
        Case(run, 300, 0, VARLEN, hq=8, hkv=2, d=d, extra=varlen("BF16", 8, 2, d, [150, 0, 150], [100, 100, 0], lambda n, j: (1.0, 50.0)[n])).rows(
            [1.0] * 150 + [0] * 150, [math.log(100)] * 150 + [-INF] * 150)


def S9(run):
    # No sequences or no queries: success, and outputs without an element.
    for b, sq in ((0, 2), (2, 0), (0, 0)):
        case = Case(run, sq, 2, "", b=b, hq=2, hkv=2)
        assert case.o == [] and case.lse == []
    Case(run, 0, 0, VARLEN, hq=2, hkv=2, extra=varlen("BF16", 2, 2, 64, [0, 0], [3, 0], lambda n, j: 1.0))
    # No heads or no head dim: an error of the spec, before anything runs.
    for hq, d, fault in ((0, 64, "heads is 0; allowed are 1 to 1024"), (2, 0, "dim is 0; ")):
        tensors = {name: ("BF16", [2, 2, hq, d], []) for name in "qkv"}
        said = attnc_run(run, header("prefill", hq, hq, d, "bf16"), tensors, code=2)
        assert fault in said, said


def S11(run):
    # Outputs hold NaN before; attnc run itself fails when the tail's bits were changed.
    case = Case(run, 256, 0, VARLEN, hq=4, hkv=4,
                extra=varlen("BF16", 4, 4, 64, [150, 50], [150, 50], lambda n, j: n + 1.0, tail_q=56, tail_kv=56))
    assert all(x != x for x in case.o[200 * 4 * 64 :]), "the output's tail was written"
    for h in range(4):
        assert all(x != x for x in case.lse[h * 256 + 200 : h * 256 + 256]), "the LSE's tail was written"
    case.rows([1.0] * 150 + [2.0] * 50, [math.log(150)] * 150 + [math.log(50)] * 50)


def S12(run):
    # Past 16 bits, in keys and in queries. fp64 would take minutes, and the answer is known.
    for sq, skv in ((65, 33728), (65, 65537), (65537, 65), (33728, 33728)):
        zeros = lambda n: bytes(2 * n * 128)
        case = Case(run, sq, skv, "", d=128, dtype="f16", verify=False, extra={
            "q": ("F16", [1, sq, 1, 128], zeros(sq)), "k": ("F16", [1, skv, 1, 128], zeros(skv)),
            "v": ("F16", [1, skv, 1, 128], b"\x00\x3c" * (skv * 128))})
        assert min(case.o) >= 1 - 2**-10 and max(case.o) <= 1 + 2**-10, f"{sq}x{skv}: {min(case.o)} to {max(case.o)}"


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
    for hq in (1, 40):
        Case(run, 2, 0, score + VARLEN, dtype="f16", hq=hq, hkv=hq,
             extra=varlen("F16", hq, hq, 64, [1, 0, 1], [4, 2, 4], lambda n, j: j + 1.0)).rows([3.4927] * 2)
        Case(run, 1, 0, score + "seq: {q: 1, kv: lens}\nkv: paged(page=16)\n", dtype="f16", kind="decode", hq=hq, hkv=hq,
             extra=paged("F16", 16, hq, 64, [4], 2, lambda j: j + 1.0)).rows([3.4927])
        # The LSE is of the shifted scores: ln(1 + e^-1 + e^-2 + e^-3).
        Case(run, 1, 4, score, dtype="f16", hq=hq, hkv=hq).rows([3.4927], [math.log(sum(math.exp(-i) for i in range(4)))])


def C6(run):
    # Dimensions of 1 broadcast: by an index of 0 in a mask, by the extent in a bias.
    data = dict(b=4, hq=4, hkv=4, q=wave(3, 1), k=wave(5, 2))
    keep = lambda b, j: (3 * b + j) % 5 != 0 and j < 32 - 7 * b
    small = [keep(b, j) for b in range(4) for j in range(32)]
    full = [keep(b, j) for b in range(4) for _ in range(4 * 32) for j in range(32)]
    mask = "args: {m: {tensor: bool, rank: 4}}\nmask: \"m[b, %s, kv_pos]\"\n"
    for d in (16, 64):
        one = Case(run, 32, 32, mask % "0, 0", extra=bools([4, 1, 1, 32], small), d=d, **data)
        expanded = Case(run, 32, 32, mask % "h, q_idx", extra=bools([4, 4, 32, 32], full), d=d, **data)
        assert one.o == expanded.o and one.lse == expanded.lse, "the broadcast mask differs from the expanded one"
    bias = lambda values: {"bias": ("F32", [4, 1, 1, 32] if len(values) == 128 else [4, 4, 32, 32], [math.sin(7 * i) if x else -1e4 for i, x in values])}
    one = Case(run, 32, 32, "bias: f32\n", extra=bias(list(enumerate(small))), **data)
    expanded = Case(run, 32, 32, "bias: f32\n", extra=bias([(b * 32 + j, keep(b, j)) for b in range(4) for _ in range(4 * 32) for j in range(32)]), **data)
    assert one.o == expanded.o and one.lse == expanded.lse, "the broadcast bias differs from the expanded one"


def C7(run):
    # Rows of odd length: attnc compares with fp64.
    for skv, heads in ((43, 16), (361, 2), (364, 2)):
        for bias in ("f16", "bf16", "f32"):
            Case(run, 16, skv, f"bias: {bias}\n", hq=heads, hkv=heads, dtype="f16", q=wave(3, 1), k=wave(5, 2), extra={
                "bias": (bias.upper(), [1, heads, 16, skv], [math.sin(0.7 * i) for i in range(heads * 16 * skv)])})


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


CASES = [M1, M2, M4, M5, M7, M8, M9, E1, E3, E5, E6, E8, E9, E11, S1, S2, S3, S5, S7, S9, S11, S12, C1, C3, C6, C7, C9, C11]


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
