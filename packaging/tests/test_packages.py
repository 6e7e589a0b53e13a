"""The package, on a machine with systemd: installed, upgraded, removed, purged, and what goes wrong meanwhile.

    python3 -B -m unittest discover -s packaging/tests        all of it, with target/debug/tidegate

TIDEGATE_BIN names another binary.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE))

from binary_under_test import BINARY
from machine import Machine

CONFIGURATION = "/etc/tidegate/tidegate.yaml"
COMMAND = ["tidegate", "--config", CONFIGURATION]
# A binary that does not speak sd_notify is tried all the same.
PLAIN_TYPE = "[Service]\nType=exec\nWatchdogSec=0\n"
# Clients that ask without a pause: a letter for each answer, a line for each failure.
CLIENTS = """#!/bin/sh
while :; do
	dig @127.0.0.1 -p 5353 +tries=1 +time=5 doubleclick.net >/dev/null || echo dns >>/run/failed
	curl -sSf --max-time 5 http://127.0.0.1:9053/healthz >/dev/null 2>>/run/failed
	printf x >>/run/asked
done
"""
PIXEL = """
pixel: { listen: ["http://127.0.0.1:8080", "https://127.0.0.1:8443"], addresses: [127.0.0.1] }
"""
SECRET = """
gateway:
  listen: ["http://127.0.0.1:8098"]
  routes: [{ path: "/*", answer: { body: "${credential:word}" } }]
pixel: { listen: ["http://0.0.0.0:8080", "https://0.0.0.0:8443"], addresses: [203.0.113.7] }
"""


def setUpModule():
    global PACKAGES
    if os.geteuid() != 0:
        raise unittest.SkipTest("packages are tried by root alone: run it by sudo")
    folder = tempfile.TemporaryDirectory(prefix="tidegate-packages-")
    unittest.addModuleCleanup(folder.cleanup)
    PACKAGES = {version: build(pathlib.Path(folder.name), version) for version in ["1.0.0", "2.0.0"]}
    PACKAGES["3.0.0"] = changed(folder.name, "3.0.0", "exit 4")
    late = 'case "$*" in check*) exit 0;; *upgrade*) echo "it was given up" >&2; exit 5;; esac; exit 4'
    PACKAGES["4.0.0"] = changed(folder.name, "4.0.0", late)


def build(folder, version):
    """A package of the binary."""
    output = folder / version
    command = [sys.executable, "-B", ROOT / "packaging/build.py", "--fast", "--only", "deb", "--version", version]
    subprocess.run([*command, "--binary", BINARY, "--output", output], check=True, stdout=subprocess.DEVNULL)
    return next(output.glob("*.deb"))


def changed(folder, version, script):
    """The same package with a script in place of the binary: a version that is broken."""
    root = pathlib.Path(folder, f"root-{version}")
    subprocess.run(["dpkg-deb", "-R", PACKAGES["2.0.0"], root], check=True)
    control = root / "DEBIAN/control"
    control.write_text(re.sub(r"(?m)^Version: .*", f"Version: {version}", control.read_text()))
    (root / "usr/bin/tidegate").write_text(f"#!/bin/sh\n{script}\n")
    package = pathlib.Path(folder, f"tidegate_{version}.deb")
    command = ["dpkg-deb", "--root-owner-group", "-Zgzip", "-z1", "-b", root, package]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return package


class PackageTest(unittest.TestCase):
    """Tests with a machine each."""

    size = "900m"

    def setUp(self):
        self.machine = Machine(self.size)
        self.machine.__enter__()
        self.addCleanup(self.machine.__exit__)
        if b"NOTIFY_SOCKET" not in BINARY.read_bytes():
            self.machine.write("/etc/systemd/system/tidegate.service.d/tests.conf", PLAIN_TYPE)

    def package(self, version="1.0.0"):
        """A package's file, in memory: the disk of the machine is for what is installed."""
        inside = f"/run/{version}.deb"
        self.machine.put(PACKAGES[version], inside)
        return inside

    def install(self, version="1.0.0"):
        """Installs a package, which must end well; what is said meanwhile."""
        return self.machine.run("dpkg", "-i", self.package(version))

    def fail_to_install(self):
        """Installs a package, which must fail; what is said meanwhile."""
        told = self.machine.try_run("dpkg", "-i", self.package())
        self.assertNotEqual(told.returncode, 0)
        return told.stderr

    def state(self):
        return self.machine.try_run("systemctl", "is-active", "tidegate").stdout.strip()

    def main_process(self):
        return self.machine.run("systemctl", "show", "-P", "MainPID", "tidegate").strip()

    def assert_answers(self):
        """The DNS door answers, with no address for a name that the starter list blocks."""
        ask = ["dig", "@127.0.0.1", "-p", "5353", "+tries=1", "+time=1", "+noall", "+comments", "doubleclick.net"]
        self.machine.wait_for(lambda: "NOERROR" in self.machine.try_run(*ask).stdout, "no answer")

    def use(self, more):
        """Takes a longer configuration, and a restart."""
        path = self.machine.path(CONFIGURATION)
        path.write_text(path.read_text() + more)
        self.machine.run("systemctl", "restart", "tidegate")
        self.assert_answers()


