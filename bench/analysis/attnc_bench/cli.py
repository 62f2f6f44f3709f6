"""`python -m attnc_bench`: report, document, compare, select, merge, schema. Flags only; no logic.

Exit codes are the project's: 0 ok, 2 bad usage or input (file:line), 3 valid but nothing to do,
7 regression found.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from . import __version__
from .implementations import SPEEDUP_BASE
from .rows import RowError, RowSet, read_rows, schema, write_rows

EXIT_INPUT, EXIT_NOTHING, EXIT_REGRESSION = 2, 3, 7


class InputError(Exception):
    """Anything that the user's input caused and that is not a RowError."""


def _say(*words: object) -> None:
    print(*words, file=sys.stderr)


def _read(paths: list[str], set_aside: str | None) -> RowSet:
    rowset = read_rows(paths, set_aside)
    for note in rowset.notes:
        _say(f"note: {note}")
    if not rowset.rows:
        raise InputError(f"{', '.join(paths)}: no rows")
    return rowset


def _write(text: str, path: str | None) -> None:
    if path in (None, "-"):
        sys.stdout.write(text)
        return
    Path(path).write_text(text, encoding="utf-8")
    _say(f"wrote {path} ({len(text.encode()) / 1024:.0f} KiB)")


def _gpus(value: str | None) -> list[str] | None:
    return [g.strip() for g in value.split(",") if g.strip()] if value else None


def _load_document(path: str) -> dict[str, Any] | None:
    """A study document, or None when the file is something else (then it is read as rows)."""
    try:
        value = json.loads(Path(path).read_text(encoding="utf-8"))
    except ValueError:
        return None
    if isinstance(value, dict) and "headline" in value and "winners" in value:
        return value
    return None


def _documents(args: argparse.Namespace) -> dict[str, Any]:
    from .document import build

    loaded = {p: _load_document(p) for p in args.inputs}
    found = [p for p, d in loaded.items() if d is not None]
    if found and len(args.inputs) > 1:
        raise InputError(f"{found[0]} is a document; a report takes one document, or rows only")
    if found:
        return loaded[found[0]]
    return build(
        _read(args.inputs, args.set_aside), _gpus(args.train_gpus), args.base, args.allow_unchecked
    )


def cmd_report(args: argparse.Namespace) -> int:
    from .report import render

    doc = _documents(args)
    _write(render(doc, args.title, compress=not args.plain_js), args.output)
    return 0


def cmd_document(args: argparse.Namespace) -> int:
    _write(json.dumps(_documents(args), indent=1, allow_nan=False) + "\n", args.output)
    return 0


def cmd_compare(args: argparse.Namespace) -> int:
    from .compare import compare, render

    a, b = _read([args.a], args.set_aside), _read([args.b], args.set_aside)
    result = compare(a, b, args.fail_below, args.margin, args.allow_unchecked)
    if not any("ratio" in c for c in result.cells) and not result.regressions:
        _say("nothing to compare: no cell has a counting time on both sides")
        print(render(result))
        return EXIT_NOTHING
    if args.json:
        record = {"cells": result.cells, "only_a": result.only_a, "only_b": result.only_b}
        print(json.dumps(record, indent=1))
    else:
        print(render(result, args.all))
    return EXIT_REGRESSION if result.regressions else 0


def cmd_select(args: argparse.Namespace) -> int:
    from . import cells
    from .document import device_list
    from .selector import train

    rowset = _read(args.inputs, args.set_aside)
    times = cells.per_implementation(cells.to_frame(rowset.rows, args.allow_unchecked))
    devices = device_list(rowset, times)
    summary, details, tree = train(times, devices, _gpus(args.train_gpus))
    _say(
        f"{details['judged']}: accuracy {summary['accuracy']}, regret median "
        f"{summary['median_regret']}, p95 {summary['p95_regret']} over {summary['n']} cells"
    )
    for impl, fixed in summary["vs_fixed"].items():
        _say(
            f"  always {impl}: median {fixed['median']}, p95 {fixed['p95']}, "
            f"runs in {100 * fixed['coverage']:.0f}% of cells"
        )
    _say(summary["rule"].rstrip())
    _write(json.dumps(tree, indent=1) + "\n", args.output)
    return 0


def cmd_merge(args: argparse.Namespace) -> int:
    rowset = _read(args.inputs, args.set_aside)
    n = write_rows(rowset.rows, args.output)
    _say(f"wrote {args.output}: {n} rows of {rowset.lines} lines")
    return 0


def cmd_schema(args: argparse.Namespace) -> int:
    _write(json.dumps(schema(), indent=2) + "\n", args.output)
    return 0


def parser() -> argparse.ArgumentParser:
    p = argparse.ArgumentParser(prog="attnc_bench", description=__doc__.split("\n")[0])
    p.add_argument("--version", action="version", version=__version__)
    sub = p.add_subparsers(dest="command", required=True)

    def command(name: str, run, help: str, rows: bool = True) -> argparse.ArgumentParser:
        c = sub.add_parser(name, help=help, description=help)
        c.set_defaults(run=run)
        if rows:
            c.add_argument(
                "--set-aside",
                metavar="FILE",
                help="copy lines that are not rows to this new file and go on",
            )
            c.add_argument(
                "--allow-unchecked",
                action="store_true",
                help="count times whose result was never checked against fp64",
            )
        return c

    def building(c: argparse.ArgumentParser) -> None:
        c.add_argument("inputs", nargs="+", metavar="INPUT")
        c.add_argument(
            "--train-gpus",
            metavar="A,B",
            help="train the selector on these, judge it on the others (study: A100,H100)",
        )
        c.add_argument("-o", "--output", metavar="FILE", help="default: standard output")

    for name, run, help in (
        ("report", cmd_report, "rows (or a study document) to one self-contained HTML file"),
        ("document", cmd_document, "rows to the study's document (JSON)"),
    ):
        c = command(name, run, help)
        building(c)
        c.add_argument("--base", default=SPEEDUP_BASE, help="speed-ups are relative to this one")
        if name == "report":
            c.add_argument("--title", help="heading of the report")
            c.add_argument(
                "--plain-js",
                action="store_true",
                help="inline plotly uncompressed (4.8 MB) for browsers before 2023",
            )

    c = command("compare", cmd_compare, "two row files: ratios, intervals, verdicts")
    c.add_argument("a")
    c.add_argument("b")
    c.add_argument(
        "--fail-below",
        type=float,
        metavar="RATIO",
        help="exit 7 when a slower cell's speed ratio b/a is below this",
    )
    c.add_argument("--margin", type=float, default=0.02, help="least effect that is a difference")
    c.add_argument("--all", action="store_true", help="print cells without a difference too")
    c.add_argument("--json", action="store_true")

    building(command("select", cmd_select, "train the selector and export its tree (JSON)"))

    c = command("merge", cmd_merge, "shards or runs to one new row file")
    c.add_argument("inputs", nargs="+", metavar="ROWS")
    c.add_argument("-o", "--output", required=True, metavar="FILE")

    c = command("schema", cmd_schema, "print the JSON schema of a row", rows=False)
    c.add_argument("-o", "--output", metavar="FILE")
    return p


def main(argv: list[str] | None = None) -> int:
    args = parser().parse_args(argv)
    try:
        return args.run(args)
    except (RowError, InputError, ValueError) as e:
        _say(f"error: {e}")
        return EXIT_INPUT
    except FileExistsError as e:
        _say(f"error: {e.filename} exists; row files are never overwritten: name a new one")
        return EXIT_INPUT
    except OSError as e:
        _say(f"error: {e.filename}: {e.strerror}")
        return EXIT_INPUT
