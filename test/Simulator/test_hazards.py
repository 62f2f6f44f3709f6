"""Every hazard that the simulator claims to find: the program that has it fails, its repair runs."""

import numpy as np
import pytest

from formats import bf16_to_f32, f32_to_bf16
from memory import SimulationFault
from small_kernel import Map, SmallKernel

SEEDS = range(6)
WAIT = "{ .reg .pred done; again: mbarrier.try_wait.parity.shared::cta.b64 done, [%r80], %PARITY; @done bra over; bra again; over: }"
# %r1 thread, %r81 dynamic shared memory, %r80 an mbarrier behind 60 KiB, %p1 thread 0, %p2 lane 0.
START = """
 mov.u32 %r1, %tid.x; mov.b64 %rd60, smem; cvt.u32.u64 %r81, %rd60; add.s32 %r80, %r81, 61440;
 setp.eq.u32 %p1, %r1, 0; and.b32 %r82, %r1, 31; setp.eq.u32 %p2, %r82, 0;
 shl.b32 %r83, %r1, 2; add.s32 %r84, %r81, %r83;
 mov.b64 %rd50, map0; cvta.param.u64 %rd51, %rd50;
"""
STORE_WORD = """
 ld.param.b64 %rd1, [out]; mul.wide.u32 %rd2, %r1, 4; add.s64 %rd3, %rd1, %rd2; st.global.b32 [%rd3], %r10;
"""


def run_all(body, **arguments):
    outs = [SmallKernel(body, **arguments).run(seed) for seed in SEEDS]
    assert all(np.array_equal(out, outs[0], equal_nan=out.dtype.kind == "f") for out in outs)
    return outs[0]


def fails(message, body, **arguments):
    """In every schedule that was tried."""
    for seed in SEEDS:
        with pytest.raises(SimulationFault, match=message):
            SmallKernel(body, **arguments).run(seed)


def init(count=1):
    return (f"@%p1 mbarrier.init.shared::cta.b64 [%r80], {count}; @%p1 fence.mbarrier_init.release.cluster; "
            "bar.sync 0;\n")


def wait(parity=0):
    return f"mov.b32 %r85, {parity}; " + WAIT.replace("%PARITY", "%r85")


LOAD = ("@%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r80], 1024; "
        "@%p1 cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r81], "
        "[%rd51, {0, 0}], [%r80];\n").replace("{0, 0}", "{%r90, %r90}")
MATRIX = np.arange(8 * 64, dtype=np.uint16).reshape(8, 64)
LOADED = {"inputs": {"a": MATRIX}, "maps": [Map("a", (8, 64))], "block": 32}
ZERO = "mov.b32 %r90, 0;\n"


# --- bulk loads -------------------------------------------------------------------------------------

def test_a_bulk_load_is_read_after_its_mbarrier():
    out = run_all(START + ZERO + init() + LOAD + wait() + "ld.shared.b32 %r10, [%r84];" + STORE_WORD, **LOADED)
    assert (out == MATRIX.view(np.uint32).reshape(-1)[:32]).all()


def test_reading_before_a_bulk_load_has_landed():
    fails("asynchronous copy still has to write|no barrier between",
          START + ZERO + init() + LOAD + "ld.shared.b32 %r10, [%r84];" + STORE_WORD, **LOADED)


def test_waiting_for_the_wrong_phase():
    fails("asynchronous copy still has to write|no barrier between",
          START + ZERO + init() + LOAD + wait(1) + "ld.shared.b32 %r10, [%r84];" + STORE_WORD, **LOADED)


def test_loading_over_what_others_still_read():
    body = START + ZERO + init() + LOAD + wait() + "ld.shared.b32 %r10, [%r84];\n"
    arguments = {**LOADED, "block": 64, "out": np.zeros(64, np.uint32)}
    again = LOAD + wait(1)
    run_all(body + "bar.sync 0;\n" + again + STORE_WORD, **arguments)
    fails("overwrites shared byte .* which warp 1 read|asynchronous copy", body + again + STORE_WORD, **arguments)


def test_a_wrong_number_of_bytes_hangs():
    fails("deadlock.*mbarrier at shared byte.*512 bytes to come".replace(".*", "[\\s\\S]*"),
          START + ZERO + init() + LOAD.replace("1024", "1536") + wait(), **LOADED)


