"""One cold load in a headless Chromium, watched over the DevTools protocol by its pipe.

A new process with a new profile each time, so caches, connections and answers of the resolver are all
cold. Nothing is intercepted and no name is resolved for it: only then is what it does with a blocked
name its own. Called by run.py.
"""

import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

from waterfall import Waterfall

CHROMIUM = os.environ.get("CHROMIUM_BIN", "chromium")
QUIET_S = 1.0  # without a network event, after which a page is finished: no page pauses longer between two tries
CAP_S = 30.0
STILL_S = 1.5  # without this program being run, a load's times are the machine's, not the page's
START_S = 60.0
STAYS_OPEN = {"EventSource", "WebSocket"}  # nobody waits for these to end
FLAGS = ["--headless=new", "--no-sandbox", "--remote-debugging-pipe", "--disable-gpu", "--no-first-run",
         "--disable-background-networking", "--disable-component-update", "--disable-default-apps",
         "--disable-sync", "--disable-extensions", "--disable-quic", "--mute-audio", "--window-size=1280,900",
         "--no-default-browser-check", "--disable-features=Translate,OptimizationHints,MediaRouter"]
# Its own mount namespace gives it the resolver of the mode; the pipe's ends must be 3 and 4.
WRAP = 'mount --bind "$1" /etc/resolv.conf; in=$2; out=$3; shift 3; eval "exec \\"\\$@\\" 3<&$in 4>&$out"'
PAINT = """new PerformanceObserver(function (list) {
  list.getEntries().forEach(function (it) { window.__largest = it.startTime; });
}).observe({ type: 'largest-contentful-paint', buffered: true });"""
TIMES = """(function () {
  var it = performance.getEntriesByType('navigation')[0], marks = {};
  performance.getEntriesByType('mark').forEach(function (mark) { marks[mark.name] = mark.startTime; });
  return JSON.stringify({ dcl: it.domContentLoadedEventEnd, load: it.loadEventEnd, lcp: window.__largest || 0,
    marks: marks });
})()"""


class Trouble(RuntimeError):
    """The browser did not do what every browser does: the load does not count."""


class Pipe:
    """JSON messages ended by NUL, over two file descriptors."""

    def __init__(self, reading, writing):
        self.reading, self.writing, self.rest, self.number = reading, writing, b"", 0
        self.answers, self.events = {}, []

    def send(self, method, session=None, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if session:
            message["sessionId"] = session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.writing, data):]
        return self.number

    def pump(self, seconds):
        """Reads what comes within that time, at most once; whether anything came."""
        if not select.select([self.reading], [], [], seconds)[0]:
            return False
        data = os.read(self.reading, 1 << 20)
        if not data:
            raise Trouble("the browser ended")
        *whole, self.rest = (self.rest + data).split(b"\0")
        for one in map(json.loads, whole):
            if "id" in one:
                self.answers[one["id"]] = one
            else:
                self.events.append(one)
        return True

    def ask(self, method, session=None, **params):
        number, until = self.send(method, session, **params), time.monotonic() + START_S
        while number not in self.answers:
            if time.monotonic() > until:
                raise Trouble(f"no answer to {method}")
            self.pump(1)
        answer = self.answers.pop(number)
        if "error" in answer:
            raise Trouble(f"{method}: {answer['error']['message']}")
        return answer["result"]


