"""Every example on every GPU target: small shapes, fewer heads, two multiprocessors, against fp64."""

from pathlib import Path

import pytest

from simulate import ROOT, compile_package, simulate
from problem import Shape

TARGETS = ["sm_80", "sm_86", "sm_89", "sm_90a", "sm_100a", "sm_120"]
# Heads that keep each example's group of query heads to a KV head, and shapes: lengths about a tile,
# more queries than keys, one token, and for decodes one part and several.
PREFILLS = {"bert-base-prefill": "q=2,kv=2", "bloom-7b1-prefill": "q=3,kv=3", "deepseek-v3-prefill": "q=2,kv=2",
            "gemma2-9b-prefill": "q=2,kv=1", "gpt-oss-20b-prefill": "q=8,kv=1", "llama3-8b-prefill": "q=4,kv=1",
            "llama3-8b-varlen": "q=4,kv=1", "mistral-7b-prefill": "q=4,kv=1", "mpt-7b-prefill": "q=2,kv=2",
            "paligemma-3b-prefill": "q=2,kv=1", "qwen2.5-7b-prefill": "q=7,kv=1", "softcap-window": "q=2,kv=1",
            "t5-base-encoder": "q=2,kv=2"}
DECODES = {"gpt-oss-20b-decode": ("q=8,kv=1", 1), "gqa-paged-decode": ("q=8,kv=2", 3),
           "llama3-70b-speculative": ("q=8,kv=1", 7), "llama3-8b-decode": ("q=8,kv=2", 1)}
SHAPES = ["b=1,sq=1,skv=1", "b=2,sq=70,skv=150"]
# The warp-specialised schedule has more to go wrong: several tiles and steps on each multiprocessor, and
# more schedules.
LONG = {"sm_90a": ["b=1,sq=260,skv=300", "b=1,sq=150,skv=64"]}


def check(name, target, heads, shapes, splits=(1,), seeds=(0,)):
    package = compile_package(ROOT / "examples" / f"{name}.yaml", target, None, heads)
    for shape in shapes:
        for part in splits:
            for seed in seeds:
                report = simulate(package, Shape.parse(shape), seed, 2, part)
                assert report.ok, f"{shape}, splits {part}, seed {seed}: " + "; ".join(report.lines)


def test_every_example_is_here():
    names = {path.stem for path in Path(ROOT / "examples").glob("*.yaml")}
    assert names == set(PREFILLS) | set(DECODES), "name the new example and its heads in this file"


@pytest.mark.parametrize("name", PREFILLS)
@pytest.mark.parametrize("target", TARGETS)
def test_prefill(target, name):
    check(name, target, PREFILLS[name], SHAPES + LONG.get(target, []))


@pytest.mark.parametrize("name", DECODES)
@pytest.mark.parametrize("target", TARGETS)
def test_decode(target, name):
    heads, queries = DECODES[name]
    check(name, target, heads, [f"b=2,sq={queries},skv=300", f"b=1,sq={queries},skv=1"], splits=(1, 3))


@pytest.mark.parametrize("seed", range(1, 5))
@pytest.mark.parametrize("target", ["sm_90a"])
def test_schedules(target, seed):
    check("llama3-8b-prefill", target, "q=4,kv=1", ["b=1,sq=200,skv=300"], seeds=(seed,))
