"""Files that are damaged or hostile, full disks, closed pipes: an error, code 1, no file."""

import io
import os
import pathlib
import resource
import signal
import struct
import subprocess
import time
import zipfile
import zlib

import numpy as np
import pytest
from conftest import PROGRAM, RUN, small_layer

FILTER, OUT_BACKPROP = small_layer()


def npy(array):
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


def header(fields, version=1, length=None):
    text = fields.encode() if isinstance(fields, str) else fields
    length = len(text) if length is None else length
    packed = struct.pack("<H" if version == 1 else "<I", length)
    return b"\x93NUMPY" + bytes([version, 0]) + packed + text


def fields(descr="'<f4'", order="False", shape="(3, 2, 2, 4)", more=""):
    return f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, {more}}}\n"


GOOD = npy(FILTER)
DATA = FILTER.tobytes()

# name -> (bytes of the filter's file, a word that the message must have)
BAD = {
    "empty": (b"", "neither"),
    "text": (b"hello world, this is no array", "neither"),
    "magic_only": (b"\x93NUMPY", "cut short"),
    "cut_in_length": (GOOD[:9], "cut short"),
    "cut_in_header": (GOOD[:40], "cut short"),
    "cut_in_data": (GOOD[:-1], "cut short"),
    "no_data": (GOOD[:128], "cut short"),
    "too_long": (GOOD + b"x", "follow"),
    "version_9": (b"\x93NUMPY\x09\x00" + GOOD[8:], "version 9.0"),
    "version_0": (b"\x93NUMPY\x00\x00" + GOOD[8:], "version 0.0"),
    "big_endian": (npy(FILTER.astype(">f4")), "big-endian"),
    "fortran": (npy(np.asfortranarray(FILTER)), "Fortran"),
    "objects": (header(fields("'|O'")) + DATA, "objects"),
    "object_pickle": (npy(np.array([{}, None], dtype=object)), "objects"),
    "structured": (header(fields("[('x', '<f4'), ('y]', '<i4', (2,))]")) + DATA, "structured"),
    "int64": (npy(FILTER.astype(np.int64)), "'<i8'"),
    "bool": (npy(FILTER > 0), "'|b1'"),
    "complex": (npy(FILTER.astype(np.complex64)), "'<c8'"),
    "unicode": (npy(FILTER.astype("U4")), "'<U4'"),
    "void_2": (npy(FILTER.astype("V2")), "--dtype bfloat16"),
    "terabytes": (header(fields(shape="(1000000000000,)")) + DATA, "cut short"),
    "terabytes_4d": (header(fields(shape="(1000, 1000, 1000, 1000)")) + DATA, "cut short"),
    "overflow": (header(fields(shape="(4294967296, 4294967296, 4294967296, 4)")) + DATA, "2^63"),
    "size_2_64": (header(fields(shape="(18446744073709551616, 1)")) + DATA, "2^63"),
    "negative": (header(fields(shape="(-3, 2, 2, 4)")) + DATA, "sizes"),
    "float_size": (header(fields(shape="(3.0, 2, 2, 4)")) + DATA, "damaged"),
    "no_shape": (header("{'descr': '<f4', 'fortran_order': False, }") + DATA, "lacks"),
    "twice": (header(fields(more="'descr': '<f4', ")) + DATA, "twice"),
    "extra": (header(fields(more="'extra': 1, ")) + DATA, "extra"),
    "code": (header("__import__('os').abort()\n") + DATA, "damaged"),
    "open_dict": (header("{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2, 2, 4)") + DATA,
                  "damaged"),
    "open_string": (header("{'descr: <f4") + DATA, "damaged"),
    "open_list": (header("{'descr': [('a', '<f4'") + DATA, "damaged"),
    "order_number": (header(fields(order="0")) + DATA, "fortran_order"),
    "binary_header": (header(bytes(range(256))) + DATA, "damaged"),
    "many_dimensions": (header(fields(shape="(" + "1, " * 5000 + ")")) + DATA, "dimensions"),
    "header_longer_than_file": (header(fields(), length=60000) + DATA, "cut short"),
    "header_4_gb": (header(fields(), version=2, length=2**32 - 1) + DATA, "cut short"),
    "header_1_mb": (header(fields() + " " * 2**20, version=2) + DATA, "header"),
    "header_0": (header("") + DATA, "damaged"),
    "rank_0": (npy(np.float32(1)), "4 dimensions"),
    "rank_3": (npy(FILTER[0]), "4 dimensions"),
    "other_shape": (npy(FILTER[:, :, :, :3]), "out_backprop"),
}


