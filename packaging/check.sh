#!/usr/bin/env bash
# check.sh FOLDER: what packaging/package.sh left there is as it should be: the checksums; the tarball's program runs where
# it is unpacked; the wheel's package does; lintian finds no error in Debian's packages. As root these are installed, used
# as packaging/debian/tests says, and removed again.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=$(cd "$1" && pwd)
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT
measured='^l2,size,[0-9]'

(cd "$folder" && sha256sum --quiet --check SHA256SUMS)
printf 'ok: checksums\n'

tar -C "$work" -xzf "$folder"/gputopo-*.tar.gz
"$work"/gputopo-*/bin/gputopo --quiet --device sim:a100 --only l2.size --csv - | grep -q "$measured"
printf 'ok: tarball\n'

python3 -m zipfile -e "$folder"/gputopo-*.whl "$work/wheel"
PYTHONPATH=$work/wheel python3 -c "import gputopo; assert gputopo.discover('sim:a100', only=['l2.size'])['l2.size'].value > 0"
printf 'ok: wheel\n'

packages=("$folder"/*.deb)
if [ ! -e "${packages[0]}" ]; then
  printf 'left out: there are no Debian packages\n'
  exit
fi
if command -v lintian >/dev/null; then
  lintian --allow-root --fail-on error "${packages[@]}"
  printf 'ok: lintian\n'
else
  printf 'left out: lintian is not installed\n'
fi
if [ "$(id -u)" != 0 ]; then
  printf 'left out: installing packages needs root\n'
  exit
fi
names=()
for package in "${packages[@]}"; do names+=("$(dpkg-deb -f "$package" Package)"); done
trap 'apt-get purge -y -q "${names[@]}" >/dev/null; rm -r "$work"' EXIT
apt-get install -y -q "${packages[@]}" >/dev/null
(
  cd "$work" # not where the sources are
  sed -n 's/^Test-Command: //p' "$OLDPWD/packaging/debian/tests/control" >tests
  while read -r test; do
    bash -c "$test"
    printf 'ok: %s\n' "$test"
  done <tests
  printf '#include <gputopo/gputopo.h>\n#include <stdio.h>\nint main(void) { return puts(gputopo_version()) < 0; }\n' >use.c
  cc use.c $(pkg-config --cflags --libs gputopo) -o use && ./use
)
apt-get purge -y -q "${names[@]}" >/dev/null
trap 'rm -r "$work"' EXIT
for name in "${names[@]}"; do
  if dpkg-query -W "$name" >/dev/null 2>&1; then
    printf 'not removed: %s\n' "$name" >&2
    exit 1
  fi
done
printf 'ok: installed, used and removed\n'
