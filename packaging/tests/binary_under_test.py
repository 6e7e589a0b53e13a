"""The binary that is packed and tried: target/debug/tidegate, or the one that TIDEGATE_BIN names."""

import os
import pathlib

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
BINARY = pathlib.Path(os.environ.get("TIDEGATE_BIN", TARGET / "debug/tidegate")).resolve()
