"""Threads, the GIL, signals and fork. No test depends on how long something takes, only that it ends.

Where something must happen during a computation, the computation is grown until it is long enough for
that.
"""

import functools
import os
import signal
import sys
import threading
import time
import warnings

import numpy as np
import oracle
import pytest

import dgrad

GEOMETRIES = [
    oracle.arguments([3, 33, 29, 16], [3, 3, 16, 24], (1, 1), "SAME"),
    oracle.arguments([2, 40, 31, 8], [4, 4, 8, 32], (2, 2), "SAME"),
    oracle.arguments([1, 61, 47, 3], [5, 5, 3, 64], (2, 1), "VALID"),
    oracle.arguments([2, 24, 24, 16], [3, 3, 1, 16], (1, 1), "SAME", (2, 2)),
    oracle.arguments([2, 16, 28, 28], [1, 1, 16, 40], data_format="NCHW"),
]


def compute(args, filter, incoming, **more):
    return dgrad.conv2d_backprop_input(
        args["input_sizes"], filter, incoming, **oracle.keywords(args), **more
    )


@functools.lru_cache(maxsize=None)
def long_call(seconds):
    """A function whose one call computes for about that long on this machine, single-threaded."""

    def make(batch):
        args = oracle.arguments([batch, 32, 32, 256], [3, 3, 256, 256], (1, 1), "SAME")
        filter = np.ones(args["filter_shape"], np.float32)
        incoming = np.ones(args["out_backprop_shape"], np.float32)
        defaults = {"threads": 1, "accuracy": "strict"}
        return lambda **more: compute(args, filter, incoming, **{**defaults, **more})

    small = make(4)
    small()
    start = time.perf_counter()
    small()
    each = (time.perf_counter() - start) / 4
    return make(min(256, 1 + int(seconds / each)))


@pytest.mark.parametrize("args", GEOMETRIES, ids=lambda a: "x".join(map(str, a["filter_shape"])))
@pytest.mark.parametrize("dtype", oracle.DTYPES)
def test_bits_do_not_depend_on_threads(args, dtype):
    args = dict(args, dtype=dtype)
    filter, incoming = oracle.tensors(args, scheme="uniform")
    for accuracy in ["fast", "strict"]:
        want = compute(args, filter, incoming, threads=1, accuracy=accuracy)
        for threads in [1, 2, 3, 8]:
            got = compute(args, filter, incoming, threads=threads, accuracy=accuracy)
            assert got.tobytes() == want.tobytes()


def test_concurrent_callers():
    problems = []
    for args in GEOMETRIES:
        filter, incoming = oracle.tensors(args, scheme="uniform")
        plan = dgrad.Plan(args["input_sizes"], args["filter_shape"], **oracle.keywords(args))
        packed = plan.pack(filter)
        want = compute(args, filter, incoming, threads=1)
        planned = plan(packed, incoming)
        problems.append((args, filter, incoming, plan, packed, want, planned))
    failures = []

    def work(first):
        try:
            for i in range(20):
                args, filter, incoming, plan, packed, want, planned = problems[
                    (first + i) % len(problems)
                ]
                got = compute(args, filter, incoming, threads=1 + i % 3)
                assert got.tobytes() == want.tobytes()
                assert plan(packed, incoming).tobytes() == planned.tobytes()
                if i % 7 == 0:
                    dgrad.trim()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_the_gil_is_free_while_computing():
    call = long_call(0.5)
    counts = []
    stop = threading.Event()

    def count():
        while not stop.wait(0.001):
            counts.append(len(counts))

    interval = sys.getswitchinterval()
    thread = threading.Thread(target=count)
    thread.start()
    try:
        # Nobody is asked to give the GIL up, so the thread counts only while it is free.
        sys.setswitchinterval(1000)
        before = len(counts)
        call()
        during = len(counts) - before
    finally:
        sys.setswitchinterval(interval)
        stop.set()
        thread.join()
    assert during > 10


@pytest.fixture
def alarm():
    """Puts the handler of SIGALRM back and ends the timer."""
    before = signal.getsignal(signal.SIGALRM)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("threads", [1, 2])
