"""JAX: the linear transpose of the convolution, compiled."""

import jax
import jax.numpy as jnp
import numpy as np

from layers import tensors


class Jax:

    def __init__(self, threads):  # XLA takes its threads from the processors it may use
        pass

    def prepare(self, layer):
        if layer.dtype == "float64":
            jax.config.update("jax_enable_x64", True)
        dtype = getattr(jnp, layer.dtype)
        filters, out = tensors(layer)
        if layer.nchw:
            out = out.transpose(0, 3, 1, 2).copy()
        self.operands = jnp.asarray(filters, dtype), jnp.asarray(out, dtype)
        self.nchw = layer.nchw
        pads = layer.pads
        shape = jax.ShapeDtypeStruct(tuple(layer.sizes), dtype)

        def forward(image, filter):
            return jax.lax.conv_general_dilated(
                image, filter, layer.strides, [pads[:2], pads[2:]], rhs_dilation=layer.dilations,
                dimension_numbers=(layer.layout, "HWIO", layer.layout),
                feature_group_count=layer.groups)

        def backward(filter, out_backprop):
            return jax.linear_transpose(lambda image: forward(image, filter), shape)(out_backprop)[0]

        self.function = jax.jit(backward)

    def call(self):
        self.in_backprop = self.function(*self.operands).block_until_ready()

    def result(self):
        result = np.asarray(self.in_backprop).astype(np.float64)
        return result.transpose(0, 2, 3, 1) if self.nchw else result
