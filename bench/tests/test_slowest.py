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
        found = slowest.slowest_tests(lines, lambda: next(clock))
        self.assertEqual(found, [(6.0, "a::two"), (2.0, "a::one")])

    def test_ten_are_named(self):
        seconds = iter(range(100))
        lines = [f"test number_{number} ... ok\n" for number in range(20)]
        self.assertEqual(len(slowest.slowest_tests(lines, lambda: next(seconds))), 10)

    def test_binaries_are_told_by_their_crate(self):
        lines = [
            "     Running unittests src/lib.rs (target/debug/deps/policy-0123456789abcdef)\n",
            "test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.50s\n",
            "     Running tests/it/main.rs (target/debug/deps/it-0123456789abcdef)\n",
            "test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 13.21s\n",
        ]
        found = slowest.slowest_binaries(lines)
        self.assertEqual(found, [(13.21, "policy tests/it/main.rs"), (0.5, "policy src/lib.rs")])

    def test_only_what_is_not_ok_is_passed_on(self):
        hidden = ["running 2 tests\n", "test a::b ... ok\n", "test c - should panic ... ok\n", "\n"]
        for line in hidden:
            self.assertTrue(slowest.TEST_OK.match(line), line)
        self.assertFalse(slowest.TEST_OK.match("test c ... FAILED\n"))


if __name__ == "__main__":
    unittest.main()
