#!/bin/sh
# Runs pytest in this directory with the interpreter that has numpy and pytest: $ATTNC_PYTHON, else the
# checkout's .venv (made by ./dev setup), else python3. Arguments are pytest's.
cd "$(dirname "$0")" || exit 1
venv=../../.venv/bin/python
[ -x "$venv" ] || venv=python3
# Small matrices gain nothing from more threads, and ctest runs several of these side by side.
export OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1
exec "${ATTNC_PYTHON:-$venv}" -m pytest -q -rs -p no:cacheprovider "$@"
