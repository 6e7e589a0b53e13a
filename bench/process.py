"""A server under test as a process: started by its own benchmark, watched and stopped here.

All figures are of the process and whatever it has forked: workers count as the server.
"""

import os
import re
import resource
import signal
import socket
import string
import subprocess
import time
from pathlib import Path

import method

BENCH = Path(__file__).resolve().parent
TICK = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")


def build(source, into):
    """Compiles a C program of bench/null."""
    program = into / f"null-{Path(source).stem}"
    subprocess.run(["cc", "-O2", "-pthread", "-o", program, BENCH / "null" / source], check=True)
    return program


AB_REQUESTS_MAX = 2_000_000  # time ends it sooner


class Template(string.Template):
    """A configuration of bench/peers: the names in @{...} are filled in."""

    delimiter = "@"


def configured(file, **values):
    """The text of a peer's configuration for one task. A name that is not given is an error."""
    return Template((BENCH / "peers" / file).read_text()).substitute(values)


def output_of(*command):
    """The first line that it prints: a version, as a rule."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return next((line for line in done.stdout.splitlines() if line.strip()), "?").strip()


def wrk(url, clients, seconds, *flags):
    """How many requests wrk had answered, and how many a second. One that failed fails the run."""
    figures = load(url, clients, seconds, *flags)
    if figures["refused"] or figures["cut"]:
        raise RuntimeError(f"{url}: wrk: {figures['refused']} refused, {figures['cut']} cut off")
    return figures["count"], figures["per_second"]


def load(url, clients, seconds, *flags):
    """All that one run of wrk tells, and how busy its one thread was. `refused` are answers other than
    2xx and 3xx, `cut` connections that broke or answers that did not come in time. wrk adds to its times
    what a client at a steady rate would have waited besides: one slow answer counts as many."""
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    command = ["wrk", "-t1", f"-c{clients}", f"-d{seconds}s", "--latency", *map(str, flags), url]
    said = subprocess.run(method.pinned(command, "client"), capture_output=True, text=True).stdout
    wall, after = time.monotonic() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
    count = re.search(r"(\d+) requests in", said)
    if not count:
        raise RuntimeError(f"{url}: wrk: {said}")
    refused = re.search(r"Non-2xx or 3xx responses: (\d+)", said)
    cut = re.search(r"Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)", said)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"count": int(count[1]), "per_second": float(re.search(r"Requests/sec:\s+([\d.]+)", said)[1]),
            "refused": int(refused[1]) if refused else 0, "cut": sum(map(int, cut.groups())) if cut else 0,
            "busy": spent / wall, **{f"p{share}_ms": milliseconds(said, share) for share in (50, 99)}}


def waited(url, clients, seconds):
    """The times that clients of ab waited, each counted once, and nothing added."""
    begun = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = ["ab", "-q", "-k", "-c", str(clients), "-t", str(seconds), "-n", str(AB_REQUESTS_MAX), url]
    done = subprocess.run(method.pinned(command, "client"), capture_output=True, text=True)
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    said = done.stdout
    count = re.search(r"Complete requests:\s+(\d+)", said)
    if done.returncode != 0 or not count:
        raise RuntimeError(f"{url}: ab: {done.stderr.strip()[-200:]}")
    failed, refused = (re.search(rf"{words}:\s+(\d+)", said) for words in ("Failed requests", "Non-2xx responses"))
    spent = ended.ru_utime + ended.ru_stime - begun.ru_utime - begun.ru_stime
    times = {f"p{share}_ms": float(re.search(rf"^\s+{share}%\s+(\d+)", said, re.MULTILINE)[1]) for share in (50, 99)}
    return {"count": int(count[1]), "per_second": float(re.search(r"Requests per second:\s+([\d.]+)", said)[1]),
            "refused": int(refused[1]) if refused else 0, "cut": int(failed[1]) if failed else 0,
            "busy": spent / seconds, **times}


def milliseconds(said, share):
    found = re.search(rf"^\s+{share}%\s+([\d.]+)(us|ms|s|m)\s*$", said, re.MULTILINE)
    return float(found[1]) * {"us": 1e-3, "ms": 1, "s": 1e3, "m": 6e4}[found[2]] if found else None


def free_ports(count):
    """Ports that were free a moment ago, all different."""
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [it.getsockname()[1] for it in held]
    for it in held:
        it.close()
    return ports


def wait_for_port(port, process, seconds, said=lambda: ""):
    """Until somebody listens; an error with the last words of a process that ended before."""
    until = time.monotonic() + seconds
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            if process.poll() is not None or time.monotonic() > until:
                raise RuntimeError(f"does not start: {said().strip()[-500:]}") from None
            time.sleep(0.02)


def family(pid):
    """A process and all that descend from it."""
    found, waiting = [], [pid]
    while waiting:
        one = waiting.pop()
        found.append(one)
        for task in Path(f"/proc/{one}/task").glob("*/children"):
            try:
                waiting += [int(child) for child in task.read_text().split()]
            except (FileNotFoundError, ProcessLookupError):
                pass  # a thread that has ended meanwhile; its children, if any, have another parent
    return found


class Process:
    """Whoever starts one sets `process`."""

    process = None

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def cpu_seconds(self):
        total = 0
        for pid in family(self.process.pid):
            fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
            total += int(fields[11]) + int(fields[12])
        return total / TICK

    def resident_bytes(self):
        return sum(int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE
                   for pid in family(self.process.pid))
