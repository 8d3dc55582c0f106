"""PyTorch: the backward convolution, and the transposed convolution; channels_last for NHWC."""

import torch

from layers import tensors


class Backward:

    def __init__(self, threads):
        torch.set_num_threads(threads)
        torch.set_grad_enabled(False)

    def prepare(self, layer):
        rows, columns = layer.rows, layer.columns
        if rows.before != rows.after or columns.before != columns.after:
            raise ValueError("asymmetric padding is not expressible")
        memory = torch.contiguous_format if layer.nchw else torch.channels_last
        dtype = getattr(torch, layer.dtype)
        place = lambda array: torch.from_numpy(array.copy()).to(dtype).contiguous(
            memory_format=memory)
        filters, out = tensors(layer)
        self.layer = layer
        self.weight = place(filters.transpose(3, 2, 0, 1))
        self.out_backprop = place(out.transpose(0, 3, 1, 2))
        shape = (layer.batch, layer.channels, rows.size, columns.size)
        self.input = torch.empty(shape, dtype=dtype).contiguous(memory_format=memory)
        self.padding = [rows.before, columns.before]

    def call(self):
        layer = self.layer
        self.in_backprop = torch.ops.aten.convolution_backward(
            self.out_backprop, self.input, self.weight, None, layer.strides, self.padding,
            layer.dilations, False, [0, 0], layer.groups, (True, False, False))[0]

    def result(self):
        return self.in_backprop.double().numpy().transpose(0, 2, 3, 1)


class Transposed(Backward):

    def call(self):
        layer = self.layer
        self.in_backprop = torch.nn.functional.conv_transpose2d(
            self.out_backprop, self.weight, None, layer.strides, self.padding,
            [layer.rows.output_padding, layer.columns.output_padding], layer.groups,
            layer.dilations)
