"""What the reference documents published, by the rows of ours that ask the same.

Other machines, other years: they stand beside our figures so that the shape can be compared, not the
numbers. Sources: ForgeDNS's v0.3.0 and v0.1.0 snapshots, hinsightd's benchmarks of 2022 to 2024,
Polipo's benchmark, the Perlbal list of November 2004; pixelserv-tls published its times as pictures.
"""

# row of the pack: of v0.3.0 and v0.1.0, queries a second of ForgeDNS and mosdns, and the mean wait of each in ms
DNS_RATES = {
    "01": ((35498, 36883, 7.735, 11.244), (37790, 37269, 9.142, 12.312)),
    "02": ((139134, 134882, 0.637, 0.721), (131982, 133380, 1.235, 0.696)),
    "03u": ((35801, 35382, 7.092, 10.170), (39614, 34357, 8.946, 10.009)),
    "03t": ((37295, 37221, 24.646, 25.083), (36258, 35975, 25.403, 25.577)),
    "04": ((21039, 13319, 10.404, 20.601), (21695, 13195, 15.065, 23.790)),
    "05": (None, (22260, 23224, 16.376, 10.616)),
    "06": ((126268, 149120, 0.783, 0.639), (132287, 146754, 1.250, 0.636)),
    "07": (None, (29782, 25836, 13.363, 11.445)),
    "08": ((165648, 36384, 0.549, 4.078), (172062, 35966, 0.901, 4.210)),
    "09": ((133355, 150757, 0.740, 0.637), (134257, 150923, 1.227, 0.625)),
    "10": (None, (131996, 150302, 1.265, 0.622)),
    "11": (None, (135326, 153290, 1.217, 0.629)),
    "12": (None, (136740, 152298, 1.201, 0.630)),
    "13": (None, (132289, 152204, 1.248, 0.638)),
    "43": ((158694, 25972, 0.532, 6.251), None),
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
# (when, servers, table: requests a second by WEB_CLIENTS, in the order of the servers), the newest first
WEB_RATES = (
    ("February 2024",
     ("hinsightd 0.10.2", "nginx 1.25.3", "lighttpd 1.4.73", "Apache 2.4.58", "Caddy 2.7.6",
      "hinsightd 0.10 unpatched", "hinsightd 0.9.20"),
     {"index": ((124046, 106615, 92843, 46339, 38366, 123365, 92945),
                (121655, 105413, 90652, 45798, 38108, 120250, 94346),
                (106806, 99929, 87581, 45026, 36292, 105694, 89390),
                (89767, 88398, 82110, 42196, 34878, 88635, 76105),
                (81241, 80171, 74577, 39665, 33404, 81204, 69970),
                (75520, 74468, 73566, 38596, 30631, 74870, 65129)),
      "jquery": ((23656, 34927, 34674, 30386, 29233, 26011, 3211),
                 (23560, 31372, 32055, 26298, 28917, 25267, 12762),
                 (24729, 30492, 32994, 24010, 27590, 25202, 11119),
                 (24807, 29544, 32964, 22821, 25792, 23998, 9626),
                 (24299, 28783, 29457, 21855, 24772, 21840, 9320),
                 (22934, 27815, 28395, 21860, 23612, 20960, 9253)),
      "compressed": ((727, 973, 822, 880, 795, 1106, 270), (702, 975, 728, 878, 806, 1098, 269),
                     (722, 953, 553, 871, 803, 1153, 268), (728, 966, 621, 860, 813, 1291, 262),
                     (737, 956, 579, 855, 811, 1623, 259), (726, 930, 372, 844, 812, 2265, 254))}),
    ("November 2023",
     ("hinsightd 0.10.1", "nginx 1.25.3", "lighttpd 1.4.72", "Apache 2.4.58", "Caddy 2.7.5",
      "hinsightd 0.9.19"),
     {"index": ((127296, 117021, 56887, 40070, 37655, 93850), (121205, 114877, 56396, 41066, 36728, 95571),
                (106621, 106725, 53474, 38699, 35236, 90076), (91496, 91003, 50047, 35879, 33626, 78003),
                (83509, 82137, 50652, 35210, 32187, 71083), (77152, 76079, 48634, 33906, 31377, 66277)),
      "jquery": ((28277, 36029, 18747, 26397, 28823, 2103), (27484, 32395, 18619, 27595, 28424, 3288),
                 (25551, 31046, 18117, 24566, 27584, 5975), (23537, 30234, 17596, 23997, 26233, 10033),
                 (21585, 29622, 17746, 23633, 25615, 10201), (21599, 28680, 17557, 23048, 24685, 9778))}),
    ("September 2023 (useless, says its author)",
     ("hinsightd 0.10.1", "nginx 1.25.2", "lighttpd 1.4.71", "Apache 2.4.57", "Caddy 2.7.4",
      "hinsightd 0.9.19"),
     {"index": ((88236, 111221, 57542, 41062, 37060, 89009), (113072, 109440, 57629, 41711, 36195, 90905),
                (93982, 103420, 54405, 38869, 35265, 86230), (82595, 90040, 50410, 38919, 33320, 75006),
                (77411, 81939, 50895, 38115, 32053, 68772), (72974, 75760, 49168, 37654, 31624, 64592)),
      "jquery": ((2534, 30930, 17949, 26171, 28317, 2205), (10684, 28285, 17871, 25568, 28061, 3621),
                 (13658, 27123, 17458, 24235, 27270, 6018), (13657, 26591, 17129, 23576, 25963, 8495),
                 (13222, 25871, 17267, 6619, 25533, 8377), (12419, 24945, 16978, 648, 25040, 8177)),
      "tls": ((29415, 33264, 1725, 14528, 16865, 33393), (21529, 23523, 1726, 5701, 12045, 26043),
              (11091, 12239, 1395, 5073, 5912, 14406), (6122, 6503, 1056, 3272, 2937, 9037),
              (4135, 4364, 1275, 3496, 1951, 6645), (3082, 3371, 988, 5126, 1460, 5260))}),
)
# 2022, `ab -k`: requests a second, failures where there were any; July's hinsightd has no version
WEB_KEPT = {
    "small-ab-100": "July, -c100: hinsightd 32,137 · nginx 1.21.6 26,788 · lighttpd 1.4.64 56,972 · Apache 2.4.54 fails",
    "small-ab": "November, -c250: hinsightd 0.9.17 63,035 · nginx 1.23.2 26,674 · lighttpd 1.4.67 53,693 · "
                "Apache 2.4.54 37,474 (414 failed) · Caddy 2.6.2 35,412",
    "small-ab-500": "November, -c500: hinsightd 0.9.17 54,985 · nginx 1.23.2 26,173 · lighttpd 1.4.67 1,614 "
                    "(215 failed) · Apache 2.4.54 34,306 (1,221 failed) · Caddy 2.6.2 33,996; July, -c500: "
                    "hinsightd 22,790, with -O2 23,167, with one write for many 26,394, with both 30,258 · "
                    "nginx 1.21.6 26,684 · lighttpd 1.4.64 fails · Apache 2.4.54 fails",
}
# pixelserv-tls: what is said of its three times; they themselves are pictures
PIXEL_TIMES = ("published as pictures, for time-outs of 1, 5 and 10 s; best: 1 s for version KK, 10 s for v2, which beat "
               "it; v2.0.1-rc4 beside NXDOMAIN: no clear winner")
# table: seconds with 1, 2 and 3 clients
PROXY_SECONDS = {
    "local": {"wget": (1.2, 1.7, 2.1), "Squid": (0.8, 1.4, 1.8), "Polipo": (0.7, 1.3, 1.7),
              "Polipo 400 kB": (5.5, 5.6, 4.0)},
    "distant": {"wget": (8.8, 8.8, 8.8), "Squid": (9.1, 9.1, 9.1), "Polipo": (8.5, 8.9, 12.8)},
    "dynamic": {"wget": (8.2, 8.4, 8.3), "Squid": (8.2, 8.5, 7.7), "Polipo": (4.9, 4.5, 4.5)},
}


def dns_rate(name):
    told = []
    for version, figures in zip(("v0.3.0", "v0.1.0"), DNS_RATES.get(name, ())):
        if figures:
            ours, theirs, our_wait, their_wait = figures
            told.append(f"{version}: ForgeDNS {ours:,} in {our_wait:.3f} ms · mosdns {theirs:,} in {their_wait:.3f} ms")
    return "; ".join(told)


def dns_latency(name, level):
    if name not in DNS_LATENCIES or level not in LEVELS:
        return ""
    ours, theirs = DNS_LATENCIES[name][LEVELS.index(level)]
    return f"ForgeDNS {ours} · mosdns {theirs} µs"


def web_rate(table, clients):
    if clients not in WEB_CLIENTS:
        return ""
    at = WEB_CLIENTS.index(clients)
    return "; ".join(
        f"{when}: " + " · ".join(f"{name} {value:,}" for name, value in zip(servers, tables[table][at]))
        for when, servers, tables in WEB_RATES if table in tables)


def proxy_seconds(table, clients):
    told = [f"{name} {seconds[clients - 1]}" for name, seconds in PROXY_SECONDS.get(table, {}).items()]
    # The author measured no difference with little memory where the network is the bottleneck.
    if told and "Polipo 400 kB" not in PROXY_SECONDS[table]:
        told.append("Polipo 400 kB the same")
    return " · ".join(told)
