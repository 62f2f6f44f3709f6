"""The parts around the machine: parser, spec, reference, number formats, tensor maps."""

import numpy as np
import pytest

from formats import bf16_to_f32, f32_to_bf16
from matrix import Descriptor, element_addresses, swizzle
from memory import SimulationFault
from package import evaluate
from ptx import Immediate, PtxError, Register, Vector, parse
from reference import alibi_slopes
from spec import Expression, Spec, parse_flow
from tensor_copy import TensorMap

KERNEL = """
.version 8.0
.target sm_90a
.visible .entry k(.param .u64 .ptr .global .align 1 p0, .param .u32 p1, .param .align 64 .b8 m[128])
.maxntid 128
{
 .reg .b32 %r<4>;
 { .reg .b32 x; again: add.s32 x, %r1, -2; bra again; }
 { .reg .b32 x; again: mov.b32 {%r2, %r3}, x; bra again; }
 ret;
}
"""


def test_parameters_are_laid_out_as_the_driver_does():
    kernel = parse(KERNEL).kernels["k"]
    assert [(p.offset, p.size) for p in kernel.parameters] == [(0, 8), (8, 4), (64, 128)]
    assert kernel.max_threads == 128


def test_blocks_have_registers_and_labels_of_their_own():
    kernel = parse(KERNEL).kernels["k"]
    first, _, second, _, _ = kernel.instructions
    assert isinstance(first.operands[0], Register) and isinstance(second.operands[1], Register)
    assert first.operands[0].index != second.operands[1].index
    assert first.operands[2] == Immediate((1 << 64) - 2) and isinstance(second.operands[0], Vector)
    assert sorted(kernel.labels.values()) == [0, 2]
    assert first.line == 8


@pytest.mark.parametrize("text, message", [("bra nowhere;", "no label 'nowhere'"), ("mov.u32 %r1, %clock;", "%clock"),
                                           (".local .b8 x[4];", "directive"), ("add.s32 %r1, %r1, 1", "has no end"),
                                           ("ld.global.b32 %r1, [%r2*4];", "not an address")])
def test_what_is_not_known_is_an_error(text, message):
    with pytest.raises(PtxError, match=message):
        parse(KERNEL.replace("ret;", text))


def test_bf16_rounds_to_nearest_even():
    values = np.array([1 + 2**-8, 1 + 3 * 2**-8, 1 + 2**-8 + 2**-20], np.float32)
    assert bf16_to_f32(f32_to_bf16(values)).tolist() == [1, 1 + 2**-6, 1 + 2**-7]


def test_swizzle():
    # Row 3 of an atom: its pieces trade places by xor with 3.
    assert swizzle(np.arange(8) * 16 + 3 * 128, 128).tolist() == [3 * 128 + 16 * (p ^ 3) for p in range(8)]


def test_descriptors():
    bits = 1 << 62 | 64 << 32 | 1024 << 16 | 1024 // 16
    descriptor = Descriptor.decode(bits)
    assert descriptor == Descriptor(1024, 16384, 1024, 128)
    addresses = element_addresses(descriptor, 128, False)
    assert addresses[0, 0] == 1024 and addresses[8, 0] == 2048 and addresses[1, 0] == 1024 + 128 + 16
    addresses = element_addresses(descriptor, 128, True)
    assert addresses[0, 0] == 1024 and addresses[64, 0] == 1024 + 16384 and addresses[1, 0] == 1026
    assert addresses[0, 8] == 2048


def test_tensor_maps_that_the_driver_refuses():
    good = {"address": 256, "dims": (64, 8), "strides": (2, 128), "box": (64, 8), "element_bytes": 2, "swizzle": 128}
    TensorMap(**good)
    for wrong in ({"address": 8}, {"strides": (2, 100)}, {"box": (128, 8)}, {"box": (64, 300)}, {"dims": (64, 0)}):
        with pytest.raises(SimulationFault, match="refuses the tensor map"):
            TensorMap(**{**good, **wrong})


def test_grid_expressions():
    assert evaluate(["min", ["mul", "batch", ["ceildiv", "max_len_q", 128]], 7], {"batch": 3, "max_len_q": 129}) == 6


def test_specs():
    spec = Spec.parse('attn: 1\nname: x\nkind: decode\nheads: {q: 8, kv: 2}\ndim: {qk: 192, v: 128}\ndtype: bf16\n'
                      'seq: {q: 1..8, kv: lens}\nkv: paged(page=16)\nargs: {rel: "f32[8, ?]", cap: f32}\n'
                      'mask: [causal, {window: {left: 4, right: 0}}]\nscore: "cap * tanh(s / cap)"\nout: [o, lse]\n')
    assert (spec.heads_q, spec.heads_kv, spec.dim_qk, spec.dim_v, spec.page, spec.max_q) == (8, 2, 192, 128, 16, 8)
    assert spec.args == {"rel": ("f32", [8, None]), "cap": ("f32", None)}
    assert spec.masks == ["causal", {"window": {"left": 4, "right": 0}}] and spec.lse
    assert parse_flow('[a, "b, c", {d: -1.5}]') == ["a", "b, c", {"d": -1.5}]


def test_expressions():
    i, j = np.arange(4)[:, None], np.arange(4)[None, :]
    seen = Expression("q_pos >= kv_pos and not (kv_pos == 0 or false)")({"q_pos": i, "kv_pos": j})
    assert (seen == ((i >= j) & (j != 0))).all()
    value = Expression("t[min(q_pos, 2)] if q_pos % 2 == 0 else -1")({"t": np.array([5.0, 6, 7]), "q_pos": i})
    assert value.reshape(-1).tolist() == [5, -1, 7, -1]


def test_alibi_slopes():
    assert alibi_slopes(8).tolist() == [2.0**-i for i in range(1, 9)]
    assert alibi_slopes(3).tolist() == [2.0**-4, 2.0**-8, 2.0**-2]
