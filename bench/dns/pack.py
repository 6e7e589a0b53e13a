"""The compare pack: configuration files and query files that OxiDNS's authors measure with.

Its files run as they are, save for two things that belong to the machine: ports listened on, and
the public resolvers, which become null upstreams on loopback. PACK names its folder. What each
query must be answered with is worked out here, from what the file says.
"""

import ipaddress
import os
import re
from pathlib import Path

from probe import NOERROR, NXDOMAIN, REFUSED, SERVFAIL, Question, of_upstream
from tasks import Scenario, Task

PACK = Path(os.environ.get("PACK") or
            Path(__file__).resolve().parents[3] / "shared/data/dns-compare")
PUBLIC = ["223.5.5.5", "119.29.29.29", "114.114.114.114"]
SECURE = "07"  # the row whose upstream is asked over HTTPS
SETS = ["data/geosite_cn.txt", "data/geosite_geolocation-!cn.txt"]
CACHE = 200_000
BLACK_HOLE = "192.0.2.10"
HOSTS = {f"{name}bench.local": number for name, number in
         [("", 10), ("svc.", 20), ("api.", 40), ("cdn.", 50), ("metrics.", 60)]}
LOCAL = tuple(
    (name, kind, f"{prefix}{number}") for name, number in HOSTS.items()
    for kind, prefix in (("A", "192.0.2."), ("AAAA", "2001:db8::"))
) + (("txt.bench.local", "TXT", "forge-bench"), ("target.bench.local", "A", "192.0.2.30"),
     ("status.bench.local", "TXT", "ok"), ("alias.bench.local", "CNAME", "target.bench.local"))
IP_SET = {f"ipset-{i:02}.bench.test": f"10.{i}.0.{i}0" for i in range(1, 5)} | {
    f"ipset-{i:02}.bench.test": f"203.0.113.{i}0" for i in range(5, 9)}
CHAIN = {"265.com": "10.1.0.10", "apps.mzstatic.com": "10.2.0.20",
         "azure.microsoft.com": "198.51.100.10", "android.googlesource.com": "203.0.113.10"}


def rewrite(text, place):
    """The file with this place's ports and upstreams."""
    # The name and the certificate of a public resolver are not to be had: ours is dialled, and not checked.
    text = text.replace('"https://dns.alidns.com/dns-query"',
                        f'"https://localhost:{place.secure_upstream}/dns-query"')
    text = text.replace('dial_addr: "223.5.5.5"', 'dial_addr: "127.0.0.1"\n          insecure_skip_verify: true')
    for public, address in zip(PUBLIC, place.upstreams):
        text = text.replace(f'"{public}"', f'"{address}"')
    return re.sub(r'(listen: "127\.0\.0\.1):\d+"', rf'\1:{place.port}"', text)


def rules():
    """(kind, text) of every line of the pack's domain sets."""
    found = []
    for file in SETS:
        for line in (PACK / file).read_text().splitlines():
            kind, colon, text = line.partition(":")
            if colon and kind in ("full", "domain", "regexp"):
                found.append((kind, text))
            elif line and not colon:
                found.append(("domain", line))
    return tuple(found)


def in_ip_set(address):
    networks = (PACK / "data/ip_set_rules.txt").read_text().split()
    return any(ipaddress.ip_address(address) in ipaddress.ip_network(one) for one in networks)


def answered(name, kind, address):
    return Question(name, kind, NOERROR, frozenset([address]))


def local(name, kind):
    values = frozenset(value for owner, of, value in LOCAL if (owner, of) == (name, kind))
    return Question(name, kind, NOERROR if values else NXDOMAIN, values)


def in_set(name, kind):
    return Question(name, kind, SERVFAIL if name.startswith("bench-miss") else REFUSED)


def filtered(addresses):
    """Answered from a table; what is not of the IP set, or not in the table, is SERVFAIL."""
    def expected(name, kind):
        address = addresses.get(name)
        if address and in_ip_set(address):
            return answered(name, kind, address)
        return Question(name, kind, SERVFAIL)
    return expected


def refused(name, kind):
    return Question(name, kind, REFUSED)


def failed(name, kind):
    return Question(name, kind, SERVFAIL)


def named(name, kind):
    return Question(name, kind, REFUSED if name == "bench.test" else SERVFAIL)


def black_hole(name, kind):
    return answered(name, kind, BLACK_HOLE)


def questions(file, expected):
    pairs = [line.split() for line in (PACK / "queries" / file).read_text().splitlines() if line]
    return tuple(expected(name, kind) for name, kind in pairs)


def missing(path):
    return f"not at hand: {path} (PACK names the folder of the compare pack: bench/README.md)"


# The pack's core rows, its two server rows, and what the reference's v0.1.0 asked besides.
ROWS = [
    # file, row, title, mode, queries, answers, task for servers with another language
    ("01-baseline-udp-forward", "01", "baseline UDP forward", "udp", "forward.txt", of_upstream,
     Task(upstreams=1)),
    ("02-cache-hotpath", "02", "cache hotpath", "udp", "cache-hotpath.txt", of_upstream,
     Task(upstreams=1, cache=CACHE)),
    ("03-dual-entry-udp-tcp", "03u", "dual-entry UDP", "udp", "forward.txt", of_upstream,
     Task(upstreams=1)),
    ("03-dual-entry-udp-tcp", "03t", "dual-entry TCP", "tcp", "forward.txt", of_upstream,
     Task(upstreams=1)),
    ("04-concurrent-upstreams", "04", "concurrent upstreams", "udp", "forward.txt", of_upstream,
     Task(upstreams=3)),
    ("06-local-answers", "06", "local answers", "udp", "local-answers.txt", local,
     Task(local=LOCAL)),
    ("08-domain-set", "08", "domain set", "udp", "domain-set-mixed.txt", in_set,
     lambda: Task(rules=rules(), otherwise="SERVFAIL")),
    ("09-ip-set", "09", "ip set", "udp", "ip-set.txt", filtered(IP_SET), None),
    ("43-composite-provider-chain", "43", "composite provider chain", "udp",
     "provider-chain.txt", filtered(CHAIN), None),
    ("47-server-local-udp-tcp", "47", "server local UDP", "udp", "plugin-a.txt", black_hole,
     Task(every=BLACK_HOLE)),
    ("47-server-local-udp-tcp", "48", "server local TCP", "tcp", "plugin-a.txt", black_hole,
     Task(every=BLACK_HOLE)),
    ("05-fallback-standby", "05", "fallback standby", "udp", "forward.txt", of_upstream, None),
    (f"{SECURE}-doh-upstream-h2", SECURE, "DoH upstream (HTTP/2)", "udp", "forward.txt", of_upstream, None),
    ("10-sequence-base", "10", "sequence base", "udp", "plugin-a.txt", refused, None),
    ("11-match-true", "11", "match true", "udp", "plugin-a.txt", refused, None),
    ("12-match-false", "12", "match false", "udp", "plugin-a.txt", failed, None),
    ("13-match-qname", "13", "match qname", "udp", "plugin-a.txt", named, None),
]


def made(file, row, title, mode, queries, expected, task):
    """The scenario of a row; without the pack, or a part of it, one that says what is missing."""
    try:
        path = PACK / f"{file}.yaml"
        path.read_text()
        return Scenario(row, title, "pack", questions(queries, expected), mode, task() if callable(task) else task, path)
    except OSError as why:
        return Scenario(row, title, "pack", (), mode, lacking=missing(why.filename))


def scenarios():
    return [made(*it) for it in ROWS]
