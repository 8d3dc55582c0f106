"""Transposed convolutions as five frameworks spell them: random cases and how to run them.

`python tests/python/framework_cases.py FRAMEWORK` (with that framework installed) writes
tests/data/conversions/FRAMEWORK.npz: arguments, inputs and the framework's answers. Inputs are
small integers, so every answer is exact and is stored as int16. test_conversions.py compares the
library with the stored answers, and with the framework itself where it is installed.
"""

import json
import pathlib
import sys

import numpy as np

DATA = pathlib.Path(__file__).resolve().parents[1] / "data"
FRAMEWORKS = ("tensorflow", "pytorch", "jax", "onnxruntime", "openvino")
MODULES = {"pytorch": "torch"}


def _integers(rng, shape):
    return rng.integers(-3, 4, shape).astype(np.float32)


def _pair(rng, low, high):
    return [int(v) for v in rng.integers(low, high + 1, 2)]


def _geometry(rng):
    """stride, dilation, filter size and size of out_backprop, each [rows, columns]."""
    dilation = _pair(rng, 1, 3) if rng.random() < 0.5 else [1, 1]
    return _pair(rng, 1, 4), dilation, _pair(rng, 1, 4), _pair(rng, 1, 5)


def _channels(rng):
    """groups, channels of in_backprop per group, channels of out_backprop per group."""
    groups = int(rng.integers(2, 4)) if rng.random() < 0.4 else 1
    return groups, *_pair(rng, 1, 3)


def _extent(taps, dilation):
    return [(k - 1) * d + 1 for k, d in zip(taps, dilation)]


def _full(out, stride, extent):
    return [(o - 1) * s + e for o, s, e in zip(out, stride, extent)]


# ---- TensorFlow ------------------------------------------------------------------------------


def tensorflow_case(rng):
    stride, dilation, taps, out = _geometry(rng)
    padding = ["SAME", "VALID", "EXPLICIT"][int(rng.integers(3))]
    layout = "NCHW" if padding != "EXPLICIT" and rng.random() < 0.4 else "NHWC"
    groups, c, oc = _channels(rng)
    if padding == "EXPLICIT":  # TensorFlow's CPU kernel then has neither dilation nor groups
        dilation, groups = [1, 1], 1
    extent = _extent(taps, dilation)
    if padding == "SAME":
        size = [(o - 1) * s + int(rng.integers(1, s + 1)) for o, s in zip(out, stride)]
    else:
        pads = [_pair(rng, 0, 2) for _ in range(2)] if padding == "EXPLICIT" else [[0, 0]] * 2
        slack = [int(rng.integers(0, s)) for s in stride]
        size = [f - sum(p) + x for f, p, x in zip(_full(out, stride, extent), pads, slack)]
        if min(size) < 1:
            return None
        if padding == "EXPLICIT":
            padding = [[0, 0], *pads, [0, 0]]
    n = int(rng.integers(1, 3))

    def order(spatial, batch, channels):
        return [batch, *spatial, channels] if layout == "NHWC" else [batch, channels, *spatial]

    args = {
        "function": ["conv2d_backprop_input", "conv2d_transpose"][int(rng.integers(2))],
        "input_sizes": order(size, n, c * groups),
        "strides": order(stride, 1, 1),
        "dilations": order(dilation, 1, 1),
        "padding": padding,
        "data_format": layout,
    }
    if args["function"] == "conv2d_transpose":  # the short forms of its arguments
        args["strides"] = [stride, args["strides"]][int(rng.integers(2))]
        args["dilations"] = [dilation, args["dilations"]][int(rng.integers(2))]
    x = _integers(rng, order(out, n, oc * groups))
    return args, x, _integers(rng, [*taps, c, oc * groups])


def tensorflow_run(args, x, w):
    import tensorflow as tf

    args = dict(args)
    name, sizes = args.pop("function"), args.pop("input_sizes")
    if name == "conv2d_transpose":
        return tf.nn.conv2d_transpose(x, w, sizes, **args).numpy()
    return tf.compat.v1.nn.conv2d_backprop_input(sizes, w, x, **args).numpy()


# ---- PyTorch ---------------------------------------------------------------------------------


