# The checks that ./scripts/test is made of, one function each. Sourced.
# shellcheck shell=bash

# Files in C and C++ below the given folders, zero-terminated.
sources_in() {
  local folder
  for folder in "$@"; do
    [[ -d $folder ]] || continue
    find "$folder" -type f \( -name '*.cc' -o -name '*.h' -o -name '*.hpp' -o -name '*.c' \) -print0
  done
}

check_format() {
  local log=$LOGS/clang-format.log
  sources_in include src cli python tests bench examples |
    xargs -0 clang-format --dry-run -Werror >"$log" 2>&1 || {
    echo "clang-format -i would change:"
    grep -o '^[^ :]*' "$log" | grep / | sort -u
    return 1
  }
}

# Needs build/clang/compile_commands.json. Not the kernels: each takes some 20 seconds, once per
# instruction set.
check_tidy() {
  find src cli examples -name '*.cc' ! -path 'src/kernels/*' -print0 |
    xargs -0 -n 1 -P "$JOBS" clang-tidy -p build/clang --quiet >"$LOGS/clang-tidy.log" 2>&1 || {
    grep -E 'warning:|error:' "$LOGS/clang-tidy.log" | sort -u | head -n 60
    return 1
  }
}

# run_ctest PRESET [OPTION...]: prints the closing lines, or all that failed.
run_ctest() {
  local log=$LOGS/ctest-$1.log
  if ! ctest --preset "$1" "${@:2}" -j "$JOBS" --no-tests=error >"$log" 2>&1; then
    grep -v ' Passed ' "$log" | tail -n 200
    return 1
  fi
  tail -n 4 "$log"
}

# SIGINT is ignored in what a shell starts in the background, which the tests of Ctrl-C would inherit.
run_pytest() {
  env --default-signal=INT "$VENV/bin/python" -m pytest tests/python -q
}

# run_cli_tests PRESET: the command line of that build.
run_cli_tests() {
  DGRAD_CLI=$ROOT/build/$1/cli/dgrad "$VENV/bin/python" -m pytest tests/cli -q
}
