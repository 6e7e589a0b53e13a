"""A wire of 90 ms between two network namespaces: each packet waits half of that in each direction.

A process of its own with a TUN device in either namespace, so that handshakes, slow start and lost
time are as they are outside; the kernels of these machines have no netem. It has a bandwidth, a queue
with an end, and loses nothing on purpose.

    wire.py NEAR FAR MILLISECONDS MEGABITS
"""

import ctypes
import fcntl
import os
import select
import struct
import sys
import time
from collections import deque

TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 0x0001, 0x1000
CLONE_NEWNET = 0x40000000
PACKET_BYTES = 65536
QUEUED_PACKETS_MAX = 20_000  # beyond it packets are lost, as on a full router


def device(namespace, name):
    with open(f"/run/netns/{namespace}", "rb") as door:
        if ctypes.CDLL(None, use_errno=True).setns(door.fileno(), CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), f"cannot enter {namespace}")
    tun = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(tun, TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TUN | IFF_NO_PI))
    return tun


class Way:
    """One direction: packets in the order they came, each with the time at which it is due."""

    def __init__(self, source, to, delay, bits_per_second):
        self.source, self.to, self.delay, self.rate = source, to, delay, bits_per_second
        self.waiting, self.line_free = deque(), 0.0

    def take(self):
        while True:
            try:
                packet = os.read(self.source, PACKET_BYTES)
            except BlockingIOError:
                return
            if packet[0] >> 4 == 4 and len(self.waiting) < QUEUED_PACKETS_MAX:
                self.line_free = max(time.monotonic(), self.line_free) + len(packet) * 8 / self.rate
                self.waiting.append((self.line_free + self.delay, packet))

    def give(self):
        """Sends what is due; the seconds until the next, if any."""
        while self.waiting:
            left = self.waiting[0][0] - time.monotonic()
            if left > 0:
                return left
            try:
                os.write(self.to, self.waiting.popleft()[1])
            except OSError:
                pass
        return None


def main():
    near, far = device(sys.argv[1], "wire0"), device(sys.argv[2], "wire0")
    delay, rate = float(sys.argv[3]) / 2000, float(sys.argv[4]) * 1e6
    ways = [Way(near, far, delay, rate), Way(far, near, delay, rate)]
    print("ready", flush=True)
    while True:
        lefts = [left for way in ways if (left := way.give()) is not None]
        for source in select.select([near, far, 0], [], [], min(lefts, default=None))[0]:
            if source == 0:
                return  # whoever started it has ended
            ways[source == far].take()


if __name__ == "__main__":
    main()
