#!/usr/bin/env python3
"""Five edges in network namespaces of their own, all five doors under load, while the engine of their live state is taken from them.

    TIDEGATE_BIN=... bench/fleet/outage.py [--stopped 60] [--rate 20]

A bridge in a sixth namespace joins them; there stand three redis-servers, three Sentinels and nginx. Each door of each edge gets so many requests a second, spread evenly, from
a client beside it; one more client asks a route with a shared limit for more than it gives. The primary is stopped (SIGSTOP), goes on, is killed
(kill -9, and a replica takes over), and at last the engines' cable is pulled. Of each stretch are told: requests, failures, times, what the limit let through beside what it may. As root.
"""

import argparse
import asyncio
import json
import os
import pathlib
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

TIDEGATE = os.environ.get("TIDEGATE_BIN", "target/release/tidegate")
EDGES = 5
HUB = "10.99.0.100"
RATE, BURST = 50, 25
DOORS = ["dns", "pixel", "web", "gateway", "proxy"]
ANSWER_MAX = 5.0


def namespace(number):
    return f"tgout{number}"


def address(number):
    return f"10.99.0.{number}"


def ip(*words, fine=True):
    subprocess.run(["ip", *words], check=fine, capture_output=not fine)


class World:
    """Namespaces and processes, all gone at the end."""

    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="tidegate-outage-"))
        self.folder.chmod(0o755)
        self.running = {}
        for number in range(EDGES + 1):
            ip("netns", "add", namespace(number))
            ip("-n", namespace(number), "link", "set", "lo", "up")
        hub = namespace(0)
        ip("-n", hub, "link", "add", "br0", "type", "bridge")
        ip("-n", hub, "address", "add", f"{HUB}/24", "dev", "br0")
        ip("-n", hub, "link", "set", "br0", "up")
        for number in range(1, EDGES + 1):
            ip("-n", hub, "link", "add", f"edge{number}", "type", "veth", "peer", "name", "eth0", "netns", namespace(number))
            ip("-n", hub, "link", "set", f"edge{number}", "master", "br0", "up")
            ip("-n", namespace(number), "address", "add", f"{address(number)}/24", "dev", "eth0")
            ip("-n", namespace(number), "link", "set", "eth0", "up")

    def start(self, name, number, command, **more):
        process = subprocess.Popen(["ip", "netns", "exec", namespace(number), *map(str, command)], **more)
        self.running[name] = process
        return process

    def inside(self, number, *command):
        return subprocess.run(["ip", "netns", "exec", namespace(number), *map(str, command)], check=True, capture_output=True, text=True).stdout

    def end(self):
        for process in self.running.values():
            process.send_signal(signal.SIGCONT)
            # nginx takes its worker with it.
            process.terminate()
        for process in self.running.values():
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        for number in range(EDGES + 1):
            ip("netns", "delete", namespace(number), fine=False)
        shutil.rmtree(self.folder, ignore_errors=True)

    def engines(self):
        common = ["--bind", HUB, "--protected-mode", "no", "--save", "", "--appendonly", "no", "--repl-diskless-sync-delay", "0"]
        for port in (6379, 6380, 6381):
            home = self.folder / f"redis-{port}"
            home.mkdir()
            command = ["redis-server", "--port", port, "--dir", home, *common, *([] if port == 6379 else ["--replicaof", HUB, "6379"])]
            self.start(f"redis-{port}", 0, command, stdout=subprocess.DEVNULL)
        for port in (26379, 26380, 26381):
            home = self.folder / f"sentinel-{port}"
            home.mkdir()
            file = home / "sentinel.conf"
            file.write_text(f"port {port}\nbind {HUB}\nprotected-mode no\ndir {home}\nsentinel monitor fleet {HUB} 6379 2\n"
                            "sentinel down-after-milliseconds fleet 600000\nsentinel failover-timeout fleet 5000\n")
            self.start(f"sentinel-{port}", 0, ["redis-server", file, "--sentinel"], stdout=subprocess.DEVNULL)

    def origin(self):
        file = self.folder / "nginx.conf"
        file.write_text(f"worker_processes 1; daemon off; pid {self.folder}/nginx.pid; error_log /dev/null;\nevents {{ worker_connections 2000; }}\n"
                        f"http {{ access_log off; server {{ listen {HUB}:8080; keepalive_requests 1000000; location / {{ return 200 'here'; }} }} }}\n")
        self.start("nginx", 0, ["nginx", "-c", file], stderr=subprocess.DEVNULL)

    def edge(self, number):
        at = address(number)
        site = self.folder / f"www-{number}"
        site.mkdir()
        (site / "index.html").write_text("here")
        sentinels = ", ".join(f'"{HUB}:{port}"' for port in (26379, 26380, 26381))
        file = self.folder / f"edge-{number}.yaml"
        file.write_text(f"""
admin: {{ listen: "127.0.0.1:9053" }}
fleet: {{ name: edge-{number}, live: {{ url: "redis://fleet", sentinels: [{sentinels}], when_away: divide }} }}
policy: {{ lists: [{{ name: ads, rules: ["||ads.example^"] }}] }}
dns: {{ listen: ["udp://{at}:53"], upstreams: ["udp://{HUB}:53"], local: ["nas.lan A 192.0.2.1"] }}
pixel: {{ listen: ["http://{at}:8001"], addresses: ["{at}"] }}
web: [{{ listen: ["http://{at}:8002"], root: "{site}" }}]
proxy: {{ listen: ["http://{at}:8004"] }}
gateway:
  listen: ["http://{at}:8003"]
  pools: {{ app: {{ servers: ["http://{HUB}:8080"] }} }}
  routes:
    - {{ path: "/limited", answer: {{ body: fine }}, limit: {{ rate: {RATE}/s, burst: {BURST}, key: route, shared: flood }} }}
    - {{ pool: app, limit: {{ rate: 5000/s, burst: 5000, key: route, shared: load }} }}
""")
        process = self.start(f"edge-{number}", number, [TIDEGATE, "run", "--config", file, "--state", self.folder / f"state-{number}"], stdout=subprocess.PIPE, text=True)
        while (line := process.stdout.readline()) and line != "ready\n":
            pass
        if line != "ready\n":
            sys.exit(f"edge {number} did not start: run it by hand with {file}")


