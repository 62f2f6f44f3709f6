"""Puts the analysis package and the test factory on the path; gives the study's document."""

import json
import sys
from pathlib import Path

import pytest

_HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(_HERE), str(_HERE.parents[1] / "bench" / "analysis")]

import factory  # noqa: E402


@pytest.fixture(scope="session")
def seed():
    path = factory.seed_path()
    if path is None:
        pytest.skip("the study's document is not here; set ATTNC_SEED to its path")
    return json.loads(path.read_text(encoding="utf-8"))


@pytest.fixture
def jsonl(tmp_path):
    """Writes rows (or raw strings) to a file, one a line, and returns its path."""

    def write(name, rows, end="\n"):
        lines = [r if isinstance(r, str) else json.dumps(r) for r in rows]
        path = tmp_path / name
        path.write_text("\n".join(lines) + end, encoding="utf-8")
        return path

    return write
