"""Man pages and completions, which the binary prints itself, and the archive of all that is not the binary."""

import dataclasses
import pathlib

from artefact import ROOT, Archive, gzipped

PACKAGING = ROOT / "packaging"
SHELLS = {"bash": "tidegate.bash", "zsh": "_tidegate", "fish": "tidegate.fish"}
# What those who have no package install by hand.
FILES = [
    "tidegate.yaml",
    "container.yaml",
    "compose.yaml",
    "debian/logrotate",
    "openwrt/tidegate.init",
    "openwrt/tidegate.yaml",
    "systemd/tidegate.service",
    "systemd/tidegate-signer.socket",
    "systemd/tidegate-signer@.service",
    "systemd/tidegate.socket",
]


@dataclasses.dataclass(frozen=True)
class Documents:
    """A folder with `man` and `completions`."""

    folder: pathlib.Path

    def files(self, kind):
        return sorted((self.folder / kind).iterdir())


def documents(binary, folder):
    """What `binary` prints, in `folder`."""
    (folder / "man").mkdir()
    (folder / "completions").mkdir()
    binary.output_of("man", "--all", folder / "man")
    for shell, name in SHELLS.items():
        (folder / "completions" / name).write_text(binary.output_of("completions", shell))
    return Documents(folder)


def write_archive(release, documents, output):
    """Writes `tidegate-VERSION-extras.tar.gz`."""
    top = f"tidegate-{release.version}"
    archive = Archive(release.epoch)
    archive.folder(top)
    for name in ["LICENSE-APACHE", "LICENSE-MIT", "CHANGELOG.md"]:
        archive.file(f"{top}/{name}", (ROOT / name).read_bytes())
    for kind in ["completions", "man"]:
        archive.folder(f"{top}/{kind}")
        for path in documents.files(kind):
            archive.file(f"{top}/{kind}/{path.name}", path.read_bytes())
    seen = set()
    for name in FILES:
        folder = str(pathlib.Path(name).parent)
        if folder != "." and folder not in seen:
            seen.add(folder)
            archive.folder(f"{top}/{folder}")
        path = PACKAGING / name
        archive.file(f"{top}/{name}", path.read_bytes(), mode=path.stat().st_mode & 0o777)
    (output / f"{top}-extras.tar.gz").write_bytes(gzipped(archive.finish()))
