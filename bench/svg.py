"""Charts as SVG, by hand, shared by the benchmarks: no library is needed for a few lines.

Light backgrounds only, text in the reader's sans-serif.
"""


def text(x, y, words, anchor="start", size=11, colour="#333"):
    words = words.replace("&", "&amp;").replace("<", "&lt;")
    return (f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" '
            f'fill="{colour}">{words}</text>')


def page(width, height, parts):
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height:.0f}" '
            f'font-family="sans-serif"><rect width="100%" height="100%" fill="#fff"/>'
            + "\n".join(parts) + "</svg>\n")


def legend(names, colours, y):
    parts, x = [], 10
    for name in names:
        parts.append(f'<rect x="{x}" y="{y - 9}" width="10" height="10" fill="{colours[name]}"/>')
        parts.append(text(x + 14, y, name))
        x += 34 + 7 * len(name)
    return parts


def lines(title, levels, series, colours):
    """One line a name of `series`, over evenly spaced `levels`."""
    wide, high, left, top = 860, 420, 80, 60
    most = max((max(values) for values in series.values()), default=1) * 1.05
    across, down = wide - left - 20, high - top - 40
    parts = [text(10, 20, title, size=15), *legend(series, colours, 40)]
    for step in range(5):
        y = top + down * (1 - step / 4)
        parts.append(f'<path d="M{left} {y:.1f}H{wide - 20}" stroke="#ddd"/>')
        parts.append(text(left - 8, y + 4, f"{most * step / 4:,.0f}", "end", 10))
    places = [left + across * (at + 0.5) / len(levels) for at in range(len(levels))]
    parts += [text(x, high - 18, str(level), "middle", 10) for x, level in zip(places, levels)]
    for name, values in series.items():
        points = [(x, top + down * (1 - value / most)) for x, value in zip(places, values)]
        path = "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
        parts.append(f'<path d="M{path}" stroke="{colours[name]}" stroke-width="2" fill="none"/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colours[name]}"/>' for x, y in points]
    return page(wide, high, parts)
