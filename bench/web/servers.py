"""The web servers under test: how each is configured for the same site, started, stopped, watched.

All serve one folder on three ports: plain, plain without sendfile, and TLS (one P-256 certificate,
TLS 1.3), with a worker or thread a processor, gzip on, logs off unless a case asks for them. A server whose
program is not at hand is left out.
"""

import json
import os
import shutil
import socket
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import method  # noqa: E402
from process import Process, build, configured, output_of  # noqa: E402

ROOT = HERE.parents[1]
FIRST_PORT = 15500
START_SECONDS_MAX = 20


class Server(Process):
    """One program with one configuration, on ports of its own."""

    name = "?"
    program = None
    modes = ("plain", "tls", "gzip", "log")
    number = 0

    def __init__(self, folder):
        self.folder = folder
        self.port = FIRST_PORT + 10 * self.number
        self.tls_port = self.port + 1

    def version(self):
        return output_of(self.program, "-v")

    def config(self, need):
        raise NotImplementedError

    def command(self, config):
        raise NotImplementedError

    def start(self, need):
        config = self.folder / f"{self.name}.conf"
        config.write_text(self.config(need))
        self.log = self.folder / f"{self.name}.out"
        with open(self.log, "wb") as out:
            # A session of its own: lighttpd ends its whole process group.
            self.spawn(self.command(config), cwd=self.folder, stdout=out, stderr=out, start_new_session=True)
        deadline = time.monotonic() + START_SECONDS_MAX
        while time.monotonic() < deadline and self.process.poll() is None:
            try:
                socket.create_connection(("127.0.0.1", self.port), 0.2).close()
                return
            except OSError:
                time.sleep(0.02)
        said = self.log.read_text(errors="replace")[-600:]
        self.stop()
        raise RuntimeError(f"{self.name} does not start: {said.strip()}")


class Null(Server):
    """The floor: the system calls of an answer and nothing else."""

    name = "null"
    modes = ("plain",)
    number = 3

    def __init__(self, folder):
        super().__init__(folder)
        self.program = build("http.c", folder)

    def version(self):
        return "bench/null/http.c"

    def config(self, need):
        return str(self.port)

    def command(self, config):
        return [self.program, config.read_text(), method.workers()]


class Tidegate(Server):
    name = "tidegate"
    modes = (*Server.modes, "put", "cgi", "fastcgi")
    program = os.environ.get("TIDEGATE_BIN") or shutil.which(ROOT / "target/dist/tidegate") or \
        shutil.which(ROOT / "target/release/tidegate")

    def version(self):
        return output_of(self.program, "--version")

    def config(self, need):
        # Only what the case needs: a build that cannot do one thing is still measured by the rest.
        tls = need == "tls"
        listen = [f"http://127.0.0.1:{self.port}"] + tls * [f"https://127.0.0.1:{self.tls_port}"]
        site = f"""
web:
  - listen: {json.dumps(listen)}
    root: "{self.folder}/www"
"""
        if need == "gzip":
            site += "    compress: true\n"
        if need == "cgi":
            site += f'    cgi: {{ "/cgi-bin/*": "{self.folder}/cgi" }}\n'
        if need == "fastcgi":
            site += f'    fastcgi: {{ "*.php": "unix://{self.folder}/php.sock" }}\n'
        if need == "put":
            site += "    put: true\n    writers: [127.0.0.1]\n"
        if tls:
            site += f'    tls: {{ certificate: "{self.folder}/cert.pem", key: "{self.folder}/key.pem" }}\n'
        if need == "log":
            site += f'    access_log: {{ file: "{self.folder}/tidegate-access.log", format: combined }}\n'
        return f"ledger: {{ log: none }}\nadmin: {{ listen: 127.0.0.1:{self.port + 9} }}\n{site}"

    def command(self, config):
        named = config.with_suffix(".yaml")
        config.rename(named)
        return [self.program, "run", "--config", named, "--state", self.folder / "tidegate-state"]


class Nginx(Server):
    name = "nginx"
    modes = (*Server.modes, "put", "fastcgi")
    program = shutil.which("nginx") or shutil.which("/usr/sbin/nginx")
    number = 1

    def config(self, need):
        access = f"{self.folder}/nginx-access.log combined buffer=64k flush=1s" if need == "log" else "off"
        return configured("web/nginx.conf", folder=self.folder, port=self.port, tls_port=self.tls_port, access=access,
                          workers=method.workers())

    def command(self, config):
        return [self.program, "-c", config, "-p", self.folder]


