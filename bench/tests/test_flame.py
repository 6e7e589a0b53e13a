"""Flame graphs: what perf prints becomes a tree, and the tree boxes."""

import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import flame  # noqa: E402

SAID = """core-0
\tffffffff8 tcp_ack+0x1 ([kernel.kallsyms])
\t  55550 upstream::origins::send::{{closure}}+0x9 (/opt/tidegate)
\t  55540 <F as core::future::Future>::poll+0x4 (/opt/tidegate)

core-1
\t  55551 upstream::origins::send::{{closure}}::{{closure}}+0x7 (/opt/tidegate)
\t  55552 upstream::origins::send+0x7 (/opt/tidegate)
\t  55540 <F as core::future::Future>::poll+0x4 (/opt/tidegate)

core-1
\t   7f00 malloc+0x1 (/lib/libc.so.6)
"""


class Folded(unittest.TestCase):
    def test_samples_with_one_way_share_their_boxes(self):
        root = flame.folded(SAID.splitlines(), "tidegate")
        self.assertEqual((root.samples, sorted(root.calls)), (3, ["malloc", "poll"]))
        send = root.calls["poll"].calls["upstream::origins::send"]
        self.assertEqual((send.samples, send.kind), (2, "program"))
        self.assertEqual((send.calls["tcp_ack"].samples, send.calls["tcp_ack"].kind), (1, "kernel"))

    def test_a_box_is_as_wide_as_its_share(self):
        root = flame.folded(SAID.splitlines(), "tidegate")
        drawn = flame.drawn(root, "a <test>")
        self.assertIn("<title>upstream::origins::send: 66.7 %</title>", drawn)
        self.assertIn('width="799.5"', drawn)
        self.assertIn("a &lt;test>", drawn)


if __name__ == "__main__":
    unittest.main()
