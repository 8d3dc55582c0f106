# Shared by the scripts: where things are, steps with times, logs. Sourced, never run.
# shellcheck shell=bash

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
LOGS=$ROOT/build/logs
VENV=$ROOT/.venv
JOBS=$(nproc)
cd "$ROOT"
mkdir -p "$LOGS"

export DEBIAN_FRONTEND=noninteractive
export PYTHONDONTWRITEBYTECODE=1

STEP_NAMES=()
STEP_RESULTS=()
STEP_SECONDS=()
FAILED=()
LAST_STATUS=0

die() {
  echo "error: $*" >&2
  exit 1
}

# logged NAME COMMAND...: the output goes to build/logs/NAME.log and is shown if the command fails.
logged() {
  local log=$LOGS/$1.log
  shift
  if ! "$@" >"$log" 2>&1; then
    echo "---- the end of $log ----" >&2
    tail -n 80 "$log" >&2
    return 1
  fi
}

# step NAME COMMAND...: runs it and remembers how long it took and whether it worked, in FAILED and
# the other arrays, and in LAST_STATUS. Returns 0 always: a caller that tested its result (step ... || ...) would switch
# errexit off inside the command.
step() {
  local name=$1 start=$SECONDS status
  shift
  echo "== $name"
  set +e
  (
    set -e
    "$@"
  )
  status=$?
  set -e
  LAST_STATUS=$status
  STEP_NAMES+=("$name")
  STEP_SECONDS+=($((SECONDS - start)))
  if ((status == 0)); then
    STEP_RESULTS+=(ok)
  else
    STEP_RESULTS+=(FAILED)
    FAILED+=("$name")
    echo "== $name: FAILED" >&2
  fi
}

# must NAME COMMAND...: a step without which nothing else makes sense.
must() {
  step "$@"
  ((${#FAILED[@]} == 0)) || die "$1 failed"
}

summary() {
  local i
  echo "== Steps"
  for i in "${!STEP_NAMES[@]}"; do
    printf '   %-6s %5d s  %s\n' "${STEP_RESULTS[$i]}" "${STEP_SECONDS[$i]}" "${STEP_NAMES[$i]}"
  done
}
