#!/bin/sh
# measure.sh FOLDER [DEVICE...]: measures this node, all of its GPUs and the links between them, into FOLDER/NODE.json; or
# only the GPUs that are named, into FOLDER/NODE-DEVICE.json.
# srun and mpirun start it once on every node. It skips nodes and GPUs that have a file already: gputopo writes a file
# whole or not at all, so a run that was killed goes on where it stopped.
#
# GPUTOPO is the program, GPUTOPO_OPTIONS has further options for it (--full), GPUTOPO_NODE is the node's name.
set -u
if [ $# -lt 1 ]; then
  echo "usage: measure.sh FOLDER [DEVICE...]" >&2
  exit 2
fi
gputopo=${GPUTOPO:-gputopo}
folder=$1
shift
node=${GPUTOPO_NODE:-${SLURMD_NODENAME:-$(hostname -s)}}
mkdir -p "$folder" || exit 1
failed=0
# measure FILE ARGUMENT...: unless the file is there.
measure() {
  file=$folder/$1.json
  shift
  [ ! -s "$file" ] || return 0
  # shellcheck disable=SC2086  # words
  "$gputopo" "$@" --quiet ${GPUTOPO_OPTIONS:-} --json "$file" >/dev/null
  code=$?
  # 1 and 3 with a report: it names the part that is bad, not judged or missing, and the fleet's report shows it.
  case $code in
    0) return 0 ;;
    1 | 3) [ ! -s "$file" ] || { echo "$node: exit code $code; '$gputopo show $file' names the parts" >&2; return 0; } ;;
  esac
  echo "$node: not measured (exit code $code)" >&2
  failed=1
}
[ $# -gt 0 ] || measure "$node" node
for device in "$@"; do measure "$node-$(printf %s "$device" | tr ':/' '--')" discover --device "$device"; done
exit $failed