def pytorch_case(rng):
    stride, dilation, taps, out = _geometry(rng)
    groups, c, oc = _channels(rng)
    limit = [max(s, d) - 1 for s, d in zip(stride, dilation)]
    padding = _pair(rng, 0, 3)
    output_padding = [int(rng.integers(0, m + 1)) for m in limit]
    size = [
        f - 2 * p + op
        for f, p, op in zip(_full(out, stride, _extent(taps, dilation)), padding, output_padding)
    ]
    if min(size) < 1:
        return None
    if rng.random() < 0.25:
        return _conv2d_input_case(rng, stride, dilation, taps, out, padding, groups, c, oc)
    args = {
        "function": "conv_transpose2d",
        "stride": stride,
        "padding": padding,
        "output_padding": output_padding,
        "groups": groups,
        "dilation": dilation,
    }
    x = _integers(rng, [int(rng.integers(1, 3)), oc * groups, *out])
    return args, x, _integers(rng, [oc * groups, c, *taps])


def _conv2d_input_case(rng, stride, dilation, taps, out, padding, groups, c, oc):
    full = _full(out, stride, _extent(taps, dilation))
    size = [f - 2 * p + int(rng.integers(0, s)) for f, p, s in zip(full, padding, stride)]
    if min(size) < 1:
        return None
    n = int(rng.integers(1, 3))
    args = {
        "function": "conv2d_input",
        "input_size": [n, c * groups, *size],
        "stride": stride,
        "padding": padding,
        "groups": groups,
        "dilation": dilation,
    }
    x = _integers(rng, [n, oc * groups, *out])
    return args, x, _integers(rng, [oc * groups, c, *taps])


def pytorch_run(args, x, w):
    import torch

    args = dict(args)
    x, w = torch.from_numpy(x), torch.from_numpy(w)
    if args.pop("function") == "conv2d_input":
        return torch.nn.grad.conv2d_input(args.pop("input_size"), w, x, **args).numpy()
    return torch.nn.functional.conv_transpose2d(x, w, **args).numpy()


# ---- JAX -------------------------------------------------------------------------------------


def jax_case(rng):
    stride, dilation, taps, out = _geometry(rng)
    extent = _extent(taps, dilation)
    pads = [_pair(rng, -1, e + 2) for e in extent]
    full = _full(out, stride, extent)
    if min(f - 2 * (e - 1) + sum(p) for f, e, p in zip(full, extent, pads)) < 1:
        return None
    if rng.random() < 0.6:
        groups, c, oc = 1, *_pair(rng, 1, 3)
        consistent = bool(rng.random() < 0.3)
        transpose = bool(rng.random() < 0.5)
        padding = ["SAME", "VALID", pads][int(rng.integers(3))]
        if consistent and padding is pads:
            padding = [_pair(rng, 0, 2) for _ in range(2)]
            if min(f - sum(p) for f, p in zip(full, padding)) < 1:
                return None
        args = {
            "function": "conv_transpose",
            "strides": stride,
            "padding": padding,
            "rhs_dilation": dilation,
            "transpose_kernel": transpose,
            "use_consistent_padding": consistent,
        }
        channels = [c, oc] if transpose else [oc, c]
    else:
        groups, c, oc = _channels(rng)
        args = {
            "function": "conv_general_dilated",
            "window_strides": [1, 1],
            "padding": pads,
            "lhs_dilation": stride,
            "rhs_dilation": dilation,
            "feature_group_count": groups,
        }
        channels = [oc, c * groups]
    x = _integers(rng, [int(rng.integers(1, 3)), *out, oc * groups])
    return args, x, _integers(rng, [*taps, *channels])


def jax_run(args, x, w):
    from jax import lax

    args = dict(args)
    function = getattr(lax, args.pop("function"))
    if not isinstance(args["padding"], str):
        args["padding"] = [tuple(p) for p in args["padding"]]
    if function is lax.conv_general_dilated:
        args["dimension_numbers"] = ("NHWC", "HWIO", "NHWC")
    return np.asarray(function(x, w, **args))


# ---- ONNX ------------------------------------------------------------------------------------


def _padding_attributes(rng, full, stride, explicit, same):
    """One of: pads, pads and output_padding, output_shape, an automatic padding."""
    kind = int(rng.integers(4))
    if kind <= 1:
        pads = [_pair(rng, 0, 2) for _ in range(2)]
        extra = [int(rng.integers(0, s)) if kind else 0 for s in stride]
        if min(f - sum(p) + e for f, p, e in zip(full, pads, extra)) < 1:
            return None
        return {**explicit(pads), **({"output_padding": extra} if kind else {})}
    if kind == 2:
        shape = [max(1, f - int(rng.integers(0, 4))) for f in full]
        mode = same[int(rng.integers(len(same)))]
        front = explicit([[int(rng.integers(0, 2)), 0] for _ in range(2)])
        return {"output_shape": shape, "auto_pad": mode, **(front if mode == same[0] else {})}
    return {"auto_pad": same[int(rng.integers(len(same)))]}


