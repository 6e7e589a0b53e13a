#!/usr/bin/env python3
"""Passes on what `cargo test -- --test-threads=1` prints, and names the ten slowest tests at the end.

A test takes as long as lies between its line and the one before: they run one after another.
"""

import re
import sys
import time

DONE = re.compile(r"^test (\S+) \.\.\. (ok|FAILED)")
SHOWN = 10


def slowest(lines, clock):
    """The names and seconds of the slowest tests among `lines`, by `clock`, the slowest first."""
    took, before = [], clock()
    for line in lines:
        now = clock()
        if done := DONE.match(line):
            took.append((now - before, done.group(1)))
        before = now
    return sorted(took, reverse=True)[:SHOWN]


def passed_on(lines):
    for line in lines:
        sys.stdout.write(line)
        sys.stdout.flush()
        yield line


def main():
    found = slowest(passed_on(sys.stdin), time.monotonic)
    if found:
        print("the slowest tests:")
    for seconds, name in found:
        print(f"{seconds:7.1f} s  {name}")


if __name__ == "__main__":
    main()
