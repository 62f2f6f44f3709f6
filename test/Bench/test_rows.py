"""Rows: schema, malformed JSONL, interrupted runs, duplicates, versions, merging."""

import json

import pytest
from attnc_bench import rows as R
from attnc_bench.cli import main
from factory import prefill, row


def test_valid_row_round_trips(jsonl, tmp_path):
    path = jsonl("a.jsonl", [row(rep=0), row(rep=1, status="UNSUPPORTED"), prefill()])
    got = R.read_rows([path])
    assert (len(got.rows), got.lines, got.notes) == (3, 3, [])
    out = tmp_path / "b.jsonl"
    assert R.write_rows(got.rows, out) == 3
    assert R.read_rows([out]).rows == got.rows


@pytest.mark.parametrize(
    "change, says",
    [
        (lambda r: r.pop("repeat"), "missing repeat"),
        (lambda r: r["config"].pop("hkv"), "config: missing hkv"),
        (lambda r: r["config"].update(regime="train"), 'config.regime: found "train", allowed'),
        (lambda r: r["config"].update(batch=0), "config.batch: found 0"),
        (lambda r: r["config"].update(hq=30), "hq 30 is not a multiple of hkv 8"),
        (lambda r: r.update(status="FAST"), 'status: found "FAST", allowed'),
        (lambda r: r.update(samples_us=[]), "samples_us"),
        (lambda r: r.update(samples_us="12"), 'samples_us: found "12", allowed type "array"'),
        (
            lambda r: r.update(median_us=90.0),
            "median_us 90.0 is not the median of samples_us, 100.0",
        ),
        (lambda r: r.update(median_us=None), "median_us None is not the median"),
        (lambda r: r["correctness"].update({"pass": False}), "such a row is INCORRECT"),
        (lambda r: r.update(status="OOM"), "missing reason"),
        (lambda r: r.update(shard="4/4"), "allowed i/n with i < n"),
        (lambda r: r.update(schema_version=9), "schema_version 9; this reader knows [1]; update"),
        (lambda r: r.pop("schema_version"), "schema_version None"),
        (lambda r: r.update(rep=-1), "rep: found -1"),
    ],
)
def test_what_is_wrong_is_named(change, says):
    bad = row()
    change(bad)
    with pytest.raises(ValueError) as e:
        R.validate(bad)
    assert says in str(e.value)


def test_malformed_lines_are_all_named_and_nothing_is_written(jsonl, capsys, tmp_path):
    path = jsonl(
        "a.jsonl",
        [
            row(rep=0),
            '{"schema_version": 1, "rep"',
            row(rep=1),
            "[1, 2]",
            "",
            row(rep=2, schema_version=7),
            json.dumps(row()) + json.dumps(row()),
        ],
    )
    before = path.read_bytes()
    out = tmp_path / "out.jsonl"
    assert main(["merge", str(path), "-o", str(out)]) == 2
    err = capsys.readouterr().err
    assert f"{path}:2: not JSON: column 28" in err
    assert f"{path}:4: found a JSON list; a row is an object" in err
    assert f"{path}:6: schema_version 7" in err
    assert f"{path}:7: not JSON: column" in err and "Extra data" in err
    assert not out.exists() and path.read_bytes() == before


def test_set_aside_keeps_every_line(jsonl, tmp_path):
    torn = '{"schema_version": 1, "rep"'
    path = jsonl("a.jsonl", [row(rep=0), torn, row(rep=1)])
    aside, out = tmp_path / "bad.jsonl", tmp_path / "out.jsonl"
    assert main(["merge", str(path), "-o", str(out), "--set-aside", str(aside)]) == 0
    assert len(out.read_text().splitlines()) == 2
    record = json.loads(aside.read_text())
    assert (record["line"], record["raw"], record["file"]) == (2, torn, str(path))
    # A second time the file exists, and is not written over.
    assert main(["merge", str(path), "-o", str(out) + "2", "--set-aside", str(aside)]) == 2


def test_row_files_are_never_overwritten(jsonl):
    a, b = jsonl("a.jsonl", [row()]), jsonl("b.jsonl", [row(rep=1)])
    assert main(["merge", str(a), "-o", str(b)]) == 2
    assert json.loads(b.read_text())["rep"] == 1


