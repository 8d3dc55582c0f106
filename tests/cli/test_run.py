"""dgrad run: results, every option, .npz, bfloat16, output files."""

import os
import subprocess

import ml_dtypes
import numpy as np
import pytest
from conftest import PROGRAM, RUN, small_layer, small_result


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int32])
def test_types(dgrad, tmp_path, dtype):
    filter, out_backprop = small_layer(dtype)
    np.save(tmp_path / "f.npy", filter)
    np.save(tmp_path / "g.npy", out_backprop)
    result = dgrad(*RUN)
    assert "out.npy: " + np.dtype(dtype).name in result.out
    out = np.load(tmp_path / "out.npy")
    assert out.dtype == dtype and out.flags.c_contiguous
    np.testing.assert_array_equal(out, small_result(filter, out_backprop))


def test_bfloat16(dgrad, tmp_path, files):
    filter, out_backprop = small_layer(ml_dtypes.bfloat16)
    np.save(tmp_path / "f.npy", filter)  # '<V2'
    np.save(tmp_path / "g.npy", np.load(save(tmp_path / "x.npy", out_backprop)))  # '|V2'
    assert "--dtype bfloat16" in dgrad(*RUN, code=1).err
    assert "out.npy" not in files()
    dgrad(*RUN, "--dtype", "bfloat16")
    raw = (tmp_path / "out.npy").read_bytes()
    assert b"'descr': '<V2'" in raw
    out = np.load(tmp_path / "out.npy").view(ml_dtypes.bfloat16)
    np.testing.assert_array_equal(out.astype(np.float64), small_result(filter, out_backprop))
    # What it wrote can be read again.
    dgrad("run", "--filter", "f.npy", "--out-backprop", "out.npy", "--problem",
          "h7w7c2_k3x2_oc2_bf16", "-o", "again.npy", code=1)
    np.save(tmp_path / "f2.npy", filter[..., :2].copy())
    dgrad("run", "--filter", "f2.npy", "--out-backprop", "out.npy", "--problem",
          "h7w7c2_k3x2_oc2_bf16", "-o", "again.npy")


def save(path, array):
    np.save(path, array)
    return path


def test_header_is_numpys(dgrad, layer, tmp_path):
    dgrad(*RUN)
    raw = (tmp_path / "out.npy").read_bytes()
    again = save(tmp_path / "numpy.npy", np.load(tmp_path / "out.npy")).read_bytes()
    assert raw[:8] == again[:8]
    end = raw.index(b"\n") + 1
    assert end % 64 == 0 and raw[end:] == again[again.index(b"\n") + 1:]


@pytest.mark.parametrize("words", [
    ["--problem", "h5w6c2_k3x2_oc4_s2x1"],
    ["--input-sizes", "5,6", "--strides", "2,1"],
    ["--input-sizes", "[1, 5, 6, 2]", "--strides", "1,2,1,1", "--dilations", "1", "--padding",
     "EXPLICIT", "--explicit-paddings", "0,0,0,0"],
    ["--input-sizes=1,5,6,2", "--strides=2,1", "--padding=EXPLICIT",
     "--explicit-paddings=0,0,0,0,0,0,0,0", "--data-format=NHWC", "--dtype=float32",
     "--accuracy=strict", "--isa=scalar", "--threads=2", "--algorithm=direct",
     "--workspace-limit=64m", "--quiet"],
])
def test_options(dgrad, layer, tmp_path, words):
    dgrad("run", "--filter", "f.npy", "--out-backprop", "g.npy", "-o", "out.npy", *words)
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), small_result(*layer))


def test_nchw_and_same(dgrad, tmp_path):
    filter, _ = small_layer()
    out_backprop = np.arange(1 * 4 * 3 * 6, dtype=np.float32).reshape(1, 4, 3, 6) % 5
    np.save(tmp_path / "f.npy", filter)
    np.save(tmp_path / "nchw.npy", out_backprop)
    np.save(tmp_path / "nhwc.npy", out_backprop.transpose(0, 2, 3, 1).copy())
    same = ["--filter", "f.npy", "--padding", "SAME", "--strides", "2,1"]
    dgrad("run", *same, "--out-backprop", "nchw.npy", "--data-format", "NCHW", "--input-sizes",
          "1,2,5,6", "-o", "a.npy")
    dgrad("run", *same, "--out-backprop", "nhwc.npy", "--input-sizes", "1,5,6,2", "-o", "b.npy")
    a = np.load(tmp_path / "a.npy")
    assert a.shape == (1, 2, 5, 6) and a.any()
    np.testing.assert_array_equal(a.transpose(0, 2, 3, 1), np.load(tmp_path / "b.npy"))


