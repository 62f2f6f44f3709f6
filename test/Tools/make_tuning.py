"""Prints a tuning store with an entry for the problem of an `attnc explain --json`, after one of
another problem: make_tuning.py EXPLANATION TARGET CONFIG."""
import json
import sys

key = json.load(open(sys.argv[1]))[0]["tuning_key"]
for k, config in (("0" * 64, "block_m=128"), (key, sys.argv[3])):
    print(json.dumps({"tuning": 1, "key": k, "target": sys.argv[2], "config": config, "device": "Test",
                      "time": "2026-01-01T00:00:00Z", "ratio": 0.9, "evidence": {}}))
