"""Runs transposed convolutions of published networks, on the activations they really meet, and
compares with what the networks' own runtimes gave.

    python examples/real_layers.py tests/data/real --picture picture.png

The last layer of waifu2x gives an image enlarged by two, which --picture writes.
"""

import argparse
import pathlib
import re
import statistics
import sys
import time

import numpy as np

import dgrad

PICTURE_LAYER = "waifu2x_upconv7_photo_conv7"
# Of the largest value of the layer: float32 sums of up to 1024 terms in any order, on both sides.
TOLERANCE = 2e-6
RUNS = 20

PROBLEM = re.compile(
    r"n(\d+)_h(\d+)w(\d+)c(\d+)_k(\d+)x(\d+)_oc(\d+)_s(\d+)x(\d+)_p(\d+),(\d+),(\d+),(\d+)"
    r"_d(\d+)x(\d+)_g(\d+)_nhwc_f32"
)


def arguments(problem):
    """conv2d_backprop_input's input_sizes, strides, padding and dilations of a problem string."""
    match = PROBLEM.fullmatch(problem)
    if not match:
        raise ValueError(f"{problem} is not a complete problem string of nhwc and f32")
    n, h, w, c, _, _, _, sh, sw, top, bottom, left, right, dh, dw, _ = map(int, match.groups())
    return {
        "input_sizes": [n, h, w, c],
        "strides": [1, sh, sw, 1],
        "padding": [[0, 0], [top, bottom], [left, right], [0, 0]],
        "dilations": [1, dh, dw, 1],
    }


def layers(folder):
    """The folders of the layers, sorted."""
    found = sorted(p.parent for p in pathlib.Path(folder).glob("*/problem.txt"))
    if not found:
        raise FileNotFoundError(f"{folder} holds no layers")
    return found


def finish(layer, result):
    """What the network does after the transposed convolution: a bias, an activation."""
    if (layer / "bias.npy").exists():
        result = result + np.load(layer / "bias.npy")
    if (layer / "activation.txt").exists():
        activation = (layer / "activation.txt").read_text().strip()
        if activation != "leaky_relu 0.1":
            raise ValueError(f"unknown activation {activation}")
        result = np.where(result > 0, result, np.float32(0.1) * result)
    return result


def run_layer(layer, runs=1):
    """(result, error relative to the largest value, median seconds of the operation alone)."""
    args = arguments((layer / "problem.txt").read_text().strip())
    filter_, out_backprop = np.load(layer / "filter.npy"), np.load(layer / "out_backprop.npy")
    answer = np.load(layer / "in_backprop.npy")
    plan = dgrad.Plan(filter_shape=filter_.shape, **args)
    packed = plan.pack(filter_)
    seconds = []
    for _ in range(runs):
        start = time.perf_counter()
        result = plan(packed, out_backprop)
        seconds.append(time.perf_counter() - start)
    result = finish(layer, result)
    if result.shape != answer.shape or result.dtype != np.float32:
        raise AssertionError(f"{layer.name}: got {result.dtype} of shape {result.shape}")
    error = float(np.abs(result - answer).max() / np.abs(answer).max())
    return result, error, statistics.median(seconds)


def write_picture(result, path):
    """Writes RGB values from 0 to 1 of shape [1, height, width, 3] as an image."""
    from PIL import Image

    pixels = np.rint(np.clip(result[0], 0, 1) * 255).astype(np.uint8)
    Image.fromarray(pixels, "RGB").save(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("folder", help="tests/data/real")
    parser.add_argument("--picture", help="where to write the enlarged image")
    options = parser.parse_args()
    good = True
    for layer in layers(options.folder):
        result, error, seconds = run_layer(layer, RUNS)
        wrong = not error <= TOLERANCE  # NaN is wrong
        good = good and not wrong
        print(
            f"{layer.name:30} {seconds * 1e6:9.1f} us  error {error:.1e}{'  WRONG' * wrong}"
        )
        if options.picture and layer.name == PICTURE_LAYER:
            write_picture(result, options.picture)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
