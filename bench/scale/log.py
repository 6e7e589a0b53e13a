"""The request log as it grows: what a page of it and a search in it cost, and its bytes on disk.

One Tidegate, whose log grows from size to size. It is filled through the DNS door, by questions that one rule
blocks, as fast as dnsperf asks and the log takes them: a row that a full queue drops is asked for once
more. The page is the newest, as the dashboard asks for it. The search is for a name that no row has, which is
the dearest there is; one question looks through a bounded part of the log (`ledger::SCAN_ROWS_MAX`), and
whoever wants all of it goes on where the answer says. Called by `run`.
"""

import contextlib
import json
import sqlite3
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import method  # noqa: E402
import sheet  # noqa: E402
from server import Tidegate, dnsperf, name, written  # noqa: E402

FILL_SECONDS_MAX = 360  # of one size; then the rows that are there count
NAMES_LOGGED = 10_000  # different names, as in the log of a home
PAGE_ROWS = 60  # of the dashboard
ABSENT = "nobody.invalid"
PLOT = ("ms of CPU, as the request log grows", "rows", "ms")
# name: (what is asked, its unit)
QUESTIONS = {
    "page": ("the newest page", "ms of CPU a page of the log"),
    "search": ("one question for a name that is not there", "ms of CPU a question"),
    "whole": ("a search through all rows", "ms of CPU a search"),
}


def measure(sizes, folder, options):
    """Its rows; and at last, each with the row of an exponent, names and points of its lines."""
    listed = written(folder, "all.txt", ["||example^"])

    def sections(port):
        return {"ledger": {"log": "all", "max_size": "64GiB"}, "policy": {"lists": [{"name": "all", "path": str(listed)}]},
                "dns": {"listen": [f"udp://127.0.0.1:{port}", f"tcp://127.0.0.1:{port}"], "upstreams": ["udp://127.0.0.1:9"],
                        "blocked": "nxdomain"}}

    costs = {what: [] for what in QUESTIONS}
    try:
        with Tidegate(folder, sections) as edge:
            for size in sizes:
                began = time.monotonic()
                before, rows = filled(edge, size, folder)
                note = f"filled by {(rows - before) / (time.monotonic() - began):,.0f} rows a second"
                if rows < size:
                    note += f", for {FILL_SECONDS_MAX} s: {size:,} would have taken longer"
                for what in QUESTIONS:
                    found = asked_for(edge, what, rows, options)
                    found["note"] = note
                    costs[what].append((rows, method.middle(sheet.values(found, sheet.OURS))))
                    yield found
                found = sheet.row(f"log-bytes-{rows}", f"rows of the request log: {rows:,}; the ledger's file",
                                  "bytes on disk a row")
                sheet.measured(found, sheet.OURS, on_disk(edge) / rows, note)
                yield found
                if rows < size:
                    break
    except (RuntimeError, OSError, sqlite3.Error) as why:
        found = sheet.row("log", "rows of the request log", "ms of CPU a page of the log")
        sheet.left_out(found, sheet.OURS, why)
        yield found
    for what, points in costs.items():
        title = QUESTIONS[what][0]
        summary = sheet.row(f"log-{what}", f"rows of the request log; {title}: exponent of the cost", "exponent")
        slope = method.exponent(*zip(*points)) if len(points) > 1 else None
        if slope is not None:
            sheet.measured(summary, sheet.OURS, round(slope, 3), method.growth_in_words(slope))
        yield summary, title, points


def stored(edge):
    """Rows that the log has kept: a question for rows has everything written before it is answered."""
    edge.api("/api/requests?limit=1")
    return edge.counted("tidegate_ledger_stored_total")


def filled(edge, size, folder):
    """Rows of the log before, and now that it has `size` or the time for it is over."""
    end = time.monotonic() + FILL_SECONDS_MAX
    before = rows = stored(edge)
    while rows < size and (left := int(end - time.monotonic())) > 0:
        lines, times = batch(size - rows)
        asked = written(folder, "logged.txt", (f"{name(it)} A" for it in range(lines)))
        dnsperf(edge, asked, left, "-n", str(times))
        rows = stored(edge)
    return before, rows


def batch(missing):
    """How many different names to ask for, and how many times, so that no more rows come than are missing."""
    lines = min(missing, NAMES_LOGGED)
    return lines, missing // lines


def asked_for(edge, what, rows, options):
    title, unit = QUESTIONS[what]
    found = sheet.row(f"log-{what}-{rows}", f"rows of the request log: {rows:,}; {title}", unit)
    for _ in range(options.rounds):
        spent_ms, waited_ms = cost(edge, globals()[what], options.seconds)
        sheet.measured(found, sheet.OURS, spent_ms, f"{waited_ms:,.2f} ms to wait · {edge.resident_bytes() / 1e6:,.0f} MB")
    return found


def cost(edge, question, seconds):
    """Milliseconds of CPU and of waiting that one question takes, of those asked within some seconds."""
    with contextlib.closing(edge.line()) as line:
        question(edge, line)
        spent, began, count = edge.cpu_seconds(), time.monotonic(), 0
        while count == 0 or time.monotonic() - began < seconds:
            question(edge, line)
            count += 1
        waited = time.monotonic() - began
        return 1000 * (edge.cpu_seconds() - spent) / count, 1000 * waited / count


def page(edge, line):
    rows = json.loads(edge.api(f"/api/requests?limit={PAGE_ROWS}", line))["rows"]
    if len(rows) != PAGE_ROWS:
        raise RuntimeError(f"a page has {len(rows)} rows, not {PAGE_ROWS}")


def search(edge, line, before=None):
    """Where the next question goes on; none at the log's beginning."""
    on = "" if before is None else f"&before={before}"
    found = json.loads(edge.api(f"/api/requests?limit={PAGE_ROWS}&filter={ABSENT}{on}", line))
    if found["rows"]:
        raise RuntimeError(f"{ABSENT} is in the log")
    return found["next_before"]


def whole(edge, line):
    before = search(edge, line)
    while before is not None:
        before = search(edge, line, before)


def on_disk(edge):
    """Bytes of the ledger's file, with what waits in its write-ahead log. Nothing was deleted: all are in use."""
    ledger = f"file:{edge.state / 'ledger.db'}?mode=ro"
    with contextlib.closing(sqlite3.connect(ledger, uri=True)) as file:
        pages, size = (file.execute(f"PRAGMA {what}").fetchone()[0] for what in ("page_count", "page_size"))
    return pages * size
