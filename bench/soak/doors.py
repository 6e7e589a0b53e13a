"""All five doors of one Tidegate with everything behind them, and one client for each door.

Every client asks without pause, checks each answer, and counts what was lost, wrong or late. It opens a
connection anew when one breaks, once: a request that fails twice in a row is lost.
"""

import http.client
import http.server
import json
import shutil
import socket
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import process  # noqa: E402

BLOCKED, PASSED = "ads.soak.example", "shop.soak.example"
ANSWER_SECONDS_MAX = 5
# What asking can come to; the last two are an answer that is cut short.
WRONG = (OSError, http.client.HTTPException, ValueError, IndexError, struct.error)
DOORS = ("dns", "pixel", "proxy", "web", "gateway")


class Lists(http.server.BaseHTTPRequestHandler):
    """A list with a URL; its last line differs each time, so that every refresh is one."""

    asked = 0

    def do_GET(self):
        Lists.asked += 1
        body = f"||{BLOCKED}^\n||n{Lists.asked}.soak.example^\n".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class World:
    """Origins, resolvers and the list, on loopback; parts can be taken away and given back."""

    def __init__(self, folder):
        http_program, dns_program = process.build("http.c", folder), process.build("upstream.c", folder)
        ports = process.free_ports(5)
        self.commands = {
            "origin 1": [http_program, ports[0], 1, 1000], "origin 2": [http_program, ports[1], 1, 1000],
            "resolver 1": [dns_program, 1000, ports[2]], "resolver 2": [dns_program, 1000, ports[3]]}
        self.ports, self.running = ports, {}
        for name in self.commands:
            self.give(name)
        self.lists = http.server.ThreadingHTTPServer(("127.0.0.1", ports[4]), Lists)
        threading.Thread(target=self.lists.serve_forever, daemon=True).start()

    def give(self, name):
        self.running[name] = subprocess.Popen(list(map(str, self.commands[name])))

    def take(self, name):
        self.running[name].kill()
        self.running[name].wait()

    def stop(self):
        for name in self.running:
            self.take(name)
        self.lists.shutdown()


class Edge(process.Process):
    """Tidegate with all doors; `state` is where it writes."""

    def __init__(self, binary, folder, world, state):
        self.binary, self.state, self.config = binary, state, folder / "tidegate.yaml"
        (folder / "www").mkdir()
        (folder / "www/page.html").write_bytes(b"x" * 102)
        self.ports = dict(zip((*DOORS, "admin"), process.free_ports(6)))
        first, second, resolver, other, lists = world.ports
        listen = {door: [f"http://127.0.0.1:{port}"] for door, port in self.ports.items()}
        self.config.write_text(json.dumps({
            "admin": {"listen": f"127.0.0.1:{self.ports['admin']}"},
            "policy": {"lists": [{"name": "soak", "rules": [f"||{BLOCKED}^"]},
                                 {"name": "fetched", "url": f"http://127.0.0.1:{lists}/list.txt"}]},
            "dns": {"listen": [f"udp://127.0.0.1:{self.ports['dns']}", f"tcp://127.0.0.1:{self.ports['dns']}"],
                    "upstreams": [f"udp://127.0.0.1:{resolver}", f"udp://127.0.0.1:{other}"], "blocked": "nxdomain"},
            "pixel": {"listen": listen["pixel"], "addresses": ["127.0.0.1"]},
            "proxy": {"listen": listen["proxy"], "clients": ["127.0.0.0/8"], "destinations": "any",
                      "cache": {"memory": "8MiB", "disk": {"path": "cache", "size": "16MiB"}}},
            "web": [{"listen": listen["web"], "root": str(folder / "www")}],
            "gateway": {"listen": listen["gateway"],
                        "pools": {"app": {"servers": [f"http://127.0.0.1:{first}", f"http://127.0.0.1:{second}"]}},
                        "routes": [{"path": "/*", "block": {"patterns": ["/wp-login.php"]}}, {"path": "/*", "pool": "app"}]}}))
        self.log = folder / "out"
        with open(self.log, "wb") as out:
            self.process = subprocess.Popen([binary, "run", "--config", self.config, "--state", state], stdout=out, stderr=out)
        for port in self.ports.values():
            process.wait_for_port(port, self.process, 30, lambda: self.log.read_text(errors="replace"))

    def ctl(self, *words):
        """A command to the running one; what it said where that went wrong."""
        done = subprocess.run([self.binary, *words, "--config", self.config, "--state", self.state],
                              capture_output=True, text=True, timeout=60)
        return "" if done.returncode == 0 else (done.stdout + done.stderr).strip()[-200:]

    def held(self):
        """Descriptors and threads of all its processes."""
        family = process.family(self.process.pid)
        return (sum(len(list(Path(f"/proc/{it}/fd").iterdir())) for it in family),
                sum(len(list(Path(f"/proc/{it}/task").iterdir())) for it in family))


