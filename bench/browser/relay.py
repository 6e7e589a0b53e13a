"""The wire between the browser's namespace and the servers': every packet is late by what its peer is.

A process of its own with a TUN device in either namespace: packets wait half a round trip in each
direction (so handshakes pay as they do outside), and the WAN's downstream has a bandwidth. Besides it
counts what passes: DNS questions by name, connections by address, bytes. Told `reset` on its standard
input it starts counting anew, told `report` it writes one line of JSON. Never loses a packet on purpose.

    relay.py CLIENT_NAMESPACE EDGE_NAMESPACE
"""

import ctypes
import fcntl
import heapq
import json
import os
import select
import socket
import struct
import sys
import time

import world

TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 0x0001, 0x1000
CLONE_NEWNET = 0x40000000
PACKET_BYTES = 65536
QUEUED_PACKETS_MAX = 50_000  # beyond it packets are lost, as on a full router
ORDERS = 0  # standard input
TYPES = {1: "A", 28: "AAAA", 65: "HTTPS"}


def enter(namespace):
    with open(f"/run/netns/{namespace}", "rb") as door:
        if ctypes.CDLL(None, use_errno=True).setns(door.fileno(), CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), f"cannot enter {namespace}")


def device(namespace, name):
    """A TUN device in a namespace; it lives as long as this process."""
    enter(namespace)
    tun = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(tun, TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TUN | IFF_NO_PI))
    return tun


def question(payload):
    """`name type` of a DNS query."""
    labels, at = [], 12
    while at < len(payload) and payload[at]:
        labels.append(payload[at + 1:at + 1 + payload[at]].decode("latin-1").lower())
        at += 1 + payload[at]
    kind = int.from_bytes(payload[at + 1:at + 3], "big")
    return f"{'.'.join(labels)} {TYPES.get(kind, kind)}"


class Counts:
    def __init__(self):
        self.questions, self.connections, self.sent, self.received, self.lost = [], [], 0, 0, 0

    def leaving(self, packet):
        self.sent += len(packet)
        head = (packet[0] & 15) * 4
        to, port = packet[16:20], int.from_bytes(packet[head + 2:head + 4], "big")
        if packet[9] == socket.IPPROTO_UDP and port == 53:
            self.questions.append(question(packet[head + 8:]))
        elif packet[9] == socket.IPPROTO_TCP and packet[head + 13] & 0x12 == 0x02:
            self.connections.append(f"{socket.inet_ntoa(to)}:{port}")


class Wire:
    def __init__(self, client, edge):
        self.client, self.edge = client, edge
        self.halves = {socket.inet_aton(it.address): it.rtt_ms / 2000 for it in world.World().hosts}
        self.waiting, self.number, self.line_free = [], 0, 0.0
        self.counts = Counts()

    def take(self, source):
        """All that can be read now, put into the queue with its time."""
        while True:
            try:
                packet = os.read(source, PACKET_BYTES)
            except BlockingIOError:
                return
            if packet[0] >> 4 != 4:
                continue
            if len(self.waiting) >= QUEUED_PACKETS_MAX:
                self.counts.lost += 1
                continue
            now = time.monotonic()
            if source == self.client:
                self.counts.leaving(packet)
                due, to = now + self.half(packet[16:20]), self.edge
            else:
                self.counts.received += len(packet)
                due, to = now + self.half(packet[12:16]), self.client
                if packet[12:16] in self.halves:
                    self.line_free = max(now, self.line_free) + len(packet) * 8 / world.DOWN_BITS_PER_SECOND
                    due += self.line_free - now
            self.number += 1
            heapq.heappush(self.waiting, (due, self.number, to, packet))

    def half(self, peer):
        return self.halves.get(peer, world.LAN_RTT_MS / 2000)

    def give(self):
        """Sends what is due; the seconds until the next, if any."""
        while self.waiting:
            left = self.waiting[0][0] - time.monotonic()
            if left > 0:
                return left
            _, _, to, packet = heapq.heappop(self.waiting)
            try:
                os.write(to, packet)
            except (BlockingIOError, OSError):
                self.counts.lost += 1
        return None

    def run(self):
        while True:
            left = self.give()
            ready = select.select([self.client, self.edge, ORDERS], [], [], left)[0]
            for source in ready:
                if source != ORDERS:
                    self.take(source)
                    continue
                words = os.read(source, 4096).split()
                if not words:
                    return
                for word in words:
                    if word == b"report":
                        print(json.dumps(vars(self.counts)), flush=True)
                    else:
                        self.counts = Counts()


def main():
    wire = Wire(device(sys.argv[1], "lan0"), device(sys.argv[2], "wan0"))
    print("ready", flush=True)
    wire.run()


if __name__ == "__main__":
    main()
