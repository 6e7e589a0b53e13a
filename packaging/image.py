"""The container image, by the OCI image specification 1.1 and without any engine: blobs, manifests and an index in a
tar archive that `docker load`, `podman load` and `skopeo` read.

One layer from scratch: the static binary, its configuration, its user. docs: opencontainers/image-spec.
"""

import datetime
import json

from artefact import ROOT, Archive, gzipped, sha256

# No user of an ordinary system.
OWNER = 65532
INDEX = "application/vnd.oci.image.index.v1+json"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
CONFIG = "application/vnd.oci.image.config.v1+json"
LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"
COMMAND = ["/usr/bin/tidegate", "--config", "/etc/tidegate/tidegate.yaml"]
SECOND_NS = 1_000_000_000


def layer(release, binary, libraries):
    """The root file system, as a tar archive."""
    archive = Archive(release.epoch)
    for folder in ["etc", "etc/tidegate", "usr", "usr/bin", "var", "var/lib"]:
        archive.folder(folder)
    archive.folder("tmp", mode=0o1777)
    archive.folder("var/lib/tidegate", owner=OWNER)
    archive.file("etc/passwd", f"root:x:0:0::/:/\ntidegate:x:{OWNER}:{OWNER}::/var/lib/tidegate:/\n".encode())
    archive.file("etc/group", f"root:x:0:\ntidegate:x:{OWNER}:\n".encode())
    archive.file("etc/tidegate/tidegate.yaml", (ROOT / "packaging/container.yaml").read_bytes())
    archive.file("usr/bin/tidegate", binary.path.read_bytes(), mode=0o755)
    made = set()
    for path in libraries:
        for folder in reversed(path.relative_to("/").parents[:-1]):
            if folder not in made and str(folder) != "usr":
                made.add(folder)
                archive.folder(str(folder))
        archive.file(str(path.relative_to("/")), path.read_bytes(), mode=0o755)
    return archive.finish()


def labels(release):
    """What the image says of itself."""
    return {
        "org.opencontainers.image.title": "tidegate",
        "org.opencontainers.image.version": release.version,
        "org.opencontainers.image.licenses": "Apache-2.0 OR MIT",
    }


def config(release, binary, unpacked):
    """The image's configuration. `Healthcheck` is Docker's own; compose.yaml says it for others."""
    created = datetime.datetime.fromtimestamp(release.epoch, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {
        "created": created,
        "architecture": binary.image,
        "os": "linux",
        "config": {
            "User": f"{OWNER}:{OWNER}",
            "ExposedPorts": {"5353/tcp": {}, "5353/udp": {}},
            "Entrypoint": COMMAND,
            "Cmd": ["run"],
            "WorkingDir": "/var/lib/tidegate",
            "Volumes": {"/var/lib/tidegate": {}},
            "StopSignal": "SIGTERM",
            "Labels": labels(release),
            "Healthcheck": {
                "Test": ["CMD", *COMMAND, "ctl", "status"],
                "Interval": 30 * SECOND_NS,
                "Timeout": 5 * SECOND_NS,
                "StartPeriod": 20 * SECOND_NS,
                "Retries": 3,
            },
        },
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{sha256(unpacked)}"]},
        "history": [{"created": created, "created_by": "packaging/build.py"}],
    }


class Blobs:
    """Contents by their checksums, as the layout has them."""

    def __init__(self):
        self.held = {}

    def add(self, kind, data):
        """Keeps the data; its descriptor."""
        digest = sha256(data)
        self.held[digest] = data
        return {"mediaType": kind, "digest": f"sha256:{digest}", "size": len(data)}


def encode(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def write(release, binaries, path, libraries=(), level=9):
    """Writes the image for these binaries, an index of one manifest each; `libraries` are files that go with them."""
    blobs, manifests, legacy = Blobs(), [], None
    for binary in binaries:
        unpacked = layer(release, binary, libraries)
        packed = blobs.add(LAYER, gzipped(unpacked, level))
        about = blobs.add(CONFIG, encode(config(release, binary, unpacked)))
        manifest = {"schemaVersion": 2, "mediaType": MANIFEST, "config": about, "layers": [packed]}
        found = blobs.add(MANIFEST, encode({**manifest, "annotations": labels(release)}))
        manifests.append({**found, "platform": {"architecture": binary.image, "os": "linux"}})
        # Docker before 25 reads this file, which knows one machine only.
        names = [f"tidegate:{release.version}", "tidegate:latest"]
        place = "blobs/sha256/{}".format
        legacy = legacy or [
            {"Config": place(about["digest"][7:]), "RepoTags": names, "Layers": [place(packed["digest"][7:])]}
        ]
    top = {"schemaVersion": 2, "mediaType": INDEX, "manifests": manifests}
    if len(manifests) > 1:
        top["manifests"] = [blobs.add(INDEX, encode(top))]
    top["manifests"][0]["annotations"] = {
        "io.containerd.image.name": "docker.io/library/tidegate:latest",
        "org.opencontainers.image.ref.name": "latest",
    }
    archive = Archive(release.epoch)
    archive.folder("blobs")
    archive.folder("blobs/sha256")
    for digest, data in sorted(blobs.held.items()):
        archive.file(f"blobs/sha256/{digest}", data)
    archive.file("index.json", encode(top))
    archive.file("manifest.json", encode(legacy))
    archive.file("oci-layout", encode({"imageLayoutVersion": "1.0.0"}))
    path.write_bytes(archive.finish())
