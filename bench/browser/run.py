#!/usr/bin/env python3
"""Do pages load as if the advertisements had never been there? A browser, a WAN and a block list, offline.

    TIDEGATE_BIN=... bench/browser/run.py [--rounds 20] [--modes none,nodata,pixel] [--pages blog,gated]

Each round loads every page in every mode once, in an order of its own, each time in a new browser with
a new profile. Prints medians and quartiles and says which marks are passed; tables, rows (JSON) and
plots go to bench/out. Needs root (network namespaces, TUN devices), chromium, certutil, openssl and
nsenter; PIXELSERV_BIN adds pixelserv-tls with connections kept for 1, 5 and 10 s.

A load takes some four seconds: six modes on five pages for twenty rounds are about forty minutes; what
is left is said after each round. Rows are kept as they come: stopped or broken off, --resume goes on
with what is missing. --trace writes where the time of each request went.
"""

import argparse
import hashlib
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path

import report
import rig  # first: it says where method is
import method
import process
import world
from browser import CHROMIUM, Browser, Trouble

OUT = rig.HERE.parent / "out"
PAGES = [*world.THIRD_PARTIES, "gated"]
TRIES = 5


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--minutes", type=float, help="begin no round after that many")
    parser.add_argument("--modes", default=",".join(rig.USUAL_MODES), help=f"of {', '.join(rig.MODES)}")
    parser.add_argument("--pages", default=",".join(PAGES), help=f"of {', '.join(PAGES)}")
    parser.add_argument("--seed", type=int, default=1, help="of the order of the loads")
    parser.add_argument("--name", default="browser", help="of the files in bench/out")
    parser.add_argument("--resume", action="store_true", help="keep what a run of this name has measured")
    parser.add_argument("--trace", action="store_true", help="write every request's phases to NAME-trace.txt")
    options = parser.parse_args()
    options.modes, options.pages = options.modes.split(","), options.pages.split(",")
    for given, known in ((options.modes, rig.MODES), (options.pages, PAGES)):
        for word in given:
            if word not in known:
                parser.error(f"{word}: choose from {', '.join(known)}")
    return options


def check_tools():
    if os.geteuid() != 0:
        sys.exit("network namespaces need root")
    for tool in (CHROMIUM, "certutil", "openssl", "nsenter", "unshare", "ip", rig.BINARY):
        if not shutil.which(tool):
            sys.exit(f"{tool} is not there")


def one(edge, home, mode, page):
    """One cold load. A browser that fails to start is tried again; the tries are in the row. None after
    the last one: the load is missing from its round."""
    site = edge.world.sites[page]
    for tries in range(1, TRIES + 1):
        try:
            with Browser(edge, home, mode) as browser:
                row = browser.load(edge, f"https://{site.name}/", "app-ready" if page == "gated" else None)
                return {"mode": mode, "page": page, "tries": tries, **row}
        except (Trouble, OSError) as why:
            print(f"  {mode} {page}: {why}", file=sys.stderr)
    return None


def rounds(edge, home, options, kept):
    """Adds rows of whole rounds; the first load of all is thrown away: it warms the disk's cache."""
    dice, done = random.Random(options.seed), {(it["round"], it["mode"], it["page"]) for it in kept.rows}
    begun, loads = time.monotonic(), 0
    one(edge, home, options.modes[0], options.pages[0])
    for number in range(options.rounds):
        if options.minutes and time.monotonic() - begun > options.minutes * 60:
            break
        cells = [(mode, page) for mode in options.modes for page in options.pages]
        dice.shuffle(cells)
        for mode, page in cells:
            if (number, mode, page) in done:
                continue
            loads += 1
            row = one(edge, home, mode, page)
            if row:
                kept.add({"round": number, **row}, options.trace)
        if loads:
            each = (time.monotonic() - begun) / loads
            left = sum((at, *cell) not in done for at in range(number + 1, options.rounds) for cell in cells)
            print(f"round {number + 1} of {options.rounds}: {each:.1f} s a load, {left} loads left, "
                  f"about {left * each / 60:.0f} min", file=sys.stderr, flush=True)


class Kept:
    """The rows, in memory and on disk. One that goes on must have been asked the same way."""

    def __init__(self, options, binary):
        self.told = {"machine": method.machine(), "versions": versions(options.modes)}
        OUT.mkdir(exist_ok=True)
        self.path, self.rows = OUT / f"{options.name}.json", []
        self.traces = OUT / f"{options.name}-trace.txt"
        self.asked = {"seed": options.seed, "binary": binary}
        if options.resume and self.path.exists():
            before = json.loads(self.path.read_text())
            if before.get("asked") != self.asked:
                sys.exit(f"{self.path} holds rows of {before.get('asked')}, not of {self.asked}: give another --name")
            self.rows = before["rows"]
            print(f"{len(self.rows)} loads are kept", file=sys.stderr)

    def add(self, row, is_traced):
        trace = row.pop("trace")
        if is_traced:
            with open(self.traces, "a") as out:
                out.write(trace.text(f"round {row['round']} {row['mode']} {row['page']}: load {row['load']:.0f} ms"))
        self.rows.append(row)
        part = self.path.with_suffix(".part")
        part.write_text(json.dumps({**self.told, "asked": self.asked, "rows": self.rows}))
        part.replace(self.path)


def versions(modes):
    """Of all that these modes need."""
    programs = {"tidegate": rig.BINARY, "chromium": CHROMIUM}
    found = {name: process.output_of(program, "--version") for name, program in programs.items()}
    if any(it in rig.PIXELSERV_MODES for it in modes):
        found["pixelserv-tls"] = process.output_of(rig.PIXELSERV, "--help")
    return found


def checksum(path):
    """Tells two builds of one version apart."""
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()[:16]


def main():
    options = arguments()
    check_tools()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    kept = Kept(options, checksum(shutil.which(rig.BINARY)))
    try:
        with tempfile.TemporaryDirectory() as name:
            with rig.Rig(name, options.modes) as edge:
                rounds(edge, edge.profile(), options, kept)
    except KeyboardInterrupt:
        print("stopped: --resume goes on", file=sys.stderr)
    rows = [it for it in kept.rows if it["mode"] in options.modes and it["page"] in options.pages]
    if not rows:
        sys.exit("nothing was measured")
    machine = kept.told["machine"]
    title = (f"{', '.join(kept.told['versions'].values())}, Linux {machine['kernel']}, {machine['cores']} cores, "
             f"{machine['date']}, {len({it['round'] for it in rows})} rounds, load {os.getloadavg()[1]:.1f}")
    text, passed = report.text(title, rows, options)
    print(text)
    (OUT / f"{options.name}.txt").write_text(text)
    for page in options.pages:
        (OUT / f"{options.name}-{page}.svg").write_text(report.plot(page, rows, options.modes))
    sys.exit(0 if passed else 1)


if __name__ == "__main__":
    main()
