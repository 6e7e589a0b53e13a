"""What the growth is measured by: counters by their labels, connections by who holds them, whole batches."""

import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "scale"))
import log  # noqa: E402
import run  # noqa: E402
import server  # noqa: E402

METRICS = """# TYPE tidegate_requests counter
tidegate_requests_total{door="gateway",action="pass",source="file"} 40
tidegate_requests_total{door="gateway",action="block",source="policy"} 2
tidegate_requests_total{door="dns",action="pass",source="cache"} 100
tidegate_dns_cache_hits_total{cache="the default"} 7
tidegate_dns_cache_hits_total{cache="kids"} 1
tidegate_ledger_stored_total 9
# EOF
"""
# One that listens, one that is held, one that waits to be accepted, one that has ended, and the client's
# ends of two.
TCP = """  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 7001 1 0 100 0 0 10 0
   1: 0100007F:1F90 0100007F:9C40 01 00000000:00000000 00:00000000 00000000     0        0 7002 1 0 20 4 30 10 -1
   2: 0100007F:1F90 0100007F:9C41 01 00000000:00000040 00:00000000 00000000     0        0 0 1 0 20 4 30 10 -1
   3: 0100007F:1F90 0100007F:9C42 06 00000000:00000000 03:00000A00 00000000     0        0 0 3 0
   4: 0100007F:9C40 0100007F:1F90 01 00000000:00000000 00:00000000 00000000     0        0 7003 1 0 20 4 30 10 -1
   5: 0100007F:9C41 0100007F:1F90 01 00000000:00000000 00:00000000 00000000     0        0 7004 1 0 20 4 30 10 -1
"""


class Sizes(unittest.TestCase):
    def test_what_this_machine_cannot_hold_becomes_the_most_that_it_can(self):
        self.assertEqual(run.possible([1, 1000, 20_000], 19_500), [1, 1000, 19_500])
        self.assertEqual(run.possible([1, 1000, 20_000], 39_500), [1, 1000, 20_000])
        self.assertEqual(run.possible([1, 10_000, 20_000], 500), [1, 500])


class Counted(unittest.TestCase):
    def test_a_family_is_summed_over_the_labels_that_are_not_named(self):
        self.assertEqual(server.total(METRICS, "tidegate_requests_total", door="gateway"), 42)
        self.assertEqual(server.total(METRICS, "tidegate_requests_total", door="gateway", action="block"), 2)
        self.assertEqual(server.total(METRICS, "tidegate_dns_cache_hits_total"), 8)
        self.assertEqual(server.total(METRICS, "tidegate_ledger_stored_total"), 9)

    def test_one_name_is_not_the_beginning_of_another(self):
        self.assertEqual(server.total(METRICS, "tidegate_requests"), 0)

    def test_only_connections_that_a_process_holds_are_open(self):
        self.assertEqual(server.accepted(TCP, 0x1F90), 1)
        self.assertEqual(server.accepted(TCP, 0x9C40), 1)
        self.assertEqual(server.accepted(TCP, 80), 0)


class Kept(unittest.TestCase):
    def test_a_cache_that_lost_more_than_a_twentieth_gives_no_figure(self):
        run.check_kept(950, 50, 1000, 1000)
        with self.assertRaisesRegex(RuntimeError, "51 of 1,000 questions were misses: the cache held 940 of 1,000"):
            run.check_kept(949, 51, 1000, 940)
        with self.assertRaises(RuntimeError):
            run.check_kept(0, 0, 1000, 0)

    def test_names_that_are_asked_again_are_all_there_are(self):
        for size in run.SIZES["names"][1]:
            self.assertNotEqual(size % run.STRIDE, 0)
        self.assertEqual({it * run.STRIDE % 1000 for it in range(1000)}, set(range(1000)))


class Batches(unittest.TestCase):
    def test_no_more_rows_are_asked_for_than_are_missing(self):
        for missing in (1, 1000, 9000, 90_000, 12_345, 9_000_000):
            lines, times = log.batch(missing)
            self.assertTrue(1 <= lines <= log.NAMES_LOGGED and times >= 1)
            self.assertTrue(missing - log.NAMES_LOGGED < lines * times <= missing)


if __name__ == "__main__":
    unittest.main()
