"""Plots as SVG, by hand: bars for throughput and CPU, lines for the latency sweep.

What every chart is made of stands in `svg`, beside this folder.
"""

import sys
from pathlib import Path

import report

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from svg import legend, page, text  # noqa: E402

COLOURS = {"tidegate": "#0b6e99", "tidegate-simple": "#58a9c9", "tidegate+log": "#9fd0e3",
           "oxidns": "#c8553d", "mosdns": "#e09f3e", "dnsdist": "#5b8e55", "unbound": "#8a6fa8",
           "null": "#b5b5b5"}
WIDTH, ROW, LABEL, TOP = 860, 15, 210, 54


def draw(results):
    """Every plot that these results give, by name."""
    loads = [entry for entry in results["entries"] if entry["kind"] == "load"]
    sweeps = [entry for entry in results["entries"] if entry["kind"] == "sweep"]
    plots = {}
    if loads:
        plots["throughput"] = bars(loads, "per_second", "Queries a second (more is better)", "{:,.0f}")
        plots["cpu"] = bars(loads, "cpu_us", "µs of server CPU a query (less is better)", "{:.1f}")
    if sweeps:
        plots["latency"] = latency(sweeps)
    return plots


def bars(entries, key, title, form):
    names = report.present(entries)
    most = max((report.middle(rounds, key) for entry in entries
                for rounds in entry["servers"].values() if rounds), default=1)
    parts = [text(10, 20, title, size=15), *legend(names, COLOURS, 40)]
    y = TOP
    for entry in entries:
        measured = [(n, entry["servers"][n]) for n in names if entry["servers"].get(n)]
        parts.append(text(LABEL - 8, y + ROW * len(measured) / 2 + 4,
                          f"{entry['name']} {entry['title']}"[:38], "end"))
        for name, rounds in measured:
            value = report.middle(rounds, key)
            wide = (WIDTH - LABEL - 80) * value / most
            parts.append(f'<rect x="{LABEL}" y="{y}" width="{wide:.1f}" height="{ROW - 3}" '
                         f'fill="{COLOURS[name]}"/>')
            parts.append(text(LABEL + wide + 4, y + 10, form.format(value), size=10))
            y += ROW
        y += 10
    return page(WIDTH, y, parts)


def latency(entries):
    """A small chart for each scenario: mean with one standard deviation, at 1, 2 and 4 clients."""
    titles = list(dict.fromkeys(entry["title"] for entry in entries))
    levels = sorted({entry["level"] for entry in entries})
    names = [name for name in report.present(entries) if name != "null"]
    wide, high, across = 280, 190, 3
    parts = [text(10, 20, "Latency by clients = outstanding, µs: mean ± standard deviation", size=15),
             *legend(names, COLOURS, 40)]
    for number, title in enumerate(titles):
        left, top = 10 + number % across * wide, TOP + number // across * high
        rows = {entry["level"]: entry["servers"] for entry in entries if entry["title"] == title}
        parts += chart(title, rows, levels, names, (left, top, wide - 20, high - 30))
    return page(WIDTH, TOP + (len(titles) + across - 1) // across * high, parts)


def chart(title, rows, levels, names, box):
    left, top, wide, high = box
    points = {name: [(level, report.middle(rows[level][name], "mean_us"),
                      report.middle(rows[level][name], "jitter_us"))
                     for level in levels if rows.get(level, {}).get(name)] for name in names}
    most = max((mean for of in points.values() for _, mean, _ in of), default=1) * 1.3
    bottom = top + high
    parts = [text(left, top + 12, title), text(left, top + 26, f"up to {most:,.0f}", size=9, colour="#777"),
             f'<path d="M{left} {top + 16}V{bottom}H{left + wide}" stroke="#999" fill="none"/>']
    for at, level in enumerate(levels):
        parts.append(text(left + wide * (at + 0.5) / len(levels), bottom + 12, str(level), "middle", 10))
    for shift, name in enumerate(names):
        line = []
        for level, mean, jitter in points[name]:
            x = left + wide * (levels.index(level) + 0.5) / len(levels) + 4 * (shift - len(names) / 2)
            y, up, down = (bottom - (high - 20) * min(max(value, 0), most) / most
                           for value in (mean, mean + jitter, mean - jitter))
            line.append(f"{x:.1f} {y:.1f}")
            parts.append(f'<path d="M{x:.1f} {up:.1f}V{down:.1f}" stroke="{COLOURS[name]}" opacity="0.6"/>')
            parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.5" fill="{COLOURS[name]}"/>')
        if line:
            parts.append(f'<path d="M{"L".join(line)}" stroke="{COLOURS[name]}" fill="none"/>')
    return parts
