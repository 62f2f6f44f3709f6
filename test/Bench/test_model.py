"""The analytic model against numbers worked out by hand."""

from attnc_bench import model
from factory import CONFIG, PREFILL


def test_decode_by_hand():
    # B 1, N 512, Hq 32, Hkv 8, D 128, bf16: the example at the head of model.py.
    assert model.kv_bytes(CONFIG, False) == 2 * 512 * 8 * 128 * 2 == 2_097_152
    assert model.kv_bytes(CONFIG, True) == 4 * 2_097_152
    assert model.flops(CONFIG) == 4 * 32 * 512 * 128 == 8_388_608
    assert model.intensity(CONFIG, False, False) == 4.0
    assert model.intensity(CONFIG, True, False) == 1.0


def test_causal_is_ignored_by_decode_and_halves_prefill():
    assert model.flops({**CONFIG, "causal": True}) == model.flops(CONFIG)
    full = model.flops({**PREFILL, "causal": False})
    assert full == 4 * 4 * 32 * 512**2 * 128
    assert model.flops(PREFILL) == full / 2


def test_forward_and_backward_is_seven_products_for_two():
    both = {**PREFILL, "mode": "fwd_bwd"}
    assert model.flops(both) == 3.5 * model.flops(PREFILL)
    assert model.intensity(both, False, False) == model.intensity(PREFILL, False, False)


def test_bytes_follow_the_type():
    for dtype, size in (("fp8e4m3", 1), ("fp16", 2), ("fp32", 4)):
        assert model.kv_bytes({**CONFIG, "dtype": dtype}, False) == 2 * 512 * 8 * 128 * size


def test_prefill_traffic_with_and_without_scores():
    # Q, K, V, O of 32 heads: 4 * B * N * H * D * 2 bytes; visible scores written and read once.
    tensors = 4 * 4 * 512 * 32 * 128 * 2
    scores = 2 * 2 * 4 * 32 * 512**2 // 2
    assert model.traffic_bytes(PREFILL, False, False) == tensors
    assert model.traffic_bytes(PREFILL, False, True) == tensors + scores
    grouped = {**PREFILL, "hkv": 8}
    assert model.traffic_bytes(grouped, False, False) == tensors * 5 // 8
