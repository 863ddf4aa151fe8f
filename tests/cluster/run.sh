#!/usr/bin/env bash
# run.sh slurm|health|mpi|queries GPUTOPO: measures a fleet of simulated GPUs with a real Slurm or mpirun on this machine,
# merges and judges it; checks nodes with planted faults as Slurm's Epilog and HealthCheckProgram; or queries a store as
# docs/fleet.md says. Exits with 77 and a reason if it cannot run here.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
check=$1
export GPUTOPO=$2 GPUTOPO_SHARE=$root/packaging/cluster GPUTOPO_OPTIONS="--only device.read_bandwidth,l2.latency,l2.size"

skip() {
  printf 'skipped: %s\n' "$*"
  if [ -n "${GPUTOPO_SKIPS:-}" ]; then printf 'cluster.%s\t%s\n' "$check" "$*" >>"$GPUTOPO_SKIPS"; fi
  exit 77
}
fail() {
  printf 'failed: %s\n' "$*"
  exit 1
}
folder=$(mktemp -d)
processes=()
# Ends only processes that were started here, the daemons last.
clean_up() {
  local process
  for process in "${processes[@]}"; do kill "$process" 2>/dev/null || true; done
  for process in "${processes[@]}"; do wait "$process" 2>/dev/null || true; done
  rm -rf "$folder"
}
trap clean_up EXIT

# A GPU of the same name that lacks a stack of its memory.
lesser_gpu() {
  sed 's/"memory_bus_bits": {"value": 6016/"memory_bus_bits": {"value": 5120/' "$root/machines/h200.json" >"$folder/h200.json"
  ! cmp -s "$folder/h200.json" "$root/machines/h200.json" || fail "machines/h200.json has no bus of 6016 bits any more"
}

# start_slurm [LINE...]: with these lines in slurm.conf.
start_slurm() {
  local node host
  for node in slurmctld slurmd srun sbatch sinfo; do
    command -v $node >/dev/null || skip "$node is not installed; ./dev test installs slurm-wlm"
  done
  [ "$(id -u)" = 0 ] || skip "slurmd needs root"
  host=$(hostname -s)
  mkdir "$folder"/{state,spool,log}
  # The checks run at the same time, with process ids that may be neighbours.
  local port=$((20000 + $$ % 2000 * 5))
  [ "$check" = slurm ] || port=$((port + 10000))
  cat >"$folder/slurm.conf" <<CONF
ClusterName=gputopo
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$port
SlurmUser=root
SlurmdUser=root
AuthType=auth/none
CredType=cred/none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/linear
ReturnToService=2
SlurmdParameters=config_overrides
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool/%n
SlurmdPidFile=$folder/%n.pid
SlurmctldPidFile=$folder/ctld.pid
NodeName=node[1-4] NodeHostname=$host NodeAddr=127.0.0.1 Port=[$((port + 1))-$((port + 4))] CPUs=1
PartitionName=main Nodes=ALL Default=YES MaxTime=60
CONF
  printf '%s\n' "$@" >>"$folder/slurm.conf"
  export SLURM_CONF=$folder/slurm.conf
  slurmctld -D -i >"$folder/log/ctld" 2>&1 &
  processes+=($!)
  for node in 1 2 3 4; do
    slurmd -D -N node$node >"$folder/log/node$node" 2>&1 &
    processes+=($!)
  done
  for _ in $(seq 150); do
    [ "$(sinfo -h -t idle -o %D 2>/dev/null)" != 4 ] || return 0
    sleep 0.2
  done
  skip "Slurm does not start here: $(grep -h -m 1 -i -e fatal -e error "$folder"/log/* || echo 'no node is idle')"
}

judge() {
  "$GPUTOPO" fleet report "$folder/fleet.db" >"$folder/said" && fail "the lesser GPU was not found: $(cat "$folder/said")"
  grep -q "outlier: $1" "$folder/said" || fail "another GPU was found: $(cat "$folder/said")"
  grep -q 'device.memory_bus_width: 5120' "$folder/said" || fail "not for its memory: $(cat "$folder/said")"
}

