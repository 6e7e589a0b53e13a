"""What the endurance run calls lost and grown: each of its verdicts can fail, and does not for nothing."""

import importlib.util
import socket
import sys
import threading
import unittest
from pathlib import Path
from types import SimpleNamespace

FOLDER = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(FOLDER))
import report  # noqa: E402, F401 the folder dns has one of its own, and this one must be found first

sys.path.append(str(FOLDER / "soak"))
# By its path: other benchmarks have a run, too.
SPEC = importlib.util.spec_from_file_location("soak_run", FOLDER / "soak/run.py")
soak = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(soak)
doors = soak.doors


def samples(memory=(100,) * 8, descriptors=(50,) * 8, threads=(9,) * 8):
    return [{"memory": a, "descriptors": b, "threads": c} for a, b, c in zip(memory, descriptors, threads, strict=True)]


def client(door="dns", answered=1000, lost=()):
    return SimpleNamespace(door=door, answered=answered, lost=list(lost))


def verdicts(found=None, troubles=(), clients=None):
    """The state of every row by its name."""
    rows = soak.judged(found or samples(), {"reload": 3}, list(troubles), clients or [client()])
    return {row["name"]: row["marks"][0]["state"] for row in rows}


def late(before, after):
    """Eight samples that have `before` in the second quarter and `after` in the last."""
    return (before,) * 6 + (after,) * 2


class Grown(unittest.TestCase):
    def test_the_second_quarter_is_compared_with_the_last(self):
        found = samples(memory=(1, 2, 30, 32, 500, 600, 70, 74))
        self.assertEqual(soak.grown(found, "memory"), (31, 72))

    def test_a_run_of_a_few_samples_has_a_verdict_as_well(self):
        self.assertEqual(soak.grown(samples((5,), (1,), (1,)), "memory"), (5, 5))
        self.assertEqual(soak.grown(samples((5, 7), (1, 1), (1, 1)), "memory"), (7, 7))

    def test_what_starting_needs_is_no_growth(self):
        self.assertEqual(verdicts(samples(memory=(1, 1) + (100,) * 6))["held-memory"], "pass")

    def test_memory_has_grown_where_both_bounds_are_passed(self):
        self.assertEqual(verdicts(samples(memory=late(200, 240)))["held-memory"], "miss")

    def test_a_large_share_of_little_and_a_small_share_of_much_are_no_growth(self):
        self.assertEqual(verdicts(samples(memory=late(10, 10 + soak.GROWTH_MB_LEAST)))["held-memory"], "pass")
        self.assertEqual(verdicts(samples(memory=late(1000, 1100)))["held-memory"], "pass")

    def test_descriptors_and_threads_have_grown_above_their_bound_and_not_at_it(self):
        for key in ("descriptors", "threads"):
            at, above = (samples(**{key: late(50, 50 + soak.DESCRIPTORS_MORE_MAX + more)}) for more in (0, 1))
            self.assertEqual(verdicts(at)[f"held-{key}"], "pass")
            self.assertEqual(verdicts(above)[f"held-{key}"], "miss")
            others = {name for name, state in verdicts(above).items() if state == "miss"}
            self.assertEqual(others, {f"held-{key}"})

    def test_what_shrinks_has_not_grown(self):
        self.assertEqual(set(verdicts(samples(late(500, 100), late(500, 10), late(90, 9))).values()), {"pass"})


class Lost(unittest.TestCase):
    def test_a_run_without_losses_passes_in_every_row(self):
        found = verdicts(clients=[client(door) for door in doors.DOORS])
        self.assertEqual(set(found.values()), {"pass"})
        self.assertEqual(len(found), len(doors.DOORS) + 4)

    def test_one_lost_answer_fails_its_door_and_no_other(self):
        clients = [client(door, lost=["12:00 proxy: refused"] * (door == "proxy")) for door in doors.DOORS]
        self.assertEqual([name for name, state in verdicts(clients=clients).items() if state == "miss"], ["lost-proxy"])
        row = next(it for it in soak.judged(samples(), {}, [], clients) if it["name"] == "lost-proxy")
        self.assertEqual((row["marks"][0]["said"], row["servers"]["tidegate"]["values"]), ("12:00 proxy: refused", [1]))

    def test_a_client_that_never_asked_has_shown_nothing(self):
        self.assertEqual(verdicts(clients=[client(answered=0)])["lost-dns"], "miss")

    def test_a_command_that_went_wrong_fails(self):
        self.assertEqual(verdicts(troubles=["reload: no"])["commands"], "miss")
        self.assertEqual(verdicts()["commands"], "pass")


class Asked(unittest.TestCase):
    def test_an_answer_cut_short_is_lost_and_ends_no_client(self):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
            server.bind(("127.0.0.1", 0))
            one = doors.Client("dns", SimpleNamespace(ports={"dns": server.getsockname()[1]}), 0)

            def answer():
                for is_last in (False, True):  # to the question, and to its repetition
                    asker = server.recvfrom(4096)[1]
                    if is_last:
                        one.is_over.set()
                    server.sendto(b"\0", asker)
            thread = threading.Thread(target=answer)
            thread.start()
            one.run()
            thread.join()
        one.close()
        self.assertEqual(len(one.lost), 1)
        self.assertIn("dns: ", one.lost[0])


if __name__ == "__main__":
    unittest.main()
