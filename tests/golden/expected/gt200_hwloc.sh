#!/bin/sh
# Adds the values that gputopo found for a GPU to the XML that lstopo wrote for its host.
# GeForce GTX 280
# gputopo 0.1.0, measured 2026-11-24T01:18:07Z
# SIMULATED: these are values of a simulated GPU
set -eu
if [ $# -lt 2 ]; then
  echo "usage: sh $0 HOST.xml OUTPUT.xml [GPU-NAME, by default cuda0]" >&2
  exit 2
fi
input=$1
output=$2
name=${3:-cuda0}
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
annotate info 'GputopoTextureSizeBytes' '5120'
annotate info 'GputopoTextureLatencyCycles' '261'
annotate info 'GputopoTextureReadBandwidthBytesPerSecond' '662432560594'
annotate info 'GputopoTextureLineSizeBytes' '32'
annotate info 'GputopoTextureFetchGranularityBytes' '32'
annotate info 'GputopoTextureAmount' '1'
annotate info 'GputopoTextureMissPenaltyCycles' '110.3'
annotate info 'GputopoTextureWays' '20'
annotate info 'GputopoConstantL1SizeBytes' '2048'
annotate info 'GputopoConstantL1LatencyCycles' '7.99'
annotate info 'GputopoConstantL1ReadBandwidthBytesPerSecond' '662541297560'
annotate info 'GputopoConstantL1LineSizeBytes' '64'
annotate info 'GputopoConstantL1FetchGranularityBytes' '64'
annotate info 'GputopoConstantL1Amount' '1'
annotate info 'GputopoConstantL1MissPenaltyCycles' '73'
annotate info 'GputopoConstantL1Ways' '4'
annotate info 'GputopoConstantL15SizeBytes' '8192'
annotate info 'GputopoConstantL15LatencyCycles' '81'
annotate info 'GputopoConstantL15ReadBandwidthBytesPerSecond' '148666643836'
annotate info 'GputopoConstantL15LineSizeBytes' '256'
annotate info 'GputopoConstantL15FetchGranularityBytes' '256'
annotate info 'GputopoConstantL15MissPenaltyCycles' '139.1'
annotate info 'GputopoConstantL15Ways' '4'
annotate info 'GputopoL2SizeBytes' '262144'
annotate info 'GputopoL2LatencyCycles' '370.66'
annotate info 'GputopoL2ReadBandwidthBytesPerSecond' '289694602075'
annotate info 'GputopoL2LineSizeBytes' '256'
annotate info 'GputopoL2FetchGranularityBytes' '256'
annotate info 'GputopoL2MissPenaltyCycles' '127.5'
annotate info 'GputopoL2Ways' '8'
annotate info 'GputopoSharedSizeBytes' '16384'
annotate info 'GputopoSharedLatencyCycles' '38.06'
annotate info 'GputopoSharedReadBandwidthBytesPerSecond' '1315165463318'
annotate info 'GputopoSharedWriteBandwidthBytesPerSecond' '1316223559529'
annotate info 'GputopoDeviceSizeBytes' '1073741824'
annotate info 'GputopoDeviceLatencyCycles' '440.03'
annotate info 'GputopoDeviceReadBandwidthBytesPerSecond' '115092831218'
annotate info 'GputopoDeviceWriteBandwidthBytesPerSecond' '115122819228'
annotate info 'GputopoTlbL1MissPenaltyCycles' '47'
annotate info 'GputopoTlbL1ReachBytes' '8388608'
annotate info 'GputopoTlbL1Ways' '16'
annotate info 'GputopoTlbL2MissPenaltyCycles' '210.9'
annotate info 'GputopoTlbL2ReachBytes' '33554432'
annotate info 'GputopoIcacheL1SizeBytes' '4096'
annotate info 'GputopoIcacheL1LineSizeBytes' '256'
annotate info 'GputopoIcacheL1Amount' '1'
annotate info 'GputopoIcacheL1Ways' '4'
annotate info 'GputopoIcacheL2SizeBytes' '8192'
annotate info 'GputopoIcacheL2LineSizeBytes' '256'
annotate info 'GputopoIcacheL2SharedWith' 'constants'
annotate info 'GputopoIcacheL2Ways' '4'
annotate info 'GputopoIcacheL3SizeBytes' '32768'
annotate info 'GputopoIcacheL3LineSizeBytes' '256'
annotate info 'GputopoIcacheL3SharedWith' 'constants'
annotate info 'GputopoIcacheL3Ways' '8'
annotate info GputopoReport 'gputopo 0.1.0, measured 2026-11-24T01:18:07Z'
annotate misc 'SIMULATED: these are values of a simulated GPU'
cp -- "$work/host.xml" "$output"
