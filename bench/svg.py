"""Charts as SVG, by hand, shared by the benchmarks: no library is needed for a few lines.

A file of its own is light; inside a page the page's colours hold (`--ink`, `--paper`, `--line`).
"""

import math

MARKS_MAX = 12  # of an axis


def escaped(words):
    return words.replace("&", "&amp;").replace("<", "&lt;")


def text(x, y, words, anchor="start", size=11, colour="var(--ink, #333)"):
    words = escaped(words)
    return (f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" '
            f'fill="{colour}">{words}</text>')


def page(width, height, parts):
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height:.0f}" '
            f'font-family="sans-serif"><rect width="100%" height="100%" fill="var(--paper, #fff)"/>'
            + "\n".join(parts) + "</svg>\n")


def legend(names, colours, y):
    parts, x = [], 10
    for name in names:
        parts.append(f'<rect x="{x}" y="{y - 9}" width="10" height="10" fill="{colours[name]}"/>')
        parts.append(text(x + 14, y, name))
        x += 32 + 6 * len(name)
    return parts


def quarter(most):
    """A quarter of an axis that reaches `most`, as a round number."""
    least = (most or 1) / 4
    power = 10.0 ** math.floor(math.log10(least))
    return next(it * power for it in (1, 1.5, 2, 2.5, 3, 4, 5, 7.5, 10) if it * power >= least * 0.999999)


def lines(title, levels, series, colours):
    """One line a name of `series`, over evenly spaced `levels`."""
    wide, high, left, top = 860, 420, 80, 60
    mark = quarter(max((max(values) for values in series.values()), default=1))
    most = 4 * mark
    across, down = wide - left - 20, high - top - 40
    parts = [text(10, 20, title, size=15), *legend(series, colours, 40)]
    for step in range(5):
        y = top + down * (1 - step / 4)
        parts.append(f'<path d="M{left} {y:.1f}H{wide - 20}" stroke="var(--line, #ddd)"/>')
        parts.append(text(left - 8, y + 4, f"{mark * step:,.10g}", "end", 10))
    places = [left + across * (at + 0.5) / len(levels) for at in range(len(levels))]
    parts += [text(x, high - 18, str(level), "middle", 10) for x, level in zip(places, levels)]
    for name, values in series.items():
        points = [(x, top + down * (1 - value / most)) for x, value in zip(places, values)]
        path = "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
        parts.append(f'<path d="M{path}" stroke="{colours[name]}" stroke-width="2" fill="none"/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colours[name]}"/>' for x, y in points]
    return page(wide, high, parts)


def short(value):
    """10,000,000 as 10 M."""
    for power, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= power:
            return f"{value / power:g} {letter}"
    return f"{value:g}"


def decades(least, most):
    """Powers of ten from the one below the least to the one above the most."""
    low, high = math.floor(math.log10(least)), math.ceil(math.log10(most))
    return [10.0 ** it for it in range(low, max(high, low + 1) + 1)][:MARKS_MAX]


def growth(title, x, y, series, colours):
    """Log-log: one line a name of `series`, which is a list of points (size, cost), both above zero."""
    wide, high, left, top = 860, 420, 80, 60
    across, down = wide - left - 20, high - top - 50
    points = [point for line in series.values() for point in line]
    sizes, costs = ([it[at] for it in points] for at in (0, 1))
    columns, rows = decades(min(sizes), max(sizes)), decades(min(costs), max(costs))

    def place(value, marks, begin, length):
        span = math.log10(marks[-1]) - math.log10(marks[0])
        return begin + length * (math.log10(value) - math.log10(marks[0])) / span

    parts = [text(10, 20, title, size=15), *legend(series, colours, 40)]
    for mark in rows:
        at = place(mark, rows, top + down, -down)
        parts.append(f'<path d="M{left} {at:.1f}H{wide - 20}" stroke="var(--line, #ddd)"/>')
        parts.append(text(left - 8, at + 4, short(mark), "end", 10))
    for mark in columns:
        at = place(mark, columns, left, across)
        parts.append(f'<path d="M{at:.1f} {top}V{top + down}" stroke="var(--line, #ddd)"/>')
        parts.append(text(at, top + down + 16, short(mark), "middle", 10))
    parts += [text(wide - 20, high - 8, x, "end", 10), text(10, top - 6, y, size=10)]
    for name, line in series.items():
        found = [(place(size, columns, left, across), place(cost, rows, top + down, -down)) for size, cost in line]
        path = "L".join(f"{across:.1f} {along:.1f}" for across, along in found)
        parts.append(f'<path d="M{path}" stroke="{colours[name]}" stroke-width="2" fill="none"/>')
        parts += [f'<circle cx="{a:.1f}" cy="{b:.1f}" r="3" fill="{colours[name]}"/>' for a, b in found]
    return page(wide, high, parts)
