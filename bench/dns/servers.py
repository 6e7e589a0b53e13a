"""The servers under test: where each program is found, how it is called, started and stopped.

A server whose program is not at hand is left out and shows as a grey column.
"""

import os
import shutil
import socket
import sys
import tempfile
import time
from pathlib import Path

import dialects
import pack
import probe
from tasks import Place, Scenario, Task

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import method  # noqa: E402
from process import Process, build, output_of  # noqa: E402

START_SECONDS_MAX = 60


class Upstream(Process):
    """bench/null/upstream.c on `count` ports from `port` on, each answer `delay_us` late."""

    side = "client"

    def __init__(self, program, port, count, delay_us):
        self.ports = tuple(range(port, port + count))
        self.spawn([program, delay_us, *self.ports])

    def asked(self):
        """How many questions it was asked so far."""
        told = probe.ask(self.ports[0], probe.Question("queries.null", "TXT"))
        return int(next(iter(told.records)))


class Server(Process):
    """One program with one configuration."""

    name = "?"
    program = None
    reads_pack = False
    modes = ("udp", "tcp", "dot", "doh")

    def available(self):
        return self.program is not None

    def version(self):
        return output_of(self.program, "--version")

    def config(self, scenario, place):
        """The text of the configuration, or nothing where it cannot do this."""
        if scenario.mode not in self.modes:
            return None
        if scenario.file is not None and self.reads_pack:
            return pack.rewrite(scenario.file.read_text(), place)
        return None if scenario.task is None else self.dialect(scenario.task, place)

    def dialect(self, task, place):
        raise NotImplementedError

    def command(self, config):
        raise NotImplementedError

    def start(self, scenario, place, text):
        config = place.folder / f"{self.name}.{self.suffix}"
        config.write_text(text)
        self.log = place.folder / f"{self.name}.log"
        with open(self.log, "wb") as log:
            self.spawn(self.command(config), cwd=place.folder, stdout=log, stderr=log,
                       env={**os.environ, "BENCH_PLUGIN_FLAG": "1"})
        deadline = time.monotonic() + START_SECONDS_MAX
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                break
            if self.answers(scenario, place):
                return
            time.sleep(0.02)
        said = self.log.read_text(errors="replace")[-600:]
        self.stop()
        raise RuntimeError(f"{self.name} does not start: {said.strip()}")

    @staticmethod
    def answers(scenario, place):
        """Whether it answers over UDP, and listens where the scenario asks: one may open before the other."""
        if scenario.mode in ("tcp", "dot", "doh"):
            try:
                socket.create_connection(("127.0.0.1", place.port_of(scenario.mode)), 0.2).close()
            except OSError:
                return False
        return isinstance(probe.ask(place.port, scenario.questions[0], timeout=0.2), probe.Question)


class Null(Server):
    """The floor: the system calls of an answer and nothing else. It is not checked."""

    name = "null"
    modes = ("udp",)
    suffix = "port"

    def __init__(self, folder):
        self.program, self.forwarder = build("dns.c", folder), build("forward.c", folder)

    def version(self):
        return "bench/null/dns.c, forward.c"

    def config(self, scenario, place):
        """Its port, and the upstream's where it forwards."""
        task = scenario.task
        if scenario.mode != "udp" or task is None:
            return None
        if not task.upstreams or task.cache:
            return str(place.port)
        return f"{place.port} {place.upstream_ports[0]}" if task.upstreams == 1 else None

    def command(self, config):
        ports = config.read_text().split()
        return [self.program if len(ports) == 1 else self.forwarder, *ports, method.workers()]


class Tidegate(Server):
    """Tidegate with the pack's files as they are, and its own simple form for the rest."""

    name = "tidegate"
    program = os.environ.get("TIDEGATE_BIN") or shutil.which(
        HERE.parents[1] / "target" / "dist" / "tidegate") or shutil.which(
        HERE.parents[1] / "target" / "release" / "tidegate")
    reads_pack = True
    modes = ("udp", "tcp", "dot", "doh", "doq")
    suffix = "yaml"

    def dialect(self, task, place):
        return dialects.tidegate(task, place)

    def command(self, config):
        # A new one each time: what an earlier round left in the cache must not help this one.
        state = tempfile.mkdtemp(prefix="state-", dir=config.parent)
        return [self.program, "run", "--config", config, "--state", state]


class SecureUpstream(Tidegate):
    """The null upstream over HTTPS: a Tidegate without a cache before it, the same for all who ask it. Its own
    time is in nobody's figure."""

    name = "secure-upstream"
    side = "client"

    def __init__(self, folder, port, upstream):
        asked = (probe.of_upstream("www.secure.test"),)
        scenario = Scenario(self.name, "", "", asked, "doh", Task(upstreams=1, encrypted=True))
        place = Place(folder, port, upstream.ports)
        self.port = place.port_of("doh")
        self.start(scenario, place, self.config(scenario, place))


class TidegateSimple(Tidegate):
    """Tidegate's simple form where the pack has a pipeline for the same."""

    name = "tidegate-simple"
    reads_pack = False

    def config(self, scenario, place):
        return super().config(scenario, place) if scenario.file is not None else None


class TidegateLogging(Tidegate):
    """The simple form with every query in the request log."""

    name = "tidegate+log"
    reads_pack = False

    def dialect(self, task, place):
        return dialects.tidegate(task, place, log="all")


class Mosdns(Server):
    name = "mosdns"
    program = os.environ.get("MOSDNS_BIN")
    reads_pack = True
    modes = ("udp", "tcp", "dot", "doh", "doq")
    suffix = "yaml"

    def version(self):
        return output_of(self.program, "version")

    def dialect(self, task, place):
        return dialects.mosdns(task, place)

    def command(self, config):
        return [self.program, "start", "-c", config]


class Oxidns(Mosdns):
    name = "oxidns"
    program = os.environ.get("OXIDNS_BIN")

    def version(self):
        return output_of(self.program, "--version")


class Dnsdist(Server):
    name = "dnsdist"
    program = shutil.which("dnsdist")
    suffix = "conf"

    def dialect(self, task, place):
        return dialects.dnsdist(task, place)

    def command(self, config):
        return [self.program, "--supervised", "--disable-syslog", "-C", config]


class Unbound(Server):
    name = "unbound"
    program = shutil.which("unbound") or shutil.which("/usr/sbin/unbound")
    suffix = "conf"

    def version(self):
        return output_of(self.program, "-V")

    def dialect(self, task, place):
        return dialects.unbound(task, place)

    def command(self, config):
        return [self.program, "-d", "-p", "-c", config]


def all_of(folder):
    """Every server, ours first."""
    return [Tidegate(), TidegateSimple(), TidegateLogging(), Oxidns(), Mosdns(), Dnsdist(), Unbound(),
            Null(folder)]
