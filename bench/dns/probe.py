"""Asks one question and reads the answer whole; knows what the null upstream answers.

Used to check servers before and during each round. It is slow and strict: load is not its work.
"""

import ipaddress
import os
import socket
import ssl
import struct
import subprocess
from dataclasses import dataclass

TYPES = {"A": 1, "NS": 2, "CNAME": 5, "PTR": 12, "TXT": 16, "AAAA": 28}
# Checks come from an address of their own: servers limit connections by client, and the load has
# as many as are allowed.
SOURCE = "127.0.0.2"
NOERROR, SERVFAIL, NXDOMAIN, REFUSED = 0, 2, 3, 5
RCODE_WORDS = {0: "NOERROR", 1: "FORMERR", 2: "SERVFAIL", 3: "NXDOMAIN", 5: "REFUSED"}


@dataclass(frozen=True)
class Question:
    """A name and type with the answer that is right: the code, and the records' data as text."""

    name: str
    type: str = "A"
    rcode: int = NOERROR
    records: frozenset = frozenset()

    @property
    def line(self):
        return f"{self.name} {self.type}"


def of_upstream(name, kind="A"):
    """What bench/null/upstream.c answers: an address made of the hash of the name."""
    if name.endswith(".invalid"):
        return Question(name, kind, NXDOMAIN)
    value = 2166136261
    for byte in wire_name(name.lower())[:-1]:
        value = (value ^ byte) * 16777619 & 0xFFFFFFFF
    if kind == "A":
        address = f"198.{18 + (value >> 16 & 1)}.{value >> 8 & 255}.{value & 255}"
        return Question(name, kind, NOERROR, frozenset([address]))
    if kind == "AAAA":
        address = ipaddress.IPv6Address(b"\x20\x01\x0d\xb8" + bytes(8) + struct.pack(">I", value))
        return Question(name, kind, NOERROR, frozenset([str(address)]))
    return Question(name, kind)


def wire_name(name):
    labels = [label.encode() for label in name.split(".") if label]
    return b"".join(bytes([len(label)]) + label for label in labels) + b"\0"


def wire_query(number, name, kind="A"):
    head = struct.pack(">6H", number, 0x0100, 1, 0, 0, 0)
    return head + wire_name(name) + struct.pack(">2H", TYPES[kind], 1)


def read_name(packet, at):
    """The name at `at` in lower case without the final dot, and where it ends."""
    labels, end = [], None
    for _ in range(128):
        length = packet[at]
        if length >= 0xC0:
            end = end or at + 2
            at = (length & 0x3F) << 8 | packet[at + 1]
        elif length == 0:
            return ".".join(labels).lower(), end or at + 1
        else:
            labels.append(packet[at + 1:at + 1 + length].decode("latin-1"))
            at += 1 + length
    raise ValueError("a name without an end")


def read_data(packet, at, length, kind):
    if kind in (1, 28):
        return str(ipaddress.ip_address(packet[at:at + length]))
    if kind in (2, 5, 12):
        return read_name(packet, at)[0]
    if kind == 16:
        return packet[at + 1:at + 1 + packet[at]].decode("latin-1")
    return packet[at:at + length].hex()


def read_reply(packet, number, question):
    """The answer as a Question, or an error in words where it answers something else."""
    head = struct.unpack(">6H", packet[:12])
    if head[0] != number or not head[1] & 0x8000 or head[2] != 1:
        return f"not an answer to this query: {packet[:12].hex()}"
    name, at = read_name(packet, 12)
    kind, = struct.unpack(">H", packet[at:at + 2])
    if name != question.name.lower() or kind != TYPES[question.type]:
        return f"the answer is about {name} {kind}"
    at += 4
    records = set()
    for _ in range(head[3]):
        _, at = read_name(packet, at)
        kind, _, _, length = struct.unpack(">HHIH", packet[at:at + 10])
        at += 10
        records.add(read_data(packet, at, length, kind))
        at += length
    return Question(question.name, question.type, head[1] & 15, frozenset(records))


def no_check():
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


def receive(stream, length):
    data = b""
    while len(data) < length:
        more = stream.recv(length - len(data))
        if not more:
            raise ConnectionError("closed in the middle of an answer")
        data += more
    return data


def exchange(port, query, mode, timeout):
    here = ("127.0.0.1", port)
    if mode == "udp":
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
            client.settimeout(timeout)
            client.connect(here)
            client.send(query)
            return client.recv(65535)
    if mode == "doh":  # by curl: some servers speak HTTP/2 only
        kind = "application/dns-message"
        done = subprocess.run(
            ["curl", "-sk", "--http2", "--interface", SOURCE, "--max-time", str(timeout), "-H",
             f"Content-Type: {kind}", "-H", f"Accept: {kind}", "--data-binary", "@-",
             f"https://127.0.0.1:{port}/dns-query"], input=query, capture_output=True)
        if done.returncode != 0:
            raise ConnectionError(f"curl: {done.stderr.decode()[:200]} ({done.returncode})")
        return done.stdout
    with socket.create_connection(here, timeout, (SOURCE, 0)) as plain:
        context = no_check()
        stream = context.wrap_socket(plain) if mode == "dot" else plain
        stream.sendall(struct.pack(">H", len(query)) + query)
        return receive(stream, *struct.unpack(">H", receive(stream, 2)))


def ask(port, question, mode="udp", timeout=2.0):
    """The answer as a Question; where there is none, what went wrong in words."""
    number = int.from_bytes(os.urandom(2), "big")
    try:
        packet = exchange(port, wire_query(number, question.name, question.type), mode, timeout)
        return read_reply(packet, number, question)
    except (OSError, struct.error, IndexError, ValueError) as error:
        return f"{type(error).__name__}: {error}"
