#!/usr/bin/env python3
"""The work that a profile-guided build is trained with: every door, over loopback, for some seconds.

    bench/train.py PROGRAM FOLDER

PROGRAM is a Tidegate that was built to count; its profiles are copied to FOLDER once it has stopped. Clients are
threads of this script, for what counts is how often each way through the program is gone, not how fast; behind it are
the servers of bench/null. `make dist PGO=1` calls it.
"""

import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path

from process import build, free_ports, open_folder, wait_for_port

SECONDS = 8
START_SECONDS_MAX = 30
BATCH = 16  # questions that are outstanding at once
PAGE = b"<p>" + b"x" * 96 + b"</p>"
REQUEST = (b"GET %s HTTP/1.1\r\nHost: www.train.test\r\nUser-Agent: Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0\r\n"
           b"Accept: text/html,*/*;q=0.8\r\nAccept-Language: en\r\n%s\r\n")
CONFIGURATION = """
admin: {{ listen: 127.0.0.1:0 }}
policy:
  lists: [{{ name: ads, path: {folder}/ads.txt }}]
dns:
  listen: ["udp://127.0.0.1:{dns}"]
  upstreams: ["udp://127.0.0.1:{upstream}"]
  rate_limit: {{ queries_per_second: 0 }}
  local: ["near.train.test A 192.0.2.1"]
pixel:
  listen: ["http://127.0.0.1:{pixel}"]
  addresses: [127.0.0.1]
proxy:
  listen: ["http://127.0.0.1:{proxy}"]
  clients: [127.0.0.0/8]
  destinations: any
  cache: {{ memory: 64MiB }}
web:
  - listen: ["http://127.0.0.1:{web}"]
    root: {folder}/site
gateway:
  listen: ["http://127.0.0.1:{gateway}"]
  pools: {{ app: {{ servers: ["http://127.0.0.1:{origin}"] }} }}
  routes: [{{ path: "/*", pool: app }}]
"""


def read_answer(peer):
    answer = b""
    while b"\r\n\r\n" not in answer:
        answer += peer.recv(1 << 16) or end()
    head, _, body = answer.partition(b"\r\n\r\n")
    lengths = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
    left = int(lengths[0].split(b":")[1]) - len(body) if lengths else 0
    while left > 0:
        left -= len(peer.recv(1 << 16) or end())


def end():
    raise RuntimeError("a connection ended before its answer")


def fetch(port, target, number, until):
    """Asks again and again over one connection; %d in `target` is another number each time."""
    with socket.create_connection(("127.0.0.1", port), 5) as peer:
        while time.monotonic() < until:
            peer.sendall(REQUEST % (target.replace(b"%d", b"%d" % number), b""))
            read_answer(peer)
            number += 1


def fetch_anew(port, target, number, until):
    """The same over a connection each."""
    while time.monotonic() < until:
        with socket.create_connection(("127.0.0.1", port), 5) as peer:
            peer.sendall(REQUEST % (target, b"Connection: close\r\n"))
            read_answer(peer)


def ask(port, name, number, until):
    """Asks for addresses; %d in `name` is another number each time."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.connect(("127.0.0.1", port))
        sock.settimeout(1)
        while time.monotonic() < until:
            for _ in range(BATCH):
                number += 1
                labels = name.replace("%d", str(number)).encode().split(b".")
                wire = b"".join(bytes([len(label)]) + label for label in labels)
                sock.send(number.to_bytes(8, "big")[6:] + b"\1\0\0\1\0\0\0\0\0\0" + wire + b"\0\0\1\0\1")
            for _ in range(BATCH):
                sock.recv(1500)


def work(ports):
    """What is asked, of whom, by how many."""
    origin = b"http://127.0.0.1:%d" % ports["origin"]
    return [
        (12, fetch, "gateway", b"/page.html"), (4, fetch, "gateway", b"/page.html?%d"),
        (4, fetch_anew, "gateway", b"/page.html"), (4, fetch, "gateway", b"/banner7/%d.gif"),
        (8, fetch, "web", b"/page.html"), (2, fetch, "web", b"/large.js"), (4, fetch, "pixel", b"/banner7/x.gif"),
        (4, fetch, "proxy", origin + b"/page.html"), (8, fetch, "proxy", origin + b"/miss/%d"),
        (2, ask, "dns", "www.hit.test"), (1, ask, "dns", "ads7.train.test"), (1, ask, "dns", "near.train.test"),
        (3, ask, "dns", "w%d.miss.test"),
    ]


@contextmanager
def servers(folder, ports):
    """An origin whose answers may be kept, and an upstream resolver that answers at once."""
    started = [subprocess.Popen([build("http.c", folder), str(ports["origin"]), "1", "0", "600"]),
               subprocess.Popen([build("upstream.c", folder), "0", str(ports["upstream"])])]
    try:
        wait_for_port(ports["origin"], started[0], START_SECONDS_MAX)
        yield
    finally:
        for one in started:
            one.kill()
            one.wait()


def train(program, folder):
    names = ["dns", "upstream", "pixel", "proxy", "web", "gateway", "origin"]
    ports = dict(zip(names, free_ports(len(names)), strict=True))
    (folder / "site").mkdir()
    (folder / "site" / "page.html").write_bytes(PAGE)
    (folder / "site" / "large.js").write_bytes(b"x" * 90_000)
    (folder / "ads.txt").write_text("".join(f"||ads{n}.train.test^\n/banner{n}/*\n" for n in range(1000)))
    config = folder / "tidegate.yaml"
    config.write_text(CONFIGURATION.format(folder=folder, **ports))
    # The state folder is where it may write.
    env = {**os.environ, "LLVM_PROFILE_FILE": str(folder / "state" / "%p.profraw")}
    with servers(folder, ports):
        running = subprocess.Popen([program, "run", "--config", config, "--state", folder / "state"], env=env)
        wait_for_port(ports["gateway"], running, START_SECONDS_MAX)
        until = time.monotonic() + SECONDS
        threads = [threading.Thread(target=how, args=(ports[door], what, (row * 100 + one) * 1_000_000, until))
                   for row, (count, how, door, what) in enumerate(work(ports)) for one in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        running.terminate()
        return running.wait()


def main():
    program, into = sys.argv[1:]
    with open_folder() as folder:
        if train(program, folder) != 0:
            sys.exit("it did not stop in order, and has written no profile")
        profiles = list((folder / "state").glob("*.profraw"))
        if not profiles:
            sys.exit(f"{program} has written no profile: build it with -Cprofile-generate")
        Path(into).mkdir(parents=True, exist_ok=True)
        for profile in profiles:
            shutil.copy(profile, into)


if __name__ == "__main__":
    main()
