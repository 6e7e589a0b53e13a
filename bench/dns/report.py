"""What was measured, as text while it runs, as tables for docs/performance/dns.md afterwards."""

import statistics
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import method  # noqa: E402

PEERS = ["oxidns", "mosdns", "dnsdist", "unbound"]
OURS = "tidegate"


def middle(rounds, key):
    return statistics.median(one[key] for one in rounds)


def spread(rounds, key):
    values = [one[key] for one in rounds]
    return min(values), max(values)


def ratio(ours, theirs):
    return f"{ours / theirs:.2f}" if ours and theirs else "-"


def header(results):
    machine = results["machine"]
    lines = [f"{machine['kernel']}, {machine['cores']} cores, {machine['date']}, commit "
             f"{machine['commit']}; {machine['method']}; pinning {machine['pinning']}"]
    lines += [f"  {name}: {version}" for name, version in results["versions"].items()]
    return "\n".join(lines)


def text(entry):
    """One scenario or one level of the sweep."""
    level = f" {entry['level']}" if entry["level"] else ""
    lines = [f"\n{entry['name']}: {entry['title']} ({entry['kind']}{level})"]
    ours = entry["servers"].get(OURS) or entry["servers"].get("tidegate-simple")
    for name, rounds in entry["servers"].items():
        if not rounds:
            lines.append(f"  {name:16} {entry['absent'].get(name, 'not at hand')}")
            continue
        if entry["kind"] == "burst":
            lines.append(f"  {name:16} {middle(rounds, 'answered'):.0f}")
            continue
        mean, jitter = middle(rounds, "mean_us"), middle(rounds, "jitter_us")
        if entry["kind"] == "sweep":
            lines.append(f"  {name:16} {mean:8,.0f} ±{jitter:,.0f} µs")
            continue
        cpu = middle(rounds, "cpu_us")
        least, most = spread(rounds, "cpu_us")
        lines.append(
            f"  {name:16} {cpu:6.2f} µs CPU ({least:.2f}-{most:.2f})  ours/it "
            f"{ratio(ours and middle(ours, 'cpu_us'), cpu):>4}  {method.rate_of(rounds)}"
            f"  {mean:8,.0f} ±{jitter:,.0f} µs  lost {middle(rounds, 'lost'):.0f}"
            f"  upstream {middle(rounds, 'upstream'):.2f}  {middle(rounds, 'resident_mb'):.0f} MB")
    lines += [f"  {name:16} {why}" for name, why in entry["absent"].items() if name not in entry["servers"]]
    return "\n".join([*lines, *method.entry_in_pairs(entry)])


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def cell(rounds, key, form):
    return form.format(middle(rounds, key)) if rounds else "-"


def at_least(rounds):
    """Before a rate that the client could not have raised."""
    return "≥ " if method.is_client_bound(method.busy_of(rounds)) else ""


def present(entries):
    """The servers that were measured in any of these, ours first."""
    names = {name for entry in entries for name, rounds in entry["servers"].items() if rounds}
    order = [OURS, "tidegate-simple", "tidegate+log", *PEERS, "null"]
    return [name for name in order if name in names]


def load_tables(entries):
    servers = present(entries)
    peers = [name for name in PEERS if name in servers]
    rows, rates = [], []
    for entry in entries:
        rounds = {name: entry["servers"].get(name) or [] for name in servers}
        ours = rounds.get(OURS) or rounds.get("tidegate-simple")
        rows.append([entry["name"], entry["title"], *[cell(rounds[n], "cpu_us", "{:.1f}") for n in servers],
                     *["**" + ratio(ours and middle(ours, "cpu_us"),
                                    rounds[n] and middle(rounds[n], "cpu_us")) + "**" for n in peers]])
        rates.append([entry["name"], *[
            at_least(rounds[n]) + " · ".join(cell(rounds[n], key, "{:,.0f}")
                                             for key in ("per_second", "mean_us", "lost"))
            if rounds[n] else "-" for n in servers]])
    cpu = table(["", "scenario", *servers, *[f"/ {name}" for name in peers]], rows)
    rate = table(["", *servers], rates)
    return (f"µs of server CPU a query, median of the rounds:\n\n{cpu}\n\n"
            f"Queries a second · mean latency in µs · lost, under that load (a lost query is not sent "
            f"again: who loses 800 of 1,024 is measured with the other 200; ≥ where the client was full):\n\n{rate}")


def sweep_table(level, entries):
    servers = [name for name in present(entries) if name != "null"]
    rows = []
    for entry in entries:
        row = [entry["title"]]
        for name in servers:
            rounds = entry["servers"].get(name) or []
            row.append(f"{cell(rounds, 'mean_us', '{:,.0f}')} ± {cell(rounds, 'jitter_us', '{:,.0f}')}"
                       if rounds else "-")
        rows.append(row)
    return f"clients = outstanding = {level}: mean ± standard deviation, µs\n\n" + table(
        ["scenario", *servers], rows)


def burst_table(entries):
    servers = present(entries)
    return table(["answered of 4,096", *servers], [
        [entry["title"], *[cell(entry["servers"].get(name) or [], "answered", "{:,.0f}")
                           for name in servers]] for entry in entries])


def markdown(results):
    parts = ["```\n" + header(results) + "\n```"]
    for kind, title in [("load", "Under load"), ("burst", "A burst of 4,096 queries")]:
        entries = [entry for entry in results["entries"] if entry["kind"] == kind]
        if entries:
            parts.append(f"## {title}\n\n" + (load_tables if kind == "load" else burst_table)(entries))
    levels = sorted({entry["level"] for entry in results["entries"] if entry["kind"] == "sweep"})
    if levels:
        parts.append("## Latency with few clients")
    for level in levels:
        parts.append(sweep_table(level, [entry for entry in results["entries"]
                                         if entry["kind"] == "sweep" and entry["level"] == level]))
    return "\n\n".join(parts) + "\n"
