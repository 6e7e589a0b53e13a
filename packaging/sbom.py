#!/usr/bin/env python3
"""The software bill of materials: every crate in the binary, as CycloneDX 1.6, from cargo's own resolution and lock file.

    packaging/sbom.py --output FILE
"""

import argparse
import json
import pathlib
import re
import subprocess
import tomllib
import urllib.parse
import uuid

ROOT = pathlib.Path(__file__).resolve().parent.parent
PLATFORM = "x86_64-unknown-linux-musl"
# Any fixed name will do: the serial number depends on what is in the binary alone.
NAMESPACE = uuid.uuid5(uuid.NAMESPACE_OID, "tidegate.sbom")


def linked(metadata):
    """The packages that the binary is built of, by id: neither tests nor what only builds."""
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    root = next(it["id"] for it in metadata["packages"] if it["name"] == "tidegate" and it["source"] is None)
    seen, waiting = {root: []}, [root]
    while waiting:
        at = waiting.pop()
        for dependency in nodes[at]["deps"]:
            if any(kind["kind"] is None for kind in dependency["dep_kinds"]):
                seen[at].append(dependency["pkg"])
                if dependency["pkg"] not in seen:
                    seen[dependency["pkg"]] = []
                    waiting.append(dependency["pkg"])
    return root, seen


def reference(package):
    return f"pkg:cargo/{urllib.parse.quote(package['name'])}@{urllib.parse.quote(package['version'])}"


def component(package, checksums):
    """One crate, in the format's words."""
    entry = {
        "type": "library",
        "bom-ref": reference(package),
        "name": package["name"],
        "version": package["version"],
        "scope": "required",
    }
    if package["license"]:
        entry["licenses"] = [{"expression": re.sub(r"\s*/\s*", " OR ", package["license"])}]
    checksum = checksums.get((package["name"], package["version"]))
    if checksum:
        entry["hashes"] = [{"alg": "SHA-256", "content": checksum}]
    if package["source"]:
        entry["purl"] = reference(package)
    return entry


def bill(metadata, lock):
    """The whole document."""
    packages = {package["id"]: package for package in metadata["packages"]}
    checksums = {(it["name"], it["version"]): it.get("checksum") for it in lock["package"]}
    root, graph = linked(metadata)
    names = {at: reference(packages[at]) for at in graph}
    main = {**component(packages[root], checksums), "type": "application"}
    del main["scope"]
    parts = [component(packages[at], checksums) for at in graph if at != root]
    depends = [{"ref": names[at], "dependsOn": sorted({names[it] for it in found})} for at, found in graph.items()]
    document = {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": main},
        "components": sorted(parts, key=lambda it: (it["name"], it["version"])),
        "dependencies": sorted(depends, key=lambda it: it["ref"]),
    }
    serial = uuid.uuid5(NAMESPACE, json.dumps(document, sort_keys=True))
    return {**document, "serialNumber": f"urn:uuid:{serial}"}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=pathlib.Path, required=True)
    asked = parser.parse_args()
    command = ["cargo", "metadata", "--format-version", "1", "--locked", "--filter-platform", PLATFORM]
    told = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout
    lock = tomllib.loads((ROOT / "Cargo.lock").read_text())
    asked.output.write_text(json.dumps(bill(json.loads(told), lock), indent=1) + "\n")


if __name__ == "__main__":
    main()
