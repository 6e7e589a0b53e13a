"""What the reference documents published, by the rows of ours that ask the same.

Other machines, other years: they stand beside our figures so that the shape can be compared, not the
numbers. Sources: ForgeDNS's v0.3.0 and v0.1.0 snapshots, hinsightd's benchmarks of 2022 to 2024,
Polipo's benchmark, the Perlbal list of November 2004; pixelserv-tls published its times as pictures.
"""

# row of the pack: ((ForgeDNS, mosdns) in queries a second of v0.3.0, the same of v0.1.0)
DNS_RATES = {
    "01": ((35498, 36883), (37790, 37269)), "02": ((139134, 134882), (131982, 133380)),
    "03u": ((35801, 35382), (39614, 34357)), "03t": ((37295, 37221), (36258, 35975)),
    "04": ((21039, 13319), (21695, 13195)), "05": (None, (22260, 23224)),
    "06": ((126268, 149120), (132287, 146754)), "08": ((165648, 36384), (172062, 35966)),
    "09": ((133355, 150757), (134257, 150923)), "10": (None, (131996, 150302)),
    "11": (None, (135326, 153290)), "12": (None, (136740, 152298)), "13": (None, (132289, 152204)),
    "43": ((158694, 25972), None),
}
# row: ForgeDNS and mosdns, average ± jitter in µs, with 1, 2 and 4 clients (v0.3.0)
DNS_LATENCIES = {
    "01": (("6716 ± 170", "5708 ± 1140"), ("6001 ± 262", "7382 ± 858"), ("5977 ± 355", "5910 ± 2700")),
    "02": (("29 ± 17", "31 ± 21"), ("33 ± 50", "37 ± 53"), ("44 ± 28", "60 ± 63")),
    "03u": (("5949 ± 426", "6394 ± 2364"), ("6408 ± 1247", "5923 ± 488"), ("6637 ± 25556", "5426 ± 435")),
    "03t": (("5984 ± 380", "6118 ± 829"), ("5651 ± 417", "5633 ± 518"), ("6451 ± 4422", "6941 ± 26437")),
    "06": (("26 ± 16", "29 ± 19"), ("40 ± 21", "31 ± 18"), ("56 ± 30", "40 ± 25")),
    "08": (("25 ± 11", "108 ± 95"), ("29 ± 13", "111 ± 104"), ("34 ± 16", "155 ± 141")),
    "43": (("25 ± 12", "156 ± 129"), ("29 ± 14", "165 ± 141"), ("34 ± 15", "221 ± 172")),
    "47": (("25 ± 13", "27 ± 13"), ("30 ± 16", "29 ± 16"), ("42 ± 24", "38 ± 24")),
    "48": (("27 ± 9", "30 ± 18"), ("28 ± 14", "30 ± 15"), ("42 ± 26", "39 ± 22")),
}
LEVELS = (1, 2, 4)

WEB_CLIENTS = (50, 100, 250, 500, 750, 1000)
WEB_SERVERS = ("hinsightd 0.10.2", "nginx 1.25.3", "lighttpd 1.4.73", "Apache 2.4.58", "Caddy 2.7.6")
# table: requests a second by clients, in the order of WEB_SERVERS (February 2024)
WEB_RATES = {
    "index": ((124046, 106615, 92843, 46339, 38366), (121655, 105413, 90652, 45798, 38108),
              (106806, 99929, 87581, 45026, 36292), (89767, 88398, 82110, 42196, 34878),
              (81241, 80171, 74577, 39665, 33404), (75520, 74468, 73566, 38596, 30631)),
    "jquery": ((23656, 34927, 34674, 30386, 29233), (23560, 31372, 32055, 26298, 28917),
               (24729, 30492, 32994, 24010, 27590), (24807, 29544, 32964, 22821, 25792),
               (24299, 28783, 29457, 21855, 24772), (22934, 27815, 28395, 21860, 23612)),
    "compressed": ((727, 973, 822, 880, 795), (702, 975, 728, 878, 806), (722, 953, 553, 871, 803),
                   (728, 966, 621, 860, 813), (737, 956, 579, 855, 811), (726, 930, 372, 844, 812)),
}
# September 2023: the author calls this one useless, for client and server shared a machine
WEB_TLS_SERVERS = ("hinsightd 0.10.1", "nginx 1.25.2", "lighttpd 1.4.71", "Apache 2.4.57", "Caddy 2.7.4")
WEB_TLS = ((29415, 33264, 1725, 14528, 16865), (21529, 23523, 1726, 5701, 12045),
           (11091, 12239, 1395, 5073, 5912), (6122, 6503, 1056, 3272, 2937), (4135, 4364, 1275, 3496, 1951),
           (3082, 3371, 988, 5126, 1460))
# November 2022, `ab -k`: requests a second, failures where there were any
WEB_KEPT = {
    "small-ab": "-c250: hinsightd 0.9.17 63,035 · nginx 26,674 · lighttpd 53,693 · Apache 37,474 (414 failed) · Caddy 35,412",
    "small-ab-500": "-c500: hinsightd 0.9.17 54,985 · nginx 26,173 · lighttpd 1,614 (215 failed) · Apache 34,306 "
                    "(1,221 failed) · Caddy 33,996",
}
# table: seconds with 1, 2 and 3 clients
PROXY_SECONDS = {
    "local": {"wget": (1.2, 1.7, 2.1), "Squid": (0.8, 1.4, 1.8), "Polipo": (0.7, 1.3, 1.7),
              "Polipo 400 kB": (5.5, 5.6, 4.0)},
    "distant": {"wget": (8.8, 8.8, 8.8), "Squid": (9.1, 9.1, 9.1), "Polipo": (8.5, 8.9, 12.8)},
    "dynamic": {"wget": (8.2, 8.4, 8.3), "Squid": (8.2, 8.5, 7.7), "Polipo": (4.9, 4.5, 4.5)},
}


def dns_rate(name):
    told = []
    for version, pair in zip(("v0.3.0", "v0.1.0"), DNS_RATES.get(name, ())):
        if pair:
            told.append(f"{version}: ForgeDNS {pair[0]:,} · mosdns {pair[1]:,}")
    return "; ".join(told)


def dns_latency(name, level):
    if name not in DNS_LATENCIES or level not in LEVELS:
        return ""
    ours, theirs = DNS_LATENCIES[name][LEVELS.index(level)]
    return f"ForgeDNS {ours} · mosdns {theirs} µs"


def web_rate(table, clients):
    rows, names = (WEB_TLS, WEB_TLS_SERVERS) if table == "tls" else (WEB_RATES.get(table), WEB_SERVERS)
    if not rows or clients not in WEB_CLIENTS:
        return ""
    return " · ".join(f"{name} {value:,}" for name, value in zip(names, rows[WEB_CLIENTS.index(clients)]))


def proxy_seconds(table, clients):
    return " · ".join(f"{name} {seconds[clients - 1]}" for name, seconds in PROXY_SECONDS.get(table, {}).items())
