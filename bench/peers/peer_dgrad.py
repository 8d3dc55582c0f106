"""dgrad through its Python package: one-shot calls, and plans with a packed filter."""

import dgrad
import ml_dtypes
import numpy as np

from layers import tensors


class OneShot:
    """The filter is packed in every call."""

    def __init__(self, threads):
        dgrad.set_num_threads(threads)

    def prepare(self, layer):
        dtype = ml_dtypes.bfloat16 if layer.dtype == "bfloat16" else np.dtype(layer.dtype)
        filters, out = tensors(layer)
        if layer.nchw:
            out = out.transpose(0, 3, 1, 2).copy()
        self.filter, self.out_backprop = filters.astype(dtype), out.astype(dtype)
        self.sizes, self.nchw = layer.sizes, layer.nchw
        pads = layer.pads
        self.arguments = dict(
            strides=layer.ordered(1, *layer.strides, 1),
            padding=layer.ordered([0, 0], pads[:2], pads[2:], [0, 0]),
            dilations=layer.ordered(1, *layer.dilations, 1),
            data_format=layer.layout)

    def call(self):
        self.in_backprop = dgrad.conv2d_backprop_input(
            self.sizes, filter=self.filter, out_backprop=self.out_backprop, **self.arguments)

    def result(self):
        result = np.asarray(self.in_backprop).astype(np.float64)
        return result.transpose(0, 2, 3, 1) if self.nchw else result


class Plan(OneShot):
    """With a plan, a packed filter and the caller's result array."""

    def prepare(self, layer):
        super().prepare(layer)
        self.plan = dgrad.Plan(self.sizes, self.filter.shape, dtype=layer.dtype, **self.arguments)
        self.packed = self.plan.pack(self.filter)
        self.in_backprop = np.empty(self.sizes, self.filter.dtype)

    def call(self):
        self.plan(self.packed, self.out_backprop, out=self.in_backprop)
