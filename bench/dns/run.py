#!/usr/bin/env python3
"""CPU time of DNS servers per answered query, side by side on one machine.

    OXIDNS_BIN=... MOSDNS_BIN=... TIDEGATE_BIN=... bench/dns/run.py [scenario ...]

Scenarios: hit (a warm cache), local (records of one's own), set (144 k names: ten names of it and
eight others), patterns (the same with 163 regular expressions), burst (4,096 queries at once). Rounds alternate between the servers;
the median counts. Answers are checked before every round, and their mix in it. A peer that is not
at hand is a grey column. dnsperf and cc must be installed; RULES names the domain set in geosite
text form.
"""

import argparse
import os
import random
import re
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from servers import (CACHED, HERE, LOCAL, RULES_OF, UPSTREAM_ADDRESS, Dnsdist, Mosdns, Null, Oxidns, Tidegate,
                     TidegateLogging, Upstream, wire_query)

RULES = os.environ.get("RULES", str(HERE.parents[2] / "shared/data/dns-compare/data"))
BURST = 4096
SERVERS = [Null, Tidegate, TidegateLogging, Dnsdist, Oxidns, Mosdns]


def read_rules():
    """(kind, text) of every line of the domain set; (nothing) where it is not at hand."""
    files = sorted(Path(RULES).glob("geosite_*.txt")) if Path(RULES).is_dir() else [Path(RULES)]
    rules = []
    for file in files:
        for line in file.read_text().splitlines():
            kind, found, text = line.partition(":")
            if found and kind in ("full", "domain", "regexp"):
                rules.append((kind, text))
            elif line and not found:
                rules.append(("domain", line))
    return rules


def questions(scenario, rules):
    """Names to ask for with the answer that is right: (name, rcode, address or nothing)."""
    if scenario == "local":
        return [(name, 0, v4) for name, v4, _ in LOCAL]
    if scenario in RULES_OF:
        names = [text for kind, text in rules if kind in ("full", "domain")]
        blocked = random.Random(1).sample(names, 10)
        return [(name, 5, None) for name in blocked] + [(name, 0, UPSTREAM_ADDRESS)
                                                       for name in CACHED[:8]]
    return [(name, 0, UPSTREAM_ADDRESS) for name in CACHED]


def check(server, wanted):
    for name, rcode, address in wanted:
        got = server.ask(name)
        if got is None or got[0] != rcode or (address and got[1] != address):
            raise RuntimeError(f"{server.name} answers {name} with {got}, not {rcode} {address}")


def load(server, wanted, seconds):
    """Microseconds of CPU per query, queries a second and mean latency in µs of one round."""
    queries = server.folder / "queries.txt"
    queries.write_text("".join(f"{name} A\n" for name, _, _ in wanted))
    command = ["dnsperf", "-s", "127.0.0.1", "-p", str(server.port), "-d", queries,
               "-c", "32", "-q", "1024", "-T", "1", "-l", str(seconds)]
    before = server.cpu_seconds()
    report = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    spent = server.cpu_seconds() - before

    def figure(label):
        return float(re.search(label + r":?\s+([\d.]+)", report)[1])

    completed = figure("Queries completed")
    if figure("Queries lost") > completed / 100:
        raise RuntimeError(f"{server.name} lost {figure('Queries lost')} of {completed} queries")
    if server.name != "null":
        names = {0: "NOERROR", 5: "REFUSED"}
        for rcode, word in names.items():
            expected = 100 * sum(1 for one in wanted if one[1] == rcode) / len(wanted)
            seen = re.search(rf"{word} \d+ \(([\d.]+)%\)", report)
            if abs((float(seen[1]) if seen else 0) - expected) > 1:
                raise RuntimeError(f"{server.name} answered {seen} {word}, not {expected:.0f} %")
    return (1e6 * spent / completed, figure("Queries per second"), 1e6 * figure(r"Average Latency \(s\)"))


def burst(server, wanted):
    """How many of 4,096 queries are answered that arrive while the server is held for a moment."""
    client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    for option in (33, socket.SO_RCVBUF):  # 33 is SO_RCVBUFFORCE
        try:
            client.setsockopt(socket.SOL_SOCKET, option, 16 << 20)
            break
        except PermissionError:
            pass
    client.connect(("127.0.0.1", server.port))
    server.process.send_signal(signal.SIGSTOP)
    time.sleep(0.1)
    for number in range(BURST):
        client.send(wire_query(number, wanted[number % len(wanted)][0]))
    server.process.send_signal(signal.SIGCONT)
    client.settimeout(1)
    seen = set()
    try:
        while len(seen) < BURST:
            seen.add(client.recv(4096)[:2])
    except OSError:
        pass
    return len(seen)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("scenario", nargs="*", default=["hit", "local", "set", "patterns", "burst"])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=5)
    options = parser.parse_args()
    Upstream().start()
    rules = read_rules()
    with tempfile.TemporaryDirectory() as folder:
        servers = [kind(5400 + i, folder, rules) for i, kind in enumerate(SERVERS)]
        print(f"{os.uname().release}, {os.cpu_count()} cores; {options.rounds} rounds of "
              f"{options.seconds} s; µs of server CPU a query, median (spread); answers of {BURST}")
        for scenario in options.scenario:
            run(scenario, servers, rules, options)


def run(scenario, servers, rules, options):
    wanted = questions(scenario, rules)
    results = {server.name: [] for server in servers}
    for _ in range(options.rounds):
        for server in servers:
            if not server.available():
                continue
            server.start(scenario)
            try:
                if server.name != "null":
                    check(server, wanted)
                if scenario == "burst":
                    results[server.name].append((burst(server, wanted), 0, 0))
                else:
                    results[server.name].append(load(server, wanted, options.seconds))
            finally:
                server.stop()
    print(f"\n{scenario}")
    ours = statistics.median([r[0] for r in results.get("tidegate", [])] or [float("nan")])
    for name, rounds in results.items():
        if not rounds:
            print(f"  {name:14} (not at hand)")
            continue
        column = [one[0] for one in rounds]
        middle = statistics.median(column)
        if scenario == "burst":
            print(f"  {name:14} {middle:.0f}")
            continue
        rate, wait = (statistics.median(one[i] for one in rounds) for i in (1, 2))
        print(f"  {name:14} {middle:6.2f} ({min(column):.2f}-{max(column):.2f})  "
              f"tidegate/{name} {ours / middle:5.2f}  {rate:9,.0f}/s  {wait:7,.0f} µs")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
