#!/usr/bin/env bash
# run.sh slurm|mpi|queries GPUTOPO: measures a fleet of simulated GPUs with a real Slurm or mpirun on this machine, merges
# and judges it; or queries a store as docs/fleet.md says. Exits with 77 and a reason if it cannot run here.
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

start_slurm() {
  local node host
  for node in slurmctld slurmd srun sbatch sinfo; do
    command -v $node >/dev/null || skip "$node is not installed; ./dev test installs slurm-wlm"
  done
  [ "$(id -u)" = 0 ] || skip "slurmd needs root"
  host=$(hostname -s)
  mkdir "$folder"/{state,spool,log}
  local port=$((20000 + $$ % 20000))
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

case $check in
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
