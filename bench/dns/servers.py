"""The servers under test: how each is configured for a scenario, started, asked and stopped.

Every server gets the same job: the same names, the same answers, the same upstream. A server whose
program is not at hand is left out and shows as a grey column.
"""

import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import threading
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
UPSTREAM_PORT = 5390
UPSTREAM_ADDRESS = "192.0.2.53"
LOCAL = [(f"{host}.bench.test", f"192.0.2.{10 + i}", f"2001:db8::{10 + i}")
         for i, host in enumerate(["www", "api", "cdn", "mail", "metrics"])]
RULES_OF = {"set": ("full", "domain"), "patterns": ("full", "domain", "regexp")}
CACHED = [f"www{i}.cached.test" for i in range(16)]


def wire_query(number, name, kind=1):
    labels = b"".join(bytes([len(label)]) + label.encode() for label in name.split("."))
    return struct.pack(">6H", number, 0x0100, 1, 0, 0, 0) + labels + struct.pack(">BHH", 0, kind, 1)


class Upstream(threading.Thread):
    """Answers every question with one A record that lives an hour, after 2 ms: a stock mosdns
    loses replies that come back faster than it listens."""

    def __init__(self):
        super().__init__(daemon=True)
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", UPSTREAM_PORT))

    def run(self):
        while True:
            query, client = self.socket.recvfrom(4096)
            end = 12
            while query[end]:
                end += query[end] + 1
            end += 5
            record = b"\xc0\x0c" + struct.pack(">HHIH", 1, 1, 3600, 4)
            record += socket.inet_aton(UPSTREAM_ADDRESS)
            time.sleep(0.002)
            head = query[:2] + b"\x81\x80" + struct.pack(">4H", 1, 1, 0, 0)
            self.socket.sendto(head + query[12:end] + record, client)


class Server:
    """One program; subclasses write its configuration and say how it is called."""

    name = "?"
    program = None

    def rules_of(self, scenario):
        return [rule for rule in self.rules if rule[0] in RULES_OF[scenario]]

    def available(self):
        return self.program is not None

    def __init__(self, port, folder, rules):
        self.port, self.folder, self.rules, self.process = port, Path(folder), rules, None

    def start(self, scenario):
        log = open(self.folder / f"{self.name}.log", "ab")
        command = self.command(scenario)
        self.process = subprocess.Popen(command, cwd=self.folder, stdout=log, stderr=log)
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                raise RuntimeError(f"{self.name} ended: see {log.name}")
            if self.ask(LOCAL[0][0], 0.2) is not None:
                return
        raise RuntimeError(f"{self.name} does not answer: see {log.name}")

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def cpu_seconds(self):
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def ask(self, name, timeout=2.0):
        """(rcode, last four bytes) of the answer to an A question, or nothing."""
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
            client.settimeout(timeout)
            client.connect(("127.0.0.1", self.port))
            client.send(wire_query(4711, name))
            try:
                reply = client.recv(4096)
            except OSError:
                return None
        if len(reply) < 12 or reply[:2] != struct.pack(">H", 4711) or not reply[2] & 0x80:
            return None
        return reply[3] & 15, socket.inet_ntoa(reply[-4:])


class Null(Server):
    name = "null"

    def __init__(self, *args):
        super().__init__(*args)
        self.program = self.folder / "null-dns"
        source = HERE.parent / "null" / "dns.c"
        subprocess.run(["cc", "-O2", "-pthread", "-o", self.program, source], check=True)

    def command(self, scenario):
        return [self.program, str(self.port)]


class Tidegate(Server):
    name = "tidegate"
    program = os.environ.get("TIDEGATE_BIN") or shutil.which(
        HERE.parents[1] / "target" / "dist" / "tidegate") or shutil.which(
        HERE.parents[1] / "target" / "release" / "tidegate")
    log = "none"

    def command(self, scenario):
        lists = []
        if scenario in RULES_OF:
            rules = self.folder / "set.adblock"
            with open(rules, "w") as out:
                for kind, text in self.rules_of(scenario):
                    form = {"full": "|{}^", "domain": "||{}^", "regexp": "/{}/"}.get(kind)
                    if form:
                        print(form.format(text), file=out)
            lists = [{"name": "set", "path": str(rules)}]
        config = {
            "policy": {"lists": lists, "default": {"lists": [one["name"] for one in lists]}},
            "dns": {
                "listen": [f"udp://127.0.0.1:{self.port}"],
                "upstreams": [f"udp://127.0.0.1:{UPSTREAM_PORT}"],
                "blocked": "refused",
                "local": [f"{name} {kind} {ip}" for name, v4, v6 in LOCAL
                          for kind, ip in (("A", v4), ("AAAA", v6))],
            },
            "ledger": {"log": self.log},
        }
        path = self.folder / f"{self.name}.yaml"
        path.write_text(json.dumps(config))  # JSON is YAML
        state = self.folder / f"{self.name}.state"
        return [self.program, "run", "--config", path, "--state", state]


