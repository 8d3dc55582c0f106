"""Plan: the choice of how to compute one geometry, made once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Optional, Union

import ml_dtypes
import numpy as np
import numpy.typing as npt

from . import _dgrad
from .ops import Padding, Sizes, Tensor


class Plan:
    """One geometry with the way to compute it, for repeated use.

    A plan is immutable and several threads may call it at once. It can be pickled (it is made again
    from its arguments).

    Args:
        input_sizes: shape of the result, all 4 elements, in the order of ``data_format``.
        filter_shape: [KH, KW, C / groups, OC].
        strides, padding, data_format, dilations: as in :func:`dgrad.conv2d_backprop_input`.
        dtype: element type of all three tensors: a NumPy type or one of the names "float16",
            "bfloat16", "float32", "float64", "int32".
        threads: how many threads to use; None is :func:`dgrad.get_num_threads` at this moment.
        accuracy: "fast", or "strict" for direct summation only.
        isa: upper bound of the instruction set, "scalar", "sse4", "neon", "avx2" or "avx512";
            None is what the machine has, bounded by ``DGRAD_ISA``.
        workspace_limit: upper bound of the scratch memory of a run in bytes; None is the library's
            own.

    Raises:
        TypeError, InvalidArgumentError, UnimplementedError, MemoryError: as
            :func:`dgrad.conv2d_backprop_input`.

    Example:
        >>> import dgrad, numpy as np
        >>> plan = dgrad.Plan([1, 4, 4, 1], [2, 2, 1, 1], strides=[1, 2, 2, 1], padding="SAME")
        >>> packed = plan.pack(np.ones((2, 2, 1, 1), np.float32))
        >>> x = np.arange(4, dtype=np.float32).reshape(1, 2, 2, 1)
        >>> plan(packed, x)[0, :, :, 0]
        array([[0., 0., 1., 1.],
               [0., 0., 1., 1.],
               [2., 2., 3., 3.],
               [2., 2., 3., 3.]], dtype=float32)
    """

    __slots__ = ("_options", "_padding", "_plan", "__weakref__")

    _plan: _dgrad.Plan

    def __init__(
        self,
        input_sizes: Sizes,
        filter_shape: Sizes,
        strides: Sequence[int],
        padding: Padding,
        data_format: Union[str, bytes, None] = "NHWC",
        dilations: Optional[Sequence[int]] = (1, 1, 1, 1),
        dtype: npt.DTypeLike = "float32",
        *,
        threads: Optional[int] = None,
        accuracy: str = "fast",
        isa: Optional[str] = None,
        workspace_limit: Optional[int] = None,
    ) -> None:
        self._plan = _dgrad.Plan(
            input_sizes,
            filter_shape,
            strides,
            padding,
            data_format,
            dilations,
            _dtype(dtype),
            threads,
            accuracy,
            isa,
            workspace_limit,
        )
        self._padding = _plain_padding(padding)
        self._options = (threads, accuracy, isa, workspace_limit)

    def pack(self, filter: Tensor) -> _dgrad.PackedFilter:
        """Brings a filter into the layout of this plan's algorithm; a copy, made once.

        Raises:
            InvalidArgumentError: the shape or the type is not the plan's.
        """
        return self._plan.pack(filter)

    def __call__(
        self,
        filter: Union[Tensor, _dgrad.PackedFilter],
        out_backprop: Tensor,
        out: Optional[np.ndarray] = None,
    ) -> np.ndarray:
        """Computes in_backprop.

        Args:
            filter: an array of shape ``filter_shape``, or what :meth:`pack` returned (which saves
                packing it in every call).
            out_backprop: an array of shape ``out_backprop_shape``.
            out: the array to write to and return, as in :func:`dgrad.conv2d_backprop_input`.

        Returns:
            A NumPy array of shape ``input_sizes``, or ``out``.

        Raises:
            InvalidArgumentError: a shape or type is not the plan's, or the packed filter belongs to
                another geometry, algorithm or instruction set.
            TypeError, MemoryError, KeyboardInterrupt: as :func:`dgrad.conv2d_backprop_input`.
        """
        return self._plan.run(filter, out_backprop, out)

    @property
    def problem(self) -> str:
        """The problem string, which names this geometry and type everywhere."""
        return self._plan.problem

    @property
    def input_sizes(self) -> tuple[int, int, int, int]:
        """Shape of the result."""
        return self._plan.input_sizes

    @property
    def filter_shape(self) -> tuple[int, int, int, int]:
        """Shape of the filter."""
        return self._plan.filter_shape

    @property
    def out_backprop_shape(self) -> tuple[int, int, int, int]:
        """Shape of out_backprop."""
        return self._plan.out_backprop_shape

    @property
    def dtype(self) -> np.dtype:
        """Element type of the three tensors."""
        return self._plan.dtype

    @property
    def workspace_bytes(self) -> int:
        """Scratch memory of one run, taken from the library's pool."""
        return self._plan.workspace_bytes

    @property
    def packed_filter_bytes(self) -> int:
        """Size of a packed filter."""
        return self._plan.packed_filter_bytes

    @property
    def algorithm(self) -> str:
        """Name of the chosen algorithm."""
        return self._plan.algorithm

    @property
    def isa(self) -> str:
        """The instruction set in use."""
        return self._plan.isa

    @property
    def threads(self) -> int:
        """How many threads a run uses at most."""
        return self._plan.threads

    def explain(self) -> str:
        """Text for people: the geometry, the choice, and why other algorithms were refused."""
        return self._plan.explain()

    def __repr__(self) -> str:
        return (
            f"<dgrad.Plan {self.problem}, algorithm={self.algorithm}, isa={self.isa}, "
            f"threads={self.threads}>"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        threads, accuracy, isa, workspace_limit = self._options
        plan = self._plan
        return (
            _remake,
            (
                plan.input_sizes,
                plan.filter_shape,
                plan.strides,
                self._padding,
                plan.data_format,
                plan.dilations,
                plan.dtype.name,
                threads,
                accuracy,
                isa,
                workspace_limit,
            ),
        )


def _remake(*arguments: Any) -> Plan:
    threads, accuracy, isa, workspace_limit = arguments[7:]
    return Plan(
        *arguments[:7], threads=threads, accuracy=accuracy, isa=isa, workspace_limit=workspace_limit
    )


def _dtype(dtype: npt.DTypeLike) -> np.dtype:
    if dtype is None:  # NumPy reads None as float64
        raise TypeError("dtype must be a NumPy type or its name; given None")
    if isinstance(dtype, str) and dtype == "bfloat16":
        dtype = ml_dtypes.bfloat16
    try:
        found: np.dtype = np.dtype(dtype)
    except TypeError as error:
        raise TypeError(f"dtype must be a NumPy type or its name: {error}") from error
    return found


def _plain_padding(padding: Padding) -> Union[str, tuple[tuple[int, int], ...]]:
    """A checked padding in plain Python types, for pickle."""
    if isinstance(padding, str):
        return str(padding)
    if isinstance(padding, bytes):
        return padding.decode()
    return tuple((int(before), int(after)) for before, after in padding)
