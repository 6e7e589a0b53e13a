"""What a benchmark found, in the one form that the report reads: rows of servers, marks and plots.

A row is one question: its title, its unit, the rounds of every server, the reference's published
figure where there is one, what is wanted, and what was left out and why. Saved after every row as
bench/out/sheets/NAME.json, so that a run that is stopped has not measured in vain.
"""

import json
from pathlib import Path

import method

OUT = Path(__file__).resolve().parent / "out"
OURS = "tidegate"
ABSENT_MAX = 240  # letters of a reason


class Sheet:
    """The results of one benchmark."""

    def __init__(self, name, title, question, versions, missing=()):
        self.name = name
        self.data = {"bench": name, "title": title, "question": question, "machine": method.machine(),
                     "versions": versions, "missing": list(missing), "rows": [], "plots": []}

    def add(self, row):
        self.data["rows"].append(row)
        self.save()
        print(text(row), flush=True)

    def plot(self, title, levels, series, x, y, is_log=False):
        """One line a server; a log-log plot where the question is how a cost grows."""
        self.data["plots"].append({"title": title, "levels": list(levels), "series": series, "x": x, "y": y,
                                   "log": is_log})
        self.save()

    def save(self):
        folder = OUT / "sheets"
        folder.mkdir(parents=True, exist_ok=True)
        part = folder / f"{self.name}.part"
        part.write_text(json.dumps(self.data, indent=1))
        part.replace(folder / f"{self.name}.json")


def row(name, title, unit, better="less"):
    return {"name": name, "title": title, "unit": unit, "better": better, "servers": {}, "absent": {},
            "marks": [], "published": "", "note": ""}


def measured(into, server, value, note="", busy=None):
    """One round of one server. `note` is the last round's; `busy` is its client's."""
    found = into["servers"].setdefault(server, {"values": [], "note": "", "busy": []})
    found["values"].append(value)
    found["note"] = note
    if busy is not None:
        found["busy"].append(busy)


def left_out(into, server, why):
    """A server that failed in one round has no figure at all: half a row would flatter it."""
    into["servers"].pop(server, None)
    into["absent"][server] = str(why)[:ABSENT_MAX]


def values(of, server):
    return of["servers"].get(server, {}).get("values", [])


def wanted(of, share, peers, ours=OURS):
    """Adds a mark: ours at most `share` of the best of the peers whose names begin so."""
    known = {name: values(of, name) for name in of["servers"]
             if name != ours and any(name.startswith(peer) for peer in peers)}
    of["marks"].append(method.mark(values(of, ours), known, share, of["better"]))


def in_pairs(of, pairs):
    """Adds what `pairs` of the row's two servers say, where they were measured so; it is nothing to be reached."""
    said = method.pair_in_words(*((name, values(of, name)) for name in of["servers"]), pairs) \
        if pairs and len(of["servers"]) == 2 else ""
    if said:
        of["marks"].append({"state": "told", "said": said})


def text(of):
    """A row for the terminal."""
    lines = [f"\n{of['name']}: {of['title']} [{of['unit']}]"]
    ours = next((values(of, name) for name in of["servers"] if name == OURS), [])
    for name, found in of["servers"].items():
        low, high = method.spread(found["values"])
        share = method.ratio(ours, found["values"])
        compared = "" if name == OURS or share is None else \
            f"  ours/it {share:.2f}: {method.verdict(ours, found['values'], of['better'])}"
        lines.append(f"  {name:26} {method.middle(found['values']):9.2f} ({low:.2f}-{high:.2f})  {found['note']}{compared}")
    lines += [f"  {name:26} {why}" for name, why in of["absent"].items()]
    lines += [f"  {method.mark_in_words(mark)}" for mark in of["marks"]]
    return "\n".join(lines)
