"""The reference's three tables: `wget -r` by 1, 2 and 3 clients at once, through each proxy and directly.

Every cell starts with an empty cache. Rounds alternate between the columns.
"""

import os
import shutil
import statistics
import subprocess
import sys
import time
from contextlib import contextmanager

import corpus
import servers
from process import Process, children_seconds

CLIENTS = (1, 2, 3)
NEAR, FAR = "tg-near", "tg-far"
NEAR_ADDRESS, FAR_ADDRESS = "10.91.0.1", "10.91.0.2"
RTT_MS, MEGABITS = 90, 100
TIE = 1.05  # closer than this is called a tie
# name: (title, folder of the corpus, where the origin stands)
TABLES = {
    "local": ("a site next door: 3 × 700 pages and 8 MB", "local", "here"),
    "distant": (f"a static site {RTT_MS} ms away: 3 × 90 objects", "distant", "far"),
    "dynamic": (f"a site of scripts {RTT_MS} ms away: 3 × (34 made + 17 static)", "dynamic", "far-dynamic"),
}


class Direct:
    """No proxy; as wget is today, or as it was when the reference was written."""

    def __init__(self, name, *flags):
        self.name, self.flags, self.program = name, flags, "wget"

    def start(self):
        return self

    def stop(self):
        pass


class Made(Process):
    """The origin of pages made on demand."""

    side = "client"

    def __init__(self, folder):
        self.spawn(["ip", "netns", "exec", FAR, sys.executable, servers.HERE / "far_origin.py", FAR_ADDRESS,
                    servers.FIRST_PORT, folder / "www"])


def columns(folder, **where):
    every = [
        Direct("direct"), Direct("direct, no keep-alive", "--no-http-keep-alive"),
        servers.Tidegate(folder, 1, **where), servers.Tidegate(folder, 2, memory="400KiB", **where),
        servers.Polipo(folder, 3, marks=(4194304, 8388608), **where),
        servers.Polipo(folder, 4, marks=(409600, 819200), **where), servers.Squid(folder, 5, **where)]
    return [one for one in every if one.program]


