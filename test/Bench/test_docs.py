"""docs/Benchmarking.md: its commands are run, its examples validated, its scripts parsed."""

import json
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from attnc_bench import rows, selector
from attnc_bench.cli import main
from factory import row

DOC = Path(__file__).resolve().parents[2] / "docs" / "Benchmarking.md"


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```", DOC.read_text(encoding="utf-8"), re.S | re.M)


def write_shards(folder):
    """Three shards of four rows; the second ends inside a line, the third was copied."""
    for k, n in enumerate((512, 1024, 2048)):
        lines = [
            json.dumps(row(n / 10 * f, impl, rep=rep, N=n, shard=f"{k}/3"))
            for rep in (0, 1)
            for impl, f in (("D5-attnc", 1.0), ("D2-sdpa", 1.2))
        ]
        (folder / f"rows.{k}.jsonl").write_text("\n".join(lines) + "\n")
    with open(folder / "rows.1.jsonl", "a") as f:
        f.write(json.dumps(row(N=1024, rep=2))[:120])
    shutil.copy(folder / "rows.2.jsonl", folder / "rows.2.copy.jsonl")
    shutil.copy(folder / "rows.0.jsonl", folder / "before.jsonl")


def test_commands_do_what_the_page_shows(tmp_path, monkeypatch, capsys):
    write_shards(tmp_path)
    monkeypatch.chdir(tmp_path)
    ran = 0
    for block in blocks("console"):
        shown = re.split(r"^\$ ", block, flags=re.M)[1:]
        for entry in shown:
            command, _, output = entry.partition("\n")
            words = shlex.split(command)
            assert words[:3] == ["python", "-m", "attnc_bench"], command
            assert main(words[3:]) == 0, (command, capsys.readouterr().err)
            said = capsys.readouterr()
            for line in filter(None, output.splitlines()):
                assert line in said.err + said.out, (command, line, said.err)
            ran += 1
    assert ran == 7
    for made in ("report.html", "all.html", "document.json", "selector.json"):
        assert (tmp_path / made).stat().st_size > 500


def test_example_row_and_selector_are_valid():
    example, tree = blocks("json")
    rows.validate(json.loads(example))
    tree = json.loads(tree)
    assert (tree["format"], tree["version"]) == (selector.FORMAT, selector.FORMAT_VERSION)
    assert tree["features"] == selector.FEATURES
    assert selector.walk(tree, [1, 13, 0, 4, 4000, 132]) == ["D5-attnc", "D4-flashinfer"]


def test_every_field_of_the_schema_is_explained():
    text = DOC.read_text(encoding="utf-8")
    for name in rows.schema()["properties"]:
        assert f"`{name}`" in text, name
    for name in rows.CONFIG_KEYS:
        assert f"`{name}`" in text, name
    for status in rows.STATUSES:
        assert status in text


@pytest.mark.parametrize("script", blocks("sh"))
def test_shell_scripts_parse(script):
    subprocess.run(["bash", "-n"], input=script.encode(), check=True)
