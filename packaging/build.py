#!/usr/bin/env python3
"""Makes what is installed: Debian packages, static binaries, the container image, SBOM, checksums.

    packaging/build.py                      all of it, by static binaries that are built first
    packaging/build.py --binary PATH        by this binary, whose architecture is read from it

`make packages` calls it. The same tree and binary give the same bytes. What cannot be made on a machine is named at
the end, with the remedy; where nothing could be, the exit code is 1.
"""

import argparse
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import debian_package
import extras
import image
import static_binary
from artefact import ROOT, Binary, Release, sha256


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", type=pathlib.Path, action="append", default=[], help="a binary that is there")
    parser.add_argument("--output", type=pathlib.Path, default=ROOT / "target/packages")
    parser.add_argument("--profile", default="dist", help="cargo's profile of what is built")
    parser.add_argument("--target", action="append", choices=static_binary.TARGETS, help="of what is built [all]")
    parser.add_argument("--version", help="another version than that of Cargo.toml, for tests of upgrades")
    parser.add_argument("--only", action="append", choices=["deb", "image"], help="of what is made [all]")
    parser.add_argument("--fast", action="store_true", help="packages are hardly compressed, for tests")
    return parser.parse_args()


def main():
    asked = arguments()
    skipped = []
    binaries = [Binary.read(path) for path in asked.binary]
    if not binaries:
        for target in asked.target or static_binary.TARGETS:
            try:
                binaries.append(static_binary.build(target, asked.profile))
            except static_binary.CannotBuild as why:
                skipped.append(f"{target}: {why}")
    if asked.output.exists():
        shutil.rmtree(asked.output)
    asked.output.mkdir(parents=True)
    if binaries:
        PackageRun(asked, binaries, skipped).make()
    for path in sorted(asked.output.iterdir()):
        print(f"{path.stat().st_size:>12,}  {path}")
    for what in skipped:
        print(f"not made: {what}", file=sys.stderr)
    return 0 if binaries else 1


class PackageRun:
    """One run: what was asked for, what there is, and what could not be made."""

    def __init__(self, asked, binaries, skipped):
        self.asked, self.binaries, self.skipped = asked, binaries, skipped
        self.output = asked.output
        self.release = Release.of_tree(asked.version)

    def wants(self, what):
        return not self.asked.only or what in self.asked.only

    def make(self):
        """Writes everything that the binaries can be made into."""
        with tempfile.TemporaryDirectory(prefix="tidegate-documents-") as folder:
            documents = self.documents(pathlib.Path(folder)) if self.wants("deb") else None
            if self.wants("deb"):
                self.packages(documents)
            if self.wants("image"):
                self.image()
            if not self.asked.only:
                self.rest(documents)

    def documents(self, folder):
        """Man pages and completions; none where no binary runs here."""
        here = next((binary for binary in self.binaries if binary.runs_here()), None)
        if here is None:
            self.skipped.append("man pages and completions: no binary runs on this machine, and they print them")
            return None
        return extras.documents(here, folder)

    def packages(self, documents):
        """A Debian package for each binary."""
        if not shutil.which("dpkg-deb"):
            self.skipped.append("Debian packages: there is no dpkg-deb (Debian: apt install dpkg)")
            return
        compression = ["-Zgzip", "-z1"] if self.asked.fast else ["-Zxz"]
        for binary in self.binaries:
            debian_package.write(self.release, binary, documents, self.output, compression)

    def image(self):
        """The image for all binaries; one that is not static brings its libraries, and is alone."""
        target = self.output / "tidegate-oci.tar"
        level = 1 if self.asked.fast else 9
        static = [binary for binary in self.binaries if binary.is_static]
        if static:
            image.write(self.release, static, target, level=level)
        else:
            image.write(self.release, self.binaries[:1], target, self.binaries[0].libraries(), level)

    def rest(self, documents):
        """Bare binaries, the archive of extras, SBOM and checksums."""
        name = f"tidegate-{self.release.version}"
        for binary in self.binaries:
            if binary.is_static:
                shutil.copy(binary.path, self.output / f"{name}-{binary.machine}-linux")
        if documents:
            extras.write_archive(self.release, documents, self.output)
        bill = [sys.executable, "-B", ROOT / "packaging/sbom.py", "--output", self.output / f"{name}.cdx.json"]
        subprocess.run(bill, check=True)
        sums = "".join(f"{sha256(path.read_bytes())}  {path.name}\n" for path in sorted(self.output.iterdir()))
        (self.output / "SHA256SUMS").write_text(sums)


if __name__ == "__main__":
    sys.exit(main())
