"""The report says what the sheets hold: grey columns, marks, the reference beside ours, and no more."""

import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import sheet  # noqa: E402
from report import page, published, readers  # noqa: E402

MACHINE = {"date": "2026-11-22", "processor": "x", "cores": 2, "kernel": "6", "commit": "c"}


def data():
    row = sheet.row("pass", "pass <small>", "µs")
    for value in (8.0, 8.1, 8.2):
        sheet.measured(row, "tidegate", value, "9/s", 0.97)
        sheet.measured(row, "nginx", value + 4)
    sheet.left_out(row, "squid", "does not start")
    sheet.wanted(row, 0.85, ("nginx",))
    return {"bench": "gateway", "title": "The gateway", "question": "?", "machine": MACHINE, "versions": {"nginx": "1.22"},
            "missing": ["perlbal"], "rows": [row], "plots": [
                {"title": "growth", "levels": [], "series": {"a": [[10, 1], [1000, 2]]}, "x": "n", "y": "µs", "log": True}]}


class Page(unittest.TestCase):
    def test_a_missing_peer_is_a_grey_column_and_a_failed_one_says_why(self):
        text = page.page([data()], MACHINE)
        self.assertIn("<th>perlbal</th>", text)
        self.assertIn("not at hand", text)
        self.assertIn("does not start", text)

    def test_what_servers_say_is_text_and_nothing_is_loaded_from_elsewhere(self):
        text = page.page([data()], MACHINE)
        self.assertIn("pass &lt;small&gt;", text)
        self.assertNotIn("src=", text)
        self.assertNotIn("@import", text)

    def test_the_reading_counts_and_names_the_full_client(self):
        said = page.reading(data())
        self.assertIn("ahead of the best of them in 1", said)
        self.assertIn("the client had nothing left to give", said)

    def test_the_best_peer_is_judged_not_the_floor(self):
        row = data()["rows"][0]
        sheet.measured(row, "null", 1.0)
        self.assertEqual(page.compared(row)[1], "nginx")

    def test_a_growth_of_one_size_is_drawn(self):
        found = data()
        found["plots"][0]["series"] = {"a": [[10, 5]]}
        self.assertIn("<circle", page.page([found], MACHINE))


class Readers(unittest.TestCase):
    def test_a_row_of_the_pack_has_the_published_rates_beside_it(self):
        one = {"cpu_us": 5.0, "per_second": 9e4, "mean_us": 8, "jitter_us": 1, "lost": 0, "resident_mb": 40}
        found = readers.dns({"entries": [{"name": "02", "title": "hit", "kind": "load", "level": 0,
                                          "servers": {"tidegate": [one]}, "absent": {"oxidns": "not at hand"}}]})
        self.assertIn("ForgeDNS 139,134", found["rows"][1]["published"])
        self.assertEqual(found["missing"], readers.PEERS["dns"])

    def test_every_level_of_the_web_tables_is_a_row(self):
        rates = [5.0] * len(published.WEB_CLIENTS)
        found = readers.web({"entries": [], "tables": [{"name": "index", "title": "t", "rates": {"nginx": rates}}]})
        self.assertEqual(len(found["rows"]), 6)
        self.assertIn("Caddy 2.7.6 30,631", found["rows"][-1]["published"])

    def test_the_crawls_have_polipos_figures(self):
        self.assertIn("Polipo 4.5", published.proxy_seconds("dynamic", 2))


if __name__ == "__main__":
    unittest.main()
