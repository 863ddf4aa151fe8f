#!/bin/sh
# Adds the values that gputopo found for a GPU to the XML that lstopo wrote for its host.
# AMD Instinct MI300X
# gputopo 0.1.0, measured 2026-11-24T01:19:51Z
# SIMULATED: these are values of a simulated GPU
set -eu
if [ $# -lt 2 ]; then
  echo "usage: sh $0 HOST.xml OUTPUT.xml [GPU-NAME, by default rsmi0]" >&2
  exit 2
fi
input=$1
output=$2
name=${3:-rsmi0}
# hwloc-annotate does not report an unknown name.
if ! grep -qF "name=\"$name\"" "$input"; then
  echo "$0: $input has no device named $name; give the name of the GPU as the third argument" >&2
  exit 1
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -- "$input" "$work/host.xml"
annotate() {
  hwloc-annotate --ri "$work/host.xml" "$work/host.xml" "os=$name" "$@"
}
annotate info 'GputopoVl1SizeBytes' '32768'
annotate info 'GputopoVl1LatencyCycles' '116.01'
annotate info 'GputopoVl1ReadBandwidthBytesPerSecond' '41465425819027'
annotate info 'GputopoVl1LineSizeBytes' '128'
annotate info 'GputopoVl1FetchGranularityBytes' '128'
annotate info 'GputopoVl1Amount' '1'
annotate info 'GputopoVl1MissPenaltyCycles' '171.6'
annotate info 'GputopoVl1Ways' '64'
annotate info 'GputopoSl1dSizeBytes' '16384'
annotate info 'GputopoSl1dLatencyCycles' '47.95'
annotate info 'GputopoSl1dReadBandwidthBytesPerSecond' '10377013667665'
annotate info 'GputopoSl1dLineSizeBytes' '64'
annotate info 'GputopoSl1dFetchGranularityBytes' '64'
annotate info 'GputopoSl1dMissPenaltyCycles' '171.8'
annotate info 'GputopoSl1dWays' '4'
annotate info 'GputopoL2SizeBytes' '4194304'
annotate info 'GputopoL2LatencyCycles' '287.24'
annotate info 'GputopoL2ReadBandwidthBytesPerSecond' '15682726732701'
annotate info 'GputopoL2WriteBandwidthBytesPerSecond' '7156551950895'
annotate info 'GputopoL2LineSizeBytes' '128'
annotate info 'GputopoL2FetchGranularityBytes' '128'
annotate info 'GputopoL2Amount' '8'
annotate info 'GputopoL2MissPenaltyCycles' '169.9'
annotate info 'GputopoL2Ways' '16'
annotate info 'GputopoL3SizeBytes' '268435456'
annotate info 'GputopoL3LatencyCycles' '457.99'
annotate info 'GputopoL3ReadBandwidthBytesPerSecond' '12069847498453'
annotate info 'GputopoL3WriteBandwidthBytesPerSecond' '5510663612810'
annotate info 'GputopoL3LineSizeBytes' '128'
annotate info 'GputopoL3FetchGranularityBytes' '128'
annotate info 'GputopoL3Amount' '1'
annotate info 'GputopoL3MissPenaltyCycles' '442'
annotate info 'GputopoLdsSizeBytes' '65536'
annotate info 'GputopoLdsLatencyCycles' '51.01'
annotate info 'GputopoLdsReadBandwidthBytesPerSecond' '82879124803559'
annotate info 'GputopoLdsWriteBandwidthBytesPerSecond' '82934612703494'
annotate info 'GputopoDeviceSizeBytes' '205822885888'
annotate info 'GputopoDeviceLatencyCycles' '899.97'
annotate info 'GputopoDeviceReadBandwidthBytesPerSecond' '3997970597479'
annotate info 'GputopoDeviceWriteBandwidthBytesPerSecond' '4474278310527'
annotate info 'GputopoIcacheL1SizeBytes' '65536'
annotate info 'GputopoIcacheL1Ways' '8'
annotate info GputopoReport 'gputopo 0.1.0, measured 2026-11-24T01:19:51Z'
annotate misc 'SIMULATED: these are values of a simulated GPU'
cp -- "$work/host.xml" "$output"
