#!/usr/bin/env bash
# run.sh BUILD-FOLDER: checks that 'cmake --install' puts exactly these into a DESTDIR: the binary, its man page and
# completions, the library with its package files, and the scripts for clusters; and that it runs none of them.
set -euo pipefail
build=$1
root=$(mktemp -d)
trap 'rm -r "$root"' EXIT
DESTDIR=$root cmake --install "$build" --prefix /usr >/dev/null

fail() {
  printf 'FAILED: %s\n' "$*" >&2
  exit 1
}
configuration=$(sed -n 's/^CMAKE_BUILD_TYPE:[A-Z]*=//p' "$build/CMakeCache.txt" | tr '[:upper:]' '[:lower:]')
version=$(sed -n 's/^CMAKE_PROJECT_VERSION:[A-Z]*=//p' "$build/CMakeCache.txt")
expected="/usr/bin/gputopo
/usr/include/gputopo/gputopo.h
/usr/include/gputopo/gputopo.hpp
/usr/lib/cmake/gputopo/gputopoConfig.cmake
/usr/lib/cmake/gputopo/gputopoConfigVersion.cmake
/usr/lib/cmake/gputopo/gputopoTargets-$configuration.cmake
/usr/lib/cmake/gputopo/gputopoTargets.cmake
/usr/lib/libgputopo.so.$version
/usr/lib/pkgconfig/gputopo.pc
/usr/share/bash-completion/completions/gputopo
/usr/share/fish/vendor_completions.d/gputopo.fish
/usr/share/gputopo/cluster/fleet.sbatch
/usr/share/gputopo/cluster/health-check.sh
/usr/share/gputopo/cluster/measure.sh
/usr/share/man/man1/gputopo.1
/usr/share/zsh/site-functions/_gputopo"
installed=$(cd "$root" && find . -type f | sed 's/^\.//' | sort)
[ "$installed" = "$expected" ] || fail "these files were installed: $installed"

gputopo=$root/usr/bin/gputopo
[ -x "$gputopo" ] || fail "the binary may not be run"
"$gputopo" --version | grep -q '^gputopo [0-9]' || fail "the binary does not say its version"
"$gputopo" man | cmp - "$root/usr/share/man/man1/gputopo.1"
"$gputopo" completion bash | cmp - "$root/usr/share/bash-completion/completions/gputopo"
"$gputopo" completion zsh | cmp - "$root/usr/share/zsh/site-functions/_gputopo"
"$gputopo" completion fish | cmp - "$root/usr/share/fish/vendor_completions.d/gputopo.fish"
# The binary is self-contained: it renders the page of a report from any folder.
cd /
"$gputopo" --quiet --device sim:gt200 --only texture --attribute latency --html - | grep -q '</html>' ||
  fail "the installed binary writes no page"

# The same installation script, with a program in place of the binary that reports when it runs.
decoy=$root/decoy
mkdir "$decoy"
printf '#!/bin/sh\necho "$@" >>"%s/ran"\n' "$decoy" >"$decoy/gputopo"
chmod +x "$decoy/gputopo"
sed "s|\"$build/gputopo\"|\"$decoy/gputopo\"|g" "$build/cmake_install.cmake" >"$decoy/install.cmake"
DESTDIR=$decoy/root cmake -DCMAKE_INSTALL_PREFIX=/usr -DCMAKE_INSTALL_LOCAL_ONLY=ON -P "$decoy/install.cmake" >/dev/null
cmp "$decoy/gputopo" "$decoy/root/usr/bin/gputopo" || fail "the script does not install the program that it is given"
[ ! -e "$decoy/ran" ] || fail "installing ran gputopo: $(cat "$decoy/ran")"
cmp "$root/usr/share/man/man1/gputopo.1" "$decoy/root/usr/share/man/man1/gputopo.1"
