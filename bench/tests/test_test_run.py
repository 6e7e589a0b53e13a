"""What `tests/run.py` makes of the lines of a test run, and of tests that fail once."""

import contextlib
import importlib.util
import io
import stat
import tempfile
import unittest
from pathlib import Path

# By its path: another module here is called `run`.
PROGRAM = Path(__file__).resolve().parents[2] / "tests" / "run.py"
SPEC = importlib.util.spec_from_file_location("test_run", PROGRAM)
test_run = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(test_run)

# A `cargo test` of one binary whose test `a::late` fails at first, and alone too unless told otherwise.
CARGO = """#!/bin/sh
case "$*" in
*--exact*) [ {alone} = ok ] && {{
    echo 'test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 9 filtered out; finished in 0.01s'; exit 0; }};;
esac
echo 'test a::late ... FAILED'
echo 'failures:'; echo; echo '---- a::late stdout ----'; echo '    indented'; echo
echo 'failures:'; echo '    a::late'; echo
[ {ends} = crash ] ||
echo 'test result: FAILED. 9 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s'
echo 'error: 1 target failed:'; echo '    `-p a --test it`'
exit 101
"""


class Slowest(unittest.TestCase):
    def test_a_test_takes_what_lies_between_its_line_and_the_one_before(self):
        clock = iter([0.0, 1.0, 3.0, 9.0, 9.5])
        lines = ["running 3 tests\n", "test a::one ... ok\n", "test a::two ... FAILED\n", "test result: FAILED\n"]
        found = test_run.slowest_tests(lines, lambda: next(clock))
        self.assertEqual(found, [(6.0, "a::two"), (2.0, "a::one")])

    def test_ten_are_named(self):
        seconds = iter(range(100))
        lines = [f"test number_{number} ... ok\n" for number in range(20)]
        self.assertEqual(len(test_run.slowest_tests(lines, lambda: next(seconds))), 10)

    def test_binaries_are_told_by_their_crate(self):
        lines = [
            "     Running unittests src/lib.rs (target/debug/deps/policy-0123456789abcdef)\n",
            "test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.50s\n",
            "     Running tests/it/main.rs (target/debug/deps/it-0123456789abcdef)\n",
            "test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 13.21s\n",
        ]
        found = test_run.slowest_binaries(lines)
        self.assertEqual(found, [(13.21, "policy tests/it/main.rs"), (0.5, "policy src/lib.rs")])

    def test_only_what_is_not_ok_is_passed_on(self):
        hidden = ["running 2 tests\n", "test a::b ... ok\n", "test c - should panic ... ok\n", "\n"]
        for line in hidden:
            self.assertTrue(test_run.TEST_OK.match(line), line)
        self.assertFalse(test_run.TEST_OK.match("test c ... FAILED\n"))


class SecondRun(unittest.TestCase):
    def ended(self, alone, ends="counted", arguments=("--workspace",)):
        with tempfile.TemporaryDirectory() as folder:
            cargo = Path(folder, "cargo")
            cargo.write_text(CARGO.format(alone=alone, ends=ends))
            cargo.chmod(cargo.stat().st_mode | stat.S_IEXEC)
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                code = test_run.main([str(cargo), "test", *arguments])
            return code, printed.getvalue()

    def test_a_test_that_passes_alone_is_named_as_unsteady(self):
        code, printed = self.ended("ok")
        self.assertEqual(code, 0)
        self.assertIn("unsteady, to be mended: a::late", printed)

    def test_a_test_that_fails_twice_fails_the_run(self):
        code, printed = self.ended("FAILED")
        self.assertEqual(code, 101)
        self.assertIn("once more, alone: a::late", printed)
        self.assertNotIn("unsteady", printed)

    def test_a_process_that_ends_early_has_no_second_run(self):
        code, printed = self.ended("ok", ends="crash")
        self.assertEqual(code, 101)
        self.assertNotIn("once more", printed)

    def test_many_that_fail_have_no_second_run(self):
        outcome = test_run.Outcome()
        lines = ["failures:\n", *(f"    a::number_{number}\n" for number in range(6)), "\n",
                 "test result: FAILED. 0 passed; 6 failed;\n", "    `-p a --lib`\n"]
        for line in lines:
            outcome.read(line)
        self.assertEqual(len(outcome.failed), 6)
        self.assertFalse(outcome.deserves_a_second_run())

    def test_what_is_meant_for_the_binaries_stays_behind_the_dashes(self):
        command = ["cargo", "test", "-p", "a", "--", "--test-threads=1"]
        self.assertEqual(
            test_run.cargo_arguments(command, ["--exact", "a::b"]),
            ["cargo", "test", "-p", "a", "--no-fail-fast", "--", "--test-threads=1", "--exact", "a::b"],
        )


if __name__ == "__main__":
    unittest.main()
