"""explain, check, bench, info, help, completion and the manual page."""

import json
import os
import pty
import shutil
import subprocess

import pytest
from conftest import PROGRAM, ROOT

SHAPES = ROOT / "shapes"
SMALL = ["h4w5c2_k3x2_oc3", "n2_h7w7c17_k3x3_oc15_psame", "h9w9c3_k3x3_oc5_s2x2_p2,2,2,2_d2x2",
         "h6w6c8_k3x3_oc8_pvalid_g8_nchw", "h5w5c4_k1x1_oc4_i32", "h5w5c4_k3x3_oc4_f16",
         "h5w5c4_k3x3_oc4_bf16", "h5w5c4_k3x3_oc4_f64", "n0_h4w4c2_k3x3_oc2", "h4w4c0_k2x2_oc3",
         "h2w4c2_k3x3_oc0_p1,1,1,1", "h3w4c2_k0x0_oc2_psame"]


def test_explain(dgrad):
    out = dgrad("explain", "n8_h56w56c64_k3x3_oc128_s2x2").out
    for words in ["algorithm: ", "not pixels: ", "not grouped: ", "workspace: ", "predicted: ",
                  "million cycles", "tasks: ", "rows 0 modulo 2: taps 0 2",
                  "rows 1 modulo 2: taps 1", "columns 1 modulo 2: taps 1", "(8, 27, 27, 128)"]:
        assert words in out, words
    out = dgrad("explain", "h2w130c1_k1x3_oc1_s1x65", "--algorithm", "direct", "--isa",
                "scalar").out
    assert "instruction set: scalar" in out and "62 of 65 phases of columns have no taps" in out
    assert "can't serve" in dgrad("explain", SMALL[0], "--algorithm", "grouped", code=1).err
    dgrad("explain", SHAPES / "edges.txt")
    # However large the numbers are.
    dgrad("explain", "h1w1c1_k1x1_oc1_s1x9223372036854775807")
    dgrad("explain", "h1w9000c1_k1x3_oc1_s1x9223372036854775807_d1x4000")


def test_check(dgrad, tmp_path):
    out = dgrad("check", *SMALL).out
    assert out.count("ok ") == len(SMALL) and "0 wrong" in out and "\x1b" not in out
    out = dgrad("check", SHAPES / "edges.txt", SHAPES / "invalid.txt").out
    assert "refused: invalid_argument" in out and "edges.txt:2" in out
    lines = [line for line in (SHAPES / "invalid.txt").read_text().splitlines()
             if line.startswith("!")]
    assert out.count("refused: ") == len(lines) >= 20
    # A mark that does not hold is a failure, and so is a problem that should be legal.
    assert "it is accepted as" in dgrad("check", f"!invalid_argument {SMALL[0]}", code=1).out
    assert "it is refused as invalid_argument" in dgrad(
        "check", "!unimplemented h1w1c1_k3x3_oc1", code=1).out
    (tmp_path / "x.txt").write_text("h1w1c1_k3x3_oc1\n")
    out = dgrad("check", "x.txt", code=1).out
    assert "WRONG x.txt:1" in out and "1 wrong" in out


def test_check_samples_large_problems(dgrad):
    out = dgrad("check", "n2_h40w40c64_k3x3_oc64_p1,1,1,1", "--isa", "scalar").out
    assert "% of the elements" in out
    out = dgrad("check", "--quick", "n2_h40w40c64_k3x3_oc64_p1,1,1,1", SMALL[0]).out
    assert "1 large ones left out" in out


