"""Scenarios of our own: what the pack does not ask.

Large sets, a trace that looks like a household or an office, misses that are all different, and the
encrypted ways in. Everything is generated from fixed seeds: two runs ask the same.
"""

import bisect
import itertools
import random

import pack
from probe import NOERROR, REFUSED, Question, of_upstream
from tasks import Scenario, Task

CACHED = [f"www{i}.cached.test" for i in range(16)]
LOCAL = tuple((f"{host}.bench.test", kind, f"{prefix}{10 + i}")
              for i, host in enumerate(["www", "api", "cdn", "mail", "metrics"])
              for kind, prefix in (("A", "192.0.2."), ("AAAA", "2001:db8::")))
SYLLABLES = [a + b for a in "bcdfghklmnprstvz" for b in ("a", "e", "i", "o", "u", "an", "er", "il")]
TOPS = ["com", "net", "org", "example", "io", "de", "fr", "info"]
SET_SIZES = {"set118k": 118_000, "set1m": 1_000_000}
SET_QUESTIONS = 10_000  # names asked, half of them in the set
FORWARD_NAMES = 200_000
TRACE_NAMES, TRACE_WARM, TRACE_LOAD = 1_000_000, 1_000_000, 400_000
TRACE_BLOCKED, TRACE_MISS = 0.05, 0.20
TRACE_CACHE = 1_000_000
# Titles of what is made of the pack's names.
OF_PACK = {"set": "set of 144 k names", "patterns": "the same and 163 regular expressions",
           "trace": f"trace: Zipf over {TRACE_NAMES:,}"}


def made_names(count, seed, hosts=("",)):
    """`count` different names that look like names."""
    dice, seen = random.Random(seed), {}
    while len(seen) < count:
        word = "".join(dice.choices(SYLLABLES, k=dice.choice((2, 3, 3, 4, 4, 5))))
        seen[f"{dice.choice(hosts)}{word}{dice.randrange(100)}.{dice.choice(TOPS)}"] = None
    return list(seen)


def write(folder, name, lines):
    path = folder / name
    path.write_text("\n".join(lines) + "\n")
    return path


def hit(name, title, mode="udp"):
    task = Task(upstreams=1, cache=pack.CACHE, local=LOCAL, encrypted=mode not in ("udp", "tcp"))
    return Scenario(name, title, "own" if mode == "udp" else "encrypted",
                    tuple(map(of_upstream, CACHED)), mode, task)


def local():
    asked = tuple(Question(name, kind, NOERROR, frozenset([value])) for name, kind, value in LOCAL)
    return Scenario("local", "local answers", "own", asked, task=Task(local=LOCAL))


def set_of_pack(name, title, kinds):
    rules = tuple(rule for rule in pack.rules() if rule[0] in kinds)
    named = [text for kind, text in rules if kind != "regexp"]
    asked = [Question(text, "A", REFUSED) for text in random.Random(1).sample(named, 10)]
    asked += map(of_upstream, CACHED[:8])
    return Scenario(name, title, "own", tuple(asked),
                    task=Task(rules=rules, upstreams=1, cache=pack.CACHE))


def made_set(name):
    """A set of one size; the names asked are spread over all of it, as many are not in it."""
    size = SET_SIZES[name]
    members = made_names(size, seed=1)
    known = set(members)
    others = [one for one in made_names(SET_QUESTIONS, seed=2) if one not in known]
    half = SET_QUESTIONS // 2
    asked = [Question(f"www.{one}", "A", REFUSED) for one in random.Random(3).sample(members, half)]
    asked += [of_upstream(one) for one in others[:half]]
    random.Random(4).shuffle(asked)
    task = Task(rules=tuple(("domain", one) for one in members), upstreams=1, cache=pack.CACHE)
    return Scenario(name, f"set of {size:,} names", "own", tuple(asked), task=task)