class Installed(PackageTest):
    def test_it_runs_at_once_as_its_own_user_and_with_the_machine(self):
        self.install()
        self.assert_answers()
        machine = self.machine
        self.assertEqual(machine.run("systemctl", "is-enabled", "tidegate").strip(), "enabled")
        user = machine.run("stat", "-c", "%U %a", f"/proc/{self.main_process()}").split()[0]
        self.assertEqual(user, "tidegate")
        self.assertEqual(machine.run("stat", "-c", "%U:%G %a", "/etc/tidegate").strip(), "root:tidegate 1770")
        self.assertEqual(machine.run("stat", "-c", "%U:%G %a", CONFIGURATION).strip(), "tidegate:tidegate 640")
        self.assertEqual(machine.run("stat", "-c", "%U:%G", "/var/lib/tidegate").strip(), "tidegate:tidegate")
        self.assertEqual(machine.run("stat", "-c", "%U:%G", "/var/lib/tidegate/ca").strip(), "root:root")
        status = machine.run(*COMMAND, "ctl", "status")
        self.assertIn("/var/lib/tidegate", status)
        # Nothing is offered to the network before the administrator says so.
        for line in machine.run("ss", "-Hlntu").splitlines():
            self.assertRegex(line, r"\s127\.0\.0\.1:")

    def test_reload_takes_a_changed_configuration_and_keeps_the_process(self):
        self.install()
        self.assert_answers()
        before = self.main_process()
        path = self.machine.path(CONFIGURATION)
        path.write_text(path.read_text().replace("127.0.0.1:5353", "127.0.0.1:5454", 2))
        self.machine.run("systemctl", "reload", "tidegate")
        ask = ["dig", "@127.0.0.1", "-p", "5454", "+tries=1", "+time=1", "doubleclick.net"]
        self.machine.wait_for(lambda: "NOERROR" in self.machine.try_run(*ask).stdout, "the new port does not answer")
        self.assertEqual(self.main_process(), before)

    def test_the_first_run_writes_the_configuration_that_the_package_brought(self):
        self.install()
        self.assert_answers()
        machine = self.machine
        machine.write("/etc/tidegate/key.pem", "not yours\n", 0o640)
        token = machine.run("cat", "/var/lib/tidegate/admin.token").strip()

        def call(method, path, body=None):
            ask = ["curl", "-sS", "-X", method, "-H", f"Authorization: Bearer {token}", f"http://127.0.0.1:9053{path}"]
            ask += ["-H", "Content-Type: application/json", "-d", json.dumps(body)] if body is not None else []
            return json.loads(machine.run(*ask) or "null")

        found = call("GET", "/api/first-run")
        self.assertTrue(found["needed"] and found["can_write"], found)
        choice = {"address": "127.0.0.1", "doors": ["dns"], "lists": ["starter"], "dns_port": 5399, "confirm_within_s": 60}
        self.assertTrue(call("POST", "/api/first-run", choice)["ok"])
        ask = ["dig", "@127.0.0.1", "-p", "5399", "+tries=1", "+time=1", "doubleclick.net"]
        machine.wait_for(lambda: "NOERROR" in machine.try_run(*ask).stdout, "the chosen port does not answer")
        call("POST", "/api/first-run/confirm", {})
        self.assertIsNone(call("GET", "/api/first-run")["waiting"])
        text = machine.path(CONFIGURATION).read_text()
        self.assertIn("5399", text)
        self.assertIn("# As installed, it answers this machine alone", text)
        self.assertEqual(machine.run("stat", "-c", "%U:%G %a", CONFIGURATION).strip(), "tidegate:tidegate 640")
        # What else lies there is not its own.
        told = machine.try_run("setpriv", "--reuid=tidegate", "--regid=tidegate", "--clear-groups", "rm", "-f", "/etc/tidegate/key.pem")
        self.assertNotEqual(told.returncode, 0)

    def test_pages_and_completions_are_where_they_are_looked_for(self):
        self.install()
        self.assertIn("EXIT STATUS", self.machine.run("man", "-P", "cat", "tidegate-ctl-allow"))
        files = self.machine.run("dpkg", "-L", "tidegate").split()
        for path in ["bash-completion/completions/tidegate", "zsh/vendor-completions/_tidegate", "doc/tidegate/copyright"]:
            self.assertIn(f"/usr/share/{path}", files)
        self.assertEqual(self.machine.run("dpkg", "--verify", "tidegate"), "")

    def test_the_process_that_faces_the_network_cannot_read_the_authority_s_key(self):
        self.install()
        self.use(PIXEL)
        machine = self.machine
        machine.run("sh", "-c", f"{' '.join(COMMAND)} cert ca --pem > /run/ca.pem")
        ask = ["curl", "-sS", "--cacert", "/run/ca.pem", "--resolve", "doubleclick.net:8443:127.0.0.1"]
        ask += ["-o", "/dev/null", "-w", "%{http_code}", "https://doubleclick.net:8443/tag.js"]
        self.assertEqual(machine.run(*ask).strip(), "200")
        launchers = ["systemctl", "list-units", "--plain", "--no-legend", "tidegate-signer@*"]
        launcher = machine.run(*launchers).split()[0]
        self.assertIn("running", machine.run("systemctl", "show", "-P", "SubState", launcher))
        keys = machine.run("find", "/var/lib/tidegate/ca", "-name", "*key*").split()
        self.assertTrue(keys)
        for key in keys:
            told = machine.try_run("setpriv", "--reuid=tidegate", "--regid=tidegate", "--clear-groups", "cat", key)
            self.assertIn("Permission denied", told.stderr)
        self.assertNotIn("root", machine.run("ps", "-o", "user=", "-p", self.main_process()))
        # A launcher that is gone is started again by the next who needs it.
        machine.run("systemctl", "kill", "--signal=KILL", launcher)
        again = [*ask[:-1], "https://adservice.google.com:8443/x.js"]
        again[5] = "adservice.google.com:8443:127.0.0.1"
        machine.wait_for(lambda: machine.try_run(*again).stdout.strip() == "200", "no certificate after the launcher ended")


    def test_commands_find_the_service_by_its_configuration(self):
        self.install()
        self.assert_answers()
        self.assertIn(f"{CONFIGURATION}: fine", self.machine.run("tidegate", "check"))
        self.assertIn(f"configuration {CONFIGURATION}", self.machine.run("tidegate", "why", "doubleclick.net"))
        self.assertIn(CONFIGURATION, self.machine.run("tidegate", "ctl", "status"))
        # To others the folder is closed: they are told so, and get no answer of the built-in configuration.
        stranger = ["setpriv", "--reuid=12345", "--regid=12345", "--clear-groups", "tidegate"]
        told = self.machine.try_run(*stranger, "why", "doubleclick.net")
        self.assertEqual(told.returncode, 1)
        self.assertIn("sudo", told.stderr)

    def test_messages_are_entries_with_fields_in_the_journal(self):
        self.install()
        self.assert_answers()
        path = self.machine.path(CONFIGURATION)
        path.write_text(path.read_text() + "nonsense: true\n")
        self.machine.try_run("systemctl", "reload", "tidegate")
        ask = ["journalctl", "--no-pager", "-o", "json", "TIDEGATE_PART=program", "PRIORITY=3"]
        told = []

        def is_told():
            told[:] = [json.loads(line) for line in self.machine.try_run(*ask).stdout.splitlines()]
            return any(entry["MESSAGE"] == "program: nothing was changed" for entry in told)

        self.machine.wait_for(is_told, "no entry")
        for entry in told:
            self.assertEqual(entry["_SYSTEMD_UNIT"], "tidegate.service")
            self.assertEqual(entry["SYSLOG_IDENTIFIER"], "tidegate")
            self.assertTrue(entry["CODE_FILE"].endswith(".rs") and int(entry["CODE_LINE"]) > 0, entry)

    def test_secrets_come_by_credentials_that_root_alone_can_read(self):
        machine = self.machine
        machine.run("ip", "address", "add", "203.0.113.7/32", "dev", "lo")
        machine.write("/etc/tidegate-word", "open sesame\n", 0o600)
        credential = "[Service]\nLoadCredential=word:/etc/tidegate-word\n"
        for unit in ["tidegate.service", "tidegate-signer@.service"]:
            machine.write(f"/etc/systemd/system/{unit}.d/word.conf", credential)
        self.install()
        self.use(SECRET)
        ask = ["curl", "-sS", "--max-time", "5"]
        self.assertEqual(machine.run(*ask, "http://127.0.0.1:8098/").strip(), "open sesame")
        # Commands of root's read what the service has been given.
        self.assertIn(f"{CONFIGURATION}: fine", machine.run("tidegate", "check"))
        self.assertNotIn("sesame", machine.run("tidegate", "ctl", "get", "gateway"))
        # So does the signer, which finds the machine's own addresses without a socket of the Internet.
        machine.run("sh", "-c", "tidegate cert ca --pem > /run/ca.pem")
        ask += ["--cacert", "/run/ca.pem", "-o", "/dev/null", "-w", "%{http_code}", "https://203.0.113.7:8443/"]
        machine.wait_for(lambda: machine.try_run(*ask).stdout.isdigit(), "no certificate")
        self.assertNotEqual(machine.run(*ask), "000")
        # The new version's script gets past them, too.
        before = self.main_process()
        self.assertEqual(self.install("2.0.0").count("goes on"), 0)
        self.assertNotEqual(self.main_process(), before)
        self.assertEqual(machine.run(*ask[:4], "http://127.0.0.1:8098/").strip(), "open sesame")


