"""`python -m backwater` is the command `backwater`."""

from backwater.cli import script

script()
