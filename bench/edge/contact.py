"""First contact: HTTPS to names that nobody ever asked for, a certificate minted in each handshake.

10,000 blocked domains are asked once each over a new TLS connection that trusts the authority: handshake,
request, answer, in a client whose own computing is in the times. Then as many random names below one blocked
domain, which share a certificate, while a client that says nothing holds a connection. CPU and memory are
Tidegate's and its signer's together.
"""

import socket
import ssl
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import sheet  # noqa: E402
from report import wanted  # noqa: E402

PATIENCE_S = 10
WARM_UP = "warm-up.random-below.com"


def lists(folder, names):
    """The list that blocks all of them."""
    path = folder / "contact.txt"
    path.write_text("".join(f"||first-contact-{number}.com^\n" for number in range(names)) + "||random-below.com^\n")
    return [{"name": "names", "path": str(path)}]


def ask(context, port, name):
    """One first contact; the seconds it took."""
    begun = time.perf_counter()
    with socket.create_connection(("127.0.0.1", port), PATIENCE_S) as tcp:
        with context.wrap_socket(tcp, server_hostname=name) as tls:
            tls.sendall(f"GET /x.js HTTP/1.1\r\nHost: {name}\r\n\r\n".encode())
            if not tls.recv(4096).startswith(b"HTTP/1.1 200"):
                raise ValueError("no answer")
    return time.perf_counter() - begun


def visit(edge, names):
    """Asks for all names; the times in order, and the names that were not answered."""
    context = ssl.create_default_context(cafile=edge.state / "ca/ca.pem")
    port, times, failed = edge.port("pixel", "https"), [], []
    for name in names:
        try:
            times.append(ask(context, port, name))
        except (OSError, ValueError) as why:
            failed.append((name, why))
    return sorted(times), failed


def half(edge, which, title, names):
    """The rows of one half."""
    before = edge.cpu_seconds()
    times, failed = visit(edge, names)
    spent = 1000 * (edge.cpu_seconds() - before) / len(names)
    at = [1000 * times[min(len(times) - 1, int(len(times) * part))] for part in (0.5, 0.99, 1)] if times else [0, 0, 0]
    held = " + ".join(f"{it:.0f}" for it in edge.resident_mb())
    found = (("lost", "unanswered", "names", len(failed), f"of {len(names):,}; {failed[:1] or ''}"),
             ("median", "median", "ms", at[0], f"worst {at[2]:.1f} ms"), ("p99", "99 of 100 within", "ms", at[1], ""),
             ("cpu", "CPU a name", "ms", spent, f"{held} MB resident"))
    for name, what, unit, value, note in found:
        row = sheet.row(f"contact-{which}-{name}", f"first contact, {title}: {what}", unit)
        sheet.measured(row, sheet.OURS, value, note)
        wanted.mark(row, "edge")
        yield row


def rows(edge, names):
    """All rows; the leaves that were signed are in the last one's note."""
    ask(ssl.create_default_context(cafile=edge.state / "ca/ca.pem"), edge.port("pixel", "https"), WARM_UP)
    yield from half(edge, "domains", "never-seen domains", [f"first-contact-{number}.com" for number in range(names)])
    with socket.create_connection(("127.0.0.1", edge.port("pixel", "https"))) as silent:
        silent.sendall(b"\x16\x03\x01\x02\x00\x01")
        below = [f"r{number * 7919 % 1_000_003}.random-below.com" for number in range(names)]
        *first, last = half(edge, "below", "random names below one domain, beside a silent client", below)
    leaves = (edge.state / "ca/audit.log").read_text().count("\n")
    last["servers"][sheet.OURS]["note"] += f" · {leaves:,} leaves signed in all"
    yield from (*first, last)