class Lighttpd(Server):
    name = "lighttpd"
    program = shutil.which("lighttpd") or shutil.which("/usr/sbin/lighttpd")
    modes = ("plain", "gzip", "log", "cgi", "fastcgi")
    number = 2

    def config(self, need):
        access = f'accesslog.filename = "{self.folder}/lighttpd-access.log"' if need == "log" else ""
        modules = '"mod_deflate"' + (', "mod_accesslog"' if need == "log" else "")
        if need == "cgi":
            modules = '"mod_alias", "mod_cgi"'
            access = f'alias.url = ("/cgi-bin/" => "{self.folder}/cgi/")\n' \
                     '$HTTP["url"] =~ "^/cgi-bin/" { cgi.assign = ("" => "") }'
        if need == "fastcgi":
            modules = '"mod_fastcgi"'
            # Four of its connections are kept for each worker.
            access = f'fastcgi.server = (".php" => (("socket" => "{self.folder}/php.sock")))\n'
        return configured("web/lighttpd.conf", folder=self.folder, port=self.port, modules=modules, access=access,
                          workers=method.workers())

    def command(self, config):
        return [self.program, "-D", "-f", config]


class Apache(Server):
    name = "apache"
    program = shutil.which("apache2") or shutil.which("/usr/sbin/apache2")
    modes = (*Server.modes, "fastcgi")
    number = 4

    def config(self, need):
        access = f'CustomLog {self.folder}/apache-access.log "%h %l %u %t \\"%r\\" %>s %b"' if need == "log" else ""
        return configured("web/apache.conf", folder=self.folder, port=self.port, tls_port=self.tls_port, access=access)

    def command(self, config):
        return [self.program, "-D", "FOREGROUND", "-d", self.folder, "-f", config]


class Caddy(Server):
    name = "caddy"
    program = shutil.which("caddy")
    modes = (*Server.modes, "fastcgi")
    number = 5

    def version(self):
        return output_of(self.program, "version")

    def config(self, need):
        access = f"log {{ output file {self.folder}/caddy-access.log }}".replace("{ ", "{\n    ").replace(" }", "\n  }") \
            if need == "log" else ""
        return configured("web/Caddyfile", folder=self.folder, port=self.port, tls_port=self.tls_port,
                          compress="encode gzip" if need == "gzip" else "", access=access)

    def command(self, config):
        return [self.program, "run", "--adapter", "caddyfile", "--config", config]


class Hinsightd(Server):
    """Its program is called hin9 in its newer versions; Debian has none."""

    name = "hinsightd"
    program = os.environ.get("HINSIGHTD_BIN") or shutil.which("hinsightd") or shutil.which("hin9")
    modes = ("plain", "tls", "gzip")
    number = 6

    def config(self, need):
        return configured("web/hinsightd.lua", folder=self.folder, port=self.port, tls_port=self.tls_port)

    def command(self, config):
        return [self.program, "--config", config, "--workdir", self.folder, "--logdir", self.folder,
                "--tmpdir", self.folder, "--quiet"]


class PhpFpm(Process):
    """What runs the scripts of all: part of the load, and not of what is measured."""

    side = "load"
    program = next((it for it in (shutil.which(f"/usr/sbin/php-fpm{version}") for version in ("", "8.4", "8.3", "8.2")) if it), None)

    def __init__(self, folder):
        self.folder = folder

    def start(self):
        if not self.program:
            raise RuntimeError("there is no php-fpm")
        config = self.folder / "php-fpm.conf"
        config.write_text(configured("web/php-fpm.conf", folder=self.folder))
        self.spawn([self.program, "--nodaemonize", "--allow-to-run-as-root", "--fpm-config", config], stderr=open(self.folder / "php-fpm.out", "wb"))
        deadline = time.monotonic() + START_SECONDS_MAX
        while not (self.folder / "php.sock").exists():
            if time.monotonic() > deadline or self.process.poll() is not None:
                raise RuntimeError("php-fpm does not start: " + (self.folder / "php-fpm.out").read_text(errors="replace")[-600:])
            time.sleep(0.02)


def all_of(folder):
    """Every server that is at hand, ours first."""
    every = [Tidegate(folder), Nginx(folder), Lighttpd(folder), Apache(folder), Caddy(folder), Hinsightd(folder), Null(folder)]
    return [one for one in every if one.program]
