"""Conformance: every case of tests/data/cases, which says where they come from and their form."""

import json
import os

import numpy as np
import oracle
import pytest
import refconv

import dgrad

RAISES = {
    "ValueError": ValueError,
    "TypeError": TypeError,
    "InvalidArgumentError": ValueError,
    "UnimplementedError": NotImplementedError,
    "ResourceExhaustedError": MemoryError,
}
REFUSALS = (ValueError, TypeError, NotImplementedError, MemoryError)
MOST_MULTIPLY_ADDS = 4e9
MOST_ELEMENTS = 2**28
WORKSPACE = 256 << 20


def load(name):
    with open(os.path.join(oracle.CASES, name)) as file:
        content = json.load(file)
    return content["cases"] if isinstance(content, dict) else content


CASES = load("tf_cases.json") + load("field_cases.json")


def product(sizes):
    return float(np.prod([float(size) for size in sizes]))


def multiply_adds(args):
    return product(args["out_backprop_shape"]) * product(args["filter_shape"][:3])


def is_error(case):
    expect = case["expect"]
    return expect == "error" or isinstance(expect, dict)


def why_skip(case):
    args, call = case["args"], case.get("call", {})
    if call.get("entry") == "raw":
        return "the raw op has a form of its own"
    if call.get("input_sizes_kind", "").startswith("tf_"):
        return "needs a TensorFlow tensor"
    if max(product(args["filter_shape"]), product(args["out_backprop_shape"])) > MOST_ELEMENTS:
        return "its tensors are too large to make"
    if is_error(case) or case["expect"] == "memory":
        return None
    if product(args["input_sizes"]) > 2 * MOST_ELEMENTS:
        return "its result is too large to make"
    if multiply_adds(args) > MOST_MULTIPLY_ADDS:
        return "more than 4e9 multiply-adds"
    return None


def make(case):
    args = case["args"]
    fill = case.get("fill") or {"scheme": "quant8", "seed": sum(map(ord, case["id"]))}
    if fill["scheme"] == "explicit":
        filter = np.array([float(x) for x in fill["filter"]]).reshape(args["filter_shape"])
        incoming = np.array([float(x) for x in fill["out_backprop"]])
        incoming = incoming.reshape(args["out_backprop_shape"])
    else:
        filter = refconv.fill(fill["scheme"], args["filter_shape"], fill["seed"])
        incoming = refconv.fill(fill["scheme"], args["out_backprop_shape"], fill["seed"] + 1)
    with np.errstate(over="ignore", invalid="ignore"):
        dtype = oracle.np_dtype(args["dtype"])
        out_dtype = oracle.np_dtype(case.get("call", {}).get("out_dtype", args["dtype"]))
        return filter.astype(dtype), incoming.astype(out_dtype)


def invoke(case, filter, incoming, **more):
    args, call = case["args"], case.get("call", {})
    sizes = args["input_sizes"]
    if call.get("input_sizes_kind") == "np_int64":
        sizes = np.array(sizes, np.int64)
    given = oracle.keywords(args)
    if call.get("data_format_null"):
        given["data_format"] = None
    if call.get("dilations_null"):
        given["dilations"] = None
    if "use_cudnn_on_gpu" in call:
        given["use_cudnn_on_gpu"] = call["use_cudnn_on_gpu"]
    if call.get("out_kw") != "none":
        given["out_backprop"] = incoming
    which = call.get("filter_kw", "filter")
    for name in ("filter", "filters"):
        if which in (name, "both"):
            given[name] = filter
    return dgrad.conv2d_backprop_input(sizes, **given, **more)


def check_error(case):
    expect = case["expect"]
    # A public report says only that a call must be refused.
    kind = RAISES[expect["error"]] if isinstance(expect, dict) else REFUSALS
    filter, incoming = make(case)
    try:
        invoke(case, filter, incoming)
    except REFUSALS as error:
        assert isinstance(error, kind), repr(error)
        assert len(str(error)) >= 15
    else:
        assert case.get("alt") == "value", "the call was accepted"


def check_value(case):
    args = case["args"]
    filter, incoming = make(case)
    want = oracle.reference(args, filter, incoming)
    if case["id"] in oracle.golden():
        stored = oracle.golden()[case["id"]].reshape(want.shape)
        np.testing.assert_allclose(want, stored, rtol=1e-12, atol=1e-12)  # the two oracles agree
        want = stored
    scales = None if args["dtype"] == "int32" else oracle.scale(args, filter, incoming)
    exact = case.get("tol", {}).get("kind", "").startswith("exact")
    for accuracy in ("strict", "fast"):
        got = invoke(case, filter, incoming, accuracy=accuracy)
        oracle.check(got, want, args, scales, accuracy, exact)
        poison = 77 if args["dtype"] == "int32" else np.nan
        out = np.full(want.shape, poison, filter.dtype)
        assert invoke(case, filter, incoming, accuracy=accuracy, out=out) is out
        assert out.tobytes() == got.tobytes()


def check_memory(case):
    args = case["args"]
    plan = dgrad.Plan(
        args["input_sizes"], args["filter_shape"], dtype=args["dtype"], **oracle.keywords(args)
    )
    assert plan.workspace_bytes <= WORKSPACE
    if multiply_adds(args) <= MOST_MULTIPLY_ADDS:
        check_value(case)


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_case(case):
    reason = why_skip(case)
    if reason:
        pytest.skip(reason)
    if is_error(case):
        check_error(case)
    elif case["expect"] == "memory":
        check_memory(case)
    else:
        check_value(case)


def test_all_cases_are_there():
    assert len(load("tf_cases.json")) == 261
    assert len(load("field_cases.json")) == 84
    assert len({case["id"] for case in CASES}) == len(CASES)
