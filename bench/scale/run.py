#!/usr/bin/env python3
"""How the cost of each door grows with the work that it is given: log-log plots and their exponents.

    TIDEGATE_BIN=... bench/scale/run.py [rules patterns connections objects upstreams names] [--quick]

rules: names in the policy, 10 to 5 million, asked of the DNS door. names: different names asked and kept,
1,000 to 1 million. connections: kept connections at the web door, 1 to 10,000. objects: bytes of a file,
100 to 1 GB. patterns: URLs that the gateway refuses, 10 to 1 million. upstreams: servers of a pool, 1 to
200. An exponent of 0 is flat, 1 is linear. Only ours: the peers' figures at one size stand in the other
benchmarks. Needs wrk and cc, and dnsperf for the first two.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import method  # noqa: E402
import process  # noqa: E402
import sheet  # noqa: E402

BINARY = os.environ.get("TIDEGATE_BIN", str(method.ROOT / "target/dist/tidegate"))
START_SECONDS_MAX = 120
CACHE_BYTES_A_NAME = 400
ASKED_MAX = 20_000  # different names in a file of questions that is asked again and again
QUESTION = ("What does one answer cost as the work grows? The exponent is the slope of the line through the "
            "logarithms: 0 is flat, 1 is linear.")
# name: (what grows, its sizes, those of --quick)
SIZES = {
    "rules": ("names in the policy", [10, 1000, 100_000, 1_000_000, 5_000_000], [10, 1000, 100_000]),
    "names": ("names asked and kept", [1000, 10_000, 100_000, 1_000_000], [1000, 20_000]),
    "connections": ("kept connections", [1, 10, 100, 1000, 10_000], [1, 10, 100]),
    "objects": ("bytes of a file", [100, 10_000, 1_000_000, 100_000_000, 1_000_000_000], [100, 10_000, 1_000_000]),
    "patterns": ("URLs that are refused", [10, 1000, 100_000, 1_000_000], [10, 1000, 10_000]),
    "upstreams": ("servers of a pool", [1, 5, 20, 100, 200], [1, 20, 100]),
}


class Tidegate(process.Process):
    """A run with one configuration, in a with statement; `port` is where its door listens."""

    def __init__(self, folder, sections):
        self.folder = Path(tempfile.mkdtemp(dir=folder))
        self.port, admin = process.free_ports(2)
        self.config = self.folder / "tidegate.yaml"
        text = json.dumps({"ledger": {"log": "none"}, "admin": {"listen": f"127.0.0.1:{admin}"}, **sections(self.port)})
        self.config.write_text(text)

    def __enter__(self):
        begun = time.monotonic()
        command = [BINARY, "run", "--config", self.config, "--state", self.folder / "state"]
        with open(self.folder / "out", "wb") as out:
            self.process = subprocess.Popen(method.pinned(map(str, command), "server"), stdout=out, stderr=out)
        process.wait_for_port(self.port, self.process, START_SECONDS_MAX,
                              lambda: (self.folder / "out").read_text(errors="replace"))
        self.start_ms = 1000 * (time.monotonic() - begun)
        return self

    def __exit__(self, *_):
        self.resident_mb = self.resident_bytes() / 1e6 if self.process.poll() is None else 0
        self.stop()


def dnsperf(edge, questions, seconds):
    """Completed queries. The file is asked again and again."""
    command = ["dnsperf", "-s", "127.0.0.1", "-p", str(edge.port), "-d", questions, "-l", str(seconds), "-c", "8",
               "-q", "256", "-T", "1"]
    said = subprocess.run(method.pinned(command, "client"), capture_output=True, text=True).stdout
    for line in said.splitlines():
        if "Queries completed" in line:
            return int(line.split()[2])
    raise RuntimeError(f"dnsperf: {said[-300:]}")


def a_query(edge, questions, seconds):
    dnsperf(edge, questions, 1)
    spent = edge.cpu_seconds()
    count = dnsperf(edge, questions, seconds)
    return 1e6 * (edge.cpu_seconds() - spent) / count


def name(number):
    return f"h{number * 2654435761 % (1 << 32):08x}.example"


def written(folder, what, lines):
    path = folder / what
    with open(path, "w") as out:
        out.writelines(f"{it}\n" for it in lines)
    return path


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
    asked = written(folder, "asked.txt", (f"{name(it)} A" for it in range(size)))
    # TCP as well: whoever waits for the port waits for TCP.
    upstream_port = process.free_ports(1)[0]
    program = process.build("upstream.c", folder)
    upstream = subprocess.Popen([program, "0", str(upstream_port)])
    try:
        with Tidegate(folder, lambda port: {"dns": {
                "listen": [f"udp://127.0.0.1:{port}", f"tcp://127.0.0.1:{port}"],
                "upstreams": [f"udp://127.0.0.1:{upstream_port}"], "cache": {"size": max(1 << 24, CACHE_BYTES_A_NAME * size)}}}) as edge:
            seconds = max(2, size // 40_000)  # each once, from upstream
            dnsperf(edge, asked, seconds)
            return a_query(edge, asked, options.seconds), edge
    finally:
        upstream.kill()
        upstream.wait()


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
    sections = site(folder)
    (folder / "www/page.html").write_bytes(b"x" * 102)
    with Tidegate(folder, sections) as edge:
        return loaded(edge, "/page.html", size, options.seconds), edge


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


def measure(what, folder, options):
    title, sizes, quick = SIZES[what]
    costs = []
    for size in quick if options.quick else sizes:
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
    yield summary, costs


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", nargs="*", choices=[[], *SIZES], default=[])
    parser.add_argument("--quick", action="store_true", help="small sizes, one short round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=3)
    options = parser.parse_args()
    if options.quick:
        options.rounds, options.seconds = 1, 1
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(most, 40000), most))
    into = sheet.Sheet("scale", "Growth", QUESTION, {"tidegate": process.output_of(BINARY, "--version")})
    series = {}
    with tempfile.TemporaryDirectory() as folder:
        for what in options.what or SIZES:
            for found in measure(what, Path(folder), options):
                if isinstance(found, tuple):
                    found, series[SIZES[what][0]] = found
                into.add(found)
    lines = {title: points for title, points in series.items() if len(points) > 1}
    if lines:
        into.plot("µs of CPU an answer, as the work grows", [], lines, "size", "µs", is_log=True)


if __name__ == "__main__":
    main()
