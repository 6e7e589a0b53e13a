"""What a server is asked to do, in words that every configuration language here can say.

A task holds no port and no path of one run: these come with the place that a server gets.
"""

from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Task:
    """One job. `local` records are answered first, then `set` blocks, then upstreams are asked."""

    local: tuple = ()  # (name, type, value)
    rules: tuple = ()  # (kind, text) with kind full, domain or regexp: REFUSED
    upstreams: int = 0  # how many; more than one are raced
    cache: int = 0  # answers to hold; 0 is none
    every: str = ""  # this address for every A question
    otherwise: str = ""  # the code of what nothing above answered, as NXDOMAIN
    encrypted: bool = False  # DoT, DoH and DoQ listeners besides UDP and TCP


@dataclass(frozen=True)
class Place:
    """Where one server of one round lives. Ports count from `port`: UDP and TCP, DoT, DoH, DoQ."""

    folder: Path
    port: int
    upstream_ports: tuple
    secure_upstream: int = 0  # the port of the first of them over HTTPS; 0 where no row asks it

    @property
    def upstreams(self):
        return [f"127.0.0.1:{port}" for port in self.upstream_ports]

    @property
    def cert(self):
        return str(self.folder / "cert.pem")

    @property
    def key(self):
        return str(self.folder / "key.pem")

    def port_of(self, mode):
        return self.port + {"udp": 0, "tcp": 0, "dot": 1, "doh": 2, "doq": 3}[mode]


@dataclass(frozen=True)
class Scenario:
    """One row of the tables: a task, or a file of the pack, under one kind of load."""

    name: str
    title: str
    family: str
    questions: tuple  # probe.Question; the load is made of them unless `load_file` is set
    mode: str = "udp"
    task: Task = None  # for servers with a language of their own
    file: Path = None  # for those who read mosdns' language; without it they get the task
    warm_file: Path = None
    load_file: Path = None  # run through once, after the warm file
    rcodes: dict = field(default_factory=dict)  # the share of each code, where not from questions
    lacking: str = ""  # why it cannot be asked on this machine: a grey row
