#!/usr/bin/env bash
# bench.sh GPUTOPO [COUNT [NIGHTS]]: time and memory for merging and judging COUNT reports (default 10,000), and for
# merging as many into a store that has them for NIGHTS nights (365: 12 GB and some twenty minutes).
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
gputopo=$1 count=${2:-10000} nights=${3:-0}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
night() { "$root/tests/cluster/write_fleet.py" "$root/tests/reports/h200.json" "$folder/in" "$count" "$1" "$2"; }
timed() { /usr/bin/time -f '%e s, %M KiB' "$@" || true; }
merge() { timed "$gputopo" fleet merge "$folder/in" --out "$folder/fleet.db" "$@"; }
report() { timed "$gputopo" fleet report "$folder/fleet.db" --html "$folder/fleet.html" --csv "$folder/odd.csv" | tail -n 60; }
night 1 2025-11-25
du -sb "$folder/in" | cut -f 1 | sed 's/$/ bytes of reports/'
merge
merge --resume
report
stat -c '%s bytes of %n' "$folder"/fleet.{db,html}
[ "$nights" -ge 3 ] || exit 0
night 2 2025-11-26
merge --resume
"$root/tests/cluster/add_nights.py" "$folder/fleet.db" $((nights - 2))
stat -c '%s bytes of %n' "$folder/fleet.db"
night 3 2026-11-25
merge --resume
report
timed "$gputopo" fleet forget "$folder/fleet.db" --before 2025-12-25
