"""Puts load on one running server and measures it: CPU time, rate, latency, lost queries.

While dnsperf runs, a thread asks some of the questions too and reads the answers whole; a wrong one
fails the round, and so do a mix of codes that is not the expected one and lost queries.
"""

import itertools
import re
import signal
import socket
import sys
import threading
import time
from pathlib import Path

import probe

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import process  # noqa: E402

OUTSTANDING = 1024
# More lost, and the round is void. So many are let through because servers with a small socket buffer
# lose most of the first queries, which come all at once; dnsperf's patience is longer than a round, so they
# are lost once, and such a server is under that much less load.
LOST_MAX = OUTSTANDING
LOST_SHARE_MAX = 0.01
CHECKS_PER_SECOND = {"udp": 40, "tcp": 40, "dot": 4, "doh": 4}  # a handshake costs the server
CHECKED_BEFORE_MAX = 300
BURST = 4096
SECURE = ("doh", "doq")  # loaded by bench/secure-load, which reads every answer


class Wrong(RuntimeError):
    """A server answered what it should not, or did not answer."""


def check(server, scenario, place, question):
    got = probe.ask(place.port_of(scenario.mode), question, scenario.mode)
    if got != question:
        raise Wrong(f"{server.name} answers {question.line} with {got}, not {question}")


