"""What is to be reached, in one place: shares of a peer's figure, and bounds on figures of our own.

Taken from the goals that were set before anything was measured. A share is of the best of its peers in
the same run; where none of them was measured the mark stays open. The gateway's stand with its cases.
"""

import method
import sheet

# What a row's CPU time may be of the best of some peers: benchmark and row: ((share, peers), ...).
OXIDNS_HIT, OXIDNS = (0.62, ("oxidns",)), (0.65, ("oxidns",))
POLIPO_KEPT = (0.6, ("polipo",))
SHARES = {
    "dns": {
        **{name: (OXIDNS_HIT, (0.85, ("dnsdist", "unbound"))) for name in ("02", "hit")},
        **{name: (OXIDNS,) for name in ("01", "03u", "03t", "04", "05", "06", "07", "08", "09", "10", "11", "12", "13", "43",
                                        "47", "48", "local", "forward", "set", "patterns", "set118k", "set1m")}},
    "web": {
        **{name: ((0.85, ("nginx",)),) for name in ("small-new", "small-new-1000", "large-new", "large-wrk")},
        **{name: ((0.85, ("nginx", "lighttpd")),) for name in ("small-wrk", "small-ab", "small-ab-100", "small-ab-500")},
        "gzip-first": ((0.7, ("nginx",)),), "gzip-again": ((0.15, ("nginx",)),),
        "tls-wrk": ((0.9, ("nginx",)),), "tls-new": ((0.8, ("nginx",)),)},
    "proxy": {"hit-one": (POLIPO_KEPT,), "hit": (POLIPO_KEPT,), "hit-new": ((0.7, ("polipo",)),),
              "miss": ((0.5, ("polipo",)),)},
    "pixel": {"http": ((0.7, ("pixelserv-tls",)),), "https": ((0.9, ("nginx",)),)},
}
ONE_CLIENT = (0.8, ("oxidns",))  # the mean wait of a single DNS client
# What one row of ours may be of another row of ours: benchmark and row: (share, the other).
BESIDE = {"dns": {"set1m": (1.1, "set118k")}, "web": {"log-wrk": (1.1, "small-wrk")}}
# A bound on the figure itself, in the row's unit.
BOUNDS = {"web": {"idle": 2500}, "dns-burst": {"hit": 4096, "local": 4096}, "proxy": {"slow-readers": 1.005},
          # Milliseconds and MB; a first contact's are alike for both kinds of names.
          "edge": {"start-million": 1000, "snapshot-million": 150, "idle-starter": 40,
                   **{f"contact-{names}-{figure}": bound for names in ("domains", "below")
                      for figure, bound in (("lost", 0), ("median", 3), ("p99", 5), ("cpu", 2))}}}


def mark(row, bench):
    """Adds what is wanted of this row beside its peers, and of its own figure."""
    for share, peers in SHARES.get(bench, {}).get(row["name"], ()):
        sheet.wanted(row, share, peers)
    bound = BOUNDS.get(bench, {}).get(row["name"])
    if bound is not None:
        row["marks"].append(bounded(row, bound))


def bounded(row, bound):
    """Whether the middle of ours is on the right side of it; more is better where the row says so."""
    # The proxy with little memory says so behind its name.
    ours = next((sheet.values(row, name) for name in row["servers"] if name.split()[0] == sheet.OURS), [])
    side = "at most" if row["better"] == "less" else "at least"
    wanted = f"wanted {side} {bound:,} {row['unit']}"
    if not ours:
        return {"state": "open", "said": f"ours was not measured, {wanted}"}
    found = method.middle(ours)
    is_reached = found <= bound if row["better"] == "less" else found >= bound
    return {"state": "pass" if is_reached else "miss", "said": f"{found:,.{0 if bound >= 10 else 3}f}, {wanted}"}


def beside(rows, bench):
    """Adds what is wanted of a row beside another one of ours. `rows` are those of the figure that counts."""
    known = {it["name"]: it for it in rows}
    for name, (share, other) in BESIDE.get(bench, {}).items():
        if name in known:
            theirs = sheet.values(known[other], sheet.OURS) if other in known else []
            known[name]["marks"].append(method.mark(sheet.values(known[name], sheet.OURS), {f"ours in {other}": theirs}, share))