# ---- Health checks ----

state_of() { sinfo -h -n "$1" -o "%T %E" | tr -d '*'; }

# checked NODE EXPECTED SETTING...: runs a job on the node with these settings of health-check.sh. Expected is the reason
# for draining it, or "idle: ..." with the line in the system's log, which is empty if the node is good.
checked() {
  local node=$1 expected=$2 state
  shift 2
  printf "export '%s'\n" "$@" >"$folder/settings.$node"
  rm -f "$folder/log/code.$node" "$folder/log/journal.$node"
  scontrol update "NodeName=$node" State=RESUME 2>/dev/null || true
  srun -Q -w "$node" true 2>>"$folder/log/srun" || fail "no job runs on $node: $(state_of "$node")"
  for _ in $(seq 300); do
    [ ! -e "$folder/log/code.$node" ] || break
    sleep 0.2
  done
  for _ in $(seq 50); do
    state=$(state_of "$node")
    case $state in idle* | drained*) break ;; esac
    sleep 0.2
  done
  case $expected in
    idle:)
      [ "${state% *}" = idle ] || fail "$node with $*: $state"
      [ ! -s "$folder/log/journal.$node" ] || fail "$node with $*: $(cat "$folder/log/journal.$node")"
      ;;
    idle:*)
      [ "${state% *}" = idle ] || fail "$node with $*: $state"
      grep -q -e "not judged: .*${expected#idle: }" "$folder/log/journal.$node" ||
        fail "$node with $*: the log has $(cat "$folder/log/journal.$node")"
      ;;
    *) [[ $state == drained*"$expected"* ]] || fail "$node with $*: $state" ;;
  esac
}

write_faulty_hardware() {
  python3 - "$root/machines/nodes" "$folder" <<'PYTHON'
import json, sys
source, folder = sys.argv[1:]
def variant(name, model, change):
    node = json.load(open(f"{source}/{model}.json"))
    change(node)
    json.dump(node, open(f"{folder}/{name}.json", "w"))
def slow(segments, factor):
    def change(node):
        for segment in node["segments"]:
            if segment["name"] in segments:
                for rate in [key for key in segment if key.endswith("bytes_per_second")]:
                    segment[rate] *= factor
    return change
def half_nvlinks(node):
    slow(["nvlink1"], 0.5)(node)
    for peer in node["peers"]:
        peer["lanes"] = 9
def half_memory(machine):
    for rate in ("read_bytes_per_second", "write_bytes_per_second"):
        machine["bandwidths"]["memory"][rate]["value"] /= 2
variant("half_memory", "../h200", half_memory)
variant("one_host_link", "h200x2", slow(["pcie1"], 0.15))
variant("four_host_links", "h100x8", slow([f"pcie{i}" for i in range(4)], 0.15))
variant("half_nvlinks", "h200x2", half_nvlinks)
PYTHON
}

