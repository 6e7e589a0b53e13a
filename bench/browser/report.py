"""From rows to what is read: a table a page class, the marks with pass or fail, plots.

A mark compares medians; differences are taken between loads of the same page and round first. Called by
run.py, or by hand on the rows of an earlier run: `report.py FILE.json`.
"""

import json
import statistics
import sys
from pathlib import Path
from types import SimpleNamespace

import world

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import svg  # noqa: E402
from gated import GATES  # noqa: E402

COLOURS = {"DOMContentLoaded": "#0b6e99", "Load": "#c0504d", "Finish": "#333333", "app-ready": "#5b8e55"}
# Chromium asks for names of its own maker besides; those are not the page's.
NAMES = {it.name for it in world.World().hosts}
BLOCKED = world.World().blocked_names()
DNS_MODES = ["nxdomain", "nodata", "null", "refused"]


def of(row, what):
    """One figure of a row."""
    if what in ("dcl", "load", "finish", "lcp"):
        return row[what]
    if what == "ready":
        return row["marks"].get("app-ready")
    if what == "failed":
        return len(row["failed"])
    if what == "errors":
        return len(row["complaints"])
    if what == "connections":
        return sum(it.startswith((world.ORIGINS, world.EDGE)) for it in row["wire"]["connections"])
    if what == "null":  # to a resolver's or null server's address: where the blocked names went
        return sum(it.startswith(world.EDGE) for it in row["wire"]["connections"])
    if what == "questions":
        return sum(it.split()[0] in NAMES for it in row["wire"]["questions"])
    return row["marks"].get(f"gate-{what}")


def values(rows, mode, page, what):
    return [it for it in (of(row, what) for row in rows if (row["mode"], row["page"]) == (mode, page))
            if it is not None]


def spread(found):
    """Median and quartiles."""
    if not found:
        return "–"
    if len(found) < 2:
        return f"{found[0]:,.0f}"
    low, middle, high = statistics.quantiles(found, n=4, method="inclusive")
    return f"{middle:,.0f} ({low:,.0f}–{high:,.0f})"


def median(rows, mode, page, what):
    found = values(rows, mode, page, what)
    return statistics.median(found) if found else float("nan")


def table(rows, page, modes):
    columns = {"dcl": "DOMContentLoaded", "load": "Load", "finish": "Finish", "lcp": "largest paint"}
    if page == "gated":
        columns["ready"] = "app-ready"
    counts = {"failed": "failed", "errors": "console errors", "connections": "connections", "null": "of them to null",
              "questions": "DNS questions"}
    lines = [f"\n{page}", f"| mode | {' | '.join([*columns.values(), *counts.values()])} |",
             "|---" * (1 + len(columns) + len(counts)) + "|"]
    for mode in modes:
        cells = [spread(values(rows, mode, page, it)) for it in columns]
        cells += [f"{median(rows, mode, page, it):,.0f}" for it in counts]
        lines.append(f"| {mode} | {' | '.join(cells)} |")
    return lines


def gates(rows, modes):
    lines = ["\ngates of the gated page, ms, medians",
             f"| mode | {' | '.join(GATES)} |", "|---" * (1 + len(GATES)) + "|"]
    for mode in modes:
        cells = [f"{median(rows, mode, 'gated', it):,.0f}" for it in GATES]
        lines.append(f"| {mode} | {' | '.join(cells)} |")
    return lines


def paired(rows, page, mode, other, what):
    """Differences mode − other, round by round."""
    by = {(row["round"], row["mode"]): of(row, what) for row in rows if row["page"] == page}
    return [value - by[(number, other)] for (number, name), value in by.items()
            if name == mode and by.get((number, other)) is not None and value is not None]


def blocked_complaints(rows, mode):
    """Console errors about blocked names in a mode: what we cause."""
    found = []
    for row in rows:
        if row["mode"] == mode:
            found += [(row["page"], *it) for it in row["complaints"] if any(name in f"{it}" for name in BLOCKED)]
    return found


def mark(letter, words, well):
    return f"{'pass' if well else 'FAIL'}  ({letter}) {words}", well


def difference(rows, page, mode, other, what):
    """The median difference; none where no round has both."""
    found = paired(rows, page, mode, other, what)
    return statistics.median(found) if found else None


