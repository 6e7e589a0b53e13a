"""Who there is: sites, third parties, their addresses, delays, certificates and what a list blocks.

Everything comes from one fixed seed, so the browser's side and the servers' side can each make it for
themselves. Nothing here opens a socket.
"""

import random
import subprocess
from dataclasses import dataclass
from pathlib import Path

SEED = 5
EDGE = "203.0.113"  # one round trip over the LAN away: resolvers and null servers
ORIGINS = "198.51.100"  # over the WAN; by Chromium's table both count as public addresses
CLIENT = f"{EDGE}.9"
LAN_RTT_MS = 2.0
DOWN_BITS_PER_SECOND = 100e6
THIRD_PARTIES = {"blog": 10, "shop": 27, "news": 66, "tabloid": 120}  # research: Web Almanac 2024
BLOCKED_SHARE = 0.6

# Names that stand-ins are known for, and what the gated page waits for besides.
GATE_HOSTS = ["www.google-analytics.com", "sdk.privacy-center.org", "vast.video-ads.example",
              "bid.bidder.example", "api.ad-config.example", "stream.live-ads.example"]


# Four blocked third parties in five are of well-known companies: an assumption, since nothing that can be
# measured offline says how many. What these hosts serve here has nothing to do with them.
KNOWN_SHARE = 0.8
KNOWN = """securepubads.g.doubleclick.net pagead2.googlesyndication.com www.googletagservices.com
www.googleadservices.com connect.facebook.net static.ads-twitter.com analytics.tiktok.com sc-static.net
ct.pinterest.com px.ads.linkedin.com c.amazon-adsystem.com bat.bing.com ib.adnxs.com dpm.demdex.net
cm.everesttech.net tags.bluekai.com z.moatads.com fastlane.rubiconproject.com hbopenbid.pubmatic.com u.openx.net
htlb.casalemedia.com js-sec.indexww.com bidder.criteo.com static.criteo.net match.adsrvr.org x.bidswitch.net
rtb-csync.smartadserver.com ads.stickyadstv.com ap.lijit.com btlr.sharethrough.com tlx.3lift.com
bh.contextweb.com g2.gumgum.com sync.1rx.io ads.yieldmo.com contextual.media.net track.adform.net a.teads.tv
bs.serving-sys.com servedby.flashtalking.com pixel.mathtag.com idsync.rlcdn.com bcp.crwdcntrl.net aa.agkn.com
pixel.tapad.com um.simpli.fi secure.quantserve.com secure-dcr.imrworldwide.com loadm.exelator.com ps.eyeota.net
beacon.krxd.net idx.liadm.com ad.360yield.com servicer.mgid.com trc.taboola.com tr.outbrain.com d.adroll.com
cdn.doubleverify.com static.adsafeprotected.com api.amplitude.com script.crazyegg.com cdn.mouseflow.com
edge.fullstory.com c.statcounter.com bam.nr-data.net""".split()


@dataclass
class Host:
    name: str
    address: str
    rtt_ms: float
    think_ms: float
    kind: str  # site, gate, or what a third party is used for
    blocked: bool

    @property
    def domain(self):
        return ".".join(self.name.split(".")[-2:])


def delay(dice):
    """A WAN round trip in ms: lognormal, median 45, within 15 and 150."""
    return min(150.0, max(15.0, dice.lognormvariate(3.8, 0.6)))


class World:
    def __init__(self, seed=SEED):
        dice = random.Random(seed)
        self.sites = {page: Host(f"www.{page}-site.example", f"{ORIGINS}.{1 + at}", 40.0, 20.0, "site", False)
                      for at, page in enumerate([*THIRD_PARTIES, "gated"])}
        self.gates = [Host(name, f"{ORIGINS}.{10 + at}", delay(dice), dice.uniform(5, 40), "gate", True)
                      for at, name in enumerate(GATE_HOSTS)]
        most = max(THIRD_PARTIES.values())
        self.third, known = [], iter(dice.sample(KNOWN, len(KNOWN)))
        for at in range(most):
            blocked = dice.random() < BLOCKED_SHARE
            kind = dice.choices(["script", "chain", "pixel", "frame", "json", "write"], [6, 4, 5, 3, 3, 1])[0] \
                if blocked else dice.choices(["library", "style", "image"], [5, 1, 4])[0]
            name = f"{kind}.{'ads' if blocked else 'cdn'}{at}.example"
            if blocked and dice.random() < KNOWN_SHARE:
                name = next(known)
            self.third.append(Host(name, f"{ORIGINS}.{20 + at}", delay(dice), dice.uniform(5, 40), kind, blocked))
        self.hosts = [*self.sites.values(), *self.gates, *self.third]
        self.parties = {page: dice.sample(self.third, count) for page, count in THIRD_PARTIES.items()}

    def rules(self):
        return [f"||{domain}^" for domain in sorted({it.domain for it in self.hosts if it.blocked})]

    def records(self):
        return [f"{it.name} A {it.address}" for it in self.hosts]

    def blocked_names(self):
        return {it.name for it in self.hosts if it.blocked}


def openssl(*arguments):
    subprocess.run(["openssl", *arguments], check=True, capture_output=True)


def authority(folder, name):
    """A root of the test's own; returns the certificate's path. The key lies beside it."""
    folder.mkdir(parents=True, exist_ok=True)
    openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "30",
            "-subj", f"/CN={name}", "-keyout", folder / "ca.key", "-out", folder / "ca.crt",
            "-addext", "basicConstraints=critical,CA:TRUE", "-addext", "keyUsage=critical,keyCertSign,cRLSign")
    return folder / "ca.crt"


def certify(world, folder):
    """One certificate a host, all with one key, signed by the root in `folder`."""
    key = folder / "leaf.key"
    openssl("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", key)
    # One request does for all: what counts is the name that the extension gives.
    request = folder / "leaf.csr"
    openssl("req", "-new", "-key", key, "-subj", "/CN=test site", "-out", request)
    for host in world.hosts:
        extensions = folder / "leaf.ext"
        extensions.write_text(f"subjectAltName=DNS:{host.name}\nextendedKeyUsage=serverAuth\n")
        openssl("x509", "-req", "-in", request, "-CA", folder / "ca.crt", "-CAkey", folder / "ca.key",
                "-days", "30", "-extfile", extensions, "-out", folder / f"{host.name}.crt")


def trust(home, roots):
    """A home folder whose NSS store trusts these roots: a browser's on Linux."""
    store = Path(home) / ".pki/nssdb"
    store.mkdir(parents=True)
    subprocess.run(["certutil", "-N", "-d", f"sql:{store}", "--empty-password"], check=True)
    for nick, path in roots.items():
        subprocess.run(["certutil", "-A", "-d", f"sql:{store}", "-n", nick, "-t", "C,,", "-i", path], check=True)
