"""Plan and PackedFilter."""

import copy
import pickle

import ml_dtypes
import numpy as np
import oracle
import pytest

import dgrad

ARGS = oracle.arguments([2, 9, 8, 4], [3, 3, 4, 6], (2, 2), "SAME")


def test_a_packed_filter_that_no_plan_made_is_refused():
    plan = dgrad.Plan([1, 4, 4, 2], [2, 2, 2, 3], [1] * 4, "VALID")
    forged = dgrad.PackedFilter.__new__(dgrad.PackedFilter)
    with pytest.raises(TypeError, match="filter"):
        plan(forged, np.zeros((1, 3, 3, 3), np.float32))


def make_plan(args=ARGS, **more):
    return dgrad.Plan(
        args["input_sizes"], args["filter_shape"], dtype=args["dtype"], **oracle.keywords(args), **more
    )


@pytest.mark.parametrize("dtype", oracle.DTYPES)
@pytest.mark.parametrize("data_format", ["NHWC", "NCHW"])
@pytest.mark.parametrize("accuracy", ["fast", "strict"])
def test_a_plan_computes(dtype, data_format, accuracy):
    sizes = [2, 9, 8, 4] if data_format == "NHWC" else [2, 4, 9, 8]
    args = oracle.arguments(
        sizes, [3, 2, 2, 6], (2, 1), ((1, 0), (2, 3)), (1, 2), data_format, dtype
    )
    filter, incoming = oracle.tensors(args)
    want = oracle.reference(args, filter, incoming)
    scales = None if dtype == "int32" else oracle.scale(args, filter, incoming)
    plan = make_plan(args, accuracy=accuracy)
    packed = plan.pack(filter)
    for given in [filter, packed]:
        got = plan(given, incoming)
        oracle.check(got, want, args, scales, accuracy)
        out = np.full(got.shape, 55, got.dtype)
        assert plan(given, incoming, out) is out
        assert plan(given, incoming, out=out) is out
        assert out.tobytes() == got.tobytes()
    # One algorithm: packing changes no bit.
    assert plan(filter, incoming).tobytes() == plan(packed, incoming).tobytes()


def test_attributes():
    plan = make_plan()
    assert plan.input_sizes == (2, 9, 8, 4)
    assert plan.filter_shape == (3, 3, 4, 6)
    assert plan.out_backprop_shape == (2, 5, 4, 6)
    assert plan.dtype == np.float32
    assert isinstance(plan.workspace_bytes, int) and plan.workspace_bytes >= 0
    assert isinstance(plan.packed_filter_bytes, int) and plan.packed_filter_bytes > 0
    assert plan.algorithm and isinstance(plan.algorithm, str)
    assert plan.isa in dgrad.info()["isas_detected"]
    assert plan.threads == dgrad.get_num_threads()
    assert make_plan(threads=3).threads == 3
    assert plan.algorithm in plan.explain()
    assert plan.problem.startswith("n2_h9w8c4_k3x3_oc6_s2x2")
    assert plan.problem in repr(plan)
    packed = plan.pack(oracle.tensors(ARGS)[0])
    assert isinstance(packed, dgrad.PackedFilter)
    assert packed.nbytes == plan.packed_filter_bytes
    assert "PackedFilter" in repr(packed)
    with pytest.raises(AttributeError):
        plan.threads = 1
    with pytest.raises(TypeError):
        dgrad.PackedFilter()


def test_dtypes():
    names = {
        "float16": [np.float16, "f2", "half"],
        "bfloat16": [ml_dtypes.bfloat16],
        "float32": [np.float32, np.dtype("f4"), "single"],
        "float64": [np.float64, float, "f8"],
        "int32": [np.int32, "i4", np.intc],
    }
    for name, others in names.items():
        for dtype in [name, np.str_(name), oracle.np_dtype(name), *others]:
            assert make_plan(dict(ARGS, dtype=dtype)).dtype == oracle.np_dtype(name)
    for dtype in [int, "int64", "u1", bool, complex, "O", "S4", ">f4", "f4,f4", object]:
        with pytest.raises(dgrad.InvalidArgumentError, match="dtype"):
            make_plan(dict(ARGS, dtype=dtype))
    for dtype in [None, 3, "float99", [1]]:
        with pytest.raises(TypeError, match="dtype"):
            make_plan(dict(ARGS, dtype=dtype))


