"""The report says what the sheets hold: grey columns, marks, the reference beside ours, and no more."""

import json
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import sheet  # noqa: E402
from report import page, published, readers, wanted  # noqa: E402

# Behind all others: names of theirs stand in this folder too.
sys.path += [str(Path(__file__).resolve().parent.parent / folder) for folder in ("dns", "web")]
import cases  # noqa: E402
import pack  # noqa: E402
from tasks import Place  # noqa: E402

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

    def test_a_rate_that_was_the_clients_decides_nothing_where_it_is_the_lower_one(self):
        found = data()
        row = sheet.row("rate", "answers a second", "answers/s", "more")
        sheet.measured(row, "tidegate", 900, busy=0.99)
        sheet.measured(row, "nginx", 1000, busy=0.4)
        found["rows"] = [row]
        text = page.page([found], MACHINE)
        self.assertIn("client full, nothing is told", text)
        self.assertIn("<b>≥ 900.0</b>", text)
        self.assertIn("the client was full: 99%", text)
        row["servers"]["tidegate"]["busy"] = [0.4]
        self.assertIn("behind, 10%", page.page([found], MACHINE))

    def test_where_servers_and_clients_ran_is_said_in_words(self):
        found = data()
        found["machine"] = {**MACHINE, "pinning": "none: servers and clients share the processors"}
        self.assertIn("Pinning: none: servers and clients share the processors.", page.reading(found))

    def test_the_best_peer_is_judged_not_the_floor(self):
        row = data()["rows"][0]
        sheet.measured(row, "null", 1.0)
        sheet.measured(row, "null (computes 5 µs)", 1.5)
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
        self.assertIn("ForgeDNS 139,134 in 0.637 ms", found["rows"][1]["published"])
        self.assertEqual(found["rows"][1]["servers"]["tidegate"]["note"], "in 0.008 ms")
        self.assertEqual(found["missing"], readers.PEERS["dns"])

    def test_every_level_of_the_web_tables_is_a_row(self):
        rates = [5.0] * len(published.WEB_CLIENTS)
        found = readers.web({"entries": [], "tables": [{"name": "index", "title": "t", "rates": {"nginx": rates}}]})
        self.assertEqual(len(found["rows"]), 6)
        self.assertIn("Caddy 2.7.6 30,631", found["rows"][-1]["published"])

    def test_a_full_client_of_any_benchmark_is_in_its_row(self):
        round_of = {"cpu_us": 5.0, "per_second": 9000.0, "busy": 0.97}
        told = "at least 9,000/s (the client was full: 97%)"
        entry = {"name": "hit", "title": "t", "key": "cpu_us", "servers": {"tidegate": [round_of]}, "absent": {}}
        for read in (readers.web, readers.proxy, readers.pixel):
            cell = read({"entries": [entry], "tables": []})["rows"][0]["servers"]["tidegate"]
            self.assertEqual((cell["note"], cell["busy"]), (told, [0.97]))
        row = {**round_of, "mean_us": 8, "jitter_us": 1, "lost": 0, "resident_mb": 40}
        rows = readers.dns({"entries": [{"name": "02", "title": "hit", "kind": "load", "level": 0,
                                         "servers": {"tidegate": [row]}, "absent": {}}]})["rows"]
        self.assertEqual([it["servers"]["tidegate"]["busy"] for it in rows], [[], [0.97]])
        table = {"name": "index", "title": "t", "rates": {"nginx": [5.0] * 6}, "busy": {"nginx": [0.9] * 6}}
        self.assertEqual(readers.web({"entries": [], "tables": [table]})["rows"][5]["servers"]["nginx"]["busy"], [0.9])
        table = {"name": "local", "title": "t", "seconds": {"direct": [[1.0]] * 3}, "busy": {"direct": [[0.96]] * 3},
                 "absent": {}}
        self.assertEqual(readers.proxy({"entries": [], "tables": [table]})["rows"][0]["servers"]["direct"]["busy"], [0.96])

    def test_pairs_of_any_benchmark_are_told_and_no_mark(self):
        rounds = {name: [{"cpu_us": 5.0 * share} for _ in range(6)] for name, share in (("tidegate", 0.98), ("nginx", 1))}
        entry = {"name": "hit", "title": "t", "key": "cpu_us", "pairs": 6, "servers": rounds, "absent": {}}
        for read in (readers.web, readers.proxy):
            row = read({"entries": [entry], "tables": []})["rows"][0]
            self.assertIn({"state": "told", "said": "tidegate to nginx by pairs 0.980 (0.980-0.980): 2.0% less"}, row["marks"])
            self.assertIn("tidegate to nginx by pairs", page.verdict_cell(row))
        row = {"mean_us": 8, "jitter_us": 1, "lost": 0, "resident_mb": 40, "per_second": 9e4}
        data = {"name": "hit", "title": "hit", "kind": "load", "level": 0, "pairs": 6, "absent": {},
                "servers": {name: [{**row, **it} for it in found] for name, found in rounds.items()}}
        marks = [[it["state"] for it in row["marks"]] for row in readers.dns({"entries": [data]})["rows"]]
        self.assertIn("told", marks[0])
        self.assertNotIn("told", marks[1])

    def test_the_crawls_have_polipos_figures(self):
        self.assertIn("Polipo 4.5 · Polipo 400 kB the same", published.proxy_seconds("dynamic", 2))
        self.assertTrue(published.proxy_seconds("local", 1).endswith("Polipo 400 kB 5.5"))
        self.assertEqual(published.proxy_seconds("lunar", 1), "")

    def test_pages_are_a_row_for_each_time_and_time_out_of_pixelserv(self):
        modes = ["nxdomain", "pixel", "pixel-learned", "pixelserv-10", "pixelserv-1", "pixelserv-5"]
        rows = [{"page": "blog", "mode": mode, "dcl": 10 + at, "load": 20 + at, "finish": None if at == 0 else 30 + at}
                for at, mode in enumerate(modes)]
        found = readers.browser({"rows": rows})
        self.assertEqual([it["name"] for it in found["rows"]], [
            f"blog-{metric}-{seconds}" for metric in ("dcl", "load", "finish") for seconds in (1, 5, 10)])
        values = {name: it["values"] for name, it in found["rows"][1]["servers"].items()}
        self.assertEqual(values, {"nxdomain": [10], "tidegate": [11], "tidegate learned": [12], "pixelserv-tls": [15]})
        self.assertNotIn("nxdomain", found["rows"][6]["servers"])
        self.assertEqual(found["missing"], [])

    def test_pages_without_pixelserv_are_one_row_for_each_time_and_a_grey_column(self):
        row = {"page": "blog", "mode": "pixel", "dcl": 1, "load": 2, "finish": 3}
        found = readers.browser({"rows": [row]})
        self.assertEqual([it["name"] for it in found["rows"]], ["blog-dcl", "blog-load", "blog-finish"])
        self.assertEqual(found["missing"], ["pixelserv-tls"])
        self.assertIn("10 s for v2", found["rows"][0]["published"])


    def test_pages_and_null_answers_tell_machine_and_versions(self):
        told = {"machine": MACHINE, "versions": {"tidegate": "1", "pixelserv-tls": "2.4", "nginx": "1.22"}}
        for read, data in ((readers.browser, {"rows": []}), (readers.pixel, {"entries": []})):
            found = read({**told, **data})
            self.assertEqual((found["machine"], found["versions"], found["missing"]), (MACHINE, told["versions"], []))


