#!/usr/bin/env bash
# Runs gputopo ten times on a GPU and says whether the runs agree. Needs only the binary and this script:
#   ./ten_runs.sh ./gputopo results [RUNS]
# Writes to results/: run_N.json and run_N.txt of every run, recording.gputopo and recorded.txt of another run with
# --full, and agreement.txt.
# Exit code 0: every run succeeded, discrete values are always equal, continuous ones are within 2% of their median, and
# on an H200 the bandwidths reach its limits.
set -u
binary=${1:?usage: ten_runs.sh BINARY RESULTS [RUNS]}
results=${2:?usage: ten_runs.sh BINARY RESULTS [RUNS]}
runs=${3:-10}
mkdir -p "$results"
if ! "$binary" list | grep -q '^cuda:0'; then
  echo "skipped: no CUDA device here"
  exit 0
fi

failed=0
for run in $(seq 1 "$runs"); do
  "$binary" --device cuda:0 --quiet --json "$results/run_$run.json" >"$results/run_$run.txt"
  status=$?
  [ $status = 0 ] || failed=1
  echo "run $run: exit $status, $(awk '/"total_seconds"/ {print $2 + 0; exit}' "$results/run_$run.json") s"
done
"$binary" --device cuda:0 --full --quiet --record "$results/recording.gputopo" >"$results/recorded.txt"

# The report is indented by two spaces, so the depth of a line tells its kind: 4 an element, 6 an attribute, 8 a field.
awk '
  /^  "/ { section = $1 }
  section != "\"memory\":" { next }
  /^    "[a-z0-9_]+": \{/ { element = $1; gsub(/[":]/, "", element) }
  /^      "[a-z0-9_]+": \{/ { attribute = $1; gsub(/[":]/, "", attribute) }
  /^        "(value|reason)": / {
    value = $0; sub(/^ *"(value|reason)": /, "", value); sub(/,$/, "", value)
    # A list continues until its closing bracket.
    if (value == "[") while ((getline line) > 0) { gsub(/^ +|,$/, "", line); value = value line " "; if (line == "]") break }
    if (value == "\"not_applicable\"") next
    key = element "." attribute
    if (!(key in count)) order[++keys] = key
    values[key, ++count[key]] = value
  }
  END {
    bad = 0
    for (k = 1; k <= keys; k++) {
      key = order[k]; n = count[key]; same = 1; numeric = 1
      for (i = 1; i <= n; i++) {
        if (values[key, i] != values[key, 1]) same = 0
        if (values[key, i] !~ /^[-0-9.e+]+$/) numeric = 0
        sorted[i] = values[key, i]
      }
      if (same) { printf "%-30s same %s\n", key, values[key, 1]; continue }
      discrete = key ~ /(line_size|fetch_granularity|amount|shared_with|partitions)$/
      if (numeric) {
        for (i = 1; i <= n; i++) for (j = i + 1; j <= n; j++) if (sorted[j] + 0 < sorted[i] + 0) { t = sorted[i]; sorted[i] = sorted[j]; sorted[j] = t }
        median = sorted[int((n + 1) / 2)]
        spread = (sorted[n] - sorted[1]) / 2 / (median == 0 ? 1 : median) * 100
        ok = !discrete && spread <= 2
        printf "%-30s %s %s .. %s (median %s, +-%.2f%%)\n", key, ok ? "within 2%" : "DIFFERS", sorted[1], sorted[n], median, spread
      } else { ok = 0; printf "%-30s DIFFERS\n", key; for (i = 1; i <= n; i++) print "    " values[key, i] }
      if (!ok) bad++
    }
    exit bad > 0
  }' $(for run in $(seq 1 "$runs"); do echo "$results/run_$run.json"; done) >"$results/agreement.txt"
agree=$?
cat "$results/agreement.txt"

# 95% of 4.81 TB/s for device memory in the better direction, 9.0 TB/s for L2, 90% of 128 B per clock and SM for L1.
floors=0
if "$binary" list | grep '^cuda:0' | grep -q H200; then
  for run in $(seq 1 "$runs"); do
    "$binary" show "$results/run_$run.json" --csv - | tr -d '\r' | awk -F, -v run="$run" '
      { value[$1 "." $2] = $3 }
      function check(what, reached, floor) {
        if (reached < floor) { printf "run %s: %s %.4g is below %.4g\n", run, what, reached, floor; bad = 1 }
      }
      END {
        read = value["memory.device.read_bandwidth"]; write = value["memory.device.write_bandwidth"]
        check("device memory bandwidth", read > write ? read : write, 0.95 * 4.81e12)
        check("L2 read bandwidth", value["l2.read_bandwidth"], 9.0e12)
        check("L1 read bandwidth", value["l1.read_bandwidth"], 0.9 * 128 * value["compute.sm_count"] * value["device.sm_clock"] * 1e6)
        exit bad
      }' || floors=1
  done
fi
exit $((failed || agree || floors))