def test_shape_files(dgrad, tmp_path):
    (tmp_path / "a.txt").write_text("# all of it a comment\r\n\n  h4w5c2_k3x2_oc3   # a name\r\n")
    assert "# a name" in dgrad("explain", "a.txt").out
    (tmp_path / "empty.txt").write_text("# nothing\n")
    assert "no problem strings" in dgrad("check", "empty.txt", code=1).err
    (tmp_path / "mark.txt").write_text("!no_such_status h1w1c1_k1x1_oc1\n")
    assert "mark.txt:1" in dgrad("check", "mark.txt", code=1).err
    (tmp_path / "binary.txt").write_bytes(bytes(100))
    assert "zero bytes" in dgrad("check", "binary.txt", code=1).err
    assert "no file or folder" in dgrad("check", "no/such.txt", code=1).err
    (tmp_path / "folder").mkdir()
    assert "*.txt" in dgrad("check", "folder", code=1).err


def test_bench(dgrad, tmp_path, files):
    words = ["bench", *SMALL[:4], "--seconds", "0.01"]
    out = dgrad(*words, "--json", "a.json").out
    assert all(problem in out for problem in (SMALL[0], SMALL[2])) and "GFLOP/s" in out
    run = json.loads((tmp_path / "a.json").read_text())
    assert run["format"] == "dgrad-bench-1" and len(run["rows"]) == 4
    for row in run["rows"]:
        assert len(row["passes"]) == 5 and all(len(samples) >= 3 for samples in row["passes"])
        assert row["peak_gflops"] > 0 and row["gflops"] > 0
    assert "--force" in dgrad(*words, "--json", "a.json", code=1).err
    dgrad(*words, "--json", "a.json", "--force", "--unpacked", "--threads", "1")
    assert files() == ["a.json"]
    assert json.loads(dgrad(*words, "--json", "-").out)["rows"][0]["filter"] == "packed"


def bench_file(path, factors, peak=100.0):
    rows = [{"problem": f"h{i + 1}w4c2_k1x1_oc1", "name": "", "algorithm": "direct", "isa": "avx2",
             "threads": 1, "filter": "packed", "multiply_adds": 1e6, "peak_gflops": peak,
             "passes": [[factor * (1 + 0.01 * j)] * 3 for j in range(-2, 3)]}
            for i, factor in enumerate(factors)]
    path.write_text(json.dumps({"format": "dgrad-bench-1", "info": {}, "rows": rows}))


def test_compare(dgrad, tmp_path):
    bench_file(tmp_path / "a.json", [1e-3, 1e-3, 1e-3, 1e-3])
    bench_file(tmp_path / "b.json", [5e-4, 1e-3, 2e-3], peak=50.0)
    lines = dgrad("bench", "--compare", "a.json", "b.json").out.splitlines()
    assert [line.split("]")[1].split()[0] for line in lines[1:4]] == ["faster", "same", "slower"]
    assert "-50.0 %" in lines[1] and "+100.0 %" in lines[3]
    assert "peak -50.0 %" in lines[1]
    assert "3 problems in common" in lines[4] and "1 faster, 1 slower" in lines[4]
    for text in ["", "{", "[]", "{}", '{"format": "other"}', "[" * 100000,
                 '{"format": "dgrad-bench-1"}', '{"format": "dgrad-bench-1", "rows": [{}]}', '"\\u12"', "1 2",
                 "nul"]:
        (tmp_path / "c.json").write_text(text)
        assert "c.json" in dgrad("bench", "--compare", "a.json", "c.json", code=1).err
    # A pass that is far off makes the change unsure.
    bench_file(tmp_path / "c.json", [9e-4])
    assert "faster" in dgrad("bench", "--compare", "a.json", "c.json").out.splitlines()[1]
    run = json.loads((tmp_path / "c.json").read_text())
    run["rows"][0]["passes"][1] = [1.2e-3] * 3
    (tmp_path / "c.json").write_text(json.dumps(run))
    assert " same " in dgrad("bench", "--compare", "a.json", "c.json").out.splitlines()[1]
    run["rows"][0]["passes"] = run["rows"][0]["passes"][:1]
    (tmp_path / "c.json").write_text(json.dumps(run))
    assert "two passes" in dgrad("bench", "--compare", "a.json", "c.json", code=1).err
    bench_file(tmp_path / "c.json", [])
    assert "in common" in dgrad("bench", "--compare", "a.json", "c.json", code=1).err


