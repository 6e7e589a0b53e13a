"""What is done to a running web server, and what is read off it. Answers are checked before a round,
and the generators' own counts of failures after it.
"""

import http.client
import socket
import ssl
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import process  # noqa: E402
import servers  # noqa: E402

SMALL, LARGE = "/index.html", "/jquery.js"
COPIES = 1000  # of the large file, each asked for once where a first compression is measured
IDLE = 5000
IDLE_ADDRESSES = 8  # connections to one address from one client are capped by some servers


class Wrong(RuntimeError):
    """A server answered what it should not, or not at all."""


def fetch(server, path, headers=None, tls=False):
    if tls:
        context = ssl._create_unverified_context()
        connection = http.client.HTTPSConnection("127.0.0.1", server.tls_port, context=context, timeout=10)
    else:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    connection.request("GET", path, headers=headers or {})
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    if answer.status != 200:
        raise Wrong(f"{server.name} answers {path} with {answer.status}")
    return answer, body


def url_of(server, path, tls):
    scheme, port = ("https", server.tls_port) if tls else ("http", server.port)
    return f"{scheme}://127.0.0.1:{port}{path}"


def ab(server, count, clients, path, *flags, tls=False):
    figures = process.ab("-n", count, "-c", clients, *flags, url_of(server, path, tls))
    if figures["cut"] or figures["refused"] or figures["length"] == 0:
        raise Wrong(f"{server.name}: ab: {figures['cut']} failed, {figures['refused']} refused, "
                    f"length {figures['length']}")
    return figures


def load(tool, *arguments, **named):
    return lambda server, options: process.timed(server, lambda: tool(server, *arguments, **named))


def keep_alive(path, clients=64, *flags, tls=False):
    return lambda server, options: process.timed(
        server, lambda: process.wrk(url_of(server, path, tls), clients, options.seconds, *flags))


def gzip_first(server, options):
    """Files that were never asked for before, one after the other on one connection."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    begun, asker, before, size = time.monotonic(), time.process_time(), server.cpu_seconds(), 0
    # Each round takes files of its own: what a server keeps must not help it here.
    for number in range(options.round * COPIES, (options.round + 1) * COPIES):
        connection.request("GET", f"/copy-{number}.js", headers={"Accept-Encoding": "gzip"})
        answer = connection.getresponse()
        size += len(answer.read())
        if answer.getheader("Content-Encoding") != "gzip":
            raise Wrong(f"{server.name} does not compress")
    connection.close()
    spent, wall = server.cpu_seconds() - before, time.monotonic() - begun
    return {"cpu_us": 1e6 * spent / COPIES, "per_second": COPIES / wall,
            "busy": (time.process_time() - asker) / wall, "bytes": size / COPIES}


def put(server, options):
    """Files of 1 MB, each by a PUT of its own on one of four connections; every fourth name is new."""
    body, count, failed = bytes(1_000_000), 240, []

    def some(first):
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
        for number in range(first, count, 4):
            name = number if number % 4 == 0 else number % 4
            connection.request("PUT", f"/put/{options.round}-{name}", body=body)
            answer = connection.getresponse()
            answer.read()
            if answer.status not in (200, 201, 204):
                failed.append(answer.status)
        connection.close()

    begun, asker, before = time.monotonic(), time.process_time(), server.cpu_seconds()
    threads = [threading.Thread(target=some, args=(first,)) for first in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    if failed:
        raise Wrong(f"{server.name} answers a PUT with {failed[0]}")
    spent, wall = server.cpu_seconds() - before, time.monotonic() - begun
    return {"cpu_us": 1e6 * spent / count, "per_second": count / wall, "busy": (time.process_time() - asker) / wall}


def cgi(server, options):
    """A shell script that says a line, one for each request, four at a time; its own time counts."""
    before = server.cpu_seconds_with_ended()
    figures = ab(server, 1000, 4, "/cgi-bin/hello")
    spent = server.cpu_seconds_with_ended() - before
    return {"cpu_us": 1e6 * spent / figures["count"], "per_second": figures["per_second"], "busy": figures["busy"]}


def fastcgi(server, options):
    """A script of PHP that says a line; php-fpm's own time does not count."""
    runner = servers.PhpFpm(server.folder)
    runner.start()
    try:
        _, body = fetch(server, "/hello.php")
        if body != b"hello\n":
            raise Wrong(f"{server.name} answers a script with {body[:80]!r}")
        return process.timed(server, lambda: ab(server, 10000, 50, "/hello.php", "-k"))
    finally:
        runner.stop()


