"""The tables of docs/semantics.md, "Arguments of other libraries", as functions.

Each function turns a framework's arguments into a Call. The answers of the frameworks are stored
(see framework_cases.py); where a framework is installed, new random cases are compared with it.
Everything is small integers, so the comparison is exact.
"""

import dataclasses
import json

import framework_cases
import numpy as np
import pytest

import dgrad


@dataclasses.dataclass
class Call:
    """A transposed convolution by crops: `before` rows and columns are cut off the front of the
    full result (a negative number adds zeros there), and `size` of them are kept."""

    out_backprop: np.ndarray
    filter: np.ndarray  # HWIO
    stride: list
    dilation: list
    before: list
    size: list
    layout: str = "NCHW"

    def axis(self, i):
        """(pad_before, pad_after, rows of the call, zero rows before, zero rows after)."""
        out = self.out_backprop.shape[i + (2 if self.layout == "NCHW" else 1)]
        full = (out - 1) * self.stride[i] + (self.filter.shape[i] - 1) * self.dilation[i] + 1
        zeros_before = max(0, -self.before[i])
        pad_before = max(0, self.before[i])
        rows = self.size[i] - zeros_before
        # Up to stride - 1 rows past the full result are legal as they are.
        zeros_after = max(0, rows - (full - pad_before) - (self.stride[i] - 1))
        rows -= zeros_after
        return pad_before, max(0, full - pad_before - rows), rows, zeros_before, zeros_after

    def order(self, spatial, batch, channels):
        if self.layout == "NCHW":
            return [batch, channels, *spatial]
        return [batch, *spatial, channels]

    def run(self, groups):
        axes = [self.axis(0), self.axis(1)]
        channels = self.filter.shape[2] * groups
        result = dgrad.conv2d_backprop_input(
            self.order([a[2] for a in axes], self.out_backprop.shape[0], channels),
            np.ascontiguousarray(self.filter),
            self.out_backprop,
            strides=self.order(self.stride, 1, 1),
            padding=self.order([list(a[:2]) for a in axes], [0, 0], [0, 0]),
            data_format=self.layout,
            dilations=self.order(self.dilation, 1, 1),
        )
        return np.pad(result, self.order([a[3:] for a in axes], (0, 0), (0, 0)))


def extents(filter_, dilation):
    return [(filter_.shape[i] - 1) * dilation[i] + 1 for i in range(2)]


def full_sizes(spatial, stride, extent):
    return [(o - 1) * s + e for o, s, e in zip(spatial, stride, extent)]


# ---- The tables ------------------------------------------------------------------------------


def from_tensorflow(args, x, w):
    """conv2d_backprop_input takes the same arguments; conv2d_transpose has short forms of them."""

    def four(values):
        values = [values] * 2 if isinstance(values, int) else list(values)
        if len(values) == 1:
            values *= 2
        if len(values) == 4:
            return values
        return [1, *values, 1] if args["data_format"] == "NHWC" else [1, 1, *values]

    return dgrad.conv2d_backprop_input(
        args["input_sizes"],
        w,
        x,
        strides=four(args["strides"]),
        padding=args["padding"],
        data_format=args["data_format"],
        dilations=four(args["dilations"]),
    )


def from_pytorch(args, x, w):
    filter_ = w.transpose(2, 3, 1, 0)  # [Cin, Cout/groups, KH, KW] -> HWIO
    if args["function"] == "conv2d_input":
        return dgrad.conv2d_backprop_input(
            args["input_size"],
            np.ascontiguousarray(filter_),
            x,
            strides=[1, 1, *args["stride"]],
            padding=[[0, 0], [0, 0], *([p, p] for p in args["padding"])],
            data_format="NCHW",
            dilations=[1, 1, *args["dilation"]],
        )
    full = full_sizes(x.shape[2:], args["stride"], extents(filter_, args["dilation"]))
    size = [
        f - 2 * p + op for f, p, op in zip(full, args["padding"], args["output_padding"])
    ]
    call = Call(x, filter_, args["stride"], args["dilation"], args["padding"], size)
    return call.run(args["groups"])


