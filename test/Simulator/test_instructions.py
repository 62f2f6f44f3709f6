"""What single instructions compute, against numpy."""

import numpy as np
import pytest

from formats import bf16_to_f32, f32_to_bf16, unpack
from memory import SimulationFault
from ptx import PtxError
from small_kernel import Map, SmallKernel

LANE = np.arange(32)
# Stores %r10 of every lane.
STORE = """
 ld.param.b64 %rd1, [out]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4; add.s64 %rd3, %rd1, %rd2;
 st.global.b32 [%rd3], %r10;
"""
# The lane's 32-bit element of `a` in %r2, of `b` in %r3.
LOAD = """
 mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4;
 ld.param.b64 %rd10, [a]; add.s64 %rd11, %rd10, %rd2; ld.global.b32 %r2, [%rd11];
 ld.param.b64 %rd12, [b]; add.s64 %rd13, %rd12, %rd2; ld.global.b32 %r3, [%rd13];
"""


def lanewise(instruction: str, a, b=None) -> np.ndarray:
    b = np.zeros(32, np.uint32) if b is None else b
    return SmallKernel(LOAD + instruction + STORE, {"a": a, "b": b}).run()


def test_bf16_pairs_round_to_nearest_even():
    a = np.array([1.00390625, 1.01171875, -0.0, np.nan, 3.4e38, np.inf, 1e-40, 1.003906369] * 4, np.float32)
    b = np.linspace(-3, 3, 32, dtype=np.float32)
    out = lanewise("cvt.rn.bf16x2.f32 %r10, %r2, %r3;", a, b)
    assert (out >> 16 == f32_to_bf16(a)).all() and (out & 0xFFFF == f32_to_bf16(b)).all()
    assert [hex(x) for x in (out >> 16)[:8]] == ["0x3f80", "0x3f82", "0x8000", "0x7fff", "0x7f80", "0x7f80", "0x1",
                                                 "0x3f81"]


def test_f16_pairs():
    a, b = np.linspace(-70000, 70000, 32, dtype=np.float32), np.linspace(-1, 1, 32, dtype=np.float32)
    out = lanewise("cvt.rn.f16x2.f32 %r10, %r2, %r3;", a, b)
    with np.errstate(over="ignore"):
        assert (out >> 16 == a.astype(np.float16).view(np.uint16)).all()
    assert (out & 0xFFFF == b.astype(np.float16).view(np.uint16)).all()


def test_maximum_ignores_a_nan():
    a = np.where(LANE % 2, np.nan, LANE).astype(np.float32)
    out = lanewise("max.ftz.f32 %r10, %r2, %r3;", a, np.full(32, 5, np.float32)).view(np.float32)
    assert (out == np.where(LANE % 2, 5, np.maximum(LANE, 5))).all()


def test_copysign_takes_the_sign_of_its_first_operand():
    a, b = np.full(32, -2, np.float32), np.full(32, 3, np.float32)
    assert (lanewise("copysign.f32 %r10, %r2, %r3;", a, b).view(np.float32) == -3).all()


