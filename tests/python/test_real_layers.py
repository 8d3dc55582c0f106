"""Layers of published networks against the answers of the networks' own runtimes."""

import importlib.util
import pathlib

import numpy as np
import pytest

import dgrad

ROOT = pathlib.Path(__file__).resolve().parents[2]
_spec = importlib.util.spec_from_file_location("real_layers", ROOT / "examples" / "real_layers.py")
real_layers = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(real_layers)

LAYERS = real_layers.layers(ROOT / "tests" / "data" / "real")


def test_all_layers_are_there():
    assert len(LAYERS) == 8
    assert any(layer.name == real_layers.PICTURE_LAYER for layer in LAYERS)


@pytest.mark.parametrize("layer", LAYERS, ids=lambda layer: layer.name)
def test_layer(layer):
    _, error, _ = real_layers.run_layer(layer)
    assert error <= real_layers.TOLERANCE


@pytest.mark.parametrize("layer", LAYERS, ids=lambda layer: layer.name)
def test_layer_in_one_call(layer):
    args = real_layers.arguments((layer / "problem.txt").read_text().strip())
    filter_, out_backprop = np.load(layer / "filter.npy"), np.load(layer / "out_backprop.npy")
    answer = np.load(layer / "in_backprop.npy")
    for accuracy in ("fast", "strict"):
        result = dgrad.conv2d_backprop_input(
            filter=filter_, out_backprop=out_backprop, accuracy=accuracy, **args
        )
        error = np.abs(real_layers.finish(layer, result) - answer).max() / np.abs(answer).max()
        assert error <= real_layers.TOLERANCE


def test_picture(tmp_path):
    image = pytest.importorskip("PIL.Image")
    layer = next(layer for layer in LAYERS if layer.name == real_layers.PICTURE_LAYER)
    result, _, _ = real_layers.run_layer(layer)
    real_layers.write_picture(result, tmp_path / "picture.png")
    with image.open(tmp_path / "picture.png") as picture:
        assert picture.size == (76, 76)
        pixels = np.asarray(picture, np.float32) / 255
    np.testing.assert_allclose(pixels, np.clip(result[0], 0, 1), atol=0.51 / 255)
