"""What is done to a running proxy, and what is read off it: CPU a request, checked before and after."""

import http.client

from servers import OBJECT_BYTES  # first: it says where process is
import blocked
import process
import slow_readers

OBJECTS = 2000  # distinct small objects that a round of hits asks for
FILL_SECONDS = 6  # of misses, until 256 MiB of small objects are kept


class Wrong(RuntimeError):
    """A proxy answered what it should not, or not at all."""


def fetch(proxy, url):
    connection = http.client.HTTPConnection(proxy.host, proxy.port, timeout=10)
    connection.request("GET", url)
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    if answer.status != 200:
        raise Wrong(f"{proxy.name} answers {url} with {answer.status}")
    return body


def script(folder, authority, name, first, count):
    """A wrk script that asks for `count` distinct URLs in turn, `first` on. `Host` names the origin, as
    clients have it (RFC 9112 section 3.2.2); wrk would name the proxy."""
    path = folder / "ask.lua"
    path.write_text(f"""
local at = {first}
local fields = {{ Host = "{authority}" }}
function request()
  at = at + 1
  if at >= {first + count} then at = {first} end
  return wrk.format("GET", "http://{authority}/{name}?" .. at, fields)
end
""")
    return path


def wrk(proxy, origin, seconds, first, count, clients=64):
    """What wrk tells of `count` objects in turn, from `first` on."""
    asks = script(proxy.folder, f"{origin.host}:{origin.port}", "small.bin", first, count)
    return process.wrk(f"http://{proxy.host}:{proxy.port}/", clients, seconds, "-s", asks)


def ab(proxy, origin, count):
    figures = process.ab("-n", count, "-c", 50, "-X", f"{proxy.host}:{proxy.port}",
                         f"http://{origin.host}:{origin.port}/small.bin")
    if figures["cut"] or figures["refused"] or figures["length"] != OBJECT_BYTES:
        raise Wrong(f"{proxy.name}: ab: {figures['cut']} failed, {figures['refused']} refused, "
                    f"length {figures['length']}")
    return figures


def hit(proxy, origin, options):
    """2,000 objects that are all at hand, in turn, over kept connections."""
    wrk(proxy, origin, 1, 0, OBJECTS)
    asked = origin_requests(origin)
    figures = process.timed(proxy, lambda: wrk(proxy, origin, options.seconds, 0, OBJECTS))
    figures["refetched"] = origin_requests(origin) - asked
    return figures


def hit_one(proxy, origin, options):
    """One object that is at hand, over kept connections."""
    wrk(proxy, origin, 1, 0, 1)
    return process.timed(proxy, lambda: wrk(proxy, origin, options.seconds, 0, 1))


def hit_new(proxy, origin, options):
    fetch(proxy, f"http://{origin.host}:{origin.port}/small.bin")
    return process.timed(proxy, lambda: ab(proxy, origin, 20000))


def miss(proxy, origin, options):
    """Objects that nobody has asked for before, over kept connections on both sides. The caches are full then, as
    they are for most of a proxy's life: memory that a process touches for the first time costs what the machine
    takes for it, which is no proxy's doing."""
    first = 1_000_000 * (1 + 2 * options.round)
    wrk(proxy, origin, FILL_SECONDS, first, 1_000_000, clients=32)
    asked = origin_requests(origin)
    figures = process.timed(proxy, lambda: wrk(proxy, origin, options.seconds, first + 1_000_000, 1_000_000, clients=32))
    figures["origin"] = origin_requests(origin) - asked
    return figures


def origin_requests(origin):
    return sum(1 for _ in open(origin.folder / "origin.log", "rb"))


def by_policy(proxy, origin, load):
    """`load` of blocked URLs and nothing else: each is refused and none fetched, and what is not blocked passes."""
    def asked():
        return sum(f" /{blocked.PATH}".encode() in line for line in open(origin.folder / "origin.log", "rb"))

    before, told = asked(), {}
    said = blocked.ask(proxy, f"http://{blocked.HOST}:{origin.port}/{blocked.PATH}")

    def run():
        told.update(load())
        return told

    figures = process.timed(proxy, run)
    wrong = blocked.complaint(said, told, asked() - before)
    if wrong:
        raise Wrong(f"{proxy.name}: {wrong}")
    fetch(proxy, f"http://{origin.host}:{origin.port}/small.bin")
    return said, {**figures, "status": said.status, "bytes": said.length}


def refuse(proxy, origin, options):
    """2,000 blocked URLs in turn, over kept connections."""
    asks = script(proxy.folder, f"{blocked.HOST}:{origin.port}", blocked.PATH, 0, OBJECTS)
    said, figures = by_policy(proxy, origin, lambda: process.load(
        f"http://{proxy.host}:{proxy.port}/", 64, options.seconds, "-s", asks))
    if not said.is_kept:
        raise Wrong(f"{proxy.name} closes the connection behind a blocked URL")
    return figures


def refuse_new(proxy, origin, options):
    return by_policy(proxy, origin, lambda: process.ab(
        "-n", 20000, "-c", 50, "-X", f"{proxy.host}:{proxy.port}",
        f"http://{blocked.HOST}:{origin.port}/{blocked.PATH}"))[1]


def slow(proxy, origin, options):
    """100 slow readers, each of a large object of its own: bytes fetched over bytes read."""
    return slow_readers.run(proxy, origin, options.megabytes * 1_000_000)


# name: (title, what is done, the figure that counts)
CASES = {
    "hit-one": ("hit on one 4 kB object, keep-alive, wrk -c64", hit_one, "cpu_us"),
    "hit": (f"hit on {OBJECTS:,} objects of 4 kB in turn, keep-alive, wrk -c64", hit, "cpu_us"),
    "hit-new": ("hit on a 4 kB object, a connection each, ab -c50", hit_new, "cpu_us"),
    "miss": ("objects never asked for before, the cache full, keep-alive on both sides, wrk -c32", miss, "cpu_us"),
    "blocked": ("an answer by policy to a blocked URL, keep-alive, wrk -c64", refuse, "cpu_us"),
    "blocked-new": ("an answer by policy to a blocked URL, a connection each, ab -c50", refuse_new, "cpu_us"),
}
BY_POLICY = ("blocked", "blocked-new")  # in these alone a proxy has something to refuse