def test_isa():
    filter, incoming = oracle.tensors(ARGS)
    want = oracle.reference(ARGS, filter, incoming)
    scales = oracle.scale(ARGS, filter, incoming)
    for isa in dgrad.info()["isas_detected"]:
        plan = make_plan(isa=isa)
        assert plan.isa == isa
        oracle.check(plan(plan.pack(filter), incoming), want, ARGS, scales)
    with pytest.raises(dgrad.InvalidArgumentError, match="isa.*'avx512'"):
        make_plan(isa="sse9")
    with pytest.raises(dgrad.InvalidArgumentError, match="isa"):
        make_plan(isa="")
    with pytest.raises(TypeError, match="isa"):
        make_plan(isa=5)


def test_isa_from_the_environment(monkeypatch):
    monkeypatch.setenv("DGRAD_ISA", "scalar")
    assert make_plan().isa == "scalar"
    monkeypatch.setenv("DGRAD_ISA", "")
    assert make_plan().isa == dgrad.info()["isas_detected"][0]
    monkeypatch.setenv("DGRAD_ISA", "pentium")
    with pytest.raises(dgrad.InvalidArgumentError, match="DGRAD_ISA"):
        make_plan()
    filter, incoming = oracle.tensors(ARGS)
    with pytest.raises(dgrad.InvalidArgumentError, match="DGRAD_ISA"):
        dgrad.conv2d_backprop_input(ARGS["input_sizes"], filter, incoming, **oracle.keywords(ARGS))


def test_workspace_limit():
    roomy = make_plan()
    limit = max(1, roomy.workspace_bytes)
    assert make_plan(workspace_limit=limit).workspace_bytes <= limit
    for value in [0, -1, 2**63]:
        with pytest.raises(dgrad.InvalidArgumentError, match="workspace_limit"):
            make_plan(workspace_limit=value)
    for value in [1.0, True, "1"]:
        with pytest.raises(TypeError, match="workspace_limit"):
            make_plan(workspace_limit=value)


def test_refusals():
    for changes, kind, words in [
        (dict(input_sizes=[9, 8]), dgrad.InvalidArgumentError, "input_sizes"),
        (dict(input_sizes=None), dgrad.InvalidArgumentError, "input_sizes"),
        (dict(input_sizes=[2.0, 9, 8, 4]), TypeError, "input_sizes"),
        (dict(filter_shape=[3, 3, 4]), dgrad.InvalidArgumentError, "filter"),
        (dict(filter_shape=[3, 3, 4, -6]), dgrad.InvalidArgumentError, "filter"),
        (dict(filter_shape=[3, 3, 3, 6]), dgrad.InvalidArgumentError, "filter"),
        (dict(filter_shape="3346"), TypeError, "filter_shape"),
        (dict(strides=2), TypeError, "strides"),
        (dict(strides=[2, 2, 2, 1]), dgrad.UnimplementedError, "strides"),
        (dict(padding="EXPLICIT"), dgrad.InvalidArgumentError, "padding"),
        (dict(padding="same"), dgrad.InvalidArgumentError, "padding"),
        (dict(data_format="CHWN"), dgrad.InvalidArgumentError, "data_format"),
        (dict(dilations=[1, 0, 1, 1]), dgrad.InvalidArgumentError, "dilations"),
    ]:
        with pytest.raises(kind, match=words):
            make_plan({**ARGS, **changes})
    for more, kind in [
        (dict(threads=0), dgrad.InvalidArgumentError),
        (dict(threads=1.0), TypeError),
        (dict(accuracy="best"), dgrad.InvalidArgumentError),
        (dict(accuracy=None), TypeError),
    ]:
        with pytest.raises(kind):
            make_plan(**more)


def test_tensors_must_be_the_plans():
    plan = make_plan()
    filter, incoming = oracle.tensors(ARGS)
    packed = plan.pack(filter)
    for given in [filter, packed]:
        for wrong in [incoming[:1], incoming[0], incoming[..., :5], incoming.transpose(0, 2, 1, 3)]:
            with pytest.raises(dgrad.InvalidArgumentError, match="out_backprop must have.*shape"):
                plan(given, wrong)
        for wrong in [incoming.astype(np.float64), incoming.astype(ml_dtypes.bfloat16)]:
            with pytest.raises(dgrad.InvalidArgumentError, match="out_backprop must be of.*type"):
                plan(given, wrong)
        with pytest.raises(dgrad.InvalidArgumentError, match="out_backprop is missing"):
            plan(given, None)
        with pytest.raises(TypeError, match="out must be"):
            plan(given, incoming, out=3)
    for wrong in [filter[:2], filter[..., :3], filter.transpose(1, 0, 3, 2), filter.ravel()]:
        for use in [lambda f: plan(f, incoming), plan.pack]:
            with pytest.raises(dgrad.InvalidArgumentError, match="filter must have.*shape"):
                use(wrong)
    with pytest.raises(dgrad.InvalidArgumentError, match="filter must be of.*type"):
        plan.pack(filter.astype(np.float16))
    with pytest.raises(dgrad.InvalidArgumentError, match="filter is missing"):
        plan.pack(None)
    with pytest.raises(TypeError, match="filter"):
        plan.pack(packed)
    # Nested lists take the plan's type.
    assert plan(filter.tolist(), incoming.tolist()).dtype == np.float32