class Watch:
    """What the page's targets tell: requests, failures, complaints. Times are the browser's."""

    def __init__(self, pipe):
        self.pipe, self.begun, self.last, self.loaded = pipe, None, 0.0, False
        self.open, self.urls, self.failed, self.complaints, self.refused = {}, {}, [], [], None
        self.heard, self.trace = time.monotonic(), Waterfall()

    def attach(self, session):
        for domain in ("Network", "Log", "Runtime", "Page"):
            self.pipe.send(f"{domain}.enable", session)
        self.pipe.send("Target.setAutoAttach", session, autoAttach=True, waitForDebuggerOnStart=True, flatten=True)
        self.pipe.send("Runtime.runIfWaitingForDebugger", session)

    def take(self):
        events, self.pipe.events = self.pipe.events, []
        for it in events:
            self.trace.take(it["method"], it["params"])
            act = getattr(self, it["method"].replace(".", "_"), None)
            if act:
                act(it["params"])
            if it["method"].startswith("Network.") and "timestamp" in it["params"]:
                self.heard = time.monotonic()

    def Target_attachedToTarget(self, it):  # noqa: N802, as the protocol calls it; so below
        self.attach(it["sessionId"])

    def Page_loadEventFired(self, _):  # noqa: N802
        self.loaded = True

    def Network_requestWillBeSent(self, it):  # noqa: N802
        if self.begun is None:
            self.begun = it["timestamp"]
        self.urls[it["requestId"]] = it["request"]["url"]
        if it.get("type") not in STAYS_OPEN:
            self.open[it["requestId"]] = it["timestamp"]

    def Network_loadingFinished(self, it):  # noqa: N802
        self.ended(it)

    def Network_loadingFailed(self, it):  # noqa: N802
        if not it.get("canceled"):
            self.failed.append((self.urls.get(it["requestId"], "?"), it["errorText"]))
        self.ended(it)

    def ended(self, it):
        self.open.pop(it["requestId"], None)
        self.last = max(self.last, it["timestamp"])

    def Log_entryAdded(self, it):  # noqa: N802
        if it["entry"]["level"] == "error":
            self.complaints.append((it["entry"].get("url", ""), it["entry"]["text"]))

    def Runtime_consoleAPICalled(self, it):  # noqa: N802
        if it["type"] == "error":
            self.complaints.append(("", str(it["args"])[:200]))

    def Runtime_exceptionThrown(self, it):  # noqa: N802
        details = it["exceptionDetails"]
        self.complaints.append((details.get("url", ""), details.get("exception", {}).get("description", "")[:200]))

    def finished(self, waits):
        return self.loaded and not self.open and not waits and time.monotonic() - self.heard > QUIET_S


class Browser:
    def __init__(self, rig, home, mode):
        self.folder = Path(tempfile.mkdtemp(dir=rig.folder))
        resolver = self.folder / "resolv.conf"
        resolver.write_text(f"nameserver {rig.address[mode]}\n")
        profile_home = self.folder / "home"
        shutil.copytree(home, profile_home)
        child_in, ours_out = os.pipe()
        ours_in, child_out = os.pipe()
        self.process = subprocess.Popen(
            ["nsenter", f"--net=/run/netns/{rig.client}", "unshare", "--mount", "--propagation", "private",
             "bash", "-c", WRAP, "bash", resolver, str(child_in), str(child_out), CHROMIUM, *FLAGS,
             f"--user-data-dir={self.folder / 'profile'}", "about:blank"],
            pass_fds=(child_in, child_out), start_new_session=True, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env={**os.environ, "HOME": str(profile_home), "TMPDIR": str(self.folder)})
        os.close(child_in)
        os.close(child_out)
        self.ends = (ours_in, ours_out)
        self.pipe = Pipe(ours_in, ours_out)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        for end in self.ends:
            os.close(end)
        shutil.rmtree(self.folder, ignore_errors=True)

    def load(self, rig, url, waits_for):
        """Loads one page; the row for the table. `waits_for` is a mark of the page, or None."""
        pipe = self.pipe
        targets = pipe.ask("Target.getTargets")["targetInfos"]
        target = next(it["targetId"] for it in targets if it["type"] == "page")
        session = pipe.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        pipe.ask("Page.enable", session)
        pipe.ask("Page.addScriptToEvaluateOnNewDocument", session, source=PAINT)
        pipe.events.clear()
        watch = Watch(pipe)
        watch.attach(session)
        pipe.ask("Network.enable", session)
        # about:blank has loaded by now; from here on a load event is the page's.
        pipe.events.clear()
        rig.forget()
        refused = pipe.ask("Page.navigate", session, url=url).get("errorText")
        if refused:
            raise Trouble(f"{url}: {refused}")
        until, asked, ticked, waits = time.monotonic() + CAP_S, 0.0, time.monotonic(), waits_for
        while time.monotonic() < until:
            pipe.pump(0.1)
            if time.monotonic() - ticked > STILL_S:
                raise Trouble("the machine stood still")
            ticked = time.monotonic()
            watch.take()
            if watch.loaded and time.monotonic() - asked > 0.5:
                asked = time.monotonic()
                waits = waits_for and waits_for not in self.times(session)["marks"]
            if watch.loaded and watch.finished(waits):
                break
        if not watch.loaded:
            raise Trouble(f"{url}: not loaded within {CAP_S:.0f} s")
        times = self.times(session)
        return {"dcl": times["dcl"], "load": times["load"], "lcp": times["lcp"], "marks": times["marks"],
                "finish": (watch.last - watch.begun) * 1000, "requests": len(watch.urls),
                "failed": watch.failed, "complaints": watch.complaints, "wire": rig.counted(),
                "trace": watch.trace}

    def times(self, session):
        return json.loads(self.pipe.ask("Runtime.evaluate", session, expression=TIMES)["result"]["value"])
