"""How everything here is measured and what may be said of it: rounds, pairs, medians, verdicts.

Nothing here starts a server. Every benchmark takes its order of rounds, its words and its notes of the
machine from here, so that two tables can be read alike. Two rules stand above the figures: what is
smaller than its own spread is called a tie, and a rate that the client could not have raised any
further is marked as the client's, not the server's.
"""

import datetime
import math
import os
import random
import re
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TIE_SHARE = 0.05  # medians nearer than this are a tie whatever the spread
CLIENT_BUSY_MAX = 0.95  # of the processors that the generator may use
ALLOWED = sorted(os.sched_getaffinity(0))  # before anything here is moved to its own half
PAIRS_LEAST = 5  # below this a paired comparison says nothing
RESAMPLES = 2000


def middle(values):
    return statistics.median(values)


def spread(values):
    return min(values), max(values)


def turns(names, rounds):
    """The order of measuring: every one once a round, each round beginning with another."""
    for number in range(rounds):
        shift = number % len(names) if names else 0
        for name in names[shift:] + names[:shift]:
            yield number, name


def abba(pairs):
    """The order of a paired comparison: a b, b a, a b ... so that what drifts meets both alike."""
    for number in range(pairs):
        yield ("a", "b") if number % 2 == 0 else ("b", "a")


def add_order(parser, rounds=3):
    """The options that say in what order servers are measured, the same for every benchmark of several."""
    parser.add_argument("--rounds", type=int, default=rounds)
    parser.add_argument("--pairs", type=int, default=0, help="compare two servers in so many pairs (a b, b a ...)")
    parser.add_argument("--servers", help="only these, by comma")


def chosen(names, options):
    """Those of the names that are to be measured; ends the run where a comparison in pairs has not two."""
    only = options.servers and options.servers.split(",")
    found = [it for it in names if not only or it in only]
    if options.pairs and len(found) != 2:
        sys.exit(f"--pairs compares two, name them by --servers; at hand: {', '.join(found or names)}")
    return found


def how_often(options):
    return f"{options.pairs} pairs" if options.pairs else f"{options.rounds} rounds"


def order(names, options):
    """(number of the round or pair, name) of every measurement. Where one of a pair cannot do this, none is."""
    if not options.pairs:
        yield from turns(names, options.rounds)
    elif len(names) == 2:
        sides = dict(zip("ab", names))
        for number, both in enumerate(abba(options.pairs)):
            yield from ((number, sides[it]) for it in both)


def paired(first, second, seed=1):
    """Ratio of second to first by pairs: the median, and between which two 19 of 20 resamplings lie."""
    logs = [math.log(b / a) for a, b in zip(first, second, strict=True)]
    dice = random.Random(seed)
    found = sorted(statistics.median(dice.choices(logs, k=len(logs))) for _ in range(RESAMPLES))
    low, high = found[int(RESAMPLES * 0.025)], found[int(RESAMPLES * 0.975) - 1]
    return {"ratio": math.exp(statistics.median(logs)), "low": math.exp(low), "high": math.exp(high),
            "pairs": len(logs)}


def paired_verdict(pair):
    if pair["pairs"] < PAIRS_LEAST:
        return f"too few pairs ({pair['pairs']}) to tell"
    if pair["low"] <= 1 <= pair["high"]:
        return "tie"
    return f"{abs(pair['ratio'] - 1):.1%} {'more' if pair['ratio'] > 1 else 'less'}"


def pair_in_words(first, second, pairs):
    """What the pairs of two (name, values) say; nothing where one of them has not done all."""
    (name, values), (other, others) = first, second
    if not pairs or not len(values) == len(others) == pairs or min(*values, *others) <= 0:
        return ""
    pair = paired(others, values)
    return (f"{name} to {other} by pairs {pair['ratio']:.3f} ({pair['low']:.3f}-{pair['high']:.3f}): "
            f"{paired_verdict(pair)}")


def entry_in_pairs(entry):
    """The line of a benchmark's own results (a `key` in rounds by servers) that says what its pairs do, if any."""
    both = [(name, [it[entry["key"]] for it in rounds]) for name, rounds in entry["servers"].items()]
    said = pair_in_words(*both, entry["pairs"]) if len(both) == 2 else ""
    return [f"  {said}"] if said else []


def ratio(ours, theirs):
    """Ours to theirs by medians; nothing where either is missing or nothing was measured."""
    if not ours or not theirs or middle(theirs) <= 0:
        return None
    return middle(ours) / middle(theirs)


def verdict(ours, theirs, better="less"):
    """In words what the two lists of rounds say. Overlapping spreads that differ little are a tie."""
    share = ratio(ours, theirs)
    if share is None:
        return "not compared"
    is_apart = max(ours) < min(theirs) or max(theirs) < min(ours)
    if share == 0:
        return "ours is 0"
    if abs(share - 1) < TIE_SHARE or (not is_apart and abs(share - 1) < 2 * TIE_SHARE):
        return "tie"
    is_ahead = (share < 1) == (better == "less")
    times = max(share, 1 / share)
    amount = f"{times:.1f} ×" if times >= 2 else f"{abs(share - 1):.0%}"
    said = f"ahead, {amount}" if is_ahead else f"behind, {amount}"
    return said if is_apart else f"{said}, spreads overlap"


