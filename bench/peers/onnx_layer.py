"""A layer as an ONNX model of one ConvTranspose whose filter is a constant."""

import ml_dtypes
import numpy as np
from onnx import TensorProto, helper

from layers import tensors

TYPES = {
    "float16": TensorProto.FLOAT16, "bfloat16": TensorProto.BFLOAT16,
    "float32": TensorProto.FLOAT, "float64": TensorProto.DOUBLE,
}


def onnx_layer(layer):
    """(serialized model, out_backprop in NCHW)."""
    bfloat16 = layer.dtype == "bfloat16"
    dtype = ml_dtypes.bfloat16 if bfloat16 else np.dtype(layer.dtype)
    filters, out = tensors(layer)
    weight = filters.transpose(3, 2, 0, 1).astype(dtype)
    out = np.ascontiguousarray(out.transpose(0, 3, 1, 2)).astype(dtype)
    rows, columns, onnx_type = layer.rows, layer.columns, TYPES[layer.dtype]
    node = helper.make_node(
        "ConvTranspose", ["y", "w"], ["x"], strides=layer.strides, dilations=layer.dilations,
        pads=[rows.before, columns.before, rows.after, columns.after], group=layer.groups,
        output_padding=[rows.output_padding, columns.output_padding],
        kernel_shape=[rows.taps, columns.taps])
    x_shape = [layer.batch, layer.channels, rows.size, columns.size]
    graph = helper.make_graph(
        [node], "layer", [helper.make_tensor_value_info("y", onnx_type, out.shape)],
        [helper.make_tensor_value_info("x", onnx_type, x_shape)],
        [helper.make_tensor("w", onnx_type, weight.shape, weight.tobytes(), raw=True)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22 if bfloat16 else 13)])
    model.ir_version = 10 if bfloat16 else 8
    return model.SerializeToString(), out
