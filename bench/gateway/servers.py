"""The gateways under test: how each is told the same task, started, reloaded, stopped and watched.

Their configurations stand in bench/peers/gateway, with what was chosen and why; here are only the
lines that differ by the task. A server whose program is not at hand, or that cannot do a task, is
left out with the reason.
"""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import patterns

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import method  # noqa: E402
from process import Process, build, configured, free_ports, output_of, wait_for_port  # noqa: E402

PEERS = HERE.parent / "peers" / "gateway"
START_SECONDS_MAX = 120  # Squid compiles its expressions one by one
RELOAD_SECONDS_MAX = 20


class Cannot(RuntimeError):
    """The server does not know this task, or not as large."""


@dataclass
class Task:
    """What a gateway is to do: pass to `origins`, refuse `blocked`, keep answers, and how to balance."""

    origins: list
    blocked: patterns.Patterns | None = None
    is_cached: bool = False
    balance: str = "round_robin"
    is_checked: bool = False  # active health checks, where the peer needs them to notice a loss


class Origin(Process):
    """bench/null/http.c: an origin that is never the bottleneck, on a port that it keeps."""

    side = "client"

    def __init__(self, program, delay_us=0, kept_seconds=0, port=None):
        self.port = port or free_ports(1)[0]
        self.program, self.delay_us, self.kept_seconds = program, delay_us, kept_seconds
        self.start()

    def start(self):
        self.spawn([self.program, self.port, 1, self.delay_us, self.kept_seconds])
        wait_for_port(self.port, self.process, 5)

    def kill(self):
        self.process.kill()
        self.process.wait()


@dataclass
class Gateway(Process):
    """One program. `way` is how it matches patterns, where it knows several; `most` how many it takes."""

    folder: Path
    way: str = ""
    most: int = 1_000_000
    tail: str = "/"
    ports: list = field(default_factory=list)

    family = "?"
    template = "?"
    program = None
    balances = {"round_robin": ""}
    is_reloadable = True

    @property
    def name(self):
        return f"{self.family} {self.way}".strip()

    def version(self):
        return output_of(self.program, "-v")

    def values(self, task):
        """What is filled into the template."""
        raise NotImplementedError

    def command(self, config):
        raise NotImplementedError

    def environment(self):
        return None

    def balance(self, task):
        if task.balance not in self.balances:
            raise Cannot(f"does not balance by {task.balance}")
        return self.balances[task.balance]

    def patterns(self, task, form):
        if task.blocked.count > self.most:
            raise Cannot(f"left out: {self.most:,} patterns are what this way takes in reasonable time")
        return task.blocked.write(self.here / "patterns", form)

    def start(self, task):
        self.port, self.admin = free_ports(2)
        self.here = Path(tempfile.mkdtemp(dir=self.folder, prefix=self.family))
        for part in (self.here, self.here / "ngx", self.here / "squid"):
            part.mkdir(exist_ok=True)
            part.chmod(0o777)
        values = {"folder": self.here, "port": self.port, "admin": self.admin,
                  "workers": method.workers(), **self.values(task)}
        self.config = self.here / self.template
        self.config.write_text(configured(f"gateway/{self.template}", **values))
        with open(self.here / "out", "wb") as out:
            self.spawn(self.command(self.config), cwd=self.here, stdout=out, stderr=out,
                       env={**os.environ, **(self.environment() or {})})
        try:
            wait_for_port(self.port, self.process, START_SECONDS_MAX, self.said)
        except RuntimeError as why:
            self.stop()
            raise RuntimeError(f"{self.name} {why}") from None

    def said(self):
        return (self.here / "out").read_text(errors="replace")

    def reload(self):
        raise NotImplementedError


class Null(Gateway):
    """The floor: the system calls of passing a request on, and nothing else or so many microseconds of computing."""

    family = "null"

    def __init__(self, folder, computing_us=0):
        super().__init__(folder, way=f"(computes {computing_us} µs)" if computing_us else "")
        self.program, self.computing_us = build("relay.c", folder), computing_us

    def version(self):
        return "bench/null/relay.c"

    def start(self, task):
        self.port = free_ports(1)[0]
        self.spawn([self.program, self.port, task.origins[0], method.workers(), self.computing_us])
        wait_for_port(self.port, self.process, START_SECONDS_MAX)