class Upgraded(PackageTest):
    def test_the_configuration_is_kept_and_the_new_binary_runs(self):
        self.install("1.0.0")
        self.use("# A line of the administrator's.\n")
        before = self.main_process()
        self.install("2.0.0")
        self.assert_answers()
        self.assertNotEqual(self.main_process(), before)
        # Its mounts are the unit's own, so that the path is told with where they are.
        program = self.machine.run("readlink", f"/proc/{self.main_process()}/exe")
        self.assertTrue(program.strip().endswith("/usr/bin/tidegate"), program)
        self.assertIn("# A line of the administrator's.", self.machine.path(CONFIGURATION).read_text())
        self.assertIn("2.0.0", self.machine.run("dpkg-query", "-W", "tidegate"))

    def test_no_question_and_no_request_fails_while_the_new_version_takes_over(self):
        self.install("1.0.0")
        self.assert_answers()
        before = self.main_process()
        mounts = self.machine.run("readlink", f"/proc/{before}/ns/mnt")
        self.machine.write("/run/ask", CLIENTS, 0o755)
        clients = self.machine.begin("sh", "/run/ask")
        self.addCleanup(clients.wait)
        self.addCleanup(clients.kill)
        asked = self.machine.path("/run/asked")
        self.machine.wait_for(lambda: asked.exists() and asked.stat().st_size > 20, "nobody asks")
        self.install("2.0.0")
        after = self.main_process()
        self.assertNotEqual(after, before)
        seen = asked.stat().st_size
        self.machine.wait_for(lambda: asked.stat().st_size > seen + 20, "nobody asks any more")
        failed = self.machine.path("/run/failed")
        self.assertEqual(failed.read_text() if failed.exists() else "", "")
        self.assertIn("is to take over", self.machine.journal())
        # The same service, with what the unit allows and no more.
        self.assertEqual(self.state(), "active")
        self.assertEqual(self.machine.run("systemctl", "show", "-P", "NRestarts", "tidegate").strip(), "0")
        self.assertEqual(self.machine.run("readlink", f"/proc/{after}/ns/mnt"), mounts)
        self.assertEqual(self.machine.run("stat", "-c", "%U", f"/proc/{after}").strip(), "tidegate")
        status = self.machine.run("cat", f"/proc/{after}/status")
        self.assertRegex(status, r"CapBnd:\s+0+(400)?\n")
        self.assertRegex(status, r"NoNewPrivs:\s+1")
        self.machine.run("systemctl", "reload", "tidegate")
        self.assertEqual(self.main_process(), after)
        self.machine.run("systemctl", "stop", "tidegate")
        self.assertEqual(self.state(), "inactive")

    def test_a_service_that_is_stopped_or_disabled_stays_so(self):
        self.install("1.0.0")
        self.machine.run("systemctl", "stop", "tidegate")
        self.install("2.0.0")
        self.assertEqual(self.state(), "inactive")
        self.machine.run("systemctl", "disable", "tidegate")
        self.install("2.0.0")
        self.assertEqual(self.state(), "inactive")
        self.assertEqual(self.machine.try_run("systemctl", "is-enabled", "tidegate").stdout.strip(), "disabled")

    def test_a_new_version_that_crashes_leaves_the_running_one_alone(self):
        self.install("1.0.0")
        self.assert_answers()
        before = self.main_process()
        for broken in ["3.0.0", "4.0.0"]:
            with self.subTest(broken):
                said = self.install(broken)
                self.assertIn("so the running one goes on", said)
                self.assertEqual(self.main_process(), before)
                self.assert_answers()
        self.machine.run("dpkg", "-i", "--force-downgrade", self.package("2.0.0"))
        self.assert_answers()
        self.assertNotEqual(self.main_process(), before)

    def test_a_configuration_that_is_wrong_leaves_the_running_one_alone(self):
        self.install("1.0.0")
        self.assert_answers()
        path = self.machine.path(CONFIGURATION)
        path.write_text(path.read_text() + "nonsense: true\n")
        said = self.install("2.0.0")
        self.assertIn("nonsense", said)
        self.assert_answers()


