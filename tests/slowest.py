#!/usr/bin/env python3
"""Passes on what `cargo test` prints, and names the ten slowest at the end.

With `--test-threads=1` these are tests: one takes as long as lies between its line and the one before, because they
run one after another. With `--binaries` they are whole binaries, by the time that each prints, and of their tests only
those are passed on that are not ok.
"""

import re
import sys
import time

TEST_DONE = re.compile(r"^test (\S+) \.\.\. (ok|FAILED)")
BINARY_BEGUN = re.compile(r"^\s*Running (unittests )?(\S+) \(\S*?([^/\s]+)-[0-9a-f]{16}\)")
BINARY_DONE = re.compile(r"^test result: .* finished in ([\d.]+)s")
TEST_OK = re.compile(r"^(test \S+ .*\.\.\. ok|running \d+ tests?)?$")
SHOWN = 10


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


def passed_on(lines, hidden=None):
    for line in lines:
        if not (hidden and hidden.match(line)):
            sys.stdout.write(line)
            sys.stdout.flush()
        yield line


def main():
    if "--binaries" in sys.argv[1:]:
        kind, found = "test binaries", slowest_binaries(passed_on(sys.stdin, TEST_OK))
    else:
        kind, found = "tests", slowest_tests(passed_on(sys.stdin), time.monotonic)
    if found:
        print(f"the slowest {kind}:")
    for seconds, name in found:
        print(f"{seconds:7.1f} s  {name}")


if __name__ == "__main__":
    main()
