#!/bin/sh
# For Slurm's HealthCheckProgram, its Prolog or its Epilog: a node with a GPU that is worse than a good one of its kind
# is drained. Two seconds a GPU. In slurm.conf:
#
#     Epilog=/usr/share/gputopo/cluster/health-check.sh
#
# GPUTOPO_BASELINE is the report of a GPU that is as it should be.
set -u
gputopo=${GPUTOPO:-gputopo}
baseline=${GPUTOPO_BASELINE:-/etc/gputopo/baseline.json}
node=${SLURMD_NODENAME:-$(hostname -s)}
[ -r "$baseline" ] || exit 0 # nothing to compare with: no reason to lose a node
for device in ${DEVICES:-$("$gputopo" list 2>/dev/null | sed -n 's/^\(\(cuda\|hip\):[0-9]*\) .*/\1/p')}; do
  said=$("$gputopo" check --quick --no-wait --device "$device" --baseline "$baseline" 2>&1)
  code=$?
  [ $code -ne 4 ] || continue # another gputopo measures it
  [ $code -ne 0 ] || continue
  reason=$(printf '%s\n' "$said" | sed -n 's/^violation: //p' | head -n 1)
  scontrol update "NodeName=$node" State=DRAIN "Reason=gputopo $device: ${reason:-exit code $code}" || exit 1
done
exit 0
