"""Arrays in every form that may come: any strides, DLPack, buffers; and the rules of out."""

import array
import ctypes

import ml_dtypes
import numpy as np
import oracle
import pytest

import dgrad

ARGS = oracle.arguments([2, 6, 7, 4], [3, 2, 4, 5], (2, 1), "SAME")
BFLOAT16 = np.dtype(ml_dtypes.bfloat16)


def make(dtype="float32"):
    args = dict(ARGS, dtype=dtype)
    filter, incoming = oracle.tensors(args)
    return filter, incoming


def call(filter, incoming, **more):
    return dgrad.conv2d_backprop_input(
        ARGS["input_sizes"], filter, incoming, **oracle.keywords(ARGS), **more
    )


def same(got, want):
    assert got.dtype == want.dtype
    assert got.tobytes() == want.tobytes()


# ---- layouts in memory ----


def reversed_view(a):
    """Equal to a, negative strides everywhere."""
    return np.ascontiguousarray(a[::-1, ::-1, ::-1, ::-1])[::-1, ::-1, ::-1, ::-1]


def transposed_view(a):
    return np.ascontiguousarray(a.transpose(3, 1, 0, 2)).transpose(2, 1, 3, 0)


def gapped_view(a):
    wide = np.full([2 * n for n in a.shape], 99, a.dtype)
    wide[::2, ::2, ::2, ::2] = a
    return wide[::2, ::2, ::2, ::2]


def unaligned_view(a):
    raw = np.zeros(a.nbytes + 1, np.uint8)
    view = raw[1:].view(a.dtype).reshape(a.shape)
    view[...] = a
    return view


def odd_address(a):
    """Aligned to the element, but to no more."""
    raw = np.zeros(a.size + 1, a.dtype)
    view = raw[1:].reshape(a.shape)
    view[...] = a
    return view


def read_only(a):
    a = a.copy()
    a.flags.writeable = False
    return a


def field_of_a_record(a):
    table = np.zeros(a.shape, [("pad", np.uint8), ("value", a.dtype)])
    table["value"] = a
    return table["value"]


VIEWS = [
    reversed_view, transposed_view, gapped_view, unaligned_view, odd_address, read_only,
    field_of_a_record, np.asfortranarray,
]  # fmt: skip


@pytest.mark.parametrize("view", VIEWS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("dtype", oracle.DTYPES)
def test_views_are_never_misread(view, dtype):
    filter, incoming = make(dtype)
    want = call(filter, incoming)
    np.testing.assert_array_equal(view(filter), filter)
    same(call(view(filter), incoming), want)
    same(call(filter, view(incoming)), want)


def test_broadcast_views():
    filter, incoming = make()
    value = np.broadcast_to(np.float32(0.5), incoming.shape)
    same(call(filter, value), call(filter, value.copy()))
    rows = np.broadcast_to(incoming[:, :1], incoming.shape)
    same(call(filter, rows), call(filter, rows.copy()))


def test_inputs_are_not_written():
    filter, incoming = make()
    before = filter.tobytes(), incoming.tobytes()
    call(filter, incoming)
    assert (filter.tobytes(), incoming.tobytes()) == before


def test_the_same_array_twice():
    square = np.arange(1, 17, dtype=np.float32).reshape(2, 2, 2, 2)
    result = dgrad.conv2d_backprop_input([2, 3, 3, 2], square, square, [1] * 4, "VALID")
    same(
        result,
        dgrad.conv2d_backprop_input([2, 3, 3, 2], square, square.copy(), [1] * 4, "VALID"),
    )


def test_subclasses_come_back_as_plain_arrays(tmp_path):
    filter, incoming = make()
    want = call(filter, incoming)

    class Tagged(np.ndarray):
        pass

    result = call(filter.view(Tagged), incoming[:, ::-1].view(Tagged)[:, ::-1])
    assert type(result) is np.ndarray
    same(result, want)
    path = tmp_path / "filter"
    stored = np.memmap(path, np.float32, "w+", shape=filter.shape)
    stored[...] = filter
    same(call(stored, incoming), want)


# ---- buffers and __array__ ----


def test_buffers():
    filter, incoming = make()
    want = call(filter, incoming)
    same(call(memoryview(filter), incoming), want)
    same(call(filter, memoryview(incoming)), want)
    same(call(filter, memoryview(incoming[:, ::-1])), call(filter, incoming[:, ::-1]))
    flat = array.array("f", incoming.ravel().tolist())
    same(call(filter, memoryview(flat).cast("B").cast("f", incoming.shape)), want)
    block = (ctypes.c_float * 5 * 4 * 2 * 3)()
    ctypes.memmove(block, filter.ctypes.data, filter.nbytes)
    same(call(block, incoming), want)
    with pytest.raises(dgrad.InvalidArgumentError, match="filter"):
        call(flat, incoming)  # one dimension
    with pytest.raises(dgrad.InvalidArgumentError, match="uint8"):
        call(bytearray(16), incoming)


def test_array_method():
    filter, incoming = make()

    class Lazy:
        def __init__(self, values):
            self.values = values

        def __array__(self, dtype=None, copy=None):
            return self.values

    same(call(Lazy(filter), Lazy(incoming)), call(filter, incoming))

    class Broken:
        def __array__(self, dtype=None, copy=None):
            raise RuntimeError("the file is gone")

    with pytest.raises(dgrad.InvalidArgumentError, match="filter: the file is gone") as caught:
        call(Broken(), incoming)
    assert isinstance(caught.value.__cause__, RuntimeError)


# ---- DLPack ----


class Producer:
    """An object that is a tensor by DLPack only, on NumPy's account."""

    def __init__(self, values, device=(1, 0)):
        self.values = values
        self.device = device

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, **keywords):
        self.keywords = keywords
        return self.values.__dlpack__(**keywords)


