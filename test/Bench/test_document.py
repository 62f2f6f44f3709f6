"""Rows with known answers: ties, missing cells, failures, one implementation, NaN, reps,
probing."""

import json

import pytest
from attnc_bench import cells
from attnc_bench.document import build
from attnc_bench.rows import RowSet, validate
from factory import prefill, row


def doc_of(rows, **options):
    for r in rows:
        validate(r)
    doc = build(RowSet(rows), **options)
    json.dumps(doc, allow_nan=False)  # no NaN may reach the file
    return doc


def reps(values, *args, **over):
    return [row(v, *args, rep=i, **over) for i, v in enumerate(values)]


def test_latency_is_the_median_over_repetitions():
    doc = doc_of(reps([30.0, 10.0, 20.0, 90.0, 20.5], "D2-sdpa"))
    assert doc["decode_latency_b1"]["A100"]["D2-sdpa"] == {"x": [512], "y": [20.5]}
    assert doc["devices"][0]["reps"] == 5
    band = doc["attnc_bench"]["intervals"]["decode_latency_b1"]["A100"]["D2-sdpa"]
    assert band["lo"][0] <= 20.5 <= band["hi"][0]


def test_rates_are_medians_of_rates_not_rates_of_medians():
    # 2 * 512 * 8 * 128 * 2 bytes; at 10 and 30 us the rates are 209.7 and 69.9, their mean 139.8.
    doc = doc_of(reps([10.0, 30.0], "D2-sdpa"))
    assert doc["decode_latency_b1"]["A100"]["D2-sdpa"]["y"] == [20.0]
    assert doc["decode_bw_b1"]["A100"]["D2-sdpa"]["y"] == [139.81]
    doc = doc_of(reps([10.0, 30.0, 1.0], "D2-sdpa"))
    assert doc["decode_bw_b1"]["A100"]["D2-sdpa"]["y"] == [209.715]


def test_expanded_kv_reads_the_group_times_more():
    doc = doc_of(
        [
            row(10.0, "D2-sdpa"),
            row(10.0, "D0-naive-kv"),
            row(10.0, "mine", kv_expanded=True),
            row(10.0, "other"),
        ]
    )
    bw = {k: v["y"][0] for k, v in doc["decode_bw_b1"]["A100"].items()}
    assert bw["D0-naive-kv"] == bw["mine"] == pytest.approx(4 * bw["D2-sdpa"], abs=2e-3)
    assert bw["other"] == bw["D2-sdpa"]
    kv = {m["impl"]: m["kv_mb"] for m in doc["mha_vs_gqa"]}
    assert kv == {"D2-sdpa": 2.097, "D0-naive-kv": 8.389, "mine": 8.389, "other": 2.097}


def test_causal_halves_the_operations():
    half = doc_of([prefill(1000.0, N=1024)])
    full = doc_of([prefill(1000.0, N=1024, causal=False)])
    y = lambda d: d["prefill_tflops"]["A100"]["P4-fa2"]["y"][0]
    assert y(half) == pytest.approx(4 * 4 * 32 * 1024**2 * 128 / 2 / 1000 / 1e6, abs=1e-3)
    assert y(full) == pytest.approx(2 * y(half), abs=2e-3)


def test_tie_goes_to_the_first_id_in_any_order_and_is_not_separated():
    rows = [row(50.0, "D4-flashinfer"), row(50.0, "D2-sdpa"), row(60.0, "D3-fa-kvcache")]
    for order in (rows, rows[::-1]):
        doc = doc_of(order)
        assert doc["winners"]["decode"]["A100"] == {"D2-sdpa": 1}
        assert doc["separation"]["by_regime"]["decode"] == {
            "n": 1,
            "separated": 0.0,
            "median_ratio": 1.0,
        }


def test_separation_includes_the_threshold_itself():
    at = doc_of([row(100.0, "a"), row(110.0, "b")])
    below = doc_of([row(100.0, "a"), row(109.9, "b")])
    assert at["separation"]["by_regime"]["decode"]["separated"] == 1.0
    assert below["separation"]["by_regime"]["decode"]["separated"] == 0.0


def test_one_implementation_wins_but_is_not_separated_from_anyone():
    doc = doc_of([row(100.0, "D5-attnc", N=n) for n in (512, 1024)])
    assert doc["winners"]["decode"]["A100"] == {"D5-attnc": 2}
    assert doc["headline"]["cells"] == 2
    assert doc["separation"]["by_regime"] == {} and doc["spread"] == {}
    assert doc["prefill_speedup"] == [] and doc["pairs"] == []
    assert any("one GPU only" in t for t in doc["not_collected"])
    assert doc["selector"]["accuracy"] == 1.0 and doc["selector"]["median_regret"] == 1.0


