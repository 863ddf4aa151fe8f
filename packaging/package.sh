#!/usr/bin/env bash
# package.sh BUILD-FOLDER OUTPUT-FOLDER: what a release has, of what is built in the first folder: a tarball with the program
# and the library, the wheel, Debian's packages where their tools are (built of the sources, as Debian does), and the
# checksums of all. What was in the output folder before is removed.
set -euo pipefail
cd "$(dirname "$0")/.."
build=$1 output=$2
version=$(sed -n 's/^CMAKE_PROJECT_VERSION:[A-Z]*=//p' "$build/CMakeCache.txt")
# What is packed has the time of the commit.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
export SOURCE_DATE_EPOCH

rm -rf "$output"
mkdir -p "$output"
output=$(cd "$output" && pwd)
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT

tarball() {
  local name=gputopo-$version-linux-$(uname -m)
  cmake --install "$build" --prefix "$work/$name" --strip >/dev/null
  cp LICENSE README.md CHANGELOG.md "$work/$name/"
  tar -C "$work" --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" -c "$name" |
    gzip -9n >"$output/$name.tar.gz"
}

wheel() { python/wheel_backend.py "$build/libgputopo.so" "$output" >/dev/null; }

debian_packages() {
  if ! command -v dpkg-buildpackage >/dev/null || ! command -v dh >/dev/null; then
    printf 'Debian packages are left out: dpkg-buildpackage or debhelper is not installed\n' >&2
    return
  fi
  local source=$work/debian/gputopo-$version of
  of=$(dpkg-parsechangelog -l packaging/debian/changelog -S Version)
  if [ "${of%-*}" != "$version" ]; then
    printf 'packaging/debian/changelog is for version %s, but gputopo is version %s: add an entry\n' "$of" "$version" >&2
    exit 1
  fi
  mkdir -p "$source"
  git ls-files -z | tar --null -T - -c | tar -x -C "$source"
  cp -r packaging/debian "$source/debian"
  (cd "$source" && DEB_BUILD_OPTIONS="${DEB_BUILD_OPTIONS:-noautodbgsym}" nice dpkg-buildpackage -b -us -uc) >"$work/log" 2>&1 || {
    tail -n 40 "$work/log" >&2
    exit 1
  }
  cp "$work"/debian/*.deb "$output/"
}

tarball
wheel
debian_packages
(cd "$output" && sha256sum -- * >SHA256SUMS.new && mv SHA256SUMS.new SHA256SUMS)
ls -l "$output"
