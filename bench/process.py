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
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

import method

BENCH = Path(__file__).resolve().parent
TICK = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")


@contextmanager
def open_folder():
    """A temporary folder that others may enter: started by root, Tidegate becomes nobody."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder


def build(source, into):
    """Compiles a C program of bench/null."""
    program = into / f"null-{Path(source).stem}"
    subprocess.run(["cc", "-O2", "-pthread", "-o", program, BENCH / "null" / source], check=True)
    return program


AB_REQUESTS_MAX = 2_000_000  # time ends it sooner
LOOK_SECONDS = 0.2  # between two looks at the threads of a generator


class Template(string.Template):
    """A configuration of bench/peers: the names in @{...} are filled in."""

    delimiter = "@"


def configured(file, **values):
    """The text of a peer's configuration for one task. A name that is not given is an error."""
    return Template((BENCH / "peers" / file).read_text()).substitute(values)


def output_of(*command):
    """The first line that it prints: a version, as a rule."""
    done = subprocess.run(command, capture_output=True, text=True)
    # Some say it as an error, and others complain of something else first.
    lines = (done.stdout + "\n" + done.stderr).splitlines()
    return next((line for line in lines if line.strip()), "?").strip()


def wrk(url, clients, seconds, *flags):
    """What wrk tells. One request that failed fails the run."""
    figures = load(url, clients, seconds, *flags)
    if figures["refused"] or figures["cut"]:
        raise RuntimeError(f"{url}: wrk: {figures['refused']} refused, {figures['cut']} cut off")
    return figures


def timed(server, work):
    """CPU of the server an answer, the rate, and how busy the client was, of a run that tells its figures."""
    before = server.cpu_seconds()
    figures = work()
    spent = server.cpu_seconds() - before
    return {"cpu_us": 1e6 * spent / figures["count"], "per_second": figures["per_second"], "busy": figures["busy"]}


def threads_seconds(pid):
    """Processor time of each thread that a process has now."""
    found = {}
    for task in Path(f"/proc/{pid}/task").glob("*/stat"):
        try:
            fields = task.read_text().rsplit(")", 1)[1].split()
        except (FileNotFoundError, ProcessLookupError):
            continue  # it has ended meanwhile
        found[task.parent.name] = (int(fields[11]) + int(fields[12])) / TICK
    return found


def busiest(threads, seconds, whole, wall):
    """The share of a processor that the busiest thread of a generator took: it is at its end when one is.
    `threads` were read after `seconds`; of a generator with a single one, or that was too quick to be looked
    at, the `whole` of its time by the `wall` is more exact."""
    if len(threads) < 2 or seconds <= 0:
        return whole / wall
    return max(threads.values()) / seconds


def children_seconds():
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


def generate(command, lasts=None):
    """Runs a load generator on the clients' processors: the finished process, and how busy it was (`busiest`).
    `lasts`: seconds of load, where it then waits for what is late: dnsperf spins meanwhile."""
    before, begun, threads, looked = children_seconds(), time.monotonic(), {}, 0.0
    command = method.pinned([str(it) for it in command], "client")
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        try:
            while True:
                try:
                    said, complained = running.communicate(timeout=LOOK_SECONDS)
                    break
                except subprocess.TimeoutExpired:
                    now = time.monotonic() - begun
                    if now <= (lasts or now):
                        threads.update(threads_seconds(running.pid))
                        looked = now
        except BaseException:
            running.kill()
            raise
    wall = time.monotonic() - begun
    busy = busiest(threads, looked, children_seconds() - before, wall)
    return subprocess.CompletedProcess(command, running.returncode, said, complained), busy


