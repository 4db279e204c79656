"""The command `backwater-aimd`: the command `backwater` with the mechanism `aimd`."""

from backwater.__main__ import script

__all__ = ["script"]

if __name__ == "__main__":
    script()
