"""Debian's headless Chromium, by the W3C WebDriver protocol of its chromedriver."""

from __future__ import annotations

import base64
import json
import re
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CHROMIUM, DRIVER = Path("/usr/bin/chromium"), Path("/usr/bin/chromedriver")
ARGUMENTS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    # Any look-up of a name fails: a page that needs a network shows it.
    "--host-resolver-rules=MAP * ~NOTFOUND",
)
TAB = "\ue004"


@dataclass(frozen=True)
class Browser:
    session: str
    """Address of the session."""

    def open(self, page: Path) -> None:
        self._post("url", {"url": page.as_uri()})

    def run(self, script: str) -> Any:
        return self._post("execute/sync", {"script": script, "args": []})

    def wait(self, script: str) -> Any:
        """What a script hands to the function that is its last argument."""
        return self._post("execute/async", {"script": script, "args": []})

    def resize(self, width: int, height: int) -> None:
        """The size of the page itself; a window is never narrower than 500 pixels."""
        parameters = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self._devtools("Emulation.setDeviceMetricsOverride", parameters)

    def prefer(self, scheme: str) -> None:
        """`dark` or `light`."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self._devtools("Emulation.setEmulatedMedia", {"features": features})

    def press(self, key: str) -> None:
        keys = [{"type": "keyDown", "value": key}, {"type": "keyUp", "value": key}]
        self._post("actions", {"actions": [{"type": "key", "id": "keys", "actions": keys}]})

    def messages(self) -> list[str]:
        """Of the console since it was last asked."""
        return [entry["message"] for entry in self._post("se/log", {"type": "browser"})]

    def picture(self) -> bytes:
        """PNG of what the window shows."""
        return base64.b64decode(call("GET", f"{self.session}/screenshot", None))

    def _devtools(self, command: str, parameters: dict[str, Any]) -> None:
        self._post("goog/cdp/execute", {"cmd": command, "params": parameters})

    def _post(self, command: str, body: dict[str, Any]) -> Any:
        return call("POST", f"{self.session}/{command}", body)


def call(method: str, address: str, body: dict[str, Any] | None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(
        address, data=data, method=method, headers={"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)["value"]


@contextmanager
def browser(profile: Path) -> Iterator[Browser]:
    """A new one, with an empty profile in the folder; it and its driver end with the block."""
    driver = subprocess.Popen([DRIVER, "--port=0"], stdout=subprocess.PIPE, text=True)
    try:
        assert driver.stdout is not None
        lines = (re.search(r"started successfully on port (\d+)", line) for line in driver.stdout)
        port = next(found[1] for found in lines if found is not None)
        options = {
            "binary": str(CHROMIUM),
            "args": [*ARGUMENTS, f"--user-data-dir={profile}"],
        }
        wanted = {
            "browserName": "chrome",
            "goog:chromeOptions": options,
            "goog:loggingPrefs": {"browser": "ALL"},
        }
        address = f"http://127.0.0.1:{port}/session"
        made = call("POST", address, {"capabilities": {"alwaysMatch": wanted}})
        session = f"{address}/{made['sessionId']}"
        yield Browser(session)
        call("DELETE", session, None)
    finally:
        driver.terminate()
        driver.wait()
        if driver.stdout is not None:
            driver.stdout.close()
