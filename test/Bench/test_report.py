"""The report: complete, offline, escaped; its figures are valid; and it works in a real browser."""

import json
import os
import re
from pathlib import Path

import browser
import pytest
from attnc_bench import figures, findings, report, tables
from attnc_bench.cli import main
from attnc_bench.document import build
from attnc_bench.rows import RowSet
from factory import prefill, row, rows_of_seed

SECTIONS = [
    "winners",
    "flips",
    "separation",
    "prefill",
    "speedup",
    "decode",
    "map",
    "gqa",
    "roofline",
    "selector",
    "dispatch",
    "correctness",
    "coverage",
    "provenance",
    "missing",
]


def small_world():
    rows = []
    for gpu, k in (("A100", 1.0), ("H100", 0.5)):
        for n in (512, 1024, 2048):
            for rep in range(3):
                t = k * n / 10 * (1 + rep / 100)
                rows += [
                    row(t, "D5-attnc", gpu, rep, N=n),
                    row(t * 1.3, "D2-sdpa", gpu, rep, N=n),
                    row(t * 3, "D5-attnc", gpu, rep, N=n, hkv=32),
                    row(t, "D5-attnc", gpu, rep, N=n, batch=32),
                    row(t * 1.1, "D5-attnc", gpu, rep, N=n, page_size=16),
                    prefill(
                        t * 9, "P5-attnc", gpu=gpu, rep=rep, N=n, memory={"measured_mib": n / 4}
                    ),
                    prefill(
                        t * 11,
                        "P2c-sdpa-flash",
                        gpu=gpu,
                        rep=rep,
                        N=n,
                        dispatch={"observed": "pytorch-flash"},
                    ),
                    prefill(t * 12, "my-kernel", gpu=gpu, rep=rep, N=n),
                ]
        rows.append(prefill(impl="P4h-fa3", gpu=gpu, status="UNSUPPORTED"))
    return build(RowSet(rows))


def every_figure(doc):
    return report.sections(doc)[1]


def test_all_sections_of_the_seed(seed):
    html = report.render(seed)
    for sid in SECTIONS:
        assert f'<section id="{sid}">' in html
    figs = every_figure(seed)
    groups = {f["group"] for f in figs}
    assert groups == {
        "winners-prefill",
        "winners-decode",
        "flip",
        "prefill",
        "speedup",
        "decode",
        "map",
        "gqa",
        "roofline",
        "regret",
        "dispatch",
        "coverage",
        "failures",
    }
    assert len(figs) == 45 and len({f["id"] for f in figs}) == 45
    for f in figs:
        assert f'id="plot-{f["id"]}"' in html
    assert len(html.encode()) < 3_000_000
    for text in seed["not_collected"]:
        assert text in html


def test_every_number_of_a_slice_is_in_the_figures(seed):
    figs = {f["id"]: f for f in every_figure(seed)}
    for gpu, impls in seed["prefill_tflops"].items():
        view = figs[f"prefill-{figures.slug(gpu)}"]["views"][0]
        assert {t["meta"]: (t["x"], t["y"]) for t in view["data"]} == {
            k: (c["x"], c["y"]) for k, c in impls.items()
        }


def test_headings_state_what_the_seed_says(seed):
    assert findings.headline(seed) == (
        "The best attention kernel on one GPU is not the best on another in 66% of prefill "
        "cells (46% "
        "where both leads are clear) and 61% of decode cells (25% where both leads are clear)."
    )
    assert findings.winners(seed).startswith(
        "Nobody wins everywhere: P2d-sdpa-cudnn wins 36% of prefill"
    )
    assert findings.pairs(seed).endswith("in up to 89% of cells (decode, A10 and RTX 5090)")
    assert findings.coverage(seed).startswith(
        "74% of 73,230 rows are OK; the rest is 16,326 UNSUPPORTED"
    )
    assert findings.prefill(seed) == "Prefill peaks at 664 TFLOP/s: P4h-fa3 on H100 at N 8192"
    assert findings.selector(seed).startswith(
        "A depth-4 tree loses 1.8% at the median and 33% at p95"
    )
    # L40 reads 2.1 MB x 32 in L2; its ceiling of 644 GB/s is exceeded far beyond L2 as well.
    assert (
        "21 of 384 points lie above the ceiling with K and V that fit L2"
        in findings.above_ceiling(seed)
    )


def test_headings_without_flips_or_pairs():
    small = small_world()
    assert findings.headline(small).endswith("is the best on every other, in all common cells.")
    assert findings.pairs(small) == "All GPUs have the same winner in every cell that they share"
    assert "in 100% of prefill" in findings.separation(small)
    one = build(RowSet([row(10.0), row(20.0, "D4-flashinfer")]))
    assert findings.title(one) == "Attention kernels on A100"
    assert findings.headline(one) == "On A100, SDPA (D2-sdpa) wins 1 of 1 decode cells."
    assert findings.pairs(one) == "One GPU: no pair to compare"


