#!/usr/bin/env python3
"""What does a null answer cost over a kept connection, beside pixelserv-tls and nginx?

    TIDEGATE_BIN=... PIXELSERV_BIN=... bench/pixel/run.py [--rounds 5] [--seconds 4]

Two cases: a GIF over HTTP beside pixelserv-tls, and over TLS 1.3 beside nginx with the same GIF as a
file. Each round starts each server anew, asks it with wrk on 64 connections, and stops it; servers take
turns, medians count, the first answer of each is checked; `--pairs 9 --servers tidegate,nginx` compares two
in pairs (a b, b a ...), for small differences. The floor is bench/null/http.c: the system
calls of an answer and nothing else. Needs wrk, cc and openssl; a peer that is not at hand is left out.
Results go to bench/out.
"""

import argparse
import json
import os
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import method  # noqa: E402
from process import Process, build, configured, free_ports, open_folder, output_of, timed, wrk  # noqa: E402
from report import wanted  # noqa: E402

OUT = HERE.parent / "out"
HOST = "localhost"  # what wrk can look up, and so what the list blocks
START_S = 20
CLIENTS = 64
ERROR_MAX = 300
GIF = bytes.fromhex("47494638396101000100800000000000ffffff21f90401000000002c00000000010001000002024401003b")


class Server(Process):
    """One program; `ports` by scheme once it runs."""

    schemes = ("http", "https")

    def __init__(self, folder):
        self.folder = Path(tempfile.mkdtemp(dir=folder, prefix=f"{self.name}-"))
        self.folder.chmod(0o755)

    def start(self):
        self.ports = dict(zip(("http", "https"), free_ports(2)))
        with open(self.folder / "out", "wb") as out:
            self.spawn(self.command(), stdout=out, stderr=out)
        until = time.monotonic() + START_S
        for scheme in self.schemes:
            while True:
                try:
                    socket.create_connection(("127.0.0.1", self.ports[scheme]), 1).close()
                    break
                except OSError:
                    if self.process.poll() is not None or time.monotonic() > until:
                        self.stop()
                        said = (self.folder / "out").read_text(errors="replace")[-500:]
                        raise RuntimeError(f"{self.name} does not start: {said}") from None
                    time.sleep(0.05)

    def url(self, scheme):
        return f"{scheme}://{HOST}:{self.ports[scheme]}/ad.gif"

    def check(self, scheme):
        """The answer is a picture of one pixel, and the connection is kept."""
        plain = socket.create_connection(("127.0.0.1", self.ports[scheme]), 10)
        context = ssl._create_unverified_context()
        stream = context.wrap_socket(plain, server_hostname=HOST) if scheme == "https" else plain
        with stream:
            for _ in range(2):
                stream.sendall(f"GET /ad.gif HTTP/1.1\r\nHost: {HOST}\r\nAccept: image/*\r\n\r\n".encode())
                answer = b""
                while self.marker not in answer:
                    piece = stream.recv(4096)
                    if not piece:
                        raise RuntimeError(f"{self.name}: {answer!r}")
                    answer += piece
                if not answer.startswith(b"HTTP/1.1 200"):
                    raise RuntimeError(f"{self.name}: {answer!r}")

    marker = b"GIF89a"

    def warm(self, scheme):
        """Pixelserv-tls makes a certificate after the first handshake for a name has failed."""
        until = time.monotonic() + START_S
        while True:
            try:
                return self.check(scheme)
            except ssl.SSLError as why:
                if time.monotonic() > until:
                    raise RuntimeError(f"{self.name}: {why}") from None
                time.sleep(0.2)


class Tidegate(Server):
    name = "tidegate"
    program = os.environ.get("TIDEGATE_BIN", str(HERE.parents[1] / "target/dist/tidegate"))

    def version(self):
        return output_of(self.program, "--version")

    def command(self):
        config = self.folder / "tidegate.yaml"
        config.write_text(configured("pixel/tidegate.yaml", host=HOST, **self.ports))
        return [self.program, "--config", config, "--state", self.folder / "state", "run"]


class Pixelserv(Server):
    name = "pixelserv-tls"
    program = os.environ.get("PIXELSERV_BIN") or shutil.which("pixelserv-tls")

    def version(self):
        return output_of(self.program, "--help")

    def command(self):
        store = self.folder / "certificates"
        store.mkdir(exist_ok=True)
        certificate(store / "ca.crt", store / "ca.key", "-addext", "basicConstraints=critical,CA:TRUE")
        said = configured("pixel/pixelserv-tls.args", store=store, **self.ports)
        return [self.program, *(word for line in said.splitlines() if not line.startswith("#") for word in line.split())]