def test_an_mbarrier_needs_its_fence():
    fails("initialised without a fence",
          START + ZERO + init().replace("@%p1 fence.mbarrier_init.release.cluster;", "") + LOAD + wait(), **LOADED)


def test_out_of_bounds_loads_give_zeros():
    body = START + "mov.b32 %r90, 4;" + init() + LOAD.replace("{%r90, %r90}", "{%r91, %r90}") + wait() + "add.s32 %r84, %r84, 384; ld.shared.b32 %r10, [%r84+384];" + STORE_WORD
    out = run_all("mov.b32 %r91, 0;\n" + body, **LOADED)
    assert (out == 0).all()


# --- bulk stores ------------------------------------------------------------------------------------

STORE = ("@%p1 cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%rd51, {%r90, %r90}], [%r81]; "
         "@%p1 cp.async.bulk.commit_group;\n")
READ_DONE = "@%p1 cp.async.bulk.wait_group.read 0;\n"
STORED = {"out": np.zeros((8, 64), np.uint16), "maps": [Map("out", (8, 64))], "block": 64}
FILL = "".join(f"st.shared.b32 [%r84+{i}], %r1;\n" for i in range(0, 1024, 256))
FENCE = "fence.proxy.async.shared::cta;\n"


def test_a_bulk_store_writes_what_was_there():
    out = run_all(START + ZERO + FILL + FENCE + "bar.sync 0;\n" + STORE + READ_DONE, **STORED)
    # 256 bytes hold threads 0 … 63; the rows are swizzled back.
    words = np.tile(np.arange(64, dtype=np.uint32), 4).reshape(8, 8, 4)
    want = np.stack([words[r][np.arange(8) ^ r] for r in range(8)]).reshape(8, 32)
    assert (out.view(np.uint32) == want).all()


def test_a_bulk_store_without_a_proxy_fence():
    fails("without a fence.proxy.async", START + ZERO + FILL + "bar.sync 0;\n" + STORE + READ_DONE, **STORED)


def test_a_fence_by_another_thread_than_the_writer():
    fails("without a fence.proxy.async",
          START + ZERO + FILL + "bar.sync 0;\n@%p1 " + FENCE + STORE + READ_DONE, **STORED)


def test_a_fence_before_the_write():
    fails("without a fence.proxy.async", START + ZERO + FENCE + FILL + "bar.sync 0;\n" + STORE + READ_DONE, **STORED)


def test_a_bulk_store_without_a_barrier():
    fails("no barrier between", START + ZERO + FILL + FENCE + STORE + READ_DONE, **STORED)


def test_overwriting_the_source_of_a_bulk_store():
    body = START + ZERO + FILL + FENCE + "bar.sync 0;\n" + STORE
    run_all(body + READ_DONE + "bar.sync 0;\n" + FILL, **STORED)
    fails("still reads", body + "bar.sync 0;\n" + FILL + READ_DONE, **STORED)


def test_ending_before_a_bulk_store_has_read():
    fails("ends before its bulk stores have read", START + ZERO + FILL + FENCE + "bar.sync 0;\n" + STORE, **STORED)


def test_bulk_stores_are_clipped():
    kernel = {**STORED, "maps": [Map("out", (8, 64))], "out": np.zeros((5, 64), np.uint16)}
    run_all(START + ZERO + FILL + FENCE + "bar.sync 0;\n" + STORE + READ_DONE, **kernel)


# --- barriers and races -----------------------------------------------------------------------------

EXCHANGE = "st.shared.b32 [%r84], %r1;\n{0}xor.b32 %r86, %r83, 128; add.s32 %r87, %r81, %r86; ld.shared.b32 %r10, [%r87];"
PAIR = {"block": 64, "out": np.zeros(64, np.uint32)}
PLAIN = START.replace("mov.b64 %rd50, map0; cvta.param.u64 %rd51, %rd50;", "")


def test_an_exchange_between_warps_needs_a_barrier():
    assert (run_all(PLAIN + EXCHANGE.format("bar.sync 0;\n") + STORE_WORD, **PAIR) == np.arange(64) ^ 32).all()
    fails("no barrier between", PLAIN + EXCHANGE.format("") + STORE_WORD, **PAIR)


