#!/bin/sh
# Runs pytest in this directory with the interpreter that has the analysis packages:
# $ATTNC_PYTHON, else the checkout's .venv, else python3.
cd "$(dirname "$0")" || exit 1
venv=../../.venv/bin/python
[ -x "$venv" ] || venv=python3
exec "${ATTNC_PYTHON:-$venv}" -m pytest -q -rs -p no:cacheprovider "$@"
