#!/usr/bin/env python3
"""All five doors under mixed load for a long time, with faults: is anything lost, does anything grow?

    TIDEGATE_BIN=... bench/soak/run.py [--minutes 10] [--clock]

Every answer is checked. In turn: a resolver is lost, a server of the pool is lost, the disk is full (as
root, on a small tmpfs), the configuration is reloaded, lists are fetched anew; with --clock the machine's
clock jumps an hour ahead and back, which everything on this machine sees. Memory, descriptors, threads and
the 99th percentile of every door are drawn in bench/out/soak.html. Ends with an error where an answer was
lost or something grew. Not part of CI.
"""

import argparse
import itertools
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import doors  # noqa: E402
import method  # noqa: E402
import process  # noqa: E402
import sheet  # noqa: E402
from report import page  # noqa: E402

BINARY = os.environ.get("TIDEGATE_BIN", str(method.ROOT / "target/dist/tidegate"))
SAMPLES = 60  # over the whole run
FAULT_SECONDS = 3
DISK_MB = 256  # the log of a million answers and the cache have room, and it is filled in a moment
GROWTH_SHARE_MAX, GROWTH_MB_LEAST = 1.15, 16  # both must be passed to be called growth
DESCRIPTORS_MORE_MAX = 64
HOUR_S = 3600
QUESTION = "What is lost, and what grows, while all five doors work and what is around them fails?"


def lose(world, name):
    """Taken away for some seconds."""
    world.take(name)
    time.sleep(FAULT_SECONDS)
    world.give(name)
    return ""


def fill_disk(state):
    path = doors.full(state)
    time.sleep(FAULT_SECONDS)
    path.unlink()
    return ""


def jump():
    for step in (HOUR_S, -HOUR_S):
        time.clock_settime(time.CLOCK_REALTIME, time.time() + step)
        time.sleep(FAULT_SECONDS)
    return ""


def faults(world, edge, state, has_disk, options):
    """Each by its name: something that returns what went wrong, or nothing."""
    found = {"a resolver is lost": lambda: lose(world, "resolver 1"),
             "reload": lambda: edge.ctl("ctl", "reload"),
             "a server is lost": lambda: lose(world, "origin 2"),
             "lists are fetched": lambda: edge.ctl("lists", "update")}
    if has_disk:
        found["the disk is full"] = lambda: fill_disk(state)
    if options.clock:
        found["the clock jumps"] = jump
    return found


def sampled(edge, clients, begun):
    descriptors, threads = edge.held()
    times = {it.door: it.taken() for it in clients}
    late = {door: sorted(found)[int(len(found) * 0.99)] for door, found in times.items() if found}
    return {"minute": round((time.monotonic() - begun) / 60, 2), "memory": edge.resident_bytes() / 1e6,
            "descriptors": descriptors, "threads": threads, "late": late}


def watch(world, edge, state, has_disk, options):
    """Samples, and what each fault led to."""
    clients = [doors.Client(door, edge, world.ports[0]) for door in doors.DOORS]
    turns = itertools.cycle(faults(world, edge, state, has_disk, options).items())
    begun, seconds = time.monotonic(), options.minutes * 60
    samples, done, troubles = [], {}, []
    for client in clients:
        client.start()
    pause = max(1.0, seconds / SAMPLES)
    while time.monotonic() - begun < seconds:
        until = time.monotonic() + pause
        name, work = next(turns)
        wrong = work()
        done[name] = done.get(name, 0) + 1
        if wrong:
            troubles.append(f"{name}: {wrong}")
        time.sleep(max(0.0, until - time.monotonic()))
        samples.append(sampled(edge, clients, begun))
        if edge.process.poll() is not None:
            raise RuntimeError(f"tidegate ended: {edge.log.read_text(errors='replace')[-500:]}")
    for client in clients:
        client.is_over.set()
    for client in clients:
        client.join(2 * doors.ANSWER_SECONDS_MAX + 1)
    return samples, done, troubles, clients


def grown(samples, key):
    """From the second quarter to the last: what starting and filling caches needs is no growth."""
    quarter = max(1, len(samples) // 4)
    return tuple(statistics.median(it[key] for it in part) for part in (samples[quarter:2 * quarter] or samples,
                                                                         samples[-quarter:]))


def judged(samples, done, troubles, clients):
    """The rows: losses by door, growth by what is held."""
    told = ", ".join(f"{count} × {name}" for name, count in done.items())
    for client in clients:
        row = sheet.row(f"lost-{client.door}", f"{client.door}: answers lost", "lost")
        sheet.measured(row, sheet.OURS, len(client.lost), f"of {client.answered:,} · {told}")
        row["marks"].append({"state": "miss" if client.lost or not client.answered else "pass",
                             "said": client.lost[0] if client.lost else "none lost"})
        yield row
    for key, unit in (("memory", "MB"), ("descriptors", "open"), ("threads", "threads")):
        before, after = grown(samples, key)
        is_grown = (after > before * GROWTH_SHARE_MAX and after - before > GROWTH_MB_LEAST) if key == "memory" else \
            after > before + DESCRIPTORS_MORE_MAX
        row = sheet.row(f"held-{key}", f"{key}, last quarter", unit)
        sheet.measured(row, sheet.OURS, after, f"second quarter {before:,.0f}")
        row["marks"].append({"state": "miss" if is_grown else "pass", "said": f"{before:,.0f} to {after:,.0f} {unit}"})
        yield row
    row = sheet.row("commands", "reloads and refreshes that went wrong", "failed")
    sheet.measured(row, sheet.OURS, len(troubles), troubles[0] if troubles else "")
    row["marks"].append({"state": "miss" if troubles else "pass", "said": troubles[0] if troubles else "none"})
    yield row


def drawn(into, samples):
    minutes = [it["minute"] for it in samples]
    step = max(1, len(minutes) // 12)
    levels = [it if at % step == 0 else "" for at, it in enumerate(minutes)]
    for key, unit in (("memory", "MB"), ("descriptors", "open"), ("threads", "threads")):
        into.plot(f"{key}", levels, {"tidegate": [it[key] for it in samples]}, "minutes", unit)
    late = {door: [it["late"].get(door, 0) for it in samples] for door in doors.DOORS}
    into.plot("99th percentile of each door", levels, late, "minutes", "ms")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--clock", action="store_true", help="let the machine's clock jump, too")
    options = parser.parse_args()
    into = sheet.Sheet("soak", "Endurance", QUESTION, {"tidegate": process.output_of(BINARY, "--version")})
    with process.open_folder() as folder:
        state, has_disk = doors.small_disk(folder, DISK_MB)
        if not has_disk:
            print("no file system of its own can be mounted here: the disk will not be full")
        world = doors.World(folder)
        try:
            edge = doors.Edge(BINARY, folder, world, state)
            try:
                samples, done, troubles, clients = watch(world, edge, state, has_disk, options)
            finally:
                edge.stop()
        finally:
            world.stop()
            if has_disk:
                subprocess.run(["umount", "-l", state], check=False)
    for row in judged(samples, done, troubles, clients):
        into.add(row)
    drawn(into, samples)
    (sheet.OUT / "soak.html").write_text(page.page([into.data], into.data["machine"]))
    print(f"\n{sheet.OUT / 'soak.html'}")
    if any(mark["state"] == "miss" for row in into.data["rows"] for mark in row["marks"]):
        sys.exit("something was lost, or grew")


if __name__ == "__main__":
    main()
