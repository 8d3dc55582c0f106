"""Tables of results: ours against the best of the others, layer by layer, by medians.

One-shot calls (the filter given in the call) are held against the peers that take it in the call; plans
with a packed filter against all, those that prepare a model beforehand included.
"""

import math

NAMES = {
    "dgrad": "dgrad one-shot", "dgrad_plan": "dgrad plan", "tf": "TensorFlow",
    "torch": "PyTorch backward", "torch_convt": "PyTorch transposed", "jax": "JAX",
    "ort": "ONNX Runtime", "openvino": "OpenVINO", "ncnn": "ncnn", "mnn": "MNN", "tflite": "LiteRT",
}
PREPARED = {"ort", "openvino", "ncnn", "mnn", "tflite"}
OURS = ("dgrad", "dgrad_plan")


def rates(row):
    """Peer: GFLOP/s, of those that gave the right result."""
    return {peer: x["gflops"] for peer, x in row["peers"].items() if "gflops" in x}


def best_peer(row, ours):
    """(peer, GFLOP/s) of the best that `ours` is held against, or None."""
    rest = {
        peer: rate for peer, rate in rates(row).items()
        if peer not in OURS and (ours == "dgrad_plan" or peer not in PREPARED)
    }
    return max(rest.items(), key=lambda item: item[1], default=None)


def ratio(row, ours):
    """Our rate over the best peer's; None without a peer, 0 if ours failed."""
    best = best_peer(row, ours)
    if best is None:
        return None
    return rates(row).get(ours, 0.0) / best[1]


def geometric_mean(values):
    return math.exp(sum(math.log(max(value, 1e-3)) for value in values) / len(values))


def ratios(rows, ours):
    """[(ratio, layer)], worst first."""
    pairs = [(ratio(row, ours), row["name"]) for row in rows if ours in row["peers"]]
    return sorted(pair for pair in pairs if pair[0] is not None)


def headline(rows, ours):
    """One line for people, or an empty text."""
    found = ratios(rows, ours)
    if not found:
        return ""
    mean = geometric_mean([value for value, _ in found])
    below = sum(value < 1 for value, _ in found)
    return (f"{NAMES[ours]}: {len(found)} layers, geometric mean {mean:.2f} x the best peer, "
            f"worst {found[0][0]:.2f} ({found[0][1]}), {below} below 1")


def limit_gflops(row, machine):
    """What FMA peak and memory bandwidth of the machine allow, and which of them."""
    peak = machine["gflops"].get(row["dtype"], machine["gflops"]["float32"])
    memory = machine["gigabytes_per_second"]["memory"]
    compute = row["gflop"] / peak
    moving = (row["read_bytes"] / memory["read"] + row["written_bytes"] / memory["write"]) / 1e9
    return row["gflop"] / max(compute, moving), "memory" if moving > compute else "multiply-adds"


def markdown(rows, machine=None):
    """One table: rates, the best peer of each kind of call, ratios, and the limit if known."""
    head = ["layer", "one-shot", "plan", "best peer, filter in the call", "one-shot / peer",
            "best of all peers", "plan / peer"]
    if machine:
        head.append("the machine allows directly")
    lines = ["| " + " | ".join(head) + " |", "| --- " * len(head) + "|"]
    for row in rows:
        cells, rate = [row["name"]], rates(row)
        cells += [f"{rate[ours]:.0f}" if ours in rate else "failed" for ours in OURS]
        for ours in OURS:
            best, value = best_peer(row, ours), ratio(row, ours)
            cells.append(f"{best[1]:.0f} ({NAMES[best[0]]})" if best else "none")
            mark = "**" if value is not None and value < 1 else ""
            cells.append("" if value is None else f"{mark}{value:.2f}{mark}")
        if machine:
            rate_limit, what = limit_gflops(row, machine)
            cells.append(f"{rate_limit:.0f} ({what})")
        lines.append("| " + " | ".join(cells) + " |")
    means = []
    for ours in OURS:
        found = ratios(rows, ours)
        means.append(f"{geometric_mean([value for value, _ in found]):.2f}" if found else "")
    cells = ["geometric mean", "", "", "", means[0], "", means[1]] + ([""] if machine else [])
    lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def failures(rows):
    """Lines for what a peer refused or got wrong: the first line of each message, and its layers."""
    layers = {}
    for row in rows:
        for peer, x in row["peers"].items():
            if "error" in x:
                message = x["error"].strip().partition("\n")[0][:80]
                layers.setdefault((NAMES.get(peer, peer), message), []).append(row["name"])
    return [f"{peer}: {message} ({', '.join(names) if len(names) <= 4 else f'{len(names)} layers'})"
            for (peer, message), names in layers.items()]