def test_truncated_last_line_is_skipped_with_a_note(jsonl):
    whole = json.dumps(row(rep=1))
    path = jsonl("a.jsonl", [row(rep=0), whole[: len(whole) // 2]], end="")
    got = R.read_rows([path])
    assert [r["rep"] for r in got.rows] == [0]
    assert len(got.notes) == 1
    assert f"{path}:2: last line is cut short" in got.notes[0]


def test_complete_last_line_without_newline_counts(jsonl):
    got = R.read_rows([jsonl("a.jsonl", [row(rep=0), row(rep=1)], end="")])
    assert len(got.rows) == 2 and got.notes == []


def test_truncated_line_in_the_middle_is_an_error(jsonl):
    # The newline after it shows that writing went on: not an interruption but damage.
    path = jsonl("a.jsonl", [row(rep=0), json.dumps(row(rep=1))[:40]], end="\n")
    with pytest.raises(R.RowError) as e:
        R.read_rows([path])
    assert [p.line for p in e.value.problems] == [2]


def test_not_utf8_names_the_line(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes(json.dumps(row()).encode() + b"\n\xff\xfe{}\n")
    with pytest.raises(R.RowError) as e:
        R.read_rows([path])
    assert e.value.problems[0].line == 2


def test_nan_samples_become_null_and_are_noted(jsonl):
    line = json.dumps(row([10.0, 12.0, None])).replace("null]", "NaN]")
    got = R.read_rows([jsonl("a.jsonl", [line])])
    assert got.rows[0]["samples_us"] == [10.0, 12.0, None]
    assert got.rows[0]["median_us"] == 11.0
    assert "samples without a number" in got.notes[0]
    line = json.dumps(row([12345.0])).replace("12345.0", "1e999")
    assert R.read_rows([jsonl("b.jsonl", [line])]).rows[0]["median_us"] is None


def test_duplicates(jsonl):
    a = row(100.0, rep=0)
    retried = row(90.0, rep=0)
    same = jsonl("same.jsonl", [a, row(rep=1)])
    again = jsonl("again.jsonl", [a])
    got = R.read_rows([same, again])
    assert len(got.rows) == 2 and got.lines == 3
    assert got.notes == ["1 duplicate rows with equal content were dropped"]

    log = jsonl("log.jsonl", [row(rep=0, status="ERROR"), retried])
    got = R.read_rows([log])
    assert [r["median_us"] for r in got.rows] == [90.0]
    assert "superseded" in got.notes[0]

    other = jsonl("other.jsonl", [retried])
    with pytest.raises(R.RowError) as e:
        R.read_rows([same, other])
    assert f"same repetition as {same}:1" in str(e.value) and f"{other}:1" in str(e.value)

    two_runs = jsonl("two.jsonl", [a, {**retried, "run_id": "r2"}])
    assert len(R.read_rows([two_runs]).rows) == 2


def test_page_size_null_and_absent_are_one_configuration():
    assert R.identity(row()) == R.identity(row(page_size=None))
    assert R.identity(row()) != R.identity(row(page_size=16))


def test_mixed_versions(jsonl, monkeypatch):
    old = {k: v for k, v in row(rep=1).items() if k != "repeat"}
    old |= {"schema_version": 0, "command": "attn-bench run"}
    path = jsonl("a.jsonl", [row(rep=0), old])
    with pytest.raises(R.RowError) as e:
        R.read_rows([path])
    assert "2: schema_version 0; this reader knows [1]" in str(e.value)

    def up(r):
        r = dict(r)
        return {**r, "repeat": r.pop("command"), "schema_version": 1}

    monkeypatch.setitem(R.UPGRADES, 0, up)
    got = R.read_rows([path])
    assert [r["repeat"] for r in got.rows][1] == "attn-bench run"
    assert got.notes == [f"{path}: 1 rows of schema version 0 read as 1"]


def test_schema_command_prints_what_is_validated(capsys):
    assert main(["schema"]) == 0
    published = json.loads(capsys.readouterr().out)
    assert published == R.schema()
    assert published["properties"]["schema_version"]["const"] == R.SCHEMA_VERSION
    assert tuple(published["properties"]["status"]["enum"]) == R.STATUSES
    assert set(R.CONFIG_KEYS) == set(published["properties"]["config"]["properties"])


def test_missing_file_and_empty_file(tmp_path, capsys):
    assert main(["document", str(tmp_path / "no.jsonl")]) == 2
    assert "no.jsonl: No such file" in capsys.readouterr().err
    empty = tmp_path / "empty.jsonl"
    empty.write_text("")
    assert main(["document", str(empty)]) == 2
    assert "no rows" in capsys.readouterr().err