@pytest.mark.parametrize("make", ["seed", "small", "one", "failed"])
def test_figures_are_valid_plotly(make, request):
    go = pytest.importorskip("plotly.graph_objects")
    doc = {
        "seed": lambda: request.getfixturevalue("seed"),
        "small": small_world,
        "one": lambda: build(RowSet([row(10.0)])),
        "failed": lambda: build(RowSet([row(status="OOM")])),
    }[make]()
    text = json.dumps(every_figure(doc))
    text = re.sub(
        r'"@(seq|div|cover)"', '"Viridis"', re.sub(r'"@(ink|panel|grid|faint)"', '"#123"', text)
    )
    for f in json.loads(text):
        for v in f["views"]:
            go.Figure(data=v["data"], layout=v["layout"])


def test_needs_no_network(seed):
    html = report.render(seed)
    page = re.sub(r'<script type="application/gzip\+base64".*?</script>', "", html, flags=re.S)
    assert not re.search(r'(?:src|href)\s*=\s*"(?!#|data:)', page)
    assert "@import" not in page and "url(" not in page and "http" not in page


def test_text_from_rows_is_escaped():
    evil = "</script><img src=x onerror=alert(1)>"
    doc = build(RowSet([row(10.0, evil), row(20.0, "b", repeat=evil, versions={evil: evil})]))
    doc["not_collected"].append(evil)
    html = report.render(doc, title=evil)
    assert "<img src=x" not in html
    assert "&lt;img src=x onerror=alert(1)&gt;" in html
    assert html.count("</script>") == report.render(build(RowSet([row(10.0)]))).count("</script>")


def test_braces_in_data_are_not_template_keys():
    doc = build(RowSet([row(10.0, "{{CSS}}")]))
    assert "{{CSS}}" in report.render(doc)


def test_document_is_inside_and_intact(seed):
    html = report.render(seed)
    inside = re.search(r'id="document">(.*?)</script>', html, re.S)[1]
    assert json.loads(inside) == seed


def test_not_a_document():
    with pytest.raises(ValueError, match="not a study document: missing devices"):
        report.render({"headline": {}, "winners": {}})


def test_rule_in_words():
    assert tables.condition("log_len", "<=", 10.5) == "N ≤ 1,448"
    assert tables.condition("log_batch", ">", 1.5) == "batch > 2"
    assert tables.condition("is_decode", "<=", 0.5) == "prefill"
    assert tables.condition("bw_gbs", ">", 2356.25) == "read ceiling > 2,356 GB/s"
    tree = tables.rule_tree(
        "|--- is_decode <= 0.50\n|   |--- class: a\n|--- is_decode >  0.50\n|   |--- class: b\n"
    )
    assert re.sub("<[^>]*>", " ", tree).split() == ["prefill", "a", "decode", "b"]
    assert tree.count("<ul") == tree.count("</ul>") and tree.count("<li") == tree.count("</li>")


def test_report_command_takes_rows_and_documents(jsonl, tmp_path, capsys):
    rows = jsonl("a.jsonl", [row(10.0), row(20.0, "D4-flashinfer"), prefill(30.0)])
    doc, html, again = tmp_path / "d.json", tmp_path / "a.html", tmp_path / "b.html"
    assert main(["document", str(rows), "-o", str(doc)]) == 0
    assert main(["report", str(doc), "-o", str(html)]) == 0
    assert main(["report", str(rows), "-o", str(again)]) == 0
    assert html.read_text() == again.read_text()
    assert main(["report", str(doc), str(rows), "-o", str(html)]) == 2
    assert "takes one document, or rows only" in capsys.readouterr().err


# --- in a real browser -------------------------------------------------------------------------

READY = "document.body.dataset.state && document.body.dataset.state !== 'loading'"

DRAWN = """[...document.querySelectorAll(".plot")].filter(p =>
  p.classList.contains("js-plotly-plot") && p.querySelector(".main-svg") &&
  p.getBoundingClientRect().width > 100 &&
  p.querySelectorAll(".trace, .heatmaplayer image, .scatterlayer .js-line, .bars path").length > 0)
  .map(p => p.id)"""

# Every tab, heading and fold once, each legend's first chip off and on again, the theme there and
# back.
EXERCISE = """(async () => {
  const pause = (ms) => new Promise(r => setTimeout(r, ms));
  let clicks = 0;
  const click = async (b) => { b.click(); clicks++; await pause(20); };
  for (const b of document.querySelectorAll(".tabs button, th button, summary")) await click(b);
  for (const bar of document.querySelectorAll(".legend")) {
    const chip = bar.querySelector("button.chip");
    if (chip) { await click(chip); await click(chip); }
  }
  for (let i = 0; i < 2; i++) await click(document.getElementById("theme"));
  await pause(700);
  return clicks;
})()"""

