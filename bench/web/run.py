#!/usr/bin/env python3
"""Web servers side by side on one machine: CPU a request, rate, memory.

    TIDEGATE_BIN=... bench/web/run.py [case or table ...]

Cases: small-new small-new-1000 small-ab-100 small-ab small-ab-500 small-wrk large-new large-wrk gzip-first
gzip-again tls-wrk tls-new idle put cgi fastcgi log-wrk. Tables (the reference's, ab with 50 to 1,000 clients, with plots): index jquery
compressed tls. Rounds alternate between the servers, the median counts, and answers are checked
before each; `--pairs 9 --servers tidegate,nginx` compares two in pairs, for small differences. Needs ab, wrk, cc
and openssl; nginx, lighttpd, Apache and Caddy where they are installed. Results go to bench/out: text, JSON and SVG.
"""

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import cases
import servers  # first: it says where method and svg are
import method
import svg

OUT = servers.HERE.parent / "out"
COLOURS = {"tidegate": "#0b6e99", "nginx": "#5b8e55", "lighttpd": "#8a6fa8", "apache": "#c8553d", "caddy": "#e09f3e", "hinsightd": "#7a5c45", "null": "#b5b5b5"}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", nargs="*", default=[*cases.CASES, *cases.TABLES])
    method.add_order(parser)
    parser.add_argument("--seconds", type=int, default=4, help="of one round of wrk")
    parser.add_argument("--name", default="web", help="of the files in bench/out")
    return parser.parse_args()


def prepare(folder, rounds):
    """The site, the same for all, from a fixed seed; and a certificate."""
    www = folder / "www"
    www.mkdir()
    (folder / "ngx").mkdir()
    (www / "put").mkdir()
    (folder / "cgi").mkdir()
    (folder / "cgi" / "hello").write_text("#!/bin/sh\nprintf 'Content-Type: text/plain\\n\\nhello\\n'\n")
    dice = random.Random(3)
    words = [bytes(dice.choices(b"abcdefghijklmnopqrstuvwxyz", k=dice.randint(2, 9))) for _ in range(400)]
    script = b""
    while len(script) < 89700:
        script += b"function " + dice.choice(words) + b"(" + dice.choice(words) + b") { return " + \
            b" + ".join(dice.choices(words, k=6)) + b"; }\n"
    (www / "hello.php").write_text("<?php echo \"hello\\n\";\n")
    files = {cases.SMALL: b"<!doctype html><title>small</title>".ljust(101, b" ") + b"\n",
             cases.LARGE: script[:89700]}
    for path, body in files.items():
        (www / path[1:]).write_bytes(body)
    for number in range(rounds * cases.COPIES):
        (www / f"copy-{number}.js").write_bytes(f"// {number:8}\n".encode() + files[cases.LARGE][12:])
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
                    "-nodes", "-days", "2", "-subj", "/CN=localhost", "-addext",
                    "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", folder / "key.pem",
                    "-out", folder / "cert.pem"], check=True, capture_output=True)
    # nginx changes its user when it is started as root.
    for path in [folder, www, *www.iterdir(), folder / "ngx"]:
        path.chmod(0o755 if path.is_dir() else 0o644)
    (folder / "ngx").chmod(0o777)
    (folder / "cgi").chmod(0o755)
    (folder / "cgi" / "hello").chmod(0o755)
    (www / "put").chmod(0o777)
    return files


def one(server, need, files, work):
    server.start(need)
    try:
        cases.check(server, need, files)
        return work(server)
    finally:
        server.stop()


def measure(name, runners, files, options):
    title, need, work, key = cases.CASES[name]
    entry = {"name": name, "title": title, "key": key, "pairs": options.pairs, "servers": {}, "absent": {}}
    able = {it.name: it for it in runners if need in it.modes}
    for options.round, each in method.order(list(able), options):
        if each in entry["absent"]:
            continue
        try:
            entry["servers"].setdefault(each, []).append(
                one(able[each], need, files, lambda it: work(it, options)))
        except (RuntimeError, OSError) as why:
            entry["absent"][each] = str(why)[:300]
            entry["servers"].pop(each, None)
    return entry


def tabled(name, runners, files):
    title, need, work = cases.TABLES[name]
    table = {"name": name, "title": title, "rates": {}, "busy": {}, "absent": {}}
    for server in runners:
        if need in server.modes:
            try:
                found = one(server, need, files, lambda it: [work(it, clients) for clients in cases.LEVELS])
                table["rates"][server.name] = [it["per_second"] for it in found]
                table["busy"][server.name] = [it["busy"] for it in found]
            except (RuntimeError, OSError) as why:
                table["absent"][server.name] = str(why)[:300]
    return table


def told(table):
    lines = [f"\n{table['name']}: {table['title']}, requests a second at {cases.LEVELS} clients; "
             "* where the client was full"]
    for server, rates in table["rates"].items():
        full = ["*" if method.is_client_bound(it) else " " for it in table["busy"][server]]
        lines.append(f"  {server:9} " + " ".join(f"{rate:9,.0f}{mark}" for rate, mark in zip(rates, full)))
    lines += [f"  {server:9} {why}" for server, why in table["absent"].items()]
    return "\n".join(lines)


def middle(rounds, key):
    return method.middle([it[key] for it in rounds])


def text(entry):
    key, lines = entry["key"], [f"\n{entry['name']}: {entry['title']}"]
    ours = entry["servers"].get("tidegate")
    for name, rounds in entry["servers"].items():
        value, values = middle(rounds, key), [it[key] for it in rounds]
        ratio = f"{middle(ours, key) / value:.2f}" if ours and value > 0 else "-"
        line = f"  {name:9} {value:9.1f} {'bytes' if key == 'bytes' else 'µs CPU'} " \
               f"({min(values):.1f}-{max(values):.1f})  ours/it {ratio}"
        if "per_second" in rounds[0]:
            line += f"  {method.rate_of(rounds)}"
        if key != "bytes" and "bytes" in rounds[0]:
            line += f"  {middle(rounds, 'bytes'):,.0f} bytes an answer"
        lines.append(line)
    lines += [f"  {name:9} {why}" for name, why in entry["absent"].items()]
    return "\n".join([*lines, *method.entry_in_pairs(entry)])


def main():
    options = arguments()
    unknown = [it for it in options.what if it not in cases.CASES and it not in cases.TABLES]
    if unknown:
        sys.exit(f"no case is called {unknown[0]}")
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(most, 20000), most))
    results = {"entries": [], "tables": [], "machine": method.machine()}
    method.stand_aside()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files = prepare(folder, options.pairs or options.rounds)
        every = {it.name: it for it in servers.all_of(folder)}
        runners = [every[it] for it in method.chosen(list(every), options)]
        results["versions"] = {it.name: it.version() for it in runners}
        machine = results["machine"]
        print(f"{machine['kernel']}, {machine['cores']} cores, pinning {machine['pinning']}, {method.how_often(options)};",
              "; ".join(f"{name}: {version}" for name, version in results["versions"].items()))
        OUT.mkdir(exist_ok=True)
        for word in options.what:
            if word in cases.CASES:
                results["entries"].append(measure(word, runners, files, options))
                print(text(results["entries"][-1]), flush=True)
            if word in cases.TABLES and not options.pairs:
                table = tabled(word, runners, files)
                results["tables"].append(table)
                print(told(table), flush=True)
                plot = svg.lines(f"{table['title']}: requests a second (more is better)", cases.LEVELS,
                                 table["rates"], COLOURS)
                (OUT / f"{options.name}-{word}.svg").write_text(plot)
            (OUT / f"{options.name}.json").write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
