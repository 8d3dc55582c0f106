#!/usr/bin/env python3
"""Checks that includes point one way and that header guards are named after their files.

Usage: check_includes.py [ROOT]      checks the source tree (default: the parent of this folder)
       check_includes.py --self-test checks the checker

The rules are those of docs/architecture.md. Prints one line per violation and exits with 1 if there
is one.
"""

import pathlib
import re
import sys
import tempfile

# Folder -> folders below src/ that it may include besides itself. The first match counts.
SRC_RULES = {
    "src/api": {"plan", "algorithms", "kernels", "problem", "reference", "threads", "base"},
    "src/plan": {"algorithms", "problem", "threads", "base"},
    "src/algorithms": {"kernels", "threads", "problem", "base"},
    "src/reference": {"problem", "base"},
    "src/threads": {"base"},
    "src/kernels": {"base"},
    "src/problem": {"base"},
    "src/base": set(),
}
# Single headers beyond these rules: a plan carries an instruction set that the kernels have.
SRC_EXCEPTIONS = {("src/plan", "src/kernels/isas.h")}
# These see the library from outside.
OUTSIDE = (
    "include", "cli", "python", "examples", "adapters", "tests/abi", "tests/install", "bench/peers",
)
# Programs and modules of their own, whose files include their neighbours by bare names.
NEIGHBOURS = ("cli", "python", "examples", "adapters", "bench")
# Only these may use the C interface's header inside the tree.
C_INTERFACE = ("src/api", "tests", "bench") + OUTSIDE
# Only these may use Highway.
HIGHWAY = ("src/kernels", "tests/kernels", "tests/support", "bench")
# Where the files to check lie.
ROOTS = ("include", "src", "cli", "python", "examples", "adapters", "bench", "tests")
SUFFIXES = {".h", ".hpp", ".c", ".cc", ".cpp", ".inc"}

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)
# Highway includes a file again for each target through this macro.
TARGET_INCLUDE = re.compile(r'^\s*#\s*define\s+HWY_TARGET_INCLUDE\s+"([^"]+)"', re.MULTILINE)


def below(path, folders):
    """True if path lies in one of the folders."""
    return any(path == folder or path.startswith(folder + "/") for folder in folders)


def is_ours(target):
    return below(target, ROOTS) or target.startswith("dgrad/")


def check_target(path, target):
    """The reason why the file may not include the target, or None."""
    if target.startswith("dgrad/"):
        if not below(path, C_INTERFACE):
            return "only src/api, tests, and what lies outside the library include <dgrad/...>"
        if target == "dgrad/dgrad.hpp" and below(path, ("src",)):
            return "the library itself never includes dgrad.hpp"
        return None
    if target.startswith("hwy/"):
        return None if below(path, HIGHWAY) else "only kernels use Highway"
    if not target.startswith("src/"):
        if path.startswith(("src/", "include/")) and is_ours(target):
            return "the library includes only src/ and include/"
        return None
    if below(path, OUTSIDE):
        return "only <dgrad/...> may be seen from here"
    for folder, allowed in SRC_RULES.items():
        if below(path, (folder,)):
            goal = target.split("/")[1]
            own = folder.split("/")[1]
            if goal == own or goal in allowed or (folder, target) in SRC_EXCEPTIONS:
                return None
            return f"{folder} may include only {', '.join(sorted(allowed | {own}))}"
    if path.startswith("src/"):
        return "this folder has no rule in check_includes.py"
    return None  # tests and benchmarks of the inside


def guard_of(path):
    """DGRAD_BASE_DTYPE_H_ for src/base/dtype.h and DGRAD_DGRAD_HPP_ for include/dgrad/dgrad.hpp."""
    name = path
    for prefix in ("include/dgrad/", "src/"):
        if path.startswith(prefix):
            name = path[len(prefix):]
    return "DGRAD_" + re.sub(r"[^A-Za-z0-9]", "_", name).upper() + "_"


def check_guard(path, text):
    guard = guard_of(path)
    if path.endswith("-inl.h"):
        # Highway's toggle: included once per target.
        toggle = rf"#if defined\({guard}\) == defined\(HWY_TARGET_TOGGLE\)"
        if not re.search(toggle, text):
            return f"the toggle guard must be {guard}"
        return None
    match = re.search(r"^#ifndef (\w+)\n#define (\w+)\n", text, re.MULTILINE)
    if not match or match.group(1) != guard or match.group(2) != guard:
        return f"the guard must be {guard}, found {match.group(1) if match else 'none'}"
    if not text.rstrip().endswith((f"#endif  // {guard}", f"#endif /* {guard} */")):
        return f"the last line must be '#endif  // {guard}'"
    return None


def check_file(root, path):
    """Yields (line, problem) for one file."""
    text = (root / path).read_text(encoding="utf-8")
    found = [(m.start(), m.group(2), m.group(1) == '"') for m in INCLUDE.finditer(text)]
    found += [(m.start(), m.group(1), True) for m in TARGET_INCLUDE.finditer(text)]
    for at, target, quoted in found:
        line = text.count("\n", 0, at) + 1
        if ".." in target.split("/"):
            yield line, f"{target}: paths are from the repository root"
        elif quoted and below(path, NEIGHBOURS) and ((root / path).parent / target).is_file():
            continue
        elif quoted and not is_ours(target) and not target.startswith("hwy/"):
            yield line, f"{target}: our own files are included from the repository root"
        elif quoted and target.startswith("dgrad/"):
            yield line, f"{target}: the public headers are included as <{target}>"
        elif below(target, ROOTS) and not (root / target).is_file():
            yield line, f"{target}: there is no such file"
        else:
            reason = check_target(path, target)
            if reason:
                yield line, f"{target}: {reason}"
    if path.endswith((".h", ".hpp")):
        reason = check_guard(path, text)
        if reason:
            yield 1, reason


