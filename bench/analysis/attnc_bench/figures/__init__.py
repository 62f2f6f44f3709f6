"""The report's figures as plotly specifications, built from the study document.

A figure is {id, title, group, height, views} and may have `key`, [name, colour] pairs of a static
legend, and `note`, words beside the title. A view is {name, data, layout}. Colours that depend on
the theme are tokens ("@ink", "@grid", "@seq", "@div") which the page resolves. A trace of an
implementation carries its id in `meta`, so that one legend rules all panels of a group. Nothing is
drawn here.
"""

from .bars import dispatch, failures, regret, winner_bars
from .lines import decode_curves, gqa, pages, prefill_curves, roofline
from .maps import coverage, flip_matrix, speedups, winner_map
from .palette import everyone, slug, style

__all__ = [
    "coverage",
    "decode_curves",
    "dispatch",
    "everyone",
    "failures",
    "flip_matrix",
    "gqa",
    "pages",
    "prefill_curves",
    "regret",
    "roofline",
    "slug",
    "speedups",
    "style",
    "winner_bars",
    "winner_map",
]
