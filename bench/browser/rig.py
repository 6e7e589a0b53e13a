"""The two namespaces and what runs in them: relay, origins, and one resolver for each mode.

Used in a `with` statement; leaving it, also by an error or a signal, stops every process and removes
every namespace. Needs root. Called by run.py.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import world

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from process import Process  # noqa: E402

BINARY = os.environ.get("TIDEGATE_BIN", str(HERE.parents[1] / "target/dist/tidegate"))
PIXELSERV = os.environ.get("PIXELSERV_BIN")
START_S = 30
MTU = 1500

# Mode to what Tidegate's DNS door says of blocked names; all others say where the pixel door is, or
# pixelserv-tls. `none` has an empty list. `pixelserv-N` keeps connections for N seconds.
STYLES = {"none": "nodata", "nxdomain": "nxdomain", "nodata": "nodata", "null": "null", "refused": "refused"}
# Mode to which names share a certificate at our pixel door.
PIXEL_MODES = {"pixel": "known", "pixel-learned": "learned", "pixel-alone": "never"}
PIXELSERV_MODES = {f"pixelserv-{seconds}": seconds for seconds in (1, 5, 10)}
MODES = [*STYLES, *PIXEL_MODES, *(PIXELSERV_MODES if PIXELSERV else [])]
USUAL_MODES = [*STYLES, "pixel", *(PIXELSERV_MODES if PIXELSERV else [])]


def ip(*arguments):
    subprocess.run(["ip", *arguments], check=True)


class Running(Process):
    """A program inside a namespace that says `ready` on a line of its output."""

    def __init__(self, namespace, command, log, **more):
        self.process = subprocess.Popen(["nsenter", f"--net=/run/netns/{namespace}", *map(str, command)],
                                        stdout=subprocess.PIPE, stderr=log, text=True, **more)

    def wait_ready(self):
        for line in self.process.stdout:
            if line.strip() == "ready":
                return self
        raise RuntimeError(f"{self.process.args} ended before it was ready: see the log")


class Rig:
    def __init__(self, folder, modes):
        self.folder, self.modes, self.world = Path(folder), modes, world.World()
        self.client, self.edge = f"tide-c{os.getpid()}", f"tide-e{os.getpid()}"
        self.running, self.made = [], []
        self.address = {mode: f"{world.EDGE}.{20 + at}" for at, mode in enumerate(modes)}

    def __enter__(self):
        try:
            self.log = open(self.folder / "servers.log", "w")
            self.build()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for it in reversed(self.running):
            it.stop()
        for namespace in self.made:
            subprocess.run(["ip", "netns", "del", namespace], check=False)
        self.running, self.made = [], []

    def start(self, namespace, command, **more):
        it = Running(namespace, command, self.log, **more)
        self.running.append(it)
        return it

    def build(self):
        for namespace in (self.client, self.edge):
            ip("netns", "add", namespace)
            self.made.append(namespace)
            ip("-n", namespace, "link", "set", "lo", "up")
        relay = subprocess.Popen([sys.executable, HERE / "relay.py", self.client, self.edge], text=True,
                                 stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log)
        self.relay = Process()
        self.relay.process = relay
        self.running.append(self.relay)
        if relay.stdout.readline().strip() != "ready":
            raise RuntimeError("the relay did not start: root and /dev/net/tun are needed")
        for namespace, device in ((self.client, "lan0"), (self.edge, "wan0")):
            ip("-n", namespace, "link", "set", device, "mtu", str(MTU), "up")
        ip("-n", self.client, "addr", "add", f"{world.CLIENT}/32", "dev", "lan0")
        ip("-n", self.client, "route", "add", "default", "dev", "lan0", "src", world.CLIENT)
        ip("-n", self.edge, "route", "add", f"{world.CLIENT}/32", "dev", "wan0")
        for network in (world.ORIGINS, world.EDGE):
            ip("-n", self.edge, "route", "add", "local", f"{network}.0/24", "dev", "lo")
        self.roots = {"sites": world.authority(self.folder / "public", "Test sites")}
        world.certify(self.world, self.folder / "public")
        self.start(self.edge, [sys.executable, HERE / "origin.py", self.folder / "public"]).wait_ready()
        for mode in self.modes:
            self.resolver(mode)

    def resolver(self, mode):
        """A Tidegate for one mode; all have the same records, so passed names cost the same."""
        address, state = self.address[mode], self.folder / mode
        state.mkdir()
        rules = self.folder / f"{mode}.txt"
        rules.write_text("".join(f"{it}\n" for it in ([] if mode == "none" else self.world.rules()))
                         or "||unused.example^\n")
        settings = {
            "policy": {"lists": [{"name": "blocked", "path": str(rules)}]},
            "dns": {"listen": [f"udp://{address}:53", f"tcp://{address}:53"], "upstreams": ["udp://127.0.0.1:9"],
                    "local": [it for it, host in zip(self.world.records(), self.world.hosts)
                              if mode == "none" or not host.blocked],
                    "blocked": STYLES.get(mode, "pixel")},
            "admin": {"listen": f"{address}:8080"}}
        if mode in PIXEL_MODES:
            settings["signer"] = {"bundles": PIXEL_MODES[mode]}
            settings["pixel"] = {"listen": [f"http://{address}:80", f"https://{address}:443"],
                                 "addresses": [address]}
        elif mode in PIXELSERV_MODES:
            settings["pixel"] = {"listen": [f"http://{address}:8081"], "addresses": [address]}
        config = self.folder / f"{mode}.yaml"
        config.write_text(json.dumps(settings))
        self.start(self.edge, [BINARY, "--config", config, "--state", state, "run"]).wait_ready()
        if mode in PIXEL_MODES:
            self.roots[mode] = state / "ca/ca.pem"
        elif mode in PIXELSERV_MODES:
            self.pixelserv(mode, address, state)

    def pixelserv(self, mode, address, state):
        self.roots[mode] = world.authority(state / "certificates", f"Pixelserv {mode}")
        self.start(self.edge, [PIXELSERV, address, "-f", "-p", "80", "-k", "443", "-u", "root",
                               "-O", PIXELSERV_MODES[mode], "-z", state / "certificates"])
        probe = ["nsenter", f"--net=/run/netns/{self.edge}", sys.executable, "-c",
                 f"import socket; socket.create_connection(('{address}', 443), 1)"]
        until = time.monotonic() + START_S
        while subprocess.run(probe, stderr=subprocess.DEVNULL).returncode:
            if time.monotonic() > until:
                raise RuntimeError(f"{PIXELSERV} does not listen")
            time.sleep(0.1)

    def counted(self):
        """What went over the wire since the last `forget`."""
        self.relay.process.stdin.write("report\n")
        self.relay.process.stdin.flush()
        return json.loads(self.relay.process.stdout.readline())

    def forget(self):
        self.relay.process.stdin.write("reset\n")
        self.relay.process.stdin.flush()

    def profile(self):
        """A home that trusts the sites and the null servers."""
        home = self.folder / "home"
        world.trust(home, self.roots)
        return home
