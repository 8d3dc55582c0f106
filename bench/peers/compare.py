#!/usr/bin/env python3
"""Times dgrad and other libraries side by side: one process each, rounds interleaved, results compared
before anything is timed.

    compare.py shapes/suite.txt -o suite.json --peer dgrad=.venv/bin/python --peer dgrad_plan=.venv/bin/python \\
        --peer tf=PYTHON --peer torch=PYTHON --peer torch_convt=PYTHON --peer jax=PYTHON --peer ort=PYTHON \\
        --peer openvino=PYTHON

PYTHON is an interpreter that has the library (and numpy, ml_dtypes); a peer that isn't named is left out.
On a machine with other work trust the ratios of one run, not the rates.
"""

import argparse
import json
import pathlib
import sys

import summary
import worker
from layers import read_shapes
from timing import TOLERANCES, Worker, time_layer


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shapes", nargs="+", help="files of problem strings")
    parser.add_argument("-o", "--output", required=True, help="the results, JSON")
    parser.add_argument("--peer", action="append", default=[], metavar="NAME=PYTHON",
                        help="one of " + ", ".join(worker.PEERS))
    parser.add_argument("--machine", help="JSON of bench_machine, for the limits")
    parser.add_argument("--only", default="", help="names of layers, comma between them")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--dtype", choices=TOLERANCES, help="instead of the strings' own")
    parser.add_argument("--layout", choices=["NHWC", "NCHW"], help="instead of the strings' own")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=0.04, help="of one peer in one round")
    parser.add_argument("--patience", type=float, default=120, help="seconds to wait for an answer")
    arguments = parser.parse_args()
    for peer in arguments.peer:
        if peer.partition("=")[0] not in worker.PEERS or not peer.partition("=")[2]:
            parser.error(f"--peer {peer}: the form is NAME=PYTHON, NAME one of "
                         + ", ".join(worker.PEERS))
    return arguments


def line_of(row):
    """A row for the terminal."""
    cells = [f"{row['name']:34s} {row['gflop']:8.3f} GF "]
    for peer, result in row["peers"].items():
        value = (f"{result['gflops']:.0f}GF/{result['median_us']:.0f}us" if "gflops" in result
                 else f"x({result['error'][:40]})")
        cells.append(f"{peer}:{value}")
    return "  ".join(cells)


def main():
    arguments = parse_arguments()
    only = set(filter(None, arguments.only.split(",")))
    layers = [layer for path in arguments.shapes
              for layer in read_shapes(path, arguments.layout, arguments.dtype)
              if not only or layer.name in only]
    if not layers:
        sys.exit("no layer is left to time")
    machine = arguments.machine and json.loads(pathlib.Path(arguments.machine).read_text())
    workers = [Worker(*peer.split("=", 1), arguments.threads, arguments.patience)
               for peer in arguments.peer]
    rows = []
    for layer in layers:
        row = time_layer(workers, layer, arguments.rounds, arguments.seconds)
        rows.append(row)
        print(line_of(row), flush=True)
        # Written after each layer: a long run that is cut off has its rows.
        pathlib.Path(arguments.output).write_text(json.dumps(
            {"format": "dgrad-peers-1", "threads": arguments.threads, "machine": machine or None,
             "shapes": [pathlib.Path(path).stem for path in arguments.shapes], "rows": rows},
            indent=1) + "\n")
    for one in workers:
        one.close()
    for ours in summary.OURS:
        if summary.headline(rows, ours):
            print(summary.headline(rows, ours))


if __name__ == "__main__":
    main()
