"""The command `backwater-aimd`: the command `backwater` with the mechanism `aimd`."""

from backwater.__main__ import script as backwater


def script() -> None:
    """Be the command."""
    backwater()


if __name__ == "__main__":
    script()
