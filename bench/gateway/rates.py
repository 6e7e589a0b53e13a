"""The reference's table: httperf at rising rates with 1 and 2 clients, 403 for every request.

The reference ran `httperf --uri /block.html --rate R --num-conns 1000` beside Perlbal and Squid. Here
rates rise by half until fewer than 99 of 100 connections are answered, for every gateway at hand.
"""

import re
import subprocess
import sys
from pathlib import Path

import cases
import patterns
from servers import Cannot, Origin, Task, all_of

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import method  # noqa: E402
import sheet  # noqa: E402

FIRST, FACTOR, LAST = 200, 1.5, 60_000
ENOUGH = 0.99
WAIT_SECONDS = 2
STUCK_SECONDS = 5  # beyond the end: then httperf is stuck
PUBLISHED = {1: "Perlbal 180, Squid 400 (2004)", 2: "Perlbal 80, Squid 200 each (2004)"}
# Refuses whatever is asked.
PATTERN = patterns.Patterns(1)


class Stuck(RuntimeError):
    """httperf has more than 1,024 descriptors open, and its select never ends: no word on the server."""

    def __str__(self):
        return "httperf was stuck"


def once(port, path, rate, clients, seconds):
    """Replies a second that `clients` httperfs had, each asking at `rate`; and failures. Ports are the kernel's to
    choose: with --hog httperf looks for one by itself, and finds no end among those in TIME_WAIT."""
    command = ["httperf", "--server", "127.0.0.1", "--port", port, "--uri", path, "--rate", rate,
               "--num-conns", rate * seconds, "--timeout", WAIT_SECONDS]
    running = [subprocess.Popen(method.pinned(map(str, command), "client"), stdout=subprocess.PIPE,
                                stderr=subprocess.DEVNULL, text=True) for _ in range(clients)]
    replies = wall = 0
    for one in running:
        try:
            said = one.communicate(timeout=seconds + WAIT_SECONDS + STUCK_SECONDS)[0]
        except subprocess.TimeoutExpired:
            for other in running:
                other.kill()
                other.wait()
            raise Stuck from None
        total = re.search(r"replies (\d+) test-duration ([\d.]+)", said)
        refused = re.search(r"4xx=(\d+)", said)
        if not total or int(refused[1]) != int(total[1]):
            raise RuntimeError(f"httperf: {said[:300]}")
        replies, wall = replies + int(total[1]), max(wall, float(total[2]))
    return replies, replies / wall if wall else 0.0


def climb(server, clients, seconds, last):
    """(asked, answered a second) up to the first rate that is not kept; rates are all clients together."""
    points, rate = [], FIRST
    while rate * clients <= last:
        try:
            replies, answered = once(server.port, PATTERN.example(server.tail), rate, clients, seconds)
        except Stuck:
            if not points:
                raise
            break
        points.append((rate * clients, answered))
        if replies < ENOUGH * rate * clients * seconds or answered < ENOUGH * rate * clients * 0.95:
            break
        rate = int(rate * FACTOR)
    return points


def table(folder, program, options, into):
    """Two rows and their plots."""
    for clients in (1, 2):
        found = sheet.row(f"httperf-{clients}", f"403 for every request, a connection each: replies a second by "
                          f"httperf at rising rates, {clients} client{'s' * (clients > 1)}", "replies/s", "more")
        found["published"] = PUBLISHED[clients]
        found["note"] = "The best of all rates. A gateway that kept the last rate was not at its end: httperf was."
        series, levels = {}, []
        for server in all_of(folder):
            try:
                points = of(server, program, clients, options)
            except (Cannot, RuntimeError, OSError) as why:
                sheet.left_out(found, server.name, why)
                continue
            best = max(answered for _, answered in points)
            sheet.measured(found, server.name, best, f"last asked {points[-1][0]:,}/s, answered {points[-1][1]:,.0f}/s")
            series[server.name] = [answered for _, answered in points]
            levels = max(levels, [asked for asked, _ in points], key=len)
        into.add(found)
        into.plot(f"httperf, {clients} client{'s' * (clients > 1)}, 403 for all", levels, series, "asked/s", "answered/s")


def of(server, program, clients, options):
    origin = Origin(program)
    try:
        server.start(Task([origin.port], PATTERN))
        try:
            cases.check(server, cases.Case("403", blocked=PATTERN), origin)
            return climb(server, clients, options.seconds, options.rate_max)
        finally:
            server.stop()
    finally:
        origin.stop()
