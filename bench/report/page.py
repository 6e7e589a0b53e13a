"""The report: one page that needs nothing else, with every row, plot, version, command and spread.

It draws sheets (`sheet.py`) and measures nothing. The words beside a row follow from its figures by the
rules of `method.py`; what was not measured is grey and says why.
"""

import html
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import method  # noqa: E402
import sheet  # noqa: E402
import svg  # noqa: E402

HERE = Path(__file__).resolve().parent
COLOURS = ["#0b8ec4", "#d9733b", "#4f9d5d", "#9a78c2", "#c9a227", "#c2527f", "#5f7f95", "#8d8d8d", "#3aa79b", "#a0673c"]
KINDS = {"ahead": "good", "ours": "good", "behind": "bad", "tie": "even", "pass": "good", "miss": "bad", "open": "even",
         "told": "soft"}


def escape(words):
    return html.escape(str(words))


def number(value):
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def is_ours(name):
    return name.startswith(sheet.OURS)


def is_floor(name):
    """Null servers, however much they compute."""
    return name.split()[0] == "null"


def best_peer(row):
    """The peer that is hardest to beat, floors aside."""
    known = {name: it["values"] for name, it in row["servers"].items() if not is_ours(name) and not is_floor(name)}
    if not known:
        return None
    best = min if row["better"] == "less" else max
    return best(known, key=lambda name: method.middle(known[name]))


def our_column(row):
    """The plain one, or the best of those that are ours by another setting."""
    own = [name for name in row["servers"] if is_ours(name)]
    if sheet.OURS in own or not own:
        return sheet.OURS if own else None
    best = min if row["better"] == "less" else max
    return best(own, key=lambda name: method.middle(row["servers"][name]["values"]))


def busy(row, name):
    """How busy the client of this cell was; nothing where that is not known."""
    found = row["servers"][name]["busy"]
    return method.middle(found) if found else None


def compared(row):
    """(ratio to the best peer, its name, the verdict) or nothing. Of two rates the lower one must be the
    server's: where its client was full, nothing is said of who is ahead."""
    ours, best = our_column(row), best_peer(row)
    if not ours or not best:
        return None
    mine, theirs = sheet.values(row, ours), sheet.values(row, best)
    if not method.is_told(mine, theirs, busy(row, ours), busy(row, best), row["better"]):
        return method.ratio(mine, theirs), best, "client full, nothing is told"
    return method.ratio(mine, theirs), best, method.verdict(mine, theirs, row["better"])


def tally(data):
    """How many rows are ahead, level, behind; how many marks are reached."""
    words = [found[2].split(",")[0].split()[0] for found in map(compared, data["rows"]) if found]
    states = [mark["state"] for row in data["rows"] for mark in row["marks"]]
    return {"ahead": words.count("ahead") + words.count("ours"), "tie": words.count("tie"),
            "behind": words.count("behind"), "pass": states.count("pass"), "miss": states.count("miss")}


def reading(data):
    """What the section says, in plain words."""
    count = tally(data)
    compared_rows = count["ahead"] + count["tie"] + count["behind"]
    said = "No peer stands beside these figures." if not compared_rows else (
        f"Of {compared_rows} questions that a peer could be asked too, Tidegate is ahead of the best of them in "
        f"{count['ahead']}, level in {count['tie']} and behind in {count['behind']}.")
    worst = [(row, found) for row in data["rows"] if (found := compared(row)) and found[2].startswith("behind")]
    if worst:
        row, found = max(worst, key=lambda it: abs(it[1][0] - 1))
        said += f" It is furthest behind in “{row['title']}”: {found[0]:.2f} × {found[1]}."
    full = sum(method.is_client_bound(busy(row, it)) for row in data["rows"] for it in row["servers"])
    if full:
        said += (f" In {full} cells the client had nothing left to give: rates there are at least so high, "
                 "and only the processor time of the server is a figure of its own.")
    if data["machine"].get("pinning"):
        said += f" Pinning: {data['machine']['pinning']}."
    if any(len(it["values"]) < 3 for row in data["rows"] for it in row["servers"].values()):
        said += " Some cells have fewer than three rounds: they show that it works, not how fast it is."
    return said


def cell(row, name):
    if name in row["servers"]:
        found = row["servers"][name]
        low, high = method.spread(found["values"])
        spread = f"{number(low)} to {number(high)}" if len(found["values"]) > 1 else "one round"
        kind = "number ours" if is_ours(name) else "number"
        is_full = method.is_client_bound(busy(row, name))
        least = "≥ " if is_full and row["better"] == "more" else ""
        note = found["note"]
        if is_full and "client was full" not in note:
            note = " · ".join(filter(None, [note, f"the client was full: {busy(row, name):.0%}"]))
        return (f'<td class="{kind}" data-of="{escape(name)}"><span><b>{least}{number(method.middle(found["values"]))}</b>'
                f'<small>{spread}</small><small>{escape(note)}</small></span></td>')
    why = row["absent"].get(name, "")
    return (f'<td class="absent" data-of="{escape(name)}"><span>–<small>{escape(why)}</small></span></td>' if why
            else '<td class="absent"></td>')