class OldProducer(Producer):
    def __dlpack__(self):
        return self.values.__dlpack__()


@pytest.mark.parametrize("producer", [Producer, OldProducer])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int32"])
def test_dlpack(producer, dtype):
    filter, incoming = make(dtype)
    want = call(filter, incoming)
    same(call(producer(filter), producer(incoming)), want)
    same(call(filter, producer(gapped_view(incoming))), want)
    same(call(producer(transposed_view(filter)), incoming), want)
    same(call(producer(reversed_view(filter)), incoming), want)


def test_dlpack_read_only():
    filter, incoming = make()
    if not hasattr(np, "from_dlpack") or np.lib.NumpyVersion(np.__version__) < "2.1.0":
        pytest.skip("this NumPy exports read-only arrays not at all")
    same(call(Producer(read_only(filter)), incoming), call(filter, incoming))


def test_dlpack_refusals():
    filter, incoming = make()
    for device in [2, 4, 7, 8, 10, 13]:
        with pytest.raises(dgrad.InvalidArgumentError, match="filter must be in the memory of the"):
            call(Producer(filter, (device, 0)), incoming)
    for dtype in ["int64", "uint8", "complex64", "int16"]:
        with pytest.raises(dgrad.InvalidArgumentError, match=f"out_backprop.*given {dtype}"):
            call(filter, Producer(incoming.astype(dtype)))
    with pytest.raises(dgrad.InvalidArgumentError, match="filter must be 4|filter"):
        call(Producer(filter[0]), incoming)

    class Fails(Producer):
        def __dlpack__(self, **keywords):
            raise BufferError("it needs a gradient")

    with pytest.raises(dgrad.InvalidArgumentError, match="filter: it needs a gradient") as caught:
        call(Fails(filter), incoming)
    assert isinstance(caught.value.__cause__, BufferError)

    class NoCapsule(Producer):
        def __dlpack__(self, **keywords):
            return "capsule"

    with pytest.raises(TypeError, match="__dlpack__"):
        call(NoCapsule(filter), incoming)


class DLDataType(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32), ("dtype", DLDataType), ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64),
    ]  # fmt: skip


