"""The Tidegate whose work grows: one run of it, what it has counted, and the load that it is put under.

It judges nothing. What is counted is its own metrics page's, who is connected is the kernel's. Used by `run`
and `log`.
"""

import http.client
import json
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import method  # noqa: E402
import process  # noqa: E402

BINARY = os.environ.get("TIDEGATE_BIN", str(method.ROOT / "target/dist/tidegate"))
START_SECONDS_MAX = 120
OPEN_SECONDS_MAX = 60  # until all connections are open: an opening that the kernel drops is tried again after 1, 3, 7 s
ANSWER_SECONDS_MAX = 60  # of the admin API
LOOK_SECONDS = 0.1
ESTABLISHED = "01"  # in /proc/net/tcp


class Tidegate(process.Process):
    """A run with one configuration, in a with statement; `port` is where its door listens."""

    def __init__(self, folder, sections):
        self.folder = Path(tempfile.mkdtemp(dir=folder))
        self.state = self.folder / "state"
        self.port, self.admin = process.free_ports(2)
        self.config = self.folder / "tidegate.yaml"
        admin = {"listen": f"127.0.0.1:{self.admin}"}
        self.config.write_text(json.dumps({"ledger": {"log": "none"}, "admin": admin, **sections(self.port)}))

    def __enter__(self):
        begun = time.monotonic()
        command = [BINARY, "run", "--config", self.config, "--state", self.state]
        with open(self.folder / "out", "wb") as out:
            self.process = subprocess.Popen(method.pinned(map(str, command), "server"), stdout=out, stderr=out)
        try:
            process.wait_for_port(self.port, self.process, START_SECONDS_MAX, self.said)
            self.start_ms = 1000 * (time.monotonic() - begun)
            # The door listens before the admin API does.
            until(lambda: "ready" in self.said().splitlines(), START_SECONDS_MAX, "it does not say that it is ready")
        except RuntimeError:
            self.stop()
            raise
        return self

    def __exit__(self, *_):
        self.resident_mb = self.resident_bytes() / 1e6 if self.process.poll() is None else 0
        self.stop()

    def said(self):
        return (self.folder / "out").read_text(errors="replace")

    def line(self):
        """A connection to the admin API; whoever takes it closes it."""
        return http.client.HTTPConnection("127.0.0.1", self.admin, timeout=ANSWER_SECONDS_MAX)

    def api(self, path, line=None):
        """What the admin API has at `path`, as text: over `line`, else over a connection of its own."""
        one = line or self.line()
        try:
            token = (self.state / "admin.token").read_text().strip()
            one.request("GET", path, headers={"Authorization": f"Bearer {token}"})
            answer = one.getresponse()
            body = answer.read().decode()
        finally:
            if line is None:
                one.close()
        if answer.status != 200:
            raise RuntimeError(f"{path}: {answer.status}: {body[:200]}")
        return body

    def counted(self, family, **labels):
        return total(self.api("/metrics"), family, **labels)

    def connections(self):
        return accepted(Path("/proc/net/tcp").read_text(), self.port)


def total(page, family, **labels):
    """What the samples of a family on a page of metrics that carry these labels come to."""
    wanted = [f'{key}="{value}"' for key, value in labels.items()]
    found = 0
    for line in page.splitlines():
        sample, _, value = line.rpartition(" ")
        name, _, carried = sample.partition("{")
        if name == family and all(it in carried for it in wanted):
            found += int(float(value))
    return found


def accepted(table, port):
    """Connections of /proc/net/tcp that came in at `port` and that a process holds: one that waits to be
    accepted has no inode."""
    rows = (line.split() for line in table.splitlines()[1:])
    return sum(row[1].endswith(f":{port:04X}") and row[3] == ESTABLISHED and row[9] != "0" for row in rows)


def until(is_so, seconds, trouble):
    """Waits for what only shows by looking; `trouble` is the error if it does not come in time."""
    end = time.monotonic() + seconds
    while not is_so():
        if time.monotonic() > end:
            raise RuntimeError(f"{trouble} within {seconds} s")
        time.sleep(LOOK_SECONDS)


def room_for_files(wanted):
    """Raises the limit of open files, for whatever is started from here as well; what it is then."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    for most in (max(hard, wanted), hard):
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (min(wanted, most), most))
            break
        except (ValueError, OSError):
            pass  # Only root may raise the hard limit: then as far as that.
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


def dnsperf(edge, questions, seconds, *flags):
    """Completed queries. The file is asked again and again, unless `-n` says how often."""
    command = ["dnsperf", "-s", "127.0.0.1", "-p", str(edge.port), "-d", questions, "-l", str(seconds), "-c", "8",
               "-q", "256", "-T", "1", *flags]
    said = subprocess.run(method.pinned(map(str, command), "client"), capture_output=True, text=True).stdout
    for line in said.splitlines():
        if "Queries completed" in line:
            return int(line.split()[2])
    raise RuntimeError(f"dnsperf: {said[-300:]}")


def steady(edge, door, path, clients, seconds):
    """µs of CPU an answer over connections that are all open: processor time and answers between two
    instants of one run of wrk. Neither the opening is in it nor the first answers, two a connection."""
    url = f"http://127.0.0.1:{edge.port}{path}"
    # Ended here, as soon as the second instant is past.
    command = ["wrk", "-t1", f"-c{clients}", f"-d{2 * OPEN_SECONDS_MAX + 10 * seconds}s", url]
    wrk = subprocess.Popen(method.pinned(command, "client"), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def answers():
        return edge.counted("tidegate_requests_total", door=door)

    def instant():
        # The metrics page waits its turn among all that is asked: the count is of some moment between the two.
        before, count, after = edge.cpu_seconds(), answers(), edge.cpu_seconds()
        return count, (before + after) / 2

    try:
        until(lambda: edge.connections() >= clients, OPEN_SECONDS_MAX, f"{clients:,} connections were not open")
        warm = answers() + 2 * clients
        until(lambda: answers() >= warm, OPEN_SECONDS_MAX, f"{clients:,} connections were not answered twice")
        first = instant()
        time.sleep(seconds)
        count, spent = (then - before for then, before in zip(instant(), first))
        held = edge.connections()
    finally:
        wrk.send_signal(signal.SIGINT)  # it sums up
        try:
            said = wrk.communicate(timeout=20)[0]
        except subprocess.TimeoutExpired:
            wrk.kill()
            said = wrk.communicate()[0]
    broken = re.search(r"Socket errors: connect (\d+), read (\d+), write (\d+)", said)
    if held < clients or (broken and any(map(int, broken.groups()))) or "Non-2xx" in said:
        raise RuntimeError(f"{held:,} of {clients:,} connections were left: {said[-200:]}")
    if not count or spent <= 0:
        raise RuntimeError(f"{path} over {clients:,} connections: nothing was answered")
    return 1e6 * spent / count


def name(number):
    """Different for each number below 2^32, and in no order."""
    return f"h{number * 2654435761 % (1 << 32):08x}.example"


def written(folder, what, lines):
    path = folder / what
    with open(path, "w") as out:
        out.writelines(f"{it}\n" for it in lines)
    return path
