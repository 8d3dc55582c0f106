"""Properties over random geometries. A failure prints the example, its seed and a blob to repeat it."""

import numpy as np
import oracle
import refconv
from hypothesis import given, seed, settings
from hypothesis import strategies as st

import dgrad

SEED = 20261201
print(f"test_property.py: seed {SEED}")


@st.composite
def axes(draw):
    """(input size, taps, stride, dilation, padding pair) of one axis."""
    taps = draw(st.integers(1, 5))
    stride = draw(st.integers(1, 4))
    dilation = draw(st.integers(1, 3))
    size = draw(st.integers(1, 20))
    pads = draw(st.tuples(st.integers(0, 4), st.integers(0, 4)))
    # Enough padding after for one row of out_backprop at least.
    missing = (taps - 1) * dilation + 1 - size - sum(pads)
    return size, taps, stride, dilation, (pads[0], pads[1] + max(0, missing))


@st.composite
def geometries(draw, dtypes=tuple(oracle.DTYPES)):
    rows, columns = draw(axes()), draw(axes())
    groups = draw(st.sampled_from([1, 1, 1, 2, 3]))
    in_channels = draw(st.integers(1, 9))
    out_channels = groups * draw(st.integers(1, 9 if groups == 1 else 3))
    batch = draw(st.integers(1, 3))
    padding = draw(st.sampled_from(["SAME", "VALID", "EXPLICIT"]))
    height, width = rows[0], columns[0]
    if padding == "VALID":
        height = max(height, (rows[1] - 1) * rows[3] + 1)
        width = max(width, (columns[1] - 1) * columns[3] + 1)
    if padding == "EXPLICIT":
        padding = (rows[4], columns[4])
    data_format = draw(st.sampled_from(["NHWC", "NCHW"]))
    channels = in_channels * groups
    sizes = (
        [batch, height, width, channels] if data_format == "NHWC" else [batch, channels, height, width]
    )
    return oracle.arguments(
        sizes, [rows[1], columns[1], in_channels, out_channels], (rows[2], columns[2]), padding,
        (rows[3], columns[3]), data_format, draw(st.sampled_from(dtypes)),
    )  # fmt: skip


def compute(args, filter, incoming, **more):
    return dgrad.conv2d_backprop_input(
        args["input_sizes"], filter, incoming, **oracle.keywords(args), **more
    )


def forward(args, x, filter):
    """The convolution whose gradient this is, in float64 from its definition."""
    u = refconv.unpack(args)
    x = np.pad(
        refconv.to_nhwc(x, u["df"]),
        ((0, 0), (u["pt"], max(0, u["pb"])), (u["pl"], max(0, u["pr"])), (0, 0)),
    )
    taps_h, taps_w, group_in, out_channels = filter.shape
    groups = u["C"] // group_in
    group_out = out_channels // groups
    y = np.zeros((u["N"], u["oh"], u["ow"], out_channels))
    for kh in range(taps_h):
        for kw in range(taps_w):
            top, left = kh * u["dh"], kw * u["dw"]
            window = x[:, top : top + (u["oh"] - 1) * u["sh"] + 1 : u["sh"],
                       left : left + (u["ow"] - 1) * u["sw"] + 1 : u["sw"]]  # fmt: skip
            for g in range(groups):
                of_group = slice(g * group_out, (g + 1) * group_out)
                y[..., of_group] += window[..., g * group_in : (g + 1) * group_in] @ (
                    filter[kh, kw, :, of_group].astype(np.float64)
                )
    return refconv.from_nhwc(y, u["df"])


@seed(SEED)
@settings(max_examples=400)
@given(args=geometries(), data=st.integers(0, 2**32), accuracy=st.sampled_from(["fast", "strict"]))
def test_equals_the_reference(args, data, accuracy):
    filter, incoming = oracle.tensors(args, data, "uniform")
    want = oracle.reference(args, filter, incoming)
    scales = None if args["dtype"] == "int32" else oracle.scale(args, filter, incoming)
    poison = 77 if args["dtype"] == "int32" else np.nan
    out = np.full(want.shape, poison, filter.dtype)
    oracle.check(compute(args, filter, incoming, out=out, accuracy=accuracy), want, args, scales, accuracy)


