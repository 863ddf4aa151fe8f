#!/usr/bin/env bash
# Discovers only the instruction caches and shared memory of a GPU, with all evidence:
#   ./try_icache.sh ./gputopo results
# Writes to results/: icache.txt, icache.log (decisions of probes), icache.json, samples as CSV, and the recording.
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
