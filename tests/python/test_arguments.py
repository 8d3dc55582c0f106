"""Every refusal and every rule of types: which exception, and that the message names the argument."""

import pickle

import ml_dtypes
import numpy as np
import oracle
import pytest

import dgrad

SIZES = [1, 4, 5, 2]
FILTER = np.ones((3, 2, 2, 3), np.float32)
INCOMING = np.ones((1, 2, 4, 3), np.float32)
ONES = [1, 1, 1, 1]
BASE = dict(
    input_sizes=SIZES, filter=FILTER, out_backprop=INCOMING, strides=ONES, padding="VALID"
)


def call(**changes):
    return dgrad.conv2d_backprop_input(**{**BASE, **changes})


class Index:
    """An integer by __index__."""

    def __init__(self, value):
        self.value = value

    def __index__(self):
        return self.value


def refuses(kind, words, **changes):
    with pytest.raises(kind) as caught:
        call(**changes)
    assert words in str(caught.value)
    # The class itself, too: a TypeError must not hide behind a ValueError.
    if kind is not TypeError:
        assert isinstance(caught.value, kind)


RESULT = call()


# ---- what is accepted ----


@pytest.mark.parametrize(
    "changes",
    [
        dict(strides=(1, 1, 1, 1)),
        dict(strides=[np.int64(1), np.int32(1), np.uint8(1), Index(1)]),
        dict(strides=[np.array(1), 1, 1, 1]),
        dict(dilations=None),
        dict(dilations=(1, 1, 1, 1)),
        dict(dilations=[Index(1)] * 4),
        dict(padding=b"VALID"),
        dict(padding=np.str_("VALID")),
        dict(padding=np.bytes_(b"VALID")),
        dict(padding=[[0, 0]] * 4),
        dict(padding=((0, 0),) * 4),
        dict(padding=[(np.int64(0), Index(0))] * 4),
        dict(data_format=None),
        dict(data_format=b"NHWC"),
        dict(data_format=np.str_("NHWC")),
        dict(use_cudnn_on_gpu=None),
        dict(use_cudnn_on_gpu=False),
        dict(name="layer1"),
        dict(filter=None, filters=FILTER),
        dict(input_sizes=tuple(SIZES)),
        dict(input_sizes=np.array(SIZES)),
        dict(input_sizes=np.array(SIZES, np.int8)),
        dict(input_sizes=np.array(SIZES, np.uint64)),
        dict(input_sizes=np.array(SIZES, ">i4")),
        dict(input_sizes=np.array([1, 0, 4, 0, 5, 0, 2, 0])[::2]),
        dict(input_sizes=memoryview(np.array(SIZES))),
        dict(input_sizes=[Index(1), np.int16(4), np.array(5), 2]),
        dict(input_sizes=[4, 5]),
        dict(threads=1),
        dict(threads=np.int64(3)),
        dict(accuracy="strict"),
        dict(accuracy=np.str_("fast")),
    ],
    ids=repr,
)
def test_accepts(changes):
    np.testing.assert_allclose(call(**changes), RESULT, rtol=1e-6)


def test_accepts_a_range():
    filter = np.ones((1, 1, 4, 1), np.float32)
    result = dgrad.conv2d_backprop_input(
        range(1, 5), filter, np.ones((1, 2, 3, 1), np.float32), ONES, "VALID"
    )
    assert result.shape == (1, 2, 3, 4)


def test_positional_order_is_tensorflows():
    result = dgrad.conv2d_backprop_input(
        SIZES, FILTER, INCOMING, ONES, "VALID", True, "NHWC", ONES, None, None
    )
    np.testing.assert_array_equal(result, RESULT)


def test_default_dilations_are_never_changed():
    import inspect

    assert inspect.signature(dgrad.conv2d_backprop_input).parameters["dilations"].default == ONES


# ---- aliases and missing arguments ----