def idle(server, options):
    """Memory of 5,000 connections that each have had one answer."""
    open_ones = []
    for number in range(IDLE + 200):
        if number == 200:  # what the first ones make a server allocate is not theirs
            before = server.resident_bytes()
        one = socket.socket()
        one.bind((f"127.0.0.{2 + number % (8 * IDLE_ADDRESSES)}", 0))
        one.connect(("127.0.0.1", server.port))
        one.sendall(b"GET /index.html HTTP/1.1\r\nHost: localhost\r\n\r\n")
        if not one.recv(4096).startswith(b"HTTP/1.1 200"):
            raise Wrong(f"{server.name} did not answer idle connection {number}")
        open_ones.append(one)
    grown = server.resident_bytes() - before
    for one in open_ones:
        one.close()
    return {"bytes": grown / IDLE}


GZIP = ("-H", "Accept-Encoding: gzip")
# name: (title, what it needs of a server, what is done, the figure that counts)
CASES = {
    "small-new": ("102 bytes, a connection each, ab -c50", "plain", load(ab, 20000, 50, SMALL), "cpu_us"),
    "small-new-1000": ("102 bytes, a connection each, ab -c1000", "plain", load(ab, 20000, 1000, SMALL),
                       "cpu_us"),
    "small-ab-100": ("102 bytes, keep-alive, ab -k -c100", "plain", load(ab, 100000, 100, SMALL, "-k"), "cpu_us"),
    "small-ab": ("102 bytes, keep-alive, ab -k -c250", "plain", load(ab, 100000, 250, SMALL, "-k"), "cpu_us"),
    "small-ab-500": ("102 bytes, keep-alive, ab -k -c500", "plain", load(ab, 100000, 500, SMALL, "-k"),
                     "cpu_us"),
    "small-wrk": ("102 bytes, keep-alive, wrk -c64", "plain", keep_alive(SMALL), "cpu_us"),
    "large-new": ("89.7 kB, a connection each, ab -c50", "plain", load(ab, 10000, 50, LARGE), "cpu_us"),
    "large-wrk": ("89.7 kB, keep-alive, wrk -c64", "plain", keep_alive(LARGE), "cpu_us"),
    "gzip-first": ("89.7 kB, gzip, asked for the first time", "gzip", gzip_first, "cpu_us"),
    "gzip-again": ("89.7 kB, gzip, from the second time on, ab -c50", "gzip", load(ab, 2000, 50, LARGE, *GZIP),
                   "cpu_us"),
    "tls-wrk": ("102 bytes, TLS keep-alive, wrk -c64", "tls", keep_alive(SMALL, tls=True), "cpu_us"),
    "tls-new": ("102 bytes, TLS, a connection each, ab -c50", "tls", load(ab, 3000, 50, SMALL, tls=True),
                "cpu_us"),
    "idle": ("an idle keep-alive connection, of 5,000", "plain", idle, "bytes"),
    "put": ("1 MB by PUT, four connections", "put", put, "cpu_us"),
    "cgi": ("a CGI script of the shell, ab -c4", "cgi", cgi, "cpu_us"),
    "fastcgi": ("a FastCGI script of PHP, keep-alive, ab -k -c50", "fastcgi", fastcgi, "cpu_us"),
    "log-wrk": ("102 bytes, keep-alive, wrk -c64, access log on", "log", keep_alive(SMALL), "cpu_us"),
}
LEVELS = (50, 100, 250, 500, 750, 1000)
# The reference's tables: requests a second by clients, as ab tells them.
TABLES = {
    "index": ("index.html, 102 bytes", "plain", lambda s, c: ab(s, 20000, c, SMALL)),
    "jquery": ("jquery.js, 89.7 kB", "plain", lambda s, c: ab(s, 6000, c, LARGE)),
    "compressed": ("jquery.js compressed", "gzip", lambda s, c: ab(s, 2000, c, LARGE, *GZIP)),
    "tls": ("index.html over TLS", "tls", lambda s, c: ab(s, 2000, c, SMALL, tls=True)),
}


def check(server, need, files):
    """The right bytes, whole, before anything is measured."""
    if server.name == "null":
        return
    for path in (SMALL, LARGE):
        if fetch(server, path)[1] != files[path]:
            raise Wrong(f"{server.name} serves another {path}")
    if need == "gzip" and fetch(server, LARGE, {"Accept-Encoding": "gzip"})[0].getheader("Content-Encoding") != "gzip":
        raise Wrong(f"{server.name} does not compress")
    if need == "tls" and fetch(server, SMALL, tls=True)[1] != files[SMALL]:
        raise Wrong(f"{server.name} serves another {SMALL} over TLS")