def verdict_cell(row):
    parts = []
    found = compared(row)
    if found and found[0] is not None:
        kind = KINDS.get(found[2].split(",")[0].split()[0], "soft")
        parts.append(f'<b class="{kind}">{escape(found[2])}</b><small>{found[0]:.2f} × {escape(found[1])}</small>')
    parts += [f'<small class="{KINDS[mark["state"]]}">{escape(method.mark_in_words(mark))}</small>'
              for mark in row["marks"]]
    return f'<td data-of="verdict"><span>{"".join(parts)}</span></td>' if parts else "<td></td>"


def table(data, rows):
    names = list(dict.fromkeys(name for row in rows for name in [*row["servers"], *row["absent"]]))
    names.sort(key=lambda name: (not is_ours(name), is_floor(name)))
    has_published = any(row["published"] for row in rows)
    has_verdict = any(compared(row) or row["marks"] for row in rows)
    head = ["question", *(["reference"] if has_published else []), *(["verdict"] if has_verdict else []), *names, *data["missing"]]
    lines = ["<div class=scroll><table><thead><tr>", *(f"<th>{escape(it)}</th>" for it in head), "</tr></thead><tbody>"]
    for row in rows:
        lines.append(f'<tr><td class="row">{escape(row["title"])}<small>{escape(row["unit"])}</small>'
                     f'<small>{escape(row["note"])}</small></td>')
        if has_published:
            lines.append(f'<td class="published" data-of="reference"><span>{escape(row["published"]).replace("; ", "<br>")}</span></td>'
                         if row["published"] else "<td></td>")
        if has_verdict:
            lines.append(verdict_cell(row))
        lines += [cell(row, name) for name in names]
        lines += [f'<td class="absent" data-of="{escape(it)}"><span>not at hand</span></td>' for it in data["missing"]]
        lines.append("</tr>")
    return "".join([*lines, "</tbody></table></div>"])


def tables(data):
    """One table for the rows that have the same servers: a column of dashes says nothing."""
    groups = {}
    for row in data["rows"]:
        groups.setdefault(frozenset([*row["servers"], *row["absent"]]), []).append(row)
    return "".join(table(data, rows) for rows in groups.values())


def drawn(plot):
    colours = dict(zip(plot["series"], COLOURS * 3))
    if plot["log"]:
        chart = svg.growth(plot["title"], plot["x"], plot["y"], plot["series"], colours)
    else:
        chart = svg.lines(f"{plot['title']} ({plot['y']} by {plot['x']})", plot["levels"], plot["series"], colours)
    return f"<div class=scroll>{chart}</div>"


def counted(data):
    count = tally(data)
    names = {"ahead": "good", "tie": "even", "behind": "bad", "pass": "good", "miss": "bad"}
    words = {"tie": "level", "pass": "marks reached", "miss": "marks not reached"}
    return "<div class=tally>" + "".join(
        f'<div><b class="{names[it]}">{count[it]}</b>{words.get(it, it)}</div>' for it in names if count[it]) + "</div>"


def section(data):
    machine = data["machine"]
    told = "; ".join(f"{escape(name)}: {escape(version)}" for name, version in data["versions"].items())
    told += "".join(f"; {key.replace('_', ' ')}: {escape(machine[key])}" for key in machine)
    return (f'<section id="{data["bench"]}"><h2>{escape(data["title"])}</h2><p class=soft>{escape(data["question"])}</p>'
            f"{counted(data)}<p>{escape(reading(data))}</p>{''.join(map(drawn, data['plots']))}{tables(data)}"
            f"<details><summary>Versions, machine, command</summary><p><code>{told}</code></p></details></section>")


def absences(left_out):
    """The benchmarks that could not run at all, and why."""
    if not left_out:
        return ""
    rows = "".join(f'<tr><td class="absent">{escape(name)}</td><td class="absent">{escape(why)}</td></tr>'
                   for name, why in left_out.items())
    return f'<section id="absent"><h2>Not measured on this machine</h2><table><tbody>{rows}</tbody></table></section>'


def page(sheets, machine, left_out=None):
    links = "".join(f'<a href="#{it["bench"]}">{escape(it["title"])}</a>' for it in sheets)
    style = (HERE / "style.css").read_text()
    fewer = f" · {machine['rounds']}" if machine.get("rounds") else ""
    return f"""<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content="width=device-width,initial-scale=1">
<title>Tidegate, measured</title><style>{style}</style><main><h1>Tidegate, measured</h1>
<p class=soft>{escape(machine["date"])} · {escape(machine["processor"])} · {machine["cores"]} processors · Linux
{escape(machine["kernel"])} · commit {escape(machine["commit"])}{escape(fewer)}</p>
<p>Every figure is the middle one of its rounds, with the least and the most below it. Processor time is that of all the
server's processes by the answers they completed; a rate is marked where the client, not the server, was at its end.
What differs by less than one part in twenty, or by less than its spread, is called level. The reference's figures
are from other machines and years: compare shapes, not numbers.</p><nav>{links}</nav>
{"".join(map(section, sheets))}{absences(left_out)}</main></html>
"""