def test_missing_arguments():
    refuses(dgrad.InvalidArgumentError, "filter", filters=FILTER)  # both
    refuses(dgrad.InvalidArgumentError, "filter is missing", filter=None)
    refuses(dgrad.InvalidArgumentError, "out_backprop is missing", out_backprop=None)
    refuses(dgrad.InvalidArgumentError, "input_sizes is missing", input_sizes=None)
    refuses(TypeError, "strides", strides=None)
    refuses(TypeError, "padding", padding=None)
    with pytest.raises(TypeError):
        dgrad.conv2d_backprop_input()
    with pytest.raises(TypeError):
        dgrad.conv2d_backprop_input(**BASE, explicit_paddings=[0] * 8)
    with pytest.raises(TypeError):  # out, threads and accuracy are keywords only
        dgrad.conv2d_backprop_input(
            SIZES, FILTER, INCOMING, ONES, "VALID", True, "NHWC", ONES, None, None, None
        )


# ---- attributes ----


@pytest.mark.parametrize("argument", ["strides", "dilations"])
def test_integer_lists(argument):
    wrong_types = [
        1, 1.0, "1111", b"1111", np.array(ONES), range(1, 5), {1: 1}, iter(ONES), [1, 1.0, 1, 1],
        [1, 2.9, 1, 1], [1, True, 1, 1], [1, np.True_, 1, 1], [1, np.float32(1), 1, 1],
        ["1"] * 4, [None] * 4, [[1]] * 4, [1, float("nan"), 1, 1], [1, np.array(1.0), 1, 1],
        [1, np.array([1, 2]), 1, 1],
    ]  # fmt: skip
    for value in wrong_types:
        refuses(TypeError, argument, **{argument: value})
    for value in [[], [1], [1, 1], [1, 1, 1], [1] * 5, [1] * 100]:
        refuses(dgrad.InvalidArgumentError, argument, **{argument: value})
    for value in [0, -1, -(2**63), 2**63, -(2**63) - 1, 2**200]:
        refuses(dgrad.InvalidArgumentError, argument, **{argument: [1, value, 1, 1]})
        refuses(dgrad.InvalidArgumentError, argument, **{argument: [1, 1, value, 1]})
    refuses(dgrad.UnimplementedError, argument, **{argument: [2, 1, 1, 1]})
    refuses(dgrad.UnimplementedError, argument, **{argument: [1, 1, 1, 2]})


def test_an_error_of_the_callers_index_is_kept():
    class Broken:
        def __index__(self):
            raise OSError("no integer today")

    with pytest.raises(OSError, match="no integer today"):
        call(strides=[1, Broken(), 1, 1])
    with pytest.raises(OSError, match="no integer today"):
        call(input_sizes=[1, Broken(), 5, 2])


def test_a_list_that_changes_while_it_is_read():
    class Cutter:
        def __init__(self, victim):
            self.victim = victim

        def __index__(self):
            self.victim.clear()
            return 1

    strides = [1, 1, 1, 1]
    strides[0] = Cutter(strides)
    np.testing.assert_array_equal(call(strides=strides), RESULT)


def test_padding():
    for value in ["same", "valid", "Same", "", "FULL", "VALID ", "explicit", b"same", "VALID\0"]:
        refuses(dgrad.InvalidArgumentError, "padding", padding=value)
    for value in ["EXPLICIT", b"EXPLICIT"]:
        refuses(dgrad.InvalidArgumentError, "list of 4 pairs", padding=value)
    for value in [1, 1.5, {}, np.zeros((4, 2), int), iter([[0, 0]] * 4), object()]:
        refuses(TypeError, "padding", padding=value)
    for value in [
        [], [[0, 0]] * 3, [[0, 0]] * 5, [0, 1, 1, 0], [[0]] * 4, [[0, 0, 0]] + [[0, 0]] * 3,
        [np.zeros(2, int)] * 4, ["00"] * 4, [range(2)] * 4, [None] * 4,
    ]:  # fmt: skip
        refuses(dgrad.InvalidArgumentError, "padding", padding=value)
    for value in [0.0, 1.9, True, "1", None]:
        refuses(TypeError, "padding", padding=[[0, 0], [value, 0], [0, 0], [0, 0]])
    for row in range(4):
        pads = [[0, 0] for _ in range(4)]
        pads[row][1] = -1
        refuses(dgrad.InvalidArgumentError, "padding", padding=pads)
    refuses(dgrad.InvalidArgumentError, "padding", padding=[[1, 0]] + [[0, 0]] * 3)
    refuses(dgrad.InvalidArgumentError, "padding", padding=[[0, 0]] * 3 + [[0, 1]])
    refuses(dgrad.InvalidArgumentError, "padding", padding=[[0, 0], [2**63, 0], [0, 0], [0, 0]])