def forward():
    """No two questions of a second are equal: nothing can be shared."""
    asked = tuple(map(of_upstream, made_names(FORWARD_NAMES, seed=5, hosts=("www.", "api.", ""))))
    return Scenario("forward", "forward, all names different", "own", asked,
                    task=Task(upstreams=1))


def suffixes(name):
    labels = name.split(".")
    return {".".join(labels[at:]) for at in range(len(labels))}


def zipf(names, exponent, count, dice):
    weights = list(itertools.accumulate((rank + 1) ** -exponent for rank in range(len(names))))
    total = weights[-1]
    return [names[bisect.bisect_left(weights, dice.random() * total)] for _ in range(count)]


def share_of_new(drawn):
    """Which share of the load's questions was not asked before."""
    seen, new = set(drawn[:TRACE_WARM]), 0
    for name in drawn[TRACE_WARM:]:
        if name not in seen:
            seen.add(name)
            new += 1
    return new / (len(drawn) - TRACE_WARM)


def trace(folder):
    """Popular and rare names as in life: Zipf, with the exponent that makes the wanted misses."""
    rules = tuple(rule for rule in pack.rules() if rule[0] != "regexp")
    blocked = [text for _, text in rules]
    known = set(blocked)
    names = [name for name in made_names(TRACE_NAMES, seed=6, hosts=("www.", "api.", "cdn.", ""))
             if not known.intersection(suffixes(name))]
    random.Random(7).shuffle(blocked)
    low, high = 0.5, 1.5
    for _ in range(7):  # fewer misses with a steeper curve
        exponent = (low + high) / 2
        drawn = zipf(names, exponent, TRACE_WARM + TRACE_LOAD, random.Random(8))
        miss = share_of_new(drawn)
        low, high = (exponent, high) if miss > TRACE_MISS else (low, exponent)
    bad = zipf(blocked[:20_000], 1.0, len(drawn), random.Random(9))
    dice = random.Random(10)
    lines = [bad[i] + " A" if dice.random() < TRACE_BLOCKED else name + " A"
             for i, name in enumerate(drawn)]
    sample = [Question(one, "A", REFUSED) for one in bad[:20]] + [*map(of_upstream, drawn[:200])]
    title = f"trace: Zipf {exponent:.2f} over {TRACE_NAMES:,}, {miss:.0%} miss"
    return Scenario("trace", title, "own", tuple(sample),
                    task=Task(rules=rules, upstreams=1, cache=TRACE_CACHE),
                    warm_file=write(folder, "trace-warm.txt", lines[:TRACE_WARM]),
                    load_file=write(folder, "trace-load.txt", lines[TRACE_WARM:]),
                    rcodes={REFUSED: TRACE_BLOCKED, NOERROR: 1 - TRACE_BLOCKED})


def scenarios(wanted, folder):
    """The named ones of these; large ones are only generated when asked for."""
    makers = {
        "hit": lambda: hit("hit", "cache hit"),
        "local": local,
        "forward": forward,
        "set": lambda: set_of_pack("set", OF_PACK["set"], ("full", "domain")),
        "patterns": lambda: set_of_pack("patterns", OF_PACK["patterns"], ("full", "domain", "regexp")),
        "set118k": lambda: made_set("set118k"),
        "set1m": lambda: made_set("set1m"),
        "trace": lambda: trace(folder),
        "dot": lambda: hit("dot", "cache hit over DoT", "dot"),
        "doh": lambda: hit("doh", "cache hit over DoH", "doh"),
        "doq": lambda: hit("doq", "cache hit over DoQ", "doq"),
    }
    return [made(name, make) for name, make in makers.items() if name in wanted]


def made(name, make):
    """The scenario; where it is made of the pack's names and these are not at hand, one that says so."""
    try:
        return make()
    except FileNotFoundError as why:
        return Scenario(name, OF_PACK[name], "own", (), lacking=pack.missing(why.filename))


FAMILIES = {"own": ["hit", "local", "forward", "set", "patterns", "set118k", "set1m", "trace"],
            "encrypted": ["dot", "doh", "doq"]}
