#include "probe/bench/sm_scope.h"

#include <fmt/format.h>

#include "probe/bench/evidence.h"

namespace gputopo::probe {

Attribute scope_of_sm(const ProbeRunner& runner, std::uint32_t sm, const std::vector<EvictedPart>& others) {
  if (others.empty()) throw NotSupportedError("there is no second SM to evict the entries of the first");
  const SharingSms together = sms_that_share(sm, others);
  // On a GPU with several dies, the SMs of other dies may not have been tried.
  const bool asked_all = dies_of(runner.info()).size() == 1 || others.size() + 1 >= runner.info().sm_count;
  const bool all = asked_all && together.all_tried;
  const std::size_t count = together.sms.size();
  const std::string scope = all          ? "GPU"
                            : count == 1 ? runner.unit_name()
                                         : fmt::format("{} {}s", count, runner.unit_name());
  runner.log(fmt::format("scope: {} of {} other SMs evict the entries of SM {}", count - 1, others.size(), sm));
  Attribute attribute = measured(runner.conditions(), scope, "", std::nullopt, "eviction_between_sms");
  attribute.add_detail("sms_sharing", static_cast<std::int64_t>(count));
  constexpr std::size_t kFew = 16;
  if (!all && count <= kFew) {
    attribute.add_detail("sms", std::vector<double>(together.sms.begin(), together.sms.end()));
  }
  if (!runner.keep_samples()) return attribute;
  SampleTable table = make_table("sms", Plot::kPoints, {sm_axis(), values("evicted_fraction", "evicted fraction")});
  for (const EvictedPart& other : others) {
    table.data[0].push_back(other.sm);
    table.data[1].push_back(other.part);
  }
  attribute.samples.push_back(std::move(table));
  return attribute;
}

}  // namespace gputopo::probe
