"""The source tree under test, and scripts in it."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parents[3]


def load_file(path: Path) -> ModuleType:
    """Load a script outside of packages, as a module with the name of its file."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Dataclasses look up their module there.
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module
