"""What is done to a running proxy, and what is read off it: CPU a request, checked before and after."""

import http.client

from servers import OBJECT_BYTES  # first: it says where process is
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


def script(folder, origin, first, count):
    """A wrk script that asks for `count` distinct objects in turn, `first` on. `Host` names the origin, as
    clients have it (RFC 9112 section 3.2.2); wrk would name the proxy."""
    path, authority = folder / "ask.lua", f"{origin.host}:{origin.port}"
    path.write_text(f"""
local at = {first}
local fields = {{ Host = "{authority}" }}
function request()
  at = at + 1
  if at >= {first + count} then at = {first} end
  return wrk.format("GET", "http://{authority}/small.bin?" .. at, fields)
end
""")
    return path


def wrk(proxy, origin, seconds, first, count, clients=64):
    """What wrk tells of `count` objects in turn, from `first` on."""
    asks = script(proxy.folder, origin, first, count)
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


def slow(proxy, origin, options):
    """100 slow readers, each of a large object of its own: bytes fetched over bytes read."""
    return slow_readers.run(proxy, origin, options.megabytes * 1_000_000)


# name: (title, what is done, the figure that counts)
CASES = {
    "hit-one": ("hit on one 4 kB object, keep-alive, wrk -c64", hit_one, "cpu_us"),
    "hit": (f"hit on {OBJECTS:,} objects of 4 kB in turn, keep-alive, wrk -c64", hit, "cpu_us"),
    "hit-new": ("hit on a 4 kB object, a connection each, ab -c50", hit_new, "cpu_us"),
    "miss": ("objects never asked for before, the cache full, keep-alive on both sides, wrk -c32", miss, "cpu_us"),
}