class Removed(PackageTest):
    def test_configuration_and_state_stay_and_it_comes_back(self):
        self.install()
        self.use("# A line of the administrator's.\n")
        self.machine.run("dpkg", "-r", "tidegate")
        self.assertEqual(self.state(), "inactive")
        self.assertFalse(self.machine.path("/usr/bin/tidegate").exists())
        self.assertTrue(self.machine.path("/var/lib/tidegate/admin.token").exists())
        self.install()
        self.assert_answers()
        self.assertIn("# A line of the administrator's.", self.machine.path(CONFIGURATION).read_text())

    def test_a_purge_keeps_the_state_unless_it_is_told_otherwise(self):
        self.install()
        self.assert_answers()
        said = self.machine.run("dpkg", "-P", "tidegate")
        self.assertIn("/var/lib/tidegate is kept", said)
        self.assertFalse(self.machine.path("/etc/tidegate").exists())
        self.assertTrue(self.machine.path("/var/lib/tidegate/admin.token").exists())
        self.assertEqual(self.machine.run("find", "/etc/systemd/system", "-name", "tidegate*.service").strip(), "")
        self.install()
        self.machine.run("dpkg", "-P", "tidegate", env={"TIDEGATE_PURGE_STATE": "yes"})
        self.assertFalse(self.machine.path("/var/lib/tidegate").exists())


