#!/usr/bin/env python3
"""A fleet in one machine: how long until all edges have a revision, and what that takes.

    TIDEGATE_BIN=... EDGES_BIN=.../examples/many_edges bench/fleet/run.py [--edges 1000] [--names 50000] [--relays 2]

The edges are those of Tidegate without their doors (crates/fleet-edge/examples/many_edges.rs), in one process. Bundles lie at a web door; edges fetch them
through gateways with a cache. Three things are timed: the first revision with a list of so many names, a second one with one more line, and the time until all
have asked again once the web door, stopped by kill -9, is back.
"""

import argparse
import json
import os
import pathlib
import random
import shutil
import socket
import subprocess
import tempfile
import time

TIDEGATE = os.environ.get("TIDEGATE_BIN", "target/release/tidegate")
EDGES = os.environ.get("EDGES_BIN", "target/release/examples/many_edges")


def free():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def start(folder, name, text):
    file = folder / f"{name}.yaml"
    file.write_text(text)
    process = subprocess.Popen([TIDEGATE, "run", "--config", file, "--state", folder / f"{name}-state"], stdout=subprocess.PIPE, text=True)
    while (line := process.stdout.readline()) and line != "ready\n":
        pass
    return process


def cpu_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--edges", type=int, default=1000)
    parser.add_argument("--names", type=int, default=50000)
    parser.add_argument("--relays", type=int, default=2)
    parser.add_argument("--poll", type=int, default=2000, help="milliseconds")
    options = parser.parse_args()
    folder = pathlib.Path(tempfile.mkdtemp(dir="/dev/shm" if pathlib.Path("/dev/shm").is_dir() else None))
    folder.chmod(0o755)
    running = []
    try:
        measure(options, folder, running)
    finally:
        for process in running:
            process.kill()
            process.wait()
        shutil.rmtree(folder, ignore_errors=True)


def measure(options, folder, running):
    home, place, key = folder / "home", folder / "www/fleet", folder / "key"
    place.mkdir(parents=True)
    fleet = [TIDEGATE, "fleet"]
    subprocess.run([*fleet, "init", home, "--bundles", place, "--key", key], check=True, capture_output=True)
    dice = random.Random(5)
    names = [f"{dice.randrange(1 << 40):x}.{dice.choice(['example', 'test', 'invalid'])}" for _ in range(options.names)]
    (home / "list.txt").write_text("\n".join(names) + "\n")
    (home / "tidegate.yaml").write_text("policy: { lists: [{ name: big, path: list.txt }] }\n")
    port, admin = free(), free()
    origin_yaml = f'ledger: {{ log: none }}\nadmin: {{ listen: "127.0.0.1:{admin}" }}\nweb: [{{ listen: ["http://127.0.0.1:{port}"], root: "{folder}/www" }}]\n'
    origin = start(folder, "origin", origin_yaml)
    running.append(origin)
    relays = []
    for number in range(options.relays):
        relay = free()
        yaml = f'ledger: {{ log: none }}\nadmin: {{ listen: "127.0.0.1:{free()}" }}\ngateway:\n  listen: ["http://127.0.0.1:{relay}"]\n'
        yaml += f'  pools: {{ bundles: {{ servers: ["http://127.0.0.1:{port}"] }} }}\n  routes:\n'
        yaml += '    - { path: "/fleet/chunk-*", pool: bundles, cache: true }\n    - { path: "/fleet/*", pool: bundles }\n'
        running.append(start(folder, f"relay-{number}", yaml))
        relays.append(f"http://127.0.0.1:{relay}/fleet")
    public = next(line for line in (home / "fleet.yaml").read_text().splitlines() if line.startswith("keys")).split('"')[1]
    command = [EDGES, public, str(options.edges), str(folder / "edges"), str(options.poll), *relays]
    edges = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    running.append(edges)
    time.sleep(options.poll / 1000 + 1)
    print(f"{options.edges} edges, {options.relays} relays, {options.names} names, poll {options.poll} ms")

    def publish(what):
        before = [cpu_seconds(process.pid) for process in running]
        begun = time.time()
        told = subprocess.run([*fleet, "publish", home, "--key", key], check=True, capture_output=True, text=True).stdout.strip()
        out = time.time()
        line = json.loads(edges.stdout.readline())
        spent = [cpu_seconds(process.pid) - was for process, was in zip(running, before)]
        print(f"{what}: {told.splitlines()[-1]}; published in {out - begun:.2f} s")
        print(f"  edges have it after {line['first'] - out:.2f} s (first), {line['median'] - out:.2f} s (median), {line['last'] - out:.2f} s (last)")
        print(f"  CPU: place {spent[0]:.2f} s, relays {sum(spent[1:-1]):.2f} s, edges {spent[-1]:.2f} s")

    publish("a list")
    (home / "list.txt").write_text("\n".join(["one.more.example", *names]) + "\n")
    publish("one line more")
    origin.kill()
    origin.wait()
    (home / "list.txt").write_text("\n".join(["two.more.example", *names]) + "\n")
    subprocess.run([*fleet, "publish", home, "--key", key], check=True, capture_output=True)
    time.sleep(2 * options.poll / 1000)
    back = time.time()
    running[0] = start(folder, "origin", origin_yaml)
    ready = time.time()
    line = json.loads(edges.stdout.readline())
    print(f"the place was away: {ready - back:.2f} s to start; all edges have the news {line['last'] - ready:.2f} s after (poll {options.poll} ms)")
    edges.stdin.close()


if __name__ == "__main__":
    main()
