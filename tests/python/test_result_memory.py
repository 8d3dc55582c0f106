"""Results begin on lines of cache; large ones take memory that earlier ones gave back."""

import os
import sys
import threading

import numpy as np
import pytest

import dgrad

MIB = 1 << 20
FILTER = np.ones((1, 1, 64, 1), np.float32)


def result(mib, value=1.0):
    """mib MiB that hold `value`."""
    incoming = np.full((1, mib, 4096, 1), value, np.float32)
    return dgrad.conv2d_backprop_input(
        [1, mib, 4096, 64], FILTER, incoming, strides=[1, 1, 1, 1], padding="VALID"
    )


def address(array):
    return array.__array_interface__["data"][0]


@pytest.fixture(autouse=True)
def trimmed():
    dgrad.trim()
    yield
    dgrad.trim()


@pytest.mark.parametrize("rows", [1, 3, 64, 1000, 1025])
def test_results_begin_on_a_line(rows):
    incoming = np.ones((1, rows, 64, 1), np.float32)
    results = [
        dgrad.conv2d_backprop_input(
            [1, rows, 64, 64], FILTER, incoming, strides=[1, 1, 1, 1], padding="VALID"
        )
        for _ in range(5)
    ]
    assert all(address(array) % 64 == 0 for array in results)


def test_memory_is_used_again():
    first = result(8)
    place = address(first)
    del first
    again = result(8, 2.0)
    assert address(again) == place
    assert (again == 2.0).all()


def test_living_results_are_apart():
    results = [result(4 + i % 2, i) for i in range(12)]
    for i, array in enumerate(results):
        assert array.flags.owndata and array.flags.writeable
        assert (array == i).all()


def test_views_keep_memory():
    view = result(4, 3.0)[0, 1:]
    other = result(4, 4.0)
    assert (view == 3.0).all() and (other == 4.0).all()


def test_resize():
    array = result(4, 5.0)
    array.resize((1, 8, 4096, 64), refcheck=False)
    assert (array[0, :4] == 5.0).all() and (array[0, 4:] == 0.0).all()
    array.resize((1, 1, 16, 64), refcheck=False)
    assert (array == 5.0).all()


def virtual_mib():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE") // MIB


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_what_is_kept_is_bounded_and_trimmed():
    result(4)  # threads, pools
    dgrad.trim()
    before = virtual_mib()
    results = [result(192) for _ in range(4)]
    assert virtual_mib() - before >= 768
    del results
    assert virtual_mib() - before <= 512 + 32  # and the last incoming gradient
    dgrad.trim()
    assert virtual_mib() - before <= 64 + 16


def test_threads():
    right = []

    def work(value):
        for i in range(20):
            right.append((result(4 + i % 3, value) == value).all())

    threads = [threading.Thread(target=work, args=(float(i),)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(right) == 80 and all(right)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_fork():
    kept = result(8, 1.0)
    place = address(kept)
    del kept
    child = os.fork()
    if child == 0:
        right = (result(8, 2.0) == 2.0).all()
        os._exit(0 if right else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    again = result(8, 3.0)
    assert address(again) == place and (again == 3.0).all()
