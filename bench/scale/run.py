#!/usr/bin/env python3
"""How the cost of each door grows with the work that it is given: log-log plots and their exponents.

    TIDEGATE_BIN=... bench/scale/run.py [rules names connections objects patterns upstreams log] [--quick]

rules: names in the policy, 10 to 5 million, asked of the DNS door. names: different names asked and kept,
1,000 to 5 million. connections: kept connections at the gateway, whose caps can be set, 1 to 20,000. objects:
bytes of a file, 100 to 1 GB. patterns: URLs that the gateway refuses, 10 to 1 million. upstreams: servers of a
pool, 1 to 200. log: rows of the request log, 1,000 to 10 million: a page, a search, bytes on disk. An exponent
of 0 is flat, 1 is linear. Only ours: the peers' figures at one size stand in the other benchmarks. Needs
wrk, cc and dnsperf; 20,000 connections need root, or a limit of as many open files and some more: where it
is lower, the row is of as many as it permits.
"""

import argparse
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import log  # noqa: E402
import method  # noqa: E402
import process  # noqa: E402
import sheet  # noqa: E402
from server import BINARY, Tidegate, dnsperf, name, room_for_files, steady, written  # noqa: E402

# By the code an entry is reckoned at 350 bytes for such names (upstream's cache.rs: key, answer and 192); the
# rest is for shards that got more than their share.
CACHE_BYTES_A_NAME = 400
FILL_SECONDS_MAX = 600  # until every name was asked once; at 16 µs a miss 5 million take some minutes
MISSES_SHARE_MAX = 0.05  # of the questions for names that should be kept
ASKED_MAX = 20_000  # different names in a file of questions that is asked again and again
KEPT_ASKED_MAX = 1_000_000  # the same where the cache is asked: more than are answered in a round
STRIDE = 7919  # a prime that divides no size: so far apart stand the names that are asked one after the other
FILES_WANTED = 40_000
FILES_BESIDE = 500  # open in Tidegate and in wrk besides the connections
QUESTION = ("What does one answer cost as the work grows? The exponent is the slope of the line through the "
            "logarithms: 0 is flat, 1 is linear.")
PLOT = ("µs of CPU an answer, as the work grows", "size", "µs")
# name: (what grows, its sizes, those of --quick)
SIZES = {
    "rules": ("names in the policy", [10, 1000, 100_000, 1_000_000, 5_000_000], [10, 1000, 100_000]),
    "names": ("names asked and kept", [1000, 10_000, 100_000, 1_000_000, 5_000_000], [1000, 20_000]),
    "connections": ("kept connections (gateway)", [1, 10, 100, 1000, 10_000, 20_000], [1, 10, 100]),
    "objects": ("bytes of a file", [100, 10_000, 1_000_000, 100_000_000, 1_000_000_000], [100, 10_000, 1_000_000]),
    "patterns": ("URLs refused", [10, 1000, 100_000, 1_000_000], [10, 1000, 10_000]),
    "upstreams": ("servers of a pool", [1, 5, 20, 100, 200], [1, 20, 100]),
    "log": ("rows of the request log", [1000, 10_000, 100_000, 1_000_000, 10_000_000], [1000, 10_000]),
}


def a_query(edge, questions, seconds):
    dnsperf(edge, questions, 1)
    spent = edge.cpu_seconds()
    count = dnsperf(edge, questions, seconds)
    return 1e6 * (edge.cpu_seconds() - spent) / count