def test_integers_wrap_and_divide_as_the_hardware_does():
    a = (LANE * 0x10000001).astype(np.uint32)
    assert (lanewise("mul.lo.s32 %r10, %r2, %r2;", a) == a * a).all()
    assert (lanewise("mul.hi.u32 %r10, %r2, %r2;", a) == (a.astype(np.uint64) ** 2 >> 32)).all()
    b = LANE.astype(np.uint32)
    assert (lanewise("div.u32 %r10, %r2, %r3;", a, b)[1:] == a[1:] // b[1:]).all()
    signed = np.full(32, -7, np.int32)
    assert (lanewise("div.s32 %r10, %r2, 2;", signed).view(np.int32) == -3).all()
    assert (lanewise("bfe.u32 %r10, %r2, 4, 3;", LANE.astype(np.uint32)) == (LANE >> 4) & 7).all()
    assert (lanewise("shl.b32 %r10, %r2, 40;", a) == 0).all()


def test_packing_of_halves():
    out = lanewise("mov.b32 {%rs1, %rs2}, %r2; mov.b32 %r10, {%rs2, %rs1};", np.full(32, 0x12345678, np.uint32))
    assert (out == 0x56781234).all()


def test_predicates_and_branches_diverge_and_meet():
    out = SmallKernel("""
     mov.u32 %r1, %tid.x; and.b32 %r2, %r1, 1; setp.eq.b32 %p1, %r2, 0; mov.b32 %r10, 7;
     @%p1 bra EVEN;
     add.s32 %r10, %r1, 100; bra.uni MEET;
    EVEN: add.s32 %r10, %r1, 200;
    MEET: shfl.sync.bfly.b32 %r10, %r10, 1, 31, -1;
    """ + STORE).run()
    partner = LANE ^ 1
    assert (out == partner + np.where(partner % 2, 100, 200)).all()


@pytest.mark.parametrize("mode, lane, clamp, source", [
    ("idx", 5, 31, np.full(32, 5)), ("up", 1, 0, np.maximum(LANE - 1, 0)), ("down", 2, 31, np.where(LANE < 30, LANE + 2, LANE)),
    ("bfly", 4, 31, LANE ^ 4), ("idx", 1, 0x1C1F, LANE // 4 * 4 + 1)])
def test_shuffles(mode, lane, clamp, source):
    out = SmallKernel(f"mov.u32 %r1, %tid.x; shfl.sync.{mode}.b32 %r10, %r1, {lane}, {clamp}, -1;" + STORE).run()
    assert (out == source).all()


def test_votes_and_elections():
    body = "mov.u32 %r1, %tid.x; setp.gt.u32 %p1, %r1, 29; vote.sync.ballot.b32 %r10, %p1, -1;"
    assert (SmallKernel(body + STORE).run() == 3 << 30).all()
    body = "mov.b32 %r10, 0; elect.sync %r2|%p1, -1; @%p1 mov.b32 %r10, 1;"
    assert SmallKernel(body + STORE).run().sum() == 1


def fragments(name: str, count: int, first: int) -> str:
    """Loads words l + 32 i of `name` into consecutive registers."""
    text = f"ld.param.b64 %rd20, [{name}]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd21, %r1, 4; add.s64 %rd22, %rd20, %rd21;"
    return text + " ".join(f"ld.global.b32 %r{first + i}, [%rd22+{128 * i}];" for i in range(count))


def test_mma_multiplies():
    rng = np.random.default_rng(1)
    a, b = rng.standard_normal((16, 16)).astype(np.float32), rng.standard_normal((16, 8)).astype(np.float32)
    a16, b16 = f32_to_bf16(a), f32_to_bf16(b)
    row, pair = LANE // 4, LANE % 4 * 2
    # The fragments by the definition: register i of lane l.
    words_a = np.stack([np.stack([a16[row + 8 * (i % 2), pair + 8 * (i // 2) + e] for e in (0, 1)], -1) for i in range(4)])
    words_b = np.stack([np.stack([b16[pair + 8 * i + e, row] for e in (0, 1)], -1) for i in range(2)])
    body = fragments("a", 4, 20) + fragments("b", 2, 30) + """
     mov.b32 %r40, 0f3F800000;
     mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%r50, %r51, %r52, %r53}, {%r20, %r21, %r22, %r23},
       {%r30, %r31}, {%r40, %r40, %r40, %r40};
     ld.param.b64 %rd1, [out]; mul.wide.u32 %rd2, %r1, 16; add.s64 %rd3, %rd1, %rd2;
     st.global.v4.b32 [%rd3], {%r50, %r51, %r52, %r53};"""
    out = SmallKernel(body, {"a": words_a.view(np.uint32), "b": words_b.view(np.uint32)},
                      np.zeros((32, 4), np.float32)).run()
    want = bf16_to_f32(a16) @ bf16_to_f32(b16) + 1
    for i in range(4):
        assert np.allclose(out[:, i], want[row + 8 * (i // 2), pair + i % 2], atol=1e-5)


@pytest.mark.parametrize("trans", ["", ".trans"])
def test_ldmatrix(trans):
    data = np.arange(4 * 64, dtype=np.uint16)
    body = fragments("a", 4, 20) + f"""
     mov.b64 %rd5, smem; cvt.u32.u64 %r2, %rd5; shl.b32 %r3, %r1, 2; add.s32 %r4, %r2, %r3;
     st.shared.b32 [%r4], %r20; st.shared.b32 [%r4+128], %r21; st.shared.b32 [%r4+256], %r22;
     st.shared.b32 [%r4+384], %r23; bar.warp.sync -1; shl.b32 %r5, %r1, 4; add.s32 %r6, %r2, %r5;
     ldmatrix.sync.aligned.m8n8.x4{trans}.shared.b16 {{%r10, %r11, %r12, %r13}}, [%r6];
     ld.param.b64 %rd1, [out]; mul.wide.u32 %rd2, %r1, 16; add.s64 %rd3, %rd1, %rd2;
     st.global.v4.b32 [%rd3], {{%r10, %r11, %r12, %r13}};"""
    out = SmallKernel(body, {"a": data.view(np.uint32)}, np.zeros((32, 4), np.uint32)).run()
    matrices = data.reshape(4, 8, 8)
    row, pair = LANE // 4, LANE % 4 * 2
    for i in range(4):
        m = matrices[i].T if trans else matrices[i]
        assert (out[:, i] & 0xFFFF == m[row, pair]).all() and (out[:, i] >> 16 == m[row, pair + 1]).all()


def test_unknown_instructions_are_named_with_their_line():
    with pytest.raises(PtxError, match=r"line \d+.*'frobnicate.b32' is not known"):
        SmallKernel("frobnicate.b32 %r10, %r1;").run()
    for known_name in ("mul.rz.f32 %r10, %r1, %r2;", "wgmma.mma_async.sync.aligned.m64n8k8.f32.tf32.tf32 {%r1}, %rd1, %rd2, %p1, 1, 1;",
                       "max.xorsign.abs.f32 %r10, %r1, %r2;"):
        with pytest.raises(PtxError, match="not known"):
            SmallKernel(known_name).run()


def test_a_width_that_does_not_fit_is_refused():
    with pytest.raises(PtxError, match="64 bits; .s32 needs 32"):
        SmallKernel("add.s32 %r10, %rd1, 1;").run()


@pytest.mark.parametrize("offset, message", [("4", "read out of bounds: a has 128 bytes, read-only; byte 128"),
                                             ("2", "misaligned")])
def test_global_accesses_are_checked(offset, message):
    with pytest.raises(SimulationFault, match=message):
        lanewise(f"ld.global.b32 %r10, [%rd11+{offset}];", LANE.astype(np.uint32))


def test_inputs_are_read_only():
    with pytest.raises(SimulationFault, match="write out of bounds: a .*read-only"):
        lanewise("st.global.b32 [%rd11], %r1;", LANE.astype(np.uint32))