class Tidegate(Gateway):
    family = "tidegate"
    template = "tidegate.yaml"
    program = os.environ.get("TIDEGATE_BIN") or next(filter(None, (
        shutil.which(method.ROOT / "target" / it / "tidegate") for it in ("dist", "release"))), None)
    balances = {"round_robin": "balance: round_robin", "p2c": "balance: p2c",
                "least_connections": "balance: least_connections", "default": ""}
    # What is found anywhere in the URL, or at its front only.
    forms = {"": str, "(at the front)": lambda it: f"|{it}"}

    def version(self):
        return output_of(self.program, "--version")

    def values(self, task):
        refuse = ""
        if task.blocked:
            form = self.forms[self.way] if task.blocked.kind == "text" else (lambda it: f"~{it}")
            refuse = f'- {{ path: "/*", block: {{ patterns: "{self.patterns(task, form)}" }} }}'
        cached = ", cache: true" if task.is_cached else ""
        servers = str([f"http://127.0.0.1:{port}" for port in task.origins])
        return {"servers": servers, "balance": self.balance(task), "refuse": refuse, "cached": cached}

    def command(self, config):
        return [self.program, "run", "--config", config, "--state", self.here / "state"]

    def reload(self):
        done = subprocess.run([self.program, "ctl", "--config", self.config, "--state", self.here / "state",
                               "reload"], capture_output=True, text=True, timeout=RELOAD_SECONDS_MAX)
        if done.returncode != 0:
            raise RuntimeError(f"reload: {done.stdout}{done.stderr}"[-300:])


class Nginx(Gateway):
    family = "nginx"
    template = "nginx.conf"
    program = shutil.which("nginx") or shutil.which("/usr/sbin/nginx")
    balances = {"round_robin": "", "least_connections": "least_conn;", "default": "",
                "p2c": "random two least_conn;"}

    def values(self, task):
        declared = refuse = cached = ""
        if task.blocked:
            is_exact = self.way != "(regex)" and task.blocked.kind == "text"
            forms = (lambda it: f'"{it}" 1;') if is_exact else (
                lambda it: f'"~{patterns.literal(it) if task.blocked.kind == "text" else it}" 1;')
            # Room for all of them: the default tables are for a few thousand.
            declared = (f"map_hash_max_size {max(2048, 2 * task.blocked.count)}; map_hash_bucket_size 128; "
                        f"map $uri $is_bad {{ default 0; include {self.patterns(task, forms)}; }}")
            refuse = "if ($is_bad) { return 403; }"
        if task.is_cached:
            declared += f"\n  proxy_cache_path {self.here}/ngx/cache keys_zone=kept:10m use_temp_path=off;"
            cached = "proxy_cache kept; proxy_cache_lock on;"
        servers = " ".join(f"server 127.0.0.1:{port} fail_timeout=1s;" for port in task.origins)
        return {"servers": servers, "balance": self.balance(task), "declared": declared, "refuse": refuse,
                "cached": cached}

    def command(self, config):
        return [self.program, "-c", config, "-p", self.here]

    def reload(self):
        self.process.send_signal(signal.SIGHUP)


class Haproxy(Gateway):
    family = "haproxy"
    template = "haproxy.cfg"
    program = shutil.which("haproxy") or shutil.which("/usr/sbin/haproxy")
    balances = {"round_robin": "balance roundrobin", "least_connections": "balance leastconn",
                "default": "balance roundrobin", "p2c": "balance random(2)"}
    ways = {"(prefix)": "path_beg", "(substring)": "path_sub", "(regex)": "path_reg"}

    def values(self, task):
        declared = refuse = cached = ""
        if task.blocked:
            is_text = task.blocked.kind == "text"
            file = self.patterns(task, patterns.literal if is_text and self.way == "(regex)" else str)
            matcher = self.ways.get(self.way, "path_beg")
            refuse = f"  http-request deny deny_status 403 if {{ {matcher} -f {file} }}"
        if task.is_cached:
            declared = "cache kept\n  total-max-size 64\n  max-object-size 200000\n  max-age 3600"
            cached = "  http-request cache-use kept\n  http-response cache-store kept"
        check = " check inter 250ms fall 1 rise 1" if task.is_checked else ""
        servers = "\n".join(f"  server s{port} 127.0.0.1:{port}{check}" for port in task.origins)
        return {"servers": servers, "balance": self.balance(task), "declared": declared, "refuse": refuse,
                "cached": cached}

    def command(self, config):
        return [self.program, "-W", "-db", "-f", config]

    def reload(self):
        self.process.send_signal(signal.SIGUSR2)


