#!/usr/bin/env python3
"""Runs `cargo test`, names the ten slowest at the end, and runs what failed once more, alone.

    tests/run.py [--binaries] cargo test …

With `--test-threads=1` the slowest are tests: one takes as long as lies between its line and the one before, because
they run one after another. With `--binaries` they are whole binaries, by the time that each prints, and of their tests
only those are passed on that are not ok.

A machine that is shared may stand still for a minute, and a deadline passes that nothing is to blame for. So
a few tests may fail at first if they pass alone; they are named as unsteady, which is a fault to be mended. Many that
fail, one that ends its process, and whatever does not compile have no second run.
"""

import re
import subprocess
import sys
import time

TEST_DONE = re.compile(r"^test (\S+) \.\.\. (ok|FAILED)")
BINARY_BEGUN = re.compile(r"^\s*Running (unittests )?(\S+) \(\S*?([^/\s]+)-[0-9a-f]{16}\)")
BINARY_DONE = re.compile(r"^test result: .* finished in ([\d.]+)s")
BINARY_COUNTS = re.compile(r"^test result: \w+\. (\d+) passed; (\d+) failed;")
TARGET_FAILED = re.compile(r"^    `(-p \S+ )?--.*`$")
TEST_LISTED = re.compile(r"^    (\S+)$")
TEST_OK = re.compile(r"^(test \S+ .*\.\.\. ok|running \d+ tests?)?$")
SHOWN = 10
SECOND_RUNS = 5


def slowest_tests(lines, clock):
    """The seconds and names of the slowest tests among `lines`, by `clock`, the slowest first."""
    took, before = [], clock()
    for line in lines:
        now = clock()
        if done := TEST_DONE.match(line):
            took.append((now - before, done.group(1)))
        before = now
    return sorted(took, reverse=True)[:SHOWN]


def slowest_binaries(lines):
    """The seconds and names of the slowest binaries among `lines`, the slowest first.

    The unit tests of a crate come first and bear its name; its other binaries are all called alike.
    """
    took, crate, source = [], "", ""
    for line in lines:
        if begun := BINARY_BEGUN.match(line):
            unit, source, binary = begun.groups()
            crate = binary if unit else crate
        if done := BINARY_DONE.match(line):
            took.append((float(done.group(1)), f"{crate} {source}"))
    return sorted(took, reverse=True)[:SHOWN]


class Outcome:
    """What a run says: the code that it ends with, how many tests passed, and which failed."""

    def __init__(self):
        self.code = self.passed = 0
        self.failed = []
        self._counted = self._targets = 0
        self._lists = False

    def read(self, line):
        text = line.rstrip("\n")
        if self._lists and (listed := TEST_LISTED.match(text)):
            self.failed.append(listed.group(1))
            return
        # The list of names is the second block of this title; the first one begins with an empty line.
        self._lists = text == "failures:"
        if counts := BINARY_COUNTS.match(text):
            self.passed += int(counts.group(1))
            self._counted += int(counts.group(2)) > 0
        self._targets += bool(TARGET_FAILED.match(text))

    def deserves_a_second_run(self):
        """Whether a few tests failed and nothing else did."""
        return 0 < len(self.failed) <= SECOND_RUNS and self._counted == self._targets


def watched(command, outcome, hidden=None):
    """Yields the lines of `command` while it prints them, and notes in `outcome` what they say and how it ends."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace") as run:
        for line in run.stdout:
            outcome.read(line)
            if not (hidden and hidden.match(line)):
                sys.stdout.write(line)
                sys.stdout.flush()
            yield line
    outcome.code = run.returncode


def cargo_arguments(command, for_tests):
    """`command` that goes on after a failure, with `for_tests` for the test binaries."""
    own, _, after = " ".join(command).partition(" -- ")
    return [*own.split(), "--no-fail-fast", "--", *after.split(), *for_tests]


def second_run(command, failed):
    """The code to end with, after `failed` have run alone."""
    print(f"once more, alone: {' '.join(failed)}", flush=True)
    outcome = Outcome()
    alone = [] if "--test-threads=1" in command else ["--test-threads=1"]
    for _ in watched(cargo_arguments(command, [*alone, "--exact", *failed]), outcome, TEST_OK):
        pass
    if outcome.code or outcome.passed < len(set(failed)):
        return outcome.code or 1
    for name in failed:
        print(f"unsteady, to be mended: {name} failed at first and passed alone")
    return 0


def main(arguments):
    binaries = arguments[:1] == ["--binaries"]
    command = arguments[binaries:]
    outcome = Outcome()
    lines = watched(cargo_arguments(command, []), outcome, TEST_OK if binaries else None)
    found = slowest_binaries(lines) if binaries else slowest_tests(lines, time.monotonic)
    if found:
        print("the slowest test binaries:" if binaries else "the slowest tests:")
    for seconds, name in found:
        print(f"{seconds:7.1f} s  {name}")
    if outcome.code and outcome.deserves_a_second_run():
        return second_run(command, outcome.failed)
    return outcome.code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