@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("kind", ["npy", "npz", "pipe"])
def test_bad_array(dgrad, tmp_path, files, name, kind):
    data, word = BAD[name]
    np.save(tmp_path / "g.npy", OUT_BACKPROP)
    words = list(RUN)
    options = {}
    if kind == "npz":
        with zipfile.ZipFile(tmp_path / "f.npz", "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("filter.npy", data)
        words[2] = "f.npz"
    else:
        (tmp_path / "f.npy").write_bytes(data)
        if kind == "pipe":
            words[2] = "-"
            options["stdin"] = open(tmp_path / "f.npy", "rb")
    before = files()
    error = dgrad(*words, code=1, **options).err
    # A pipe has no size: what a file shows at once, a pipe shows at its end, or memory forbids it.
    assert word in error or (kind != "npy" and ("memory" in error or "cut short" in error or
                                                "header" in error)), error
    assert len(error.splitlines()) == 1
    assert files() == before


def test_headers_that_numpy_may_write(dgrad, tmp_path):
    np.save(tmp_path / "g.npy", OUT_BACKPROP)
    dgrad_words = [*RUN, "--force"]
    for version in (1, 2, 3):
        (tmp_path / "f.npy").write_bytes(header(fields(), version=version) + DATA)
        dgrad(*dgrad_words)
    (tmp_path / "f.npy").write_bytes(
        header('{"shape":(3,2,2,4),"fortran_order":False,"descr":"<f4"}  ') + DATA)
    dgrad(*dgrad_words)


def zip_of(data, method=zipfile.ZIP_DEFLATED, name="filter.npy"):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as archive:
        archive.writestr(name, data)
    return stream.getvalue()


def with_sizes(archive, size, local=True):
    """The archive with another uncompressed size in its directory (and in the local header)."""
    archive = bytearray(archive)
    at = archive.index(b"PK\x01\x02")
    archive[at + 24:at + 28] = struct.pack("<I", size)
    if local:
        archive[22:26] = struct.pack("<I", size)
    return bytes(archive)


def bomb(shape, zeros):
    """A header of that shape and so many zero bytes, well deflated."""
    return zip_of(header(fields(shape=shape)) + bytes(zeros))


ARCHIVES = {
    "empty": zip_of(b"", name="x.txt"),
    "no_members": b"PK\x05\x06" + bytes(18),
    "cut": zip_of(GOOD)[:-30],
    "half": zip_of(GOOD)[:150],
    "start_only": b"PK\x03\x04",
    "bit_flip": bytes(b ^ (1 if i == 90 else 0)
                      for i, b in enumerate(zip_of(GOOD, zipfile.ZIP_STORED))),
    "wrong_sum": bytes(b ^ (0xFF if i == 300 else 0)
                       for i, b in enumerate(zip_of(GOOD, zipfile.ZIP_STORED))),
    "size_huge": with_sizes(zip_of(GOOD[:-4]), 2**32 - 2),
    "bomb_behind_array": zip_of(GOOD + bytes(1 << 26)),
    "bomb_in_header": zip_of(b"\x93NUMPY\x02\x00" + struct.pack("<I", 1 << 26) + bytes(1 << 26)),
    "bomb_as_array": bomb("(1000000, 1000, 1000, 4)", 1 << 26),
    "bomb_of_wrong_shape": bomb("(16777216,)", 1 << 26),
    "lzma": zip_of(GOOD, zipfile.ZIP_LZMA),
    "bzip2": zip_of(GOOD, zipfile.ZIP_BZIP2),
    "two_of_a_name": None,
}


@pytest.mark.parametrize("name", ARCHIVES)
def test_bad_archive(tmp_path, files, name):
    data = ARCHIVES[name]
    if name == "two_of_a_name":
        stream = io.BytesIO()
        with zipfile.ZipFile(stream, "w") as archive, pytest.warns(UserWarning):
            archive.writestr("filter.npy", GOOD)
            archive.writestr("filter.npy", GOOD)
        data = stream.getvalue()
    (tmp_path / "f.npz").write_bytes(data)
    np.save(tmp_path / "g.npy", OUT_BACKPROP)
    words = ["f.npz" if word == "f.npy" else word for word in RUN]
    done = subprocess.run([PROGRAM, *words], cwd=tmp_path, capture_output=True, timeout=60)
    assert done.returncode == 1, done
    assert done.stderr.startswith(b"dgrad: ") and done.stderr.count(b"\n") == 1
    assert files() == ["f.npz", "g.npy"]
    # Nobody's claim made it take memory.
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss < 2_000_000


def test_directory_sizes_are_not_trusted(dgrad, tmp_path):
    """A directory that lies is either an error or harmless: never another result."""
    np.save(tmp_path / "g.npy", OUT_BACKPROP)
    np.save(tmp_path / "f.npy", FILTER)
    dgrad(*RUN)
    wanted = (tmp_path / "out.npy").read_bytes()
    words = ["f.npz" if word == "f.npy" else word for word in RUN[:-1]]
    for size, local in [(2**31, False), (2**31, True), (0, False), (0, True), (200, True)]:
        (tmp_path / "f.npz").write_bytes(with_sizes(zip_of(GOOD), size, local))
        done = subprocess.run([PROGRAM, *words, "other.npy", "--force"], cwd=tmp_path,
                              capture_output=True)
        assert done.returncode in (0, 1)
        assert (tmp_path / "other.npy").exists() == (done.returncode == 0)
        if done.returncode == 0:
            assert (tmp_path / "other.npy").read_bytes() == wanted
            (tmp_path / "other.npy").unlink()


def test_mutations(tmp_path, files):
    """Any single damaged byte ends in exit code 0 or 1, never in a signal."""
    np.save(tmp_path / "g.npy", OUT_BACKPROP)
    rng = np.random.default_rng(7)
    for make, name in [(GOOD, "f.npy"), (zip_of(GOOD), "f.npz")]:
        for _ in range(60):
            data = bytearray(make)
            for _ in range(rng.integers(1, 4)):
                data[rng.integers(0, min(len(data), 400))] = rng.integers(0, 256)
            (tmp_path / name).write_bytes(bytes(data))
            words = [name if word == "f.npy" else word for word in RUN]
            done = subprocess.run([PROGRAM, *words, "--force"], cwd=tmp_path, capture_output=True,
                                  timeout=60)
            assert done.returncode in (0, 1), (bytes(data), done)
    assert not [name for name in files() if name.startswith(".")]


def test_result_beyond_memory(dgrad, layer, files):
    """A legal problem with tiny operands and a result of terabytes."""
    error = dgrad("run", "--filter", "f.npy", "--out-backprop", "g.npy", "--input-sizes",
                  "1,3000003,5000002,2", "--strides", "3000000,1250000", "-o", "out.npy",
                  code=1).err
    assert "memory" in error and "out.npy" not in files()


def test_sparse_file(dgrad, layer, tmp_path):
    with open(tmp_path / "f.npy", "wb") as file:
        file.write(header(fields(shape="(1000000, 1000, 1000, 1)")))
        try:
            file.truncate(128 + 4 * 10**12)
        except OSError:
            pytest.skip("this file system has no files of 4 TB")
    assert "4 dimensions" not in dgrad(*RUN, code=1).err  # memory, before the shape
    assert not (tmp_path / "out.npy").exists()


def test_missing_inputs(dgrad, layer, files):
    for f in ["missing.npy", ".", "f.npy:x", "missing.npz:x", "/dev/null", ""]:
        dgrad(*["run", "--filter", f], *RUN[3:], code=1)
    assert files() == ["f.npy", "g.npy"]


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 64 KiB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)],
                             capture_output=True)
    if mounted.returncode != 0:
        pytest.skip("only root may mount a small file system")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_full_disk(dgrad, tmp_path, small_disk):
    filter = np.ones((1, 1, 64, 64), np.float32)
    out_backprop = np.ones((1, 64, 64, 64), np.float32)
    np.save(tmp_path / "f.npy", filter)
    np.save(tmp_path / "g.npy", out_backprop)
    words = ["run", "--filter", "f.npy", "--out-backprop", "g.npy", "--input-sizes", "64,64", "-o",
             "disk/out.npy"]
    assert "No space left" in dgrad(*words, code=1).err
    assert os.listdir(small_disk) == []
    (small_disk / "out.npy").write_text("precious")
    assert "No space left" in dgrad(*words, "--force", code=1).err
    assert os.listdir(small_disk) == ["out.npy"]
    assert (small_disk / "out.npy").read_text() == "precious"


