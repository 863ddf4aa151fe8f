// The surveys of the memory spaces, and how far loads reach without waiting for translation. Each is made once.
#pragma once

#include <cstdint>
#include <utility>

#include "discover/findings/lazy_result.h"
#include "probe/survey/site.h"
#include "probe/tlb/tlb.h"

namespace gputopo {

// All functions that run programs throw NotSupportedError for a space that programs cannot use on this device.
class SurveyFindings {
 public:
  explicit SurveyFindings(probe::DeviceSession& bench);
  ~SurveyFindings();

  [[nodiscard]] probe::Site site(Space space) const;
  [[nodiscard]] const probe::Survey& survey(Space space) { return survey(site(space)); }
  [[nodiscard]] const probe::Survey& survey(const probe::Site& site);
  // The part of a survey that only needs a tiny array.
  [[nodiscard]] const probe::Survey& begun_survey(Space space) { return begun_survey(site(space)); }
  [[nodiscard]] const probe::Survey& begun_survey(const probe::Site& site);

  // The site of TLB surveys. Its loads miss L1, which may be looked up before the translation.
  [[nodiscard]] probe::Site tlb_site() const;
  [[nodiscard]] const probe::TlbSurvey& tlbs();
  [[nodiscard]] const probe::TlbSurvey& texture_tlbs();
  // The bytes of memory that loads can be spread over without waiting for translation; 0 if loads always wait.
  [[nodiscard]] std::uint64_t translated_bytes();

 private:
  using SiteKey = std::pair<Space, bool>;  // the space, and whether programs run alone
  [[nodiscard]] probe::Translation translation_of(const probe::Site& site, std::uint64_t footprint_bytes);
  [[nodiscard]] probe::ProbeRunner runner() const { return probe::ProbeRunner(session_); }

  probe::DeviceSession& session_;
  LazyResult<std::uint64_t> translated_bytes_;
  LazyResult<probe::TlbSurvey> tlbs_;
  LazyResult<probe::TlbSurvey> texture_tlbs_;
  LazyResultMap<SiteKey, probe::Survey> begun_surveys_;
  LazyResultMap<SiteKey, probe::Survey> surveys_;
};

}  // namespace gputopo
