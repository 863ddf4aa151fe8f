// Cache sizes by the change-point method, which runs only on request.
#include "probe/capacity/change_point.h"

#include "discover/findings/reported_values.h"
#include "discover/measure/step.h"

namespace gputopo {
namespace {

// The stride of the chases. The original works (Groessler 2022, MT4G) measure it with a separate benchmark. If this
// project's benchmark finds none, the stride is the sector size that GPUs have.
std::uint64_t fetch_bytes(Context& context, const ElementInfo& element) {
  constexpr std::uint64_t kSectorBytes = 32;
  try {
    return context.caches.fetch(element.id).bytes;
  } catch (const probe::Inconclusive&) {
    return kSectorBytes;
  } catch (const probe::NotPresent&) {  // by gputopo's own method, which the change-point method does not use
    return kSectorBytes;
  }
}

Attribute change_point_size(Context& context, const ElementInfo& element) {
  context.require_space(*element.space);
  // The original works do this before they look for an L1 (Groessler 2022, section 4.2.1).
  if (element.space == Space::kGlobal) context.caches.require_l1_caching();
  const probe::Site site = context.surveys.site(*element.space);
  probe::ChangePointQuestion question{.space = site.space,
                                      .depth = element.depth,
                                      .is_shared = site.exclusive,
                                      .limit_bytes = site.limit_bytes,
                                      .fetch_bytes = fetch_bytes(context, element)};
  if (site.exclusive) {
    question.limit_bytes = context.info().max_array_bytes;
    question.reported_bytes =
        static_cast<std::uint64_t>(reported_size(context.info(), element.id).number().value_or(0));
  }
  probe::ProbeRunner runner = context.runner();
  return probe::measure_change_point_size(runner, site, question);
}

constexpr Step kChangePointSteps[] = {{ElementKind::kDataCache, AttributeId::kChangePointSize, change_point_size}};

}  // namespace

std::span<const Step> change_point_steps() { return kChangePointSteps; }

}  // namespace gputopo