class Troubled(PackageTest):
    HOLD = (
        "import os, socket, sys, time\n"
        "held = []\n"
        "for kind in (socket.SOCK_DGRAM, socket.SOCK_STREAM):\n"
        "    one = socket.socket(socket.AF_INET, kind)\n"
        "    one.bind((sys.argv[1], int(sys.argv[2])))\n"
        "    held.append(one)\n"
        "held[1].listen()\n"
        "print(os.getpid(), flush=True)\n"
        "time.sleep(600)\n"
    )

    def hold(self, address, port):
        """Has somebody else hold a port."""
        holder = self.machine.begin("python3", "-c", self.HOLD, address, str(port))
        self.addCleanup(holder.stdout.close)
        self.addCleanup(holder.wait)
        self.addCleanup(holder.kill)
        return int(holder.stdout.readline())

    def test_systemd_resolved_may_have_port_53(self):
        self.hold("127.0.0.53", 53)
        self.install()
        self.assert_answers()
        path = self.machine.path(CONFIGURATION)
        path.write_text(path.read_text().replace("127.0.0.1:5353", "127.0.0.1:53"))
        self.machine.run("systemctl", "restart", "tidegate")
        ask = ["dig", "@127.0.0.1", "+tries=1", "+time=1", "doubleclick.net"]
        self.machine.wait_for(lambda: "NOERROR" in self.machine.try_run(*ask).stdout, "port 53 does not answer")

    def test_a_port_that_is_taken_does_not_make_the_installation_fail(self):
        holder = self.hold("127.0.0.1", 5353)
        self.install()
        self.assertIn("install ok installed", self.machine.run("dpkg-query", "-W", "-f", "${Status}", "tidegate"))
        self.machine.kill(holder)
        # It tries again by itself.
        self.assert_answers()

    def test_an_interrupted_installation_is_ended_by_configure(self):
        killer = '#!/bin/sh\nkill -9 "$(pidof dpkg)"\nexit 1\n'
        self.machine.write("/usr/local/sbin/adduser", killer, 0o755)
        self.fail_to_install()
        self.assertIn("tidegate", self.machine.run("dpkg", "--audit"))
        self.machine.path("/usr/local/sbin/adduser").unlink()
        self.machine.run("dpkg", "--configure", "-a")
        self.assert_answers()
        self.assertEqual(self.machine.run("dpkg", "--audit"), "")

    def test_a_read_only_root_is_named(self):
        self.machine.put(BINARY, "/usr/local/bin/tidegate", 0o755)
        self.machine.put(ROOT / "packaging/tidegate.yaml", CONFIGURATION)
        self.machine.run("mount", "-o", "remount,ro", "/")
        self.assertIn("Read-only file system", self.fail_to_install())
        told = self.machine.try_run(*COMMAND, "service", "install")
        self.assertEqual(told.returncode, 3)
        self.assertIn("read-only", told.stderr.lower())