def marks(rows, pages, modes):
    """The marks set beforehand, for each way of ours; those that need what was not run are left out."""
    found = []
    for ours in (it for it in modes if it.startswith("pixel") and not it.startswith("pixelserv")):
        found += [(f"{line}" if ours == "pixel" else f"{line} [{ours}]", well or ours == "pixel-alone")
                  for line, well in marks_of(rows, pages, modes, ours)]
    return found


def marks_of(rows, pages, modes, ours):
    found = []
    if "nxdomain" in modes:
        for page in pages:
            if page == "gated":
                mine, theirs = (median(rows, it, page, "ready") for it in (ours, "nxdomain"))
                found.append(mark("a", f"gated: app-ready {100 * (1 - mine / theirs):.0f} % sooner than NXDOMAIN's, "
                                       "wanted 20", mine <= 0.8 * theirs))
                continue
            late = difference(rows, page, ours, "nxdomain", "load")
            if late is not None:
                found.append(mark("a", f"{page}: Load after NXDOMAIN's by {late:+.0f} ms, wanted at most "
                                       f"{world.LAN_RTT_MS:.0f}", late <= world.LAN_RTT_MS))
    for other in ("refused", "nxdomain"):
        if other in modes:
            mine, theirs = (sum(median(rows, it, page, "questions") for page in pages) for it in (ours, other))
            found.append(mark("b", f"{100 * (1 - mine / theirs):.0f} % fewer DNS questions than {other}"
                                   f"{' (with SOA)' if other == 'nxdomain' else ''}, wanted 30", mine <= 0.7 * theirs))
    for page in pages:
        most = median(rows, ours, page, "null")
        found.append(mark("c", f"{page}: {most:.0f} connections to the null server, wanted at most 3", most <= 3))
    errors = blocked_complaints(rows, ours)
    found.append(mark("d", f"{len(errors)} console errors about blocked names, wanted 0"
                           + (f"; the first: {errors[0]}" if errors else ""), not errors))
    for page in pages:
        found += against_the_best(rows, page, modes, ours)
    return found


def against_the_best(rows, page, modes, ours):
    what = "ready" if page == "gated" else "load"
    rivals = [it for it in DNS_MODES if it in modes and values(rows, it, page, what)]
    if not rivals:
        return []
    best = min(rivals, key=lambda it: median(rows, it, page, what))
    late = paired(rows, page, ours, best, what)
    if not late:
        return []
    noise, middle = statistics.pstdev(late) / len(late) ** 0.5 * 2, statistics.median(late)
    return [mark("g", f"{page}: {middle:+.0f} ms against {best}, the best DNS mode; noise {noise:.0f}",
                 middle <= max(noise, world.LAN_RTT_MS))]


def text(title, rows, options):
    lines = [title, "ms: median (quartiles)"]
    for page in options.pages:
        lines += table(rows, page, options.modes)
    if "gated" in options.pages:
        lines += gates(rows, options.modes)
    found = marks(rows, options.pages, options.modes)
    lines += ["\nmarks", *(line for line, _ in found)]
    retried = sum(row["tries"] > 1 for row in rows)
    lines.append(f"loads {len(rows)}, of them tried again {retried}, packets lost "
                 f"{sum(row['wire']['lost'] for row in rows)}")
    return "\n".join(lines) + "\n", all(well for _, well in found)


def plot(page, rows, modes):
    """The reference's three times (and app-ready), a line each over the modes."""
    series = {"DOMContentLoaded": "dcl", "Load": "load", "Finish": "finish"}
    if page == "gated":
        series["app-ready"] = "ready"
    heights = {name: [median(rows, mode, page, what) for mode in modes] for name, what in series.items()}
    heights = {name: [0 if it != it else it for it in found] for name, found in heights.items()}
    return svg.lines(f"{page}: milliseconds from navigation, medians (less is better)", modes, heights, COLOURS)


if __name__ == "__main__":
    kept = json.loads(Path(sys.argv[1]).read_text())["rows"]
    seen = SimpleNamespace(pages=list(dict.fromkeys(sorted((it["page"] for it in kept), key=str))),
                           modes=list(dict.fromkeys(it["mode"] for it in kept)))
    print(text(sys.argv[1], kept, seen)[0])
