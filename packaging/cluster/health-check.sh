#!/bin/sh
# Judges the GPUs of this node and their links: whether all are there, the links by their own hardware (two to twenty
# seconds for the node), and the values by the report of a good GPU (two seconds a GPU). For Slurm's HealthCheckProgram,
# its Prolog or its Epilog. In slurm.conf:
#
#     Epilog=/usr/share/gputopo/cluster/health-check.sh
#
# There are three answers, and a line on standard error for each GPU that is not good:
#
#     exit code 0   good: every GPU and every link was judged; none is missing or worse than it should be
#     exit code 1   bad: a GPU or a link is; the node is drained, and the reason says which
#     exit code 3   not judged: no GPU is known to be bad, but at least one could not be judged: another process uses
#                   it, or the baseline is missing or not a report; the node stays as it is
#
# Slurm drains a node whose Prolog or Epilog ends with another code than 0. There, "not judged" ends with 0, and the lines
# go to the system's log as well: any user could drain nodes otherwise by keeping a GPU busy.
#
# GPUTOPO_BASELINE is the report of a good GPU. GPUTOPO_MAX_WAIT is the longest wait for another gputopo, in seconds.
# GPUTOPO_NODE_OPTIONS are further options of 'gputopo node' (--expect 8xH200). GPUTOPO_LINKS=no skips the node's links
# and the search for missing GPUs.
set -u
gputopo=${GPUTOPO:-gputopo}
baseline=${GPUTOPO_BASELINE:-/etc/gputopo/baseline.json}
max_wait=${GPUTOPO_MAX_WAIT:-30}
node=${SLURMD_NODENAME:-$(hostname -s)}
bad=
unjudged=0

not_judged() {
  unjudged=1
  echo "$node: not judged: $1" >&2
  case ${SLURM_SCRIPT_CONTEXT:-} in
    prolog* | epilog*) logger -t gputopo -p daemon.warning "$node: not judged: $1" 2>/dev/null ;;
  esac
}

is_bad() {
  echo "$node: bad: $1" >&2
  bad="${bad:+$bad; }$1"
}

last_line() { printf '%s\n' "$1" | sed 's/^gputopo: //' | grep . | tail -n 1; }

# first_line OUTPUT PREFIX: the first line with the prefix, or the last line of all.
first_line() {
  line=$(printf '%s\n' "$1" | sed -n "s/^$2: //p" | head -n 1)
  printf '%s\n' "${line:-$(last_line "$1")}"
}

judge() {
  said=$("$gputopo" check --quick --max-wait "$max_wait" --device "$1" --baseline "$baseline" 2>&1)
  code=$?
  case $code in
    0) ;;
    1) is_bad "$1: $(first_line "$said" violation)" ;;
    3) not_judged "$1: $(first_line "$said" "not judged")" ;;
    *) not_judged "$1: exit code $code: $(last_line "$said")" ;;
  esac
}

# Missing GPUs, and links by their own hardware.
judge_node() {
  work=$(mktemp -d) || { not_judged "links: no temporary folder"; return; }
  trap 'rm -rf "$work"' EXIT
  # shellcheck disable=SC2086  # words
  said=$("$gputopo" node --links-only --quiet ${GPUTOPO_NODE_OPTIONS:-} --json "$work/node.json" 2>&1 >/dev/null)
  code=$?
  if [ -s "$work/node.json" ]; then
    said=$("$gputopo" check "$work/node.json" --require links 2>&1)
    code=$?
  fi
  case $code in
    0) ;;
    1) is_bad "$(first_line "$said" "violation")" ;;
    3) not_judged "links: $(first_line "$said" "not judged")" ;;
    *) not_judged "links: exit code $code: $(last_line "$said")" ;;
  esac
}

[ "${GPUTOPO_LINKS:-}" = no ] || judge_node
if [ ! -r "$baseline" ]; then
  not_judged "the baseline $baseline cannot be read: save the report of a good GPU there"
elif ! said=$("$gputopo" check "$baseline" --baseline "$baseline" 2>&1); then
  not_judged "the baseline $baseline cannot be used: $(last_line "$said")"
else
  devices=${DEVICES:-}
  if [ -z "$devices" ]; then
    listed=$("$gputopo" list 2>&1) || not_judged "gputopo list: $(printf '%s\n' "$listed" | sed -n 's/^gputopo: //p' | head -n 1)"
    devices=$(printf '%s\n' "$listed" | sed -n 's/^\(\(cuda\|hip\):[0-9]*\) .*/\1/p')
    [ -n "$devices" ] || not_judged "'gputopo list' shows no GPU"
  fi
  for device in $devices; do judge "$device"; done
fi

if [ -n "$bad" ]; then
  scontrol update "NodeName=$node" State=DRAIN "Reason=gputopo $bad" || echo "$node: could not be drained" >&2
  exit 1
fi
[ $unjudged -eq 1 ] || exit 0
case ${SLURM_SCRIPT_CONTEXT:-} in
  prolog* | epilog*) exit 0 ;;
esac
exit 3