class TidegateLogging(Tidegate):
    name = "tidegate+log"
    log = "all"


class Mosdns(Server):
    name = "mosdns"
    program = os.environ.get("MOSDNS_BIN")
    hosts_tail = ""

    def command(self, scenario):
        upstream = {"upstreams": [{"addr": f"udp://127.0.0.1:{UPSTREAM_PORT}"}]}
        plugins = [
            {"tag": "hosts", "type": "hosts",
             "args": {"entries": [f"full:{name} {v4} {v6}" for name, v4, v6 in LOCAL]}},
            {"tag": "cache", "type": "cache", "args": {"size": 200000}},
            {"tag": "forward", "type": "forward", "args": upstream},
        ]
        steps = [{"exec": "$hosts"}, {"matches": ["has_resp"], "exec": "accept"}]
        if scenario in RULES_OF:
            rules = self.folder / f"{self.name}.rules"
            lines = [f"{kind}:{text}\n" for kind, text in self.rules_of(scenario)]
            rules.write_text("".join(lines))
            plugins.append({"tag": "set", "type": "domain_set", "args": {"files": [str(rules)]}})
            steps.append({"matches": ["qname $set"], "exec": "reject 5"})
        steps += [{"exec": "$cache"}, {"matches": ["has_resp"], "exec": "accept"},
                  {"exec": "$forward"}]
        plugins.append({"tag": "main", "type": "sequence", "args": steps})
        plugins.append({"tag": "udp", "type": "udp_server",
                        "args": {"entry": "main", "listen": f"127.0.0.1:{self.port}"}})
        path = self.folder / f"{self.name}.yaml"
        path.write_text(json.dumps({"log": {"level": "error"}, "plugins": plugins}))
        return [self.program, "start", "-c", path]


class Oxidns(Mosdns):
    name = "oxidns"
    program = os.environ.get("OXIDNS_BIN")


class Dnsdist(Server):
    name = "dnsdist"
    program = shutil.which("dnsdist")

    def command(self, scenario):
        lines = [
            'setSecurityPollSuffix("")',
            *[f'addLocal("127.0.0.1:{self.port}", {{reusePort=true}})'] * (os.cpu_count() or 1),
            f'newServer({{address="127.0.0.1:{UPSTREAM_PORT}", healthCheckMode="up"}})',
            'getPool(""):setCache(newPacketCache(200000, {maxTTL=86400}))',
            *[f'addAction(QNameRule("{name}"), SpoofAction({{"{v4}", "{v6}"}}))'
              for name, v4, v6 in LOCAL],
        ]
        if scenario in RULES_OF:
            exact = [text for kind, text in self.rules if kind == "full"]
            below = [text for kind, text in self.rules if kind == "domain"]
            (self.folder / "exact.txt").write_text("\n".join(exact))
            (self.folder / "below.txt").write_text("\n".join(below))
            # It has no set of regular expressions; in "patterns" it is spared them.
            lines += [
                "local below, exact = newSuffixMatchNode(), newDNSNameSet()",
                'for name in io.lines("below.txt") do below:add(newDNSName(name)) end',
                'for name in io.lines("exact.txt") do exact:add(newDNSName(name)) end',
                "addAction(SuffixMatchNodeRule(below, true), RCodeAction(DNSRCode.REFUSED))",
                "addAction(QNameSetRule(exact), RCodeAction(DNSRCode.REFUSED))",
            ]
        path = self.folder / "dnsdist.conf"
        path.write_text("\n".join(lines))
        return [self.program, "--supervised", "--disable-syslog", "-C", path]
