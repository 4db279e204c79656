"""The tree that is tested, and scripts in it."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parents[3]


def load_file(path: Path) -> ModuleType:
    """Load a script that belongs to no package, as a module by the name of its file."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Its dataclasses look themselves up.
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module
