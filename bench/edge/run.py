#!/usr/bin/env python3
"""What the whole program costs before anybody asks anything, and at first contact.

    TIDEGATE_BIN=target/dist/tidegate bench/edge/run.py

Prints: resident memory of all five doors idle (starter list; the four real lists where LISTS or
../shared/data/lists is at hand), time from start to `ready` with lists compiled and from the
snapshot, and HTTPS first contact with names never seen before (TCP connect to first byte of the
answer, certificate minted in between), with the server's CPU time a name. Every answer is checked.
"""

import os
import re
import signal
import socket
import ssl
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BINARY = os.environ.get("TIDEGATE_BIN", str(ROOT / "target/dist/tidegate"))
LISTS = Path(os.environ.get("LISTS") or ROOT.parent / "shared/data/lists")
ROUNDS = 5
NAMES = 400
TICK = os.sysconf("SC_CLK_TCK")

DOORS = """
dns: {{ listen: ["udp://127.0.0.1:0", "tcp://127.0.0.1:0"], upstreams: ["udp://127.0.0.1:9"] }}
pixel: {{ listen: ["http://127.0.0.1:0", "https://127.0.0.1:0"], addresses: [127.0.0.1] }}
proxy: {{ listen: ["http://127.0.0.1:0"] }}
web: [{{ listen: ["http://127.0.0.1:0"], root: "{root}" }}]
gateway:
  listen: ["http://127.0.0.1:0"]
  pools: {{ app: {{ servers: ["http://127.0.0.1:9"] }} }}
  routes: [{{ path: "/*", pool: app }}]
admin: {{ listen: "127.0.0.1:0" }}
"""


class Tidegate:
    """A run with a configuration, to be used in a with statement."""

    def __init__(self, folder, lists):
        self.folder = Path(folder)
        (self.folder / "www").mkdir(exist_ok=True)
        text = "policy: { lists: [" + ", ".join(lists) + "] }" + DOORS.format(root=self.folder / "www")
        self.config = self.folder / "tidegate.yaml"
        self.config.write_text(text)

    def __enter__(self):
        begun = time.monotonic()
        self.process = subprocess.Popen(
            [BINARY, "run", "--config", self.config, "--state", self.folder / "state"],
            stdout=subprocess.PIPE, text=True)
        self.greeting = []
        for line in self.process.stdout:
            if line.strip() == "ready":
                break
            self.greeting.append(line)
        self.ready_ms = (time.monotonic() - begun) * 1000
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(10)

    def port(self, door, scheme):
        for line in self.greeting:
            found = re.match(rf"\s+{door}\s+{scheme}://[\d.]+:(\d+)", line)
            if found:
                return int(found[1])
        raise RuntimeError(f"no {door} {scheme} among {self.greeting}")

    def resident_mib(self):
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) / 1024

    def cpu_seconds(self):
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / TICK


def spread(values, unit):
    return f"{statistics.median(values):8.2f} {unit}  ({min(values):.2f} to {max(values):.2f})"


def start_and_memory(title, lists):
    cold, warm, idle = [], [], []
    for _ in range(ROUNDS):
        with tempfile.TemporaryDirectory() as folder:
            with Tidegate(folder, lists) as first:
                cold.append(first.ready_ms)
            with Tidegate(folder, lists) as second:
                warm.append(second.ready_ms)
                # Idle means: nothing has been asked, and what starting needed has been given back.
                time.sleep(1)
                idle.append(second.resident_mib())
    print(f"{title}")
    print(f"  start, lists compiled      {spread(cold, 'ms')}")
    print(f"  start, from the snapshot   {spread(warm, 'ms')}")
    print(f"  resident, five doors idle  {spread(idle, 'MiB')}")


def first_contact():
    with tempfile.TemporaryDirectory() as folder:
        with Tidegate(folder, ['{ name: ads, rules: ["||ads.example^"] }']) as edge:
            context = ssl.create_default_context(cafile=f"{folder}/state/ca/ca.pem")
            port = edge.port("pixel", "https")
            times = []
            before = edge.cpu_seconds()
            for number in range(NAMES):
                # Names apart by registrable domain would need a list of their own; below one
                # blocked domain a wildcard would serve them all, so each gets a parent of its own.
                name = f"a.n{number}.ads.example"
                begun = time.perf_counter()
                with socket.create_connection(("127.0.0.1", port)) as plain:
                    with context.wrap_socket(plain, server_hostname=name) as tls:
                        tls.sendall(f"GET /x.js HTTP/1.1\r\nHost: {name}\r\n\r\n".encode())
                        answer = tls.recv(4096)
                times.append((time.perf_counter() - begun) * 1000)
                if b" 200 " not in answer[:16] or b"text/javascript" not in answer:
                    raise RuntimeError(f"{name}: {answer[:200]}")
                # The signer gives one client ten new leaves a second once its burst is spent.
                time.sleep(0.11)
            spent = (edge.cpu_seconds() - before) / NAMES * 1000
    times.sort()
    print(f"HTTPS first contact, {NAMES} names, none failed")
    print(f"  median {statistics.median(times):.2f} ms, 99 of 100 within {times[int(NAMES * .99)]:.2f} ms, "
          f"worst {times[-1]:.2f} ms")
    print(f"  server CPU {spent:.2f} ms a name (handshake, leaf, answer)")


def main():
    if not Path(BINARY).is_file():
        sys.exit(f"{BINARY} is not there: make dist, or set TIDEGATE_BIN")
    print(subprocess.run([BINARY, "--version"], capture_output=True, text=True).stdout.strip(),
          "·", os.uname().release, "·", os.cpu_count(), "cores")
    start_and_memory("starter list", ["{ name: starter, builtin: starter }"])
    if not LISTS.is_dir():
        print(f"real lists: not at hand: {LISTS} (LISTS names their folder: bench/README.md)")
    else:
        files = sorted(LISTS.iterdir())
        start_and_memory(f"{len(files)} real lists",
                         [f'{{ name: {file.stem}, path: "{file}" }}' for file in files])
    first_contact()


if __name__ == "__main__":
    main()
