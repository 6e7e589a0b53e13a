"""A task in the configuration language of each server, or nothing where it cannot be said there.

The files are as plain as a user would write them: no tuning beyond a listener per processor and a cache
that is large enough.
"""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import method  # noqa: E402

CACHE_BYTES_PER_ANSWER = 512


def tidegate(task, place):
    if task.every or task.otherwise:
        return None
    listen = [f"{scheme}://127.0.0.1:{place.port}" for scheme in ("udp", "tcp")]
    dns = {
        "upstreams": [f"udp://{address}" for address in place.upstreams[:max(task.upstreams, 1)]],
        "blocked": "refused",
        "cache": {"size": task.cache * CACHE_BYTES_PER_ANSWER},
        "local": [f"{name} {kind} {value}" for name, kind, value in task.local],
    }
    if task.encrypted:
        # All connections come from one address, those of the warming up included.
        dns["tcp_connections_per_client"] = 1000
        dns["certificate"] = {"cert": place.cert, "key": place.key}
        listen += [f"tls://127.0.0.1:{place.port_of('dot')}",
                   f"https://127.0.0.1:{place.port_of('doh')}/dns-query",
                   f"quic://127.0.0.1:{place.port_of('doq')}"]
    lists = []
    if task.rules:
        forms = {"full": "|{}^", "domain": "||{}^", "regexp": "/{}/"}
        lines = [forms[kind].format(text) for kind, text in task.rules]
        (place.folder / "set.adblock").write_text("\n".join(lines) + "\n")
        lists = [{"name": "set", "path": str(place.folder / "set.adblock")}]
    return json.dumps({  # JSON is YAML
        "policy": {"lists": lists, "default": {"lists": [one["name"] for one in lists]}},
        "dns": {"listen": listen, **dns},
        "ledger": {"log": "none"},
    })


def mosdns(task, place):
    upstreams = [{"addr": f"udp://{address}"} for address in place.upstreams[:task.upstreams]]
    plugins, steps = [], []

    def step(tag, kind, args):
        plugins.append({"tag": tag, "type": kind, "args": args})
        steps.append({"exec": f"${tag}"})

    answered = {"matches": ["has_resp"], "exec": "accept"}
    if task.local:
        hosts = {}
        for name, kind, value in task.local:
            if kind not in ("A", "AAAA"):
                return None
            hosts.setdefault(name, []).append(value)
        step("hosts", "hosts",
             {"entries": [f"full:{name} {' '.join(ips)}" for name, ips in hosts.items()]})
        steps.append(answered)
    if task.rules:
        lines = [f"{kind}:{text}\n" for kind, text in task.rules]
        (place.folder / "set.txt").write_text("".join(lines))
        plugins.append({"tag": "set", "type": "domain_set",
                        "args": {"files": [str(place.folder / "set.txt")]}})
        steps.append({"matches": ["qname $set"], "exec": "reject 5"})
    if task.every:
        steps.append({"exec": f"black_hole {task.every}"})
    if task.cache:
        step("cache", "cache", {"size": task.cache})
        steps.append(answered)
    if task.upstreams:
        step("forward", "forward", {"upstreams": upstreams, "concurrent": min(task.upstreams, 3)})
    if task.otherwise:
        steps.append({"exec": f"reject { {'SERVFAIL': 2, 'NXDOMAIN': 3}[task.otherwise]}"})
    plugins.append({"tag": "main", "type": "sequence", "args": steps})
    for kind in ("udp", "tcp"):
        plugins.append({"tag": kind, "type": f"{kind}_server",
                        "args": {"entry": "main", "listen": f"127.0.0.1:{place.port}"}})
    if task.encrypted:
        secret = {"cert": place.cert, "key": place.key}
        for tag, kind, mode, args in [
            ("dot", "tcp_server", "dot", {"entry": "main"}),
            ("doh", "http_server", "doh", {"entries": [{"path": "/dns-query", "exec": "main"}]}),
            ("doq", "quic_server", "doq", {"entry": "main"}),
        ]:
            listen = f"127.0.0.1:{place.port_of(mode)}"
            plugins.append({"tag": tag, "type": kind, "args": {**args, "listen": listen, **secret}})
    return json.dumps({"log": {"level": "error"}, "plugins": plugins})


