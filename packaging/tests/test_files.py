"""What is packed, without a machine: units, scripts, the container image, the bill of materials."""

import collections
import gzip
import hashlib
import io
import json
import os
import pathlib
import pwd
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import textwrap
import unittest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PACKAGING = ROOT / "packaging"
sys.path.insert(0, str(HERE))

from binary_under_test import BINARY

# What `systemd-analyze security` may say. The launcher of signers is root's, and alone may read the authority's key.
EXPOSURE = {"tidegate.service": 2.0, "tidegate-signer@.service": 2.0}
SCRIPTS = [*(PACKAGING / "debian" / name for name in ["preinst", "postinst", "prerm", "postrm"]), PACKAGING / "openwrt/tidegate.init"]


def said(*command, **more):
    """What a command prints, on either way."""
    done = subprocess.run([str(it) for it in command], capture_output=True, text=True, check=False, **more)
    return done.returncode, done.stdout + done.stderr


class Units(unittest.TestCase):
    def test_the_sandbox_is_as_narrow_as_promised(self):
        for unit, most in EXPOSURE.items():
            _, told = said("systemd-analyze", "security", "--offline=true", "--no-pager", PACKAGING / "systemd" / unit)
            score = float(re.search(r"Overall exposure level for \S+: ([\d.]+)", told).group(1))
            self.assertLessEqual(score, most, told)

    def test_systemd_finds_nothing_wrong_with_them(self):
        units = sorted((PACKAGING / "systemd").iterdir())
        code, told = said("systemd-analyze", "verify", "--man=no", *units)
        # The binary is not installed on the machine that runs the tests.
        left = [line for line in told.splitlines() if "/usr/bin/tidegate is not executable" not in line]
        self.assertEqual([line for line in left if str(PACKAGING) in line or "tidegate" in line], [], f"{code}: {told}")

    def test_what_the_package_has_and_what_service_install_writes_are_the_same_units(self):
        source = (ROOT / "crates/service-unit/src/units.rs").read_text()
        packed = re.search(r"UNITS = (\[.*?\])", (PACKAGING / "debian_package.py").read_text()).group(1)
        self.assertEqual(set(re.findall(r'packaging/systemd/([^"]+)"', source)), set(json.loads(packed)))


class Scripts(unittest.TestCase):
    def test_shellcheck_finds_nothing(self):
        code, told = said("shellcheck", "--shell=sh", *SCRIPTS)
        self.assertEqual(code, 0, told)

    def test_logrotate_takes_its_configuration(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "tidegate")
            shutil.copy(PACKAGING / "debian/logrotate", file)
            file.chmod(0o644)
            text = file.read_text().replace("create 0640 tidegate adm", "create 0640 root adm")
            file.write_text(text)
            code, told = said("logrotate", "--debug", "--state", pathlib.Path(folder, "state"), file)
        self.assertEqual((code, "error" in told.lower()), (0, False), told)

    def test_openwrt_s_script_has_procd_run_it_and_refuses_a_wrong_configuration(self):
        rc_common = """
            procd_open_instance() { echo open; }
            procd_set_param() { echo "$*"; }
            procd_close_instance() { echo close; }
            procd_send_signal() { echo "signal $*"; }
            logger() { echo "logger $*"; }
        """
        with tempfile.TemporaryDirectory() as folder:
            script = (PACKAGING / "openwrt/tidegate.init").read_text()
            script = script.replace("/usr/bin/tidegate", str(BINARY))
            for configuration, expected in [
                (PACKAGING / "openwrt/tidegate.yaml", f"open\ncommand {BINARY} run --config"),
                (PACKAGING / "compose.yaml", "logger -t tidegate -p daemon.err"),
            ]:
                text = script.replace("/etc/tidegate/tidegate.yaml", str(configuration))
                file = pathlib.Path(folder, "init")
                file.write_text(textwrap.dedent(rc_common) + text + "\nstart_service\nreload_service\n")
                _, told = said("sh", file)
                self.assertTrue(told.startswith(expected), told)
                self.assertIn("signal tidegate * HUP", told)


