"""Workers as processes, and one layer timed on all of them in interleaved rounds."""

import json
import math
import os
import pathlib
import select
import statistics
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
TOLERANCES = {"float32": 2e-5, "float64": 1e-12, "float16": 4e-3, "bfloat16": 3e-2}


class Worker:
    """One peer behind worker.py's protocol, started on demand and again after a crash."""

    def __init__(self, name, python, threads, patience):
        self.name, self.python = name, python
        self.threads, self.patience = threads, patience
        self.process = None

    def start(self):
        environment = dict(
            os.environ, OMP_NUM_THREADS=str(self.threads), OMP_WAIT_POLICY="passive",
            KMP_BLOCKTIME="1", TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="",
            PYTHONWARNINGS="ignore", PYTHONDONTWRITEBYTECODE="1")
        if self.name == "jax":
            environment["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=true"
        self.process = subprocess.Popen(
            [self.python, str(HERE / "worker.py"), self.name, str(self.threads)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
            env=environment)

    def ask(self, **request):
        if self.process is None or self.process.poll() is not None:
            self.start()
        line = ""
        try:
            self.process.stdin.write(json.dumps(request) + "\n")
            self.process.stdin.flush()
            if select.select([self.process.stdout], [], [], self.patience)[0]:
                line = self.process.stdout.readline()
        except BrokenPipeError:
            pass
        if line:
            return json.loads(line)
        self.process.kill()
        status = self.process.wait()
        self.process = None
        return {"ok": False, "error": f"crashed or hung, exit status {status}"}

    def close(self):
        if self.process is not None:
            self.process.stdin.close()
            self.process.wait()


def distance(check, yardstick):
    """The largest difference of two results' projections over the norm; infinite for other shapes
    and for NaN, which max() would pass over."""
    ours, theirs = check["all"] + check["each"], yardstick["all"] + yardstick["each"]
    if len(ours) != len(theirs):
        return float("inf")
    differences = [abs(a - b) for a, b in zip(ours, theirs)]
    if any(math.isnan(difference) for difference in differences):
        return float("inf")
    return max(differences) / (yardstick["norm"] + 1e-30)


def prepare(workers, layer):
    """(what failed: name -> {"error"}, workers that hold the right result)."""
    wanted = {"problem": layer.problem, "layout": layer.layout, "dtype": layer.dtype}
    failed, checks = {}, {}
    for worker in workers:
        reply = worker.ask(prepare=wanted)
        check = worker.ask(check=True) if reply["ok"] else reply
        if check["ok"]:
            checks[worker.name] = check
        else:
            failed[worker.name] = {"error": check["error"]}
    # The yardstick is a library of others wherever one serves the layer.
    names = sorted(checks, key=lambda name: name.startswith("dgrad"))
    for name in names:
        far = distance(checks[name], checks[names[0]])
        if not far <= TOLERANCES[layer.dtype]:
            failed[name] = {"error": f"differs by {far:.1e}"}
    return failed, [worker for worker in workers if worker.name not in failed]


def time_layer(workers, layer, rounds, seconds):
    """The row of a layer: {"layer", "problem", ..., "peers": name -> times or error}."""
    failed, live = prepare(workers, layer)
    calls, samples = {}, {worker.name: [] for worker in live}
    for worker in live:
        once = worker.ask(run=1)
        calls[worker.name] = max(1, min(2000, int(seconds / max(once.get("seconds", 1), 1e-7))))
    for round_index in range(rounds):
        # Another beginner each round: whoever follows an idle moment has a faster clock.
        for worker in live[round_index % max(len(live), 1):] + live[:round_index % max(len(live), 1)]:
            reply = worker.ask(run=calls[worker.name])
            if reply["ok"]:
                samples[worker.name].append(reply["seconds"] / calls[worker.name])
    peers = dict(failed)
    for name, times in samples.items():
        if not times:
            peers[name] = {"error": "no time"}
            continue
        median = statistics.median(times)
        peers[name] = {
            "median_us": median * 1e6, "min_us": min(times) * 1e6,
            "gflops": layer.flops / median / 1e9,
        }
    return {
        "name": layer.name, "problem": layer.problem, "layout": layer.layout, "dtype": layer.dtype,
        "gflop": layer.flops / 1e9, "read_bytes": layer.read_bytes,
        "written_bytes": layer.written_bytes, "peers": peers,
    }