def load(url, clients, seconds, *flags):
    """All that one run of wrk tells, and how busy its one thread was. `refused` are answers other than
    2xx and 3xx, `cut` connections that broke or answers that did not come in time. wrk adds to its times
    what a client at a steady rate would have waited besides: one slow answer counts as many."""
    done, busy = generate(["wrk", "-t1", f"-c{clients}", f"-d{seconds}s", "--latency", *flags, url])
    said = done.stdout
    count = re.search(r"(\d+) requests in", said)
    if not count:
        raise RuntimeError(f"{url}: wrk: {said}{done.stderr}"[-300:])
    refused = re.search(r"Non-2xx or 3xx responses: (\d+)", said)
    cut = re.search(r"Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)", said)
    return {"count": int(count[1]), "per_second": float(re.search(r"Requests/sec:\s+([\d.]+)", said)[1]),
            "refused": int(refused[1]) if refused else 0, "cut": sum(map(int, cut.groups())) if cut else 0,
            "busy": busy, **{f"p{share}_ms": milliseconds(said, share) for share in (50, 99)}}


def steady(url, clients, seconds, per_second):
    """One run of h2load at one rate: the same as of `load`, and `p99.9_ms`. A time counts from where a request is
    sent, so one that waits for its turn behind a slow answer of its connection counts less than it waited."""
    with tempfile.NamedTemporaryFile("r", suffix=".tsv") as log:
        done, busy = generate(["h2load", "--h1", "-t1", f"-c{clients}", f"-D{seconds}", "--rps", f"{per_second / clients:.2f}",
                               f"--log-file={log.name}", url])
        rows = [line.split() for line in log]
    if not rows:
        raise RuntimeError(f"{url}: h2load: {done.stdout}{done.stderr}"[-300:])
    times = sorted(int(row[2]) / 1e3 for row in rows if row[1] == "200")
    refused = sum(row[1] not in ("200", "-1") for row in rows)
    figures = {"count": len(rows), "per_second": len(rows) / seconds, "refused": refused,
               "cut": len(rows) - len(times) - refused, "busy": busy}
    return {**figures, **{f"p{share}_ms": times[min(int(len(times) * share / 100), len(times) - 1)] if times else None
                          for share in (50, 99, 99.9)}}


def ab(*words):
    """All that one run of ab tells. A failed TLS handshake counts as a success for it: look at `length`."""
    done, busy = generate(["ab", "-q", *words])
    said = done.stdout
    count = re.search(r"Complete requests:\s+(\d+)", said)
    if done.returncode != 0 or not count:
        raise RuntimeError(f"{words[-1]}: ab: {done.stderr.strip()[-200:]}")
    failed, refused, length = (re.search(rf"{it}:\s+(\d+)", said)
                               for it in ("Failed requests", "Non-2xx responses", "Document Length"))
    times = {f"p{share}_ms": re.search(rf"^\s+{share}%\s+(\d+)", said, re.MULTILINE) for share in (50, 99)}
    return {"count": int(count[1]), "per_second": float(re.search(r"Requests per second:\s+([\d.]+)", said)[1]),
            "refused": int(refused[1]) if refused else 0, "cut": int(failed[1]) if failed else 0,
            "length": int(length[1]) if length else 0, "busy": busy,
            **{name: float(found[1]) if found else None for name, found in times.items()}}


def waited(url, clients, seconds):
    """The times that clients of ab waited, each counted once, and nothing added."""
    return ab("-k", "-c", clients, "-t", seconds, "-n", AB_REQUESTS_MAX, url)


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
    """Whoever starts one by other means than `spawn` sets `process`."""

    process = None
    side = "server"  # whose processors it runs on; an origin is part of the load

    def spawn(self, command, **named):
        self.process = subprocess.Popen(method.pinned([str(it) for it in command], self.side), **named)

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

    def cpu_seconds_with_ended(self):
        """The same with all that its programs took which have ended."""
        total = 0
        for pid in family(self.process.pid):
            fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
            total += sum(int(it) for it in fields[11:15])
        return total / TICK

    def resident_bytes(self):
        return sum(int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE
                   for pid in family(self.process.pid))
