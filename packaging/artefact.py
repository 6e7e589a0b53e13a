"""What is packed: the release by its tree, a binary by its ELF header, archives whose bytes depend on nothing else."""

import dataclasses
import gzip
import hashlib
import io
import os
import pathlib
import platform
import re
import subprocess
import tarfile

ROOT = pathlib.Path(__file__).resolve().parent.parent

# By e_machine of the ELF header: what the kernel, Debian and the image specification call it.
MACHINES = {62: ("x86_64", "amd64", "amd64"), 183: ("aarch64", "arm64", "arm64")}

ELF_MAGIC = b"\x7fELF"
PT_INTERP = 3


def sha256(data):
    return hashlib.sha256(data).hexdigest()


@dataclasses.dataclass(frozen=True)
class Release:
    """The version that is packed, and the time that everything in it bears."""

    version: str
    epoch: int

    @classmethod
    def of_tree(cls, version=None):
        """The release of this tree; the time is that of its last commit, or SOURCE_DATE_EPOCH."""
        manifest = (ROOT / "Cargo.toml").read_text()
        found = re.search(r'^\[workspace\.package\]\n(?:.+\n)*?version = "([^"]+)"', manifest, re.MULTILINE)
        epoch = os.environ.get("SOURCE_DATE_EPOCH")
        if epoch is None:
            told = subprocess.run(
                ["git", "-C", ROOT, "log", "-1", "--format=%ct"], capture_output=True, text=True, check=False
            )
            epoch = told.stdout.strip() or 0
        return cls(version or found.group(1), int(epoch))


@dataclasses.dataclass(frozen=True)
class Binary:
    """A program for Linux, known by its ELF header."""

    path: pathlib.Path
    machine: str
    debian: str
    image: str
    is_static: bool

    @classmethod
    def read(cls, path):
        """The binary at `path`; ValueError where it is none that can be packed."""
        with open(path, "rb") as file:
            head = file.read(64)
            if head[:4] != ELF_MAGIC or head[4:6] != b"\x02\x01":
                raise ValueError(f"{path} is no 64-bit little-endian ELF file")
            machine = MACHINES.get(int.from_bytes(head[18:20], "little"))
            if machine is None:
                raise ValueError(f"{path} is for a machine that is not packed for: {', '.join(m[0] for m in MACHINES.values())} are")
            start, size, count = (
                int.from_bytes(head[a:b], "little") for a, b in [(32, 40), (54, 56), (56, 58)]
            )
            file.seek(start)
            table = file.read(size * count)
        kinds = [int.from_bytes(table[at : at + 4], "little") for at in range(0, len(table), size)]
        return cls(pathlib.Path(path), *machine, is_static=PT_INTERP not in kinds)

    def runs_here(self):
        """True where this machine can run it."""
        return self.machine == platform.machine()

    def libraries(self):
        """The files that it is linked with, by the loader of this machine."""
        told = subprocess.run(["ldd", self.path], capture_output=True, text=True, check=False).stdout
        return [pathlib.Path(path) for path in re.findall(r"(?:=> |^\s*)(/\S+) \(", told, re.MULTILINE)]

    def output_of(self, *args):
        """What it prints."""
        return subprocess.run([self.path, *args], capture_output=True, text=True, check=True).stdout


class Archive:
    """A tar archive in memory whose bytes depend on its members and one time alone."""

    def __init__(self, epoch):
        self.epoch = epoch
        self.bytes = io.BytesIO()
        self.tar = tarfile.open(fileobj=self.bytes, mode="w", format=tarfile.USTAR_FORMAT)

    def folder(self, name, mode=0o755, owner=0):
        self._add(name, tarfile.DIRTYPE, mode, owner, b"")

    def file(self, name, data, mode=0o644, owner=0):
        self._add(name, tarfile.REGTYPE, mode, owner, data)

    def _add(self, name, kind, mode, owner, data):
        member = tarfile.TarInfo(name)
        member.type, member.mode, member.mtime, member.size = kind, mode, self.epoch, len(data)
        member.uid = member.gid = owner
        self.tar.addfile(member, io.BytesIO(data))

    def finish(self):
        self.tar.close()
        return self.bytes.getvalue()


def gzipped(data, level=9):
    """The data in gzip, without a name and a time."""
    return gzip.compress(data, compresslevel=level, mtime=0)
