#include "discover/context.h"

#include <algorithm>
#include <string>

namespace gputopo {

void Context::require_space(Space space) const {
  if (std::ranges::find(info().spaces, space) != info().spaces.end()) return;
  throw NotSupportedError("this device runs no programs in the " + std::string(to_string(space)) + " space");
}

probe::Site Context::tlb_site() const {
  const bool bypass = std::ranges::find(info().spaces, Space::kGlobalBypassL1) != info().spaces.end();
  probe::Site pages = caches.site(bypass ? Space::kGlobalBypassL1 : Space::kGlobal);
  pages.exclusive = true;  // the last level may be shared by SMs
  return pages;
}

const probe::TlbSurvey& Context::tlbs() {
  return tlbs_.get([&] {
    probe::Lab own = lab();
    return probe::survey_tlbs(own, tlb_site());
  });
}

const probe::ClusterSurvey& Context::clusters() {
  return clusters_.get([&] {
    probe::Lab own = lab();
    return probe::survey_clusters(own);
  });
}

const probe::BankCurve& Context::bank_curve() {
  return bank_curve_.get([&] {
    probe::Lab own = lab();
    return probe::measure_bank_curve(own);
  });
}

}  // namespace gputopo
