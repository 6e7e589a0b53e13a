#!/usr/bin/env python3
"""Where a running process spends its time, as a flame graph: perf samples it, this folds and draws.

    bench/flame.py PID SECONDS OUT.svg "what it was doing"

A box is as wide as its share of the samples, what it calls stands upon it, and the pointer shows name and
share. Stacks are unwound from what perf copies of them, so that the binary of `make dist` will do. Needs
perf and the right to sample the process.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import svg  # noqa: E402

FREQUENCY = 499  # a second: no multiple of what a timer does
STACK_BYTES = 16384
WIDE, ROW, TOP, LETTER = 1200, 17, 46, 6.2
SHARE_MIN = 0.001  # of all samples; less is not drawn
DEPTH_MAX = 70
COLOURS = {"kernel": "#9fb8c8", "program": "#5fa8d3", "others": "#d9b26f"}
FRAME = re.compile(r"^\s+[0-9a-f]+ (.+) \((.+)\)$")


class Box:
    """A function where it was called from, and the samples in it."""

    def __init__(self):
        self.samples = 0
        self.kind = "others"
        self.calls = {}


def short(name):
    """A function's name without its offset, its hash and its type arguments."""
    name = re.sub(r"\+0x[0-9a-f]+$|::h[0-9a-f]{16}$", "", name)
    while (plain := re.sub(r"<[^<>]*>", "", name)) != name:
        name = plain
    return name.replace("::{{closure}}", "").lstrip(":") or "?"


def kind(library, program):
    if library.startswith("[kernel") or library.startswith("[guest.kernel"):
        return "kernel"
    return "program" if Path(library).name == program else "others"


def folded(lines, program):
    """The tree of what `perf script` prints: a head, its frames from the inside out, an empty line."""
    root, stack = Box(), []
    for line in [*lines, ""]:
        frame = FRAME.match(line)
        if frame:
            stack.append((short(frame[1]), kind(frame[2], program)))
        elif not line.strip() and stack:
            add(root, stack[::-1])
            stack = []
    return root


def add(root, stack):
    root.samples += 1
    box, last = root, None
    for name, of in stack[:DEPTH_MAX]:
        # A future within a future has the same name: one box is enough.
        if name != last:
            box = box.calls.setdefault(name, Box())
            box.samples += 1
            box.kind = of
        last = name


def depth(box, least):
    return max((1 + depth(it, least) for it in box.calls.values() if it.samples >= least), default=0)


def drawn(root, title):
    least = max(1, root.samples * SHARE_MIN)
    high = TOP + ROW * depth(root, least) + 10
    parts = [svg.text(10, 20, title, size=15), *svg.legend(list(COLOURS), COLOURS, 38)]

    def draw(box, x, level):
        for name, call in sorted(box.calls.items()):
            if call.samples < least:
                continue
            across, y = WIDE * call.samples / root.samples, high - 10 - ROW * (level + 1)
            parts.append(f'<g><title>{svg.escaped(name)}: {100 * call.samples / root.samples:.1f} %</title>'
                         f'<rect x="{x:.1f}" y="{y}" width="{max(across - 0.5, 0.3):.1f}" height="{ROW - 1}" '
                         f'fill="{COLOURS[call.kind]}"/>')
            letters = int((across - 6) / LETTER)
            if letters > 3:
                parts.append(svg.text(x + 3, y + 12, name if len(name) <= letters else name[-letters:], colour="#111"))
            parts.append("</g>")
            draw(call, x, level + 1)
            x += across

    draw(root, 0, 0)
    return svg.page(WIDE, high, parts)


def main():
    if len(sys.argv) != 5:
        sys.exit(__doc__.strip())
    pid, seconds, out, title = sys.argv[1:]
    program = Path(f"/proc/{pid}/exe").resolve().name
    with tempfile.NamedTemporaryFile() as data:
        subprocess.run(["perf", "record", "-q", "-F", str(FREQUENCY), "--call-graph", f"dwarf,{STACK_BYTES}",
                        "-o", data.name, "-p", pid, "--", "sleep", seconds], check=True)
        said = subprocess.run(["perf", "script", "-i", data.name, "-F", "comm,ip,sym,dso"], check=True,
                              capture_output=True, text=True).stdout
    root = folded(said.splitlines(), program)
    if not root.samples:
        sys.exit("no sample: was it idle?")
    Path(out).write_text(drawn(root, f"{title}: {root.samples:,} samples in {seconds} s"))


if __name__ == "__main__":
    main()
