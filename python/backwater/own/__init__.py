"""Mechanisms of users: a core that has them replaces Backwater's own.

`backwater new mechanism NAME` writes a crate. It builds an extension module, and a command that
uses the module in place of `backwater._core`.
"""

from __future__ import annotations

import importlib
import os
import sys

CORE = "BACKWATER_CORE"
"""The environment variable that names the core, also for processes that a command starts."""


def use(core: str) -> None:
    """Use the extension module of this name as `backwater._core`, here and in child processes.

    It must be called before anything of Backwater is used. Raises `ImportError` if the module is
    missing or is not a core, and `RuntimeError` if another core is in use already.
    """
    module = importlib.import_module(core)
    if not hasattr(module, "Simulation"):
        raise ImportError(f"{core} is not a core of Backwater: it has no Simulation")
    if sys.modules.get("backwater._core", module) is not module:
        raise RuntimeError(f"another core than {core} is in use: import it before backwater")
    sys.modules["backwater._core"] = module
    os.environ[CORE] = core


def use_given() -> None:
    """Use the core that the environment names, or end the program if it cannot be imported."""
    core = os.environ[CORE]
    try:
        use(core)
    except ImportError as error:
        # The command that prints errors is not loaded yet, and another core has other results.
        sys.stderr.write(
            f"error: {CORE} = {core!r}: {error}\n"
            f"hint: install the package that has it, or unset {CORE} for Backwater's own core\n"
        )
        sys.exit(2)