class Squid(Gateway):
    family = "squid"
    template = "squid.conf"
    program = shutil.which("squid") or shutil.which("/usr/sbin/squid")
    balances = {"round_robin": "round-robin", "default": "round-robin"}

    def values(self, task):
        refuse = ""
        if task.blocked:
            form = patterns.literal if task.blocked.kind == "text" else str
            refuse = f'acl bad url_regex "{self.patterns(task, form)}"\nhttp_access deny bad'
        servers = "\n".join(
            f"cache_peer 127.0.0.1 parent {port} 0 no-query no-digest originserver name=s{port} "
            f"{self.balance(task)}" for port in task.origins)
        cached = "cache_mem 256 MB" if task.is_cached else "cache deny all"
        return {"servers": servers, "refuse": refuse, "cached": cached}

    def command(self, config):
        return [self.program, "-N", "-f", config]

    def reload(self):
        self.process.send_signal(signal.SIGHUP)


class Varnish(Gateway):
    family = "varnish"
    template = "varnish.vcl"
    is_reloadable = False  # a new program is loaded and switched to by its console
    program = shutil.which("varnishd") or shutil.which("/usr/sbin/varnishd")
    balances = {"round_robin": "round_robin", "default": "round_robin"}

    def version(self):
        return output_of(self.program, "-V")

    def values(self, task):
        refuse = ""
        if task.blocked:
            if task.blocked.count > self.most:
                raise Cannot(f"left out: {self.most:,} patterns are what one expression of VCL takes")
            form = patterns.literal if task.blocked.kind == "text" else str
            lines = self.patterns(task, form).read_text().split()
            every = "|".join(lines)
            refuse = f'  if (req.url ~ "{every}") {{ return (synth(403)); }}'
        servers = "\n".join(f'backend s{port} {{ .host = "127.0.0.1"; .port = "{port}"; }}'
                            for port in task.origins)
        added = "\n".join(f"  app.add_backend(s{port});" for port in task.origins)
        return {"servers": servers, "balance": self.balance(task), "added": added, "refuse": refuse,
                "cached": "" if task.is_cached else "  return (pass);"}

    def command(self, config):
        # In memory, and in no jail: it would change its user and could not read the folder.
        return [self.program, "-F", "-j", "none", "-a", f"127.0.0.1:{self.port}", "-f", config, "-n",
                self.here / "varnish", "-s", "malloc,256m", "-p", "thread_pool_min=100"]


class Perlbal(Gateway):
    family = "perlbal"
    template = "perlbal.conf"
    is_reloadable = False
    program = shutil.which("perlbal")
    balances = {"round_robin": "", "default": ""}

    def version(self):
        return output_of(self.program, "--version")

    def values(self, task):
        if task.is_cached:
            raise Cannot("has no cache of answers")
        self.balance(task)
        self.list = None
        if task.blocked:
            self.list = self.patterns(task, patterns.literal if task.blocked.kind == "text" else str)
        return {"servers": "\n".join(f"  POOL app ADD 127.0.0.1:{port}" for port in task.origins),
                "loaded": "LOAD BlockUrls" if self.list else "",
                "refuse": "SET plugins = BlockUrls" if self.list else ""}

    def environment(self):
        return {"PERL5LIB": str(PEERS / "perl"), "BLOCK_URLS": str(self.list or "")}

    def command(self, config):
        return [self.program, f"--config={config}"]


def all_of(folder):
    """Every gateway that is at hand, ours first."""
    every = [Tidegate(folder), Nginx(folder, tail="?"), Haproxy(folder), Squid(folder), Varnish(folder, most=1000),
             Perlbal(folder)]
    return [one for one in every if one.program]


def blocking(folder):
    """The same by each way that they know of refusing URLs. A whole path asks less than a piece anywhere."""
    every = [Tidegate(folder), Tidegate(folder, "(at the front)"), Nginx(folder, "(whole path)", tail="?"),
             Nginx(folder, "(regex)", most=10_000), Haproxy(folder, "(prefix)"),
             Haproxy(folder, "(substring)", most=100_000), Haproxy(folder, "(regex)", most=10_000),
             Squid(folder, "(regex)", most=10_000), Varnish(folder, "(regex)", most=1000),
             Perlbal(folder, "(regex)", most=100_000)]
    return [one for one in every if one.program]


def missing(folder):
    """Names of the peers that are not at hand: grey columns."""
    every = (Tidegate(folder), Nginx(folder), Haproxy(folder), Squid(folder), Varnish(folder), Perlbal(folder))
    return [it.family for it in every if not it.program]


def null_program(folder):
    return build("http.c", folder)