check_health() {
  local good=("DEVICES=sim:h200" "GPUTOPO_NODE_OPTIONS=--node sim:h200x2")
  "$GPUTOPO" --quiet --device sim:h200 $GPUTOPO_OPTIONS --json "$folder/baseline.json" >/dev/null
  "$GPUTOPO" --quiet --device sim:a100 $GPUTOPO_OPTIONS --json "$folder/a100.json" >/dev/null
  head -c 1000 "$folder/baseline.json" >"$folder/cut.json"
  write_faulty_hardware
  checked node1 idle: "${good[@]}"
  checked node2 "sim:$folder/half_memory.json: device read bandwidth" "${good[@]}" \
    "DEVICES=sim:h200 sim:$folder/half_memory.json"
  checked node3 "host0 to gpu1: 1" "${good[@]}" "GPUTOPO_NODE_OPTIONS=--node sim:$folder/one_host_link.json"
  checked node4 "host0 to gpu0: 1" "${good[@]}" "GPUTOPO_NODE_OPTIONS=--node sim:$folder/four_host_links.json"
  checked node1 "9 of 18 NVLinks are up" "${good[@]}" "GPUTOPO_NODE_OPTIONS=--node sim:$folder/half_nvlinks.json"
  checked node2 "2 of 3 expected H200 GPUs" "${good[@]}" "GPUTOPO_NODE_OPTIONS=--node sim:h200x2 --expect 3xH200"
  checked node3 "idle: links: " "DEVICES=" "GPUTOPO_NODE_OPTIONS="
  checked node3 "idle: 'gputopo list' shows no GPU" "DEVICES=" "GPUTOPO_NODE_OPTIONS=--node sim:h200x2"
  checked node4 "idle: the baseline .* cannot be read" "${good[@]}" "GPUTOPO_BASELINE=$folder/none.json"
  checked node1 "idle: the baseline .* cannot be used" "${good[@]}" "GPUTOPO_BASELINE=$folder/cut.json"
  checked node2 "idle: sim:h200: .*A100" "${good[@]}" "GPUTOPO_BASELINE=$folder/a100.json"
}

# As HealthCheckProgram, the script ends with its own exit code.
check_health_program() {
  local node code
  scontrol update NodeName=node[1-4] State=RESUME 2>/dev/null || true
  printf "export '%s'\n" "DEVICES=sim:$folder/half_memory.json" "GPUTOPO_LINKS=no" >"$folder/settings.node2"
  printf "export '%s'\n" "DEVICES=" "GPUTOPO_LINKS=no" >"$folder/settings.node3"
  rm -f "$folder"/log/code.*
  printf '%s\n' "HealthCheckProgram=$folder/hook" HealthCheckInterval=2 >>"$folder/slurm.conf"
  scontrol reconfigure
  for node in node2:1 node3:3; do
    for _ in $(seq 150); do
      [ ! -s "$folder/log/code.${node%:*}" ] || break
      sleep 0.2
    done
    code=$(cat "$folder/log/code.${node%:*}") || fail "the HealthCheckProgram of ${node%:*} did not run"
    [ "$code" = "${node#*:}" ] || fail "the HealthCheckProgram of ${node%:*} ended with $code"
  done
  [[ $(state_of node2) == drain*"device read bandwidth"* ]] || fail "node2: $(state_of node2)"
  [[ $(state_of node3) == idle* ]] || fail "node3: $(state_of node3)"
}

case $check in
  health)
    cat >"$folder/hook" <<HOOK
