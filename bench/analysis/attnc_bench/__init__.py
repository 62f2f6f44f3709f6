"""attn-bench's analysis: measured rows -> the study's document -> report, comparison, selector.

Nothing here measures anything; the measuring core writes the rows (see rows.py for their schema).
"""

__version__ = "0.1.0"
