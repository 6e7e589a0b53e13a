"""The forward proxies under test and the origin behind them: configured, started, stopped, watched.

Every proxy caches in memory only, logs nothing and has two workers or threads where it knows such a
thing. One whose program is not at hand is left out. POLIPO_BIN names a Polipo; Debian has none.
"""

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from process import Process, configured, output_of  # noqa: E402

ROOT = HERE.parents[1]
FIRST_PORT = 15700
START_SECONDS_MAX = 20
OBJECT_BYTES = 4096
KEEPS_NOTHING = "keeps nothing"
ONE_A_CONNECTION = "answers one request a connection"


class Server(Process):
    """One program on one address, started in a network namespace if one is named."""

    name = "?"
    program = None
    left_out = {}  # cases that it cannot do, with the reason

    def __init__(self, folder, number, host="127.0.0.1", namespace=None, blocked=""):
        """`blocked`: a host that it refuses by policy, if any."""
        self.folder, self.port, self.host, self.namespace = folder, FIRST_PORT + 10 * number, host, namespace
        self.blocked = blocked

    def config(self):
        raise NotImplementedError

    def command(self, config):
        raise NotImplementedError

    def start(self):
        config = self.folder / f"{self.name}.conf"
        config.write_text(self.config())
        command = self.command(config)
        if self.namespace:
            command = ["ip", "netns", "exec", self.namespace, *command]
        log = self.folder / f"{self.name}.out"
        with open(log, "wb") as out:
            self.spawn(command, cwd=self.folder, stdout=out, stderr=out, start_new_session=True)
        deadline = time.monotonic() + START_SECONDS_MAX
        while time.monotonic() < deadline and self.process.poll() is None:
            if self.answers():
                return self
            time.sleep(0.02)
        said = log.read_text(errors="replace")[-600:]
        self.stop()
        raise RuntimeError(f"{self.name} does not start: {said.strip()}")

    def answers(self):
        probe = f"import socket; socket.create_connection(('{self.host}', {self.port}), 0.2)"
        if self.namespace:
            return subprocess.run(["ip", "netns", "exec", self.namespace, sys.executable, "-c", probe],
                                  capture_output=True).returncode == 0
        try:
            socket.create_connection((self.host, self.port), 0.2).close()
            return True
        except OSError:
            return False


class Tidegate(Server):
    name = "tidegate"
    program = os.environ.get("TIDEGATE_BIN") or shutil.which(ROOT / "target/dist/tidegate") or \
        shutil.which(ROOT / "target/release/tidegate")

    def __init__(self, *arguments, memory="256MiB", **named):
        super().__init__(*arguments, **named)
        self.memory = memory
        self.name = "tidegate" if memory == "256MiB" else f"tidegate {memory}"

    def version(self):
        return output_of(self.program, "--version")

    def config(self):
        listen = json.dumps([f"http://{self.host}:{self.port}"])
        policy = f'policy: {{ lists: [{{ name: bench, rules: ["||{self.blocked}^"] }}] }}\n' if self.blocked else ""
        return f"""ledger: {{ log: none }}
admin: {{ listen: {self.host}:{self.port + 9} }}
proxy:
  listen: {listen}
  clients: [0.0.0.0/0]
  destinations: any
  cache: {{ memory: {self.memory} }}
{policy}"""

    def command(self, config):
        named = config.with_suffix(".yaml")
        config.rename(named)
        state = self.folder / f"state-{self.port}"
        shutil.rmtree(state, ignore_errors=True)
        return [self.program, "run", "--config", named, "--state", state]


class Polipo(Server):
    program = os.environ.get("POLIPO_BIN") or shutil.which("polipo")

    def __init__(self, *arguments, marks=None, **named):
        super().__init__(*arguments, **named)
        self.marks = marks
        self.name = "polipo" if marks is None else f"polipo {marks[1] // 1024}kB"

    def version(self):
        return output_of(self.program, "-v")

    def config(self):
        if self.marks:
            marks = f"chunkLowMark = {self.marks[0]}\nchunkHighMark = {self.marks[1]}"
        else:
            # Else it forgets most of what a round asks for: 2,048 objects, 24 MB.
            marks = ("chunkHighMark = 268435456\nchunkLowMark = 201326592\nobjectHighMark = 65536\n"
                     "objectHashTableSize = 1048576\npublicObjectLowMark = 60000")
        blocking = ""
        if self.blocked:
            hosts = self.folder / "polipo.forbidden"
            # It compares all that stands before the path: with the port.
            hosts.write_text(f"{self.blocked}:{FIRST_PORT}\n")
            blocking = f'forbiddenFile = "{hosts}"'
        return configured("proxy/polipo.conf", host=self.host, port=self.port, marks=marks, blocking=blocking)

    def command(self, config):
        return [self.program, "-c", config]