def test_info(dgrad):
    info = json.loads(dgrad("info", "--json").out)
    out = dgrad("info").out
    assert info["version"] in out and info["cpu"] in out and "direct" in out
    # A bad environment is told here, and an error elsewhere.
    environment = {**os.environ, "DGRAD_ISA": "mmx"}
    assert "mmx" in dgrad("info", env=environment).out
    assert "mmx" in dgrad("explain", SMALL[0], env=environment, code=1).err


@pytest.mark.parametrize("words", [
    [], ["nonsense"], ["--nonsense"], ["run"], ["run", "--filter"], ["explain"], ["check"],
    ["explain", "nonsense"], ["explain", "h1w1c1_k3x3_oc1"], ["explain", ""], ["bench"],
    ["check", "!nonsense h1w1c1_k1x1_oc1"], ["check", SMALL[0], "--isa", "mmx"],
    ["explain", SMALL[0], "--threads", "-1"], ["explain", SMALL[0], "--threads", "many"],
    ["explain", SMALL[0], "--algorithm", "magic"], ["explain", SMALL[0], "--accuracy", "none"],
    ["explain", SMALL[0], "--workspace-limit", "much"],
    ["explain", SMALL[0], "--workspace-limit", "99999999999999999999"],
    ["bench", "--compare", "a.json"], ["bench", "--compare", "a", "b", "c"],
    ["bench", SMALL[0], "--seconds", "-1"], ["bench", SMALL[0], "--passes", "1"],
    ["completion", "fish"], ["info", "more"],
    ["run", "--filter", "f", "--out-backprop", "g", "-o", "o"],
    ["run", "--filter", "f", "--out-backprop", "g", "-o", "o", "--input-sizes", "1,x"],
    ["run", "--filter", "f", "--out-backprop", "g", "-o", "o", "--input-sizes", "1,,2"],
    ["run", "--filter", "f", "--out-backprop", "g", "-o", "o", "--input-sizes",
     "1,2,3,99999999999999999999"],
    ["run", "--filter", "f", "--out-backprop", "g", "-o", "o", "--input-sizes", "1,2,3,4,5"],
    ["run", "--filter", "f", "--out-backprop", "g", "-o", "o", "--problem", "x"],
    ["run", "--filter", "f", "--out-backprop", "g", "-o", "o", "--problem", SMALL[0], "--strides",
     "1"],
    ["run", "--filter", "f", "--out-backprop", "g", "-o", "o", "--problem", SMALL[0], "--dtype",
     "float64"],
])
def test_usage_errors(dgrad, words):
    result = dgrad(*words, code=2)
    assert result.out == "" and len(result.err.splitlines()) == 1


@pytest.mark.parametrize("command", ["", "run", "explain", "check", "bench", "info"])
def test_help(dgrad, command):
    out = dgrad(*command.split(), "--help").out
    assert "Examples:" in out and "dgrad " in out
    if not command:
        assert "completion" not in out and all(name in out for name in ("run", "bench", "info"))


def test_completion(dgrad, tmp_path):
    if shutil.which("bash") is None:
        pytest.skip("no bash")
    (tmp_path / "c.bash").write_text(dgrad("completion", "bash").out)

    def complete(*words):
        script = ('source ./c.bash; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _dgrad; '
                  'printf "%s\\n" "${COMPREPLY[@]}"')
        done = subprocess.run(["bash", "-uc", script, "bash", "dgrad", *words], cwd=tmp_path,
                              capture_output=True, text=True, check=True)
        assert done.stderr == ""
        return done.stdout.split()

    assert complete("ex") == ["explain"]
    assert set(complete("")) >= {"run", "explain", "check", "bench", "info"}
    assert "man" not in complete("")
    assert complete("run", "--data-format", "") == ["NHWC", "NCHW"]
    assert complete("run", "--data-format", "=", "NC") == ["NCHW"]
    assert complete("bench", "--is") == ["--isa"]
    assert complete("explain", "--accuracy", "s") == ["strict"]
    assert complete("explain", "--threads", "") == []
    assert complete("check", "c.b") == ["c.bash"]
    assert complete("bench", "--json", "c") == ["c.bash"]
    assert "direct" in complete("run", "--algorithm", "")


