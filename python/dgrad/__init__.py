"""The gradient of a 2-D convolution with respect to its input, on the CPU.

This is TensorFlow's ``conv2d_backprop_input``, which is also the forward pass of a transposed
convolution::

    in_backprop[n, h, w, c] = sum over kh, kw, oh, ow, oc of
                              filter[kh, kw, c, oc] * out_backprop[n, oh, ow, oc]
                              for oh * stride_h + kh * dilation_h - pad_top == h, the same in w

Two ways in: :func:`conv2d_backprop_input` (or :func:`conv2d_transpose`) for single calls, and
:class:`Plan` for a geometry that is used again and again.
"""

from . import errors as errors  # first: the module _dgrad takes its exceptions from there
from . import _dgrad
from ._dgrad import PackedFilter
from .errors import CancelledError, InvalidArgumentError, UnimplementedError
from .ops import conv2d_backprop_input, conv2d_transpose
from .plan import Plan
from .runtime import get_num_threads, info, set_num_threads, trim

__version__: str = _dgrad.version()

__all__ = [
    "CancelledError",
    "InvalidArgumentError",
    "PackedFilter",
    "Plan",
    "UnimplementedError",
    "__version__",
    "conv2d_backprop_input",
    "conv2d_transpose",
    "get_num_threads",
    "info",
    "set_num_threads",
    "trim",
]