def test_named_barriers_order_too():
    body = EXCHANGE.format("barrier.sync 3, 64;\n") + STORE_WORD
    assert (run_all(PLAIN + body, **PAIR) == np.arange(64) ^ 32).all()


def test_a_barrier_that_not_all_reach_is_a_deadlock():
    fails(r"deadlock[\s\S]*warp 1, 32 lanes at[\s\S]*barrier 0: 32 of 64",
          PLAIN + "setp.lt.u32 %p3, %r1, 32; @%p3 bra OUT; bar.sync 0;\nOUT:", **PAIR)


def test_a_barrier_inside_of_divergent_code():
    fails("needs them|deadlock", PLAIN + "@!%p2 bra OUT; bar.sync 0;\nOUT: bar.sync 1;", **PAIR)


def test_an_mbarrier_without_arrival_is_a_deadlock():
    fails(r"deadlock[\s\S]*for parity 0 of mbarrier", PLAIN + init() + wait(), **PAIR)


def test_too_many_arrivals():
    arrive = "@%p2 mbarrier.arrive.shared::cta.b64 _, [%r80];\n"
    run_all(PLAIN + init(2) + arrive + wait(), **PAIR)
    fails("more arrivals than the 3", PLAIN + init(3) + arrive.replace("_, [%r80]", "_, [%r80], 2"), **PAIR)


# --- cp.async ---------------------------------------------------------------------------------------

COPY = """
 ld.param.b64 %rd10, [a]; mul.wide.u32 %rd11, %r1, 16; add.s64 %rd12, %rd10, %rd11; shl.b32 %r92, %r1, 4;
 add.s32 %r93, %r81, %r92; cp.async.cg.shared.global [%r93], [%rd12], 16, 16; cp.async.commit_group;
"""
COPIED = {"inputs": {"a": np.arange(128, dtype=np.uint32)}, "block": 32}


def test_cp_async_is_there_after_its_wait():
    out = run_all(PLAIN + COPY + "cp.async.wait_group 0; bar.sync 0; ld.shared.b32 %r10, [%r84];" + STORE_WORD, **COPIED)
    assert (out == np.arange(32)).all()


def test_reading_before_cp_async_is_waited_for():
    fails("asynchronous copy still has to write",
          PLAIN + COPY + "cp.async.wait_group 1; bar.sync 0; ld.shared.b32 %r10, [%r84];" + STORE_WORD, **COPIED)


# --- wgmma ------------------------------------------------------------------------------------------

N = 8
ACC = "{%r100, %r101, %r102, %r103}"
# A is 64 x 64 and B 8 x 64, both K-major under a 128-byte swizzle; B stands 8 KiB behind A.
OPERANDS = """
 @%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r80], 9216;
 mov.b64 %rd52, map1; cvta.param.u64 %rd53, %rd52; add.s32 %r94, %r81, 8192;
 @%p1 cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r81], [%rd51, {%r90, %r90}], [%r80];
 @%p1 cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r94], [%rd53, {%r90, %r90}], [%r80];
"""
DESCRIPTORS = f"""
 shr.u32 %r95, %r81, 4; cvt.u64.u32 %rd30, %r95; or.b64 %rd31, %rd30, {(1 << 62) | (64 << 32) | (1 << 16)};
 add.s64 %rd32, %rd31, 512;
"""
MULTIPLY = "setp.ne.b32 %p8, 0, 0; setp.eq.b32 %p9, 0, 0;\n" + "".join(
    f"add.s64 %rd33, %rd31, {2 * i}; add.s64 %rd34, %rd32, {2 * i}; "
    f"wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {ACC}, %rd33, %rd34, {'%p9' if i else '%p8'}, 1, 1, 0, 0;\n"
    for i in range(4))
WGMMA_FENCE, COMMIT, WAIT_ALL = ("wgmma.fence.sync.aligned;\n", "wgmma.commit_group.sync.aligned;\n",
                                 "wgmma.wait_group.sync.aligned 0;\n")
RESULT = """
 ld.param.b64 %rd1, [out]; mul.wide.u32 %rd2, %r1, 16; add.s64 %rd3, %rd1, %rd2;
 st.global.v4.b32 [%rd3], {%r100, %r101, %r102, %r103};
"""
RNG = np.random.default_rng(3)
A = f32_to_bf16(RNG.standard_normal((64, 64)).astype(np.float32))
B = f32_to_bf16(RNG.standard_normal((8, 64)).astype(np.float32))
GROUP = {"inputs": {"a": A, "b": B}, "maps": [Map("a", (64, 64)), Map("b", (8, 64))], "block": 128,
         "out": np.zeros((128, 4), np.float32)}