# The client, beside an edge.


def question(name):
    labels = b"".join(bytes([len(part)]) + part.encode() for part in name.split("."))
    return struct.pack("!HHHHHH", 7, 0x0100, 1, 0, 0, 0) + labels + b"\0" + struct.pack("!HH", 1, 1)


class DnsClient(asyncio.DatagramProtocol):
    def __init__(self):
        self.answer = None

    def datagram_received(self, data, _):
        if self.answer and not self.answer.done():
            self.answer.set_result(data)

    async def ask(self, transport):
        self.answer = asyncio.get_running_loop().create_future()
        transport.sendto(question("nas.lan"))
        data = await asyncio.wait_for(self.answer, ANSWER_MAX)
        return data[3] & 15 == 0 and data.endswith(bytes([192, 0, 2, 1]))


class HttpClient:
    """One connection that is kept; what breaks it is a failure."""

    def __init__(self, at, port, target, host):
        self.at, self.port, self.ends = at, port, None
        self.text = f"GET {target} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode()

    async def ask(self):
        if self.ends is None:
            self.ends = await asyncio.wait_for(asyncio.open_connection(self.at, self.port), ANSWER_MAX)
        reader, writer = self.ends
        try:
            writer.write(self.text)
            head = (await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), ANSWER_MAX)).decode().lower()
            length = int(head.split("content-length:", 1)[1].split("\r\n", 1)[0]) if "content-length:" in head else 0
            await asyncio.wait_for(reader.readexactly(length), ANSWER_MAX)
            if "connection: close" in head:
                writer.close()
                self.ends = None
            return int(head.split(" ", 2)[1])
        except Exception:
            writer.close()
            self.ends = None
            raise