def test_ctrl_c_ends_a_computation(alarm, threads):
    """SIGINT in the middle of a call of some seconds: KeyboardInterrupt before the call is done."""
    call = long_call(2.0)
    out = []
    signal.signal(signal.SIGALRM, lambda *_: os.kill(os.getpid(), signal.SIGINT))
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    with pytest.raises(KeyboardInterrupt):
        out.append(call(threads=threads))
    assert not out
    signal.setitimer(signal.ITIMER_REAL, 0)
    call(threads=threads)  # nothing is left over: the next call is a normal one


def test_an_exception_of_a_handler_comes_through(alarm):
    class Timeout(Exception):
        pass

    def handler(*_):
        raise Timeout("time is up")

    call = long_call(2.0)
    signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    with pytest.raises(Timeout, match="time is up"):
        call()


def test_a_handler_may_compute(alarm):
    """A handler runs Python in the middle of a call: its own calls and its numbers are right."""
    args = GEOMETRIES[0]
    filter, incoming = oracle.tensors(args, scheme="uniform")
    want = compute(args, filter, incoming)
    small = [5e-324, 2.2250738585072014e-308]
    seen = []

    def handler(*_):
        seen.append(compute(args, filter, incoming).tobytes() == want.tobytes())
        # The library flushes subnormals while it computes; a handler must not notice.
        seen.append(small[0] * 1.0 == 5e-324 and small[1] / 2 > 0)

    call = long_call(1.0)
    expected = call(threads=2)
    signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 0.1, 0.1)
    got = call(threads=2)
    signal.setitimer(signal.ITIMER_REAL, 0)
    assert got.tobytes() == expected.tobytes()
    assert seen and all(seen)
    assert small[1] / 2 > 0


def test_calls_beside_the_main_thread_ignore_signals(alarm):
    """A thread's call runs to its end while the main thread gets the signal."""
    call = long_call(0.5)
    expected = call()
    results = []
    caught = []
    signal.signal(signal.SIGALRM, lambda *_: caught.append(1))
    thread = threading.Thread(target=lambda: results.append(call()))
    signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)
    thread.start()
    thread.join()
    signal.setitimer(signal.ITIMER_REAL, 0)
    assert results[0].tobytes() == expected.tobytes()
    assert caught


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.parametrize("from_main_thread", [True, False])
def test_fork_and_compute(from_main_thread):
    """After the parent's pool has run, a child computes too, with threads of its own."""
    args = GEOMETRIES[0]
    filter, incoming = oracle.tensors(args, scheme="uniform")
    want = compute(args, filter, incoming, threads=2).tobytes()
    statuses = []

    def fork_and_wait():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            child = os.fork()
        if child == 0:
            signal.alarm(60)  # a child that hangs is ended and reported
            good = False
            try:
                good = all(
                    compute(args, filter, incoming, threads=2).tobytes() == want for _ in range(5)
                )
            finally:
                os._exit(0 if good else 1)
        statuses.append(os.waitpid(child, 0)[1])

    for _ in range(3):
        if from_main_thread:
            fork_and_wait()
        else:
            thread = threading.Thread(target=fork_and_wait)
            thread.start()
            thread.join()
    assert statuses == [0, 0, 0]
    assert compute(args, filter, incoming, threads=2).tobytes() == want


@pytest.mark.parametrize("wait", [0.0, 0.02, 0.2])
def test_exit_while_daemon_threads_compute(wait):
    """The interpreter may end at any time: no hang, no crash."""
    import subprocess

    program = f"""
import threading, time
import numpy as np, dgrad
filter = np.ones((3, 3, 64, 64), np.float32)
incoming = np.ones((8, 64, 64, 64), np.float32)
started = threading.Event()
def work():
    while True:
        started.set()
        dgrad.conv2d_backprop_input([8, 64, 64, 64], filter, incoming, [1] * 4, "SAME", threads=2)
for _ in range(3):
    threading.Thread(target=work, daemon=True).start()
started.wait()
time.sleep({wait})
"""
    done = subprocess.run([sys.executable, "-c", program], timeout=120, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
