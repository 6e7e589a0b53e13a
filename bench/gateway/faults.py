"""Trouble on purpose, under load: one slow server of eight, servers that are killed, reloads.

What counts is what a client sees: the 99th percentile, and how many requests failed.
"""

import sys
import threading
import time
from pathlib import Path

from servers import Origin, Task, Tidegate, Nginx, Haproxy, all_of

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import method  # noqa: E402
import process  # noqa: E402
import sheet  # noqa: E402

import cases

ORIGINS = 8
USUAL_US, SLOW_US = 1_000, 200_000
WAYS = {Tidegate: ("round_robin", "least_connections", "p2c"), Haproxy: ("round_robin", "least_connections", "p2c"),
        Nginx: ("round_robin", "least_connections", "p2c")}
KILL_EVERY_S, DEAD_S, RELOADS, RELOAD_EVERY_S = 0.4, 0.2, 100, 0.1
SLICE_SECONDS = 2  # of load, again and again until the work beside it is done


def slow_one(folder, program, options):
    """p99 while one server in eight takes 200 ms, by each way to balance."""
    found = sheet.row("slow-one", "99th percentile while one server in eight takes 200 ms, the others 1 ms", "ms")
    found["note"] = ("p2c is random(2) with HAProxy and random two least_conn with nginx. 64 clients that wait "
                     "for their answer before they ask again; times by ab, which adds nothing to them as wrk does.")
    makers = {f"{kind.family}, {way}": (kind, way) for kind, ways in WAYS.items() if kind.program for way in ways}
    for _, name in method.turns(list(makers), options.rounds):
        kind, way = makers[name]
        if name in found["absent"]:
            continue
        origins = [Origin(program, SLOW_US if it == 0 else USUAL_US) for it in range(ORIGINS)]
        try:
            task = Task([it.port for it in origins], balance=way)
            figures = under(kind(folder), task, options.seconds, generator=process.waited)
            clean(figures)
            sheet.measured(found, name, figures["p99_ms"], cases.note(figures), figures["busy"])
        except (RuntimeError, OSError) as why:
            sheet.left_out(found, name, why)
        finally:
            for one in origins:
                one.stop()
    ours, turns = (sheet.values(found, f"tidegate, {way}") for way in ("p2c", "round_robin"))
    found["marks"].append(method.mark(ours, {"round robin of our own": turns}, 0.5))
    return found


def clean(figures):
    if figures["refused"] or figures["cut"]:
        raise RuntimeError(f"{figures['refused']} refused, {figures['cut']} cut off")


def under(server, task, seconds, disturb=None, generator=process.load):
    """Load on a gateway while `disturb` does its work beside it: for so many seconds, or where that is
    nothing until the work is done. What it raised is raised here."""
    server.start(task)
    try:
        found = cases.settle(server, cases.SMALL, 200)
        if found != (200, cases.SIZES[cases.SMALL]):
            raise cases.Wrong(f"{server.name} answers with {found}")
        wrong, is_over, beside = [], threading.Event(), None
        if disturb:
            def run():
                try:
                    disturb(server, is_over)
                except (RuntimeError, OSError) as why:
                    wrong.append(why)
            beside = threading.Thread(target=run)
            beside.start()
        try:
            url = f"http://127.0.0.1:{server.port}{cases.SMALL}"
            figures = generator(url, cases.CLIENTS, seconds or SLICE_SECONDS)
            while seconds is None and beside.is_alive():
                more = generator(url, cases.CLIENTS, SLICE_SECONDS)
                figures = {**more, **{key: figures[key] + more[key] for key in ("count", "refused", "cut")},
                           "p99_ms": max(figures["p99_ms"], more["p99_ms"])}
        finally:
            is_over.set()
            if beside:
                beside.join()
        if wrong:
            raise wrong[0]
        return figures
    finally:
        server.stop()


def killed(folder, program, options):
    """Failed requests while servers are killed and replaced."""
    found = sheet.row("killed", "requests that failed while servers are killed and replaced, one of eight each 0.4 s",
                      "failed")
    for server in all_of(folder):
        origins = [Origin(program, USUAL_US) for _ in range(ORIGINS)]
        kills = []

        def disturb(_, is_over, origins=origins, kills=kills):
            while not is_over.wait(KILL_EVERY_S - DEAD_S):
                one = origins[len(kills) % ORIGINS]
                one.kill()
                kills.append(one)
                is_over.wait(DEAD_S)
                one.start()

        task = Task([it.port for it in origins], is_checked=True)
        trouble(found, server, task, options.seconds * 2, disturb, lambda kills=kills: f"{len(kills)} kills")
        for one in origins:
            one.stop()
    return zero(found)


def reloaded(folder, program, options):
    """Failed requests while the configuration is read again and again."""
    found = sheet.row("reloaded", f"requests that failed while the configuration is reloaded {options.reloads} times",
                      "failed")
    for server in all_of(folder):
        if not server.is_reloadable:
            sheet.left_out(found, server.name, "is not reloaded by a command")
            continue
        origin = Origin(program)
        done = []

        def disturb(server, is_over, done=done):
            while not is_over.is_set() and len(done) < options.reloads:
                server.reload()
                done.append(time.monotonic())
                is_over.wait(RELOAD_EVERY_S)

        trouble(found, server, Task([origin.port]), None, disturb, lambda done=done: f"{len(done)} reloads")
        origin.stop()
    return zero(found)


def trouble(found, server, task, seconds, disturb, told):
    try:
        figures = under(server, task, seconds, disturb)
        failed = figures["refused"] + figures["cut"]
        words = f"of {figures['count']:,} · {figures['refused']} refused, {figures['cut']} cut off · {told()}"
        sheet.measured(found, server.name, failed, f"{words} · p99 {figures['p99_ms']:.1f} ms")
    except (RuntimeError, OSError) as why:
        sheet.left_out(found, server.name, why)


def zero(found):
    ours = sheet.values(found, sheet.OURS)
    state = "open" if not ours else "pass" if sum(ours) == 0 else "miss"
    found["marks"].append({"state": state, "said": f"{sum(ours) if ours else '?'} failed, wanted 0"})
    return found
