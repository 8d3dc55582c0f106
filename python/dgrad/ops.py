"""TensorFlow's functions: conv2d_backprop_input and conv2d_transpose."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Optional, Union

import numpy as np

from . import _dgrad
from .errors import InvalidArgumentError

# What a tensor may be: a NumPy array, anything with DLPack or a buffer, nested lists of numbers.
Tensor = Any
Sizes = Union[Sequence[int], "np.ndarray[Any, Any]"]
Padding = Union[str, bytes, Sequence[Sequence[int]]]


def conv2d_backprop_input(
    input_sizes: Sizes,
    filter: Optional[Tensor] = None,
    out_backprop: Optional[Tensor] = None,
    strides: Optional[Sequence[int]] = None,
    padding: Optional[Padding] = None,
    use_cudnn_on_gpu: Optional[bool] = True,
    data_format: Union[str, bytes, None] = "NHWC",
    dilations: Optional[Sequence[int]] = [1, 1, 1, 1],  # noqa: B006 - TensorFlow's, never changed
    name: Optional[str] = None,
    filters: Optional[Tensor] = None,
    *,
    out: Optional[np.ndarray] = None,
    threads: Optional[int] = None,
    accuracy: str = "fast",
) -> np.ndarray:
    """Computes the gradient of a 2-D convolution with respect to its input.

    Shapes are for NHWC; with ``data_format="NCHW"`` the channels of ``input_sizes``,
    ``out_backprop``, ``strides``, ``dilations``, ``padding`` and the result come second. Sizes
    count elements.

    Args:
        input_sizes: shape of the result, [N, H, W, C]: list, tuple, range or 1-D integer array.
            Or [H, W]: N is taken from ``out_backprop`` and C from ``filter``.
        filter: [KH, KW, C / groups, OC], whatever the data format. The number of groups is C
            divided by its third dimension.
        out_backprop: the incoming gradient, [N, OH, OW, OC], of the same element type.
        strides: list or tuple of 4, 1 for batch and channels.
        padding: "SAME", "VALID" or 4 pairs (before, after), zero for batch and channels.
        use_cudnn_on_gpu: has no effect.
        data_format: "NHWC" or "NCHW"; None is NHWC.
        dilations: list or tuple of 4, 1 for batch and channels; None is all 1.
        name: put in front of error messages.
        filters: another name of ``filter``.
        out: the array to write to and return: of exact shape and type, writeable, C-contiguous,
            aligned and sharing no memory with the tensors. Unspecified after an error.
        threads: how many threads to use; None is :func:`get_num_threads`. The result does not
            depend on it, to the bit.
        accuracy: "fast", or "strict" for direct summation only.

    The tensors are NumPy arrays with any strides, objects with ``__dlpack__`` in the memory of the
    CPU, objects with the buffer protocol or ``__array__``, or nested lists (of floats: float32, of
    ints: int32, or of the type of the other tensor), of type float16, bfloat16
    (``ml_dtypes.bfloat16``), float32, float64 or int32. Half types are summed in float32 and
    rounded once, int32 is exact modulo 2**32.

    Returns:
        A NumPy array of shape ``input_sizes`` and of the type of ``filter``, or ``out``.

    Raises:
        TypeError: an argument is of the wrong Python type. There are no casts: bool and float are
            no integers, and two arrays of different types are an InvalidArgumentError.
        InvalidArgumentError: a ValueError; a value is illegal or the shapes do not fit.
        UnimplementedError: a NotImplementedError; a stride or dilation of batch or channels.
        MemoryError: the result or the workspace does not fit into memory.
        KeyboardInterrupt: by Ctrl-C during the computation.

    Example:
        >>> import dgrad, numpy as np
        >>> filter = np.ones((2, 2, 1, 1), np.float32)
        >>> gradient = np.ones((1, 2, 2, 1), np.float32)
        >>> dgrad.conv2d_backprop_input([1, 3, 3, 1], filter, gradient, strides=[1, 1, 1, 1],
        ...                             padding="VALID")[0, :, :, 0]
        array([[1., 2., 1.],
               [2., 4., 2.],
               [1., 2., 1.]], dtype=float32)
    """
    try:
        return _dgrad.conv2d_backprop_input(
            input_sizes,
            filter,
            out_backprop,
            strides,
            padding,
            use_cudnn_on_gpu,
            data_format,
            dilations,
            name,
            filters,
            out,
            threads,
            accuracy,
        )
    except Exception as error:
        _prefix(error, name)
        raise


def conv2d_transpose(
    input: Tensor,
    filters: Tensor,
    output_shape: Sizes,
    strides: Union[int, Sequence[int]],
    padding: Padding = "SAME",
    data_format: Union[str, bytes, None] = "NHWC",
    dilations: Union[int, Sequence[int], None] = None,
    name: Optional[str] = None,
    *,
    out: Optional[np.ndarray] = None,
    threads: Optional[int] = None,
    accuracy: str = "fast",
) -> np.ndarray:
    """Computes a transposed 2-D convolution: conv2d_backprop_input under its other name.

    Args:
        input: [N, OH, OW, OC] (the ``out_backprop`` of :func:`conv2d_backprop_input`).
        filters: [KH, KW, C / groups, OC].
        output_shape: shape of the result, [N, H, W, C], or [H, W].
        strides: an int, a list of 1 (both spatial dimensions), of 2 ([rows, columns]) or of 4
            (in the order of ``data_format``); None is all 1.
        padding: "SAME", "VALID" or 4 pairs, as in :func:`conv2d_backprop_input`.
        data_format: "NHWC" or "NCHW"; None is NHWC.
        dilations: as ``strides``.
        name: put in front of error messages.
        out, threads, accuracy: as in :func:`conv2d_backprop_input`.

    Returns:
        A NumPy array of shape ``output_shape`` and of the type of ``filters``, or ``out``.

    Raises:
        TypeError, InvalidArgumentError, UnimplementedError, MemoryError, KeyboardInterrupt: as
            :func:`conv2d_backprop_input`. Its messages call output_shape input_sizes, input
            out_backprop and filters filter.

    Example:
        >>> import dgrad, numpy as np
        >>> x = np.arange(4, dtype=np.float32).reshape(1, 2, 2, 1)
        >>> dgrad.conv2d_transpose(x, np.ones((2, 2, 1, 1), np.float32), [1, 4, 4, 1],
        ...                        strides=2)[0, :, :, 0]
        array([[0., 0., 1., 1.],
               [0., 0., 1., 1.],
               [2., 2., 3., 3.],
               [2., 2., 3., 3.]], dtype=float32)
    """
    try:
        channels_first = isinstance(data_format, (str, bytes)) and data_format[:2] in ("NC", b"NC")
        return _dgrad.conv2d_backprop_input(
            output_shape,
            filters,
            input,
            _four(strides, channels_first, "strides"),
            padding,
            None,
            data_format,
            _four(dilations, channels_first, "dilations"),
            name,
            None,
            out,
            threads,
            accuracy,
        )
    except Exception as error:
        _prefix(error, name)
        raise


def _four(value: Any, channels_first: bool, argument: str) -> Any:
    """An int or 1, 2 or 4 elements as 4. What is no integer is left for the bindings to refuse."""
    if value is None:
        return [1, 1, 1, 1]
    if isinstance(value, np.ndarray) and value.ndim == 1:
        value = value.tolist()
    elif not isinstance(value, (list, tuple)):
        if isinstance(value, bool) or not hasattr(value, "__index__"):
            raise TypeError(
                f"{argument} must be an integer or a list or tuple of 1, 2 or 4 integers; "
                f"given an object of type {type(value).__name__}"
            )
        value = [value]
    if len(value) == 4:
        return value
    if len(value) not in (1, 2):
        raise InvalidArgumentError(f"{argument} must have 1, 2 or 4 elements; given {len(value)}")
    rows, columns = value[0], value[-1]
    return [1, 1, rows, columns] if channels_first else [1, rows, columns, 1]


def _prefix(error: Exception, name: Any) -> None:
    """Puts "name: " in front of the message."""
    if isinstance(name, str) and len(error.args) == 1 and isinstance(error.args[0], str):
        error.args = (f"{name}: {error.args[0]}",)