def check_all(server, scenario, place):
    """Every question once (a spread of them where there are thousands)."""
    if server.name == "null" or scenario.mode == "doq":  # our client checks
        return
    step = max(1, len(scenario.questions) // CHECKED_BEFORE_MAX)
    for question in scenario.questions[::step]:
        check(server, scenario, place, question)


class Checker(threading.Thread):
    """Asks during the load, slowly."""

    def __init__(self, server, scenario, place):
        super().__init__(daemon=True)
        self.server, self.scenario, self.place = server, scenario, place
        self.done, self.wrong, self.asked = threading.Event(), None, 0

    def run(self):
        step = max(1, len(self.scenario.questions) // 97)
        for question in itertools.cycle(self.scenario.questions[::step]):
            if self.done.wait(1 / CHECKS_PER_SECOND[self.scenario.mode]):
                return
            got = probe.ask(self.place.port_of(self.scenario.mode), question, self.scenario.mode, 5)
            self.asked += 1
            if got != question and not (isinstance(got, str) and got.startswith("TimeoutError")):
                self.wrong = f"{self.server.name} answers {question.line} under load with {got}"
                return

    def finish(self):
        self.done.set()
        self.join()
        if self.wrong:
            raise Wrong(self.wrong)


def query_file(scenario, folder):
    """The questions as dnsperf reads them; for our own client with the answers beside them."""
    path = folder / f"{scenario.name}.queries"
    if not path.exists():
        path.write_text("".join(
            " ".join([question.line, *(question.records if scenario.mode in SECURE else [])]) + "\n"
            for question in scenario.questions))
    return path


def dnsperf(place, scenario, file, *flags):
    """What it tells, and how busy it was. It lives on for its patience where queries were lost."""
    lasts = flags[-1] if flags[-2] == "-l" else None
    patience = max(2, 1 + (lasts or 0))
    command = ["dnsperf", "-s", "127.0.0.1", "-p", place.port_of(scenario.mode), "-m", scenario.mode,
               "-d", file, "-t", patience, "-W", "-T", "1", *flags]
    return told("dnsperf", process.generate(command, lasts))


def secure(place, mode, file, program, clients, outstanding, seconds):
    if not program:
        raise LookupError("bench/secure-load could not be built here")
    command = [program, mode, f"127.0.0.1:{place.port_of(mode)}", file, clients, outstanding, seconds]
    return told(mode, process.generate(command, seconds))


def told(who, generated):
    done, busy = generated
    if done.returncode != 0:
        raise Wrong(f"{who}: {done.stderr.strip()[-300:]}")
    return done.stdout, busy


def figure(report, label):
    found = re.search(label + r":?\s+([\d.]+)", report)
    return float(found[1]) if found else 0.0


def read(report):
    return {
        "completed": figure(report, "Queries completed"),
        "lost": figure(report, "Queries lost"),
        "per_second": figure(report, "Queries per second"),
        "mean_us": 1e6 * figure(report, r"Average Latency \(s\)"),
        "jitter_us": 1e6 * figure(report, r"Latency StdDev \(s\)"),
    }


def check_codes(server, scenario, report):
    """The mix of response codes is the one that the questions must give."""
    shares = scenario.rcodes
    if not shares:
        codes = [question.rcode for question in scenario.questions]
        shares = {code: codes.count(code) / len(codes) for code in set(codes)}
    for code, share in shares.items():
        word = probe.RCODE_WORDS[code]
        seen = re.search(rf"{word} \d+ \(([\d.]+)%\)", report)
        if abs((float(seen[1]) if seen else 0) - 100 * share) > 1:
            raise Wrong(f"{server.name} answered {seen and seen[1]} % {word}, not {share:.0%}: "
                        f"{re.search('Response codes.*', report)[0]}")


def warm(server, scenario, place, folder, options):
    """Fills caches and lets the server settle; not measured."""
    if scenario.mode in SECURE:
        secure(place, scenario.mode, query_file(scenario, folder), options.secure_load, 4, 64,
               options.warm)
        return
    flags = ["-c", 32, "-q", 256]
    if scenario.warm_file:
        dnsperf(place, scenario, scenario.warm_file, *flags, "-n", 1)
    else:
        dnsperf(place, scenario, query_file(scenario, folder), *flags, "-l", options.warm)


def measure(server, scenario, place, folder, options, clients=32, outstanding=OUTSTANDING):
    """One round; the figures by name."""
    file = scenario.load_file or query_file(scenario, folder)
    ends = ["-n", 1] if scenario.load_file else ["-l", options.seconds]
    checker = Checker(server, scenario, place)
    asked = options.upstream.asked()
    before = server.cpu_seconds()
    if scenario.mode in SECURE:
        report, busy = secure(place, scenario.mode, file, options.secure_load, clients, outstanding,
                              options.seconds)
    else:
        if server.name != "null":
            checker.start()
        report, busy = dnsperf(place, scenario, file, "-c", clients, "-q", outstanding, *ends)
    spent = server.cpu_seconds() - before
    if checker.ident:
        checker.finish()
    figures = read(report)
    completed = figures["completed"] or 1
    if figures["lost"] > max(LOST_MAX, LOST_SHARE_MAX * completed):
        raise Wrong(f"{server.name} lost {figures['lost']:.0f} of {completed:.0f} queries")
    if server.name != "null":
        check_codes(server, scenario, report)
    figures["busy"] = busy
    figures["cpu_us"] = 1e6 * spent / (completed + checker.asked)
    figures["upstream"] = (options.upstream.asked() - asked) / completed
    figures["resident_mb"] = server.resident_bytes() / 1e6
    return figures


def burst(server, scenario, place):
    """How many of 4,096 queries are answered that arrive while the server is held for a moment."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        for option in (33, socket.SO_RCVBUF):  # 33 is SO_RCVBUFFORCE
            try:
                client.setsockopt(socket.SOL_SOCKET, option, 16 << 20)
                break
            except PermissionError:
                pass
        client.connect(("127.0.0.1", place.port))
        server.process.send_signal(signal.SIGSTOP)
        time.sleep(0.1)
        for number in range(BURST):
            question = scenario.questions[number % len(scenario.questions)]
            client.send(probe.wire_query(number, question.name, question.type))
        server.process.send_signal(signal.SIGCONT)
        client.settimeout(2)
        seen = set()
        try:
            while len(seen) < BURST:
                seen.add(client.recv(4096)[:2])
        except OSError:
            pass
        return {"answered": len(seen)}