@contextmanager
def world(kind, folder):
    """The origin where it should stand: its address, and the namespace of clients and proxies."""
    if kind == "here":
        origin = servers.Origin(folder, 0).start()
        try:
            yield origin.host, None
        finally:
            origin.stop()
        return
    run = lambda *words: subprocess.run(words, check=True)  # noqa: E731
    origin = wire = None
    try:
        for namespace in (NEAR, FAR):
            run("ip", "netns", "add", namespace)
            run("ip", "-n", namespace, "link", "set", "lo", "up")
        wire = subprocess.Popen([sys.executable, servers.HERE / "wire.py", NEAR, FAR, str(RTT_MS), str(MEGABITS)],
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        if wire.stdout.readline() != b"ready\n":
            raise RuntimeError("the wire does not start: is /dev/net/tun there?")
        for namespace, own, peer in ((NEAR, NEAR_ADDRESS, FAR_ADDRESS), (FAR, FAR_ADDRESS, NEAR_ADDRESS)):
            run("ip", "-n", namespace, "addr", "add", own, "peer", peer, "dev", "wire0")
            run("ip", "-n", namespace, "link", "set", "wire0", "mtu", "1500", "up")
        if kind == "far":
            origin = servers.Origin(folder, 0, host=FAR_ADDRESS, namespace=FAR).start()
        else:
            origin = Made(folder)
            wait_for(FAR_ADDRESS)
        yield FAR_ADDRESS, NEAR
    finally:
        if origin:
            origin.stop()
        if wire:
            wire.stdin.close()
            wire.wait(5)
        for namespace in (NEAR, FAR):
            subprocess.run(["ip", "netns", "del", namespace], capture_output=True)


def wait_for(address):
    probe = f"import socket; socket.create_connection(('{address}', {servers.FIRST_PORT}), 1)"
    deadline = time.monotonic() + servers.START_SECONDS_MAX
    while subprocess.run(["ip", "netns", "exec", NEAR, sys.executable, "-c", probe], capture_output=True).returncode:
        if time.monotonic() > deadline:
            raise RuntimeError("the far origin does not start")
        time.sleep(0.05)


def crawl(column, clients, path, address, namespace, folder):
    """Seconds until all clients have all of their subtree, and how busy they were: each is one thread."""
    inside = ["ip", "netns", "exec", namespace] if namespace else []
    begun, before, running = time.monotonic(), children_seconds(), []
    for subtree in corpus.SUBTREES[:clients]:
        into = folder / f"crawl-{subtree}"
        command = ["wget", "-r", "-l", "inf", "-np", "-nH", "-q", "-e", "robots=off", "-P", into,
                   *getattr(column, "flags", ["-e", f"http_proxy=http://{column.host}:{column.port}"]
                            if isinstance(column, servers.Server) else []),
                   f"http://{address}:{servers.FIRST_PORT}/{path}/{subtree}/"]
        running.append((subprocess.Popen([*inside, *command]), into))
    codes = [process.wait() for process, _ in running]
    seconds = time.monotonic() - begun
    busy = (children_seconds() - before) / seconds / clients
    counts = [sum(1 for it in into.rglob("*") if it.is_file()) for _, into in running]
    for _, into in running:
        shutil.rmtree(into, ignore_errors=True)
    wanted = {"local": corpus.PAGES_LOCAL + 40 + 1, "distant": corpus.PAGES_DISTANT,
              "dynamic": corpus.PAGES_DYNAMIC + corpus.STATIC_DYNAMIC}[path]
    if any(codes) or any(count != wanted for count in counts):
        raise RuntimeError(f"{column.name}: wget ended with {codes} and brought {counts} of {wanted} files")
    return seconds, busy


def measure(name, folder, rounds):
    """One table; where its world cannot be had (network namespaces need root), every column says why."""
    title, path, kind = TABLES[name]
    table = {"name": name, "title": title, "rounds": rounds, "seconds": {}, "busy": {}, "absent": {}}
    try:
        if kind != "here" and os.geteuid() != 0:
            raise RuntimeError("network namespaces need root")
        fill(table, path, kind, folder)
    except (RuntimeError, OSError, subprocess.CalledProcessError) as why:
        table["absent"] = {column.name: str(why)[:300] for column in columns(folder)}
        table["seconds"], table["busy"] = {}, {}
    return table


def fill(table, path, kind, folder):
    with world(kind, folder) as (address, namespace):
        where = {"host": NEAR_ADDRESS, "namespace": namespace} if namespace else {}
        for _ in range(table["rounds"]):
            for column in columns(folder, **where):
                for at, clients in enumerate(CLIENTS):
                    if column.name in table["absent"]:
                        continue
                    try:
                        column.start()
                        try:
                            seconds, busy = crawl(column, clients, path, address, namespace, folder)
                        finally:
                            column.stop()
                        for key, value in (("seconds", seconds), ("busy", busy)):
                            table[key].setdefault(column.name, [[] for _ in CLIENTS])[at].append(value)
                    except (RuntimeError, OSError) as why:
                        table["absent"][column.name] = str(why)[:300]
                        table["seconds"].pop(column.name, None)


def verdict(table):
    """Whether we are never slower than the best column by more than 5 %."""
    middles = {name: [statistics.median(it) for it in seconds] for name, seconds in table["seconds"].items()}
    words = []
    for name in [it for it in middles if it.startswith("tidegate")]:
        for at, clients in enumerate(CLIENTS):
            best = min(middles, key=lambda other: middles[other][at])
            ratio = middles[name][at] / middles[best][at]
            said = "best" if best == name else f"a tie with {best}" if ratio <= TIE else \
                f"{ratio:.2f} × {best}"
            words.append(f"{name}, {clients}: {said}")
    return "; ".join(words)
