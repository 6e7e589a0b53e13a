#!/usr/bin/env python3
"""Record a terminal session with a running Tidegate as an animated SVG.

    tests/record.py [BINARY]        # target/release/tidegate unless named

Starts the binary with the built-in configuration in an empty folder, as `make run` does, runs the
commands below in a shell, and writes what they print to docs/manual/pictures/terminal.svg. Every
line is real output; long ones are cut at the picture's edge by the commands themselves. The
picture needs no script: each line has an animation of its own, and a reader who asks for less
motion sees the last frame.
"""

import html
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
PICTURE = ROOT / "docs/manual/pictures/terminal.svg"
DIG = "dig @127.0.0.1 -p 5353 doubleclick.net | grep -E 'status|EDE'"
SESSION = [
    ("A blocked name has no address:", DIG),
    ("Which rule was that?", "tidegate why doubleclick.net | head -4"),
    ("Let it pass for ten minutes, then block it again:", "tidegate ctl allow doubleclick.net --for 10m"),
    ("", "tidegate why doubleclick.net | head -1"),
    ("", "tidegate ctl revoke doubleclick.net"),
    ("A blocked script over HTTP is answered with an empty one:",
     "curl -si -H 'Host: doubleclick.net' http://127.0.0.1:8080/tag.js | grep -E 'HTTP|type|length'"),
]
COLUMNS, LINE, FONT, PAD = 98, 19, 14, 18
CHARACTER = FONT * 0.6
TYPING, PAUSE, BETWEEN, END = 0.03, 0.35, 1.3, 6.0
COLOURS = {"comment": "#8b97a8", "prompt": "#7ad3a8", "typed": "#f2f5f9", "out": "#c3ccd8",
           "blocked": "#ff9d8a", "passes": "#8fe0b4"}


def session(binary):
    """Each command with what it printed."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        running = subprocess.Popen([binary, "run"], cwd=folder, stdout=subprocess.PIPE, text=True)
        try:
            for line in running.stdout:
                if line.strip() == "ready":
                    break
            path = f"{pathlib.Path(binary).resolve().parent}:{os.environ['PATH']}"
            for comment, command in SESSION:
                done = subprocess.run(["sh", "-c", command], cwd=folder, capture_output=True, text=True,
                                      env={**os.environ, "PATH": path}, check=False)
                yield comment, command, (done.stdout + done.stderr).splitlines()
        finally:
            running.terminate()
            running.wait()


def colour(line):
    """The class of a printed line."""
    if line.startswith("blocked"):
        return "blocked"
    return "passes" if line.startswith("passes") or " passes for " in line else "out"


def draw(recorded):
    """The picture: rows of text, each with the moment at which it shows."""
    rows, now = [], 0.6
    for comment, command, printed in recorded:
        if comment:
            rows.append(("comment", "# " + comment, now, 0))
        typing = len(command) * TYPING
        rows.append(("typed", command, now, typing))
        now += typing + PAUSE
        rows += [(colour(line), line.rstrip()[:COLUMNS], now, 0) for line in printed]
        rows.append(("out", "", now, 0))
        now += BETWEEN
    total = now + END
    width, height = COLUMNS * CHARACTER + 2 * PAD, len(rows) * LINE + 2 * PAD + 22
    texts, frames = [], []
    for index, (kind, text, start, typing) in enumerate(rows):
        if not text:
            continue
        y, begin = PAD + 36 + index * LINE, 100 * start / total
        name = f"r{index}"
        frames.append(f"@keyframes {name}{{0%,{begin:.2f}%{{opacity:0}}{begin + 0.01:.2f}%,100%{{opacity:1}}}}")
        body = f'<tspan class="{kind}">{html.escape(text)}</tspan>'
        cover = ""
        if kind == "typed":
            body = '<tspan class="prompt">$ </tspan>' + body
            end = 100 * (start + typing) / total
            x, wide = PAD + 2 * CHARACTER, len(text) * CHARACTER + 4
            frames.append(f"@keyframes c{index}{{0%,{begin:.2f}%{{transform:none}}"
                          f"{end:.2f}%,100%{{transform:translateX({wide:.0f}px) scaleX(0)}}}}")
            cover = (f'<rect class="cover" x="{x:.0f}" y="{y - FONT}" width="{wide:.0f}" height="{LINE}" '
                     f'style="animation-name:c{index};transform-origin:{x:.0f}px 0;'
                     f'animation-timing-function:steps({len(text)})"/>')
        texts.append(f'<g style="animation-name:{name}"><text x="{PAD}" y="{y}" xml:space="preserve">{body}</text>'
                     f"{cover}</g>")
    colours = "".join(f".{kind}{{fill:{value}}}" for kind, value in COLOURS.items())
    return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" role="img">
<title>A terminal session with Tidegate</title>
<style>text{{font:{FONT}px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace}}{colours}
g,.cover{{animation-duration:{total:.1f}s;animation-iteration-count:infinite;animation-fill-mode:both}}
g{{animation-timing-function:step-end}}.cover{{fill:#16202d;transform:scaleX(0)}}
@media (prefers-reduced-motion:reduce){{g,.cover{{animation:none}}}}
{"".join(frames)}</style>
<rect width="100%" height="100%" rx="10" fill="#16202d"/>
<circle cx="22" cy="20" r="6" fill="#ff6b5e"/><circle cx="42" cy="20" r="6" fill="#f4bf4f"/><circle cx="62" cy="20" r="6" fill="#5fc454"/>
{chr(10).join(texts)}
</svg>
"""


def main():
    binary = sys.argv[1] if len(sys.argv) > 1 else str(ROOT / "target/release/tidegate")
    recorded = list(session(os.path.abspath(binary)))
    PICTURE.parent.mkdir(parents=True, exist_ok=True)
    PICTURE.write_text(draw(recorded))
    for _, command, printed in recorded:
        print("$", command, *printed, sep="\n")
    print(f"{PICTURE.relative_to(ROOT)}: {PICTURE.stat().st_size} bytes")


if __name__ == "__main__":
    main()
