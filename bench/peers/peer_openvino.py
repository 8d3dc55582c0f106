"""OpenVINO: a compiled model, tensors bound beforehand."""

import io

import numpy as np
import openvino

from onnx_layer import onnx_layer

PRECISIONS = {"float16": "f16", "bfloat16": "bf16"}


class OpenVino:

    def __init__(self, threads):
        self.threads = threads

    def prepare(self, layer):
        serialized, out = onnx_layer(layer)
        self.dtype = out.dtype
        core = openvino.Core()
        self.model = core.compile_model(
            core.read_model(io.BytesIO(serialized)), "CPU", {
                "INFERENCE_PRECISION_HINT": PRECISIONS.get(layer.dtype, "f32"),
                "INFERENCE_NUM_THREADS": self.threads,
                "PERFORMANCE_HINT": "LATENCY",
            })
        self.request = self.model.create_infer_request()
        self.out_backprop = out  # the tensor shares its memory
        if layer.dtype == "bfloat16":
            tensor = openvino.Tensor(out.view(np.uint16), list(out.shape), openvino.Type.bf16)
        else:
            tensor = openvino.Tensor(out)
        self.request.set_input_tensor(tensor)

    def call(self):
        self.request.infer()

    def result(self):
        result = np.array(self.request.get_output_tensor().data)
        if self.dtype.name == "bfloat16":
            result = result.view(self.dtype)
        return result.astype(np.float64).transpose(0, 2, 3, 1)