#!/bin/bash
# An Epilog has no environment but Slurm's.
export PATH=$folder/bin:\$PATH GPUTOPO=$GPUTOPO GPUTOPO_BASELINE=$folder/baseline.json
export GPUTOPO_LIBCUDA=/none GPUTOPO_LIBAMDHIP64=/none XDG_CACHE_HOME=$folder SLURM_CONF=$folder/slurm.conf
. $folder/settings.\$SLURMD_NODENAME
"$GPUTOPO_SHARE/health-check.sh" >>$folder/log/said.\$SLURMD_NODENAME 2>&1
code=\$?
echo \$code >$folder/log/code.\$SLURMD_NODENAME
exit \$code
HOOK
    mkdir "$folder/bin"
    printf '#!/bin/sh\necho "$@" >>%s/log/journal.$SLURMD_NODENAME\n' "$folder" >"$folder/bin/logger"
    chmod +x "$folder/hook" "$folder/bin/logger"
    start_slurm "Epilog=$folder/hook"
    check_health
    check_health_program
    ;;
  slurm)
    start_slurm
    lesser_gpu
    export FLEET=$folder/fleet NIGHT=2026-11-25
    mkdir -p "$FLEET/$NIGHT"
    # Results of a killed run are not measured again.
    "$GPUTOPO" --quiet --device sim:h200 --seed 77 $GPUTOPO_OPTIONS --json "$FLEET/$NIGHT/node1-sim-h200.json" >/dev/null
    cp "$FLEET/$NIGHT/node1-sim-h200.json" "$folder/before.json"
    DEVICES=sim:h200 srun -N4 "$GPUTOPO_SHARE/measure.sh" "$FLEET/$NIGHT" sim:h200
    cmp "$folder/before.json" "$FLEET/$NIGHT/node1-sim-h200.json" || fail "node1 was measured again"
    [ "$(ls "$FLEET/$NIGHT" | wc -l)" = 4 ] || fail "not a report of each node: $(ls "$FLEET/$NIGHT")"
    # The whole job in the next night, with a lesser GPU in one node.
    export NIGHT=2026-11-26
    mkdir "$FLEET/$NIGHT"
    GPUTOPO_NODE=node3 "$GPUTOPO_SHARE/measure.sh" "$folder/lesser" "sim:$folder/h200.json"
    cp "$folder"/lesser/* "$FLEET/$NIGHT/node3-sim-h200.json"
    code=0
    DEVICES=sim:h200 timeout 120 sbatch --wait -N4 -o "$folder/job" "$GPUTOPO_SHARE/fleet.sbatch" >/dev/null || code=$?
    [ $code = 1 ] || fail "the job ended with $code: $(cat "$folder/job")"
    cp "$FLEET/fleet.db" "$folder/fleet.db"
    judge node3-sim-h200
    for file in fleet.html odd.csv fleet.prom; do grep -q node3 "$FLEET/$file" || fail "$file does not name node3"; done
    ;;
  mpi)
    command -v mpirun >/dev/null || skip "mpirun is not installed; ./dev test installs openmpi-bin"
    lesser_gpu
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 FOLDER=$folder
    mpirun --oversubscribe -np 2 true >"$folder/log" 2>&1 || skip "mpirun does not start here: $(head -n 1 "$folder/log")"
    # shellcheck disable=SC2016  # each rank expands it
    mpirun --oversubscribe -np 9 sh -c '
      export GPUTOPO_NODE=rank$OMPI_COMM_WORLD_RANK GPUTOPO_OPTIONS="$GPUTOPO_OPTIONS --seed $OMPI_COMM_WORLD_RANK"
      device=sim:h200
      [ $OMPI_COMM_WORLD_RANK != 5 ] || device=sim:$FOLDER/h200.json
      exec "$GPUTOPO_SHARE/measure.sh" "$FOLDER/out" $device'
    "$GPUTOPO" fleet merge "$folder/out" --out "$folder/fleet.db"
    judge rank5
    # A whole node with the links between its GPUs.
    GPUTOPO_NODE=ring GPUTOPO_OPTIONS="--node sim:ring4 --links-only" "$GPUTOPO_SHARE/measure.sh" "$folder/nodes"
    "$GPUTOPO" fleet merge "$folder/nodes" --out "$folder/nodes.db" >"$folder/said"
    grep -q '4 new runs, 0 already known, 0 problems' "$folder/said" || fail "not four GPUs: $(cat "$folder/said")"
    ;;
  queries)
    command -v sqlite3 >/dev/null || skip "sqlite3 is not installed; ./dev test installs it"
    cp "$root/tests/reports/h200.json" "$folder/a.json"
    "$GPUTOPO" fleet merge "$folder" --out "$folder/fleet.db"
    # Debian's pandas is that of Debian's python3.
    for python in python3 /usr/bin/python3; do "$python" -c 'import pandas' 2>/dev/null && break; done
    "$python" "$root/tests/cluster/queries.py" "$folder/fleet.db" "$folder/a.json" "$root/docs/fleet.md"
    ;;
  *)
    printf 'run.sh: no check %s\n' "$check" >&2
    exit 2
    ;;
esac