def check_tree(root):
    """Returns (number of files, violations as text)."""
    count = 0
    violations = []
    for folder in ROOTS:
        for file in sorted((root / folder).rglob("*")):
            if file.suffix in SUFFIXES and file.is_file():
                count += 1
                path = file.relative_to(root).as_posix()
                violations += [f"{path}:{line}: {text}" for line, text in check_file(root, path)]
    return count, violations


def self_test():
    """Each of these files must be reported, or must not."""
    guard = "#ifndef {0}\n#define {0}\n{1}\n#endif  // {0}\n"
    toggle = "#if defined(DGRAD_KERNELS_G_INL_H_) == defined(HWY_TARGET_TOGGLE)\n#endif\n"
    good = {
        "include/dgrad/dgrad.h": guard.replace("// {0}", "/* {0} */").replace("  /", " /").format(
            "DGRAD_DGRAD_H_", "#include <stdint.h>"),
        "src/base/a.h": guard.format("DGRAD_BASE_A_H_", "#include <vector>"),
        "src/problem/b.h": guard.format("DGRAD_PROBLEM_B_H_", '#include "src/base/a.h"'),
        "src/kernels/g-inl.h": toggle,
        "src/kernels/g.cc": '#define HWY_TARGET_INCLUDE "src/kernels/g.cc"\n#include "hwy/highway.h"\n'
                            '#include "src/kernels/g-inl.h"\n',
        "src/algorithms/d.h": guard.format("DGRAD_ALGORITHMS_D_H_", '#include "src/problem/b.h"'),
        "src/kernels/isas.h": guard.format("DGRAD_KERNELS_ISAS_H_", '#include "src/base/a.h"'),
        "src/plan/c.cc": '#include "src/algorithms/d.h"\n#include "src/kernels/isas.h"\n',
        "cli/command.h": guard.format("DGRAD_CLI_COMMAND_H_", "#include <dgrad/dgrad.hpp>"),
        "cli/main.cc": '#include "command.h"\n',
        "src/api/e.cc": '#include <dgrad/dgrad.h>\n#include "src/kernels/g-inl.h"\n',
        "tests/abi/f.c": "#include <dgrad/dgrad.h>\n",
        "tests/unit/base/a_test.cc": '#include "src/base/a.h"\n#include <gtest/gtest.h>\n',
    }
    bad = {
        "src/base/x1.cc": '#include "src/problem/b.h"\n',
        "src/problem/x2.cc": '#include "src/kernels/g-inl.h"\n',
        "src/kernels/x3.cc": '#include "src/algorithms/d.h"\n',
        "src/algorithms/x4.cc": '#  include "src/plan/c.cc"\n',
        "src/plan/x5.cc": '#include "src/kernels/g-inl.h"\n',
        "src/plan/x6.cc": "#include <dgrad/dgrad.h>\n",
        "src/api/x7.cc": "#include <dgrad/dgrad.hpp>\n",
        "src/algorithms/x8.cc": "#include <hwy/highway.h>\n",
        "src/base/x9.h": guard.format("DGRAD_BASE_X_H_", ""),
        "src/base/x10.h": "#pragma once\n",
        "src/base/x11-inl.h": guard.format("DGRAD_BASE_X11_INL_H_", ""),
        "src/base/x12.cc": '#include "a.h"\n',
        "src/base/x13.cc": '#include "src/base/missing.h"\n',
        "src/base/x14.cc": '#include "../base/a.h"\n',
        "src/new/x15.cc": '#include "src/base/a.h"\n',
        "src/kernels/x16.cc": '#define HWY_TARGET_INCLUDE "src/kernels/other.cc"\n',
        "src/base/x17.cc": '#include "tests/abi/f.c"\n',
        "cli/x18.cc": '#include "src/base/a.h"\n',
        "tests/abi/x19.cc": '#include "src/base/a.h"\n',
        "python/bindings/x20.cc": '#include "dgrad/dgrad.h"\n',
        "src/threads/x21.cc": '#include "src/problem/b.h"\n',
        "src/reference/x22.cc": '#include "src/base/a.h"\n#include "src/kernels/isas.h"\n',
        "cli/x23.cc": '#include "missing.h"\n',
        "src/algorithms/x24.cc": "#include <dgrad/dgrad.h>\n",
    }
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for path, text in {**good, **bad}.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text, encoding="utf-8")
        _, violations = check_tree(root)
    reported = {violation.split(":")[0] for violation in violations}
    wrong = [f"not reported: {path}" for path in sorted(bad.keys() - reported)]
    wrong += [violation for violation in violations if violation.split(":")[0] in good]
    return len(good) + len(bad), wrong


def main(arguments):
    if arguments == ["--self-test"]:
        count, violations = self_test()
    else:
        default = pathlib.Path(__file__).resolve().parent.parent
        count, violations = check_tree(pathlib.Path(arguments[0]) if arguments else default)
    print("\n".join(violations + [f"{count} files, {len(violations)} violations"]))
    # An empty tree means that the path is wrong.
    return 1 if violations or count < 10 else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