class Configurations(unittest.TestCase):
    def test_every_one_that_is_shipped_is_fine_even_where_warnings_count(self):
        for name in ["container.yaml", "openwrt/tidegate.yaml"]:
            code, told = said(BINARY, "check", "--strict", "--config", PACKAGING / name)
            self.assertEqual(code, 0, told)
        # The package's belongs to the user that it runs as, who may change it.
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "tidegate.yaml")
            shutil.copy(PACKAGING / "tidegate.yaml", file)
            if os.geteuid() == 0:
                known = [user.pw_name for user in pwd.getpwall()]
                owner = "tidegate" if "tidegate" in known else "nobody"
                for path in [folder, file]:
                    shutil.chown(path, owner)
            code, told = said(BINARY, "check", "--strict", "--config", file)
            self.assertEqual(code, 0, told)


class ManualPages(unittest.TestCase):
    def test_man_reads_every_page_without_a_warning(self):
        with tempfile.TemporaryDirectory() as folder:
            code, told = said(BINARY, "man", "--all", folder)
            self.assertEqual(code, 0, told)
            pages = sorted(pathlib.Path(folder).iterdir())
            self.assertGreater(len(pages), 40)
            environment = {**os.environ, "MANWIDTH": "80", "LC_ALL": "C.UTF-8"}
            for page in pages:
                code, told = said("man", "--warnings", "-l", page, env=environment)
                self.assertEqual(code, 0, told)
                self.assertNotIn("warning:", told)
                self.assertIn("EXAMPLES", told)


class BillOfMaterials(unittest.TestCase):
    def test_it_names_what_is_linked_and_nothing_that_only_tests_use(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "bill.json")
            subprocess.run([sys.executable, "-B", PACKAGING / "sbom.py", "--output", file], check=True)
            bill = json.loads(file.read_text())
        names = {it["name"]: it for it in bill["components"]}
        self.assertTrue({"rustls", "rusqlite", "mimalloc", "door-dns"} <= set(names))
        self.assertTrue({"test-support", "cc", "xtask"}.isdisjoint(names))
        self.assertRegex(names["rustls"]["hashes"][0]["content"], "^[0-9a-f]{64}$")
        references = collections.Counter(it["bom-ref"] for it in bill["components"])
        self.assertEqual([it for it, count in references.items() if count > 1], [])


