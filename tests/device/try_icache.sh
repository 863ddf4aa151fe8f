#!/usr/bin/env bash
# Discovers the instruction caches and shared memory of a GPU alone, with all that led to the values:
#   ./try_icache.sh ./gputopo results
# Leaves in results/: icache.txt, icache.log (what each probe decided), icache.json, the samples as CSV, and the recording.
set -u
binary=${1:?usage: try_icache.sh BINARY RESULTS}
results=${2:?usage: try_icache.sh BINARY RESULTS}
mkdir -p "$results"
if ! "$binary" list | grep -q '^cuda:0'; then
  echo "skipped: no CUDA device here"
  exit 0
fi
"$binary" --device cuda:0 --only icache,shared --verbose --json "$results/icache.json" --raw "$results/samples" \
  --record "$results/icache.gputopo" >"$results/icache.txt" 2>"$results/icache.log"
status=$?
cat "$results/icache.log" "$results/icache.txt"
for samples in "$results"/samples/icache*; do
  echo "== $samples"
  cat "$samples"
done
exit $status