def from_jax(args, x, w):
    general = args["function"] == "conv_general_dilated"
    groups = args.get("feature_group_count", 1)
    stride, dilation = args["lhs_dilation" if general else "strides"], args["rhs_dilation"]
    if args.get("transpose_kernel"):
        filter_ = w  # already [rows, columns, result channels, lhs channels]
    else:
        rows, columns, lhs, result = w.shape  # lhs channels per group, result channels in all
        flipped = w[::-1, ::-1].reshape(rows, columns, lhs, groups, result // groups)
        filter_ = flipped.transpose(0, 1, 4, 3, 2).reshape(
            rows, columns, result // groups, groups * lhs
        )
    extent = extents(filter_, dilation)
    pads = args["padding"]
    if isinstance(pads, str):
        pads = [jax_padding(pads, e, s) for e, s in zip(extent, stride)]
    elif args.get("use_consistent_padding"):
        pads = [(e - 1 - p[0], e - 1 - p[1]) for e, p in zip(extent, pads)]
    before = [e - 1 - p[0] for e, p in zip(extent, pads)]
    full = full_sizes(x.shape[1:3], stride, extent)
    size = [f - 2 * (e - 1) + sum(p) for f, e, p in zip(full, extent, pads)]
    return Call(x, filter_, stride, dilation, before, size, "NHWC").run(groups)


def jax_padding(name, extent, stride):
    if name == "VALID":
        return extent - 1, stride - 1 + max(extent - stride, 0)
    total = extent + stride - 2
    first = extent - 1 if stride > extent - 1 else (total + 1) // 2
    return first, total - first


def cropped(full, size, larger_half_first):
    """What is cut off the front when the size of the result is given."""
    total = [max(0, f - s) for f, s in zip(full, size)]
    return [t - t // 2 if larger_half_first else t // 2 for t in total]


def from_onnx(args, x, w):
    groups = args.get("group", 1)
    stride, dilation = args.get("strides", [1, 1]), args.get("dilations", [1, 1])
    filter_ = w.transpose(2, 3, 1, 0)  # [C, M/group, kH, kW] -> HWIO
    extra = args.get("output_padding", [0, 0])
    full = full_sizes(x.shape[2:], stride, extents(filter_, dilation))
    full = [f + e for f, e in zip(full, extra)]
    mode = args.get("auto_pad", "NOTSET")
    if "output_shape" in args:
        size = args["output_shape"][-2:]
        before = cropped(full, size, mode != "SAME_UPPER")
    elif mode in ("SAME_UPPER", "SAME_LOWER"):
        # ONNX's text has no min(); ONNX Runtime does, which shows where the stride is larger than
        # the extent of the filter.
        size = [min(f, o * s) for f, o, s in zip(full, x.shape[2:], stride)]
        before = cropped(full, size, mode == "SAME_LOWER")
    else:
        pads = args.get("pads", [0, 0, 0, 0])
        before = pads[:2]
        size = [f - pads[i] - pads[i + 2] for i, f in enumerate(full)]
    return Call(x, filter_, stride, dilation, before, size).run(groups)


def from_openvino(args, x, w):
    groups = 1
    if w.ndim == 5:  # [groups, C_in/groups, C_out/groups, kH, kW]
        groups = w.shape[0]
        w = w.reshape(-1, *w.shape[2:])
    filter_ = w.transpose(2, 3, 1, 0)
    stride, dilation = args["strides"], args["dilations"]
    extra = args.get("output_padding", [0, 0])
    full = full_sizes(x.shape[2:], stride, extents(filter_, dilation))
    full = [f + e for f, e in zip(full, extra)]
    mode = args.get("auto_pad", "explicit")
    before = args.get("pads_begin", [0, 0])
    if "output_shape" in args:
        size = args["output_shape"]
        if mode in ("same_upper", "same_lower"):
            before = cropped(full, size, mode == "same_upper")
        elif groups > 1:  # seen in 2026.4: the grouped operation then ignores pads_begin
            before = [0, 0]
    else:
        size = [f - b - e for f, b, e in zip(full, before, args["pads_end"])]
    return Call(x, filter_, stride, dilation, before, size).run(groups)


CONVERT = {
    "tensorflow": from_tensorflow,
    "pytorch": from_pytorch,
    "jax": from_jax,
    "onnxruntime": from_onnx,
    "openvino": from_openvino,
}


# ---- The tests -------------------------------------------------------------------------------


@pytest.mark.parametrize("framework", framework_cases.FRAMEWORKS)
def test_stored_answers(framework):
    count = 0
    for args, x, w, answer in framework_cases.load(framework):
        result = CONVERT[framework](args, x, w)
        np.testing.assert_array_equal(result, answer, err_msg=str((args, x.shape, w.shape)))
        count += 1
    assert count >= 40


@pytest.mark.parametrize("framework", framework_cases.FRAMEWORKS)
def test_installed_framework(framework):
    pytest.importorskip(framework_cases.MODULES.get(framework, framework))
    if framework == "onnxruntime":
        pytest.importorskip("onnx")
    for args, x, w in framework_cases.cases(framework, seed=2, count=60):
        answer = framework_cases.run(framework, args, x, w)
        result = CONVERT[framework](args, x, w)
        np.testing.assert_array_equal(result, answer, err_msg=str((args, x.shape, w.shape)))


ONNX_FILE = framework_cases.DATA / "real" / "onnx_convtranspose_cases.json"
ONNX_CASES = {
    name: case for name, case in json.loads(ONNX_FILE.read_text()).items() if len(case["x"]) <= 4
}


@pytest.mark.parametrize("name", ONNX_CASES)
def test_onnx_standard_cases(name):
    """ONNX's own node tests; a 1-D case is a 2-D one with a single row."""
    args = dict(ONNX_CASES[name]["attrs"])
    with np.load(ONNX_FILE.with_suffix(".npz")) as stored:
        x, w, y = (stored[f"{name}__{k}"] for k in "xwy")
        bias = stored[f"{name}__b"] if ONNX_CASES[name]["bias"] else None
    if x.ndim == 3:
        assert not args
        x, w, y = (a[:, :, None, :] for a in (x, w, y))
    result = from_onnx(args, x, w)
    if bias is not None:
        result = result + bias[:, None, None]
    np.testing.assert_allclose(result, y, rtol=0, atol=2e-6 * np.abs(y).max())