def dnsdist_set(task, place):
    exact = [text for kind, text in task.rules if kind == "full"]
    below = [text for kind, text in task.rules if kind == "domain"]
    (place.folder / "exact.txt").write_text("\n".join(exact))
    (place.folder / "below.txt").write_text("\n".join(below))
    # It has no set of regular expressions and is spared them.
    return [
        "local below, exact = newSuffixMatchNode(), newDNSNameSet()",
        f'for name in io.lines("{place.folder}/below.txt") do below:add(newDNSName(name)) end',
        f'for name in io.lines("{place.folder}/exact.txt") do exact:add(newDNSName(name)) end',
        "addAction(SuffixMatchNodeRule(below, true), RCodeAction(DNSRCode.REFUSED))",
        "addAction(QNameSetRule(exact), RCodeAction(DNSRCode.REFUSED))",
    ]


def dnsdist_local(task):
    addresses, lines = {}, []
    for name, kind, value in task.local:
        if kind in ("A", "AAAA"):
            addresses.setdefault(name, []).append(f'"{value}"')
        elif kind == "CNAME":
            lines.append(f'addAction(QNameRule("{name}"), SpoofCNAMEAction("{value}"))')
        elif kind == "TXT":
            raw = f"\\{len(value):03d}{value}"
            lines.append(f'addAction(AndRule({{QNameRule("{name}"), QTypeRule(DNSQType.TXT)}}), '
                         f'SpoofRawAction("{raw}"))')
        else:
            return None
    return lines + [f'addAction(QNameRule("{name}"), SpoofAction({{{", ".join(ips)}}}))'
                    for name, ips in addresses.items()]


def dnsdist(task, place):
    if task.upstreams > 1:
        return None  # it balances and never races
    local = dnsdist_local(task)
    if local is None:
        return None
    lines = ['setSecurityPollSuffix("")', 'setACL("127.0.0.0/8")',
             *[f'addLocal("127.0.0.1:{place.port}", {{reusePort=true}})'] * method.workers(), *local]
    if task.encrypted:
        secret = f'"{place.cert}", "{place.key}"'
        lines += [f'addTLSLocal("127.0.0.1:{place.port_of("dot")}", {secret}, {{reusePort=true}})',
                  f'addDOHLocal("127.0.0.1:{place.port_of("doh")}", {secret}, "/dns-query", '
                  "{reusePort=true})"]
    if task.rules:
        lines += dnsdist_set(task, place)
    if task.every:
        lines.append(f'addAction(AllRule(), SpoofAction("{task.every}"))')
    if task.otherwise:
        lines.append(f"addAction(AllRule(), RCodeAction(DNSRCode.{task.otherwise}))")
    if task.upstreams:
        lines.append(f'newServer({{address="{place.upstreams[0]}", healthCheckMode="up"}})')
    if task.cache:
        cache = f"newPacketCache({task.cache}, {{maxTTL=86400}})"
        lines.append(f'getPool(""):setCache({cache})')
    return "\n".join(lines) + "\n"


def unbound(task, place):
    if task.upstreams > 1 or task.otherwise or any(kind != "domain" for kind, _ in task.rules):
        return None
    size = max(task.cache * CACHE_BYTES_PER_ANSWER, 4 << 20)
    host = "127.0.0.1"
    lines = [
        "server:", f"interface: {host}@{place.port}", f"num-threads: {method.workers()}", "so-reuseport: yes",
        'module-config: "iterator"', 'chroot: ""', 'username: ""', 'pidfile: ""', "use-syslog: no",
        "do-not-query-localhost: no", "do-ip6: no", "minimal-responses: yes", "verbosity: 0",
        "local-zone: test. nodefault", "local-zone: invalid. nodefault",
        f"directory: {place.folder}", f"msg-cache-size: {size}", f"rrset-cache-size: {2 * size}",
        "outgoing-range: 4096", "num-queries-per-thread: 4096", "so-rcvbuf: 0",
        "ip-ratelimit: 0", "incoming-num-tcp: 256",
    ]
    if task.encrypted:
        lines += [f"interface: {host}@{place.port_of('dot')}", f"tls-port: {place.port_of('dot')}",
                  f"interface: {host}@{place.port_of('doh')}", f"https-port: {place.port_of('doh')}",
                  f"tls-service-pem: {place.cert}", f"tls-service-key: {place.key}"]
    lines += [f"local-data: '{name}. IN {kind} {value}'" for name, kind, value in task.local]
    lines += [f"local-zone: {text}. always_refuse" for _, text in task.rules]
    if task.every:
        lines += ["local-zone: . redirect", f"local-data: '. IN A {task.every}'"]
    if task.upstreams:
        lines += ["forward-zone:", 'name: "."', f"forward-addr: {place.upstreams[0].replace(':', '@')}",
                  f"forward-no-cache: {'no' if task.cache else 'yes'}"]
    return "\n".join(lines) + "\n"
