"""What is tested, and how patiently. Meson says both through the environment."""

import os
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[3]
BUILD = pathlib.Path(os.environ.get("BATON_BUILD", ROOT / "build")).resolve()
BATON = str(BUILD / "baton")
HELPERS = BUILD / "tests" / "e2e"  # programs that only tests run
SANITIZED = os.environ.get("BATON_SANITIZED", "") not in ("", "0")  # slow, and keeps freed memory
PATIENCE = 120 if SANITIZED else 60  # seconds after which something that should happen has not
