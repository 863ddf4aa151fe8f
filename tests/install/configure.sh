#!/usr/bin/env bash
# configure.sh own_flags|cross_build|subproject COMPILER: tests the project within other builds. Each check configures
# it in a new folder and inspects the compile commands; the last one compiles its own file.
set -euo pipefail
tests=$(cd "$(dirname "$0")/.." && pwd)
check=$1 compiler=$2
build=$(mktemp -d)
trap 'rm -r "$build"' EXIT

fail() {
  printf 'FAILED: %s\n' "$*" >&2
  exit 1
}
# configure SOURCE [ARGS...]: prints nothing unless it fails.
configure() {
  local source=$1
  shift
  cmake -G Ninja -S "$source" -B "$build" -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_EXPORT_COMPILE_COMMANDS=ON "$@" \
    >"$build/log" 2>&1 || fail "$(cat "$build/log")"
}
# The command that compiles a file of the project.
command_of() { grep '"command"' "$build/compile_commands.json" | grep -F -- "$1" || fail "nothing compiles $1"; }
expect() { grep -q -E -- "$2" <<<"$1" || fail "without $2: $1"; }
refuse() { ! grep -q -E -- "$2" <<<"$1" || fail "with $2: $1"; }
# Flags that the user did not request: optimization levels other than -Os, and warnings.
foreign='-O[0123g]| -W(all|extra|pedantic|shadow|conversion|error)'
numerics=src/stats/descriptive.cpp other=src/report/words/units.cpp

case $check in
  own_flags)
    # The user's build-type flags take precedence; warnings are the project's own by default.
    configure "$tests/.." -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS=-DUSERS -DCMAKE_CXX_FLAGS_RELEASE=-Os \
      -DCMAKE_CXX_STANDARD=23 -DGPUTOPO_TESTS=OFF -DGPUTOPO_BENCHMARKS=OFF
    for file in "$numerics" "$other"; do
      command=$(command_of "$file")
      expect "$command" ' -DUSERS -Os '
      expect "$command" ' -std=c\+\+(23|2b) '
      expect "$command" ' -Wall '
      refuse "$command" '-O[0123g]|-DNDEBUG'
    done
    configure "$tests/.." -DGPUTOPO_WARNINGS=OFF
    refuse "$(command_of "$other")" "$foreign"
    ;;
  cross_build)
    # Naming the system makes it a cross build, even if it is the same system.
    configure "$tests/.." -DCMAKE_SYSTEM_NAME=Linux -DGPUTOPO_TESTS=OFF -DGPUTOPO_BENCHMARKS=OFF
    expect "$(cat "$build/log")" 'no man page and no completions'
    refuse "$(cat "$build/cmake_install.cmake")" 'gputopo\.1|completions|COMMAND "[^"]*/gputopo"'
    refuse "$(cat "$build/build.ninja")" 'gputopo man'
    configure "$tests/.." -DCMAKE_CROSSCOMPILING_EMULATOR=/usr/bin/env
    expect "$(cat "$build/build.ninja")" '/usr/bin/env .*gputopo man'
    expect "$(cat "$build/cmake_install.cmake")" 'gputopo\.1'
    ;;
  subproject)
    configure "$tests/install/subproject" -DGPUTOPO_SOURCE="$(dirname "$tests")" -DCMAKE_BUILD_TYPE=Release \
      -DCMAKE_CXX_FLAGS_RELEASE=-Os
    for file in "$numerics" "$other"; do
      command=$(command_of "$file")
      expect "$command" ' -Os '
      expect "$command" ' -std=(c|gnu)\+\+20 '
      refuse "$command" "$foreign"
    done
    targets=$(cmake --build "$build" --target help)
    expect "$targets" '^gputopo:'
    refuse "$targets" '_tests:|_bench:|fake_'
    refuse "$(cat "$build/gputopo/cmake_install.cmake")" 'bin/gputopo|gputopo\.1'
    # Only this command, without the objects of gputopo that ninja would build first.
    command=$(ninja -C "$build" -t commands CMakeFiles/somebody.dir/somebody.cpp.o | tail -n 1)
    (cd "$build" && sh -c "$command") >"$build/log" 2>&1 || fail "$(cat "$build/log")"
    [ -s "$build/CMakeFiles/somebody.dir/somebody.cpp.o" ] || fail "this compiles nothing: $command"
    ;;
  *) fail "no check $check" ;;
esac
