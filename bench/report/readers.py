"""The results of the benchmarks that have a form of their own, as sheets: one reader a benchmark.

Nothing is measured and nothing judged here that `method` does not say. What a benchmark did not measure
is not in its sheet; a peer that is known and was not at hand is named, for its grey column.
"""

import itertools
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import method  # noqa: E402
import sheet  # noqa: E402
from report import published, wanted  # noqa: E402

PEERS = {"dns": ["oxidns", "mosdns", "dnsdist", "unbound"],
         "web": ["nginx", "lighttpd", "apache", "caddy", "hinsightd"],
         "proxy": ["polipo", "squid", "tinyproxy", "privoxy"], "pixel": ["pixelserv-tls", "nginx"],
         "browser": ["pixelserv-tls"]}
TITLES = {
    "dns": ("The DNS door", "What does an answer cost, how many come a second, how soon, and how many are lost?"),
    "web": ("The web door", "What does a file cost, and how do servers bear many clients?"),
    "proxy": ("The proxy door", "What does a page cost through a cache, and how long does a crawl take?"),
    "pixel": ("The pixel door", "What does an answer in place of an advertisement cost?"),
    "browser": ("Pages in a browser", "When is a page there, whatever becomes of its advertisements?"),
}


def empty(name, data):
    title, question = TITLES[name]
    versions = data.get("versions", {})
    measured = {server for entry in data.get("entries", []) for server, rounds in entry["servers"].items() if rounds}
    known = {it.split()[0] for it in [*versions, *measured]}
    return {"bench": name, "title": title, "question": question, "machine": data.get("machine", {}),
            "versions": versions, "missing": [it for it in PEERS[name] if it not in known], "rows": [], "plots": []}


def rated(one):
    """The rate of a round as a note; of slow readers what they have got, and for what."""
    if "read" in one:
        return f"{method.reading_in_words(one)} · {one['drops']} dropped · {one['peak_mib']:,.0f} MiB resident"
    return method.rate_in_words(one["per_second"], one.get("busy")) if "per_second" in one else ""


def fill(row, servers, key, note=lambda _: "", busy=lambda it: it.get("busy")):
    for server, rounds in servers.items():
        for one in rounds or ():
            sheet.measured(row, server, one[key], note(one), busy(one))
    return row


def dns(data):
    into, counting = empty("dns", data), []
    for entry in data["entries"]:
        name, title, kind = entry["name"], entry["title"], entry["kind"]
        if kind == "load":
            row = sheet.row(name, title, "µs of CPU a query")
            fill(row, entry["servers"], "cpu_us", lambda it: (
                f"{it['mean_us']:,.0f} ± {it['jitter_us']:,.0f} µs · {it['lost']:,.0f} lost · {it['resident_mb']:.0f} MB"), busy=lambda _: None)  # the rate below tells it
            rate = sheet.row(name, f"{title}, queries a second", "queries/s", "more")
            rate["published"] = published.dns_rate(name)
            # The reference's tables have both: how many, and in what time.
            fill(rate, entry["servers"], "per_second", lambda it: f"in {it['mean_us'] / 1000:.3f} ms")
            rows = [row, rate]
            counting.append(row)
            wanted.mark(row, "dns")
        elif kind == "sweep":
            row = sheet.row(name, f"{title}, {entry['level']} outstanding", "µs of waiting")
            row["published"] = published.dns_latency(name, entry["level"])
            rows = [fill(row, entry["servers"], "mean_us", lambda it: f"± {it['jitter_us']:,.0f} µs")]
            if entry["level"] == 1:
                sheet.wanted(row, *wanted.ONE_CLIENT)
        else:
            rows = [fill(sheet.row(name, f"{title}, answered of 4,096 at once", "answers", "more"),
                         entry["servers"], "answered")]
            wanted.mark(rows[0], "dns-burst")
        # The first is that of the figure that counts.
        sheet.in_pairs(rows[0], entry.get("pairs", 0))
        for row in rows:
            row["absent"] = {server: why for server, why in entry["absent"].items() if why != "not at hand"}
        into["rows"] += rows
    wanted.beside(counting, "dns")
    return into


def keyed(into, entry, units, better="less"):
    """A row of a benchmark that names its own figure."""
    row = sheet.row(entry["name"], entry["title"], units.get(entry["key"], entry["key"]), better)
    fill(row, entry["servers"], entry["key"], rated)
    sheet.in_pairs(row, entry.get("pairs", 0))
    wanted.mark(row, into["bench"])
    row["absent"] = entry["absent"]
    into["rows"].append(row)
    return row


