#include "discover/findings/surveys.h"

#include <fmt/format.h>

#include <utility>

#include "probe/survey/survey.h"
#include "probe/tlb/translated_span.h"

namespace gputopo {

using probe::ProbeRunner;
using probe::Site;
using probe::Survey;

SurveyFindings::SurveyFindings(probe::DeviceSession& bench) : session_(bench) {}

SurveyFindings::~SurveyFindings() = default;

Site SurveyFindings::tlb_site() const {
  const bool bypass = session_.has_space(Space::kGlobalBypassL1);
  Site pages = site(bypass ? Space::kGlobalBypassL1 : Space::kGlobal);
  pages.exclusive = true;  // SMs may share the last level
  return pages;
}

const probe::TlbSurvey& SurveyFindings::tlbs() {
  return tlbs_.get([&] {
    ProbeRunner own = runner();
    return probe::survey_tlbs(own, tlb_site());
  });
}

const probe::TlbSurvey& SurveyFindings::texture_tlbs() {
  return texture_tlbs_.get([&] {
    session_.require_space(Space::kTexture);
    Site pages = site(Space::kTexture);
    pages.exclusive = true;
    // The smaller the SM's own cache, the fewer lines exceed it.
    const std::vector<std::uint64_t>& carve_outs = session_.info().carve_outs_bytes;
    if (!carve_outs.empty()) pages.carve_out_bytes = carve_outs.back();
    ProbeRunner own = runner();
    return probe::survey_tlbs(own, pages);
  });
}

Site SurveyFindings::site(Space space) const {
  Site result;
  result.space = space;
  result.exclusive = space == Space::kGlobalBypassL1;
  constexpr std::uint64_t kConstantBytes = 64 * 1024;  // on every NVIDIA GPU so far
  if (space == Space::kConstant) result.limit_bytes = session_.info().constant_bytes.value_or(kConstantBytes);
  if (space == Space::kLocal) result.limit_bytes = kMaxLocalBytes;
  return result;
}

const Survey& SurveyFindings::begun_survey(const Site& site) {
  return begun_surveys_.get({site.space, site.exclusive}, [&] {
    session_.require_space(site.space);
    ProbeRunner own = runner();
    return probe::begin_survey(own, site);
  });
}

// If the time of translations cannot be found, it is left out. Surveying the TLBs takes longer than checking that a
// footprint is within the reach of the first one.
probe::Translation SurveyFindings::translation_of(const Site& site, std::uint64_t footprint_bytes) {
  probe::Translation translation;
  if (site.space != Space::kGlobalBypassL1) return translation;
  try {
    ProbeRunner own = runner();
    if (probe::is_translated(own, tlb_site(), footprint_bytes)) return translation;
    const probe::TlbSurvey& found = tlbs();
    double cycles = 0;
    for (const probe::TlbLevel& level : found.levels) {
      if (translation.added_cycles.empty()) translation.free_bytes = static_cast<std::uint64_t>(level.reach_bytes.low);
      translation.added_cycles.push_back(cycles += level.miss_cycles);
    }
  } catch (const DeviceLostError&) {
    throw;
  } catch (const DeviceError& error) {
    session_.log(fmt::format("{}: the cost of address translation is not known and is ignored: {}",
                             to_string(site.space), error.what()));
  } catch (const probe::Inconclusive& error) {
    session_.log(fmt::format("{}: the cost of address translation is not known and is ignored: {}",
                             to_string(site.space), error.what()));
  }
  // Some footprint may exceed a TLB whose misses the search does not reach.
  if (translation.added_cycles.empty()) translation.free_bytes = translated_bytes();
  return translation;
}

const Survey& SurveyFindings::survey(const Site& site) {
  return surveys_.get({site.space, site.exclusive}, [&] {
    const Survey& begun = begun_survey(site);
    ProbeRunner own = runner();
    return probe::complete_survey(own, begun, [&](std::uint64_t bytes) { return translation_of(site, bytes); });
  });
}

std::uint64_t SurveyFindings::translated_bytes() {
  return translated_bytes_.get([&] {
    ProbeRunner own = runner();
    return probe::find_translated_span(own, tlb_site());
  });
}

}  // namespace gputopo
