#!/usr/bin/env python3
"""Instructions a call of the pure functions of the hot paths, beside the numbers that are kept.

    bench/instructions/gate.py           compare; ends with an error where one costs more than it may
    bench/instructions/gate.py --keep    write what is counted to baseline.json, to be committed

Counted by valgrind's callgrind, which counts alike on every machine of one kind; by `perf stat` where
valgrind is missing and the machine lets it count. Where neither can, it says so and passes: a time would
prove nothing on a shared machine. A count changes with the compiler too, so a new tool chain comes with
a new baseline; counts of another processor family are not compared.
"""

import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
BASELINE = HERE / "baseline.json"
TOLERANCE = 0.05  # more than this above the kept number fails
FEW, MANY = 2_000, 12_000


def by_callgrind(command):
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/out", *command],
                              capture_output=True, text=True)
    found = re.search(r"Collected : (\d+)", done.stderr)
    return int(found[1]) if done.returncode == 0 and found else None


def by_perf(command):
    done = subprocess.run(["perf", "stat", "-x,", "-e", "instructions:u", *command], capture_output=True, text=True)
    found = re.search(r"^(\d+),.*instructions", done.stderr, re.MULTILINE)
    return int(found[1]) if done.returncode == 0 and found else None


def counter(program):
    """The first counter that counts here."""
    for tool, count in (("valgrind", by_callgrind), ("perf", by_perf)):
        if shutil.which(tool) and count([program]) is not None:
            return tool, count
    return None, None


def built():
    target = Path(os.environ.get("CARGO_TARGET_DIR") or HERE / "target")
    # Not --locked: a crate of ours that gains a dependency would fail here, where nothing else is wrong.
    subprocess.run(["cargo", "build", "--release", "--quiet", "--manifest-path", HERE / "Cargo.toml"], check=True)
    return str(target / "release" / "instructions")


def a_call(count, program, name):
    few, many = (count([program, name, str(times)]) for times in (FEW, MANY))
    return (many - few) / (MANY - FEW)


def main():
    program = built()
    tool, count = counter(program)
    if not count:
        print("instructions are not counted: neither valgrind nor perf can count on this machine")
        return
    names = subprocess.run([program], capture_output=True, text=True, check=True).stdout.split()
    found = {name: round(a_call(count, program, name), 1) for name in names}
    if "--keep" in sys.argv[1:]:
        BASELINE.write_text(json.dumps({"machine": platform.machine(), "tool": tool, "counts": found}, indent=1) + "\n")
    kept = json.loads(BASELINE.read_text())
    if kept["machine"] != platform.machine() or kept["tool"] != tool:
        print(f"not compared: the kept numbers are {kept['tool']}'s on {kept['machine']}")
        kept["counts"] = {}
    worse = []
    for name, value in found.items():
        before = kept["counts"].get(name)
        change = f"{value / before - 1:+.1%}" if before else "new"
        print(f"{name:18} {value:9,.1f} instructions a call  {change}")
        if before and value > before * (1 + TOLERANCE):
            worse.append(name)
    if worse:
        sys.exit(f"{', '.join(worse)}: over {TOLERANCE:.0%} more than before. If the work is worth it, say why in the "
                 f"commit and keep the new numbers: {Path(sys.argv[0]).name} --keep")


if __name__ == "__main__":
    main()
