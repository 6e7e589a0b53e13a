"""The one command: what it starts, what it keeps of a run, what it compares."""

import importlib.machinery
import importlib.util
import json
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

BENCH = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(BENCH))
import sheet  # noqa: E402

LOADER = importlib.machinery.SourceFileLoader("bench_run", str(BENCH / "run"))
bench = importlib.util.module_from_spec(importlib.util.spec_from_loader("bench_run", LOADER))
LOADER.exec_module(bench)

MACHINE = {"date": "2026-11-22", "processor": "x", "cores": 2, "kernel": "6", "commit": "c"}


def data(ours):
    row = sheet.row("pass", "pass", "µs")
    sheet.measured(row, "tidegate", ours)
    sheet.measured(row, "nginx", 10.0)
    return {"bench": "gateway", "rows": [row]}


class Rounds(unittest.TestCase):
    def test_every_benchmark_that_takes_rounds_gets_them(self):
        options = bench.arguments(["--rounds", "2"])
        for name in bench.BENCHES:
            self.assertEqual(bench.command_of(name, options)[1:], ["--rounds", 2])

    def test_without_a_number_each_has_its_own(self):
        options = bench.arguments([])
        self.assertEqual(bench.command_of("browser", options)[1:], ["--rounds", 20])
        self.assertEqual(bench.fewer(options), "")
        quick = bench.arguments(["--quick"])
        self.assertEqual(bench.command_of("gateway", quick)[1:], ["--quick"])

    def test_fewer_than_usual_is_said_and_more_is_not(self):
        self.assertEqual(bench.fewer(bench.arguments(["pixel", "web", "--rounds", "3"])), "rounds: 3, in place of pixel 5")
        self.assertEqual(bench.fewer(bench.arguments(["pixel", "web", "--rounds", "9"])), "")

    def test_rounds_are_of_a_whole_run(self):
        for words in (["--rounds", "0"], ["--rounds", "2", "--quick"], ["--rounds", "2", "--report-only"]):
            with mock.patch("sys.stderr"), self.assertRaises(SystemExit):
                bench.arguments(words)


class Absent(unittest.TestCase):
    def test_lists_that_are_not_there_are_no_error(self):
        options = bench.arguments(["engines"])
        with tempfile.TemporaryDirectory() as name, mock.patch.dict("os.environ", LISTS=name), \
                mock.patch.object(bench.subprocess, "run") as run, mock.patch("builtins.print"):
            failed, left_out = bench.measure(options)
        run.assert_not_called()
        self.assertEqual(failed, [])
        self.assertIn("easylist.txt and easyprivacy.txt in", left_out["engines"])
        self.assertIn("LISTS names the folder", bench.page.page([], MACHINE, left_out))

    def test_lists_of_ones_own_are_taken(self):
        with tempfile.TemporaryDirectory() as name, mock.patch.dict("os.environ", LISTS=name), \
                mock.patch.object(bench.shutil, "which", return_value="cargo"):
            for file in ("easylist.txt", "easyprivacy.txt"):
                (Path(name) / file).touch()
            self.assertEqual(bench.lacking("engines"), "")
            self.assertEqual(bench.command_of("engines", bench.arguments(["engines"]))[-1], Path(name))

    def test_what_needs_no_data_runs(self):
        self.assertEqual([bench.lacking(it) for it in ("dns", "web", "edge")], ["", "", ""])


class History(unittest.TestCase):
    def test_a_line_says_its_rounds_where_they_were_given(self):
        self.assertEqual(bench.summary([data(8.0)], MACHINE, 2)["rounds"], 2)
        self.assertNotIn("rounds", bench.summary([data(8.0)], MACHINE))

    def test_a_run_of_few_rounds_is_compared_as_any(self):
        with tempfile.TemporaryDirectory() as name, mock.patch.object(bench, "HISTORY", Path(name) / "runs.jsonl"):
            bench.HISTORY.write_text(json.dumps(bench.summary([data(8.0)], MACHINE, 1)) + "\n")
            self.assertEqual(bench.since_last(bench.summary([data(8.5)], MACHINE)), [])
            self.assertEqual(bench.since_last(bench.summary([data(12.0)], MACHINE)),
                             ["gateway/pass/µs: 0.80 × the best peer before, 1.20 × now"])


if __name__ == "__main__":
    unittest.main()