BEGIN = START + ZERO + init() + OPERANDS + wait() + DESCRIPTORS


def test_wgmma_multiplies():
    out = run_all(BEGIN + WGMMA_FENCE + MULTIPLY + COMMIT + WAIT_ALL + RESULT, **GROUP)
    want = bf16_to_f32(A) @ bf16_to_f32(B).T
    thread = np.arange(128)
    row = thread // 32 * 16 + thread % 32 // 4
    for i in range(4):
        assert np.allclose(out[:, i], want[row + 8 * (i // 2), thread % 4 * 2 + i % 2], atol=1e-4)


def test_wgmma_without_its_operands():
    fails("asynchronous|no barrier between",
          START + ZERO + init() + OPERANDS + DESCRIPTORS + WGMMA_FENCE + MULTIPLY + COMMIT + WAIT_ALL + RESULT, **GROUP)


def test_wgmma_without_a_fence():
    fails("needs a wgmma.fence", BEGIN + MULTIPLY + COMMIT + WAIT_ALL + RESULT, **GROUP)
    fails("written after the last wgmma.fence",
          BEGIN + WGMMA_FENCE + "mov.b32 %r102, 0;\n" + MULTIPLY + COMMIT + WAIT_ALL + RESULT, **GROUP)


def test_accumulators_before_the_wait():
    fails("touches an accumulator of a wgmma under way", BEGIN + WGMMA_FENCE + MULTIPLY + COMMIT + RESULT, **GROUP)
    fails("touches an accumulator", BEGIN + WGMMA_FENCE + MULTIPLY + COMMIT + "wgmma.wait_group.sync.aligned 1;\n" + RESULT,
          **GROUP)
    fails("touches an accumulator", BEGIN + WGMMA_FENCE + MULTIPLY + WAIT_ALL + RESULT, **GROUP)  # nothing committed


def test_writing_what_a_wgmma_reads():
    over = "st.shared.b32 [%r84], %r1;\n"
    body = BEGIN + WGMMA_FENCE + MULTIPLY + COMMIT
    fails("still reads|no barrier", body + over + WAIT_ALL + RESULT, **GROUP)
    run_all(body + WAIT_ALL + "bar.sync 0;\n" + over + RESULT, **GROUP)
    fails("no barrier", body + WAIT_ALL + over + RESULT, **GROUP)


def test_wgmma_of_stores_without_a_proxy_fence():
    touch = "ld.shared.b32 %r96, [%r84];\nst.shared.b32 [%r84], %r96;\n"
    rest = "bar.sync 0;\n" + WGMMA_FENCE + MULTIPLY + COMMIT + WAIT_ALL + RESULT
    run_all(BEGIN + touch + FENCE + rest, **GROUP)
    fails("without a fence.proxy.async", BEGIN + touch + rest, **GROUP)


IN_REGISTERS = ("wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 " + ACC +
                      ", {%r110, %r111, %r112, %r113}, %rd32, %p8, 1, 1, 0;\n")
SET_A = "setp.ne.b32 %p8, 0, 0;\n" + "".join(f"mov.b32 %r{110 + i}, 0x3F803F80;\n" for i in range(4))


def test_writing_an_a_register_of_a_wgmma():
    body = BEGIN + SET_A + WGMMA_FENCE + IN_REGISTERS + COMMIT
    out = run_all(body + WAIT_ALL + SET_A + RESULT, **GROUP)
    want = bf16_to_f32(B)[:, :16].sum(axis=1)
    assert np.allclose(out[:, 0], want[np.arange(128) % 4 * 2], atol=1e-4)
    fails("overwrites an A register", body + SET_A + WAIT_ALL + RESULT, **GROUP)


def test_warps_of_a_group_that_disagree():
    body = BEGIN + "setp.lt.u32 %p5, %r1, 32; @%p5 add.s64 %rd32, %rd32, 2;\n" + WGMMA_FENCE + MULTIPLY
    fails("is another than its warp group's", body + COMMIT + WAIT_ALL + RESULT, **GROUP)
