"""Static binaries: musl, built by cargo-zigbuild, whose Zig is the C and C++ compiler and linker for every target.

SQLite and the TLS library are C, and Luau is C++: they want a compiler and a C++ library for the target, which Debian
has for musl in no version. Zig has both for each (docs/adr/0048). `make packages` installs it below target/tools.
"""

import os
import pathlib
import subprocess

from artefact import ROOT, Binary

TARGETS = ["x86_64-unknown-linux-musl", "aarch64-unknown-linux-musl"]
TOOLS = ROOT / "target/tools/zig/bin"


class CannotBuild(Exception):
    """Why a target cannot be built on this machine, with the remedy."""


def build(target, profile):
    """The binary for `target`, stripped."""
    if not (TOOLS / "cargo-zigbuild").exists():
        raise CannotBuild("there is no cargo-zigbuild in target/tools: `make packages` installs it")
    have_target(target)
    environment = {
        **os.environ,
        "PATH": f"{TOOLS}:{os.environ['PATH']}",
        "CARGO_PROFILE_RELEASE_STRIP": "symbols",
        "CARGO_PROFILE_DIST_STRIP": "symbols",
    }
    cargo = os.environ.get("CARGO", "cargo")
    command = [cargo, "zigbuild", "--locked", "-p", "tidegate", "--target", target, "--profile", profile]
    if subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode != 0:
        raise CannotBuild(f"`{' '.join(command)}` failed; its reasons are above")
    folder = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    binary = Binary.read(folder / target / ("debug" if profile == "dev" else profile) / "tidegate")
    if not binary.is_static:
        raise CannotBuild(f"{binary.path} is not static")
    return binary


def have_target(target):
    """Rust's standard library for `target`, installed by rustup where it is not there."""
    libraries = subprocess.run(
        ["rustc", "--print", "target-libdir", "--target", target], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.strip()
    if pathlib.Path(libraries).is_dir():
        return
    try:
        done = subprocess.run(["rustup", "target", "add", target], cwd=ROOT, check=False).returncode == 0
    except FileNotFoundError:
        done = False
    if not done:
        raise CannotBuild(f"Rust's standard library for it is missing: `rustup target add {target}`")
