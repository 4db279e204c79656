"""Mechanisms of a user's own: a crate to start from, and a core that has them in the place of ours.

`backwater new mechanism NAME` writes the crate. It builds an extension module, and a command that
takes that in the place of `backwater._core`.
"""

from __future__ import annotations

import importlib
import os
import sys

CORE = "BACKWATER_CORE"
"""The environment variable that names the core: processes that a command starts have it, too."""


def use(core: str) -> None:
    """Take the extension module of this name for `backwater._core`, here and in child processes.

    Must come before anything of Backwater is used. Raises `ImportError` if there is no such module
    or it is no core, and `RuntimeError` if another core is in use already.
    """
    module = importlib.import_module(core)
    if not hasattr(module, "Simulation"):
        raise ImportError(f"{core} is no core of Backwater: it has no Simulation")
    if sys.modules.get("backwater._core", module) is not module:
        raise RuntimeError(f"another core than {core} is in use: import it before backwater")
    sys.modules["backwater._core"] = module
    os.environ[CORE] = core


def use_given() -> None:
    """Take the core that the environment names. Where there is none such the program ends."""
    core = os.environ[CORE]
    try:
        use(core)
    except ImportError as error:
        # No command is there yet that could say it, and with another core results would be others.
        sys.stderr.write(
            f"error: {CORE} = {core!r}: {error}\n"
            f"hint: install the package that has it, or unset {CORE} for Backwater's own core\n"
        )
        sys.exit(2)
