"""Without the compare pack, or a part of it, rows are grey and say what is missing; nothing fails."""

import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

FOLDER = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(FOLDER))
from report import page, readers  # noqa: E402

# Behind, and later: that folder has a report of its own.
sys.path.append(str(FOLDER / "dns"))
import own  # noqa: E402
import pack  # noqa: E402

MACHINE = {"date": "2026-11-22", "processor": "x", "cores": 2, "kernel": "6", "commit": "c"}


class Grey(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        elsewhere = mock.patch.object(pack, "PACK", self.folder)
        elsewhere.start()
        self.addCleanup(elsewhere.stop)

    def test_every_row_of_a_pack_that_is_not_there_says_so(self):
        rows = pack.scenarios()
        self.assertEqual(len(rows), len(pack.ROWS))
        for row in rows:
            self.assertIn(f"not at hand: {self.folder}/", row.lacking)
            self.assertIn("PACK names the folder", row.lacking)

    def test_a_row_whose_files_are_there_is_asked(self):
        (self.folder / "queries").mkdir()
        (self.folder / "queries/local-answers.txt").write_text("bench.local A\n")
        (self.folder / "06-local-answers.yaml").touch()
        rows = {it.name: it for it in pack.scenarios()}
        self.assertEqual(rows["06"].lacking, "")
        self.assertEqual([it.records for it in rows["06"].questions], [{"192.0.2.10"}])
        self.assertIn("queries/forward.txt", self.lacking_of("01-baseline-udp-forward.yaml", "01"))

    def lacking_of(self, file, name):
        (self.folder / file).touch()
        return next(it.lacking for it in pack.scenarios() if it.name == name)

    def test_of_our_own_only_those_made_of_its_names_are_grey(self):
        rows = own.scenarios(["hit", "local", "set", "patterns", "trace"], self.folder)
        self.assertEqual([it.name for it in rows if it.lacking], ["set", "patterns", "trace"])
        self.assertTrue(all(it.title for it in rows))

    def test_the_report_shows_a_grey_row_with_its_reason(self):
        why = pack.scenarios()[0].lacking
        entry = {"name": "01", "title": "forward", "kind": "load", "level": 0, "servers": {}, "absent": {"tidegate": why}}
        text = page.page([readers.dns({"machine": MACHINE, "entries": [entry]})], MACHINE)
        self.assertIn("PACK names the folder", text)
        self.assertIn('class="absent"', text)


if __name__ == "__main__":
    unittest.main()