@seed(SEED)
@settings(max_examples=100)
@given(args=geometries(), data=st.integers(0, 2**32))
def test_a_plan_with_a_packed_filter_equals_the_reference(args, data):
    filter, incoming = oracle.tensors(args, data, "uniform")
    want = oracle.reference(args, filter, incoming)
    scales = None if args["dtype"] == "int32" else oracle.scale(args, filter, incoming)
    plan = dgrad.Plan(
        args["input_sizes"], args["filter_shape"], dtype=args["dtype"], **oracle.keywords(args)
    )
    oracle.check(plan(plan.pack(filter), incoming), want, args, scales)


@seed(SEED)
@settings(max_examples=150)
@given(args=geometries(("float64",)), data=st.integers(0, 2**32))
def test_is_the_adjoint_of_the_convolution(args, data):
    """<conv(x, filter), y> == <x, dgrad(filter, y)> for the forward convolution written out here."""
    filter, y = oracle.tensors(args, data, "uniform")
    x = refconv.fill("uniform", args["input_sizes"], data + 7)
    left = np.sum(forward(args, x, filter) * y)
    right = np.sum(x * compute(args, filter, y))
    terms = np.sum(np.abs(x) * oracle.scale(args, filter, y))
    assert abs(left - right) <= 1e-13 * terms + 1e-300


@seed(SEED)
@settings(max_examples=100)
@given(args=geometries(("int32",)), data=st.integers(0, 2**32), factor=st.integers(-5, 5))
def test_is_linear_in_both_tensors(args, data, factor):
    """Exactly, in int32 arithmetic modulo 2^32 with values over its whole range."""
    random = np.random.default_rng(data)

    def tensor(shape):
        return random.integers(-(2**31), 2**31, shape, dtype=np.int64).astype(np.int32)

    filter, other_filter = tensor(args["filter_shape"]), tensor(args["filter_shape"])
    y, other_y = tensor(args["out_backprop_shape"]), tensor(args["out_backprop_shape"])
    factor = np.int32(factor)
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(
            compute(args, filter, factor * y + other_y),
            factor * compute(args, filter, y) + compute(args, filter, other_y),
        )
        np.testing.assert_array_equal(
            compute(args, factor * filter + other_filter, y),
            factor * compute(args, filter, y) + compute(args, other_filter, y),
        )


@seed(SEED)
@settings(max_examples=100)
@given(args=geometries(("float32", "float64", "float16", "bfloat16")), data=st.integers(0, 2**32))
def test_infinities_spread_as_in_the_sum(args, data):
    """Only real products count: no Inf * 0 from gaps, clipped taps or mixed tiles."""
    random = np.random.default_rng(data)
    filter, incoming = oracle.tensors(args, data, "smallint")
    for tensor in (filter, incoming):
        for value in (np.inf, -np.inf, np.nan):
            if tensor.size and random.random() < 0.4:
                tensor.reshape(-1)[random.integers(tensor.size)] = value
    with np.errstate(invalid="ignore"):
        want = oracle.reference(args, filter, incoming)
    for accuracy in ["fast", "strict"]:
        got = compute(args, filter, incoming, accuracy=accuracy).astype(np.float64)
        np.testing.assert_array_equal(np.isnan(got), np.isnan(want))
        np.testing.assert_array_equal(np.isposinf(got), np.isposinf(want))
        np.testing.assert_array_equal(np.isneginf(got), np.isneginf(want))


@seed(SEED)
@settings(max_examples=60)
@given(args=geometries(("float32", "bfloat16")), data=st.integers(0, 2**32))
def test_an_impulse_shows_the_filter(args, data):
    """One 1 in out_backprop: the filter appears at its place, clipped by the border, else zeros."""
    filter, _ = oracle.tensors(args, data, "smallint")
    incoming = np.zeros(args["out_backprop_shape"], filter.dtype)
    if incoming.size == 0:
        return
    incoming.reshape(-1)[np.random.default_rng(data).integers(incoming.size)] = 1
    want = oracle.reference(args, filter, incoming)
    got = compute(args, filter, incoming, accuracy="strict").astype(np.float64)
    np.testing.assert_array_equal(got, want)
    assert not np.signbit(got[got == 0]).any()