def sizes(entry):
    """To compress faster by compressing less is no gain: ours at most as large as nginx's."""
    row = sheet.row("gzip-size", f"{entry['title']}: what is sent", "bytes")
    fill(row, entry["servers"], "bytes", busy=lambda _: None)
    sheet.wanted(row, 1.0, ("nginx",))
    return row


def web(data):
    into = empty("web", data)
    for entry in data["entries"]:
        row = keyed(into, entry, {"cpu_us": "µs of CPU a request"})
        row["published"] = published.WEB_KEPT.get(entry["name"], "")
        if entry["name"] == "gzip-first":
            into["rows"].append(sizes(entry))
    wanted.beside(into["rows"], "web")
    for table in data["tables"]:
        for at, clients in enumerate(published.WEB_CLIENTS):
            row = sheet.row(table["name"], f"{table['title']}, ab with {clients} clients", "requests/s", "more")
            row["published"] = published.web_rate(table["name"], clients)
            for server, rates in table["rates"].items():
                busy = table.get("busy", {}).get(server)
                sheet.measured(row, server, rates[at], busy=busy and busy[at])
            row["absent"] = table.get("absent", {})
            into["rows"].append(row)
        into["plots"].append({"title": f"{table['title']}: requests a second", "levels": list(published.WEB_CLIENTS),
                              "series": table["rates"], "x": "clients", "y": "requests/s", "log": False})
    return into


def proxy(data):
    into = empty("proxy", data)
    for entry in data["entries"]:
        keyed(into, entry, {"cpu_us": "µs of CPU a request", "refetch": "times fetched"})
    for table in data["tables"]:
        middles = {}
        for at, clients in enumerate((1, 2, 3)):
            row = sheet.row(table["name"], f"{table['title']}, wget -r by {clients} at once", "seconds")
            row["published"] = published.proxy_seconds(table["name"], clients)
            for column, seconds in table["seconds"].items():
                busy = table.get("busy", {}).get(column, {at: [None] * len(seconds[at])})
                for one, wget in zip(seconds[at], busy[at]):
                    sheet.measured(row, column, one, busy=wget)
                middles.setdefault(column, []).append(method.middle(seconds[at]))
            row["absent"] = table["absent"]
            into["rows"].append(row)
        into["plots"].append({"title": f"{table['title']}: seconds", "levels": [1, 2, 3], "series": middles,
                              "x": "clients", "y": "seconds", "log": False})
    return into


def pixel(data):
    into = empty("pixel", data)
    for entry in data["entries"]:
        keyed(into, entry, {"cpu_us": "µs of CPU an answer"})
    return into


def way(mode, timeout):
    """The column of a mode in a row of this time-out; none if it is of another row."""
    name, _, rest = mode.partition("-")
    if name == "pixelserv":
        return "pixelserv-tls" if int(rest) == timeout else None
    return f"{sheet.OURS} {rest}".strip() if name == "pixel" else mode


def browser(data):
    """A column a way of blocking; ours are the pixel door's. Where pixelserv-tls was measured, it is the
    reference's table: each of three times, for each time-out of its kept connections."""
    into = empty("browser", data)
    metrics = {"dcl": "DOMContentLoaded", "load": "Load", "finish": "Finish"}
    modes = dict.fromkeys(it["mode"] for it in data["rows"])
    timeouts = sorted(int(it.partition("-")[2]) for it in modes if it.startswith("pixelserv-"))
    if timeouts:
        into["missing"] = []
    for page, metric in itertools.product(dict.fromkeys(it["page"] for it in data["rows"]), metrics):
        for timeout in timeouts or [None]:
            row = sheet.row(f"{page}-{metric}", f"{page}: {metrics[metric]}", "ms")
            row["published"] = published.PIXEL_TIMES
            if timeout:
                row["name"] += f"-{timeout}"
                row["title"] += f", connections kept for {timeout} s"
                row["note"] = "By pixelserv-tls: the others have no such time-out, and one figure in all these rows."
            for one in data["rows"]:
                column = way(one["mode"], timeout)
                if one["page"] == page and one[metric] is not None and column:
                    sheet.measured(row, column, one[metric])
            into["rows"].append(row)
    return into


READERS = {"dns": dns, "web": web, "proxy": proxy, "pixel": pixel, "browser": browser}


def collect(names, since=0.0):
    """The sheets of these benchmarks that have results of `since` (as time.time has it) or later, in their order."""
    found = []
    for name in names:
        own, other = sheet.OUT / "sheets" / f"{name}.json", sheet.OUT / f"{name}.json"
        if name in READERS and is_of(other, since):
            found.append(READERS[name](json.loads(other.read_text())))
        elif is_of(own, since):
            found.append(json.loads(own.read_text()))
    return found


def is_of(path, since):
    return path.is_file() and path.stat().st_mtime >= since
