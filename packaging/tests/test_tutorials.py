"""The tutorials, followed from the package on a machine with systemd: what they print is what is answered.

Whoever has the package and a tutorial alone does this: installs it, writes each configuration as it is printed, restarts
the service, and runs each command that is shown with its answer. Programs that the tutorials have around them (an
application, a certificate, passwords) are made here.
"""

import pathlib
import re
import sys
import tempfile
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import test_packages
from test_packages import CONFIGURATION, ROOT

TUTORIALS = ROOT / "docs/manual/tutorials"
BLOCK = re.compile(r"^```(yaml|console)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# What a reader has ten minutes for must not take a machine one.
LONGEST_S = 60
APPLICATION = """
import http.server
class Answers(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")
    def log_message(self, *_): pass
http.server.ThreadingHTTPServer(("127.0.0.1", 3000), Answers).serve_forever()
"""


def setUpModule():
    folder = tempfile.TemporaryDirectory(prefix="tidegate-tutorials-")
    unittest.addModuleCleanup(folder.cleanup)
    test_packages.PACKAGES = {"1.0.0": test_packages.build(pathlib.Path(folder.name), "1.0.0")}


class Tutorials(test_packages.PackageTest):
    def setUp(self):
        super().setUp()
        for address in ["192.168.1.2/24", "192.0.2.1/32"]:
            self.machine.run("ip", "address", "add", address, "dev", "lo")

    def follow(self, name):
        """Does what a tutorial says, one block after the other; seconds that it took."""
        begun = time.monotonic()
        shown = 0
        for kind, text in BLOCK.findall((TUTORIALS / name).read_text()):
            if kind == "yaml":
                self.machine.path(CONFIGURATION).write_text(text)
                self.machine.run("tidegate", "check", "--config", CONFIGURATION)
                self.machine.run("systemctl", "restart", "tidegate")
            else:
                shown += self.run_shown(text)
        self.assertGreater(shown, 0)
        took = time.monotonic() - begun
        self.assertLess(took, LONGEST_S)
        return took

    def run_shown(self, text):
        """Runs the commands of a block, each of which must answer as it says; their number."""
        commands = re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]
        for block in commands:
            command, _, expected = block.partition("\n")
            told = lambda: self.machine.try_run("sh", "-c", f"cd /; {command}", env={"HOME": "/root"}).stdout
            # A service of an application may need a moment to be found well.
            self.machine.wait_for(lambda: self.is_told(told(), expected), f"$ {command}\nnot answered by\n{expected}")
        return len(commands)

    @staticmethod
    def is_told(told, expected):
        """True if the answer begins with what is printed: tutorials may leave off its end."""
        return told.strip().startswith(expected.strip())

    def test_a_home_has_no_ads(self):
        self.install()
        self.follow("home.md")

    def test_an_office_has_a_proxy_with_passwords(self):
        self.install()
        users = "/etc/tidegate/users.htpasswd"
        self.machine.run("htpasswd", "-B", "-b", "-c", users, "ann", "a long password")
        self.machine.run("chown", "root:tidegate", users)
        self.machine.run("chmod", "640", users)
        self.follow("office.md")

    def test_a_site_has_https_before_an_application(self):
        self.install()
        self.machine.run("mkdir", "-p", "/etc/tidegate/acme", "/etc/tidegate/tls", "/srv/static")
        place = "/etc/tidegate/tls/site"
        names = "subjectAltName=DNS:www.example.com,DNS:example.com"
        key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", f"{place}.key"]
        self.machine.run("openssl", "req", "-x509", *key, "-out", f"{place}.pem", "-subj", "/CN=site", "-addext", names)
        self.machine.run("chown", "-R", "root:tidegate", "/etc/tidegate/tls", "/etc/tidegate/acme")
        self.machine.run("chmod", "-R", "g+rX", "/etc/tidegate/tls", "/etc/tidegate/acme")
        application = self.machine.begin("python3", "-c", APPLICATION)
        self.addCleanup(application.stdout.close)
        self.addCleanup(application.wait)
        self.addCleanup(application.kill)
        self.follow("site.md")


if __name__ == "__main__":
    unittest.main()