def test_packed_filters_belong_to_a_geometry():
    plan = make_plan()
    filter, incoming = oracle.tensors(ARGS)
    packed = plan.pack(filter)
    again = make_plan(threads=2)
    assert again.algorithm == plan.algorithm
    assert again(packed, incoming).tobytes() == plan(packed, incoming).tobytes()
    other_args = oracle.arguments([2, 9, 8, 4], [3, 3, 4, 6], (1, 1), "SAME")
    other = make_plan(other_args)
    with pytest.raises(dgrad.InvalidArgumentError, match="packed"):
        other(packed, oracle.tensors(other_args)[1])
    if len(dgrad.info()["isas_detected"]) > 1:
        slow = make_plan(isa="scalar")
        with pytest.raises(dgrad.InvalidArgumentError, match="packed"):
            slow(packed, incoming)


def test_a_packed_filter_is_a_copy_and_outlives_its_plan():
    filter, incoming = oracle.tensors(ARGS)
    plan = make_plan()
    want = plan(filter, incoming)
    packed = plan.pack(filter)
    filter[...] = np.nan
    del plan
    dgrad.trim()
    assert make_plan()(packed, incoming).tobytes() == want.tobytes()


@pytest.mark.parametrize("padding", ["SAME", "VALID", [[0, 0], [1, 2], [0, 1], [0, 0]]])
@pytest.mark.parametrize("data_format", ["NHWC", "NCHW"])
def test_pickle(padding, data_format):
    sizes = [2, 9, 8, 4]
    strides = [1, 2, 1, 1]
    if data_format == "NCHW":
        sizes = [2, 4, 9, 8]
        strides = [1, 1, 2, 1]
        if not isinstance(padding, str):
            padding = [padding[0], padding[3], padding[1], padding[2]]
    plan = dgrad.Plan(
        sizes, [3, 3, 2, 6], strides, padding, data_format, dtype="bfloat16", threads=2,
        accuracy="strict", isa="scalar", workspace_limit=2**30,
    )  # fmt: skip
    for other in [pickle.loads(pickle.dumps(plan)), copy.deepcopy(plan)]:
        assert repr(other) == repr(plan)
        assert other.explain() == plan.explain()
        assert other.__reduce__() == plan.__reduce__()


def test_empty_problems():
    plan = dgrad.Plan([0, 3, 3, 1], [2, 2, 1, 1], [1] * 4, "VALID")
    filter = np.zeros((2, 2, 1, 1), np.float32)
    result = plan(plan.pack(filter), np.zeros((0, 2, 2, 1), np.float32))
    assert result.shape == (0, 3, 3, 1)
    plan = dgrad.Plan([1, 3, 3, 2], [2, 2, 2, 0], [1] * 4, "VALID")
    result = plan(plan.pack(np.zeros((2, 2, 2, 0), np.float32)), np.zeros((1, 2, 2, 0), np.float32))
    np.testing.assert_array_equal(result, np.zeros((1, 3, 3, 2), np.float32))


def resident_bytes():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


def test_memory_stays_flat():
    """Neither repeated calls nor ever new sizes pile up memory."""
    try:
        resident_bytes()
    except OSError:
        pytest.skip("no /proc/self/statm on this system")

    def work(n):
        args = oracle.arguments([1, 40 + n % 100, 33 + n // 100, 8], [3, 3, 8, 16], (1, 1), "SAME")
        filter = np.ones(args["filter_shape"], np.float32)
        incoming = np.ones(args["out_backprop_shape"], np.float32)
        dgrad.conv2d_backprop_input(args["input_sizes"], filter, incoming, **oracle.keywords(args))
        plan = make_plan(args)
        plan(plan.pack(filter), incoming)

    for n in range(100):
        work(n)
    before = resident_bytes()
    for n in range(600):
        work(n)
    assert resident_bytes() - before < 32 << 20