class Client(threading.Thread):
    """Asks one door until it is told to stop."""

    def __init__(self, door, edge, origin):
        super().__init__(daemon=True)
        self.door, self.port, self.origin, self.web = door, edge.ports[door], origin, edge.ports.get("web")
        self.is_over, self.number = threading.Event(), 0
        self.answered, self.lost, self.times, self.connection = 0, [], [], None

    def run(self):
        while not self.is_over.is_set():
            self.number += 1
            begun = time.monotonic()
            try:
                self.once()
            except WRONG as why:
                try:
                    self.close()
                    self.once()
                except WRONG as again:
                    self.lost.append(f"{time.strftime('%H:%M:%S')} {self.door}: {why!r}, then {again!r}"[:200])
                    self.close()
            self.answered += 1
            self.times.append(1000 * (time.monotonic() - begun))
            time.sleep(0.002)  # five clients share the machine with what they ask

    def once(self):
        self.dns() if self.door == "dns" else self.http()

    def dns(self):
        name = BLOCKED if self.number % 5 == 0 else f"w{self.number % 400}.soak-passed.example"
        wire = b"".join(bytes([len(it)]) + it.encode() for it in name.split(".")) + b"\0"
        ident = self.number % 65536
        if self.connection is None:
            self.connection = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            self.connection.settimeout(ANSWER_SECONDS_MAX)
            self.connection.connect(("127.0.0.1", self.port))
        self.connection.send(struct.pack(">6H", ident, 0x100, 1, 0, 0, 0) + wire + b"\0\1\0\1")
        answer = self.connection.recv(4096)
        code, wanted = answer[3] & 15, 3 if name == BLOCKED else 0
        if struct.unpack(">H", answer[:2])[0] != ident or code != wanted:
            raise ValueError(f"{name}: answer {answer[:4].hex()}, wanted code {wanted}")

    def http(self):
        path, host, wanted = "/page.html", "127.0.0.1", 200
        if self.door == "pixel":
            path, host = "/ad.gif", BLOCKED
        elif self.door == "proxy":
            # The web door's pages are stored, and asked about; the null server's are not.
            origin = self.web if self.number % 2 else self.origin
            path = f"http://127.0.0.1:{origin}/page.html?{self.number % 300}"
        elif self.door == "gateway" and self.number % 4 == 0:
            path, wanted = "/wp-login.php", 403
        if self.connection is None:
            self.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=ANSWER_SECONDS_MAX)
        self.connection.request("GET", path, headers={"Host": host})
        answer = self.connection.getresponse()
        answer.read()
        if answer.status != wanted:
            raise ValueError(f"{path}: {answer.status}, wanted {wanted}")

    def close(self):
        if self.connection is not None:
            self.connection.close()
        self.connection = None

    def taken(self):
        """The times since the last call."""
        times, self.times = self.times, []
        return times


def full(state):
    """Fills the file system of the state folder to the last byte; what frees it again."""
    path = state / "filling"
    with open(path, "wb", buffering=0) as out:
        try:
            while True:
                out.write(b"\0" * (1 << 20))
        except OSError:
            pass
    return path


def small_disk(folder, megabytes):
    """A file system of its own for the state; nothing where this user may not mount one."""
    state = folder / "state"
    state.mkdir()
    if not shutil.which("mount"):
        return state, False
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", state], capture_output=True)
    return state, done.returncode == 0
