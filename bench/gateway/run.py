#!/usr/bin/env python3
"""Gateways side by side on one machine: CPU a request, rates, latencies, failed requests.

    TIDEGATE_BIN=... bench/gateway/run.py [case ...] [--quick]

Cases: pass pass-large pass-new pass-steady block-10 block-1k block-100k block-1m regex-10k clean-1k clean-100k
clean-regex cached cached-large slow-one killed reloaded httperf. Rounds alternate between the servers,
medians count, answers are checked before each, and the origin is bench/null/http.c. HAProxy, nginx,
Squid, Varnish and Perlbal where they are installed (`make bench-peers`); needs wrk, cc and, for the
reference's table, httperf. `--pairs N --servers tidegate,nginx` compares two in pairs (a b, b a ...),
for differences that are smaller than the drift of the machine.
"""

import argparse
import resource
import shutil
import sys
from pathlib import Path

import cases
import faults
import rates
import servers

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import method  # noqa: E402
import process  # noqa: E402
import sheet  # noqa: E402

FAULTS = {"slow-one": faults.slow_one, "killed": faults.killed, "reloaded": faults.reloaded}
# Of the second floor: what a gateway needs at least to read and write two heads.
COMPUTING_US = 5
ALL = [*cases.CASES, *FAULTS, "httperf"]
QUICK = ["pass", "block-10", "block-1k", "cached", "slow-one", "killed", "reloaded", "httperf"]
QUESTION = ("What does a request cost a gateway that passes it on, refuses it by its URL or answers it from its "
            "cache; and what do clients notice of a slow server, of one that dies, and of a reload?")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", nargs="*")
    parser.add_argument("--quick", action="store_true", help="one short round of the main cases")
    method.add_order(parser)
    parser.add_argument("--seconds", type=int, default=4, help="of one round")
    parser.add_argument("--name", default="gateway", help="of the sheet in bench/out/sheets")
    options = parser.parse_args()
    options.reloads, options.rate_max = faults.RELOADS, rates.LAST
    if options.quick:
        options.rounds, options.seconds, options.reloads, options.rate_max = 1, 1, 20, 4000
    options.what = options.what or (QUICK if options.quick else ALL)
    unknown = set(options.what) - set(ALL)
    if unknown:
        parser.error(f"no case is called {unknown.pop()}")
    return options


def chosen(case, folder, options):
    every = servers.blocking(folder) if case.blocked else servers.all_of(folder)
    if case.has_floor:
        every += [servers.Null(folder), servers.Null(folder, COMPUTING_US)]
    families = method.chosen(list(dict.fromkeys(it.family for it in every)), options)
    if options.pairs:  # each by the first of its ways
        every = list({it.family: it for it in reversed(every)}.values())[::-1]
    return {it.name: it for it in every if it.family in families}


def measure(name, folder, program, options):
    """One row: every server by turns, or two in pairs."""
    case = cases.CASES[name]
    runners = chosen(case, folder, options)
    found = sheet.row(name, case.title, "µs of CPU a request")
    per_second = None
    if case.is_steady:
        if not shutil.which("h2load"):
            return None
        per_second = half_of_the_slowest(runners, case, folder, program, found)
        found["title"] += f": {per_second:,.0f}/s"
    for _, turn in method.order(list(runners), options):
        if turn not in found["absent"]:
            attempt(found, runners[turn], case, folder, program, options, per_second)
    sheet.in_pairs(found, options.pairs)
    if case.wanted:
        sheet.wanted(found, case.wanted, case.rivals)
    return found


def half_of_the_slowest(runners, case, folder, program, found):
    """The rate that every server can be asked at: half of what the slowest answers when it is asked all it can."""
    best = {}
    for name, server in runners.items():
        try:
            best[name] = cases.measure(server, case, program, folder, 1)["per_second"]
        except (RuntimeError, OSError) as why:
            sheet.left_out(found, name, why)
    if not best:
        raise RuntimeError("no server could be measured")
    return min(best.values()) / 2


def attempt(found, server, case, folder, program, options, per_second=None):
    try:
        figures = cases.measure(server, case, program, folder, options.seconds, per_second)
        sheet.measured(found, server.name, figures["cpu_us"], cases.note(figures), figures["busy"])
    except (RuntimeError, OSError) as why:
        sheet.left_out(found, server.name, why)


def grown(rows):
    """How the cost of blocking grows with the number of patterns: flat is wanted."""
    known = {it["name"]: sheet.values(it, sheet.OURS) for it in rows}
    found = sheet.row("block-growth", "blocking by the most patterns, to blocking by ten", "ratio")
    sizes = [it for it in cases.BLOCKS if known.get(it)]
    if len(sizes) < 2 or sizes[0] != "block-10":
        return None
    share = method.ratio(known[sizes[-1]], known["block-10"])
    sheet.measured(found, sheet.OURS, share, f"{cases.CASES[sizes[-1]].title} to {cases.CASES[sizes[0]].title}")
    found["marks"].append({"state": "pass" if share <= cases.CHECKED_FLAT else "miss",
                           "said": f"{share:.2f}, wanted at most {cases.CHECKED_FLAT}"})
    if known.get("regex-10k"):
        share = method.ratio(known["regex-10k"], known["block-10"])
        found["marks"].append({"state": "pass" if share <= cases.CHECKED_REGEX else "miss",
                               "said": f"10,000 expressions: {share:.2f}, wanted at most {cases.CHECKED_REGEX}"})
    return found


def main():
    options = arguments()
    if not servers.Tidegate.program:
        sys.exit("no tidegate: make dist, or set TIDEGATE_BIN")
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(most, 20000), most))
    with process.open_folder() as folder:
        program = servers.null_program(folder)
        versions = {it.family: it.version() for it in servers.all_of(folder)}
        into = sheet.Sheet(options.name, "The gateway", QUESTION, versions, servers.missing(folder))
        print("\n".join(f"{name}: {version}" for name, version in versions.items()))
        for word in options.what:
            if word in cases.CASES:
                row = measure(word, folder, program, options)
                if row:
                    into.add(row)
                else:
                    print("h2load is not at hand: make bench-peers")
            elif word in FAULTS:
                into.add(FAULTS[word](folder, program, options))
            elif shutil.which("httperf"):
                rates.table(folder, program, options, into)
            else:
                print("httperf is not at hand: make bench-peers")
        growth = grown(into.data["rows"])
        if growth:
            into.add(growth)


if __name__ == "__main__":
    main()
