#!/usr/bin/env bash
# bench.sh GPUTOPO [COUNT]: time and memory for merging and judging COUNT reports (default 10,000).
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
gputopo=$1 count=${2:-10000}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$root/tests/cluster/write_fleet.py" "$root/tests/reports/h200.json" "$folder/in" "$count"
timed() { /usr/bin/time -f '%e s, %M KiB' "$@" || true; }
du -sb "$folder/in" | cut -f 1 | sed 's/$/ bytes of reports/'
timed "$gputopo" fleet merge --names "$folder/in" --out "$folder/fleet.arrow"
timed "$gputopo" fleet merge --names --resume "$folder/in" --out "$folder/fleet.arrow"
timed "$gputopo" fleet report "$folder/fleet.arrow" --html "$folder/fleet.html" --csv "$folder/odd.csv" | tail -n 60
stat -c '%s bytes of %n' "$folder"/fleet.{arrow,html}
