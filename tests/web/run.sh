#!/usr/bin/env bash
# run.sh bundle|browser|validity GPUTOPO [SCREENSHOT-FOLDER]: one check of the front end of HTML reports. Exits with 77
# and a reason if it cannot run here.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
check=$1 gputopo=$2
shift 2

skip() {
  printf 'skipped: %s\n' "$*"
  if [ -n "${GPUTOPO_SKIPS:-}" ]; then printf 'web.%s\t%s\n' "$check" "$*" >>"$GPUTOPO_SKIPS"; fi
  exit 77
}
need_package() {
  command -v node >/dev/null || skip "node is not installed; ./dev test installs it"
  [ -d "$root/web/node_modules/$1" ] || skip "web/node_modules has no $1; ./dev test installs it"
}

case $check in
  bundle)
    need_package esbuild
    exec node "$root/web/build.mjs" --check
    ;;
  browser)
    need_package playwright-core
    need_package axe-core
    command -v "${GPUTOPO_CHROMIUM:-chromium-headless-shell}" chromium >/dev/null ||
      skip "Chromium is not there; ./dev test installs it, or set GPUTOPO_CHROMIUM"
    exec node "$root/web/test/browser.mjs" "$gputopo" "$root/tests/reports" "$@"
    ;;
  validity)
    need_package vnu-jar
    command -v java >/dev/null || skip "java is not installed; ./dev test installs it"
    jar=$(find "$root/web/node_modules/vnu-jar" -name '*.jar' | head -n 1)
    [ -n "$jar" ] || skip "vnu-jar has no jar; ./dev test fetches it"
    folder=$(mktemp -d)
    trap 'rm -r "$folder" "$folder.db"' EXIT
    for report in "$root"/tests/reports/*.json; do
      name=$(basename "$report" .json)
      "$gputopo" show "$report" --html "$folder/$name.html" --svg "$folder/$name.svg" >/dev/null
    done
    "$gputopo" diff "$root"/tests/reports/{h200,gt200}.json --html "$folder/diff.html" >/dev/null || [ $? = 1 ]
    "$gputopo" fleet merge "$root/tests/fixtures/fleet.arrow" --out "$folder.db" >/dev/null
    "$gputopo" fleet report "$folder.db" --html "$folder/fleet.html" >/dev/null || [ $? = 1 ]
    # Both commands end with 1 for differences as well as for failures.
    for name in diff fleet; do [ -s "$folder/$name.html" ] || { printf 'failed: no %s.html\n' "$name"; exit 1; }; done
    java -jar "$jar" --errors-only --also-check-svg "$folder"/*
    ;;
  *)
    printf 'run.sh: no check %s\n' "$check" >&2
    exit 2
    ;;
esac