def rules(size, folder, options):
    listed = written(folder, "rules.txt", (f"||{name(it)}^" for it in range(size)))
    step = max(1, size // ASKED_MAX)
    asked = written(folder, "asked.txt", (f"{name(it)} A" for it in range(0, size, step)))

    def sections(port):
        return {"policy": {"lists": [{"name": "grown", "path": str(listed)}]},
                "dns": {"listen": [f"udp://127.0.0.1:{port}", f"tcp://127.0.0.1:{port}"], "upstreams": ["udp://127.0.0.1:9"],
                        "blocked": "nxdomain"}}

    with Tidegate(folder, sections) as edge:
        return a_query(edge, asked, options.seconds), edge


def names(size, folder, options):
    once = written(folder, "once.txt", (f"{name(it)} A" for it in range(size)))
    again = written(folder, "again.txt", (f"{name(it * STRIDE % size)} A" for it in range(min(size, KEPT_ASKED_MAX))))
    upstream_port = process.free_ports(1)[0]
    program = process.build("upstream.c", folder)
    upstream = subprocess.Popen([program, "0", str(upstream_port)])
    try:
        # TCP as well: whoever waits for the port waits for TCP. Nothing is written to disk at the end.
        with Tidegate(folder, lambda port: {"dns": {
                "listen": [f"udp://127.0.0.1:{port}", f"tcp://127.0.0.1:{port}"], "keep_cache": False,
                "upstreams": [f"udp://127.0.0.1:{upstream_port}"], "cache": {"size": max(1 << 24, CACHE_BYTES_A_NAME * size)}}}) as edge:
            dnsperf(edge, once, FILL_SECONDS_MAX, "-n", "1")
            hits, misses = looked_up(edge)
            cost = a_query(edge, again, options.seconds)
            hits_then, misses_then = looked_up(edge)
            check_kept(hits_then - hits, misses_then - misses, size, edge.counted("tidegate_dns_cache_entries"))
            return cost, edge
    finally:
        upstream.kill()
        upstream.wait()


def looked_up(edge):
    """Hits and misses of the DNS cache so far."""
    return tuple(edge.counted(f"tidegate_dns_cache_{what}_total") for what in ("hits", "misses"))


def check_kept(hits, misses, size, kept):
    """An error where the cache did not hold what was asked: the figure would be that of other work."""
    if misses > MISSES_SHARE_MAX * (hits + misses) or not hits:
        raise RuntimeError(f"{misses:,} of {hits + misses:,} questions were misses: "
                           f"the cache held {kept:,} of {size:,} names")


def loaded(edge, path, clients, seconds, *flags):
    url = f"http://127.0.0.1:{edge.port}{path}"
    process.load(url, clients, 1, *flags)
    spent = edge.cpu_seconds()
    figures = process.load(url, clients, seconds, *flags)
    spent = edge.cpu_seconds() - spent
    if not figures["count"] or not spent:
        raise RuntimeError(f"{path} with {clients} clients: nothing was answered")
    return 1e6 * spent / figures["count"]


def site(folder):
    (folder / "www").mkdir(exist_ok=True)
    return lambda port: {"web": [{"listen": [f"http://127.0.0.1:{port}"], "root": str(folder / "www")}]}


def connections(size, folder, options):
    (folder / "www").mkdir(exist_ok=True)
    (folder / "www/page.html").write_bytes(b"x" * 102)
    caps = {"connections": FILES_WANTED, "connections_per_client": FILES_WANTED}
    with Tidegate(folder, lambda port: {"gateway": {
            "listen": [f"http://127.0.0.1:{port}"], **caps, "routes": [{"path": "/*", "root": str(folder / "www")}]}}) as edge:
        return steady(edge, "gateway", "/page.html", size, options.seconds), edge


def objects(size, folder, options):
    sections = site(folder)
    with open(folder / "www/object.bin", "wb") as out:
        out.truncate(size)
    with Tidegate(folder, sections) as edge:
        # A large one takes its time: some must be whole within the round.
        return loaded(edge, "/object.bin", 2, max(options.seconds, size // 100_000_000)), edge


def gateway(servers, refuse=()):
    return lambda port: {"gateway": {"listen": [f"http://127.0.0.1:{port}"], "pools": {"app": {"servers": servers}},
                                     "routes": [*refuse, {"path": "/*", "pool": "app"}]}}


def patterns(size, folder, options):
    listed = written(folder, "patterns.txt", (f"/{name(it)}/x.php" for it in range(size)))
    script = written(folder, "ask.lua", [f"""
local at = 0
function request()
  at = at + 1
  local n = (at * 7919 % {size}) * 2654435761 % 4294967296
  return wrk.format("GET", string.format("/h%04x%04x.example/x.php/%d", math.floor(n / 65536), n % 65536, at))
end"""])
    refuse = [{"path": "/*", "block": {"patterns": str(listed)}}]
    with Tidegate(folder, gateway(["http://127.0.0.1:9"], refuse)) as edge:
        return loaded(edge, "/", 32, options.seconds, "-s", script), edge


def upstreams(size, folder, options):
    port = process.free_ports(1)[0]
    program = process.build("http.c", folder)
    origin = subprocess.Popen([program, str(port), "1", "0", "0", "any"])
    try:
        process.wait_for_port(port, origin, 5)
        servers = [f"http://127.0.0.{it + 1}:{port}" for it in range(size)]
        with Tidegate(folder, gateway(servers)) as edge:
            return loaded(edge, "/page.html", 32, options.seconds), edge
    finally:
        origin.kill()
        origin.wait()


def possible(sizes, most):
    """The sizes, those beyond `most` as one that is just that."""
    return sorted({min(it, most) for it in sizes})


def measure(what, folder, options):
    """Its rows; and at last, with the row of its exponent, what its line is called and the points of it."""
    title, sizes, quick = SIZES[what]
    sizes = quick if options.quick else sizes
    if what == "connections":
        sizes = possible(sizes, options.files - FILES_BESIDE)
    if what == "log":
        yield from log.measure(sizes, folder, options)
        return
    costs = []
    for size in sizes:
        found = sheet.row(f"{what}-{size}", f"{title}: {size:,}", "µs of CPU an answer")
        try:
            for _ in range(options.rounds):
                cost, edge = globals()[what](size, folder, options)
                sheet.measured(found, sheet.OURS, cost, f"started in {edge.start_ms:,.0f} ms · {edge.resident_mb:,.0f} MB")
            costs.append((size, method.middle(sheet.values(found, sheet.OURS))))
        except (RuntimeError, OSError) as why:
            sheet.left_out(found, sheet.OURS, why)
        yield found
    slope = method.exponent(*zip(*costs)) if len(costs) > 1 else None
    summary = sheet.row(what, f"{title}: exponent of the cost", "exponent")
    if slope is not None:
        sheet.measured(summary, sheet.OURS, round(slope, 3), method.growth_in_words(slope))
    yield summary, title, costs


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", nargs="*", choices=[[], *SIZES], default=[])
    parser.add_argument("--quick", action="store_true", help="small sizes, one short round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=3)
    options = parser.parse_args()
    if options.quick:
        options.rounds, options.seconds = 1, 1
    options.files = room_for_files(FILES_WANTED)
    into = sheet.Sheet("scale", "Growth", QUESTION, {"tidegate": process.output_of(BINARY, "--version")})
    plots = {}
    with process.open_folder() as folder:
        for what in options.what or SIZES:
            for found in measure(what, folder, options):
                if isinstance(found, tuple):
                    found, line, points = found
                    if len(points) > 1:
                        plots.setdefault(log.PLOT if what == "log" else PLOT, {})[line] = points
                into.add(found)
    for (title, x, y), lines in plots.items():
        into.plot(title, [], lines, x, y, is_log=True)


if __name__ == "__main__":
    main()