# What the prefill panels of one GPU show: [names of visible traces, title of the vertical axis].
SHOWN = """(() => { const p = document.getElementById("plot-prefill-h100");
  const shown = p.data.filter(t => t.visible !== false);
  return [shown.map(t => t.meta), p.layout.yaxis.title.text]; })()"""


@pytest.fixture(scope="module")
def chromium():
    program = browser.find()
    if program is None:
        pytest.skip("no Chromium here; apt-get install chromium, or set ATTNC_CHROMIUM")
    return program


def check_in_browser(program, html: Path, width: int, name: str, dark: bool = False):
    expected = int(re.search(r'data-plots="(\d+)"', html.read_text())[1])
    with browser.Page(program, width, 900, dark) as page:
        page.open(html.as_uri(), READY)
        assert page.run("document.body.dataset.state") == "ready", page.errors
        drawn = page.run(DRAWN)
        assert len(drawn) == expected, set(
            page.run("[...document.querySelectorAll('.plot')].map(p => p.id)")
        ) - set(drawn)
        assert page.run("document.documentElement.dataset.theme") == ("dark" if dark else "light")
        assert page.run("document.documentElement.scrollWidth <= innerWidth")
        if os.environ.get("ATTNC_SCREENSHOTS"):
            page.screenshot(f"{os.environ['ATTNC_SCREENSHOTS']}/{name}.png")
        assert page.run(EXERCISE) > 5
        assert len(page.run(DRAWN)) == expected
        assert page.errors == []
        assert page.requests == [html.as_uri()]


@pytest.mark.parametrize("width, dark", [(1400, False), (390, False), (1400, True)])
def test_seed_report_in_chromium(chromium, seed, tmp_path, width, dark):
    html = tmp_path / "seed.html"
    html.write_text(report.render(seed), encoding="utf-8")
    check_in_browser(chromium, html, width, f"seed-{width}-{'dark' if dark else 'light'}", dark)


@pytest.mark.parametrize("make", ["small", "one", "failed"])
def test_reports_of_rows_in_chromium(chromium, tmp_path, make):
    doc = {
        "small": small_world,
        "one": lambda: build(RowSet([row(10.0)])),
        "failed": lambda: build(RowSet([row(status="OOM")])),
    }[make]()
    html = tmp_path / f"{make}.html"
    html.write_text(report.render(doc, compress=make != "one"), encoding="utf-8")
    check_in_browser(chromium, html, 1400, f"rows-{make}")


def test_rebuilt_seed_in_chromium(chromium, seed, tmp_path):
    html = tmp_path / "rebuilt.html"
    html.write_text(report.render(build(RowSet(rows_of_seed(seed)))), encoding="utf-8")
    check_in_browser(chromium, html, 1400, "rebuilt")


def test_legend_tabs_tables_and_theme_do_what_they_say(chromium, seed, tmp_path):
    html = tmp_path / "seed.html"
    html.write_text(report.render(seed), encoding="utf-8")
    chip = "document.querySelector('.legend[data-group=prefill] [data-impl=P4h-fa3]')"
    with browser.Page(chromium, 1400, 900) as page:
        page.open(html.as_uri(), READY)
        everyone, unit = page.run(SHOWN)
        assert unit == "TFLOP/s" and set(everyone) == set(seed["prefill_tflops"]["H100"])
        page.run(f"{chip}.click()")
        assert set(page.run(SHOWN)[0]) == set(everyone) - {"P4h-fa3"}
        assert page.run(f"{chip}.getAttribute('aria-pressed')") == "false"
        page.run(f"{chip}.click()")
        double = f"{chip}.dispatchEvent(new MouseEvent('dblclick'))"
        page.run(double)
        assert page.run(SHOWN)[0] == ["P4h-fa3"]
        page.run(double)
        assert page.run(SHOWN)[0] == everyone
        page.run("document.querySelector('.tabs[data-group=prefill] [data-view=Latency]').click()")
        assert page.run(SHOWN) == [everyone, "µs"]

        column = """(() => { const t = document.querySelector("#provenance table.sortable");
          t.querySelectorAll("th button")[6].click();
          return [...t.tBodies[0].rows].map(r => Number(r.cells[6].dataset.v)); })()"""
        up, down = page.run(column), page.run(column)
        assert up == sorted(d["bw_gbs"] for d in seed["devices"]) and down == up[::-1]

        ground = "getComputedStyle(document.body).backgroundColor"
        light = page.run(ground)
        page.run("document.getElementById('theme').click()")
        assert page.run(ground) != light
        assert page.errors == []