def test_words_that_are_no_text():
    for value in ["\ud800", b"\xff", "x" * 10000, "a\nb"]:
        refuses(dgrad.InvalidArgumentError, "padding", padding=value)
        refuses(dgrad.InvalidArgumentError, "data_format", data_format=value)
        refuses(dgrad.InvalidArgumentError, "accuracy", accuracy=value)


def test_data_format():
    for value in ["nhwc", "", "NCHW_VECT_C", "HWNC", "NHWC ", b"nchw"]:
        refuses(dgrad.InvalidArgumentError, "data_format", data_format=value)
    for value in [0, 1.0, ["NHWC"], object()]:
        refuses(TypeError, "data_format", data_format=value)


def test_use_cudnn_on_gpu_and_name():
    for value in [0, 1, "x", 1.0, []]:
        refuses(TypeError, "use_cudnn_on_gpu", use_cudnn_on_gpu=value)
    for value in [0, b"x", []]:
        refuses(TypeError, "name", name=value)


def test_threads_and_accuracy():
    for value in [1.0, True, "1", [1]]:
        refuses(TypeError, "threads", threads=value)
    for value in [0, -1, 2**31, 2**64]:
        refuses(dgrad.InvalidArgumentError, "threads", threads=value)
    for value in [None, 0, True, ["fast"]]:
        refuses(TypeError, "accuracy", accuracy=value)
    for value in ["", "FAST", "exact"]:
        refuses(dgrad.InvalidArgumentError, "accuracy", accuracy=value)


# ---- input_sizes ----


def test_input_sizes():
    wrong_types = [
        [1.0, 4.0, 5.0, 2.0], ["1", "4", "5", "2"], [1, 4, 5, True], [None, 4, 5, 2], "1452",
        b"1452", 1.0, {1: 4}, {1, 4, 5, 2}, iter(SIZES), object(), np.array(SIZES, np.float32),
        np.array(SIZES, np.float64), np.array(SIZES, ml_dtypes.bfloat16), np.ones(4, bool),
        np.array(["1", "4", "5", "2"]), np.array(SIZES, object), np.ones(4, complex),
    ]  # fmt: skip
    for value in wrong_types:
        refuses(TypeError, "input_sizes", input_sizes=value)
    wrong_values = [
        4, np.int64(4), Index(4), np.array(4), [], [4], [4, 5, 2], [1, 4, 5, 2, 1], [[1, 4], [5, 2]],
        [SIZES], np.array([SIZES]), range(3), range(2**60), np.zeros(1000, int), [0] * 1000,
        [1, -1, 5, 2], [-1, 4, 5, 2], [0, -1, 5, 2], [-4, 5], [4, -5], [1, 2**63, 5, 2],
        np.array([1, 2**63, 5, 2], np.uint64), [1, -(2**63), 5, 2], [2**32 + 1, 4, 5, 2],
        [2**62, 2**62, 2**62, 2**62],
    ]  # fmt: skip
    for value in wrong_values:
        refuses(dgrad.InvalidArgumentError, "input_sizes", input_sizes=value)


# ---- tensors ----


@pytest.mark.parametrize("argument", ["filter", "out_backprop"])
def test_what_is_no_tensor(argument):
    for value in [1.0, 3, "text", b"bytes", object(), {}, {1.0}, iter([1.0])]:
        refuses(TypeError, argument, **{argument: value})


@pytest.mark.parametrize("argument", ["filter", "out_backprop"])
@pytest.mark.parametrize(
    "dtype",
    ["int8", "int16", "int64", "uint8", "uint16", "uint32", "uint64", "bool", "complex64",
     "complex128", "S4", "U4", "O", "V2", "M8[s]", "m8[s]", "f4,f4", ml_dtypes.float8_e4m3fn],
)  # fmt: skip
def test_unsupported_element_types(argument, dtype):
    shape = BASE[argument].shape
    with pytest.raises(dgrad.InvalidArgumentError, match=argument):
        call(**{argument: np.zeros(shape, dtype)})


