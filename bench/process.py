"""A server under test as a process: started by its own benchmark, watched and stopped here.

All figures are of the process and whatever it has forked: workers count as the server.
"""

import os
import re
import signal
import subprocess
from pathlib import Path

BENCH = Path(__file__).resolve().parent
TICK = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")


def build(source, into):
    """Compiles a C program of bench/null."""
    program = into / f"null-{Path(source).stem}"
    subprocess.run(["cc", "-O2", "-pthread", "-o", program, BENCH / "null" / source], check=True)
    return program


def output_of(*command):
    """The first line that it prints: a version, as a rule."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return next((line for line in done.stdout.splitlines() if line.strip()), "?").strip()


def wrk(url, clients, seconds, *flags):
    """How many requests wrk had answered, and how many a second. One that failed fails the run."""
    said = subprocess.run(["wrk", "-t1", f"-c{clients}", f"-d{seconds}s", *flags, url],
                          capture_output=True, text=True).stdout
    count = re.search(r"(\d+) requests in", said)
    if not count or "Non-2xx" in said or "Socket errors" in said:
        raise RuntimeError(f"{url}: wrk: {said}")
    return int(count[1]), float(re.search(r"Requests/sec:\s+([\d.]+)", said)[1])


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