class DLManaged(ctypes.Structure):
    _fields_ = [("tensor", DLTensor), ("manager", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


class DLVersioned(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("manager", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p), ("flags", ctypes.c_uint64), ("tensor", DLTensor),
    ]  # fmt: skip


new_capsule = ctypes.pythonapi.PyCapsule_New
new_capsule.restype = ctypes.py_object
new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


class HandMade:
    """A tensor described by hand, for what NumPy can't or won't describe."""

    def __init__(self, values, code, bits, versioned=True, strides=None, offset=0, ndim=None,
                 major=1, lanes=1, null=False, device=1):
        self.values = values
        shape = values.shape
        self.shape = (ctypes.c_int64 * max(len(shape), 1))(*shape)
        self.strides = None
        if strides is not None:
            self.strides = (ctypes.c_int64 * len(strides))(*strides)
        tensor = DLTensor(
            None if null else values.ctypes.data - offset, device, 0,
            len(shape) if ndim is None else ndim, DLDataType(code, bits, lanes), self.shape,
            self.strides, offset,
        )  # fmt: skip
        self.name = b"dltensor_versioned" if versioned else b"dltensor"
        if versioned:
            self.managed = DLVersioned(major, 0, None, None, 1, tensor)
        else:
            self.managed = DLManaged(tensor, None, None)

    def __dlpack__(self, max_version=None):
        return new_capsule(ctypes.addressof(self.managed), self.name, None)


@pytest.mark.parametrize("versioned", [True, False])
def test_dlpack_bfloat16(versioned):
    filter, incoming = make("bfloat16")
    want = call(filter, incoming)
    same(call(HandMade(filter, 4, 16, versioned), HandMade(incoming, 4, 16, versioned)), want)
    same(call(HandMade(filter, 4, 16, versioned, offset=6), incoming), want)
    gapped = gapped_view(incoming)
    strides = [s // 2 for s in gapped.strides]
    same(call(filter, HandMade(gapped, 4, 16, versioned, strides=strides)), want)


def test_dlpack_without_sense():
    filter, incoming = make("bfloat16")
    for wrong in [
        dict(ndim=-1), dict(ndim=1000), dict(null=True), dict(major=2), dict(lanes=2),
        dict(device=2), dict(strides=[2**62] * 4),
    ]:  # fmt: skip
        with pytest.raises(dgrad.InvalidArgumentError, match="filter"):
            call(HandMade(filter, 4, 16, **wrong), incoming)
    for code, bits in [(2, 8), (4, 32), (17, 8), (0, 64)]:
        with pytest.raises(dgrad.InvalidArgumentError, match="filter must be of type"):
            call(HandMade(filter, code, bits), incoming)


def test_dlpack_empty_without_memory():
    filter = np.zeros((2, 2, 1, 1), np.float32)
    empty = np.zeros((0, 2, 2, 1), np.float32)
    result = dgrad.conv2d_backprop_input(
        [0, 3, 3, 1], filter, HandMade(empty, 2, 32, null=True), [1] * 4, "VALID"
    )
    assert result.shape == (0, 3, 3, 1)


def test_torch():
    torch = pytest.importorskip("torch")
    for name in oracle.DTYPES:
        filter, incoming = make(name)
        want = call(filter, incoming)
        tensors = [
            torch.tensor(a.astype(np.float64)).to(getattr(torch, name)) for a in (filter, incoming)
        ]
        same(call(*tensors), want)
        same(call(tensors[0], tensors[1].permute(0, 2, 1, 3).contiguous().permute(0, 2, 1, 3)), want)
    tensors[0] = torch.ones(filter.shape, requires_grad=True)
    with pytest.raises(dgrad.InvalidArgumentError, match="filter: "):
        call(tensors[0], incoming.astype(np.float32))
    sizes = torch.tensor(ARGS["input_sizes"])
    result = dgrad.conv2d_backprop_input(sizes, filter, incoming, **oracle.keywords(ARGS))
    same(result, call(filter, incoming))


def test_jax():
    jax = pytest.importorskip("jax")
    for name in ["float16", "bfloat16", "float32", "int32"]:
        filter, incoming = make(name)
        same(
            call(jax.numpy.asarray(filter), jax.numpy.asarray(incoming)), call(filter, incoming)
        )


# ---- out ----


@pytest.mark.parametrize("dtype", oracle.DTYPES)
def test_out_is_what_comes_back(dtype):
    filter, incoming = make(dtype)
    out = np.full(ARGS["input_sizes"], 7, filter.dtype)
    assert call(filter, incoming, out=out) is out
    same(out, call(filter, incoming))
    shifted = odd_address(out)
    assert call(filter, incoming, out=shifted) is shifted
    same(shifted, out)


def test_out_refusals():
    filter, incoming = make()
    good = np.zeros(ARGS["input_sizes"], np.float32)
    for out in [[1.0], memoryview(good), Producer(good), 1, "out"]:
        with pytest.raises(TypeError, match="out must be a NumPy array"):
            call(filter, incoming, out=out)
    bad = {
        "type": [good.astype(np.float64), good.astype(np.int32), good.astype(BFLOAT16),
                 good.astype(np.dtype("f4").newbyteorder()), good.astype("S4")],
        "shape": [good[:1], good[0], good.reshape(-1), np.empty((2, 6, 7, 5), np.float32),
                  np.empty((1, 2, 6, 7, 4), np.float32), np.empty((), np.float32)],
        "writeable": [read_only(good), np.broadcast_to(np.float32(1), good.shape)],
        "contiguous": [good[::-1], gapped_view(good), np.asfortranarray(good), unaligned_view(good)],
    }  # fmt: skip
    for words, arrays in bad.items():
        for out in arrays:
            with pytest.raises(dgrad.InvalidArgumentError, match=f"out must.*{words}"):
                call(filter, incoming, out=out)


def test_out_overlaps_nothing():
    filter = np.ones((1, 1, 3, 3), np.float32)
    keywords = dict(strides=[1] * 4, padding="VALID")
    raw = np.zeros(1000, np.float32)
    incoming = raw[100:160].reshape(1, 4, 5, 3)
    for start in [41, 90, 100, 130, 159]:
        out = raw[start : start + 60].reshape(1, 4, 5, 3)
        with pytest.raises(dgrad.InvalidArgumentError, match="out must not share memory with out_b"):
            dgrad.conv2d_backprop_input([1, 4, 5, 3], filter, incoming, out=out, **keywords)
    for start in [40, 160]:
        out = raw[start : start + 60].reshape(1, 4, 5, 3)
        assert (
            dgrad.conv2d_backprop_input([1, 4, 5, 3], filter, incoming, out=out, **keywords) is out
        )
    # An input that is copied anyway must not overlap either.
    backwards = raw[100:160].reshape(1, 4, 5, 3)[:, ::-1]
    with pytest.raises(dgrad.InvalidArgumentError, match="out must not share memory"):
        out = raw[100:160].reshape(1, 4, 5, 3)
        dgrad.conv2d_backprop_input([1, 4, 5, 3], filter, backwards, out=out, **keywords)
    square = raw[200:209].reshape(1, 1, 3, 3)
    with pytest.raises(dgrad.InvalidArgumentError, match="out must not share memory with filter"):
        out = raw[150:210].reshape(1, 4, 5, 3)
        dgrad.conv2d_backprop_input([1, 4, 5, 3], square, incoming.copy(), out=out, **keywords)


def test_out_between_the_rows_of_a_strided_input():
    """The bounds overlap, the elements do not; one element further they do."""
    raw = np.ones(180, np.float32)
    incoming = np.lib.stride_tricks.as_strided(
        raw, (2, 4, 5, 3), [4 * n for n in (120, 15, 3, 1)], writeable=False
    )
    filter = np.ones((1, 1, 1, 3), np.float32)
    for start, legal in [(60, True), (80, True), (59, False), (81, False)]:
        out = raw[start : start + 40].reshape(2, 4, 5, 1)
        assert np.may_share_memory(incoming, out)
        args = dict(strides=[1] * 4, padding="VALID", out=out)
        if legal:
            assert dgrad.conv2d_backprop_input([2, 4, 5, 1], filter, incoming, **args) is out
            np.testing.assert_array_equal(out, np.full(out.shape, 3, np.float32))
            out[...] = 1
        else:
            with pytest.raises(dgrad.InvalidArgumentError, match="out must not share memory"):
                dgrad.conv2d_backprop_input([2, 4, 5, 1], filter, incoming, **args)


def test_out_of_an_empty_result():
    filter = np.zeros((2, 2, 1, 1), np.float32)
    empty = np.zeros((0, 2, 2, 1), np.float32)
    out = np.zeros((0, 3, 3, 1), np.float32)
    result = dgrad.conv2d_backprop_input([0, 3, 3, 1], filter, empty, [1] * 4, "VALID", out=out)
    assert result is out


def test_references_are_given_back():
    """Neither arrays nor capsules leak, in calls that succeed and in calls that fail."""
    import gc
    import sys

    filter, incoming = make()
    out = np.empty(ARGS["input_sizes"], np.float32)
    producer = Producer(filter)
    objects = [filter, incoming, out, producer, ARGS["input_sizes"], ARGS["strides"], BFLOAT16]

    def exercise():
        call(filter, incoming, out=out)
        call(producer, gapped_view(incoming))
        for wrong in [dict(out=filter), dict(threads=0)]:
            with pytest.raises(dgrad.InvalidArgumentError):
                call(producer, incoming, **wrong)
        plan = dgrad.Plan(ARGS["input_sizes"], ARGS["filter_shape"], **oracle.keywords(ARGS))
        plan(plan.pack(producer), incoming, out)

    exercise()
    gc.collect()
    before = [sys.getrefcount(o) for o in objects]
    for _ in range(20):
        exercise()
    gc.collect()
    assert [sys.getrefcount(o) for o in objects] == before
