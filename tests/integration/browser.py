"""Headless Chromium, driven through its DevTools pipe with the standard library alone: open a file, run script in it, take a picture, and
hear of everything that it complains about or tries to fetch."""
import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

WAIT_S = 60


def program():
    """Where Chromium is, or None."""
    return next((path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None)


class Browser:
    def __init__(self, where, nice=0):
        self.profile = tempfile.mkdtemp(prefix="vq-browser-", dir=where)
        to_child, self.out = os.pipe()
        self.inn, from_child = os.pipe()
        held = [os.open(os.devnull, os.O_RDONLY)]
        while held[-1] < 5:  # 3 and 4 are taken here, so that they are free to be replaced in the child
            held.append(os.dup(held[-1]))
        ends = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 20) for fd in (to_child, from_child)]

        def place():
            os.dup2(ends[0], 3)
            os.dup2(ends[1], 4)
            os.nice(nice)

        self.process = subprocess.Popen(
            [program(), "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
             "--disable-background-networking", "--disable-component-update", "--hide-scrollbars", "--remote-debugging-pipe",
             f"--user-data-dir={self.profile}", "about:blank"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, close_fds=False, preexec_fn=place)
        for fd in [to_child, from_child, *ends, *held]:
            os.close(fd)
        self.buffer = b""
        self.last = 0
        self.session = None
        self.events = []
        self.session = self.window()

    def window(self):
        """Opens a window of its own, which a person would see; set `session` to it to work with it."""
        self.session = None
        target = self.call("Target.createTarget", url="about:blank", newWindow=True)["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network", "Security"):
            self.call(f"{domain}.enable")
        return self.session

    def read(self, seconds):
        deadline = time.monotonic() + seconds
        while b"\0" not in self.buffer:
            ready, _, _ = select.select([self.inn], [], [], max(0, deadline - time.monotonic()))
            if not ready:
                return None
            more = os.read(self.inn, 1 << 16)
            if not more:
                raise RuntimeError("chromium ended")
            self.buffer += more
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, **params):
        self.last += 1
        message = {"id": self.last, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.out, json.dumps(message).encode() + b"\0")
        while True:
            got = self.read(WAIT_S)
            if got is None:
                raise RuntimeError(f"chromium did not answer {method}")
            if got.get("id") == self.last:
                if "error" in got:
                    raise RuntimeError(f"{method}: {got['error']}")
                return got["result"]
            self.events.append(got)

    def wait_event(self, name):
        while True:
            for event in self.events:
                if event.get("method") == name:
                    return event["params"]
            got = self.read(WAIT_S)
            if got is None:
                raise RuntimeError(f"chromium did not say {name}")
            self.events.append(got)

    def open(self, url, width=1200, height=900, scheme="light", media=""):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)
        self.call("Emulation.setEmulatedMedia", media=media, features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.events = []
        self.call("Page.navigate", url=url)
        self.wait_event("Page.loadEventFired")

    def run(self, script):
        """The value of an expression in the page; a promise is awaited. Asked again if the page is replaced meanwhile."""
        until = time.monotonic() + WAIT_S
        while True:
            try:
                got = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
                break
            except RuntimeError as error:
                if "navigated" not in str(error) or time.monotonic() > until:
                    raise
                time.sleep(0.1)
        if "exceptionDetails" in got:
            raise RuntimeError(f"{script}: {got['exceptionDetails']}")
        return got["result"].get("value")

    def picture(self, path=None, clip=None):
        more = {"clip": {**clip, "scale": 1}} if clip else {}
        png = base64.b64decode(self.call("Page.captureScreenshot", format="png", captureBeyondViewport=bool(clip), **more)["data"])
        if path:
            with open(path, "wb") as file:
                file.write(png)
        return png

    def pdf(self):
        return base64.b64decode(self.call("Page.printToPDF", printBackground=True)["data"])

    def complaints(self):
        """Console messages, exceptions and log entries (a breach of the page's policy is one) since the page was opened."""
        self.call("Runtime.evaluate", expression="0")  # what was said before has come by then
        names = ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded")
        return [event["params"] for event in self.events if event.get("method") in names]

    def fetched(self):
        return [event["params"]["request"]["url"] for event in self.events if event.get("method") == "Network.requestWillBeSent"]

    def close(self):
        try:
            self.session = None
            self.call("Browser.close")
        except (OSError, RuntimeError):
            pass
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.out)
        os.close(self.inn)
        shutil.rmtree(self.profile, ignore_errors=True)
