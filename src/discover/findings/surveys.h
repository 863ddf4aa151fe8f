// The surveys of the memory spaces, and how far loads get before they wait for address translation. Each is made once.
#pragma once

#include <cstdint>
#include <utility>

#include "discover/findings/memo.h"
#include "probe/survey/site.h"
#include "probe/tlb/tlb.h"

namespace gputopo {

// All that run programs throw NotSupportedError for a space that programs cannot use here.
class SurveyFindings {
 public:
  explicit SurveyFindings(probe::Bench& bench);
  ~SurveyFindings();

  [[nodiscard]] probe::Site site(Space space) const;
  [[nodiscard]] const probe::Survey& survey(Space space) { return survey(site(space)); }
  [[nodiscard]] const probe::Survey& survey(const probe::Site& site);
  // The part of a survey that needs a tiny array only.
  [[nodiscard]] const probe::Survey& begun_survey(Space space) { return begun_survey(site(space)); }
  [[nodiscard]] const probe::Survey& begun_survey(const probe::Site& site);

  // Its loads miss L1, which may be looked up before the translation.
  [[nodiscard]] probe::Site tlb_site() const;
  [[nodiscard]] const probe::TlbSurvey& tlbs();
  // The TLBs that loads of textures use.
  [[nodiscard]] const probe::TlbSurvey& texture_tlbs();
  // How much memory loads can be spread over without waiting for translations; 0 where any wait.
  [[nodiscard]] std::uint64_t translated_bytes();

 private:
  using SiteKey = std::pair<Space, bool>;  // its space, and whether programs run alone
  [[nodiscard]] probe::Translation translation_of(const probe::Site& site, std::uint64_t footprint_bytes);
  [[nodiscard]] probe::Lab lab() const { return probe::Lab(bench_); }

  probe::Bench& bench_;
  Once<std::uint64_t> translated_bytes_;
  Once<probe::TlbSurvey> tlbs_;
  Once<probe::TlbSurvey> texture_tlbs_;
  Memo<SiteKey, probe::Survey> begun_surveys_;
  Memo<SiteKey, probe::Survey> surveys_;
};

}  // namespace gputopo