class Nginx(Server):
    name = "nginx"
    program = shutil.which("nginx") or shutil.which("/usr/sbin/nginx")

    def version(self):
        return output_of(self.program, "-v")

    def command(self):
        here = self.folder
        certificate(here / "leaf.pem", here / "leaf.key", "-addext", f"subjectAltName=DNS:{HOST}")
        (here / "ad.gif").write_bytes(GIF)
        (here / "nginx.conf").write_text(configured("pixel/nginx.conf", folder=here, workers=method.workers(), **self.ports))
        return [self.program, "-c", here / "nginx.conf", "-p", here]


class Null(Server):
    name = "null"
    schemes = ("http",)
    marker = b"HTTP/1.1 200"

    def __init__(self, folder):
        super().__init__(folder)
        self.program = build("http.c", self.folder)

    def version(self):
        return "bench/null/http.c"

    def command(self):
        return [self.program, self.ports["http"], method.workers()]


def certificate(path, key, *more):
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                    "-days", "2", "-subj", "/CN=bench", "-keyout", key, "-out", path, *more],
                   check=True, capture_output=True)


def one(server, scheme, seconds):
    """CPU per answer in µs, answers a second and how busy wrk was, of one run."""
    server.start()
    try:
        server.warm(scheme)
        return timed(server, lambda: wrk(server.url(scheme), CLIENTS, seconds))
    finally:
        server.stop()


def measure(servers, scheme, options):
    """A peer that fails is left out; without ours there is nothing to say."""
    entry = {"name": scheme, "title": f"a null answer over {scheme}, {CLIENTS} kept connections", "key": "cpu_us",
             "pairs": options.pairs, "servers": {}, "absent": {}}
    able = {it.name: it for it in servers if scheme in it.schemes}
    for _, name in method.order(list(able), options):
        if name in entry["absent"]:
            continue
        try:
            entry["servers"].setdefault(name, []).append(one(able[name], scheme, options.seconds))
        except (RuntimeError, OSError) as why:
            entry["servers"].pop(name, None)
            entry["absent"][name] = str(why)[:ERROR_MAX]
    return entry


def values(entry, name):
    return [it["cpu_us"] for it in entry["servers"].get(name, ())]


def text(entry):
    """Its lines, and whether its mark is not missed."""
    lines = [f"\n{entry['title']}", "| server | µs of CPU an answer (least–most) | answers | ours / it |", "|---|---|---|---|"]
    ours = values(entry, "tidegate")
    for name, rounds in entry["servers"].items():
        cpu = values(entry, name)
        share = f"{method.ratio(ours, cpu):.2f}" if method.ratio(ours, cpu) else "–"
        lines.append(f"| {name} | {method.middle(cpu):.2f} ({min(cpu):.2f}–{max(cpu):.2f}) | {method.rate_of(rounds)} | {share} |")
    lines += [f"{name}: {why}" for name, why in entry["absent"].items()]
    lines += method.entry_in_pairs(entry)
    found = [method.mark(values(entry, "tidegate"), {peer: values(entry, peer) for peer in peers}, share)
             for share, peers in wanted.SHARES["pixel"][entry["name"]]]
    well = "tidegate" not in entry["absent"] and all(it["state"] != "miss" for it in found)
    return [*lines, *map(method.mark_in_words, found)], well


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    method.add_order(parser, rounds=5)
    parser.add_argument("--seconds", type=int, default=4, help="of one run of wrk")
    options = parser.parse_args()
    well = True
    with open_folder() as folder:
        every = {it.name: it for it in [*(kind(folder) for kind in (Tidegate, Pixelserv, Nginx) if kind.program), Null(folder)]}
        servers = [every[it] for it in method.chosen(list(every), options)]
        machine, versions = method.machine(), {it.name: it.version() for it in servers}
        results = {"machine": machine, "versions": versions, "entries": []}
        method.stand_aside()
        lines = [f"Linux {machine['kernel']}, {machine['cores']} cores, {machine['date']}, pinning {machine['pinning']}, "
                 f"{method.how_often(options)} of {options.seconds} s, load {machine['load']}"]
        lines += [f"{name}: {version}" for name, version in versions.items()]
        for scheme in wanted.SHARES["pixel"]:
            results["entries"].append(measure(servers, scheme, options))
            found, passed = text(results["entries"][-1])
            lines, well = lines + found, well and passed
    OUT.mkdir(exist_ok=True)
    (OUT / "pixel.json").write_text(json.dumps(results, indent=1))
    (OUT / "pixel.txt").write_text("\n".join(lines) + "\n")
    print("\n".join(lines))
    sys.exit(0 if well else 1)


if __name__ == "__main__":
    main()
