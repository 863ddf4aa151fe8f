#include "gputopo/discover.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>

#include "discover/consistency.h"
#include "discover/malformed.h"
#include "discover/measure/context.h"
#include "discover/measure/general.h"
#include "discover/measure/operations.h"
#include "discover/measure/scheduler.h"
#include "discover/measure/step.h"
#include "discover/selection.h"
#include "discover/theoretical.h"
#include "file/host.h"
#include "probe/bench/probe_runner.h"
#include "probe/latency/drift.h"
#include "probe/latency/drift_decision.h"

namespace gputopo {
namespace {

probe::SessionOptions bench_options(const DiscoverOptions& options) {
  return {.budget_seconds = options.budget_seconds,
          .seed = options.seed,
          .keep_samples = options.keep_samples,
          .carve_out_bytes = options.carve_out_bytes,
          .stop = options.stop,
          .profile = options.profile,
          .on_program = options.on_program,
          .on_log = options.on_log};
}

void check_carve_out(const DeviceInfo& info, std::uint64_t bytes) {
  if (bytes == 0) return;
  if (info.carve_outs_bytes.empty()) {
    throw UsageError("--carve-out: the shared-memory carve-out of this GPU is fixed; omit the option");
  }
  if (bytes > info.carve_outs_bytes.back()) {
    throw UsageError(fmt::format("--carve-out: {} B exceeds the largest shared-memory carve-out of this GPU, {} B",
                                 bytes, info.carve_outs_bytes.back()));
  }
}

struct WantedCell {
  ElementId element;
  AttributeId attribute;
  const Step* step;
};

// The requested cells, element by element, in the order of measurement.
std::vector<WantedCell> cells_to_measure(const Selection& selection, Vendor vendor) {
  std::vector<WantedCell> cells;
  for (const ElementInfo* element : elements_of(vendor)) {
    for (const Step& step : measure_steps()) {
      if (step.kind == element->kind && selection.has(element->id, step.attribute)) {
        cells.push_back({element->id, step.attribute, &step});
      }
    }
  }
  if (cells.empty() && selection.operations().empty()) {
    throw UsageError(
        "none of the selected elements has any of the selected attributes; 'gputopo coverage' lists the attributes of "
        "each element");
  }
  return cells;
}

// Programs whose kernels take long to compile, so that the device can start compiling.
std::vector<Program> expected_of(const std::vector<WantedCell>& cells, const DeviceInfo& info) {
  std::vector<std::vector<Program> (*)(const DeviceInfo&)> sources;
  std::vector<Program> programs;
  for (const WantedCell& cell : cells) {
    const auto source = cell.step->expected;
    if (source == nullptr || std::ranges::find(sources, source) != sources.end()) continue;
    sources.push_back(source);
    std::ranges::move(source(info), std::back_inserter(programs));
  }
  return programs;
}

// All attributes of an element, each with a value or the reason why there is none.
MemoryElement element_of(const ElementInfo& info, const Selection& selection, Vendor vendor, Scheduler& scheduler) {
  MemoryElement element{std::string(info.name), std::string(info.title), {}};
  for (const AttributeInfo& attribute : attributes_of(info)) {
    const Coverage coverage = coverage_of(vendor, info.id, attribute.id);
    if (info.is_unit() && coverage == Coverage::kNotApplicable) continue;
    const bool is_wanted = selection.has(info.id, attribute.id);
    if ((method_of(attribute.id) != nullptr || coverage == Coverage::kMeasuredByName) && !is_wanted) continue;
    Attribute& slot = get_or_add(element.attributes, attribute.name);
    if (is_wanted) {
      slot = scheduler.attribute(info.id, attribute.id);
    } else if (coverage == Coverage::kNotApplicable) {
      slot = unavailable(Reason::kNotApplicable, "");
    } else {
      slot = unavailable(Reason::kNotSelected, std::string(selection.reason(info.id, attribute.id)));
    }
  }
  return element;
}

// Adds the SM clock over all programs that ran.
void add_sm_clock(const probe::Conditions& conditions, Topology& topology) {
  if (conditions.sm_clock_mhz() <= 0) return;
  get_or_add(topology.device, to_string(AttributeId::kSmClock)) = probe::measured(
      {}, std::round(conditions.sm_clock_mhz() * 10) / 10, "MHz", std::nullopt, "clock64_against_globaltimer");
}

// Widens the intervals of all latencies by the drift that repeated measurements of one load showed.
void allow_for_drift(const std::vector<double>& cycles, Topology& topology) {
  const std::optional<stats::Interval> drift = probe::drift_of(cycles);
  if (!drift) return;
  for (MemoryElement& element : topology.memory) {
    for (auto& [name, attribute] : element.attributes) {
      if (attribute.source != Source::kMeasured || attribute.unit != "cycles" || !attribute.low) continue;
      const stats::Interval wider = probe::with_drift({*attribute.low, *attribute.high}, *drift);
      attribute.low = wider.low;
      attribute.high = wider.high;
      attribute.add_condition("drift_low", drift->low);
      attribute.add_condition("drift_high", drift->high);
    }
  }
  if (!probe::is_remarkable(*drift)) return;
  topology.warnings.push_back(fmt::format("latencies drifted by {:.1f}% during the run: the clocks or the load changed",
                                          100 * (drift->high - drift->low)));
}

// The part of a run in which a cell is measured.
enum class Phase : std::uint8_t {
  kFirst,
  kWithCode,   // the straight-line code takes longest to compile; the compiler works on it during kFirst
  kWithLocal,  // drivers keep local memory to the end, and other probes walk all free memory
  kHeating,    // last, because other values depend on clocks
};

Phase phase_of(const WantedCell& cell) {
  if (cell.step->heats) return Phase::kHeating;
  const ElementInfo& info = info_of(cell.element);
  if (info.space == Space::kLocal) return Phase::kWithLocal;
  // Constants beyond the first level share a cache with code and are walked beside it.
  const bool beside_code = info.space == Space::kConstant && info.depth > 0;
  return beside_code || info.kind == ElementKind::kCodeCache ? Phase::kWithCode : Phase::kFirst;
}

constexpr std::string_view kWithoutMps =
    "stop the MPS server (echo quit | nvidia-cuda-mps-control), or set CUDA_MPS_PIPE_DIRECTORY to an empty folder, and "
    "measure again";

// A client of an MPS server cannot measure rates of all SMs together, nor what needs one block on each chosen SM.
bool depends_on_placement(AttributeId attribute) {
  constexpr std::array kIds = {AttributeId::kSmLatencies,    AttributeId::kScope,
                               AttributeId::kPartitions,     AttributeId::kSlices,
                               AttributeId::kLoadedLatency,  AttributeId::kMaxClusterSize,
                               AttributeId::kGridBarrier,    AttributeId::kRegisterFile,
                               AttributeId::kResidentWarps,  AttributeId::kRegisterAllocationUnit,
                               AttributeId::kResidentBlocks, AttributeId::kSharedAllocationUnit,
                               AttributeId::kSchedulers};
  const Quantity quantity = info_of(attribute).quantity;
  return quantity == Quantity::kUnitGroups || quantity == Quantity::kBandwidth || quantity == Quantity::kRate ||
         std::ranges::find(kIds, attribute) != kIds.end();
}

Attribute measure_cell(Context& context, ElementId element, AttributeId attribute) {
  const ElementInfo& info = info_of(element);
  if (context.info().mps_enabled.value_or(false) && depends_on_placement(attribute)) {
    throw probe::Disturbed(
        fmt::format("this process may share the SMs with other clients of an MPS server; {}", kWithoutMps));
  }
  const Step* step = find_step(info.kind, attribute);
  if (step == nullptr)
    throw Error(fmt::format("gputopo has no method to measure {}.{}", info.name, to_string(attribute)));
  return step->measure(context, info);
}

// Operations are measured once the capacity of the nearest instruction cache is known.
void measure_all(const std::vector<WantedCell>& cells, Scheduler& scheduler, OperationSteps& operations,
                 probe::DriftWatch& drift) {
  const auto measure = [&](const WantedCell& cell) {
    static_cast<void>(scheduler.attribute(cell.element, cell.attribute));
    scheduler.count_done();
  };
  for (const Phase phase : {Phase::kFirst, Phase::kWithCode, Phase::kWithLocal}) {
    for (const WantedCell& cell : cells) {
      if (phase_of(cell) != phase) continue;
      drift.look();
      measure(cell);
    }
    if (phase == Phase::kWithCode) operations.measure();
  }
  drift.look_again();
  for (const WantedCell& cell : cells) {
    if (phase_of(cell) == Phase::kHeating) measure(cell);
  }
}

// Warns if other programs used the GPU, and adds the device's own warnings.
void add_warnings(probe::DeviceSession& bench, Topology& topology) {
  // Even on an idle GPU, the host is late now and then, for a few programs in ten thousand.
  constexpr std::uint64_t kRepeatedOfThousand = 1;
  if (1000 * bench.programs_repeated() > kRepeatedOfThousand * bench.programs_run()) {
    topology.warnings.push_back(
        fmt::format("other programs used this GPU during the run, so gputopo repeated {} measurement programs; the run "
                    "is faster on an idle GPU",
                    bench.programs_repeated()));
  }
  if (bench.info().mps_enabled.value_or(false)) {
    const auto clients = bench.info().mps_clients;
    topology.warnings.push_back(
        fmt::format("this process shares the GPU with {} other clients of an MPS server (counted at the start), whose "
                    "programs may also disturb other values; {}",
                    clients ? fmt::format("{}", *clients) : "an unknown number of", kWithoutMps));
  }
  for (std::string& line : bench.device_warnings()) topology.warnings.push_back(std::move(line));
}

}  // namespace

Topology discover(Device& device, const DiscoverOptions& options) {
  const Vendor vendor = vendor_of(device.info().vendor);
  check_carve_out(device.info(), options.carve_out_bytes);
  const Selection selection(options, vendor);
  const std::vector<WantedCell> cells = cells_to_measure(selection, vendor);
  Topology topology;
  topology.generator = "gputopo " GPUTOPO_VERSION;
  topology.timestamp = device.info().recorded ? device.info().recorded->timestamp : utc_timestamp();
  fill_general(device.info(), topology);

  probe::DeviceSession bench(device, bench_options(options));
  if (const auto opening = bench.device_times()) topology.profile = {.opening = *opening, .total = *opening};
  Context context(bench, measure_cell, options.on_progress);
  Scheduler& scheduler = context.scheduler();
  OperationSteps operations(bench, scheduler, selection.operations());
  scheduler.expect(cells.size() + operations.count());
  bench.expect(expected_of(cells, device.info()));
  bench.expect(operations.expected());
  const auto found_out = [&] {
    Topology found = topology;
    found.instructions = operations.found();
    if (operations.pipes()) get_or_add(found.compute, AttributeId::kPipes) = *operations.pipes();
    for (const ElementInfo* element : elements_of(vendor)) {
      found.memory.push_back(element_of(*element, selection, vendor, scheduler));
    }
    add_sm_clock(bench.conditions(), found);
    found.complete = scheduler.complete();
    found.timing = scheduler.timing();
    found.warnings = scheduler.warnings();
    withdraw_malformed(found);
    return found;
  };
  if (options.on_begin) {
    options.on_begin([&](const std::string& why) {
      scheduler.give_up(why);
      Topology found = found_out();
      found.warnings.push_back("the device failed: " + why);
      found.total_seconds = bench.elapsed_seconds();
      return found;
    });
  }
  probe::DriftWatch drift(bench);
  measure_all(cells, scheduler, operations, drift);
  scheduler.report_end();

  topology = found_out();
  if (topology.profile) {
    topology.profile->total = bench.device_times().value_or(DeviceTimes{});
    topology.profile->calls = bench.call_times();
  }
  add_warnings(bench, topology);
  if (const auto health = bench.device_health()) fill_health(*health, topology.device);
  allow_for_drift(drift.cycles(), topology);
  settle_theoretical_bandwidth(topology);
  add_theoretical_bandwidths(topology);
  add_bounds_of_sms(topology);
  check_consistency(topology);
  topology.total_seconds = bench.elapsed_seconds();
  return topology;
}

}  // namespace gputopo
