"""A task in the configuration language of each server, or nothing where it cannot be said there.

The configurations stand in bench/peers/dns, with what was chosen and why; here are only the lines that
differ by the task. They are as plain as a user would write them: no tuning beyond a listener per
processor and a cache that is large enough.
"""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import method  # noqa: E402
from process import configured  # noqa: E402

CACHE_BYTES_PER_ANSWER = 512


def tidegate(task, place, log="none"):
    if task.every or task.otherwise:
        return None
    listen = [f"{scheme}://127.0.0.1:{place.port}" for scheme in ("udp", "tcp")]
    encrypted = ""
    if task.encrypted:
        # All connections come from one address, those of the warming up included.
        encrypted = ("  tcp_connections_per_client: 1000\n"
                     f"  certificate: {json.dumps({'cert': place.cert, 'key': place.key})}")
        listen += [f"tls://127.0.0.1:{place.port_of('dot')}",
                   f"https://127.0.0.1:{place.port_of('doh')}/dns-query",
                   f"quic://127.0.0.1:{place.port_of('doq')}"]
    lists = []
    if task.rules:
        forms = {"full": "|{}^", "domain": "||{}^", "regexp": "/{}/"}
        lines = [forms[kind].format(text) for kind, text in task.rules]
        (place.folder / "set.adblock").write_text("\n".join(lines) + "\n")
        lists = [{"name": "set", "path": str(place.folder / "set.adblock")}]
    upstreams = [f"udp://{address}" for address in place.upstreams[:max(task.upstreams, 1)]]
    return configured(
        "dns/tidegate.yaml", log=log, lists=json.dumps(lists), applied=json.dumps([one["name"] for one in lists]),
        listen=json.dumps(listen), upstreams=json.dumps(upstreams), cache=task.cache * CACHE_BYTES_PER_ANSWER,
        local=json.dumps([f"{name} {kind} {value}" for name, kind, value in task.local]), encrypted=encrypted)


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
    return configured("dns/mosdns.yaml", port=place.port, steps=json.dumps(steps), plugins=listed(plugins),
                      encrypted=listed(mosdns_encrypted(place) if task.encrypted else []))


def listed(plugins):
    """As lines of a list in YAML, which JSON is."""
    return "\n".join(f"  - {json.dumps(one)}" for one in plugins)


def mosdns_encrypted(place):
    secret = {"cert": place.cert, "key": place.key}
    kinds = [("dot", "tcp_server", {"entry": "main"}),
             ("doh", "http_server", {"entries": [{"path": "/dns-query", "exec": "main"}]}),
             ("doq", "quic_server", {"entry": "main"})]
    return [{"tag": mode, "type": kind, "args": {**args, "listen": f"127.0.0.1:{place.port_of(mode)}", **secret}}
            for mode, kind, args in kinds]


def dnsdist_set(task, place):
    exact = [text for kind, text in task.rules if kind == "full"]
    below = [text for kind, text in task.rules if kind == "domain"]
    (place.folder / "exact.txt").write_text("\n".join(exact))
    (place.folder / "below.txt").write_text("\n".join(below))
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
    encrypted, otherwise = [], []
    if task.encrypted:
        secret = f'"{place.cert}", "{place.key}"'
        encrypted = [f'addTLSLocal("127.0.0.1:{place.port_of("dot")}", {secret}, {{reusePort=true}})',
                     f'addDOHLocal("127.0.0.1:{place.port_of("doh")}", {secret}, "/dns-query", {{reusePort=true}})']
    if task.every:
        otherwise.append(f'addAction(AllRule(), SpoofAction("{task.every}"))')
    if task.otherwise:
        otherwise.append(f"addAction(AllRule(), RCodeAction(DNSRCode.{task.otherwise}))")
    parts = {
        "listeners": [f'addLocal("127.0.0.1:{place.port}", {{reusePort=true}})'] * method.workers(), "local": local,
        "encrypted": encrypted, "set": dnsdist_set(task, place) if task.rules else [], "otherwise": otherwise,
        "upstream": [f'newServer({{address="{place.upstreams[0]}", healthCheckMode="up"}})'] if task.upstreams else [],
        "cache": [f'getPool(""):setCache(newPacketCache({task.cache}, {{maxTTL=86400}}))'] if task.cache else []}
    return configured("dns/dnsdist.conf", **{name: "\n".join(lines) for name, lines in parts.items()})


def unbound(task, place):
    if task.upstreams > 1 or task.otherwise or any(kind != "domain" for kind, _ in task.rules):
        return None
    size, host = max(task.cache * CACHE_BYTES_PER_ANSWER, 4 << 20), "127.0.0.1"
    encrypted, forward = [], []
    if task.encrypted:
        encrypted = [f"  interface: {host}@{place.port_of('dot')}", f"  tls-port: {place.port_of('dot')}",
                     f"  interface: {host}@{place.port_of('doh')}", f"  https-port: {place.port_of('doh')}",
                     f"  tls-service-pem: {place.cert}", f"  tls-service-key: {place.key}"]
    local = [f"  local-data: '{name}. IN {kind} {value}'" for name, kind, value in task.local]
    local += [f"  local-zone: {text}. always_refuse" for _, text in task.rules]
    if task.every:
        local += ["  local-zone: . redirect", f"  local-data: '. IN A {task.every}'"]
    if task.upstreams:
        forward = ["forward-zone:", '  name: "."', f"  forward-addr: {place.upstreams[0].replace(':', '@')}",
                   f"  forward-no-cache: {'no' if task.cache else 'yes'}"]
    return configured("dns/unbound.conf", port=place.port, workers=method.workers(), folder=place.folder, messages=size,
                      records=2 * size, encrypted="\n".join(encrypted), local="\n".join(local), forward="\n".join(forward))
