"""Nested lists as arrays. The slow side of the bindings: everything else is done in C++."""

from __future__ import annotations

from typing import Any

import numpy as np

from .errors import InvalidArgumentError


def array_from_list(value: Any, argument: str, like: np.dtype | None) -> np.ndarray:
    """An array of a nested list: Python floats as float32, Python ints as int32.

    Args:
        value: list or tuple, nested as deep as it has dimensions.
        argument: its word in messages.
        like: the element type that a list of Python numbers takes instead (the type of the other
            tensor or of the plan). Lists of typed values (NumPy scalars, arrays) keep their own.

    Raises:
        InvalidArgumentError: the list is ragged, or an integer does not fit.
        TypeError: floats where ``like`` is an integer type.
    """
    try:
        array = np.array(value)
    except (ValueError, TypeError) as error:
        raise InvalidArgumentError(f"{argument} must be a regular nested list: {error}") from error
    if array.dtype.kind == "O":
        raise InvalidArgumentError(
            f"{argument} must be a regular nested list of numbers; its elements have no common type"
        )
    if array.dtype.kind not in "fiu" or isinstance(_first_leaf(value), (np.generic, np.ndarray)):
        return array
    integers = array.dtype.kind in "iu"
    target = np.dtype(np.int32 if integers else np.float32) if like is None else like
    if array.size == 0:  # an empty list has no type of its own
        return array.astype(target)
    if target == np.int32:
        if not integers:
            raise TypeError(f"{argument} must hold integers, as the other tensor is int32")
        if array.min() < -(2**31) or array.max() >= 2**31:
            raise InvalidArgumentError(f"{argument} must hold integers that fit int32")
    with np.errstate(over="ignore"):
        return array.astype(target)


def _first_leaf(value: Any) -> Any:
    while isinstance(value, (list, tuple)) and value:
        value = value[0]
    return value
