"""Loaded by each worker process of Dask that a command starts, before its first task.

Ctrl-C goes to all processes of a terminal. The command answers it, and ends its workers itself.
"""

from __future__ import annotations

import signal

signal.signal(signal.SIGINT, signal.SIG_IGN)