@pytest.mark.parametrize("writer", [np.savez, np.savez_compressed])
def test_npz(dgrad, tmp_path, writer):
    filter, out_backprop = small_layer()
    writer(tmp_path / "all.npz", filter=filter, out_backprop=out_backprop, other=filter[:1])
    writer(tmp_path / "one.npz", **{"a:b": out_backprop})
    words = ["--problem", "h5w6c2_k3x2_oc4_s2x1", "--force", "-o", "out.npy"]
    for f, g in [("all.npz", "all.npz"), ("all.npz:filter", "one.npz"),
                 ("all.npz:filter", "one.npz:a:b")]:
        dgrad("run", "--filter", f, "--out-backprop", g, *words)
        np.testing.assert_array_equal(np.load(tmp_path / "out.npy"),
                                      small_result(filter, out_backprop))
    error = dgrad("run", "--filter", "all.npz:weights", "--out-backprop", "one.npz", *words,
                  code=1).err
    assert "'weights'" in error and "'filter', 'out_backprop', 'other'" in error
    error = dgrad("run", "--filter", "all.npz:other", "--out-backprop", "one.npz", *words,
                  code=1).err
    assert "filter" in error and "(1, 2, 2, 4)" in error


def test_pipes(tmp_path, layer):
    words = ["run", "--filter", "-", "--out-backprop", "g.npy", "--problem",
             "h5w6c2_k3x2_oc4_s2x1", "-o", "-"]
    done = subprocess.run([PROGRAM, *words], input=(tmp_path / "f.npy").read_bytes(), cwd=tmp_path,
                          stdout=subprocess.PIPE, check=True)
    (tmp_path / "out.npy").write_bytes(done.stdout)
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), small_result(*layer))


def test_force(dgrad, layer, tmp_path, files):
    (tmp_path / "out.npy").write_text("precious")
    os.chmod(tmp_path / "out.npy", 0o640)
    assert "--force" in dgrad(*RUN, code=1).err
    assert (tmp_path / "out.npy").read_text() == "precious"
    dgrad(*RUN, "--force")
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), small_result(*layer))
    assert os.stat(tmp_path / "out.npy").st_mode & 0o777 == 0o640
    assert files() == ["f.npy", "g.npy", "out.npy"]


def test_links_and_devices(dgrad, layer, tmp_path):
    (tmp_path / "goal.npy").write_text("x")
    os.symlink("goal.npy", tmp_path / "out.npy")
    dgrad(*RUN, "--force")
    assert os.path.islink(tmp_path / "out.npy")
    np.testing.assert_array_equal(np.load(tmp_path / "goal.npy"), small_result(*layer))
    os.mkfifo(tmp_path / "fifo")
    for goal in ["fifo", ".", "no/such/out.npy", "f.npy/out.npy", "", "dir/"]:
        assert "can't write" in dgrad(*RUN[:-1], goal, "--force", code=1).err
    os.symlink("missing", tmp_path / "dangling.npy")
    dgrad(*RUN[:-1], "dangling.npy", "--force", code=1)


def test_new_file_has_the_usual_mode(dgrad, layer, tmp_path):
    old = os.umask(0o027)
    try:
        dgrad(*RUN)
    finally:
        os.umask(old)
    assert os.stat(tmp_path / "out.npy").st_mode & 0o777 == 0o640


def test_output_over_input(dgrad, tmp_path):
    filter, out_backprop = small_layer()
    np.save(tmp_path / "f.npy", filter)
    np.save(tmp_path / "g.npy", out_backprop)
    dgrad(*RUN[:-1], "g.npy", "--force")
    np.testing.assert_array_equal(np.load(tmp_path / "g.npy"), small_result(filter, out_backprop))
