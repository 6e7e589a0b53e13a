"""What `tests/slowest.py` makes of the lines of a test run."""

import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))

import slowest  # noqa: E402


class Slowest(unittest.TestCase):
    def test_a_test_takes_what_lies_between_its_line_and_the_one_before(self):
        clock = iter([0.0, 1.0, 3.0, 9.0, 9.5])
        lines = ["running 3 tests\n", "test a::one ... ok\n", "test a::two ... FAILED\n", "test result: FAILED\n"]
        found = slowest.slowest(lines, lambda: next(clock))
        self.assertEqual(found, [(6.0, "a::two"), (2.0, "a::one")])

    def test_ten_are_named(self):
        seconds = iter(range(100))
        lines = [f"test number_{number} ... ok\n" for number in range(20)]
        self.assertEqual(len(slowest.slowest(lines, lambda: next(seconds))), 10)


if __name__ == "__main__":
    unittest.main()
