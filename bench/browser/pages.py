"""What sites and third parties serve: a table from (host, path) to an answer, from the fixed seed.

Plain classes differ in how many third parties they have; scripts, chains, pixels, frames, preflighted
fetches and document.write behave as such tags do when nobody blocks them. The gated class waits:
its gates are in gated.py. Called by the origin servers; nothing here opens a socket.
"""

import random
import struct
import zlib
from dataclasses import dataclass

import gated
import world

PIXEL = bytes.fromhex("47494638396101000100800000000000ffffff21f90401000000002c00000000010001000002024401003b")


@dataclass
class Answer:
    kind: str
    body: bytes
    headers: str = ""


def picture(dice, side):
    """A PNG of noise, so that nothing shrinks it: about 3 × side² bytes."""
    rows = b"".join(b"\0" + dice.randbytes(side * 3) for _ in range(side))
    chunk = lambda name, data: struct.pack(">I", len(data)) + name + data + struct.pack(  # noqa: E731
        ">I", zlib.crc32(name + data))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0))
            + chunk(b"IDAT", zlib.compress(rows, 1)) + chunk(b"IEND", b""))


def script(dice, kilobytes, work=""):
    """As long as such a script is, computing for a moment before it does its work."""
    busy = f"(function(){{var t=performance.now()+{dice.uniform(1, 4):.1f};while(performance.now()<t);{work}}})();"
    filler = "/*" + "x" * int(kilobytes * 1024) + "*/"
    return Answer("text/javascript", (busy + filler).encode())


def image_tag(host):
    return f"new Image().src='https://{host.name}/p.gif?'+Math.random();"


def followed_by(dice, near):
    """What a script does next: a pixel of another tracker, or a beacon."""
    other = dice.choice(near)
    if dice.random() < 0.5:
        return image_tag(other)
    return f"navigator.sendBeacon('https://{other.name}/b','x=1');"


def third_party(dice, host, near):
    """All paths of one third party. `near` are those that share its page."""
    script_url = f"https://{dice.choice(near).name}/s.js"
    answers = {
        "/p.gif": Answer("image/gif", PIXEL),
        "/i.png": Answer("image/png", picture(dice, dice.randint(40, 90))),
        "/b": Answer("text/plain", b""),
        "/j.json": Answer("application/json", b'{"ads":[1,2,3]}'),
        "/f.html": Answer("text/html", b"<!doctype html><title>ad</title><img src=/i.png>"),
        "/c.css": Answer("text/css", b"body{line-height:1.5}" + b"/*" + b"x" * 8000 + b"*/"),
        "/l.js": script(dice, dice.uniform(10, 40)),
        "/s.js": script(dice, dice.uniform(10, 40), followed_by(dice, near)),
    }
    load = f"var s=document.createElement('script');s.src='{script_url}';document.head.appendChild(s);"
    answers["/chain.js"] = script(dice, dice.uniform(5, 20), load)
    return answers


def fetch_tag(host):
    """A call with a preflight; pages try again once."""
    return ("<script>(function(){function go(left){fetch('https://" + host.name + "/j.json',{headers:{'X-Tag':'1'}})"
            ".then(function(r){return r.json()}).catch(function(){if(left)setTimeout(go,300,left-1)})}go(1)})()"
            "</script>")


def tag(host, at):
    url = f"https://{host.name}"
    return {
        "script": f"<script async src='{url}/s.js'></script>",
        "chain": f"<script async src='{url}/chain.js'></script>",
        "pixel": f"<img width=1 height=1 alt='' src='{url}/p.gif?page={at}' "
                 f"onerror=\"this.onerror=null;this.src='{url}/p.gif?again'\">",
        "frame": f"<iframe width=300 height=90 src='{url}/f.html'></iframe>",
        "json": fetch_tag(host),
        "write": f"<script>document.write(\"<script src='{url}/s.js'><\\/script>\")</script>",
        "library": f"<script defer src='{url}/l.js'></script>",
        "style": f"<link rel=stylesheet href='{url}/c.css'>",
        "image": f"<img width=80 height=80 alt='' src='{url}/i.png'>",
    }[host.kind]


def plain(dice, parties, own_images):
    """A page: one blocked script and the styles hold its head, the rest is spread over its body."""
    head, body = [], []
    blocking = next(it for it in parties if it.kind in ("script", "chain"))
    head.append(f"<script src='https://{blocking.name}/s.js'></script>")
    for at, host in enumerate(parties):
        (head if host.kind == "style" else body).append(tag(host, at))
    body += [f"<p>{'words and more words ' * 20}</p><img width=90 height=90 alt='' src=/i{n}.png>"
             for n in range(own_images)]
    dice.shuffle(body)
    return ("<!doctype html><meta charset=utf-8><title>page</title><link rel=icon href='data:,'>"
            "<link rel=stylesheet href=/site.css><script src=/site.js></script>" + "".join(head)
            + "<h1>A page</h1><img width=600 height=400 alt='' src=/hero.png>" + "".join(body)).encode()


def own(dice, html, own_images):
    answers = {"/": Answer("text/html", html),
               "/site.css": Answer("text/css", b"body{font:16px sans-serif}/*" + b"x" * 30000 + b"*/"),
               "/site.js": script(dice, 60), "/hero.png": Answer("image/png", picture(dice, 200))}
    for number in range(own_images):
        answers[f"/i{number}.png"] = Answer("image/png", picture(dice, 70))
    return answers


OWN_IMAGES = {"blog": 8, "shop": 40, "news": 30, "tabloid": 40}


def everything(there):
    """Host to path to answer, for a world."""
    dice, table = random.Random(world.SEED + 1), {}
    trackers = [it for it in there.third if it.blocked and it.kind in ("script", "pixel")]
    for host in there.third:
        table[host.name] = third_party(dice, host, trackers if host.blocked else [host])
    for page, parties in there.parties.items():
        # A chain may lead to hosts that the page itself does not name, as outside.
        table[there.sites[page].name] = own(dice, plain(dice, parties, OWN_IMAGES[page]), OWN_IMAGES[page])
    table[there.sites["gated"].name] = own(dice, gated.PAGE.encode(), 8)
    for host in there.gates:
        table[host.name] = {path: Answer(kind, body) for path, (kind, body) in gated.ANSWERS[host.name].items()}
    return table
