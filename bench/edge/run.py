#!/usr/bin/env python3
"""What the whole program costs before anybody asks anything, and at first contact.

    TIDEGATE_BIN=target/dist/tidegate bench/edge/run.py [start contact] [--rounds N] [--names N]

*start*: time from start to `ready` with the lists compiled and from their snapshot, and what is resident then,
all five doors idle, Tidegate and its signer together: with the starter list, with a list of a million names, and
with real lists where LISTS or ../shared/data/lists is at hand. *contact*: HTTPS to blocked names that nobody ever
asked for, one after the other, each with a certificate minted in the handshake (contact.py).
"""

import argparse
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
sys.path.insert(0, str(HERE))
import contact  # noqa: E402
import method  # noqa: E402
import process  # noqa: E402
import sheet  # noqa: E402
from report import wanted  # noqa: E402

BINARY = os.environ.get("TIDEGATE_BIN", str(method.ROOT / "target/dist/tidegate"))
LISTS = Path(os.environ.get("LISTS") or method.ROOT.parent / "shared/data/lists")
QUESTION = "What does it cost before anybody asks anything, and how soon does a name that was never seen have its page?"
MILLION = 1_000_000
TITLES = {"starter": "the starter list", "million": "a list of a million names", "real": "the real lists"}


class Edge(process.Process):
    """All five doors with these lists; `ready_ms` is how long it took."""

    def __init__(self, folder, lists):
        (folder / "www").mkdir(exist_ok=True)
        here = ["http://127.0.0.1:0"]
        config = folder / "tidegate.yaml"
        config.write_text(json.dumps({
            "policy": {"lists": lists}, "admin": {"listen": "127.0.0.1:0"},
            "dns": {"listen": ["udp://127.0.0.1:0", "tcp://127.0.0.1:0"], "upstreams": ["udp://127.0.0.1:9"]},
            "pixel": {"listen": [*here, "https://127.0.0.1:0"], "addresses": ["127.0.0.1"],
                      "connections_per_client": 10_000},
            "proxy": {"listen": here}, "web": [{"listen": here, "root": str(folder / "www")}],
            "gateway": {"listen": here, "pools": {"app": {"servers": ["http://127.0.0.1:9"]}},
                        "routes": [{"path": "/*", "pool": "app"}]}}))
        self.state, begun, self.greeting = folder / "state", time.monotonic(), []
        self.spawn([BINARY, "run", "--config", config, "--state", self.state],
                   stdout=subprocess.PIPE, text=True)
        for line in self.process.stdout:
            if line.strip() == "ready":
                self.ready_ms = (time.monotonic() - begun) * 1000
                return
            self.greeting.append(line)
        raise RuntimeError(f"it ended before it was ready: {''.join(self.greeting)[-300:]}")

    def port(self, door, scheme):
        for line in self.greeting:
            found = re.match(rf"\s+{door}\s+{scheme}://[\d.]+:(\d+)", line)
            if found:
                return int(found[1])
        raise RuntimeError(f"no {door} {scheme} among {self.greeting}")

    def resident_mb(self):
        """Of Tidegate and of its signer."""
        return [int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * process.PAGE / 1e6
                for pid in process.family(self.process.pid)]

    def held_mb(self):
        """By both: a page that they share counts once (Pss of proc(5)), for they run the same program."""
        held = 0
        for pid in process.family(self.process.pid):
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
            held += next(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
        return held * 1024 / 1e6


def lists_of(kind, folder):
    """The lists of this kind as the configuration has them; none where they are not at hand."""
    if kind == "starter":
        return [{"name": "starter", "builtin": "starter"}]
    if kind == "million":
        path = folder / "million.txt"
        path.write_text("".join(f"||n{number}.d{number % 9973}.example^\n" for number in range(MILLION)))
        return [{"name": "million", "path": str(path)}]
    files = sorted(LISTS.iterdir()) if LISTS.is_dir() else []
    return [{"name": it.stem, "path": str(it)} for it in files]


def started(kind, rounds):
    """The rows of one set of lists: a start with nothing kept, one from what that kept, and what is held then."""
    title = TITLES[kind]
    rows = [sheet.row(f"start-{kind}", f"start to ready, {title}, compiled", "ms"),
            sheet.row(f"snapshot-{kind}", f"start to ready, {title}, from the snapshot", "ms"),
            sheet.row(f"idle-{kind}", f"held in memory, five doors idle, {title}", "MB")]
    for _ in range(rounds):
        with process.open_folder() as folder:
            lists = lists_of(kind, folder)
            if not lists:
                for row in rows:
                    sheet.left_out(row, sheet.OURS, f"not at hand: {LISTS} (LISTS names their folder: bench/README.md)")
                return rows
            for row in rows[:2]:
                edge = Edge(folder, lists)
                try:
                    sheet.measured(row, sheet.OURS, edge.ready_ms)
                    if row is rows[1]:
                        # Idle means: nothing has been asked, and what starting needed has been given back.
                        time.sleep(1)
                        resident = " + ".join(f"{it:.0f}" for it in edge.resident_mb())
                        sheet.measured(rows[2], sheet.OURS, edge.held_mb(), f"{resident} resident, shared pages in both")
                finally:
                    edge.stop()
    for row in rows:
        wanted.mark(row, "edge")
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", nargs="*", choices=[[], "start", "contact"], default=[])
    parser.add_argument("--rounds", type=int, default=5, help="of the starts")
    parser.add_argument("--names", type=int, default=10_000, help="of the first contacts")
    options = parser.parse_args()
    if not Path(BINARY).is_file():
        sys.exit(f"{BINARY} is not there: make dist, or set TIDEGATE_BIN")
    into = sheet.Sheet("edge", "The whole program", QUESTION, {"tidegate": process.output_of(BINARY, "--version")})
    what = options.what or ["start", "contact"]
    if "start" in what:
        for kind in TITLES:
            for row in started(kind, options.rounds):
                into.add(row)
    if "contact" in what:
        with process.open_folder() as folder:
            edge = Edge(folder, contact.lists(folder, options.names))
            try:
                for row in contact.rows(edge, options.names):
                    into.add(row)
            finally:
                edge.stop()


if __name__ == "__main__":
    main()
