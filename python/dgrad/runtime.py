"""The library as a whole: threads, memory, what it found on this machine."""

from __future__ import annotations

import json
from typing import Any

from . import _dgrad


def set_num_threads(threads: int) -> None:
    """Sets the default number of threads of later calls and plans.

    Args:
        threads: at least 1, or 0 for the automatic choice: the CPUs this process may use, limited
            by its cgroup, or ``DGRAD_NUM_THREADS`` where that is set.

    Results are bit-identical for any number of threads.
    """
    _dgrad.set_num_threads(threads)


def get_num_threads() -> int:
    """The default number of threads."""
    return _dgrad.get_num_threads()


def info() -> dict[str, Any]:
    """Version, CPU, instruction sets found and compiled, caches, threads and compiler."""
    found: dict[str, Any] = json.loads(_dgrad.info())
    return found


def trim() -> None:
    """Frees the cached plans, the pooled workspace memory and the kept memory of large results.

    Plans and arrays in use stay valid.
    """
    _dgrad.trim()
