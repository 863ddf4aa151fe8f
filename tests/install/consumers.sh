#!/usr/bin/env bash
# consumers.sh BUILD-FOLDER CC CXX [--from-source]: builds and runs programs that use the installed library: the
# examples in C99, C++17 and Python, with find_package, pkg-config, FetchContent and from the wheel. With --from-source,
# FetchContent builds gputopo, too, which takes minutes.
set -euo pipefail
build=$1 cc=$2 cxx=$3 from_source=${4:-}
source=$(cd "$(dirname "$0")/../.." && pwd)
root=$(mktemp -d)
trap 'rm -r "$root"' EXIT
export XDG_CACHE_HOME=$root/cache

fail() {
  printf 'FAILED: %s\n' "$*" >&2
  exit 1
}
# left_out WHAT WHY: reports a part that cannot run here.
left_out() {
  printf '%s is left out: %s\n' "$1" "$2"
  if [ -n "${GPUTOPO_SKIPS:-}" ]; then printf 'library.consumers.%s\t%s\n' "$1" "$2" >>"$GPUTOPO_SKIPS"; fi
}
# quietly COMMAND...: shows the output only if the command fails.
quietly() { "$@" >"$root/log" 2>&1 || fail "$* said: $(cat "$root/log")"; }
# expect PATTERN COMMAND...: the output of the command must match, and it must end with 0.
expect() {
  local pattern=$1 out
  shift
  out=$("$@" 2>&1) || fail "$* ended with $?: $out"
  grep -q -E -- "$pattern" <<<"$out" || fail "$* did not print $pattern: $out"
}

# The installed files are moved and must be found in the new place.
quietly cmake --install "$build" --prefix "$root/first"
mv "$root/first" "$root/moved"
prefix=$root/moved
baseline=$source/tests/reports/h200.json

run_all() { # FOLDER [SUFFIX-OF-C [SUFFIX-OF-CXX]]
  expect '^tile [0-9]+ x [0-9]+, ' "$1/tile_size${2:-}" sim:h200
  expect '^as the baseline$' "$1/node_check${2:-}" "$baseline" sim:h200
  expect '^NVIDIA H200: [0-9]+ rows at a time' "$1/tile_size${3:-}" "$baseline"
  expect '^bound by memory: ' "$1/roofline${3:-}" 1e9 1e9 sim:h200
}

find_package() {
  quietly cmake -G Ninja -S "$source/examples" -B "$root/examples" -DCMAKE_C_COMPILER="$cc" -DCMAKE_CXX_COMPILER="$cxx" \
    -DCMAKE_PREFIX_PATH="$prefix" "-DCMAKE_C_FLAGS=-Wall -Wextra -Wpedantic -Werror" \
    "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Wpedantic -Werror"
  quietly cmake --build "$root/examples"
  run_all "$root/examples" _c _cpp
  ! grep -r -F "$root/first" "$prefix/lib" --include='*.cmake' --include='*.pc' || fail "the place of installation is named"
  if "$root/examples/node_check_c" "$baseline" sim:a100 >/dev/null; then fail "an A100 is as an H200"; fi
}

by_pkg_config() {
  command -v pkg-config >/dev/null || { left_out pkg_config 'pkg-config is not installed'; return; }
  local flags
  flags=$(PKG_CONFIG_PATH=$prefix/lib/pkgconfig pkg-config --cflags --libs gputopo)
  mkdir "$root/plain"
  for example in tile_size node_check; do
    # shellcheck disable=SC2086
    quietly "$cc" -std=c99 -Wall -Wextra -pedantic -Werror "$source/examples/c/$example.c" -o "$root/plain/$example.c99" $flags
  done
  for example in tile_size roofline; do
    # shellcheck disable=SC2086
    quietly "$cxx" -std=c++17 -Wall -Wextra -pedantic -Werror "$source/examples/cpp/$example.cpp" -o "$root/plain/$example.c++" $flags
  done
  LD_LIBRARY_PATH=$prefix/lib run_all "$root/plain" .c99 .c++
}

fetch_content() {
  cmake --version | grep -qE ' (3\.(2[4-9]|[3-9])|[4-9])' || { left_out fetch_content 'CMake is older than 3.24'; return; }
  local options=(-G Ninja -S "$source/tests/install/fetch_content" -DGPUTOPO_SOURCE="$source"
    -DCMAKE_C_COMPILER="$cc" -DCMAKE_CXX_COMPILER="$cxx")
  quietly cmake "${options[@]}" -B "$root/fetch" -DCMAKE_PREFIX_PATH="$prefix"
  quietly cmake --build "$root/fetch"
  expect '^tile [0-9]+ x [0-9]+, ' "$root/fetch/tile_size" sim:h200
  expect '^bound by memory: ' "$root/fetch/roofline" 1e9 1e9 sim:h200
  # Configures the sources and compiles the two files of the consumer.
  quietly cmake "${options[@]}" -B "$root/sources" -DCMAKE_BUILD_TYPE=Release -DFETCHCONTENT_TRY_FIND_PACKAGE_MODE=NEVER
  if [ "$from_source" = --from-source ]; then
    quietly cmake --build "$root/sources" --target tile_size roofline
    expect '^bound by memory: ' "$root/sources/roofline" 1e9 1e9 sim:h200
  else
    for object in tile_size.dir/"${source#/}"/examples/c/tile_size.c.o roofline.dir/"${source#/}"/examples/cpp/roofline.cpp.o; do
      (cd "$root/sources" && quietly sh -c "$(ninja -t commands "CMakeFiles/$object" | tail -n 1)")
    done
  fi
}

by_python() {
  local python=python3
  [ ! -x /usr/bin/python3 ] || python=/usr/bin/python3 # Debian's, regardless of PATH
  mkdir "$root/wheels"
  quietly "$python" "$source/python/wheel_backend.py" "$prefix/lib/libgputopo.so.0" "$root/wheels"
  local wheels=("$root"/wheels/*.whl)
  [ ${#wheels[@]} = 1 ] || fail "these wheels were made: ${wheels[*]}"
  [[ ${wheels[0]} = */gputopo-*-py3-none-*.whl ]] || fail "a wheel for one Python: ${wheels[0]}"
  # Uses pip if there is one.
  if "$python" -m pip --version >/dev/null 2>&1; then
    quietly "$python" -m pip install --no-index --no-deps --disable-pip-version-check --root-user-action ignore \
      --target "$root/site" "${wheels[0]}"
  else
    "$python" -m zipfile -e "${wheels[0]}" "$root/site"
  fi
  export PYTHONPATH=$root/site
  expect 'bound by device$' "$python" "$source/examples/python/roofline.py" 1e9 1e9 sim:h200
  expect '^4 values compared, 0 worse$' "$python" "$source/examples/python/node_check.py" "$baseline" sim:h200
  quietly "$python" "$source/tests/python/package_test.py"
}

find_package
by_pkg_config
fetch_content
by_python
