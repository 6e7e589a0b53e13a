#!/usr/bin/env python3
"""Does HTTPS to names that were never seen before get its answer, how fast, and at what cost?

A Tidegate that blocks 10,000 domains is asked once for each over a new TLS connection that trusts its
authority: handshake, request, answer. Then for as many random names below one blocked domain, while a
client that says nothing holds a connection. Prints the answered, the times that a client sees (its own
computing included), and the CPU and memory of Tidegate and its signer together.

    bench/first-contact/run.py [NAMES] [CLIENTS]

TIDEGATE_BIN names the binary. Wall time on a busy machine says little; CPU per name says more.
"""

import json
import os
import platform
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from process import PAGE, Process, family, output_of  # noqa: E402

BINARY = os.environ.get("TIDEGATE_BIN", "target/dist/tidegate")
NAMES = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
CLIENTS = int(sys.argv[2]) if len(sys.argv) > 2 else 1
PATIENCE_S = 10


class Tidegate(Process):
    def __init__(self, folder):
        rules = folder / "rules.txt"
        rules.write_text("".join(f"||first-contact-{n}.com^\n" for n in range(NAMES))
                         + "||random-below.com^\n")
        config = folder / "tidegate.yaml"
        config.write_text(json.dumps({
            "policy": {"lists": [{"name": "names", "path": str(rules)}]},
            "pixel": {"listen": ["https://127.0.0.1:0"], "addresses": ["127.0.0.1"],
                      "connections_per_client": 10_000},
            "admin": {"listen": "127.0.0.1:0"},
        }))
        self.state = folder / "state"
        self.process = subprocess.Popen(
            [BINARY, "--config", config, "--state", self.state, "run"], stdout=subprocess.PIPE,
            text=True)
        for line in self.process.stdout:
            if "pixel" in line and "https://" in line:
                self.port = int(line.split("https://")[1].split()[0].rsplit(":", 1)[1])
            if line.strip() == "ready":
                break

    def resident_bytes(self):
        return [int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE
                for pid in family(self.process.pid)]


def ask(context, port, name):
    """One first contact; the seconds it took."""
    begun = time.perf_counter()
    with socket.create_connection(("127.0.0.1", port), PATIENCE_S) as tcp:
        with context.wrap_socket(tcp, server_hostname=name) as tls:
            tls.sendall(f"GET /x.js HTTP/1.1\r\nHost: {name}\r\n\r\n".encode())
            if not tls.recv(4096).startswith(b"HTTP/1.1 200"):
                raise ValueError("no answer")
    return time.perf_counter() - begun


def visit(edge, names):
    """Asks for all names; the times, and the names that were not answered."""
    times, failed, waiting = [], [], list(reversed(names))

    def work():
        context = ssl.create_default_context(cafile=edge.state / "ca/ca.pem")
        while True:
            try:
                name = waiting.pop()
            except IndexError:
                return
            try:
                times.append(ask(context, edge.port, name))
            except (OSError, ValueError) as why:
                failed.append((name, why))

    threads = [threading.Thread(target=work) for _ in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sorted(times), failed


def report(edge, title, names):
    cpu, begun = edge.cpu_seconds(), time.perf_counter()
    times, failed = visit(edge, names)
    took, cpu = time.perf_counter() - begun, edge.cpu_seconds() - cpu
    at = lambda part: times[min(len(times) - 1, int(len(times) * part))] * 1000  # noqa: E731
    memory = " + ".join(f"{bytes / 2**20:.0f}" for bytes in edge.resident_bytes())
    print(f"{title}: {len(times)} of {len(names)} answered in {took:.1f} s; "
          f"median {at(.5):.2f} ms, p99 {at(.99):.2f} ms, worst {times[-1] * 1000:.1f} ms; "
          f"CPU {cpu * 1000 / len(names):.2f} ms a name; resident {memory} MiB")
    for name, why in failed[:3]:
        print(f"  {name}: {why!r}")
    return not failed


def main():
    print(f"{output_of(BINARY, '--version')}, {platform.processor() or platform.machine()}, "
          f"{os.cpu_count()} cores, {CLIENTS} clients")
    with tempfile.TemporaryDirectory() as folder:
        edge = Tidegate(Path(folder))
        try:
            ask(ssl.create_default_context(cafile=edge.state / "ca/ca.pem"), edge.port,
                "warm-up.random-below.com")
            well = report(edge, "never-seen domains",
                          [f"first-contact-{n}.com" for n in range(NAMES)])
            silent = socket.create_connection(("127.0.0.1", edge.port))
            silent.sendall(b"\x16\x03\x01\x02\x00\x01")
            well &= report(edge, "random names below one domain, beside a silent client",
                           [f"r{n * 7919 % 1_000_003}.random-below.com" for n in range(NAMES)])
            silent.close()
        finally:
            edge.stop()
        lines = (edge.state / "ca/audit.log").read_text().count("\n")
        print(f"leaves signed: {lines}")
    sys.exit(0 if well else 1)


main()
