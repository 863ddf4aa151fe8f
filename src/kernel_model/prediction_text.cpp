#include "kernel_model/prediction_text.h"

#include <fmt/format.h>

#include <cmath>

#include "file/sanitize.h"
#include "kernel_model/prediction.h"
#include "report/words/text_table.h"
#include "report/words/units.h"

namespace gputopo::kernel_model {
namespace {

constexpr int kDigits = 4;
constexpr int kTextColumns = 100;

std::string number(double value) { return std::isfinite(value) ? report::significant(value, kDigits) : "unlimited"; }

std::string line(std::string_view label, const std::string& text) { return fmt::format("  {:<12} {}\n", label, text); }

std::string occupancy_text(const Prediction& prediction) {
  const Occupancy& occupancy = prediction.occupancy;
  return fmt::format("{} x {} threads; an SM holds {} block{}, {} of {} warps, limited by {}\n", prediction.grid_blocks,
                     prediction.block_threads, occupancy.blocks, occupancy.blocks == 1 ? "" : "s", occupancy.warps(),
                     number(prediction.max_warps), to_string(occupancy.limit));
}

std::string model_text(const Prediction& prediction) {
  const HongKim& model = prediction.model;
  std::string text = "\nHong and Kim model, for one warp and its SM\n";
  text += line("warps (N)", fmt::format("{} on each of {} SMs, {} repetitions", number(model.warps),
                                        number(prediction.active_sms), number(model.repetitions)));
  text += line("comp_cycles", number(model.comp_cycles));
  text += line("mem_cycles", number(model.mem_cycles));
  if (model.mem_cycles > 0) {
    text += line("mem_latency", fmt::format("{} cycles, departure delay {} at {}", number(model.mem_l),
                                            number(model.departure_delay), model.delay_level));
    text += line("CWP", fmt::format("{} (uncapped {})", number(model.cwp), number(model.cwp_full)));
    text += line("MWP",
                 fmt::format("{} (the departure delay allows {}, the bandwidth of {} allows {})", number(model.mwp),
                             number(model.mwp_without_bandwidth), model.mwp_level, number(model.mwp_peak_bandwidth)));
  }
  text += line("case", fmt::format("{}: {} cycles, {}", report::readable(to_string(model.which)), number(model.cycles),
                                   time_text(model.cycles / prediction.clock_hz)));
  return text;
}

// "137.4 GFLOP".
std::string operations_text(double count, const std::string& unit) {
  const std::string rate = report::human_value(count, unit + "/s");
  return rate.substr(0, rate.rfind('/'));
}

std::string roofline_text(const Prediction& prediction) {
  using enum report::Align;
  report::TextTable table;
  table.columns = {{"roofline"},        {"work", kRight}, {"FLOP/B", kRight},
                   {"ceiling", kRight}, {"time", kRight}, {"of\nprediction", kRight}};
  constexpr double kPercent = 100;
  for (const Ceiling& ceiling : prediction.ceilings) {
    const bool is_memory = ceiling.is_memory();
    table.rows.push_back(
        {{ceiling.name},
         {is_memory ? report::human_bytes(ceiling.work) : operations_text(ceiling.work, ceiling.unit)},
         {is_memory ? number(intensity(prediction.ceilings, ceiling)) : ""},
         {is_memory ? report::human_bandwidth(ceiling.rate) : report::human_value(ceiling.rate, ceiling.unit + "/s")},
         {time_text(ceiling.seconds())},
         {fmt::format("{:.0f}%", kPercent * ceiling.seconds() / prediction.seconds)}});
  }
  return "\n" + report::render(table, {.width = kTextColumns});
}

}  // namespace

std::string time_text(double seconds) {
  constexpr std::pair<double, const char*> kUnits[] = {{1, "s"}, {1e-3, "ms"}, {1e-6, "us"}};
  for (const auto& [unit, name] : kUnits) {
    if (seconds >= unit) return fmt::format("{} {}", number(seconds / unit), name);
  }
  constexpr double kNanosecond = 1e-9;
  return fmt::format("{} ns", number(seconds / kNanosecond));
}

std::string bound_text(const Prediction& prediction) {
  const Bound& bound = prediction.bounds.front();
  std::string text = fmt::format("bound by {}", bound.name);
  if (prediction.bounds.size() < 2) return text;
  const Bound& next = prediction.bounds[1];
  if (next.seconds <= 0) return text;
  return fmt::format("{} ({}x as long as the next bound, {})", text, number(bound.seconds / next.seconds), next.name);
}

std::string prediction_to_text(const Prediction& prediction) {
  std::string text = fmt::format("{} on {}\n", sanitized_line(prediction.kernel), sanitized_line(prediction.gpu));
  text += occupancy_text(prediction);
  text += fmt::format("\npredicted: {}, {}\n", time_text(prediction.seconds), bound_text(prediction));
  text += model_text(prediction);
  if (!prediction.ceilings.empty()) text += roofline_text(prediction);
  if (!prediction.notes.empty()) text += "\n";
  for (const std::string& note : prediction.notes) text += report::wrap("", note, kTextColumns);
  return text;
}

}  // namespace gputopo::kernel_model
