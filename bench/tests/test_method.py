"""What the instrument says must follow from the figures: medians, ties, marks, the full client."""

import argparse
import os
import sys
import unittest
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import method  # noqa: E402
import process  # noqa: E402


class Order(unittest.TestCase):
    def test_every_server_is_measured_once_a_round_and_each_begins_once(self):
        found = list(method.turns(["a", "b", "c"], 3))
        self.assertEqual(found[:6], [(0, "a"), (0, "b"), (0, "c"), (1, "b"), (1, "c"), (1, "a")])
        self.assertEqual(sorted(found), sorted((n, s) for n in range(3) for s in "abc"))

    def test_nobody_to_measure_is_no_round(self):
        self.assertEqual(list(method.turns([], 3)), [])

    def test_pairs_change_sides(self):
        self.assertEqual(list(method.abba(3)), [("a", "b"), ("b", "a"), ("a", "b")])


    def asked(self, *words):
        parser = argparse.ArgumentParser()
        method.add_order(parser)
        return parser.parse_args(words)

    def test_one_option_makes_pairs_of_rounds(self):
        both = ["ours", "theirs"]
        self.assertEqual(list(method.order(both, self.asked("--rounds", "2"))), list(method.turns(both, 2)))
        self.assertEqual(list(method.order(both, self.asked("--pairs", "2"))),
                         [(0, "ours"), (0, "theirs"), (1, "theirs"), (1, "ours")])
        self.assertEqual(list(method.order(["ours"], self.asked("--pairs", "2"))), [])

    def test_pairs_are_of_two(self):
        every = ["ours", "theirs", "others"]
        self.assertEqual(method.chosen(every, self.asked()), every)
        self.assertEqual(method.chosen(every, self.asked("--pairs", "5", "--servers", "others,ours")), ["ours", "others"])
        for words in ((), ("--servers", "ours"), ("--servers", "ours,absent")):
            with self.assertRaisesRegex(SystemExit, "compares two"):
                method.chosen(every, self.asked("--pairs", "5", *words))


class Verdicts(unittest.TestCase):
    def test_a_difference_below_the_tie_share_is_a_tie(self):
        self.assertEqual(method.verdict([10.0, 10.1, 10.2], [10.4, 10.5, 10.6]), "tie")

    def test_overlapping_spreads_that_differ_little_are_a_tie(self):
        self.assertEqual(method.verdict([9, 10, 12], [10, 10.8, 11]), "tie")

    def test_who_spends_less_is_ahead(self):
        self.assertEqual(method.verdict([7, 8, 8], [10, 10, 11]), "ahead, 20%")
        self.assertEqual(method.verdict([7, 8, 8], [10, 10, 11], better="more"), "behind, 20%")

    def test_a_wide_spread_is_said(self):
        self.assertEqual(method.verdict([5, 8, 12], [9, 11, 13]), "ahead, 27%, spreads overlap")

    def test_twice_and_more_is_said_in_times(self):
        self.assertEqual(method.verdict([10], [35]), "ahead, 3.5 ×")

    def test_nothing_is_compared_with_nothing(self):
        self.assertEqual(method.verdict([10], []), "not compared")
        self.assertEqual(method.verdict([10], [0.0]), "not compared")
        self.assertEqual(method.verdict([0], [12]), "ours is 0")


class Marks(unittest.TestCase):
    def test_the_best_peer_counts(self):
        found = method.mark([8.0], {"nginx": [10.0], "haproxy": [9.0]}, 0.85)
        self.assertEqual(found, {"state": "miss", "said": "0.89 × haproxy, wanted at most 0.85"})

    def test_a_mark_without_peers_stays_open(self):
        self.assertEqual(method.mark([8.0], {"nginx": []}, 0.85)["state"], "open")

    def test_more_can_be_better(self):
        self.assertEqual(method.mark([300], {"squid": [100]}, 2, "more")["state"], "pass")


class Pairs(unittest.TestCase):
    def test_a_small_steady_difference_is_seen_through_a_large_drift(self):
        first = [10, 14, 9, 18, 11, 13, 16]
        pair = method.paired(first, [it * 0.97 for it in first])
        self.assertAlmostEqual(pair["ratio"], 0.97)
        self.assertEqual(method.paired_verdict(pair), "3.0% less")

    def test_noise_is_a_tie(self):
        pair = method.paired([10, 11, 9, 10, 12, 10], [11, 10, 10, 9, 12, 10])
        self.assertEqual(method.paired_verdict(pair), "tie")

    def test_pairs_that_are_not_whole_are_not_told(self):
        whole = [1.0] * 6
        self.assertEqual(method.pair_in_words(("a", [2.0] * 6), ("b", whole), 6),
                         "a to b by pairs 2.000 (2.000-2.000): 100.0% more")
        for first, second, pairs in ((whole[:5], whole, 6), (whole, [], 6), (whole, whole, 0), ([0.0] * 6, whole, 6)):
            self.assertEqual(method.pair_in_words(("a", first), ("b", second), pairs), "")

    def test_few_pairs_say_nothing(self):
        self.assertIn("too few", method.paired_verdict(method.paired([1, 1], [2, 2])))


