"""Comparison: known ratios, "no difference", regressions and their exit code, what is not
compared."""

import json

import numpy as np
import pytest
from attnc_bench.cli import main
from attnc_bench.compare import MARGIN, compare, verdict
from attnc_bench.rows import RowSet
from factory import row


def runs(center, noise=0.005, reps=7, seed=0, **over):
    rng = np.random.default_rng(seed)
    return [
        row(
            [round(float(center * (1 + noise * rng.standard_normal())), 4) for _ in range(9)],
            rep=i,
            **over,
        )
        for i in range(reps)
    ]


def only(result):
    (cell,) = result.cells
    return cell


def test_slower_faster_and_none():
    a = RowSet(runs(100.0, seed=1))
    slow = only(compare(a, RowSet(runs(110.0, seed=2)), 0.97))
    assert slow["verdict"] == "slower" and slow["regression"]
    assert slow["ratio"] == pytest.approx(1 / 1.1, rel=0.01)
    assert slow["low"] < slow["ratio"] < slow["high"] < 1 and slow["basis"] == "repetitions"
    fast = only(compare(a, RowSet(runs(90.0, seed=3)), 0.97))
    assert fast["verdict"] == "faster" and not fast["regression"]
    same = only(compare(a, RowSet(runs(100.0, seed=4)), 0.97))
    assert same["verdict"] == "no difference" and not same["regression"]


def test_verdict_needs_both_interval_and_effect():
    assert verdict(0.5, 0.4, 1.01) == "no difference, wide"
    assert verdict(1 - MARGIN / 2, 0.985, 0.995) == "no difference"
    assert verdict(1 + MARGIN, 1.001, 1.05) == "faster"
    assert verdict(1 - MARGIN, 0.97, 0.999) == "slower"
    assert verdict(1.0, 0.9, 1.2) == "no difference, wide"


def test_slower_but_above_the_limit_is_no_regression():
    cell = only(compare(RowSet(runs(100.0, 0.001)), RowSet(runs(104.0, 0.001, seed=5)), 0.90))
    assert cell["verdict"] == "slower" and not cell["regression"]


def test_same_distribution_says_no_difference_nearly_always():
    a, b = [], []
    for k in range(100):
        a += runs(50.0, 0.01, seed=k, N=512 + k)
        b += runs(50.0, 0.01, seed=1000 + k, N=512 + k)
    words = [c["verdict"] for c in compare(RowSet(a), RowSet(b)).cells]
    assert sum(w.startswith("no difference") for w in words) >= 95


def test_few_repetitions_fall_back_to_samples():
    cell = only(compare(RowSet(runs(100.0, reps=1)), RowSet(runs(120.0, reps=1, seed=9)), 0.97))
    assert cell["basis"] == "samples" and cell["verdict"] == "slower"


def test_a_cell_that_no_longer_works_is_a_regression():
    a = RowSet(runs(100.0))
    for status in ("INCORRECT", "ERROR", "OOM", "TIMEOUT", "UNSUPPORTED"):
        cell = only(compare(a, RowSet([row(status=status)]), 0.97))
        assert cell["verdict"] == f"lost: {status}" and cell["regression"]
    gained = only(compare(RowSet([row(status="OOM")]), a, 0.97))
    assert gained["verdict"] == "gained (was OOM)" and not gained["regression"]
    unchecked = only(compare(a, RowSet([row(100.0, correctness=None)]), 0.97))
    assert unchecked["verdict"] == "lost: UNCHECKED" and not unchecked["regression"]


def test_exit_codes_and_output(jsonl, capsys):
    a = jsonl("a.jsonl", runs(100.0) + runs(30.0, N=1024))
    worse = jsonl("b.jsonl", runs(110.0, seed=2) + runs(30.0, N=2048))
    assert main(["compare", str(a), str(worse), "--fail-below", "0.97"]) == 7
    out = capsys.readouterr().out
    assert "slower REGRESSION" in out and "1 regressions" in out
    assert "NOT COMPARED: 1 cells have a time only in a" in out
    assert "NOT COMPARED: 1 cells have a time only in b" in out
    assert main(["compare", str(a), str(worse)]) == 0
    assert main(["compare", str(a), str(a), "--fail-below", "0.97"]) == 0
    capsys.readouterr()
    assert main(["compare", str(a), str(worse), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["cells"][0]["verdict"] == "slower"


def test_nothing_in_common_is_not_success(jsonl, capsys):
    a, b = jsonl("a.jsonl", runs(100.0)), jsonl("b.jsonl", runs(100.0, N=1024))
    assert main(["compare", str(a), str(b), "--fail-below", "0.97"]) == 3
    assert "nothing to compare" in capsys.readouterr().err


def test_rows_of_other_configurations_do_not_mix():
    a = RowSet(runs(100.0) + runs(10.0, page_size=16))
    b = RowSet(runs(100.0, seed=2) + runs(20.0, page_size=16, seed=3))
    words = {c["config"]["page_size"]: c["verdict"] for c in compare(a, b).cells}
    assert words == {None: "no difference", 16: "slower"}