def test_flip_and_flip_of_separated_cells():
    rows = []
    # Four cells. A100: a wins all; lead 2x, 2x, 5%, 2x. L40: a, b, b, and the last cell is missing.
    for n, ta, tb in ((512, 10, 20), (1024, 10, 20), (2048, 10, 10.5), (4096, 10, 20)):
        rows += [row(float(ta), "a", N=n), row(float(tb), "b", N=n)]
    for n, ta, tb in ((512, 10, 20), (1024, 20, 10), (2048, 20, 10)):
        rows += [row(float(ta), "a", N=n, gpu="L40"), row(float(tb), "b", N=n, gpu="L40")]
    (pair,) = doc_of(rows)["pairs"]
    assert (pair["a"], pair["b"], pair["n"]) == ("A100", "L40", 3)
    assert pair["flip"] == round(2 / 3, 3)
    assert (pair["n_sep"], pair["flip_sep"]) == (2, 0.5)
    assert pair["spearman"] is None  # two implementations have no rank correlation worth the name


def test_spearman_of_three_and_reversed_order():
    rows = [row(t, i) for i, t in zip("abc", (1.0, 2.0, 3.0))]
    rows += [row(t, i, gpu="L40") for i, t in zip("abc", (3.0, 2.0, 1.0))]
    assert doc_of(rows)["pairs"][0]["spearman"] == -1.0


def test_pair_without_common_cells_is_absent():
    doc = doc_of([row(1.0, "a", N=512), row(1.0, "a", N=1024, gpu="L40")])
    assert doc["pairs"] == []


def test_failures_have_no_speed_and_are_counted():
    rows = [
        row(100.0, "D2-sdpa"),
        row(impl="D4-flashinfer", status="OOM"),
        row(impl="D3-fa-kvcache", status="OOM_PREDICTED"),
        row(impl="D1-inductor", status="UNSUPPORTED"),
        row(impl="D0-naive-kv", status="TIMEOUT"),
    ]
    wrong = row(impl="D5-attnc", status="INCORRECT") | {
        "samples_us": [1.0],
        "median_us": 1.0,
        "correctness": {
            "pass": False,
            "max_abs": 9.0,
            "max_rel": 9.0,
            "min_cos": 0.1,
            "vs_baseline": 50.0,
        },
    }
    doc = doc_of([*rows, wrong])
    assert doc["winners"]["decode"]["A100"] == {"D2-sdpa": 1}
    assert list(doc["decode_latency_b1"]["A100"]) == ["D2-sdpa"]
    assert doc["status_counts"] == {
        "OK": 1,
        "UNSUPPORTED": 1,
        "OOM_PREDICTED": 1,
        "OOM": 1,
        "INCORRECT": 1,
        "TIMEOUT": 1,
    }
    bad = next(c for c in doc["correctness"] if c["impl"] == "D5-attnc")
    assert (bad["n"], bad["fail"], bad["max_abs"], bad["min_cos"]) == (1, 1, 9.0, 0.1)
    assert len(doc["coverage"]) == 6


def test_only_failures_still_make_a_document():
    doc = doc_of([row(status="OOM"), prefill(status="ERROR")])
    assert doc["headline"]["cells"] == 0 and doc["winners"] == {}
    assert doc["selector"]["n"] == 0
    assert any("Decode: no row whose time counts" in t for t in doc["not_collected"])


def test_nan_times_do_not_count_and_are_noted():
    rows = [
        row([None, None], "D4-flashinfer"),
        row([10.0, None, 30.0], "D2-sdpa"),
        row(25.0, "D3-fa-kvcache"),
    ]
    doc = doc_of(rows)
    assert doc["winners"]["decode"]["A100"] == {"D2-sdpa": 1}
    assert doc["headline"]["ok_rows"] == 3 and doc["headline"]["eligible_rows"] == 2
    assert "1 OK rows do not count: no finite positive time" in doc["attnc_bench"]["notes"]


def test_unchecked_rows_do_not_count_unless_allowed():
    rows = [row(10.0, "D4-flashinfer", correctness=None), row(20.0, "D2-sdpa")]
    assert doc_of(rows)["winners"]["decode"]["A100"] == {"D2-sdpa": 1}
    assert (
        "1 OK rows do not count: not checked against fp64" in doc_of(rows)["attnc_bench"]["notes"]
    )
    allowed = doc_of(rows, allow_unchecked=True)
    assert allowed["winners"]["decode"]["A100"] == {"D4-flashinfer": 1}


def test_fwd_bwd_stays_out_of_portability():
    rows = [
        prefill(10.0, "a", mode="fwd_bwd"),
        prefill(20.0, "b", mode="fwd_bwd"),
        prefill(20.0, "a"),
        prefill(10.0, "b"),
    ]
    doc = doc_of(rows)
    assert doc["winners"]["prefill"]["A100"] == {"b": 1}
    assert doc["headline"]["cells"] == 1
    assert doc["supplementary_fwd_bwd"]["n"] == 1
    assert doc["supplementary_fwd_bwd"]["separated"] == 1.0


def test_spread_is_slowest_over_fastest():
    rows = [row(t, i) for i, t in zip("abc", (10.0, 20.0, 40.0))]
    rows += [row(t, i, N=1024) for i, t in zip("ab", (10.0, 20.0))]
    assert doc_of(rows)["spread"] == {"decode": 3.0}