class Clients(unittest.TestCase):
    def test_a_full_client_is_said(self):
        self.assertEqual(method.rate_in_words(31234.4, 0.97), "at least 31,234/s (the client was full: 97%)")
        self.assertEqual(method.rate_in_words(31234.4, 0.6), "31,234/s")
        self.assertFalse(method.is_client_bound(None))

    def test_a_round_that_tells_nothing_of_its_client_is_left_out(self):
        rounds = [{"per_second": 900.0}, {"per_second": 1000.0, "busy": 0.99}, {"per_second": 1100.0, "busy": 0.96}]
        self.assertEqual(method.rate_of(rounds), "at least 1,000/s (the client was full: 98%)")
        self.assertEqual(method.rate_of(rounds[:1]), "900/s")

    def test_the_lower_of_two_rates_must_not_be_its_clients(self):
        self.assertFalse(method.is_told([900], [1000], 0.99, 0.5, "more"))
        self.assertFalse(method.is_told([1000], [900], 0.5, 0.99, "more"))
        self.assertTrue(method.is_told([1000], [900], 0.99, 0.5, "more"))
        self.assertTrue(method.is_told([9], [10], 0.99, 0.99, "less"))

    def test_a_generator_is_as_busy_as_its_busiest_thread(self):
        self.assertAlmostEqual(process.busiest({"1": 0.0, "2": 3.9, "3": 2.0}, 4.0, 5.9, 4.2), 0.975)
        self.assertAlmostEqual(process.busiest({"1": 1.0}, 2.0, 4.0, 4.2), 4.0 / 4.2)
        self.assertAlmostEqual(process.busiest({}, 0.0, 0.1, 0.2), 0.5)

    def test_a_generator_is_told_whole_however_often_it_is_looked_at(self):
        with mock.patch.object(process, "LOOK_SECONDS", 0.001):
            done, busy = process.generate([sys.executable, "-c", "print(sum(range(300000)))"])
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "44999850000\n", ""))
        self.assertTrue(0 < busy)
        self.assertIn(str(os.getpid()), process.threads_seconds(os.getpid()))

    def test_servers_get_one_half_with_a_worker_each_and_origins_the_other(self):
        class Origin(process.Process):
            side = "client"

        with mock.patch.object(method, "ALLOWED", [2, 3, 5, 7]), mock.patch.object(process.subprocess, "Popen") as started:
            process.Process().spawn(["nginx", 80])
            Origin().spawn(["origin"])
            self.assertEqual(method.workers(), 2)
        self.assertEqual([it.args[0] for it in started.call_args_list],
                         [["taskset", "-c", "2,3", "nginx", "80"], ["taskset", "-c", "5,7", "origin"]])
        with mock.patch.object(method, "ALLOWED", [2, 3]), mock.patch.object(process.subprocess, "Popen") as started:
            process.Process().spawn(["nginx", 80])
            self.assertEqual(method.workers(), 2)
        self.assertEqual(started.call_args.args[0], ["nginx", "80"])

    def test_a_benchmark_stands_aside_only_where_there_is_room(self):
        for allowed, wanted in (([2, 3, 5, 7], [mock.call(0, [5, 7])]), ([2, 3], [])):
            with mock.patch.object(method, "ALLOWED", allowed), mock.patch.object(method.os, "sched_setaffinity") as moved:
                method.stand_aside()
            self.assertEqual(moved.call_args_list, wanted)

    def test_two_processors_are_shared_and_more_are_halved(self):
        self.assertEqual(method.pinning(2), (None, None))
        self.assertEqual(method.pinning(4), ([0, 1], [2, 3]))


class Growth(unittest.TestCase):
    def test_the_slope_of_a_line_and_of_nothing(self):
        self.assertAlmostEqual(method.exponent([10, 100, 1000], [1, 10, 100]), 1)
        self.assertAlmostEqual(method.exponent([10, 100, 1000], [5, 5, 5]), 0)
        self.assertIsNone(method.exponent([10], [5]))

    def test_growth_has_a_word(self):
        said = [method.growth_in_words(it) for it in (-0.2, 0.01, 0.2, 0.5, 1.0, 2.0, None)]
        self.assertEqual(said, ["falls", "flat", "nearly flat", "slower than linear", "linear", "faster than linear",
                                "too few points"])


if __name__ == "__main__":
    unittest.main()
