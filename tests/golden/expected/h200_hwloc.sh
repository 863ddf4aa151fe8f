#!/bin/sh
# Adds the values that gputopo found for a GPU to the XML that lstopo wrote for its host.
# NVIDIA H200
# gputopo 0.1.0, measured 2026-11-23T07:32:01Z
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
annotate info 'GputopoL1SizeBytes' '246272'
annotate info 'GputopoL1LatencyCycles' '31.2'
annotate info 'GputopoL1ReadBandwidthBytesPerSecond' '33343883331444'
annotate info 'GputopoL1WriteBandwidthBytesPerSecond' '4799269289506'
annotate info 'GputopoL1LineSizeBytes' '128'
annotate info 'GputopoL1FetchGranularityBytes' '32'
annotate info 'GputopoL1Amount' '1'
annotate info 'GputopoL1SharedWith' 'texture readonly'
annotate info 'GputopoL1MissPenaltyCycles' '245.4'
annotate info 'GputopoL1Ways' '4'
annotate info 'GputopoTextureSizeBytes' '245248'
annotate info 'GputopoTextureLatencyCycles' '88'
annotate info 'GputopoTextureReadBandwidthBytesPerSecond' '16709377725733'
annotate info 'GputopoTextureLineSizeBytes' '128'
annotate info 'GputopoTextureFetchGranularityBytes' '32'
annotate info 'GputopoTextureAmount' '1'
annotate info 'GputopoTextureSharedWith' 'l1 readonly'
annotate info 'GputopoTextureMissPenaltyCycles' '236'
annotate info 'GputopoTextureWays' '4'
annotate info 'GputopoReadonlySizeBytes' '245376'
annotate info 'GputopoReadonlyLatencyCycles' '31.2'
annotate info 'GputopoReadonlyReadBandwidthBytesPerSecond' '33336310893731'
annotate info 'GputopoReadonlyLineSizeBytes' '128'
annotate info 'GputopoReadonlyFetchGranularityBytes' '32'
annotate info 'GputopoReadonlyAmount' '1'
annotate info 'GputopoReadonlySharedWith' 'l1 texture'
annotate info 'GputopoReadonlyMissPenaltyCycles' '248.4'
annotate info 'GputopoReadonlyWays' '4'
annotate info 'GputopoConstantL1SizeBytes' '2048'
annotate info 'GputopoConstantL1LatencyCycles' '27.93'
annotate info 'GputopoConstantL1ReadBandwidthBytesPerSecond' '522507054297'
annotate info 'GputopoConstantL1LineSizeBytes' '64'
annotate info 'GputopoConstantL1FetchGranularityBytes' '64'
annotate info 'GputopoConstantL1Amount' '1'
annotate info 'GputopoConstantL1MissPenaltyCycles' '69.7'
annotate info 'GputopoConstantL1Ways' '4'
annotate info 'GputopoConstantL15SizeBytes' '128512'
annotate info 'GputopoConstantL15LatencyCycles' '97.72'
annotate info 'GputopoConstantL15ReadBandwidthBytesPerSecond' '83830442905'
annotate info 'GputopoConstantL15LineSizeBytes' '256'
annotate info 'GputopoConstantL15FetchGranularityBytes' '256'
annotate info 'GputopoConstantL15MissPenaltyCycles' '212.6'
annotate info 'GputopoConstantL15Ways' '8'
annotate info 'GputopoL2SizeBytes' '62914560'
annotate info 'GputopoL2LatencyCycles' '281.19'
annotate info 'GputopoL2ReadBandwidthBytesPerSecond' '9127937770998'
annotate info 'GputopoL2WriteBandwidthBytesPerSecond' '4774455090457'
annotate info 'GputopoL2LineSizeBytes' '128'
annotate info 'GputopoL2FetchGranularityBytes' '64'
annotate info 'GputopoL2MissPenaltyCycles' '402.5'
annotate info 'GputopoL2Partitions' '2'
annotate info 'GputopoL2Ways' '16'
annotate info 'GputopoSharedSizeBytes' '233472'
annotate info 'GputopoSharedLatencyCycles' '22.6'
annotate info 'GputopoSharedReadBandwidthBytesPerSecond' '33301517455881'
annotate info 'GputopoSharedWriteBandwidthBytesPerSecond' '33381951197305'
annotate info 'GputopoDeviceSizeBytes' '150109880320'
annotate info 'GputopoDeviceLatencyCycles' '683.71'
annotate info 'GputopoDeviceReadBandwidthBytesPerSecond' '4696635230298'
annotate info 'GputopoDeviceWriteBandwidthBytesPerSecond' '4402338973958'
annotate info 'GputopoTlbL1MissPenaltyCycles' '9.9'
annotate info 'GputopoTlbL1ReachBytes' '268435456'
annotate info 'GputopoTlbL1Ways' '16'
annotate info 'GputopoTlbL2MissPenaltyCycles' '109.8'
annotate info 'GputopoTlbL2ReachBytes' '68719476736'
annotate info 'GputopoIcacheL1SizeBytes' '32768'
annotate info 'GputopoIcacheL1LineSizeBytes' '128'
annotate info 'GputopoIcacheL1Ways' '4'
annotate info 'GputopoIcacheL2SizeBytes' '129536'
annotate info 'GputopoIcacheL2LineSizeBytes' '256'
annotate info 'GputopoIcacheL2SharedWith' 'constants'
annotate info 'GputopoIcacheL2Ways' '8'
annotate info 'GputopoClusterLatencyCycles' '198.08'
annotate info 'GputopoClusterReadBandwidthBytesPerSecond' '4245812473157'
annotate info 'GputopoBulkCopyLatencyCycles' '334.35'
annotate info 'GputopoBulkCopyReadBandwidthBytesPerSecond' '9133459138007'
annotate info GputopoReport 'gputopo 0.1.0, measured 2026-11-23T07:32:01Z'
cp -- "$work/host.xml" "$output"