def mark(ours, peers, wanted, better="less"):
    """Whether a wanted ratio to the best of some peers is reached: pass, miss or open."""
    known = {name: values for name, values in peers.items() if values}
    if not ours or not known:
        return {"state": "open", "said": "no peer of this mark was measured"}
    best = (min if better == "less" else max)(known, key=lambda name: middle(known[name]))
    share = ratio(ours, known[best])
    if share is None:
        return {"state": "open", "said": f"{best} shows nothing to divide by"}
    passed = share <= wanted if better == "less" else share >= wanted
    bound = "at most" if better == "less" else "at least"
    return {"state": "pass" if passed else "miss",
            "said": f"{share:.2f} × {best}, wanted {bound} {wanted}"}


MARK_WORDS = {"pass": "reached: ", "miss": "not reached: ", "open": "open: ", "told": ""}


def mark_in_words(mark):
    return MARK_WORDS[mark["state"]] + mark["said"]


def is_client_bound(busy):
    """`busy`: the generator's processor time by its wall time and threads."""
    return busy is not None and busy >= CLIENT_BUSY_MAX


def rate_in_words(per_second, busy):
    """A rate, said to be the client's where the client had nothing left to give."""
    if is_client_bound(busy):
        return f"at least {per_second:,.0f}/s (the client was full: {busy:.0%})"
    return f"{per_second:,.0f}/s"


def reading_in_words(one):
    """What share readers at a pace have read and in what time, and whether it was they who had no more to give."""
    full = f" (the client was full: {one['busy']:.0%})" if is_client_bound(one["busy"]) else ""
    return f"{one['read']:.1%} read in {one['seconds']:,.0f} s{full}"


def busy_of(rounds):
    """How busy the clients of these rounds were; nothing where none has told."""
    known = [it["busy"] for it in rounds if it.get("busy") is not None]
    return middle(known) if known else None


def rate_of(rounds):
    """The middle rate of some rounds in words."""
    return rate_in_words(middle([it["per_second"] for it in rounds]), busy_of(rounds))


def is_told(ours, theirs, our_busy, their_busy, better):
    """Whether a comparison is the servers': of two rates the lower one must not be its client's limit."""
    if better == "less" or not ours or not theirs:
        return True
    return not is_client_bound(our_busy if middle(ours) < middle(theirs) else their_busy)


def exponent(sizes, costs):
    """The slope of a straight line through the logarithms: 0 is flat, 1 is linear."""
    points = [(math.log(x), math.log(y)) for x, y in zip(sizes, costs, strict=True) if x > 0 and y > 0]
    if len(points) < 2:
        return None
    return statistics.linear_regression(*zip(*points)).slope


def growth_in_words(slope):
    if slope is None:
        return "too few points"
    for most, said in ((-0.05, "falls"), (0.05, "flat"), (0.3, "nearly flat"), (0.85, "slower than linear"), (1.15, "linear")):
        if slope <= most:
            return said
    return "faster than linear"


def pinning(cores=None):
    """Which processors servers and generators get: (None, None) on two or fewer, else halves."""
    every = ALLOWED if cores is None else list(range(cores))
    if len(every) <= 2:
        return None, None
    half = len(every) // 2
    return every[:half], every[half:]


def workers():
    """How many workers every server gets: one for each processor that it may use."""
    return len(pinning()[0] or ALLOWED)


def stand_aside():
    """Moves this process, and with it all that it starts, to the clients' processors; servers are `pinned`."""
    clients = pinning()[1]
    if clients:
        os.sched_setaffinity(0, clients)


def pinned(command, which):
    """The command on the server's or the generator's processors, where there are enough to share out."""
    cores = pinning()[0 if which == "server" else 1]
    return list(command) if cores is None else ["taskset", "-c", ",".join(map(str, cores)), *command]


def machine():
    """What every result says of where and when it was measured."""
    told = Path("/proc/cpuinfo").read_text()
    model = re.search(r"model name\s*:\s*(.+)", told)
    memory = re.search(r"MemTotal:\s+(\d+)", Path("/proc/meminfo").read_text())
    commit = subprocess.run(["git", "-C", ROOT, "describe", "--always", "--dirty"],
                            capture_output=True, text=True).stdout.strip()
    return {"kernel": os.uname().release, "cores": len(ALLOWED),
            "processor": model[1].strip() if model else os.uname().machine,
            "memory_gb": round(int(memory[1]) / 1e6, 1) if memory else None,
            "load": round(os.getloadavg()[0], 1), "commit": commit or "?",
            "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="minutes"),
            "command": " ".join([Path(sys.argv[0]).name, *sys.argv[1:]]),
            "pinning": "servers and clients on processors of their own" if pinning()[0] else
                       "none: servers and clients share the processors"}
