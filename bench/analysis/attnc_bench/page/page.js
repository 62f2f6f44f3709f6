// Draws the figures, and makes legends, tabs, tables and theme work. The specifications come from
// figures.py; this file decides only how they look. body[data-state] ends as "ready" or "failed".
(async () => {
  "use strict";
  const root = document.documentElement, body = document.body;
  const $$ = (sel, from = document) => [...from.querySelectorAll(sel)];
  const figures = JSON.parse(document.getElementById("figures").textContent);

  const dark = matchMedia("(prefers-color-scheme: dark)");
  let forced = null;
  const setTheme = () => { root.dataset.theme = forced || (dark.matches ? "dark" : "light"); };
  setTheme();

  // Tables: numbers by data-v, missing values last in both directions.
  for (const table of $$("table.sortable")) {
    const heads = $$("th", table), rows = table.tBodies[0].rows;
    heads.forEach((th, column) => {
      if ([...rows].some((r) => r.cells[column].classList.contains("num"))) th.classList.add("num");
      th.firstChild.addEventListener("click", () => {
        const up = th.getAttribute("aria-sort") !== "ascending";
        heads.forEach((h) => h.removeAttribute("aria-sort"));
        th.setAttribute("aria-sort", up ? "ascending" : "descending");
        const key = (r) => {
          const v = r.cells[column].dataset.v;
          return v === undefined ? r.cells[column].textContent : v === "" ? null : Number(v);
        };
        const sorted = [...rows].sort((a, b) => {
          const x = key(a), y = key(b);
          if (x === null || y === null) return (x === null) - (y === null);
          const numbers = typeof x === "number" && typeof y === "number";
          const order = numbers ? x - y : String(x).localeCompare(String(y));
          return up ? order : -order;
        });
        table.tBodies[0].append(...sorted);
      });
    });
  }

  const links = new Map($$("nav a").map((a) => [a.getAttribute("href").slice(1), a]));
  const watch = new IntersectionObserver((seen) => {
    for (const e of seen) if (e.isIntersecting) {
      links.forEach((a, id) => a.classList.toggle("here", id === e.target.id));
    }
  }, { rootMargin: "-15% 0px -75% 0px" });
  $$("section").forEach((s) => watch.observe(s));

  document.getElementById("save").addEventListener("click", () => {
    const a = document.createElement("a");
    const text = document.getElementById("document").textContent;
    const blob = new Blob([text], { type: "application/json" });
    a.href = URL.createObjectURL(blob);
    a.download = "attention-portability.json";
    a.click();
    setTimeout(() => URL.revokeObjectURL(a.href), 1000);
  });

  const fail = (why) => {
    body.dataset.state = "failed";
    const box = document.getElementById("trouble");
    box.textContent = "The plots could not be drawn: " + why + " The tables are complete.";
    box.hidden = false;
  };

  // plotly.js comes gzip-compressed; browsers since 2023 unpack it themselves.
  const packed = document.getElementById("plotly-packed");
  if (packed) {
    if (typeof DecompressionStream === "undefined") {
      fail("this browser cannot unpack them; write the report with --plain-js.");
      return;
    }
    const bytes = Uint8Array.from(atob(packed.textContent), (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    const script = document.createElement("script");
    script.textContent = await new Response(stream).text();
    document.head.append(script);
    packed.remove();
  }
  if (typeof Plotly === "undefined") { fail("plotly is missing."); return; }

  const color = (name) => getComputedStyle(root).getPropertyValue("--" + name).trim();
  const scales = () => ({
    "@seq": [[0, color("seq0")], [1, color("seq1")]],
    "@div": [[0, color("div0")], [0.5, color("div1")], [1, color("div2")]],
    "@cover": [[0, color("div0")], [0.5, "#a9782a"], [1, color("div2")]],
  });
  // Replaces theme tokens ("@ink", "@seq") by colours, everywhere in a specification.
  const resolve = (value, table) => {
    if (typeof value === "string" && value[0] === "@") return table[value] || color(value.slice(1));
    if (Array.isArray(value)) {
      // Number arrays hold no tokens.
      const numbers = value.length && typeof value[0] === "number";
      return numbers ? value : value.map((v) => resolve(v, table));
    }
    if (value && typeof value === "object") {
      return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, resolve(v, table)]));
    }
    return value;
  };

  const hidden = {};           // group -> set of hidden implementations
  const view = {};             // group -> name of the view shown

  const axis = (own) => ({
    gridcolor: color("grid"), zerolinecolor: color("grid"), linecolor: color("faint"),
    automargin: Boolean(own && own.type === "category"), fixedrange: true, ticks: "", ...own,
    tickfont: { size: 11, color: color("soft") },
    title: own && own.title
      ? { ...own.title, standoff: 8, font: { size: 12, color: color("soft") } } : undefined,
  });

  const draw = (fig) => {
    const chosen = fig.views.find((v) => v.name === view[fig.group]) || fig.views[0];
    const table = scales();
    const gone = hidden[fig.group] || new Set();
    const data = resolve(chosen.data, table).map((t) => {
      const trace = { ...t };
      if (t.meta && gone.has(t.meta)) trace.visible = false;
      return trace;
    });
    const { xaxis, yaxis, ...rest } = resolve(chosen.layout, table);
    const layout = {
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      font: { family: getComputedStyle(body).fontFamily, size: 12, color: color("ink") },
      margin: { l: 54, r: 16, t: 10, b: xaxis && xaxis.title ? 46 : 28 }, hovermode: "closest",
      hoverlabel: { bgcolor: color("panel"), bordercolor: color("faint"),
        font: { color: color("ink"), size: 12 } },
      showlegend: false, ...rest, xaxis: axis(xaxis), yaxis: axis(yaxis),
    };
    return Plotly.react("plot-" + fig.id, data, layout,
      { displayModeBar: false, responsive: true, doubleClick: false });
  };

  const drawGroup = (group) => Promise.all(figures.filter((f) => f.group === group).map(draw));

  for (const bar of $$(".tabs")) {
    const buttons = $$("button", bar);
    view[bar.dataset.group] = buttons[0].dataset.view;
    for (const b of buttons) b.addEventListener("click", () => {
      buttons.forEach((o) => o.setAttribute("aria-pressed", String(o === b)));
      view[bar.dataset.group] = b.dataset.view;
      drawGroup(bar.dataset.group);
    });
  }

  for (const bar of $$(".legend")) {
    const group = bar.dataset.group, chips = $$("button.chip", bar);
    const gone = hidden[group] = new Set();
    const show = () => {
      chips.forEach((c) => c.setAttribute("aria-pressed", String(!gone.has(c.dataset.impl))));
      drawGroup(group);
    };
    for (const chip of chips) {
      const impl = chip.dataset.impl;
      chip.addEventListener("click", () => {
        if (!gone.delete(impl)) gone.add(impl);
        show();
      });
      chip.addEventListener("dblclick", () => {
        const others = chips.map((c) => c.dataset.impl).filter((i) => i !== impl);
        const alone = !gone.has(impl) && others.every((i) => gone.has(i));
        gone.clear();
        if (!alone) others.forEach((i) => gone.add(i));
        show();
      });
    }
  }

  const redraw = () => Promise.all(figures.map(draw));
  document.getElementById("theme").addEventListener("click", () => {
    forced = root.dataset.theme === "dark" ? "light" : "dark";
    setTheme();
    redraw();
  });
  dark.addEventListener("change", () => { setTheme(); redraw(); });

  try {
    for (const fig of figures) {
      await draw(fig);
      await new Promise((next) => setTimeout(next));   // lets the page scroll while it draws
    }
    body.dataset.state = "ready";
  } catch (e) {
    console.error(e);
    fail(String(e && e.message || e));
  }
})();