def test_longdouble_is_refused():
    if np.dtype(np.longdouble) == np.dtype(np.float64):
        pytest.skip("longdouble is float64 on this platform")
    refuses(dgrad.InvalidArgumentError, "filter", filter=FILTER.astype(np.longdouble))


@pytest.mark.parametrize("argument", ["filter", "out_backprop"])
def test_big_endian_is_refused(argument):
    for kind in ["f2", "f4", "f8", "i4"]:
        array = np.ones(BASE[argument].shape, np.dtype(kind).newbyteorder())
        refuses(dgrad.InvalidArgumentError, "byte order", **{argument: array})


def test_two_types_are_an_error():
    types = [oracle.np_dtype(name) for name in oracle.DTYPES]
    for first in types:
        for second in types:
            if first != second:
                refuses(
                    dgrad.InvalidArgumentError, "filter and out_backprop must be of one type",
                    filter=FILTER.astype(first), out_backprop=INCOMING.astype(second),
                )  # fmt: skip


def test_shapes_that_do_not_fit():
    for shape in [(), (3,), (3, 2), (3, 2, 2), (1, 3, 2, 2, 3)]:
        refuses(dgrad.InvalidArgumentError, "filter", filter=np.ones(shape, np.float32))
    for shape in [(), (2,), (2, 4, 3), (1, 1, 2, 4, 3), (2, 2, 4, 3), (1, 3, 4, 3), (1, 2, 4, 5)]:
        refuses(dgrad.InvalidArgumentError, "out_backprop", out_backprop=np.ones(shape, np.float32))
    refuses(dgrad.InvalidArgumentError, "filter_shape", input_sizes=[1, 4, 5, 3])
    refuses(dgrad.InvalidArgumentError, "filter", filter=np.ones((3, 2, 2, 4), np.float32))


def test_nested_lists():
    lists = dict(filter=FILTER.tolist(), out_backprop=INCOMING.tolist())
    both = call(**lists)
    assert both.dtype == np.float32
    np.testing.assert_array_equal(both, RESULT)
    integers = dict(
        filter=FILTER.astype(int).tolist(), out_backprop=INCOMING.astype(int).tolist()
    )
    assert call(**integers).dtype == np.int32
    # A list has no type of its own beside an array.
    for name in oracle.DTYPES:
        dtype = oracle.np_dtype(name)
        source = integers if name == "int32" else lists
        assert call(filter=FILTER.astype(dtype), out_backprop=source["out_backprop"]).dtype == dtype
        assert call(filter=source["filter"], out_backprop=INCOMING.astype(dtype)).dtype == dtype
    assert call(filter=tuple(map(tuple, FILTER.tolist()))).dtype == np.float32
    # Integers serve a float type, not the other way round.
    assert call(filter=FILTER, out_backprop=integers["out_backprop"]).dtype == np.float32
    refuses(TypeError, "out_backprop", filter=FILTER.astype(np.int32), out_backprop=INCOMING.tolist())
    refuses(TypeError, "out_backprop", filter=integers["filter"], out_backprop=INCOMING.tolist())
    # Lists of typed values keep their type.
    refuses(
        dgrad.InvalidArgumentError, "one type", filter=list(FILTER.astype(np.float64))
    )


def test_nested_lists_that_are_no_arrays():
    for value in [[[1.0], [1.0, 2.0]], [[[["a"]]]], [[[[None]]]], [[[[True]]]], [[[[1j]]]], [{}]]:
        refuses(dgrad.InvalidArgumentError, "filter", filter=value)
    huge = [[[[2**31]]]]
    refuses(dgrad.InvalidArgumentError, "filter", filter=huge, out_backprop=INCOMING.astype(np.int32))
    refuses(dgrad.InvalidArgumentError, "filter", filter=[[[[2**200]]]])
    refuses(dgrad.InvalidArgumentError, "filter", filter=[])


# ---- order of the checks: the earlier complaint wins ----


