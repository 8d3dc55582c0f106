"""What needs no library: python -m pytest bench/peers"""

import math
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import summary
from layers import parse, read_shapes
from timing import distance

SHAPES = pathlib.Path(__file__).resolve().parents[2] / "shapes"


def test_every_layer_is_read():
    assert len(read_shapes(SHAPES / "suite.txt")) == 25
    assert len(read_shapes(SHAPES / "networks.txt", layout="NCHW", dtype="float16")) == 88


def test_geometry():
    layer = parse("n2_h9w8c6_k3x2_oc4_s2x3_psame_d1x2_g2_nchw_f64", "name")
    assert layer.pads == [1, 1, 0, 1]  # 3x2 taps that reach 3x3, strides 2x3, 5x3 outputs
    assert (layer.rows.out, layer.columns.out) == (5, 3)
    assert layer.sizes == [2, 6, 9, 8] and layer.filter_shape == [3, 2, 3, 4]
    assert layer.dtype == "float64" and layer.nchw
    assert layer.read_bytes == 8 * 4 * (2 * 5 * 3 + 3 * 2 * 3)


def test_only_taps_that_land_count():
    # 3 taps with padding 1 on 4 elements: 4 + 2 * 3 pairs an axis.
    assert parse("h4w4c1_k3x3_oc1_p1,1,1,1").flops == 2 * 10 * 10


def test_output_padding_makes_up_the_size():
    for layer in read_shapes(SHAPES / "networks.txt"):
        for axis in (layer.rows, layer.columns):
            full = (axis.out - 1) * axis.stride + axis.reach
            assert full - axis.before - axis.after + axis.output_padding == axis.size


@pytest.mark.parametrize("text", ["", "h4w4c1", "h4w4c1_k3x3_oc1_i32", "n1_h4w4c1_oc1_k3x3"])
def test_what_is_no_problem_string(text):
    with pytest.raises(ValueError):
        parse(text)


def row(**rates):
    return {"name": "layer", "peers": {peer: {"gflops": rate} for peer, rate in rates.items()}}


def test_one_shot_calls_are_not_held_against_prepared_models():
    one = row(dgrad=10.0, dgrad_plan=12.0, torch=5.0, ort=24.0)
    assert summary.ratio(one, "dgrad") == 2.0
    assert summary.ratio(one, "dgrad_plan") == 0.5


def test_a_failure_of_ours_is_the_worst():
    failed = {"name": "bad", "peers": {"dgrad": {"error": "wrong"}, "torch": {"gflops": 1.0}}}
    assert summary.ratios([row(dgrad=2.0, torch=1.0), failed], "dgrad")[0] == (0.0, "bad")
    assert "1 below 1" in summary.headline([row(dgrad=2.0, torch=1.0), failed], "dgrad")
    assert summary.geometric_mean([1.0, 4.0]) == pytest.approx(2.0)


def test_wrong_results_are_far_away():
    right = {"all": [1.0, 2.0], "each": [3.0], "norm": 2.0}
    assert distance(right, right) == 0
    assert distance({**right, "each": [4.0]}, right) == 0.5
    assert distance({**right, "each": [math.nan]}, right) == math.inf
    assert distance({**right, "each": []}, right) == math.inf