async def client(number, rate, until):
    """Asks every door so many times a second; a line of JSON with what happened since the last, whenever a line comes in."""
    at, loop = address(number), asyncio.get_running_loop()
    seen = {door: [] for door in DOORS}
    failed = dict.fromkeys(DOORS, 0)
    admitted = [0]
    http = {
        "pixel": HttpClient(at, 8001, "/ad.gif", "ads.example"),
        "web": HttpClient(at, 8002, "/index.html", "here"),
        "gateway": HttpClient(at, 8003, "/", "here"),
        "proxy": HttpClient(at, 8004, f"http://{HUB}:8080/", f"{HUB}:8080"),
    }
    transport, dns = await loop.create_datagram_endpoint(DnsClient, remote_addr=(at, 53))

    async def paced(door):
        begin = loop.time() + DOORS.index(door) / rate / len(DOORS)
        turn = 0
        while loop.time() < until:
            turn += 1
            await asyncio.sleep(max(0.0, begin + turn / rate - loop.time()))
            started = loop.time()
            try:
                fine = await dns.ask(transport) if door == "dns" else await http[door].ask() in (200, 204)
            except Exception as why:
                fine = False
                print(f"edge {number}: {door}: {why!r}", file=sys.stderr)
            failed[door] += not fine
            seen[door].append(loop.time() - started)

    async def flood():
        one = HttpClient(at, 8003, "/limited", "here")
        while loop.time() < until:
            await asyncio.sleep(0.02)
            try:
                admitted[0] += await one.ask() == 200
            except Exception:
                pass

    async def told():
        reader = asyncio.StreamReader()
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        while await reader.readline():
            print(json.dumps({"seen": seen, "failed": failed, "admitted": admitted[0]}), flush=True)
            for door in DOORS:
                seen[door] = []
                failed[door] = 0
            admitted[0] = 0

    await asyncio.wait([asyncio.create_task(one) for one in [*(paced(door) for door in DOORS), flood(), told()]], return_when=asyncio.FIRST_EXCEPTION)


# The course of it.


def share(times, part):
    ordered = sorted(times)
    return ordered[min(len(ordered) - 1, int(len(ordered) * part))] * 1000 if ordered else float("nan")


def harvest(clients):
    for one in clients:
        one.stdin.write("\n")
        one.stdin.flush()
    return [json.loads(one.stdout.readline()) for one in clients]


def stretch(world, clients, what, seconds):
    harvest(clients)
    begun = time.monotonic()
    time.sleep(seconds)
    told = harvest(clients)
    span = time.monotonic() - begun
    degraded = 0
    for number in range(1, EDGES + 1):
        page = world.inside(number, "curl", "-s", "-H", f"Authorization: Bearer {(world.folder / f'state-{number}/admin.token').read_text().strip()}", "http://127.0.0.1:9053/metrics")
        degraded += any(line.startswith("tidegate_fleet_live_degraded") and line.endswith(" 1") for line in page.splitlines())
    admitted = sum(one["admitted"] for one in told)
    bound = RATE * span + BURST + EDGES * -(-BURST // EDGES)
    print(f"{what}, {span:.1f} s: {degraded} of {EDGES} edges say degraded; the limit let {admitted} through, at most {bound:.0f}")
    for door in DOORS:
        times = [value for one in told for value in one["seen"][door]]
        failures = sum(one["failed"][door] for one in told)
        print(f"  {door:8} {len(times):6} requests, {failures} failed, p50 {share(times, 0.5):.1f} ms, p99 {share(times, 0.99):.1f} ms, longest {share(times, 1):.1f} ms")


def sentinels(world, *words):
    for port in (26379, 26380, 26381):
        world.inside(0, "redis-cli", "-h", HUB, "-p", port, "SENTINEL", *words)


def course(world, options):
    world.engines()
    world.origin()
    time.sleep(3)
    for number in range(1, EDGES + 1):
        world.edge(number)
    until = 6 * options.stopped + 600
    clients = [
        world.start(f"client-{number}", number, [sys.executable, __file__, "--client", number, "--rate", options.rate, "--until", until], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for number in range(1, EDGES + 1)
    ]
    time.sleep(5)
    stretch(world, clients, "calm", 20)
    world.running["redis-6379"].send_signal(signal.SIGSTOP)
    stretch(world, clients, "the primary is stopped", options.stopped)
    world.running["redis-6379"].send_signal(signal.SIGCONT)
    stretch(world, clients, "it goes on", 40)
    sentinels(world, "SET", "fleet", "down-after-milliseconds", "2000")
    world.running["redis-6379"].kill()
    stretch(world, clients, "the primary is killed, a replica takes over", 40)
    world.inside(0, "nft", "add table inet cut; add chain inet cut input { type filter hook input priority 0; }; "
                 "add rule inet cut input tcp dport { 6379-6381, 26379-26381 } drop")
    stretch(world, clients, "the way to every engine is cut", 30)
    world.inside(0, "nft", "delete table inet cut")
    stretch(world, clients, "the way is back", 40)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--stopped", type=float, default=60, help="seconds of SIGSTOP")
    parser.add_argument("--rate", type=float, default=20, help="requests a second, of each door of each edge")
    parser.add_argument("--client", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--until", type=float, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.client:
        async def run():
            await client(options.client, options.rate, asyncio.get_running_loop().time() + options.until)
        asyncio.run(run())
        return
    world = World()
    try:
        course(world, options)
    finally:
        world.end()


if __name__ == "__main__":
    main()
