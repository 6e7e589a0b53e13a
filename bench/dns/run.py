#!/usr/bin/env python3
"""DNS servers side by side on one machine: CPU a query, rate, latency, bursts.

    OXIDNS_BIN=... MOSDNS_BIN=... TIDEGATE_BIN=... bench/dns/run.py [family or scenario ...]

Families: pack (the compare pack's core and server rows, PACK names its folder), own (hit, local,
forward, set, patterns, set118k, set1m, trace), encrypted (dot, doh, doq), sweep (latency of the
pack's rows with 1, 2 and 4 outstanding queries), burst (4,096 at once). A single row is named by
itself: `01`, `hit`, `sweep:06`. Rounds alternate between the servers and the median counts;
`--pairs 9 --servers tidegate,oxidns` compares two in pairs (a b, b a ...), for small differences. Answers
are checked before and during every round. A peer that is not at hand is a grey column, a row whose part
of the pack is not there a grey row that says so. Needs
dnsperf, cc, openssl, and cargo for doh and doq. Results go to bench/out: text, JSON and SVG plots.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import load
import own
import pack
import plots
import report
import servers  # first: it says where method is
import method
import process
from tasks import Place

OUT = servers.HERE.parent / "out"
FIRST_PORT = 15300
UPSTREAM_PORT = 15390
SECURE_UPSTREAM_PORT = 15394
LEVELS = (1, 2, 4)
# Other configurations of Tidegate: what they cost is seen under load, not in how soon a lone query is answered.
VARIANTS = {servers.TidegateSimple.name, servers.TidegateLogging.name}
ERROR_MAX = 240
BURSTS = ["hit", "local"]
KEYS = {"load": "cpu_us", "sweep": "mean_us", "burst": "answered"}  # the figure of each kind that counts


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", nargs="*", default=["pack", "own", "encrypted", "burst", "sweep"])
    method.add_order(parser)
    parser.add_argument("--seconds", type=int, default=2, help="of one round")
    parser.add_argument("--warm", type=int, default=1, help="seconds of load before it")
    parser.add_argument("--delay", type=int, default=2000, help="of the null upstream, µs")
    parser.add_argument("--name", default="dns", help="of the files in bench/out")
    parser.add_argument("--markdown", action="store_true", help="print tables for the docs")
    parser.add_argument("--from", dest="source", help="print from this JSON, measure nothing")
    return parser.parse_args()


def chosen(what, folder):
    """(scenario, kind of measurement) for the words of the command line."""
    rows = {scenario.name: scenario for scenario in pack.scenarios()}
    jobs = []
    for word in what:
        kind, _, only = word.partition(":")
        if kind == "sweep":
            jobs += [(rows[name], "sweep") for name in rows if only in ("", name)]
        elif kind == "burst":
            jobs += [(one, "burst") for one in own.scenarios(only.split(",") if only else BURSTS, folder)]
        elif kind == "pack":
            jobs += [(scenario, "load") for scenario in rows.values()]
        elif kind in rows:
            jobs.append((rows[kind], "load"))
        else:
            named = own.scenarios(own.FAMILIES.get(kind, [kind]), folder)
            if not named:
                sys.exit(f"no family or scenario is called {word}")
            jobs += [(scenario, "load") for scenario in named]
    return jobs


def prepare(folder):
    """The certificate of the encrypted listeners, and the pack's data beside the configurations."""
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
                    "-nodes", "-days", "2", "-subj", "/CN=localhost", "-addext",
                    "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", folder / "key.pem",
                    "-out", folder / "cert.pem"], check=True, capture_output=True)
    if pack.PACK.is_dir():
        (folder / "data").symlink_to(pack.PACK / "data")


def secure_client(jobs):
    """Builds bench/secure-load where it is needed; nothing where that cannot be done: its rows are grey then."""
    if not any(scenario.mode in load.SECURE for scenario, _ in jobs) or not shutil.which("cargo"):
        return None
    crate = servers.HERE.parent / "secure-load"
    target = Path(os.environ.get("CARGO_TARGET_DIR") or crate / "target")
    done = subprocess.run(["cargo", "build", "--release", "--quiet", "--manifest-path", crate / "Cargo.toml"])
    return target / "release" / "secure-load" if done.returncode == 0 else None


