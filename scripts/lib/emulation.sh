# The parts of ./scripts/test-emulated. Sourced.
# shellcheck shell=bash

# What runs without being asked for: the oldest processors that get each instruction set. Westmere has
# what Highway asks for besides SSE4.2, Nehalem has not.
PROCESSORS=(aarch64:cortex-a72 Conroe Nehalem Westmere Haswell)
PROGRAMS=(unit_base unit_threads kernels algorithms)

# Left out unless --full is given: large shapes of what the others test too.
SLOW='Shapes/Accuracy*:Types/StreamingTest.*:LargeFilterTest.*'

# The instruction set that a processor must get; nothing for one that isn't known here.
isa_of() {
  case "$1" in
    aarch64:*) echo neon ;;
    Conroe* | Penryn*) echo scalar ;;
    Nehalem* | Westmere* | SandyBridge* | IvyBridge*) echo sse4 ;;
    Haswell* | Broadwell* | Skylake-Client* | EPYC*) echo avx2 ;;
  esac
}

# filter_of PROCESSOR FILTER: without the tests that fail because of the emulator. In qemu-user 7.2 the
# child of a process with threads can't start threads of its own; and AVX2's conversion to float16
# flushes small results to zero where processors take no notice of that mode.
filter_of() {
  local without='ForkTest.*'
  if [[ $(isa_of "$1") == avx2 ]]; then without+=':Types/*/f16'; fi
  case "$2" in # what follows the first - is left out
    *-*) echo "$2:$without" ;;
    *) echo "$2-$without" ;;
  esac
}

build_googletest() {
  local folder=$ROOT/build/aarch64-googletest
  logged configure-googletest cmake -S /usr/src/googletest -B "$folder" -G Ninja \
    -DCMAKE_TOOLCHAIN_FILE="$ROOT/cmake/aarch64-linux-gnu.cmake" -DCMAKE_BUILD_TYPE=Release \
    -DBUILD_GMOCK=OFF -DCMAKE_INSTALL_PREFIX="$folder/prefix"
  logged build-googletest cmake --build "$folder" -j "$JOBS" --target install
}

# run_emulated PROCESSOR PROGRAM FILTER: JOBS parts side by side; prints how many tests passed, and the
# end of what failed.
run_emulated() {
  local log=$LOGS/emulated-${1/:/-}-$2 isa status=0 i pids=() command
  case "$1" in
    aarch64:*) command=(qemu-aarch64 -cpu "${1#*:}" -L /usr/aarch64-linux-gnu build/aarch64/tests/"$2") ;;
    *) command=(qemu-x86_64 -cpu "$1" build/release/tests/"$2") ;;
  esac
  isa=$(isa_of "$1")
  rm -f "$log"-[0-9]*.log
  for ((i = 0; i < JOBS; ++i)); do
    env -u DGRAD_ISA ${isa:+DGRAD_TEST_ISA=$isa} GTEST_TOTAL_SHARDS="$JOBS" GTEST_SHARD_INDEX="$i" \
      "${command[@]}" --gtest_filter="$(filter_of "$1" "$3")" >"$log-$i.log" 2>&1 &
    pids+=($!)
  done
  for ((i = 0; i < JOBS; ++i)); do
    wait "${pids[i]}" && continue
    status=1
    echo "---- the end of $log-$i.log ----" >&2
    tail -n 40 "$log-$i.log" >&2
  done
  cat "$log"-[0-9]*.log | awk '
    /^\[  PASSED  \]/ { passed += $4 }
    /^\[  SKIPPED \] [0-9]+ test/ { skipped += $4 }
    END { printf "   %d tests passed, %d skipped\n", passed, skipped }'
  return $status
}
