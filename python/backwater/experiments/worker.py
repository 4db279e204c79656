"""Preloaded by each worker process of Dask that a command starts.

Ctrl-C goes to all processes of a terminal. Workers ignore it: the command ends them itself.
"""

from __future__ import annotations

import signal

signal.signal(signal.SIGINT, signal.SIG_IGN)