def test_order_of_checks():
    wrong = [
        (dgrad.InvalidArgumentError, "filter", dict(filters=FILTER)),  # both aliases
        (dgrad.InvalidArgumentError, "padding", dict(padding="EXPLICIT")),
        (TypeError, "strides", dict(strides=1)),
        (TypeError, "use_cudnn_on_gpu", dict(use_cudnn_on_gpu=1)),
        (TypeError, "data_format", dict(data_format=1)),
        (TypeError, "dilations", dict(dilations=1)),
        (dgrad.InvalidArgumentError, "out_backprop", dict(out_backprop=None)),
        (TypeError, "input_sizes", dict(input_sizes=[1.0] * 4)),
    ]
    for first in range(len(wrong)):
        for second in range(first + 1, len(wrong)):
            kind, words, changes = wrong[first]
            refuses(kind, words, **{**wrong[second][2], **changes})
    # Types of attributes, then tensors, then words, then the element type, then the rest.
    refuses(TypeError, "padding", padding=1, data_format=1)
    refuses(TypeError, "strides", padding=1, strides=1)
    refuses(TypeError, "filter", filter=1.0, padding="same")
    refuses(dgrad.InvalidArgumentError, "padding", padding="same", data_format="nhwc")
    refuses(dgrad.InvalidArgumentError, "data_format", data_format="x", filter=np.ones(1, np.int8))
    refuses(dgrad.InvalidArgumentError, "float16", filter=np.ones(1, np.int8), strides=[1])
    refuses(dgrad.InvalidArgumentError, "strides", strides=[1, 0, 1, 1], input_sizes=[-1] * 4)


# ---- name, classes, messages ----


def test_name_stands_in_front():
    for changes in [dict(strides=1), dict(padding="same"), dict(strides=[1]), dict(filter=[[1], 1])]:
        with pytest.raises((TypeError, ValueError)) as plain:
            call(**changes)
        with pytest.raises(type(plain.value)) as named:
            call(**changes, name="conv1/grad")
        assert str(named.value) == f"conv1/grad: {plain.value}"


def test_exceptions():
    assert issubclass(dgrad.InvalidArgumentError, ValueError)
    assert issubclass(dgrad.UnimplementedError, NotImplementedError)
    assert issubclass(dgrad.CancelledError, RuntimeError)
    for kind in [dgrad.InvalidArgumentError, dgrad.UnimplementedError, dgrad.CancelledError]:
        copy = pickle.loads(pickle.dumps(kind("words")))
        assert type(copy) is kind and str(copy) == "words"
        assert kind.__module__ == "dgrad"


def test_results_beyond_memory():
    """Legal arguments whose result no machine can hold: MemoryError, after all other checks."""
    one = np.ones((1, 1, 1, 1), np.float32)
    huge = dict(filter=one, out_backprop=one, padding="VALID", dilations=ONES)
    sizes = [1, 2**30, 2**28, 1]  # 1 EiB
    with pytest.raises(MemoryError):
        dgrad.conv2d_backprop_input(sizes, **huge, strides=sizes)
    with pytest.raises(dgrad.InvalidArgumentError, match="accuracy"):
        dgrad.conv2d_backprop_input(sizes, **huge, strides=sizes, accuracy="none")
    with pytest.raises(dgrad.InvalidArgumentError, match="out_backprop"):
        dgrad.conv2d_backprop_input(sizes, **huge, strides=ONES)
    # A broadcast view is small; its copy would not be, but the shapes are checked first.
    view = np.broadcast_to(one, (2**20, 2**20, 1, 1))
    with pytest.raises(dgrad.InvalidArgumentError, match="filter|out_backprop|input_sizes"):
        call(filter=view)


# ---- conv2d_transpose ----


def transpose(**changes):
    base = dict(input=INCOMING, filters=FILTER, output_shape=SIZES, strides=1, padding="VALID")
    return dgrad.conv2d_transpose(**{**base, **changes})


def test_transpose_is_the_same_function():
    np.testing.assert_array_equal(transpose(), RESULT)
    out = np.empty(SIZES, np.float32)
    assert transpose(out=out, threads=1, accuracy="strict") is out
    np.testing.assert_array_equal(transpose(output_shape=[4, 5]), RESULT)
    positional = dgrad.conv2d_transpose(INCOMING, FILTER, SIZES, 1, "VALID", "NHWC", None, None)
    np.testing.assert_array_equal(positional, RESULT)


