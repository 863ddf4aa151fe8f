#include "discover/code_elements.h"

#include <algorithm>
#include <iterator>

namespace gputopo {
namespace {

// Nearest first.
constexpr const char* kElements[] = {"icache_l1", "icache_l2", "icache_l3"};

}  // namespace

bool CodeElements::has(const std::string& element) {
  return std::find(std::begin(kElements), std::end(kElements), element) != std::end(kElements);
}

const probe::CodeSurvey& CodeElements::survey() {
  if (not_supported_) throw NotSupportedError(*not_supported_);
  if (!survey_) {
    try {
      survey_ = probe::survey_code(lab_);
    } catch (const NotSupportedError& error) {
      not_supported_ = error.what();
      throw;
    }
  }
  return *survey_;
}

probe::CodeCache& CodeElements::cache(const std::string& element) {
  if (const auto found = caches_.find(element); found != caches_.end()) return found->second;
  const auto level =
      static_cast<std::size_t>(std::find(std::begin(kElements), std::end(kElements), element) - kElements);
  return caches_.emplace(element, probe::find_code_cache(survey(), level)).first->second;
}

probe::CodeCache& CodeElements::sized(const std::string& element) {
  probe::CodeCache& found = cache(element);
  if (found.fits_instructions == 0) static_cast<void>(probe::measure_code_size(lab_, found));
  return found;
}

const Attribute& CodeElements::scope(const std::string& element) {
  if (const auto found = scopes_.find(element); found != scopes_.end()) return found->second;
  return scopes_.emplace(element, probe::measure_code_scope(lab_, sized(element))).first->second;
}

// Of a cache that several SMs share there is no number per SM.
Attribute CodeElements::amount(const std::string& element) {
  if (scope(element).value != Value(std::string("SM")))
    return unavailable(Reason::kNotApplicable, "several SMs share it");
  return probe::measure_code_amount(lab_, sized(element));
}

Attribute CodeElements::measure(const std::string& element, const std::string& attribute) {
  if (attribute == "size") return probe::measure_code_size(lab_, cache(element));
  if (attribute == "cycles_per_instruction") return probe::measure_code_rate(lab_, cache(element));
  if (attribute == "line_size") return probe::measure_code_line(lab_, sized(element));
  if (attribute == "ways") return probe::measure_code_ways(lab_, sized(element));
  if (attribute == "scope") return scope(element);
  if (attribute == "amount") return amount(element);
  if (attribute == "shared_between") return probe::measure_code_shared_between(lab_, sized(element));
  if (attribute == "shared_with") return probe::measure_code_sharing(lab_, sized(element));
  return unavailable(Reason::kNotApplicable, "");
}

}  // namespace gputopo
