"""A headless Chromium driven over its debugging pipe: enough to open a page, see what its console
says, run scripts in it and take screenshots. Not a test framework; needs no package beyond Python's
own."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")


def find() -> str | None:
    """$ATTNC_CHROMIUM, or the first Chromium on the path; None when there is none."""
    given = os.environ.get("ATTNC_CHROMIUM")
    return given or next((p for p in map(shutil.which, NAMES) if p), None)


class Page:
    """One tab. `errors` collects console errors, warnings and uncaught exceptions, `requests` every
    URL asked for that is not the page itself. Name resolution always fails: the page is offline."""

    def __init__(self, program: str, width: int, height: int, dark: bool = False):
        self._profile = tempfile.TemporaryDirectory(
            prefix="attnc-chromium-", ignore_cleanup_errors=True
        )
        to_child, self._out = os.pipe()
        self._in, from_child = os.pipe()

        def wire() -> None:
            # The browser reads commands from descriptor 3 and answers on 4.
            a, b = os.dup(to_child), os.dup(from_child)
            os.dup2(a, 3)
            os.dup2(b, 4)

        self._process = subprocess.Popen(
            [
                program,
                "--headless=new",
                "--no-sandbox",
                "--disable-gpu",
                "--no-first-run",
                "--disable-dev-shm-usage",
                "--disable-extensions",
                "--remote-debugging-pipe",
                "--host-resolver-rules=MAP * ~NOTFOUND",
                f"--user-data-dir={self._profile.name}",
            ],
            preexec_fn=wire,
            close_fds=False,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_child)
        os.close(from_child)
        self._buffer = b""
        self._next = 0
        self._session: str | None = None
        self.errors: list[str] = []
        self.requests: list[str] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)[
            "sessionId"
        ]
        for domain in ("Runtime", "Log", "Page", "Network"):
            self.call(f"{domain}.enable")
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 640,
        )
        self.call(
            "Emulation.setEmulatedMedia",
            features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}],
        )

    def _read(self, deadline: float) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._in], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                raise TimeoutError("the browser did not answer in time")
            chunk = os.read(self._in, 1 << 16)
            if not chunk:
                raise RuntimeError(f"the browser ended with status {self._process.wait()}")
            self._buffer += chunk
        message, self._buffer = self._buffer.split(b"\0", 1)
        return json.loads(message)

    def _event(self, message: dict[str, Any]) -> None:
        params = message.get("params", {})
        if message["method"] == "Runtime.consoleAPICalled" and params["type"] not in (
            "debug",
            "info",
        ):
            words = [str(a.get("value", a.get("description"))) for a in params["args"]]
            self.errors.append(f"console.{params['type']}: {' '.join(words)}")
        elif message["method"] == "Runtime.exceptionThrown":
            details = params["exceptionDetails"]
            self.errors.append(details.get("exception", {}).get("description", details["text"]))
        elif message["method"] == "Log.entryAdded" and params["entry"]["level"] != "verbose":
            self.errors.append(f"log: {params['entry']['text']}")
        elif message["method"] == "Network.requestWillBeSent":
            url = params["request"]["url"]
            if not url.startswith(("data:", "blob:", "about:")):
                self.requests.append(url)

    def call(self, method: str, timeout: float = 60, **params: Any) -> dict[str, Any]:
        """One command of the DevTools protocol; raises when it fails or does not answer."""
        self._next += 1
        message: dict[str, Any] = {"id": self._next, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + timeout
        while True:
            got = self._read(deadline)
            if got.get("id") == self._next:
                if "error" in got:
                    raise RuntimeError(f"{method}: {got['error']['message']}")
                return got["result"]
            if "method" in got:
                self._event(got)

    def run(self, script: str) -> Any:
        """The value of an expression (a promise is awaited); raises when it throws."""
        got = self.call(
            "Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True
        )
        if "exceptionDetails" in got:
            raise RuntimeError(got["exceptionDetails"]["exception"]["description"])
        return got["result"].get("value")

    def open(self, url: str, until: str, timeout: float = 60) -> None:
        """Go to `url` and wait until the expression `until` holds."""
        self.call("Page.navigate", url=url)
        end = time.monotonic() + timeout
        while not self.run(f"Boolean(document.body && ({until}))"):
            if time.monotonic() > end:
                raise TimeoutError(f"{until} did not come true; console: {self.errors}")
            time.sleep(0.1)

    def screenshot(self, path: str) -> None:
        """The whole page, not only the window, as PNG."""
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
        got = self.call("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)
        with open(path, "wb") as f:
            f.write(base64.b64decode(got["data"]))

    def close(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._in)
        os.close(self._out)
        self._profile.cleanup()

    def __enter__(self) -> Page:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