def test_manual(dgrad, tmp_path):
    page = dgrad("man").out
    assert page.startswith(".TH DGRAD 1") and "\\-\\-out\\-backprop" in page
    if shutil.which("groff"):
        (tmp_path / "dgrad.1").write_text(page)
        done = subprocess.run(["groff", "-man", "-ww", "-Tutf8", "dgrad.1"], cwd=tmp_path,
                              capture_output=True, text=True, check=True)
        assert done.stderr == ""
        assert "dgrad check shapes/" in done.stdout


def on_terminal(*words, **environment):
    """What the program prints on a terminal."""
    pid, descriptor = pty.fork()
    if pid == 0:
        os.execve(PROGRAM, [PROGRAM, *words], {**os.environ, "TERM": "xterm", **environment})
    out = b""
    while True:
        try:
            piece = os.read(descriptor, 65536)
        except OSError:
            break
        if not piece:
            break
        out += piece
    os.close(descriptor)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    return out.decode()


def test_terminal(dgrad):
    assert "\x1b[32mok" in on_terminal("check", SMALL[0], NO_COLOR="")
    assert "\x1b[32m" not in on_terminal("check", SMALL[0], NO_COLOR="1")
    assert "\x1b" not in on_terminal("check", SMALL[0], TERM="dumb")
    # The row of a running problem is replaced.
    assert "\r\x1b[K" in on_terminal("bench", SMALL[0], "--seconds", "0.01")
    assert "\x1b" not in dgrad("bench", SMALL[0], "--seconds", "0.01").out


SABOTAGE = r"""
#define _GNU_SOURCE
#include <dgrad/dgrad.h>
#include <dlfcn.h>
#include <stdlib.h>
/* Runs as usual, then changes the lowest bits of one element, the last or the first. */
dgrad_status dgrad_run(const dgrad_plan* plan, const dgrad_run_arguments* run) {
  dgrad_status (*real)(const dgrad_plan*, const dgrad_run_arguments*) =
      (dgrad_status(*)(const dgrad_plan*, const dgrad_run_arguments*))dlsym(RTLD_NEXT, "dgrad_run");
  dgrad_status status = real(plan, run);
  unsigned char* bytes = run->in_backprop;
  if (status == DGRAD_OK && run->in_backprop_bytes >= 4) {
    bytes[getenv("SABOTAGE_LAST") ? run->in_backprop_bytes - 3 : 1] ^= 0x10;
  }
  return status;
}
"""


@pytest.mark.parametrize("problem", [SMALL[0], SMALL[4], SMALL[7], "n2_h40w40c64_k3x3_oc64_psame"])
@pytest.mark.parametrize("last", [False, True])
def test_check_finds_a_wrong_element(dgrad, tmp_path, problem, last):
    (tmp_path / "s.c").write_text(SABOTAGE)
    subprocess.run(["cc", "-shared", "-fPIC", f"-I{ROOT / 'include'}", "s.c", "-o", "s.so", "-ldl"],
                   cwd=tmp_path, check=True)
    environment = {**os.environ, "LD_PRELOAD": str(tmp_path / "s.so"),
                   "ASAN_OPTIONS": "verify_asan_link_order=0"}
    if last:
        environment["SABOTAGE_LAST"] = "1"
    if problem == SMALL[7]:  # float64: bits that low are within its bound only at one end
        environment["SABOTAGE_LAST"] = "1"
    out = dgrad("check", problem, env=environment, code=1).out
    assert "WRONG" in out and "expected" in out
    assert "wrong" in dgrad("bench", problem, "--seconds", "0.01", env=environment, code=1).err