class Wanted(unittest.TestCase):
    @staticmethod
    def entry(name, **cpu):
        return {"name": name, "title": name, "key": "cpu_us", "absent": {},
                "servers": {server: [{"cpu_us": value, "per_second": 1e3}] for server, value in cpu.items()}}

    def marks(self, read, *entries):
        return {row["name"]: [(it["state"], it["said"]) for it in row["marks"]]
                for row in read({"entries": entries, "tables": []})["rows"]}

    def test_a_mark_stands_in_words_beside_its_ratio(self):
        found = readers.proxy({"entries": [self.entry("hit", tidegate=6.1, polipo=10.0),
                                           self.entry("hit-new", tidegate=7.0, polipo=10.0)], "tables": []})
        text = page.page([{**found, "machine": MACHINE}], MACHINE)
        self.assertIn("not reached: 0.61 × polipo, wanted at most 0.6<", text)
        self.assertIn("reached: 0.70 × polipo, wanted at most 0.7<", text)
        self.assertIn("marks not reached", text)

    def test_each_door_has_its_marks_of_its_peers(self):
        self.assertEqual(self.marks(readers.proxy, self.entry("miss", tidegate=5.0, polipo=10.0, squid=1.0)),
                         {"miss": [("pass", "0.50 × polipo, wanted at most 0.5")]})
        self.assertEqual(self.marks(readers.web, self.entry("small-wrk", tidegate=8.0, nginx=10.0, lighttpd=9.0)),
                         {"small-wrk": [("miss", "0.89 × lighttpd, wanted at most 0.85")]})
        self.assertEqual(self.marks(readers.pixel, self.entry("https", tidegate=8.0, **{"pixelserv-tls": 1.0}),
                                    self.entry("http", tidegate=8.0, nginx=1.0, **{"pixelserv-tls": 16.0})),
                         {"https": [("open", "no peer of this mark was measured")],
                          "http": [("pass", "0.50 × pixelserv-tls, wanted at most 0.7")]})

    def dns(self, name, kind, **figures):
        whole = {"mean_us": 8, "jitter_us": 1, "lost": 0, "resident_mb": 40, "per_second": 9e4}
        return {"name": name, "title": name, "kind": kind, "level": 0, "absent": {}, "servers": {
            server: [{**whole, "cpu_us": value, "answered": value}] for server, value in figures.items()}}

    def test_of_names_hits_have_two_marks_and_a_burst_is_answered_whole(self):
        def marks(*entries):
            rows = readers.dns({"entries": entries})["rows"]
            return [[(it["state"], it["said"]) for it in row["marks"]] for row in rows]
        self.assertEqual(marks(self.dns("hit", "load", tidegate=6.0, oxidns=10.0, dnsdist=7.0))[0],
                         [("pass", "0.60 × oxidns, wanted at most 0.62"), ("miss", "0.86 × dnsdist, wanted at most 0.85")])
        self.assertEqual(marks(self.dns("hit", "burst", tidegate=4095)),
                         [[("miss", "4,095, wanted at least 4,096 answers")]])
        self.assertEqual(marks(self.dns("local", "burst", tidegate=4096))[0][0][0], "pass")
        found = [self.dns("06", "sweep", tidegate=1, oxidns=1) for _ in range(2)]
        for level, entry in enumerate(found, 1):
            entry["level"], entry["servers"]["oxidns"][0]["mean_us"] = level, 9
        self.assertEqual(marks(*found), [[("miss", "0.89 × oxidns, wanted at most 0.8")], []])
        both = marks(self.dns("set118k", "load", tidegate=4.0), self.dns("set1m", "load", tidegate=4.5))
        self.assertIn(("miss", "1.12 × ours in set118k, wanted at most 1.1"), both[2])
        self.assertEqual(both[1] + both[3], [])  # the rates of the same have none

    def test_of_files_an_idle_connection_and_the_log_have_bounds_and_gzip_its_size(self):
        idle = {"name": "idle", "title": "idle", "key": "bytes", "absent": {}, "servers": {"tidegate": [{"bytes": 2501}]}}
        self.assertEqual(self.marks(readers.web, idle)["idle"], [("miss", "2,501, wanted at most 2,500 bytes")])
        self.assertEqual(self.marks(readers.web, {**idle, "servers": {}})["idle"][0][0], "open")
        found = self.marks(readers.web, self.entry("small-wrk", tidegate=7.0), self.entry("log-wrk", tidegate=7.7))
        self.assertEqual(found["log-wrk"], [("pass", "1.10 × ours in small-wrk, wanted at most 1.1")])
        gzip = self.entry("gzip-first", tidegate=6.0, nginx=10.0)
        for server, size in (("tidegate", 25_000), ("nginx", 24_000)):
            gzip["servers"][server][0]["bytes"] = size
        found = self.marks(readers.web, gzip)
        self.assertEqual([found["gzip-first"][0][0], found["gzip-size"][0][0]], ["pass", "miss"])

    def test_every_row_that_something_is_wanted_of_is_asked(self):
        self.assertLessEqual({*wanted.SHARES["web"], *wanted.BESIDE["web"], *wanted.BOUNDS["web"]}, set(cases.CASES))
        asked = Path(pack.__file__).read_text() + (Path(pack.__file__).parent / "own.py").read_text()
        for name in {*wanted.SHARES["dns"], *wanted.BESIDE["dns"], *wanted.BOUNDS["dns-burst"]}:
            self.assertIn(f'"{name}"', asked)


