#!/usr/bin/env python3
"""Forward proxies side by side on one machine: CPU a request, and the reference's three tables.

    TIDEGATE_BIN=... POLIPO_BIN=... bench/proxy/run.py [case or table ...]

Cases: hit-one hit hit-new miss blocked blocked-new slow-readers. Tables (wget -r by 1, 2 and 3 clients at once, seconds):
local distant dynamic; the last two need root, for network namespaces and a wire that is 90 ms long.
Rounds alternate between the proxies and each begins with another; the median counts. `--pairs 9 --servers
tidegate,polipo` compares two in pairs (a b, b a ...) in every case named. Needs nginx as the
origin, wrk, ab and wget. Results go to bench/out: text, JSON and SVG.

blocked: the answer by policy, the null one or a 403, for a host that every proxy was told to refuse; the origin
is behind that name, and must not be asked. tinyproxy closes every connection: blocked-new has it, too.
slow-readers: 100 readers of 100 MB each at 2 MB/s take 50 s of each proxy; one that has not served them after
150 s, or has 4 GiB resident, is stopped, and says what share was read. `--megabytes 4` is a quick one.
"""

import argparse
import json
import resource
import statistics
import sys
import tempfile
from pathlib import Path

import blocked
import cases
import corpus
import servers  # first: it says where method and svg are
import method
import tables
import svg
from slow_readers import PACE, READERS

OUT = servers.HERE.parent / "out"
COLOURS = ["#0b6e99", "#c2307f", "#5b8e55", "#8a6fa8", "#b5834a", "#7a7a7a", "#b5b5b5", "#3d9ad1"]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    known = [*cases.CASES, "slow-readers", *tables.TABLES]
    parser.add_argument("what", nargs="*", default=known, help=", ".join(known))
    method.add_order(parser)
    parser.add_argument("--seconds", type=int, default=4, help="of one round of wrk")
    parser.add_argument("--megabytes", type=int, default=100, help="of each object of slow-readers; at 2 MB/s")
    parser.add_argument("--name", default="proxy", help="of the files in bench/out")
    options = parser.parse_args()
    if options.megabytes < 1:
        parser.error("--megabytes is at least 1")
    return options


def measure(name, folder, origin, options):
    title, work, key = cases.CASES[name]
    entry = {"name": name, "title": title, "key": key, "pairs": options.pairs, "servers": {}, "absent": {}}
    told = {"blocked": blocked.HOST} if name in cases.BY_POLICY else {}
    proxies = {proxy.name: proxy for proxy in servers.proxies(folder, **told)}
    for options.round, each in method.order(method.chosen(list(proxies), options), options):
        proxy = proxies[each]
        if name in proxy.left_out:
            entry["absent"][proxy.name] = proxy.left_out[name]
            continue
        alone(entry, proxy, origin, work, options)
    return entry


def slow_readers(folder, origin, options):
    """With 400 kB of cache, and Polipo with as much."""
    entry = {"name": "slow-readers", "title": f"{READERS} readers at {PACE // 1_000_000} MB/s, "
             f"{options.megabytes} MB each, 400 kB of cache", "key": "refetch", "pairs": 0, "servers": {}, "absent": {}}
    options.round = 0
    small = [servers.Tidegate(folder, 1, memory="400KiB"), servers.Polipo(folder, 2, marks=(409600, 819200)),
             servers.Squid(folder, 3)]
    only = options.servers and options.servers.split(",")
    for proxy in small:
        if proxy.program and (not only or proxy.name.split()[0] in only):
            alone(entry, proxy, origin, cases.slow, options)
    return entry


def alone(entry, proxy, origin, work, options):
    """One proxy at a time: what the others do must not be measured."""
    if proxy.name in entry["absent"]:
        return
    try:
        proxy.start()
        try:
            entry["servers"].setdefault(proxy.name, []).append(work(proxy, origin, options))
        finally:
            proxy.stop()
    except (RuntimeError, OSError) as why:
        entry["absent"][proxy.name] = str(why)[:300]
        entry["servers"].pop(proxy.name, None)