def onnxruntime_case(rng):
    stride, dilation, taps, out = _geometry(rng)
    groups, c, oc = _channels(rng)
    padding = _padding_attributes(
        rng,
        _full(out, stride, _extent(taps, dilation)),
        stride,
        lambda p: {"pads": [p[0][0], p[1][0], p[0][1], p[1][1]]},
        ["NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"],
    )
    if padding is None:
        return None
    args = {"strides": stride, "dilations": dilation, "group": groups, **padding}
    x = _integers(rng, [int(rng.integers(1, 3)), oc * groups, *out])
    return args, x, _integers(rng, [oc * groups, c, *taps])


def onnxruntime_run(args, x, w):
    import onnxruntime as ort
    from onnx import TensorProto, helper

    node = helper.make_node("ConvTranspose", ["x", "w"], ["y"], **args)
    graph = helper.make_graph(
        [node],
        "g",
        [
            helper.make_tensor_value_info("x", TensorProto.FLOAT, x.shape),
            helper.make_tensor_value_info("w", TensorProto.FLOAT, w.shape),
        ],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    options = ort.SessionOptions()
    options.log_severity_level = 4
    session = ort.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    return session.run(None, {"x": x, "w": w})[0]


# ---- OpenVINO --------------------------------------------------------------------------------


def openvino_case(rng):
    stride, dilation, taps, out = _geometry(rng)
    groups, c, oc = _channels(rng)
    padding = _padding_attributes(
        rng,
        _full(out, stride, _extent(taps, dilation)),
        stride,
        lambda p: {"pads_begin": [p[0][0], p[1][0]], "pads_end": [p[0][1], p[1][1]]},
        ["explicit", "same_upper", "same_lower", "valid"],
    )
    if padding is None or "auto_pad" in padding and "output_shape" not in padding:
        return None  # OpenVINO's automatic padding acts on output_shape only
    args = {"strides": stride, "dilations": dilation, **padding}
    x = _integers(rng, [int(rng.integers(1, 3)), oc * groups, *out])
    if groups == 1:  # OpenVINO's CPU plug-in refuses the grouped operation with one group
        return args, x, _integers(rng, [oc, c, *taps])
    return args, x, _integers(rng, [groups, oc, c, *taps])


def openvino_run(args, x, w):
    import openvino as ov
    from openvino import opset8 as ops

    args = dict(args)
    make = ops.convolution_backprop_data if w.ndim == 4 else ops.group_convolution_backprop_data
    shape = args.pop("output_shape", None)
    data = ops.parameter(x.shape, np.float32)
    node = make(
        data,
        ops.constant(w),
        output_shape=None if shape is None else ops.constant(np.array(shape, np.int64)),
        **args,
    )
    model = ov.Model([node], [data], "g")
    compiled = ov.Core().compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    return compiled([x])[0]


# ---- Storage ---------------------------------------------------------------------------------


def cases(framework, seed, count):
    """Yields `count` times (args, x, w) of one framework."""
    rng = np.random.default_rng(seed)
    make = globals()[framework + "_case"]
    while count:
        case = make(rng)
        if case is not None:
            count -= 1
            yield case


def run(framework, args, x, w):
    return globals()[framework + "_run"](args, x, w)


def load(framework):
    """Yields (args, x, w, answer) as float32 arrays."""
    with np.load(DATA / "conversions" / f"{framework}.npz") as stored:
        for i, args in enumerate(json.loads(str(stored["cases"]))):
            yield (args, *(stored[f"{k}{i}"].astype(np.float32) for k in "xwy"))


def write(framework, seed=1, count=60):
    kept, arrays, refused = [], {}, 0
    for args, x, w in cases(framework, seed, count):
        try:
            y = run(framework, args, x, w)
        except Exception as error:  # each framework has its own classes
            refused += 1
            print("refused:", args, str(error).split("\n")[0][:120])
            continue
        for key, value in zip("xwy", (x, w, y)):
            arrays[f"{key}{len(kept)}"] = value.astype(np.int16)
            assert np.array_equal(arrays[f"{key}{len(kept)}"], value)
        kept.append(args)
    np.savez_compressed(
        DATA / "conversions" / f"{framework}.npz", cases=json.dumps(kept), **arrays
    )
    print(f"{framework}: {len(kept)} stored, {refused} refused by the framework")


if __name__ == "__main__":
    write(sys.argv[1])