def test_speedups_need_the_base_and_can_take_another():
    rows = [
        prefill(100.0, "P2c-sdpa-flash"),
        prefill(50.0, "P5-attnc"),
        prefill(80.0, "P5-attnc", N=1024),
        prefill(7.0, "P5-attnc", batch=1),
        prefill(14.0, "P2c-sdpa-flash", batch=1),
    ]
    got = {(s["B"], s["N"]): (s["impl"], s["speedup"]) for s in doc_of(rows)["prefill_speedup"]}
    assert got == {(4, 512): ("P5-attnc", 2.0), (1, 512): ("P5-attnc", 2.0)}
    other = doc_of(rows, base="P5-attnc")
    assert {s["impl"] for s in other["prefill_speedup"]} == {"P2c-sdpa-flash"}


def test_dispatch_counts_ok_rows_only():
    def probe(observed, intended=None, impl="D2-sdpa", **over):
        return row(10.0, impl, dispatch={"observed": observed, "intended": intended}, **over)

    rows = [
        probe("pytorch-flash", rep=0),
        probe("cudnn", rep=1),
        probe("cudnn", ["cudnn"], rep=2),
        probe("unprobed", rep=3),
        row(10.0, rep=4),
        row(status="OOM", rep=5),
        probe("unknown", rep=6),
        row(
            10.0,
            "D1-inductor",
            dispatch={"observed": "flash-attn", "intended": "triton", "inductor_counter": 2},
        ),
    ]
    doc = doc_of(rows)
    d = doc["dispatch"]
    assert sum(f["n"] for f in d["flows"]) == 7
    # Probed: all but 'unprobed' and the row without a probe. Wrong: cudnn, unknown, flash-attn.
    assert d["by_gpu"]["A100"] == {"probed": 71.429, "mismatch": 60.0}
    assert (doc["headline"]["probed_pct"], doc["headline"]["dispatch_mismatch_pct"]) == (
        71.429,
        60.0,
    )
    assert (d["inductor_rows"], d["inductor_counter_fired"], d["attn_kernel_in_trace"]) == (1, 1, 1)


def test_slices_follow_the_data_when_the_studys_slice_is_empty():
    rows = [row(10.0, N=n, hkv=4, cache="cold", launch="graph") for n in (512, 1024)]
    rows += [row(10.0, N=512, hkv=2, cache="cold", launch="graph")]
    doc = doc_of(rows)
    assert doc["decode_slice"]["hkv"] == 4 and doc["decode_slice"]["cache"] == "cold"
    assert doc["decode_latency_b1"]["A100"]["D2-sdpa"]["x"] == [512, 1024]


def test_page_size_sweep():
    rows = [row(t, "D5-attnc", page_size=p) for p, t in ((None, 10.0), (16, 12.0), (128, 11.0))]
    rows.append(row(10.0, "D5-attnc", N=1024))  # one page size only: no part of a sweep
    doc = doc_of(rows)
    sweep = {s["page_size"]: s["us"] for s in doc["attnc_bench"]["page_sizes"]}
    assert {s["N"] for s in doc["attnc_bench"]["page_sizes"]} == {512}
    assert sweep == {None: 10.0, 16: 12.0, 128: 11.0}
    assert not any("Paged versus contiguous" in t for t in doc["not_collected"])
    assert doc["decode_latency_b1"]["A100"]["D5-attnc"]["y"] == [10.0, 10.0]  # contiguous


def test_measured_roofline():
    bytes_read = 4_000_000.0
    doc = doc_of([row(10.0, traffic={"dram_read_bytes": bytes_read, "dram_write_bytes": 194304.0})])
    (point,) = doc["attnc_bench"]["roofline_measured"]
    assert point["ai"] == pytest.approx(4 * 32 * 512 * 128 / 4_194_304, abs=1e-3)
    assert not any("Hardware counters" in t for t in doc["not_collected"])


def test_several_library_versions_are_all_named():
    doc = doc_of(
        [
            row(10.0, rep=0, versions={"torch": "2.9.0", "flashinfer": None}),
            row(10.0, rep=1, versions={"torch": "2.10.0"}),
        ]
    )
    assert doc["software"]["torch"] == "2.10.0; 2.9.0"
    assert doc["software"]["flashinfer"] is None


def test_throttled_rows_are_noted():
    doc = doc_of([row(10.0, throttle=["sw_power_cap"], stop={"met": False, "unmet": ["noise"]})])
    notes = " ".join(doc["attnc_bench"]["notes"])
    assert "1 OK rows were measured while the GPU throttled" in notes
    assert "1 OK rows stopped before their criteria were met" in notes


def test_no_rows_is_an_error():
    with pytest.raises(ValueError):
        build(RowSet([]))


def test_winner_table_of_nothing():
    frame = cells.to_frame([row(status="OOM")])
    assert cells.winners(cells.per_implementation(frame)).empty
