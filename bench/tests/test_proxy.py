"""What is said of slow readers must follow from what each has got and from what the origin has sent; an answer by
policy counts only where it is one."""

import importlib.util
import socket
import sys
import tempfile
import threading
import unittest
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

BENCH = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(BENCH))
import method  # noqa: E402
from report import readers  # noqa: E402


def module(name):
    """One of bench/proxy, by its path: other benchmarks have cases and servers, too."""
    spec = importlib.util.spec_from_file_location(name, BENCH / "proxy" / f"{name}.py")
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


blocked = module("blocked")
slow_readers = module("slow_readers")
LENGTH = 100_000


def reader(got, is_dropped=False):
    return SimpleNamespace(got=got, length=LENGTH, is_dropped=is_dropped)


class Figures(unittest.TestCase):
    def test_who_fetches_every_byte_once_has_one_and_nobody_dropped(self):
        found = slow_readers.figures([reader(LENGTH)] * 4, 4 * LENGTH, 50.0)
        self.assertEqual(found, {"refetch": 1.0, "drops": 0, "read": 1.0, "seconds": 50.0})

    def test_those_that_were_stopped_are_a_share_and_no_error(self):
        found = slow_readers.figures([reader(LENGTH // 4)] * 4, 9 * LENGTH, 150.0)
        self.assertEqual((found["refetch"], found["read"], found["drops"]), (9.0, 0.25, 0))

    def test_the_dropped_are_counted_and_what_they_did_not_get_flatters_nobody(self):
        found = slow_readers.figures([reader(LENGTH), reader(0, is_dropped=True)], LENGTH, 50.0)
        self.assertEqual((found["refetch"], found["read"], found["drops"]), (1.0, 0.5, 1))

    def test_nothing_read_is_nothing_told(self):
        with self.assertRaisesRegex(RuntimeError, "got nothing"):
            slow_readers.figures([reader(0, is_dropped=True)], LENGTH, 1.0)

    def test_a_reader_sleeps_ahead_and_never_backwards(self):
        self.assertAlmostEqual(slow_readers.seconds_ahead(slow_readers.PACE, 0.25), 0.75)
        self.assertEqual(slow_readers.seconds_ahead(slow_readers.PACE, 3.0), 0.0)

    def test_the_origin_is_read_from_where_its_log_stood(self):
        before, after = "1 200 4096 /small.bin?1\n", "2 200 700 /large.bin?1\n3 206 300 /large.bin?1\n"
        with tempfile.TemporaryDirectory() as name, mock.patch.object(slow_readers, "LOOK_SECONDS", 0):
            log = Path(name) / "origin.log"
            log.write_text(before + after)
            self.assertEqual(slow_readers.sent(log, len(before)), 1000)
            self.assertEqual(slow_readers.sent_at_last(log, 0), 5096)

    def test_the_report_says_share_drops_and_memory_and_has_a_mark(self):
        one = {"refetch": 1.0, "drops": 0, "read": 1.0, "seconds": 50.2, "peak_mib": 54.0, "busy": 0.4}
        peer = {**one, "refetch": 8.9, "read": 0.314, "seconds": 150.0, "busy": 0.97}
        entry = {"name": "slow-readers", "title": "t", "key": "refetch", "pairs": 0, "absent": {},
                 "servers": {"tidegate 400KiB": [one], "polipo 800kB": [peer]}}
        row = readers.proxy({"entries": [entry], "tables": []})["rows"][0]
        self.assertEqual(row["servers"]["tidegate 400KiB"]["note"], "100.0% read in 50 s · 0 dropped · 54 MiB resident")
        self.assertEqual(method.reading_in_words(peer), "31.4% read in 150 s (the client was full: 97%)")
        self.assertEqual(row["marks"], [{"state": "pass", "said": "1.000, wanted at most 1.005 times fetched"}])
        entry["servers"]["tidegate 400KiB"] = [{**one, "refetch": 1.01}]
        row = readers.proxy({"entries": [entry], "tables": []})["rows"][0]
        self.assertEqual(row["marks"][0]["state"], "miss")


class Reading(unittest.TestCase):
    def read(self, body, stop=False):
        """A reader of LENGTH bytes, of a server that sends `body` of them and closes, or waits to be stopped."""
        with socket.create_server(("127.0.0.1", 0)) as listener:
            one = slow_readers.Reader(SimpleNamespace(host="127.0.0.1", port=listener.getsockname()[1]),
                                      "http://origin.example/large.bin", LENGTH, 10)
            one.start()
            client, _ = listener.accept()
            with client:
                client.recv(4096)
                client.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % LENGTH + bytes(body))
                if stop:
                    one.stop()
                    one.join(10)
            one.join(10)
        self.assertFalse(one.is_alive())
        return one.got, one.is_dropped

    def test_one_that_gets_all_of_it_was_not_dropped(self):
        self.assertEqual(self.read(LENGTH), (LENGTH, False))

    def test_one_that_is_cut_off_was_dropped(self):
        self.assertEqual(self.read(LENGTH - 1), (LENGTH - 1, True))

    def test_one_that_is_stopped_was_not(self):
        got, is_dropped = self.read(LENGTH // 2, stop=True)
        self.assertLess(got, LENGTH)
        self.assertFalse(is_dropped)

    def test_those_that_are_left_at_a_limit_are_stopped(self):
        for until, resident in ((0.0, 1), (float("inf"), slow_readers.RESIDENT_BYTES_MAX + 1)):
            one, ended = mock.Mock(), threading.Event()
            one.is_alive.side_effect = lambda ended=ended: not ended.is_set()
            one.stop.side_effect = ended.set
            proxy = SimpleNamespace(resident_bytes=lambda resident=resident: resident)
            self.assertEqual(slow_readers.watch(proxy, [one], until), resident)
            one.stop.assert_called_once()


class Blocked(unittest.TestCase):
    def complaint(self, status=403, fetched=0, **figures):
        every = {"count": 900, "refused": 900 if status >= 400 else 0, "cut": 0, **figures}
        return blocked.complaint(blocked.Answer(status, 43, True), every, fetched)

    def test_a_refusal_and_a_null_answer_are_right_where_every_one_is(self):
        self.assertEqual(self.complaint(403), "")
        self.assertEqual(self.complaint(200), "")

    def test_one_answer_of_another_kind_fails_the_run(self):
        self.assertIn("899 of 900 refused", self.complaint(403, refused=899))
        self.assertIn("1 of 900 refused", self.complaint(200, refused=1))
        self.assertEqual(self.complaint(403, cut=2), "2 cut off")

    def test_what_the_origin_was_asked_for_or_answered_is_no_answer_by_policy(self):
        self.assertIn("asked 3 times", self.complaint(403, fetched=3))
        for status in (404, 502):
            self.assertIn(f"answered with {status}", self.complaint(status))

    def asked(self, *answers):
        """What is said of a proxy that gives these answers on one connection."""
        with socket.create_server(("127.0.0.1", 0)) as listener:
            def serve():
                client, _ = listener.accept()
                with client:
                    for answer in answers:
                        client.recv(4096)
                        client.sendall(answer)

            serving = threading.Thread(target=serve, daemon=True)
            serving.start()
            try:
                return blocked.ask(SimpleNamespace(host="127.0.0.1", port=listener.getsockname()[1]), "http://localhost/ad.gif")
            finally:
                serving.join(10)

    def test_a_connection_that_stays_is_asked_twice(self):
        gif = b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nGIF"
        page = b"HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno"
        self.assertEqual(self.asked(gif, page), (403, 2, True))

    def test_one_that_is_closed_is_said_so(self):
        self.assertEqual(self.asked(b"HTTP/1.0 403 Filtered\r\nConnection: close\r\n\r\nno"), (403, 2, False))


if __name__ == "__main__":
    unittest.main()
