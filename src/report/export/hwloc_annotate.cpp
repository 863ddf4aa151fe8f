// A shell script that adds the findings about one GPU to the host's XML from hwloc. Each info is one call of
// hwloc-annotate. The script replaces its output only at the end, as a whole.
#include <fmt/format.h>

#include "file/sanitize.h"
#include "gputopo/export.h"
#include "report/export/hwloc_infos.h"
#include "report/export/shell_text.h"
#include "report/words/values.h"

namespace gputopo {
namespace {

using report::shell_quoted;

// hwloc names the GPU after the CUDA or ROCm library's device.
constexpr std::string_view kBegin = R"(set -eu
if [ $# -lt 2 ]; then
  echo "usage: sh $0 HOST.xml OUTPUT.xml [GPU-NAME, by default {0}]" >&2
  exit 2
fi
input=$1
output=$2
name=${{3:-{0}}}
# hwloc-annotate does not report an unknown name.
if ! grep -qF "name=\"$name\"" "$input"; then
  echo "$0: $input has no device named $name; give the name of the GPU as the third argument" >&2
  exit 1
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -- "$input" "$work/host.xml"
annotate() {{
  hwloc-annotate --ri "$work/host.xml" "$work/host.xml" "os=$name" "$@"
}}
)";

}  // namespace

std::string to_hwloc_annotate(const Topology& topology) {
  const bool is_amd = vendor_of(topology.vendor) == Vendor::kAmd;
  std::string text =
      "#!/bin/sh\n# Adds the values that gputopo found for a GPU to the XML that lstopo wrote for its host.\n";
  text += fmt::format("# {}\n# {}\n", sanitized_line(topology.name), report::origin(topology));
  for (const std::string& notice : report::notices(topology)) text += fmt::format("# {}\n", notice);
  text += fmt::format(fmt::runtime(kBegin), is_amd ? "rsmi0" : "cuda0");
  for (const auto& [name, value] : report::hwloc_infos(topology)) {
    text += fmt::format("annotate info {} {}\n", shell_quoted(name), shell_quoted(value));
  }
  text += fmt::format("annotate info GputopoReport {}\n", shell_quoted(report::origin(topology)));
  // lstopo draws these as boxes inside the GPU.
  for (const std::string& notice : report::notices(topology)) {
    text += fmt::format("annotate misc {}\n", shell_quoted(notice));
  }
  return text + "cp -- \"$work/host.xml\" \"$output\"\n";
}

}  // namespace gputopo