class ContainerImage(unittest.TestCase):
    """The image by the specification, and its root file system as an engine would run it."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="tidegate-image-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        cls.images = [cls.made(name) for name in ["one", "two"]]
        with tarfile.open(cls.images[0]) as archive:
            cls.blobs = {it.name: archive.extractfile(it).read() for it in archive if it.isfile()}

    @classmethod
    def made(cls, name):
        output = cls.folder / name
        command = [sys.executable, "-B", PACKAGING / "build.py", "--fast", "--only", "image", "--binary", BINARY, "--output", output]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        return output / "tidegate-oci.tar"

    def blob(self, descriptor):
        """The blob of a descriptor, which must have its size and checksum."""
        digest = descriptor["digest"].removeprefix("sha256:")
        data = self.blobs[f"blobs/sha256/{digest}"]
        self.assertEqual((len(data), hashlib.sha256(data).hexdigest()), (descriptor["size"], digest))
        return data

    def parts(self):
        """Manifest, configuration and unpacked layer."""
        self.assertEqual(json.loads(self.blobs["oci-layout"]), {"imageLayoutVersion": "1.0.0"})
        index = json.loads(self.blobs["index.json"])
        self.assertEqual(index["schemaVersion"], 2)
        manifest = json.loads(self.blob(index["manifests"][0]))
        config = json.loads(self.blob(manifest["config"]))
        layer = gzip.decompress(self.blob(manifest["layers"][0]))
        self.assertEqual(config["rootfs"]["diff_ids"], [f"sha256:{hashlib.sha256(layer).hexdigest()}"])
        return manifest, config, layer

    def test_every_descriptor_leads_to_its_blob(self):
        manifest, config, _ = self.parts()
        self.assertEqual(len(manifest["layers"]), 1)
        self.assertEqual((config["os"], config["config"]["User"]), ("linux", "65532:65532"))
        named = json.loads(self.blobs["manifest.json"])[0]
        self.assertTrue({named["Config"], *named["Layers"]} <= set(self.blobs))

    def test_the_same_tree_gives_the_same_bytes(self):
        first, second = (path.read_bytes() for path in self.images)
        self.assertTrue(first == second)

    @unittest.skipUnless(os.geteuid() == 0, "only root may change its root")
    def test_it_runs_as_its_user_with_a_root_that_is_read_only_and_is_healthy(self):
        _, config, layer = self.parts()
        root = self.folder / "root"
        with tarfile.open(fileobj=io.BytesIO(layer)) as archive:
            archive.extractall(root, filter="fully_trusted")
        owner = int(config["config"]["User"].split(":")[0])
        state = self.folder / "state"
        state.mkdir()
        os.chown(state, owner, owner)
        begin = """
            set -eu
            root=$1; state=$2; owner=$3; shift 3
            mount --bind "$root" "$root"
            mount --bind "$state" "$root/var/lib/tidegate"
            mount -t tmpfs tmpfs "$root/tmp"
            mkdir -p "$root/proc"
            mount -t proc proc "$root/proc"
            mount -o remount,bind,ro "$root"
            ip link set lo up
            # Another user clears the wish to end with the parent.
            exec chroot "$root" /setpriv --pdeathsig KILL --no-new-privs --reuid="$owner" --regid="$owner" --clear-groups \\
                --bounding-set=-all --inh-caps=-all "$@"
        """
        self.bring(root, "setpriv")
        (root / "proc").mkdir(exist_ok=True)
        command = [*config["config"]["Entrypoint"], *config["config"]["Cmd"]]
        spaces = ["unshare", "--mount", "--pid", "--net", "--fork", "--kill-child"]
        running = subprocess.Popen(
            [*spaces, "sh", "-c", begin, "image", root, state, str(owner), *command],
            env={},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.addCleanup(running.stdout.close)
        self.addCleanup(running.wait)
        self.addCleanup(running.kill)
        lines = []
        for line in running.stdout:
            lines.append(line)
            if line == "ready\n":
                break
        self.assertEqual(lines[-1:], ["ready\n"], "".join(lines))
        inner = pathlib.Path(f"/proc/{running.pid}/task/{running.pid}/children").read_text().split()[0]
        self.assertEqual(pathlib.Path(f"/proc/{inner}").stat().st_uid, owner)
        check = config["config"]["Healthcheck"]["Test"]
        self.assertEqual(check[0], "CMD")
        enter = ["nsenter", "--target", inner, "-m", "-p", "-n", "--root", "--wd"]
        code, told = said(*enter, "/setpriv", f"--reuid={owner}", f"--regid={owner}", "--clear-groups", *check[1:])
        self.assertEqual(code, 0, told)
        # A healthcheck that is always content would be worth nothing.
        running.kill()
        running.wait()
        self.assertNotEqual(said("chroot", root, *check[1:])[0], 0)

    @staticmethod
    def bring(root, program):
        """Copies a program with its libraries, as an engine brings its own."""
        path = shutil.which(program)
        shutil.copy(path, root / program)
        _, told = said("ldd", path)
        for library in re.findall(r"(?:=> |^\s*)(/\S+) \(", told, re.MULTILINE):
            target = root / library.lstrip("/")
            target.parent.mkdir(parents=True, exist_ok=True)
            if not target.exists():
                shutil.copy(library, target)


if __name__ == "__main__":
    unittest.main()
