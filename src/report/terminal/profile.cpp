// The time profile of a run as a table, printed by --profile.
#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "gputopo/report.h"
#include "report/words/text_table.h"
#include "report/words/visible_report.h"

namespace gputopo {
namespace {

using report::Align;
using report::TextTable;

// Shorter steps are combined into one row.
constexpr double kLeastSeconds = 0.0005;

struct Row {
  std::string name;
  double seconds = 0;
  std::uint64_t programs = 0;
  DeviceTimes device;

  void add(const Row& other) {
    seconds += other.seconds;
    programs += other.programs;
    device += other.device;
  }
  // The remaining time, spent on the host.
  [[nodiscard]] double host_seconds() const { return std::max(0.0, seconds - device.driver_seconds()); }
};

std::string milliseconds(double seconds) { return fmt::format("{:.1f}", 1e3 * seconds); }

void add_row(TextTable& table, const Row& row) {
  std::vector<report::Cell>& cells = table.rows.emplace_back();
  cells = {{row.name},
           {milliseconds(row.seconds)},
           {row.programs == 0 ? "" : fmt::format("{}", row.programs)},
           {milliseconds(row.device.gpu_seconds)}};
  for (const CallKind kind : kAllCallKinds) cells.push_back({milliseconds(row.device.of(kind).seconds)});
  cells.push_back({milliseconds(row.host_seconds())});
}

std::vector<Row> rows_of(const Topology& topology, const Profile& profile) {
  std::vector<Row> rows;
  Row small{.name = "probes under 0.5 ms"};
  Row sum{.name = "all"};
  for (const ProbeTime& time : topology.timing) {
    const Row row{time.probe, time.seconds, time.programs, time.device.value_or(DeviceTimes{})};
    sum.add({"", row.seconds, 0, row.device});
    if (row.seconds < kLeastSeconds) {
      small.add(row);
    } else {
      rows.push_back(row);
    }
  }
  std::ranges::stable_sort(rows, std::greater<>(), &Row::seconds);
  // Several steps may count the same programs, so their sum would mean nothing.
  small.programs = 0;
  rows.push_back(small);
  const double opening_seconds = profile.opening.driver_seconds();
  Row between{"between the probes", topology.total_seconds - sum.seconds, 0, profile.total};
  between.device -= profile.opening;
  between.device -= sum.device;
  rows.push_back(between);
  rows.push_back({"opening the device", opening_seconds, 0, profile.opening});
  rows.push_back({"all", topology.total_seconds + opening_seconds, 0, profile.total});
  return rows;
}

TextTable table_of_calls(std::vector<NamedCallTimes> calls) {
  std::ranges::stable_sort(calls, std::greater<>(), [](const NamedCallTimes& call) { return call.times.seconds; });
  TextTable table{.columns = {{"call", Align::kLeft},
                              {"count", Align::kRight},
                              {"ms", Align::kRight},
                              {"us each", Align::kRight},
                              {"column", Align::kLeft}},
                  .rows = {}};
  for (const NamedCallTimes& call : calls) {
    const double each = call.times.seconds / static_cast<double>(std::max<std::uint64_t>(1, call.times.calls));
    table.rows.push_back({{call.name},
                          {fmt::format("{}", call.times.calls)},
                          {milliseconds(call.times.seconds)},
                          {fmt::format("{:.1f}", 1e6 * each)},
                          {std::string(to_string(kind_of_call(call.name)))}});
  }
  return table;
}

}  // namespace

std::string profile_text(const Topology& topology) {
  if (!topology.profile) return {};
  const Topology shown = report::visible_report(topology);
  TextTable table{
      .columns = {{"probe", Align::kLeft}, {"ms", Align::kRight}, {"programs", Align::kRight}, {"GPU", Align::kRight}},
      .rows = {}};
  for (const CallKind kind : kAllCallKinds) table.columns.push_back({std::string(to_string(kind)), Align::kRight});
  table.columns.push_back({"host", Align::kRight});
  for (const Row& row : rows_of(shown, *shown.profile)) add_row(table, row);
  const report::TextStyle style{.width = static_cast<int>(table_width(table, {}))};
  std::string text = render(table, style);
  text +=
      "times in ms; GPU: running kernels; columns from compile to other: driver calls; host: the rest, mostly "
      "analysis\n";
  if (!shown.profile->calls.empty()) text += "\n" + render(table_of_calls(shown.profile->calls), style);
  return text;
}

}  // namespace gputopo