def test_transpose_strides_and_dilations():
    for data_format in ["NHWC", "NCHW"]:
        args = oracle.arguments(
            [1, 9, 8, 2] if data_format == "NHWC" else [1, 2, 9, 8],
            [2, 2, 2, 3], (2, 3), "SAME", data_format=data_format,
        )  # fmt: skip
        filter, incoming = oracle.tensors(args)
        want = dgrad.conv2d_backprop_input(args["input_sizes"], filter, incoming, **oracle.keywords(args))
        for strides in [[2, 3], (2, 3), np.array([2, 3]), args["strides"]]:
            got = dgrad.conv2d_transpose(
                incoming, filter, args["input_sizes"], strides, data_format=data_format
            )
            np.testing.assert_array_equal(got, want)
    want = transpose(padding="SAME", input=np.ones((1, 4, 5, 3), np.float32), dilations=[1, 2, 2, 1])
    for dilations in [2, [2], (2, 2), Index(2)]:
        got = transpose(
            padding="SAME", input=np.ones((1, 4, 5, 3), np.float32), dilations=dilations
        )
        np.testing.assert_array_equal(got, want)
    np.testing.assert_array_equal(transpose(strides=None, dilations=None), RESULT)
    np.testing.assert_array_equal(transpose(strides=[1]), RESULT)


def test_transpose_refusals():
    for value in [1.0, True, "2", b"2", {}]:
        for argument in ["strides", "dilations"]:
            with pytest.raises(TypeError, match=argument):
                transpose(**{argument: value})
    for value in [[1.0], [1, True], ["1"], np.array([1.5, 2.5])]:
        with pytest.raises(TypeError, match="strides"):
            transpose(strides=value)
    for value in [[], [1, 1, 1], [1] * 5, 0, [0, 1], 2**63]:
        with pytest.raises(dgrad.InvalidArgumentError, match="strides"):
            transpose(strides=value)
    with pytest.raises(dgrad.InvalidArgumentError, match="up1: padding"):
        transpose(padding="same", name="up1")
    with pytest.raises(dgrad.InvalidArgumentError, match="missing"):
        transpose(input=None)
    with pytest.raises(TypeError):
        dgrad.conv2d_transpose(INCOMING, FILTER, SIZES)


# ---- the library ----


def test_version_and_info():
    import importlib.metadata

    assert dgrad.info()["version"] == dgrad.__version__
    try:
        installed = importlib.metadata.version("dgrad")
    except importlib.metadata.PackageNotFoundError:
        installed = dgrad.__version__  # used from the build folder
    assert installed == dgrad.__version__
    assert isinstance(dgrad.info()["threads"], int)


def test_num_threads():
    before = dgrad.get_num_threads()
    try:
        dgrad.set_num_threads(3)
        assert dgrad.get_num_threads() == 3
        dgrad.set_num_threads(0)
        assert dgrad.get_num_threads() >= 1
        for value in [-1, 2**31, 2**70]:
            with pytest.raises(dgrad.InvalidArgumentError, match="threads"):
                dgrad.set_num_threads(value)
        for value in [1.0, None, True, "1"]:
            with pytest.raises(TypeError, match="threads"):
                dgrad.set_num_threads(value)
    finally:
        dgrad.set_num_threads(before)


def test_only_the_initialiser_is_exported():
    import ctypes

    from dgrad import _dgrad

    library = ctypes.CDLL(_dgrad.__file__)
    assert hasattr(library, "PyInit__dgrad")
    assert not hasattr(library, "dgrad_version")


def test_the_stub_names_what_the_module_has():
    import ast
    import os

    from dgrad import _dgrad

    path = os.path.join(os.path.dirname(dgrad.__file__), "_dgrad.pyi")
    with open(path) as file:
        tree = ast.parse(file.read())
    top = {node.name for node in tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    assert top == {name for name in dir(_dgrad) if not name.startswith("_")}
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            stub = {n.name for n in node.body if isinstance(n, ast.FunctionDef)}
            real = {name for name in dir(getattr(_dgrad, node.name)) if not name.startswith("_")}
            assert stub - {"__init__"} == real


def test_examples_of_the_docstrings():
    import doctest

    import dgrad.ops
    import dgrad.plan

    for module in [dgrad.ops, dgrad.plan]:
        failed, tried = doctest.testmod(module)
        assert tried > 0 and failed == 0
