// Instruction caches.
#include "discover/measure/code_caches.h"

#include <algorithm>

#include "discover/findings/reported_values.h"
#include "discover/measure/step.h"
#include "probe/code/fetch.h"
#include "probe/code/line.h"
#include "probe/code/pass_step.h"
#include "probe/code/sharing.h"
#include "probe/code/ways.h"

namespace gputopo {
namespace {

// If code does not show the line, constants may, provided that they share the cache.
Attribute code_line_size(Context& context, const ElementInfo& element) {
  const auto meets_constants = [&] { return code_cache_of_constants(context) == element.id; };
  try {
    const probe::CodeCache& cache = context.code.cache_with_size(element.id);
    probe::ProbeRunner runner = context.runner();
    return probe::measure_code_line(runner, cache, [&] { return context.code.steep_edge(element.id); });
  } catch (const probe::Inconclusive&) {
    if (!meets_constants()) throw;
  } catch (const NotSupportedError&) {
    if (!meets_constants()) throw;
  }
  return inferred_from(context.attribute(ElementId::kConstantL15, AttributeId::kLineSize),
                       "line_of_constants_beside_code");
}

// If the edge does not show the ways, some sets may have overflowed before others, and the interval is wider.
Attribute code_size(Context& context, const ElementInfo& element) {
  probe::CodeSize size = context.code.size(element.id);
  const auto tells_ways = [&] {
    const Attribute& ways = context.attribute(element.id, AttributeId::kWays);
    return ways.available() && ways.flags.empty();
  };
  if (!size.sharp || !tells_ways()) {
    size.interval.low = std::min(size.interval.low, size.surely_bytes);
    if (size.sharp) size.interval.high = std::max(size.interval.high, size.uneven_bytes);
  }
  return to_attribute(size, context.code.located_cache(element.id), context.keep_samples());
}

// The instruction cache `levels` nearer; nullptr if there is none.
const ElementInfo* nearer_by(Context& context, const ElementInfo& element, std::size_t levels) {
  return element.depth < levels ? nullptr : code_cache_at(context.vendor(), element.depth - levels);
}

// Nullptr if the size is unknown or there is no cache.
const probe::CodeSize* size_of(Context& context, const ElementInfo* element) {
  if (element == nullptr) return nullptr;
  try {
    return &context.code.size(element->id);
  } catch (const probe::Inconclusive&) {
    return nullptr;
  }
}

// 0 if unknown.
double line_bytes(Context& context, const ElementInfo& element) {
  return context.attribute(element.id, AttributeId::kLineSize).number().value_or(0);
}

Attribute rate(Context& context, const ElementInfo& element) {
  const probe::CodeCache& cache = context.code.located_cache(element.id);
  probe::LinesAtOnce lines;
  if (const ElementInfo* asking = nearer_by(context, element, 2)) {
    lines = probe::lines_at_once(line_bytes(context, *nearer_by(context, element, 1)), line_bytes(context, *asking));
  } else if (element.depth == 1 && context.vendor() != Vendor::kAmd) {
    // A cache that straight-line code hides may request from the first one that it shows.
    lines = probe::lines_at_once(0, 0);
  }
  const ElementInfo* before = nearer_by(context, element, 1);
  // The nearest cache's rate does not depend on its size.
  const probe::CodeSize* size = before == nullptr ? nullptr : size_of(context, &element);
  return probe::code_rate(cache, size, size_of(context, before), lines);
}

// A cache that several SMs share has no number per SM.
Attribute code_amount(Context& context, const ElementInfo& element) {
  const Attribute& scope = context.attribute(element.id, AttributeId::kScope);
  if (!scope.available()) return scope;
  if (scope.value != Value(context.runner().unit_name())) {
    return unavailable(Reason::kNotApplicable, "several SMs share this cache, so it has no number per SM");
  }
  probe::ProbeRunner runner = context.runner();
  return probe::measure_code_amount(runner, context.code.cache_with_size(element.id));
}

template <auto kMeasure>
Attribute of_sized(Context& context, const ElementInfo& element) {
  const probe::CodeCache& cache = context.code.cache_with_size(element.id);
  probe::ProbeRunner runner = context.runner();
  return kMeasure(runner, cache);
}

Attribute code_ways(Context& context, const ElementInfo& element) {
  const probe::CodeCache& cache = context.code.cache_with_size(element.id);
  probe::ProbeRunner runner = context.runner();
  return probe::measure_code_ways(runner, cache, [&] { return context.code.steep_edge(element.id); });
}

std::vector<Program> jump_kernels(const DeviceInfo&) {
  return {InstructionProgram{.actors = {{}}, .steps = {{.kind = CodeStepKind::kFarJumps, .count = 1}}}};
}

// The widest size interval that is used (ratio of its ends); an H200's widest is 1.32. A wider one may belong to a
// small cache, where the wait of passes for their beginning looks like the first misses.
constexpr double kWidestInterval = 1.5;

// The caches that straight-line code shows, nearest first, up to the first whose size is not known well enough.
std::vector<probe::KnownCodeCache> known_code_caches(Context& context) {
  std::vector<probe::KnownCodeCache> caches;
  for (std::size_t depth = 0; const ElementInfo* element = code_cache_at(context.vendor(), depth); ++depth) {
    const Attribute& size = context.attribute(element->id, AttributeId::kSize);
    if (!size.available()) break;
    const double bytes = size.number().value_or(0);
    if (size.high.value_or(bytes) > kWidestInterval * size.low.value_or(bytes)) break;
    // A level ends where misses begin. The upper end of the interval is farther: nothing hits any more there.
    caches.push_back({{size.low.value_or(bytes), bytes}, line_bytes(context, *element)});
  }
  return caches;
}

Attribute jump_latency(Context& context, const ElementInfo& element) {
  static_cast<void>(context.code.size(element.id));  // throws the reason if there is none
  const std::vector<probe::KnownCodeCache> caches = known_code_caches(context);
  if (element.depth >= caches.size())
    throw probe::Inconclusive("the size of this cache or of a nearer cache is not known precisely enough");
  const probe::ProbeRunner runner = context.runner();
  const probe::CodeJumps& jumps = context.code.jumps();
  return probe::jump_latency(jumps, probe::level_of_cache(runner, jumps, caches, element.depth),
                             context.keep_samples());
}

// The jumps, if they show one level nearer than the first cache of straight-line code. Throws otherwise.
const probe::CodeJumps& jumps_with_nearer_level(Context& context) {
  static_cast<void>(context.code.size(code_cache_at(context.vendor(), 0)->id));
  const std::vector<probe::KnownCodeCache> caches = known_code_caches(context);
  if (caches.empty())
    throw probe::Inconclusive(
        "straight-line code does not show the size of the nearest instruction cache precisely enough");
  const probe::CodeJumps& jumps = context.code.jumps();
  const std::size_t level = probe::level_of_cache(context.runner(), jumps, caches, 0);
  if (level == 0 && probe::may_hide_nearer(jumps.near, jumps.far, level)) {
    throw probe::Inconclusive(
        "jumps among a few code blocks are faster than hits in the nearest cache that straight-line code shows, but do "
        "not form a level of their own");
  }
  if (level == 0) {
    throw probe::NotPresent(
        "jumps among a growing number of code blocks show no cache nearer than the nearest one that straight-line code "
        "shows");
  }
  if (level > 1) {
    throw probe::Inconclusive(
        "jumps among a growing number of code blocks show several levels, not one, nearer than the nearest cache that "
        "straight-line code shows");
  }
  return jumps;
}

// The attribute, or an unavailable one with the reason.
template <typename Measure>
Attribute value_or_unavailable(const probe::ProbeRunner& runner, Measure measure) {
  try {
    return measure();
  } catch (const probe::Inconclusive& error) {
    runner.log(std::string("code: ") + error.what());
    return unavailable(Reason::kInconclusive, error.what());
  }
}

// Whether the first level of jumps is known to be the first cache that straight-line code shows.
bool first_level_is_of_shown_cache(Context& context) {
  const std::vector<probe::KnownCodeCache> caches = known_code_caches(context);
  if (caches.empty()) return false;
  try {
    return probe::level_of_cache(context.runner(), context.code.jumps(), caches, 0) == 0;
  } catch (const probe::Inconclusive&) {
    return false;
  }
}

// Straight-line code shows the size better than jumps do, but the two must not disagree.
Attribute nearest_size(Context& context, const ElementInfo&) {
  probe::ProbeRunner runner = context.runner();
  Attribute by_jumps = value_or_unavailable(runner, [&] {
    const probe::CodeJumps& jumps = jumps_with_nearer_level(context);
    return probe::nearest_code_size(runner, jumps, known_code_caches(context).front().bytes.low,
                                    context.keep_samples());
  });
  if (!by_jumps.available() && first_level_is_of_shown_cache(context)) return by_jumps;
  Attribute by_passes = value_or_unavailable(runner, [&] {
    const probe::CodeCache& next = context.code.cache_with_size(code_cache_at(context.vendor(), 0)->id);
    return probe::hidden_code_size(runner, context.code.survey(), next.fits_instructions, context.code.jumps(),
                                   context.keep_samples());
  });
  if (!by_passes.available() && !by_jumps.available()) {
    throw probe::Inconclusive(by_passes.detail + "; " + by_jumps.detail);
  }
  if (!by_passes.available() || !by_jumps.available()) return by_passes.available() ? by_passes : by_jumps;
  if (by_jumps.low > by_passes.high || by_jumps.high < by_passes.low) {
    throw probe::Inconclusive("jumps and straight-line code show different sizes");
  }
  return by_passes;
}

// If passes over straight-line code wait for their jumps back, they wait for the first level of jumps.
Attribute nearest_latency(Context& context, const ElementInfo&) {
  const bool passes_show = context.attribute(ElementId::kIcacheL0, AttributeId::kSize).available();
  const probe::CodeJumps& jumps = passes_show ? context.code.jumps() : jumps_with_nearer_level(context);
  return probe::jump_latency(jumps, 0, context.keep_samples());
}

// The fetch size of the nearest cache, which straight-line code may hide.
Attribute fetch_size(Context& context, const ElementInfo& element) {
  const Attribute& hidden = context.attribute(ElementId::kIcacheL0, AttributeId::kLatency);
  const bool is_of_hidden = element.kind == ElementKind::kNearCodeCache;
  if (!hidden.available() && (is_of_hidden || hidden.reason != Reason::kNotPresent)) return hidden;
  if (hidden.available() && !is_of_hidden) {
    return unavailable(Reason::kNotApplicable, "instructions are fetched from icache_l0, which is nearer");
  }
  probe::ProbeRunner runner = context.runner();
  return probe::measure_fetch_size(runner, context.code.jumps(), context.keep_samples());
}

constexpr Step kCodeSteps[] = {
    {ElementKind::kCodeCache, AttributeId::kLineSize, code_line_size, one_kernel_of<InstructionProgram>},
    {ElementKind::kCodeCache, AttributeId::kSize, code_size, one_kernel_of<InstructionProgram>},
    {ElementKind::kCodeCache, AttributeId::kAmount, code_amount, one_kernel_of<InstructionProgram>},
    {ElementKind::kCodeCache, AttributeId::kSharedWith, of_sized<probe::measure_code_sharing>,
     one_kernel_of<InstructionProgram>},
    {ElementKind::kCodeCache, AttributeId::kSharedBetween, of_sized<probe::measure_code_shared_between>,
     one_kernel_of<InstructionProgram>},
    {ElementKind::kCodeCache, AttributeId::kWays, code_ways, one_kernel_of<InstructionProgram>},
    {ElementKind::kCodeCache, AttributeId::kScope, of_sized<probe::measure_code_scope>,
     one_kernel_of<InstructionProgram>},
    {ElementKind::kCodeCache, AttributeId::kCyclesPerInstruction, rate, one_kernel_of<InstructionProgram>},
    {ElementKind::kCodeCache, AttributeId::kLatency, jump_latency, jump_kernels},
    {ElementKind::kNearCodeCache, AttributeId::kSize, nearest_size, jump_kernels},
    {ElementKind::kNearCodeCache, AttributeId::kLatency, nearest_latency, jump_kernels},
    {ElementKind::kNearCodeCache, AttributeId::kFetchSize, fetch_size, jump_kernels},
    {ElementKind::kCodeCache, AttributeId::kFetchSize, fetch_size, jump_kernels},
};

}  // namespace

std::optional<ElementId> code_cache_of_constants(Context& context) {
  const Value with_constants{std::vector<std::string>{"constants"}};
  for (const ElementInfo* element : elements_of(context.vendor())) {
    const bool may_share =
        element->kind == ElementKind::kCodeCache &&
        coverage_of(context.vendor(), element->id, AttributeId::kSharedWith) != Coverage::kNotApplicable;
    if (may_share && context.attribute(element->id, AttributeId::kSharedWith).value == with_constants) {
      return element->id;
    }
  }
  return std::nullopt;
}

std::span<const Step> code_steps() { return kCodeSteps; }

}  // namespace gputopo
