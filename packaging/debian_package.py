"""The Debian package: files in a folder, the maintainer scripts of debian/, and `dpkg-deb`, which is Debian's own."""

import hashlib
import os
import pathlib
import subprocess
import tempfile

from artefact import ROOT, gzipped

PACKAGING = ROOT / "packaging"
SCRIPTS = ["preinst", "postinst", "prerm", "postrm"]
# Kept at an upgrade as the administrator left them.
CONFFILES = {
    "etc/tidegate/tidegate.yaml": PACKAGING / "tidegate.yaml",
    "etc/logrotate.d/tidegate": PACKAGING / "debian/logrotate",
}
UNITS = ["tidegate.service", "tidegate-signer.socket", "tidegate-signer@.service"]
EXAMPLES = ["systemd/tidegate.socket", "compose.yaml", "container.yaml"]
# What a binary that is not static is linked with.
LIBRARIES = ["libc6 (>= 2.36)", "libgcc-s1", "libstdc++6"]

CONTROL = """\
Package: tidegate
Version: {version}
Architecture: {architecture}
Maintainer: The Tidegate contributors <tidegate@packages.invalid>
Installed-Size: {size}
Depends: {depends}
Suggests: logrotate
Section: net
Priority: optional
Description: DNS filter, pixel server, proxy, web server and gateway in one
 Tidegate blocks advertisements and trackers for every device of a network, and
 says for each request why it passed or not. It is a DNS forwarder with block
 lists, a server that answers in place of blocked hosts, a caching forward
 proxy, a web server and a reverse proxy, with one set of rules and one request
 log.
"""


def write(release, binary, documents, output, compression=("-Zxz",)):
    """Writes `tidegate_VERSION_ARCH.deb` into the folder `output`."""
    with tempfile.TemporaryDirectory(prefix="tidegate-deb-") as folder:
        root = pathlib.Path(folder) / "root"
        fill(root, binary, documents)
        scripts(root / "DEBIAN", release, binary)
        target = output / f"tidegate_{release.version}_{binary.debian}.deb"
        environment = {**os.environ, "SOURCE_DATE_EPOCH": str(release.epoch)}
        command = ["dpkg-deb", "--root-owner-group", *compression, "--build", root, target]
        subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
    return target


def fill(root, binary, documents):
    """Lays the package's files out below `root`."""
    put(root / "usr/bin/tidegate", binary.path.read_bytes(), 0o755)
    for path, source in CONFFILES.items():
        put(root / path, source.read_bytes())
    for unit in UNITS:
        put(root / "usr/lib/systemd/system" / unit, (PACKAGING / "systemd" / unit).read_bytes())
    doc = root / "usr/share/doc/tidegate"
    put(doc / "copyright", (PACKAGING / "debian/copyright").read_bytes())
    put(doc / "changelog.gz", gzipped((ROOT / "CHANGELOG.md").read_bytes()))
    for example in EXAMPLES:
        put(doc / "examples" / pathlib.Path(example).name, (PACKAGING / example).read_bytes())
    for path in documents.files("man") if documents else []:
        put(root / "usr/share/man/man1" / f"{path.name}.gz", gzipped(path.read_bytes()))
    for path in documents.files("completions") if documents else []:
        put(root / COMPLETIONS[path.suffix] / path.name.removesuffix(".bash"), path.read_bytes())


# Where each shell looks, by the ending that extras.py gives.
COMPLETIONS = {
    ".bash": "usr/share/bash-completion/completions",
    ".fish": "usr/share/fish/vendor_completions.d",
    "": "usr/share/zsh/vendor-completions",
}


def scripts(folder, release, binary):
    """Writes control file, conffiles, checksums and maintainer scripts."""
    root = folder.parent
    files = [path for path in sorted(root.rglob("*")) if path.is_file()]
    size = sum(path.stat().st_size for path in files) // 1024 + 1
    depends = ["adduser", "init-system-helpers (>= 1.54~)"] + ([] if binary.is_static else LIBRARIES)
    control = CONTROL.format(
        version=release.version, architecture=binary.debian, size=size, depends=", ".join(depends)
    )
    sums = "".join(f"{md5(path)}  {path.relative_to(root)}\n" for path in files if str(path.relative_to(root)) not in CONFFILES)
    put(folder / "control", control.encode())
    put(folder / "conffiles", "".join(f"/{path}\n" for path in CONFFILES).encode())
    put(folder / "md5sums", sums.encode())
    for script in SCRIPTS:
        put(folder / script, (PACKAGING / "debian" / script).read_bytes(), 0o755)


def md5(path):
    """The checksum that dpkg's format has; it guards against a bad disk and against nobody."""
    return hashlib.md5(path.read_bytes(), usedforsecurity=False).hexdigest()


def put(path, data, mode=0o644):
    """Writes a file, and the folders above it, with modes that no umask changes."""
    for folder in reversed([it for it in path.parents if not it.exists()]):
        folder.mkdir()
        folder.chmod(0o755)
    path.write_bytes(data)
    path.chmod(mode)