class Squid(Server):
    name = "squid"
    program = shutil.which("squid") or shutil.which("/usr/sbin/squid")

    def version(self):
        return output_of(self.program, "-v")

    def config(self):
        for path in [self.folder, *self.folder.parents]:
            if path != Path("/tmp"):
                path.chmod(path.stat().st_mode | 0o005) if str(path).startswith("/tmp/") else None
        run = self.folder / "squid"
        run.mkdir(exist_ok=True)
        run.chmod(0o777)
        blocking = f"acl blocked dstdomain -n {self.blocked}\nhttp_access deny blocked" if self.blocked else ""
        return configured("proxy/squid.conf", host=self.host, port=self.port, run=run, blocking=blocking)

    def command(self, config):
        return [self.program, "-N", "-f", config]


class Tinyproxy(Server):
    name = "tinyproxy"
    program = shutil.which("tinyproxy") or shutil.which("/usr/sbin/tinyproxy")
    left_out = {"hit": KEEPS_NOTHING, "hit-one": KEEPS_NOTHING, "miss": ONE_A_CONNECTION, "blocked": ONE_A_CONNECTION}

    def version(self):
        return output_of(self.program, "-v")

    def config(self):
        blocking = ""
        if self.blocked:
            hosts = self.folder / "tinyproxy.filter"
            hosts.write_text(f"^{self.blocked}$\n")
            blocking = f'Filter "{hosts}"'
        return configured("proxy/tinyproxy.conf", host=self.host, port=self.port, blocking=blocking)

    def command(self, config):
        return [self.program, "-d", "-c", config]


class Privoxy(Server):
    name = "privoxy"
    program = shutil.which("privoxy") or shutil.which("/usr/sbin/privoxy")
    left_out = {"hit": KEEPS_NOTHING, "hit-one": KEEPS_NOTHING}

    def version(self):
        return output_of(self.program, "--version")

    def config(self):
        run = self.folder / "privoxy"
        run.mkdir(exist_ok=True)
        if self.blocked:
            (run / "bench.action").write_text(configured("proxy/privoxy.action", blocked=self.blocked))
        return configured("proxy/privoxy.conf", host=self.host, port=self.port, run=run, toggle=1 if self.blocked else 0,
                          blocking=f"actionsfile {run / 'bench.action'}" if self.blocked else "")

    def command(self, config):
        return [self.program, "--no-daemon", config]


class Origin(Server):
    """nginx with the corpora: what it serves may be kept for an hour."""

    name = "origin"
    side = "client"
    program = shutil.which("nginx") or shutil.which("/usr/sbin/nginx")

    def config(self):
        (self.folder / "ngx").mkdir(exist_ok=True)
        (self.folder / "ngx").chmod(0o777)
        return f"""
daemon off; worker_processes 1; worker_rlimit_nofile 20000; pid {self.folder}/origin.pid;
error_log {self.folder}/origin-error.log crit;
events {{ worker_connections 8000; }}
http {{
  log_format short '$connection $status $body_bytes_sent $request_uri';
  access_log {self.folder}/origin.log short; keepalive_requests 1000000000; keepalive_timeout 300s;
  client_body_temp_path {self.folder}/ngx; proxy_temp_path {self.folder}/ngx;
  fastcgi_temp_path {self.folder}/ngx; uwsgi_temp_path {self.folder}/ngx; scgi_temp_path {self.folder}/ngx;
  types {{ text/html html; application/octet-stream bin; image/png png; }}
  server {{ listen {self.host}:{self.port} backlog=4096; root {self.folder}/www;
            add_header Cache-Control max-age=3600; }}
}}"""

    def command(self, config):
        return [self.program, "-c", config, "-p", self.folder]


def proxies(folder, **where):
    """Every proxy that is at hand, ours first."""
    every = [Tidegate(folder, 1, **where), Polipo(folder, 2, **where), Squid(folder, 3, **where),
             Tinyproxy(folder, 5, **where), Privoxy(folder, 6, **where)]
    return [one for one in every if one.program]
