"""TensorFlow: the raw operation in a compiled function."""

import numpy as np
import tensorflow as tf

from layers import tensors


class TensorFlow:

    def __init__(self, threads):
        tf.config.threading.set_intra_op_parallelism_threads(threads)
        tf.config.threading.set_inter_op_parallelism_threads(1)

    def prepare(self, layer):
        dtype = getattr(tf, layer.dtype)
        filters, out = tensors(layer)
        if layer.nchw:
            out = out.transpose(0, 3, 1, 2).copy()
        self.filter, self.out_backprop = tf.constant(filters, dtype), tf.constant(out, dtype)
        self.nchw = layer.nchw
        pads = layer.pads
        if not any(pads):
            padding = dict(padding="VALID")
        elif pads == [*layer.rows.same, *layer.columns.same]:  # which has faster paths
            padding = dict(padding="SAME")
        else:
            pairs = layer.ordered([0, 0], pads[:2], pads[2:], [0, 0])
            padding = dict(padding="EXPLICIT", explicit_paddings=sum(pairs, []))

        @tf.function(autograph=False)
        def function(filter, out_backprop):
            return tf.raw_ops.Conv2DBackpropInput(
                input_sizes=layer.sizes, filter=filter, out_backprop=out_backprop,
                strides=layer.ordered(1, *layer.strides, 1), data_format=layer.layout,
                dilations=layer.ordered(1, *layer.dilations, 1), **padding)

        self.function = function.get_concrete_function(
            tf.TensorSpec(self.filter.shape, dtype), tf.TensorSpec(self.out_backprop.shape, dtype))

    def call(self):
        self.in_backprop = self.function(self.filter, self.out_backprop)

    def result(self):
        result = np.asarray(self.in_backprop).astype(np.float64)
        return result.transpose(0, 2, 3, 1) if self.nchw else result
