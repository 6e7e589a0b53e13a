"""One task in every server's own language: filled in whole, and refused where it cannot be said."""

import sys
import tempfile
import unittest
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(FOLDER))
import report  # noqa: E402, F401 the folder dns has one of its own, and this one must be found first

sys.path.append(str(FOLDER / "dns"))
import dialects  # noqa: E402
import method  # noqa: E402
import process  # noqa: E402
from tasks import Place, Task  # noqa: E402

LOCAL = (("www.bench.test", "A", "192.0.2.1"),)
WHOLE = Task(local=LOCAL, rules=(("domain", "ads.example"),), upstreams=1, cache=1000, encrypted=True)


class Filled(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.place = Place(Path(folder.name), 15300, (15390, 15391, 15392))

    def test_every_part_of_a_task_is_in_every_language(self):
        for name, wanted in {
            "tidegate": ("www.bench.test A 192.0.2.1", "udp://127.0.0.1:15390", "quic://127.0.0.1:15303", "size: 512000",
                         "set.adblock", "log: none"),
            "mosdns": ("full:www.bench.test 192.0.2.1", "udp://127.0.0.1:15390", "127.0.0.1:15303", '"size": 1000', "set.txt"),
            "dnsdist": ("www.bench.test", "127.0.0.1:15390", "127.0.0.1:15302", "newPacketCache(1000", "below.txt"),
            "unbound": ("www.bench.test. IN A 192.0.2.1", "forward-addr: 127.0.0.1@15390", "interface: 127.0.0.1@15301",
                        "msg-cache-size: 4194304", "ads.example. always_refuse", "interface: 127.0.0.1@15300\n"),
        }.items():
            text = getattr(dialects, name)(WHOLE, self.place)
            for part in wanted:
                self.assertIn(part, text, name)
            self.assertNotIn("@{", text, name)

    def test_what_a_task_does_not_have_is_in_none(self):
        for name in ("tidegate", "mosdns", "dnsdist", "unbound"):
            text = getattr(dialects, name)(Task(upstreams=1), self.place)
            for part in ("www.bench.test", "ads.example", "set.", "below.txt", str(self.place.cert)):
                self.assertNotIn(part, text, name)

    def test_every_server_has_a_worker_a_processor(self):
        self.assertEqual(dialects.dnsdist(WHOLE, self.place).count("addLocal("), method.workers())
        self.assertIn(f"num-threads: {method.workers()}\n", dialects.unbound(WHOLE, self.place))

    def test_what_a_server_cannot_be_told_it_is_not_asked(self):
        raced, everyone = Task(upstreams=3), Task(every="192.0.2.10")
        self.assertIsNone(dialects.dnsdist(raced, self.place))
        self.assertIsNone(dialects.unbound(raced, self.place))
        self.assertIsNone(dialects.tidegate(everyone, self.place))
        self.assertIsNone(dialects.mosdns(Task(local=(("a.test", "TXT", "x"),)), self.place))

    def test_the_log_is_on_where_it_is_the_question(self):
        self.assertIn("log: all", dialects.tidegate(WHOLE, self.place, log="all"))

    def test_a_name_that_is_not_given_is_an_error(self):
        with self.assertRaises(KeyError):
            process.configured("pixel/nginx.conf", folder="/x", workers=2, http=1)


if __name__ == "__main__":
    unittest.main()