def middle(rounds, key):
    return statistics.median(it[key] for it in rounds)


def text(entry):
    key, lines = entry["key"], [f"\n{entry['name']}: {entry['title']}"]
    ours = next((rounds for name, rounds in entry["servers"].items() if name.startswith("tidegate")), None)
    for name, rounds in entry["servers"].items():
        value, values = middle(rounds, key), [it[key] for it in rounds]
        ratio = f"{middle(ours, key) / value:.2f}" if ours and value > 0 else "-"
        others = "  ".join(f"{other} {middle(rounds, other):,.1f}" for other in rounds[0]
                           if other not in (key, "per_second", "busy", "read", "seconds"))
        others = f"{method.rate_of(rounds)}  {others}" if "per_second" in rounds[0] else others
        others = f"{method.reading_in_words(rounds[-1])}  {others}" if "read" in rounds[-1] else others
        lines.append(f"  {name:16} {value:8.2f} {key} ({min(values):.2f}-{max(values):.2f})  "
                     f"ours/it {ratio}  {others}")
    lines += [f"  {name:16} {why}" for name, why in entry["absent"].items()]
    return "\n".join([*lines, *method.entry_in_pairs(entry)])


def told(table):
    lines = [f"\n{table['name']}: {table['title']}, seconds for {tables.CLIENTS} clients (median of {table['rounds']})"]
    for name, seconds in table["seconds"].items():
        middles = "  ".join(f"{statistics.median(it):6.2f}" for it in seconds)
        full = any(method.is_client_bound(statistics.median(it)) for it in table["busy"][name])
        lines.append(f"  {name:24} {middles}{'  (wget was full)' if full else ''}")
    lines += [f"  {name:24} {why}" for name, why in table["absent"].items()]
    lines.append(f"  {tables.verdict(table)}")
    return "\n".join(lines)


def main():
    options = arguments()
    unknown = [it for it in options.what if it not in [*cases.CASES, "slow-readers", *tables.TABLES]]
    if unknown:
        sys.exit(f"no case is called {unknown[0]}")
    if not servers.Origin.program:
        sys.exit("nginx is not at hand, and it is the origin: make bench-peers")
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(most, 20000), most))
    results = {"entries": [], "tables": [], "machine": method.machine()}
    method.stand_aside()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        corpus.write(folder / "www", options.megabytes * 1_000_000)
        versions = {it.name: it.version() for it in servers.proxies(folder)}
        machine = results["machine"]
        print(f"{machine['kernel']}, {machine['cores']} cores, pinning {machine['pinning']}, {method.how_often(options)};",
              "; ".join(f"{name}: {version}" for name, version in versions.items()))
        results["versions"] = versions
        OUT.mkdir(exist_ok=True)
        origin = servers.Origin(folder, 0).start()
        try:
            for word in options.what:
                if word in tables.TABLES or options.pairs and word not in cases.CASES:
                    continue
                entry = slow_readers(folder, origin, options) if word == "slow-readers" else \
                    measure(word, folder, origin, options)
                results["entries"].append(entry)
                print(text(entry), flush=True)
        finally:
            origin.stop()
        for word in options.what:
            if word in tables.TABLES and not options.pairs:
                table = tables.measure(word, folder, options.rounds)
                results["tables"].append(table)
                print(told(table), flush=True)
                series = {name: [statistics.median(it) for it in seconds]
                          for name, seconds in table["seconds"].items()}
                colours = dict(zip(series, COLOURS * 2))
                plot = svg.lines(f"{table['title']}: seconds (less is better)", tables.CLIENTS, series, colours)
                (OUT / f"{options.name}-{word}.svg").write_text(plot)
        (OUT / f"{options.name}.json").write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
