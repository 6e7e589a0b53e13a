"""What the origin serves, the same each time, from one fixed seed.

`local/sub1..3`: 700 pages of 2 to 12 kB each, with an image here and there and one file of 8 MB.
`distant/sub1..3`: 90 objects each. `dynamic/sub1..3`: 17 static objects each; the 34 pages that are made
on demand are `far_origin`'s. And the objects of the cases: small.bin, and large.bin, which is all zeros
and takes no room on the disk.
"""

import random

from servers import OBJECT_BYTES

SEED = 7
SUBTREES = ("sub1", "sub2", "sub3")
PAGES_LOCAL, PAGES_DISTANT, PAGES_DYNAMIC, STATIC_DYNAMIC = 700, 90, 34, 17
FAN_OUT = 12  # links a page, so that a crawl has work waiting


def page(dice, number, links, size_min=2000, size_max=12000):
    words = " ".join(f"w{dice.randrange(10**6)}" for _ in range(dice.randint(size_min, size_max) // 8))
    anchors = "".join(f'<a href="{link}">{link}</a>\n' for link in links)
    return f"<!doctype html><title>{number}</title>{anchors}<p>{words}</p>\n"


def tree(folder, dice, pages, images, extra=()):
    folder.mkdir(parents=True)
    for number in range(pages):
        links = [f"page{child}.html" for child in range(number * FAN_OUT + 1, (number + 1) * FAN_OUT + 1)
                 if child < pages]
        if number % 5 == 0 and images:
            links.append(f"image{number // 5 % images}.png")
        if number == 0:
            links += extra
        name = "index.html" if number == 0 else f"page{number}.html"
        (folder / name).write_text(page(dice, number, links))
    for number in range(images):
        (folder / f"image{number}.png").write_bytes(dice.randbytes(dice.randint(2000, 30000)))


def write(www, large_bytes):
    dice = random.Random(SEED)
    www.mkdir()
    (www / "small.bin").write_bytes(dice.randbytes(OBJECT_BYTES))
    dice.randbytes(1 << 20)  # as if for large.bin: what follows stays what it has always been
    with open(www / "large.bin", "wb") as large:
        large.truncate(large_bytes)
    for subtree in SUBTREES:
        tree(www / "local" / subtree, dice, PAGES_LOCAL, 40, ["big.bin"])
        (www / "local" / subtree / "big.bin").write_bytes(dice.randbytes(1 << 20) * 8)
        tree(www / "distant" / subtree, dice, PAGES_DISTANT - 15, 15)
        static = www / "dynamic" / subtree
        static.mkdir(parents=True)
        for number in range(STATIC_DYNAMIC):
            (static / f"static{number}.png").write_bytes(dice.randbytes(dice.randint(1000, 9000)))
    for path in [www, *www.rglob("*")]:
        path.chmod(0o755 if path.is_dir() else 0o644)


def dynamic_page(subtree, number):
    """A page that is made anew each time; the first one links to all."""
    dice = random.Random(f"{subtree} {number}")
    links = []
    if number == 0:
        links = [f"made{other}" for other in range(1, PAGES_DYNAMIC)] + \
            [f"static{other}.png" for other in range(STATIC_DYNAMIC)]
    return page(dice, number, links, 3000, 9000).encode()
