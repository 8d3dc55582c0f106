"""What the result of a call must be: the reference, its error scale and the comparison."""

import functools
import os

import ml_dtypes
import numpy as np
import refconv

CASES = os.path.dirname(os.path.abspath(refconv.__file__))
UNIT = {
    "float16": 2.0**-11,
    "bfloat16": 2.0**-8,
    "float32": 2.0**-24,
    "float64": 2.0**-53,
    "int32": 0.0,
}
DTYPES = list(UNIT)


def np_dtype(name):
    return np.dtype(ml_dtypes.bfloat16) if name == "bfloat16" else np.dtype(name)


@functools.lru_cache(maxsize=None)
def golden():
    with np.load(os.path.join(CASES, "golden.npz")) as file:
        return {name: file[name] for name in file.files}


def arguments(input_sizes, filter_shape, strides=(1, 1), padding="VALID", dilations=(1, 1),
              data_format="NHWC", dtype="float32"):
    """A case's `args` from spatial strides and dilations; padding may be ((t, b), (l, r))."""

    def in_format(pair):
        return [1, *pair, 1] if data_format == "NHWC" else [1, 1, *pair]

    if not isinstance(padding, str):
        rows, columns = (list(pair) for pair in padding)
        none = [0, 0]
        padding = [none, rows, columns, none] if data_format == "NHWC" else [none, none, rows, columns]
    args = dict(
        input_sizes=list(input_sizes), filter_shape=list(filter_shape), strides=in_format(strides),
        padding=padding, data_format=data_format, dilations=in_format(dilations), dtype=dtype,
        out_backprop_shape=[0, 0, 0, 0],
    )
    u = refconv.unpack(args)
    spatial = [u["oh"], u["ow"]]
    channels = filter_shape[3]
    n = input_sizes[0]
    args["out_backprop_shape"] = (
        [n, *spatial, channels] if data_format == "NHWC" else [n, channels, *spatial]
    )
    return args


def tensors(args, seed=0, scheme="quant8"):
    """filter and out_backprop of the case's type; quant8 sums are exact in float32 for small cases."""
    if args["dtype"] == "int32":
        scheme = "smallint"
    dtype = np_dtype(args["dtype"])
    return (
        refconv.fill(scheme, args["filter_shape"], seed).astype(dtype),
        refconv.fill(scheme, args["out_backprop_shape"], seed + 1).astype(dtype),
    )


def keywords(args):
    """The arguments that dgrad's functions and Plan share."""
    return {k: args[k] for k in ("strides", "padding", "data_format", "dilations")}


def wide(array):
    return array if array.dtype == np.int32 else np.asarray(array, np.float64)


def reference(args, filter, out_backprop):
    """The float64 answer, or the int32 one modulo 2^32."""
    want = refconv.ref_scatter(args, wide(filter), wide(out_backprop))
    return refconv.wrap32(want) if filter.dtype == np.int32 else want


def scale(args, filter, out_backprop):
    """Sum of the absolute products of each element."""
    return refconv.ref_scatter(args, np.abs(wide(filter)), np.abs(wide(out_backprop)))


def neighbourhood(values, data_format, reach=8):
    """The largest value within `reach` pixels: what a tiled transform may mix into an element."""
    for axis in (2, 3) if data_format == "NCHW" else (1, 2):
        best = values.copy()
        for step in range(1, min(reach, values.shape[axis] - 1) + 1):
            ahead = [slice(None)] * 4
            behind = [slice(None)] * 4
            ahead[axis] = slice(step, None)
            behind[axis] = slice(None, -step)
            best[tuple(behind)] = np.maximum(best[tuple(behind)], values[tuple(ahead)])
            best[tuple(ahead)] = np.maximum(best[tuple(ahead)], values[tuple(behind)])
        values = best
    return values


def check(got, want, args, scales, accuracy="fast", exact=False):
    """Asserts type, shape and |error| <= c * u * scale, with one rounding more for the half types.

    u is float32's unit roundoff (float64's for float64), c is 8 for `strict`, element by element, and
    24 for `fast`, whose scale is the neighbourhood's.
    """
    dtype = args["dtype"]
    assert isinstance(got, np.ndarray)
    assert got.dtype == np_dtype(dtype)
    assert got.shape == want.shape
    if dtype == "int32":
        np.testing.assert_array_equal(got, want)
        return
    unit = UNIT[dtype]
    with np.errstate(over="ignore", invalid="ignore"):
        rounded = want.astype(got.dtype).astype(np.float64)
        values = got.astype(np.float64)
        fine = (values == rounded) | (np.isnan(values) & np.isnan(rounded))
        if not (exact and accuracy == "strict"):
            if accuracy == "fast":
                scales = neighbourhood(scales, args["data_format"])
            bound = (8 if accuracy == "strict" else 24) * min(unit, UNIT["float32"]) * scales + 1e-37
            if unit > UNIT["float32"]:
                bound = bound + 1.01 * unit * np.abs(want)
            fine |= np.abs(values - want) <= bound
    if not fine.all():
        where = tuple(int(i[0]) for i in np.nonzero(~fine))
        raise AssertionError(
            f"{int((~fine).sum())} of {fine.size} values are wrong ({accuracy}), the first at "
            f"{where}: {values[where]!r}, wanted {want[where]!r}"
        )
