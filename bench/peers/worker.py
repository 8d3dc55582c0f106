"""One library in a process of its own: a JSON line in, a JSON line out.

    worker.py PEER THREADS

Requests: {"prepare": {problem, layout, dtype}} builds the tensors and warms up; {"run": n} answers the
seconds of n calls; {"check": true} answers projections of the whole result, all images together and one
an image, by which peers are compared. Answers: {..., "ok": true}, or {"ok": false, "error": text}.
"""

import importlib
import json
import os
import sys
import time

# Peer: module and class.
PEERS = {
    "dgrad": ("peer_dgrad", "OneShot"),
    "dgrad_plan": ("peer_dgrad", "Plan"),
    "tf": ("peer_tensorflow", "TensorFlow"),
    "torch": ("peer_torch", "Backward"),
    "torch_convt": ("peer_torch", "Transposed"),
    "jax": ("peer_jax", "Jax"),
    "ort": ("peer_onnxruntime", "OnnxRuntime"),
    "openvino": ("peer_openvino", "OpenVino"),
}


def project(result):
    import numpy as np

    flat = result.reshape(result.shape[0], -1)
    per_image = np.random.default_rng(3).standard_normal((2, flat.shape[1]))
    across = np.random.default_rng(4).standard_normal((2, flat.shape[0]))
    return {
        "all": np.einsum("an,nk,bk->ab", across, flat, per_image, optimize=True).ravel().tolist(),
        "each": (flat @ per_image[0]).tolist(),
        "norm": float(np.linalg.norm(flat)),
    }


def answer(peer, request):
    from layers import parse

    if "prepare" in request:
        wanted = request["prepare"]
        peer.prepare(parse(wanted["problem"], layout=wanted["layout"], dtype=wanted["dtype"]))
        peer.call()
        peer.call()
        return {}
    if "run" in request:
        start = time.perf_counter()
        for _ in range(request["run"]):
            peer.call()
        return {"seconds": time.perf_counter() - start}
    return project(peer.result())


def words_of(error):
    """One line: TensorFlow's messages hold the places they come from."""
    lines = [line.strip() for line in str(error).splitlines()]
    told = [line for line in lines if line and not line.startswith(("File ", "Detected at node"))]
    return f"{type(error).__name__}: {' '.join(told)[:200]}"


def main():
    name, threads = sys.argv[1], int(sys.argv[2])
    # Libraries print what they like; answers go where nothing else does.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    peer = None
    for line in sys.stdin:
        try:
            if peer is None:
                module, of_class = PEERS[name]
                peer = getattr(importlib.import_module(module), of_class)(threads)
            reply = {"ok": True, **answer(peer, json.loads(line))}
        except Exception as error:  # whatever a library throws is an answer
            reply = {"ok": False, "error": words_of(error)}
        answers.write(json.dumps(reply) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