@pytest.mark.parametrize("words", [
    ["--help"], ["run", "--help"], ["--version"], ["info"], ["info", "--json"], ["man"],
    ["completion", "bash"], ["explain", "h4w4c2_k3x3_oc2"], ["check", "h4w4c2_k3x3_oc2"],
    ["bench", "h4w4c2_k3x3_oc2", "--seconds", "0.01"],
    ["bench", "h4w4c2_k3x3_oc2", "--seconds", "0.01", "--json", "-"], [*RUN[:-1], "-"], RUN,
])
def test_full_device_and_closed_output(dgrad, layer, words):
    with open("/dev/full", "wb") as full:
        assert "No space left" in dgrad(*words, code=1, stdout=full).err
    words = [*words, "--force"] if words is RUN else words
    assert "standard output" in dgrad(*words, code=1, preexec_fn=lambda: os.close(1)).err
    read, write = os.pipe()
    os.close(read)
    # SIGPIPE would show as a negative code.
    assert "pipe" in dgrad(*words, code=1, stdout=write).err
    os.close(write)


def test_interrupt_leaves_nothing(tmp_path, files):
    np.save(tmp_path / "f.npy", np.ones((9, 9, 256, 256), np.float32))
    np.save(tmp_path / "g.npy", np.ones((1, 248, 248, 256), np.float32))
    program = subprocess.Popen([PROGRAM, "run", "--filter", "f.npy", "--out-backprop", "g.npy",
                                "--input-sizes", "256,256", "--isa", "scalar", "--threads", "1",
                                "-o", "out.npy"], cwd=tmp_path, stderr=subprocess.PIPE)
    while len(files()) == 2:  # until the temporary file is there
        assert program.poll() is None
        time.sleep(0.01)
    program.send_signal(signal.SIGINT)
    program.communicate(timeout=120)
    assert program.returncode == -signal.SIGINT
    assert files() == ["f.npy", "g.npy"]


def test_closed_descriptors(layer, tmp_path):
    """No file of the program may become standard output or error."""
    def close_all():
        for descriptor in (0, 1, 2):
            os.close(descriptor)

    done = subprocess.run([PROGRAM, *RUN, "--quiet"], cwd=tmp_path, preexec_fn=close_all)
    assert done.returncode == 0
    assert pathlib.Path(tmp_path / "out.npy").stat().st_size == 128 + 5 * 6 * 2 * 4