class WithAFullDisk(PackageTest):
    size = f"{BINARY.stat().st_size * 3 // 4 if BINARY.exists() else 1}"

    def test_nothing_half_is_left_and_it_goes_on_where_there_is_room(self):
        self.assertIn("No space left", self.fail_to_install())
        self.assertFalse(self.machine.path("/usr/bin/tidegate").exists())
        self.assertEqual(self.state(), "inactive")
        disk = ["nsenter", "--target", self.machine.first_process(), "-m", "mount", "-o", "remount,size=900m", self.machine.folder]
        subprocess.run(disk, check=True)
        self.install()
        self.assert_answers()


class WithoutAPackage(PackageTest):
    def setUp(self):
        super().setUp()
        self.machine.put(BINARY, "/usr/local/bin/tidegate", 0o755)
        self.machine.put(ROOT / "packaging/tidegate.yaml", CONFIGURATION)

    def test_service_install_runs_it_and_remove_takes_it_away(self):
        said = self.machine.run(*COMMAND, "service", "install")
        self.assertIn("made the user tidegate", said)
        self.assert_answers()
        status = json.loads(self.machine.run("tidegate", "service", "status", "--json"))
        self.assertEqual((status["active"], status["enabled"]), ("active", "enabled"))
        self.assertIn("tidegate service remove", self.fail_to_install())
        self.machine.run("tidegate", "service", "remove")
        self.assertEqual(self.machine.run("find", "/etc/systemd/system", "-name", "tidegate*", "!", "-path", "*.d*").strip(), "")
        self.assertEqual(self.machine.try_run("tidegate", "service", "status").returncode, 3)
        self.assertTrue(self.machine.path("/var/lib/tidegate/admin.token").exists())
        self.install()
        self.assert_answers()
        told = self.machine.try_run("tidegate", *COMMAND[1:], "service", "install")
        self.assertIn("a package has put", told.stderr)

    def test_another_user_is_told_that_root_is_wanted(self):
        command = ["setpriv", "--reuid=nobody", "--clear-groups", "tidegate", "service", "remove"]
        told = self.machine.try_run(*command)
        self.assertEqual(told.returncode, 3)
        self.assertIn("only root", told.stderr)


if __name__ == "__main__":
    unittest.main()
