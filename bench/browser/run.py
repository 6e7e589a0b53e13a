#!/usr/bin/env python3
"""Do pages load as if the advertisements had never been there? A browser, a WAN and a block list, offline.

    TIDEGATE_BIN=... bench/browser/run.py [--rounds 20] [--modes none,nodata,pixel] [--pages blog,gated]

Each round loads every page in every mode once, in an order of its own, each time in a new browser with
a new profile. Prints medians and quartiles and says which marks are passed; tables, rows (JSON) and
plots go to bench/out. Needs root (network namespaces, TUN devices), chromium, certutil, openssl and
nsenter; PIXELSERV_BIN adds pixelserv-tls with connections kept for 1, 5 and 10 s.
"""

import argparse
import datetime
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import report
import rig
import world
from browser import CHROMIUM, Browser, Trouble

OUT = rig.HERE.parent / "out"
PAGES = [*world.THIRD_PARTIES, "gated"]
TRIES = 5


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--minutes", type=float, help="begin no round after that many")
    parser.add_argument("--modes", default=",".join(rig.MODES), help=f"of {', '.join(rig.MODES)}")
    parser.add_argument("--pages", default=",".join(PAGES), help=f"of {', '.join(PAGES)}")
    parser.add_argument("--seed", type=int, default=1, help="of the order of the loads")
    parser.add_argument("--name", default="browser", help="of the files in bench/out")
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
    """One cold load. A browser that fails to start is tried again; the tries are in the row."""
    site = edge.world.sites[page]
    for tries in range(1, TRIES + 1):
        try:
            with Browser(edge, home, mode) as browser:
                row = browser.load(edge, f"https://{site.name}/", "app-ready" if page == "gated" else None)
                return {"mode": mode, "page": page, "tries": tries, **row}
        except Trouble as why:
            print(f"  {mode} {page}: {why}", file=sys.stderr)
    raise RuntimeError(f"{page} could not be loaded in mode {mode}")


def rounds(edge, home, options):
    """Rows of whole rounds, the first load of all thrown away: it warms the disk's cache."""
    dice, begun, rows = random.Random(options.seed), time.monotonic(), []
    one(edge, home, options.modes[0], options.pages[0])
    for number in range(options.rounds):
        if options.minutes and time.monotonic() - begun > options.minutes * 60:
            break
        cells = [(mode, page) for mode in options.modes for page in options.pages]
        dice.shuffle(cells)
        for mode, page in cells:
            rows.append({"round": number, **one(edge, home, mode, page)})
            save(options, rows)
        print(f"round {number + 1} of {options.rounds} after {time.monotonic() - begun:.0f} s",
              file=sys.stderr, flush=True)
    return rows


def save(options, rows):
    OUT.mkdir(exist_ok=True)
    (OUT / f"{options.name}.json").write_text(json.dumps({"rows": rows}))


def version(*command):
    return subprocess.run(command, capture_output=True, text=True).stdout.strip()


def main():
    options = arguments()
    check_tools()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))
    with tempfile.TemporaryDirectory() as name:
        with rig.Rig(name, options.modes) as edge:
            rows = rounds(edge, edge.profile(), options)
    title = (f"{version(rig.BINARY, '--version')}, {version(CHROMIUM, '--version')}, Linux {os.uname().release}, "
             f"{os.cpu_count()} cores, {datetime.date.today().isoformat()}, {1 + rows[-1]['round']} rounds, "
             f"load {os.getloadavg()[1]:.1f}")
    text, passed = report.text(title, rows, options)
    print(text)
    (OUT / f"{options.name}.txt").write_text(text)
    for page in options.pages:
        (OUT / f"{options.name}-{page}.svg").write_text(report.plot(page, rows, options.modes))
    sys.exit(0 if passed else 1)


if __name__ == "__main__":
    main()
