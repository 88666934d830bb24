"""A headless Chromium, told what to do through a pipe (Chrome's DevTools protocol)."""

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import unittest

FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking",
         "--disable-component-update", "--disable-sync", "--no-first-run", "--remote-debugging-pipe"]


class Browser:
    def __enter__(self):
        program = shutil.which("chromium") or shutil.which("chromium-browser")
        if not program:
            raise unittest.SkipTest("chromium is not here (package chromium)")
        self.profile = tempfile.TemporaryDirectory(dir="/tmp")
        their_in, self.to = os.pipe()
        self.answers, their_out = os.pipe()
        # It reads from descriptor 3 and writes to 4.
        self.process = subprocess.Popen(
            ["bash", "-c", f'exec "$@" 3<&{their_in} 4>&{their_out}', "chromium", program, *FLAGS,
             f"--user-data-dir={self.profile.name}", "about:blank"],
            pass_fds=(their_in, their_out), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(their_in)
        os.close(their_out)
        self.rest = b""
        self.last = 0
        self.session = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.call("Page.enable")
        return self

    def __exit__(self, *_):
        self.session = None
        self.send("Browser.close")
        try:
            self.process.wait(timeout=60)
        finally:
            if self.process.poll() is None:
                self.process.kill()
                self.process.wait()
            os.close(self.to)
            os.close(self.answers)
            self.profile.cleanup()

    def send(self, method, **parameters):
        self.last += 1
        message = {"id": self.last, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        return self.last

    def receive(self, limit=120):
        while b"\0" not in self.rest:
            if not select.select([self.answers], [], [], limit)[0]:
                raise AssertionError(f"chromium has said nothing for {limit} s")
            read = os.read(self.answers, 1 << 20)
            if not read:
                raise AssertionError("chromium ended")
            self.rest += read
        message, self.rest = self.rest.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, **parameters):
        number = self.send(method, **parameters)
        while True:
            message = self.receive()
            if message.get("id") == number:
                if "error" in message:
                    raise AssertionError(f"{method}: {message['error']}")
                return message["result"]

    def open(self, url, width, height, dark=False):
        """Shows `url` in a window of this size, and returns when all of it is there."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        number = self.send("Page.navigate", url=url)
        answered = loaded = False
        while not (answered and loaded):
            message = self.receive()
            if message.get("id") == number:
                if message.get("result", {}).get("errorText"):
                    raise AssertionError(f"{url}: {message['result']['errorText']}")
                answered = True
                # Another place of the same page: nothing is loaded.
                loaded |= "loaderId" not in message["result"]
            loaded |= message.get("method") == "Page.loadEventFired"

    def evaluate(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in result:
            raise AssertionError(result["exceptionDetails"])
        return result["result"].get("value")

    def screenshot(self, path):
        data = self.call("Page.captureScreenshot", format="png")["data"]
        path.write_bytes(base64.b64decode(data))
