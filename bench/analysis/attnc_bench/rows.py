"""Rows: the JSONL that the measuring core appends and everything else reads.

One line is one repetition of one implementation on one configuration on one GPU. The schema is
row.schema.json (`python -m attnc_bench schema` prints it). This file reads, validates, merges and
writes rows; it computes nothing from them.

Promises:
- a malformed line is an error that names file and line; every bad line is listed, not only the
  first;
- nothing is lost: input files are never modified, and lines that cannot be used are dropped only on
  request (`set_aside`), verbatim, into a file of their own;
- the one exception is a last line cut short by an interrupted run: it is skipped with a note.

Questions a reader will ask:
- *When are two rows the same?* When run_id, GPU (uuid, else name), implementation, config and rep
  agree. Equal content: one is kept (a shard merged twice). Different content in one file: the later
  line wins, since the file is an append-only log and a resumed run retries. Different content in
  two files: an error, since no order says which is right.
- *Two runs of one cell?* Different run_id, so both stay: the cell has more repetitions.
"""

from __future__ import annotations

import json
import math
import statistics
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import fastjsonschema

#: The version this file writes and understands.
SCHEMA_VERSION = 1

#: Older version -> function that turns such a row into the next version. Empty: 1 is the first.
UPGRADES: dict[int, Callable[[dict], dict]] = {}

#: What makes a configuration, in document order.
CONFIG_KEYS = (
    "regime",
    "batch",
    "N",
    "hq",
    "hkv",
    "head_dim",
    "dtype",
    "causal",
    "mode",
    "launch",
    "cache",
    "page_size",
    "variant",
)

STATUSES = ("OK", "UNSUPPORTED", "OOM_PREDICTED", "OOM", "ERROR", "INCORRECT", "TIMEOUT")

_MAX_LISTED = 20


@dataclass(frozen=True)
class Problem:
    """One line that is not a row: where, and found / allowed / what to do."""

    path: str
    line: int
    message: str
    raw: str = field(default="", repr=False, compare=False)

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.message}"


class RowError(Exception):
    """Some lines are not rows. `problems` has all of them, in file order."""

    def __init__(self, problems: list[Problem]):
        self.problems = problems
        shown = [str(p) for p in problems[:_MAX_LISTED]]
        if len(problems) > _MAX_LISTED:
            shown.append(f"... and {len(problems) - _MAX_LISTED} more")
        shown.append(
            "nothing was used and no file was changed; repair these lines, or pass --set-aside "
            "FILE to"
            " copy them there and go on without them"
        )
        super().__init__("\n".join(shown))


@dataclass
class RowSet:
    """Rows that passed, and what a reader of any number derived from them must be told.

    `lines` counts non-empty lines read (attempt records), before duplicates were removed.
    """

    rows: list[dict[str, Any]]
    notes: list[str] = field(default_factory=list)
    lines: int = 0
    sources: list[dict[str, Any]] = field(default_factory=list)


@lru_cache(maxsize=1)
def schema() -> dict[str, Any]:
    """The published JSON schema (draft 7) of one row."""
    return json.loads((Path(__file__).parent / "row.schema.json").read_text(encoding="utf-8"))


@lru_cache(maxsize=1)
def _validator() -> Callable[[Any], Any]:
    return fastjsonschema.compile(schema(), use_default=False)


def config_key(config: dict[str, Any]) -> tuple:
    """The configuration as a hashable value; an absent page_size or variant equals null."""
    return tuple(config.get(k) for k in CONFIG_KEYS)


def identity(row: dict[str, Any]) -> tuple:
    """Rows with equal identity are the same repetition (see the head of this file)."""
    gpu = row["gpu"].get("uuid") or row["gpu"]["name"]
    return (row["run_id"], gpu, row["implementation"], config_key(row["config"]), row["rep"])


def _upgrade(row: dict[str, Any]) -> dict[str, Any]:
    while row.get("schema_version") != SCHEMA_VERSION:
        found = row.get("schema_version")
        if found not in UPGRADES:
            known = sorted({*UPGRADES, SCHEMA_VERSION})
            hint = (
                "update attnc_bench"
                if isinstance(found, int) and found > SCHEMA_VERSION
                else "the field is required in every row"
            )
            raise ValueError(f"schema_version {found!r}; this reader knows {known}; {hint}")
        row = UPGRADES[found](row)
    return row


def validate(row: Any) -> dict[str, Any]:
    """Return `row` in the current version, or raise ValueError saying what is wrong with it.

    Beyond the schema: heads divide, a shard is i < n, the median is that of the samples, and a row
    that failed its correctness check does not call itself OK.
    """
    if not isinstance(row, dict):
        raise ValueError(f"found a JSON {type(row).__name__}; a row is an object")
    row = _upgrade(row)
    try:
        _validator()(row)
    except fastjsonschema.JsonSchemaValueException as e:
        where = ".".join(str(p) for p in e.path[1:]) or "row"
        if e.rule == "required":
            missing = [k for k in e.rule_definition if k not in (e.value or {})]
            raise ValueError(f"{where}: missing {', '.join(missing)}") from None
        found = json.dumps(e.value, default=str)
        found = found if len(found) <= 60 else found[:57] + "..."
        if e.rule in ("enum", "const"):
            raise ValueError(f"{where}: found {found}, allowed {e.rule_definition}") from None
        raise ValueError(
            f"{where}: found {found}, allowed {e.rule} {json.dumps(e.rule_definition)}"
        ) from None
    cfg = row["config"]
    if cfg["hq"] % cfg["hkv"]:
        raise ValueError(f"config: hq {cfg['hq']} is not a multiple of hkv {cfg['hkv']}")
    if row.get("shard"):
        i, n = (int(x) for x in row["shard"].split("/"))
        if i >= n:
            raise ValueError(f"shard: found {row['shard']}, allowed i/n with i < n")
    if row["status"] == "OK":
        if (row.get("correctness") or {}).get("pass") is False:
            raise ValueError("status OK with correctness.pass false; such a row is INCORRECT")
        good = [s for s in row["samples_us"] if s is not None]
        want = statistics.median(good) if good else None
        got = row["median_us"]
        if (want is None) != (got is None) or (
            want is not None and not math.isclose(want, got, rel_tol=1e-3, abs_tol=2e-3)
        ):
            raise ValueError(f"median_us {got} is not the median of samples_us, {want}")
    return row


