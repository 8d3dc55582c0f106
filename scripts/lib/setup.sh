# Set-up of a machine and of .venv. Everything is skipped when it is there already. Sourced.
# shellcheck shell=bash

# packages_of demo|test|test-emulated: the names in packages.txt that the script of that name needs.
packages_of() {
  awk -v who="$1" '!/^#/ && NF && (NF == 1 || $2 == who) { print $1 }' \
    "$ROOT/scripts/lib/packages.txt"
}

# Installs what is missing of the Debian packages; asks nothing of the network if nothing is.
install_packages() {
  local name as_root=() missing=()
  command -v dpkg-query >/dev/null ||
    die "this is no Debian: install the counterparts of scripts/lib/packages.txt by hand"
  for name in $(packages_of "$1"); do
    [[ $(dpkg-query -W -f '${db:Status-Status}' "$name" 2>/dev/null) == installed ]] ||
      missing+=("$name")
  done
  ((${#missing[@]})) || return 0
  if ((EUID != 0)); then
    command -v sudo >/dev/null ||
      die "these packages are missing, and installing them needs root or sudo: ${missing[*]}"
    as_root=(sudo --preserve-env=DEBIAN_FRONTEND)
  fi
  echo "   installing ${missing[*]}"
  logged apt-update "${as_root[@]}" apt-get update
  logged apt-install "${as_root[@]}" apt-get install -y --no-install-recommends "${missing[@]}"
}

# hash_of PATH...: one hash of the names and contents of all files below the paths.
hash_of() {
  find "$@" -type f ! -name '*.pyc' -print0 | LC_ALL=C sort -z | xargs -0 sha256sum | sha256sum |
    cut -d ' ' -f 1
}

# .venv with everything in requirements.txt; made anew when the list or the Python changes.
make_venv() {
  local stamp
  stamp="$(python3 --version) $(hash_of scripts/lib/requirements.txt)"
  if [[ -x $VENV/bin/python && $(cat "$VENV/setup-stamp" 2>/dev/null) == "$stamp" ]] &&
    "$VENV/bin/python" -c ''; then
    return 0
  fi
  rm -rf "$VENV"
  python3 -m venv "$VENV"
  logged pip-requirements "$VENV/bin/python" -m pip install --disable-pip-version-check \
    -r scripts/lib/requirements.txt
  echo "$stamp" >"$VENV/setup-stamp"
}

# build PRESET [TARGET...]
build() {
  logged "configure-$1" cmake --preset "$1"
  logged "build-$1" cmake --build --preset "$1" -j "$JOBS" ${2:+--target "${@:2}"}
}

# The package in .venv, built from this tree; skipped when its sources did not change.
install_package() {
  local stamp
  stamp=$(hash_of src include python cmake pyproject.toml CMakeLists.txt README.md LICENSE \
    "$VENV/setup-stamp")
  if [[ $(cat "$VENV/package-stamp" 2>/dev/null) == "$stamp" ]]; then return 0; fi
  rm -f "$VENV/package-stamp"
  # The compiler's name and all flags as in the release build, so that ccache has the objects.
  logged pip-package env CC="${CC:-cc}" CXX="${CXX:-c++}" CMAKE_BUILD_PARALLEL_LEVEL="$JOBS" \
    PATH="$VENV/bin:$PATH" \
    "$VENV/bin/python" -m pip install --disable-pip-version-check --no-build-isolation --no-deps \
    --force-reinstall --config-settings=build-dir=build/python \
    --config-settings=cmake.build-type=Release --config-settings=cmake.define.DGRAD_WERROR=ON .
  echo "$stamp" >"$VENV/package-stamp"
}

# The command line and the library it needs, into .venv.
install_program() {
  logged install-program cmake --install build/release --prefix "$VENV" --component runtime
}

set_up() {
  must "Debian packages" install_packages "$1"
  export CMAKE_C_COMPILER_LAUNCHER=ccache CMAKE_CXX_COMPILER_LAUNCHER=ccache
  must "Python environment (.venv)" make_venv
}
