"""Backwater with the mechanism `aimd`: `import backwater_aimd` before `import backwater`."""

from backwater.own import use

use("backwater_aimd._core")