class Published(unittest.TestCase):
    def test_every_row_of_forgedns_is_there_and_is_asked_here(self):
        versions = [[name for name, both in published.DNS_RATES.items() if both[at]] for at in (0, 1)]
        self.assertEqual([len(names) for names in versions], [9, 14])
        self.assertEqual(len(published.DNS_LATENCIES), 9)
        asked = Path(pack.__file__).read_text()
        for name in {*published.DNS_RATES, *published.DNS_LATENCIES}:
            self.assertIn(f'"{name}"', asked)

    def test_every_row_of_hinsightd_is_there_and_is_asked_here(self):
        self.assertEqual(published.WEB_CLIENTS, cases.LEVELS)
        self.assertLessEqual(set(published.WEB_KEPT), set(cases.CASES))
        for _, servers, tables in published.WEB_RATES:
            self.assertLessEqual(set(tables), set(cases.TABLES))
            for rows in tables.values():
                self.assertEqual([len(row) for row in rows], [len(servers)] * len(cases.LEVELS))
        self.assertIn("nginx 1.25.2 33,264", published.web_rate("tls", 50))
        self.assertEqual(published.web_rate("index", 100).count("; "), 2)
        self.assertEqual(published.web_rate("index", 60), "")

    def test_an_upstream_over_https_is_dialled_here_and_not_checked(self):
        text = ('        - addr: "https://dns.alidns.com/dns-query"\n          dial_addr: "223.5.5.5"\n'
                '        - addr: "223.5.5.5"\n      listen: "127.0.0.1:5307"\n')
        self.assertEqual(pack.rewrite(text, Place(Path(), 15300, (15390,), 15396)), (
            '        - addr: "https://localhost:15396/dns-query"\n          dial_addr: "127.0.0.1"\n'
            '          insecure_skip_verify: true\n        - addr: "127.0.0.1:15390"\n'
            '      listen: "127.0.0.1:15300"\n'))


class Collected(unittest.TestCase):
    def test_what_an_older_run_has_left_is_not_of_this_one(self):
        with tempfile.TemporaryDirectory() as name, mock.patch.object(sheet, "OUT", Path(name)):
            kept = Path(name) / "sheets" / "gateway.json"
            kept.parent.mkdir()
            kept.write_text(json.dumps(data()))
            written = kept.stat().st_mtime
            self.assertEqual(len(readers.collect(["gateway", "dns"], written)), 1)
            self.assertEqual(readers.collect(["gateway", "dns"], written + 1), [])


if __name__ == "__main__":
    unittest.main()
