"""Many slow readers of large objects through one proxy: what it fetches for them, and who is dropped.

Each reads an object of its own at a pace, to the end: one that left before would count what waits in the
kernel's buffers as fetched twice. What a proxy may cost that fetches again and again, or keeps all, has an
end: its readers are stopped then, and the share that they have read is a figure like the others.
"""

import http.client
import socket
import threading
import time

READERS = 100
PACE = 2_000_000  # bytes a second of each reader
PATIENCE = 3  # times what the pace takes; then readers are stopped
RESIDENT_BYTES_MAX = 4 << 30  # of a proxy; then they are stopped, too, for the machine's sake
PIECE_BYTES = 512 << 10  # some 400 wake-ups a second of all readers, which one Python process bears
LOOK_SECONDS = 0.2
SETTLE_SECONDS_MAX = 10  # for the origin to note requests that have ended


def seconds_ahead(got, elapsed):
    """How long a reader sleeps that has `got` bytes after so many seconds; it never makes up by haste."""
    return max(0.0, got / PACE - elapsed)


class Reader(threading.Thread):
    """One slow reader."""

    piece = bytearray(PIECE_BYTES)  # one for all of them: nobody looks at what is in it

    def __init__(self, proxy, url, length, timeout):
        super().__init__(daemon=True)
        self.connection = http.client.HTTPConnection(proxy.host, proxy.port, timeout=timeout)
        self.url, self.length, self.socket = url, length, None
        self.got, self.is_dropped, self.stopped = 0, False, threading.Event()

    def run(self):
        try:
            self.read()
        except (OSError, http.client.HTTPException):
            pass  # what it has not got tells
        finally:
            self.is_dropped = self.got != self.length and not self.stopped.is_set()
            self.connection.close()

    def read(self):
        self.connection.connect()
        self.socket = self.connection.sock
        self.connection.request("GET", self.url)
        answer, begun = self.connection.getresponse(), time.monotonic()
        if answer.status != 200:
            return
        while self.got < self.length and not self.stopped.is_set():
            count = answer.readinto(self.piece)
            if not count:
                return
            self.got += count
            if self.got < self.length:
                self.stopped.wait(seconds_ahead(self.got, time.monotonic() - begun))

    def stop(self):
        """Ends it wherever it waits."""
        self.stopped.set()
        if self.socket:
            try:
                self.socket.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass  # it has ended meanwhile


def figures(readers, fetched, seconds):
    """What all of them say together. `fetched`: bytes that the origin has sent; `refetch` is these by what was
    read, which is what was asked for unless somebody was dropped or stopped."""
    got = sum(it.got for it in readers)
    if got == 0:
        raise RuntimeError("its readers got nothing")
    return {"refetch": fetched / got, "drops": sum(it.is_dropped for it in readers),
            "read": got / sum(it.length for it in readers), "seconds": seconds}


def watch(proxy, readers, until):
    """The most that the proxy had resident while they read; stops those that are left at a limit."""
    peak = 0
    while any(it.is_alive() for it in readers):
        peak = max(peak, proxy.resident_bytes())
        if time.monotonic() > until or peak > RESIDENT_BYTES_MAX:
            for it in readers:
                it.stop()
            for it in readers:
                it.join(SETTLE_SECONDS_MAX)
            break
        time.sleep(LOOK_SECONDS)
    return peak


def sent(log, since):
    """Bytes of bodies that the origin has noted behind the first `since` bytes of its log."""
    with open(log, "rb") as lines:
        lines.seek(since)
        return sum(int(line.split()[2]) for line in lines)


def sent_at_last(log, since):
    """The same, once it notes no more: it does so when a request has ended, and not before."""
    until, before = time.monotonic() + SETTLE_SECONDS_MAX, -1
    while (now := sent(log, since)) != before and time.monotonic() < until:
        before = now
        time.sleep(LOOK_SECONDS)
    return now


def run(proxy, origin, length):
    """Readers of `length` bytes each, from the first to the last."""
    log = origin.folder / "origin.log"
    since, patience = log.stat().st_size, PATIENCE * length / PACE
    readers = [Reader(proxy, f"http://{origin.host}:{origin.port}/large.bin?{number}", length, patience)
               for number in range(READERS)]
    before, own, begun = proxy.cpu_seconds(), time.process_time(), time.monotonic()
    for reader in readers:
        reader.start()
    peak = watch(proxy, readers, begun + patience)
    seconds, busy = time.monotonic() - begun, time.process_time() - own
    spent = proxy.cpu_seconds() - before
    if any(it.stopped.is_set() for it in readers):
        proxy.stop()  # what it was still fetching ends, and is noted
    told = figures(readers, sent_at_last(log, since), seconds)
    mib = sum(it.got for it in readers) / 2**20
    # The readers are one process of Python, of which one thread runs at a time.
    return {**told, "peak_mib": peak / 2**20, "cpu_us_mib": 1e6 * spent / mib, "busy": busy / seconds}
