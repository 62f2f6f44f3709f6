"""A worker for tests: behaves, crashes or hangs by the implementation's name."""

import json
import os
import signal
import sys
import time

handles = 0
for line in sys.stdin:
    r = json.loads(line)
    if r["op"] == "prepare":
        impl = r["impl"]
        if impl == "crash":
            print("Traceback: something broke", file=sys.stderr, flush=True)
            os.kill(os.getpid(), signal.SIGSEGV)
        if impl == "exit":
            print("ModuleNotFoundError: no such thing", file=sys.stderr, flush=True)
            sys.exit(3)
        if impl == "hang":
            time.sleep(1000)
        if impl == "garbage":
            print("hello", flush=True)
            continue
        if impl == "unsupported":
            print(
                json.dumps({"ok": False, "status": "UNSUPPORTED", "reason": "no torch"}), flush=True
            )
            continue
        if impl == "oom":
            print(json.dumps({"ok": False, "status": "OOM", "reason": "full"}), flush=True)
            continue
        if impl == "protocol":
            print(json.dumps({"ok": True}), flush=True)
            continue
        handles += 1
        if r["output"] and impl != "nooutput":
            with open(r["output"], "wb") as f:
                f.write(b"result of " + impl.encode())
        kernels = [{"name": "void pytorch_flash::flash_fwd_kernel<int>(int)"}]
        print(
            json.dumps(
                {
                    "ok": True,
                    "handle": handles,
                    "setup_us": 5.5,
                    "peak_mib": 12.5,
                    "kv_expanded": False,
                    "versions": {"torch": "9"},
                    "dispatch": {"kernels": kernels, "intended": "pytorch-flash"},
                }
            ),
            flush=True,
        )
    elif r["op"] == "sample":
        if r["handle"] > handles:
            answer = {"ok": False, "status": "ERROR", "reason": "unknown handle"}
        else:
            answer = {"ok": True, "us": [float(os.getpid())] * r["count"]}
        print(json.dumps(answer), flush=True)
    else:
        print(json.dumps({"ok": True}), flush=True)