def one_round(server, scenario, kind, level, place, options):
    text = server.config(scenario, place)
    server.start(scenario, place, text)
    try:
        load.check_all(server, scenario, place)
        if kind == "burst":
            return load.burst(server, scenario, place)
        load.warm(server, scenario, place, place.folder, options)
        if kind == "sweep":
            return load.measure(server, scenario, place, place.folder, options, level, level)
        return load.measure(server, scenario, place, place.folder, options)
    finally:
        server.stop()


def measure(scenario, kind, level, runners, folder, options):
    """All rounds of one row on every server that can do it."""
    entry = {"name": scenario.name, "title": scenario.title, "kind": kind, "level": level,
             "family": scenario.family, "key": KEYS[kind], "pairs": options.pairs,
             "servers": {}, "absent": {}}
    if scenario.lacking:
        entry["absent"] = {server.name: scenario.lacking for server in runners if server.available()}
        return entry
    places = {server.name: (server, Place(folder, FIRST_PORT + 4 * at, options.upstream.ports, options.secure_port))
              for at, server in enumerate(runners)}
    for _, name in method.order(list(places), options):
        if name in entry["absent"]:
            continue
        rounds, (server, place) = entry["servers"].setdefault(name, []), places[name]
        try:
            if not server.available():
                raise LookupError("not at hand")
            if server.config(scenario, place) is None:
                raise LookupError("cannot do this")
            rounds.append(one_round(server, scenario, kind, level, place, options))
        except (LookupError, RuntimeError, OSError) as error:
            entry["absent"][name] = str(error)[:ERROR_MAX]
            rounds.clear()
    return entry


def machine(options):
    return {**method.machine(),
            "method": f"{method.how_often(options)} of {options.seconds} s, upstream {options.delay} µs late, "
                      "dnsperf -c 32 -q 1024 -T 1 (sweep: -c N -q N)"}


def save(results, name):
    OUT.mkdir(exist_ok=True)
    (OUT / f"{name}.json").write_text(json.dumps(results, indent=1))
    (OUT / f"{name}.md").write_text(report.markdown(results))
    for plot, drawing in plots.draw(results).items():
        (OUT / f"{name}-{plot}.svg").write_text(drawing)


def main():
    options = arguments()
    if options.source:
        print(report.markdown(json.loads(Path(options.source).read_text())))
        return
    with process.open_folder() as folder:
        prepare(folder)
        jobs = chosen(options.what, folder)
        told = machine(options)
        method.stand_aside()
        options.secure_load = secure_client(jobs)
        options.upstream = servers.Upstream(servers.build("upstream.c", folder), UPSTREAM_PORT, 3,
                                            options.delay)
        front, options.secure_port = None, 0
        try:
            is_asked = any(scenario.name == pack.SECURE and not scenario.lacking for scenario, _ in jobs)
            if is_asked and servers.SecureUpstream.program:
                front = servers.SecureUpstream(folder, SECURE_UPSTREAM_PORT, options.upstream)
                options.secure_port = front.port
            every = {one.name: one for one in servers.all_of(folder)}
            runners = [every[it] for it in method.chosen(list(every), options)]
            results = {"machine": told, "entries": [], "versions": {
                one.name: one.version() for one in runners if one.available()}}
            print(report.header(results), flush=True)
            for scenario, kind in jobs:
                these = [it for it in runners if kind != "sweep" or it.name not in VARIANTS]
                for level in LEVELS if kind == "sweep" else (0,):
                    entry = measure(scenario, kind, level, these, folder, options)
                    results["entries"].append(entry)
                    print(report.text(entry), flush=True)
                    save(results, options.name)
        finally:
            if front:
                front.stop()
            options.upstream.stop()
    if options.markdown:
        print(report.markdown(results))


if __name__ == "__main__":
    main()