def _finite(text: str) -> float | None:
    value = float(text)
    return value if math.isfinite(value) else None


def _decode(raw: bytes) -> Any:
    # NaN and Infinity are not JSON but some writers emit them, and 1e999 overflows: a time that is
    # no number is null.
    return json.loads(raw.decode("utf-8"), parse_constant=lambda _: None, parse_float=_finite)


def read_file(path: str | Path) -> tuple[list[tuple[int, dict]], list[Problem], list[str], int]:
    """(line, row) pairs, the problems, the notes, and the number of non-empty lines of one file."""
    data = Path(path).read_bytes()
    rows: list[tuple[int, dict]] = []
    problems: list[Problem] = []
    notes: list[str] = []
    upgraded: Counter = Counter()
    lines = data.split(b"\n")
    count = 0
    for number, raw in enumerate(lines, 1):
        if not raw.strip():
            continue
        count += 1
        try:
            value = _decode(raw)
        except (ValueError, RecursionError) as e:
            if number == len(lines) and isinstance(e, ValueError):
                # No newline after it and not JSON: the writer was stopped inside this line.
                notes.append(
                    f"{path}:{number}: last line is cut short ({len(raw)} bytes, no newline); "
                    "skipped: the repetition it belongs to was interrupted"
                )
                continue
            what = f"column {e.colno}: {e.msg}" if isinstance(e, json.JSONDecodeError) else str(e)
            problems.append(
                Problem(str(path), number, f"not JSON: {what}", raw.decode("utf-8", "replace"))
            )
            continue
        version = value.get("schema_version") if isinstance(value, dict) else None
        try:
            row = validate(value)
        except ValueError as e:
            problems.append(Problem(str(path), number, str(e), raw.decode("utf-8", "replace")))
            continue
        if version != SCHEMA_VERSION:
            upgraded[version] += 1
        rows.append((number, row))
    for version, n in sorted(upgraded.items()):
        notes.append(f"{path}: {n} rows of schema version {version} read as {SCHEMA_VERSION}")
    return rows, problems, notes, count


def read_rows(paths: Iterable[str | Path], set_aside: str | Path | None = None) -> RowSet:
    """Read, validate and merge the files. Raises RowError, or FileNotFoundError/OSError.

    With `set_aside`, bad lines are written there, one JSON object {file, line, error, raw} each,
    and the rest is used.
    """
    out = RowSet([])
    problems: list[Problem] = []
    kept: dict[tuple, tuple[str, int, dict]] = {}
    same = superseded = 0
    for path in paths:
        found, bad, notes, count = read_file(path)
        out.notes += notes
        out.lines += count
        out.sources.append({"file": Path(path).name, "lines": count, "rows": len(found)})
        problems += bad
        for line, row in found:
            key = identity(row)
            if key not in kept:
                kept[key] = (str(path), line, row)
                continue
            other_path, other_line, other = kept[key]
            if other == row:
                same += 1
            elif other_path == str(path):
                superseded += 1
                kept[key] = (str(path), line, row)
            else:
                problems.append(
                    Problem(
                        str(path),
                        line,
                        f"same repetition as {other_path}:{other_line} (run {row['run_id']}, "
                        f"{row['implementation']}, rep {row['rep']}) with other content; "
                        "keep one of the two files",
                        json.dumps(row),
                    )
                )
    if problems and set_aside is None:
        raise RowError(problems)
    if problems:
        with open(set_aside, "x", encoding="utf-8") as f:
            for p in problems:
                record = {"file": p.path, "line": p.line, "error": p.message, "raw": p.raw}
                f.write(json.dumps(record) + "\n")
        out.notes.append(f"{len(problems)} lines that are not rows were set aside in {set_aside}")
    if same:
        out.notes.append(f"{same} duplicate rows with equal content were dropped")
    if superseded:
        out.notes.append(f"{superseded} rows were superseded by a later line of the same file")
    out.rows = [row for _, _, row in kept.values()]
    nulls = sum(1 for r in out.rows if r["status"] == "OK" and None in r["samples_us"])
    if nulls:
        out.notes.append(f"{nulls} OK rows hold samples without a number (NaN); those do not count")
    return out


def write_rows(rows: Iterable[dict[str, Any]], path: str | Path) -> int:
    """Write rows as JSONL to a new file (never over an existing one); returns how many."""
    n = 0
    with open(path, "x", encoding="utf-8") as f:
        for row in rows:
            f.write(json.dumps(row, separators=(",", ":"), allow_nan=False) + "\n")
            n += 1
    return n
