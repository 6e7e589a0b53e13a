"""What is asked of a running gateway, and what is read off it. Answers are checked before each round."""

import http.client
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import patterns
from servers import Origin, Task

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import method  # noqa: E402
import process  # noqa: E402

SMALL, LARGE, CLIENTS = "/page.html", "/jquery.js", 64
SIZES = {SMALL: 102, LARGE: 89700}
SETTLED_SECONDS_MAX = 10
KEPT_SECONDS = 10 * 365 * 86400  # the date of the null origin's answers stands still
CPU_SECONDS_LEAST = 0.05  # five ticks of the clock that processors are billed by


class Wrong(RuntimeError):
    """A gateway answered what it should not, or not at all."""


@dataclass(frozen=True)
class Case:
    """One question. `wanted` is the share of the best of `rivals` that ours may take."""

    title: str
    path: str = SMALL
    blocked: patterns.Patterns | None = None
    is_clean: bool = False  # patterns are there, and no request meets one
    is_cached: bool = False
    is_new: bool = False  # a client connection each
    is_steady: bool = False  # at half of the slowest server's best rate, for everybody
    wanted: float | None = None
    rivals: tuple = ()

    @property
    def has_floor(self):
        """Whether the relay of bench/null does all that is asked: it keeps and refuses nothing."""
        return not (self.blocked or self.is_cached or self.is_new)


TEXTS = patterns.Patterns
CASES = {
    "pass": Case("pass, 102 bytes, kept connections", wanted=0.9, rivals=("nginx", "haproxy")),
    "pass-large": Case("pass, 89.7 kB, kept connections", LARGE, wanted=0.85, rivals=("nginx", "haproxy")),
    "pass-new": Case("pass, 102 bytes, a client connection each", is_new=True, wanted=0.85,
                     rivals=("nginx", "haproxy")),
    "pass-steady": Case("pass, 102 bytes, at half of the slowest server's best rate", is_steady=True),
    "block-10": Case("403, 10 patterns", blocked=TEXTS(10), wanted=0.9, rivals=("nginx",)),
    "block-1k": Case("403, 1,000 patterns", blocked=TEXTS(1000)),
    "block-100k": Case("403, 100,000 patterns", blocked=TEXTS(100_000)),
    "block-1m": Case("403, 1,000,000 patterns", blocked=TEXTS(1_000_000)),
    "regex-10k": Case("403, 10,000 regular expressions", blocked=TEXTS(10_000, "regex")),
    "clean-1k": Case("pass, 1,000 patterns of which none fits", blocked=TEXTS(1000), is_clean=True),
    "clean-100k": Case("pass, 100,000 patterns of which none fits", blocked=TEXTS(100_000), is_clean=True),
    "clean-regex": Case("pass, 1,000 regular expressions of which none fits", blocked=TEXTS(1000, "regex"),
                        is_clean=True),
    "cached": Case("hit in the cache, 102 bytes", is_cached=True, wanted=0.8, rivals=("varnish",)),
    "cached-large": Case("hit in the cache, 89.7 kB", LARGE, is_cached=True),
}
BLOCKS = ("block-10", "block-1k", "block-100k", "block-1m")
CHECKED_FLAT = 1.1  # blocking by a million patterns to blocking by ten
CHECKED_REGEX = 2.0


def get(port, path):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.request("GET", path, headers={"Host": "app.example"})
        answer = connection.getresponse()
        return answer.status, len(answer.read())
    finally:
        connection.close()


def asked(origin):
    """How many requests have come through to it."""
    connection = http.client.HTTPConnection("127.0.0.1", origin.port, timeout=5)
    connection.request("GET", "/asked")
    count = int(connection.getresponse().read())
    connection.close()
    return count


def settle(server, path, status):
    """Some listen before they can serve; what they then answer must be right."""
    until = time.monotonic() + SETTLED_SECONDS_MAX
    while True:
        try:
            found = get(server.port, path)
        except OSError as why:
            found = (0, str(why))
        if found[0] == status or time.monotonic() > until:
            return found
        time.sleep(0.05)


def check(server, case, origin):
    """The right answer from the right place, before anything is measured."""
    if case.blocked:
        path = case.blocked.example(server.tail)
        before = asked(origin)
        status, _ = settle(server, path, 403)
        if status != 403 or asked(origin) != before:
            raise Wrong(f"{server.name} answers {path} with {status}, origin asked {asked(origin) - before} times")
    found = settle(server, case.path, 200)
    if found != (200, SIZES[case.path]):
        raise Wrong(f"{server.name} answers {case.path} with {found}")


def measure(server, case, program, folder, seconds, per_second=None):
    """One round: the gateway is started with its task, checked, warmed and loaded, at one rate if that is given."""
    origin = Origin(program, kept_seconds=KEPT_SECONDS if case.is_cached else 0)
    try:
        server.start(Task([origin.port], case.blocked, case.is_cached))
        try:
            check(server, case, origin)
            flags, path = [], case.path
            if case.blocked:
                script = folder / "ask.lua"
                script.write_text(patterns.CLEAN if case.is_clean else case.blocked.script(server.tail))
                flags, path = ["-s", script], "/"
            if case.is_new:
                flags += ["-H", "Connection: close"]
            url = f"http://127.0.0.1:{server.port}{path}"
            process.load(url, CLIENTS, 1, *flags)
            before, spent = asked(origin), server.cpu_seconds()
            if per_second:
                figures = process.steady(url, CLIENTS, seconds, per_second)
            else:
                figures = process.load(url, CLIENTS, seconds, *flags)
            spent = server.cpu_seconds() - spent
            if spent < CPU_SECONDS_LEAST or not figures["count"]:
                raise Wrong(f"{server.name} spent {spent:.2f} s in this round: too little to be divided")
            figures["cpu_us"] = 1e6 * spent / figures["count"]
            figures["resident_mb"] = server.resident_bytes() / 1e6
            judge(server, case, figures, asked(origin) - before)
            return figures
        finally:
            server.stop()
    finally:
        origin.stop()


def judge(server, case, figures, came_through):
    """Every answer must have been of the kind that was asked for."""
    refused = case.blocked is not None and not case.is_clean
    expected = figures["count"] if refused else 0
    # wrk counts what arrived after its last moment in one of the two figures only.
    if abs(figures["refused"] - expected) > CLIENTS or figures["cut"]:
        raise Wrong(f"{server.name}: {figures['refused']} of {figures['count']} refused, {figures['cut']} cut off")
    if refused and came_through > 0:
        raise Wrong(f"{server.name} let {came_through} refused requests through to the origin")
    if case.is_cached and came_through > figures["count"] / 1000:
        raise Wrong(f"{server.name} asked the origin {came_through} times for what it should have kept")


def note(figures):
    words = [method.rate_in_words(figures["per_second"], figures["busy"]),
             f"p50 {figures['p50_ms']:.2f} ms", f"p99 {figures['p99_ms']:.2f} ms"]
    if figures.get("p99.9_ms") is not None:
        words.append(f"p99.9 {figures['p99.9_ms']:.2f} ms")
    if "resident_mb" in figures:
        words.append(f"{figures['resident_mb']:.0f} MB")
    return " · ".join(words)
