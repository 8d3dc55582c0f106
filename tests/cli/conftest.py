"""The program under test: DGRAD_CLI, or the release build's."""

import os
import pathlib
import subprocess

import numpy as np
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("DGRAD_CLI", str(ROOT / "build" / "release" / "cli" / "dgrad"))


class Result:
    def __init__(self, done):
        self.code = done.returncode
        self.out = done.stdout.decode(errors="replace")
        self.err = done.stderr.decode(errors="replace")
        self.bytes = done.stdout


@pytest.fixture
def dgrad(tmp_path):
    """dgrad(*words) runs the program in tmp_path; code= is the exit code that it must have."""

    def call(*words, code=0, **options):
        options.setdefault("cwd", tmp_path)
        options.setdefault("stdout", subprocess.PIPE)
        done = subprocess.run([PROGRAM, *map(str, words)], stderr=subprocess.PIPE, timeout=300,
                              stdin=options.pop("stdin", subprocess.DEVNULL), **options)
        if done.stdout is None:
            done.stdout = b""
        result = Result(done)
        assert result.code == code, (words, result.code, result.out, result.err)
        if code != 0 and done.returncode > 0:
            assert result.err.startswith("dgrad: ") or "wrong" in result.out, result.err
        return result

    return call


def small_layer(dtype=np.float32, seed=1):
    """(filter, out_backprop) of h5w6c2_k3x2_oc4_s2x1 with small integers."""
    rng = np.random.default_rng(seed)
    filter = rng.integers(-3, 4, (3, 2, 2, 4)).astype(dtype)
    out_backprop = rng.integers(-3, 4, (1, 2, 5, 4)).astype(dtype)
    return filter, out_backprop


def small_result(filter, out_backprop):
    """The definition, in double."""
    result = np.zeros((1, 5, 6, 2))
    for oh in range(2):
        for ow in range(5):
            for kh in range(3):
                for kw in range(2):
                    result[0, 2 * oh + kh, ow + kw] += (
                        filter[kh, kw].astype(np.float64) @ out_backprop[0, oh, ow].astype(np.float64))
    return result


RUN = ["run", "--filter", "f.npy", "--out-backprop", "g.npy", "--input-sizes", "1,5,6,2",
       "--strides", "1,2,1,1", "-o", "out.npy"]


@pytest.fixture
def layer(tmp_path):
    filter, out_backprop = small_layer()
    np.save(tmp_path / "f.npy", filter)
    np.save(tmp_path / "g.npy", out_backprop)
    return filter, out_backprop


@pytest.fixture
def files(tmp_path):
    """files() lists what lies in tmp_path, temporary files included."""
    return lambda: sorted(os.listdir(tmp_path))
