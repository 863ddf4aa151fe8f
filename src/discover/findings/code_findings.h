// Findings about instruction caches, each made once: the sweep over code lengths, the sizes, the stairs of the edges.
#pragma once

#include "discover/findings/lazy_result.h"
#include "gputopo/catalogue.h"
#include "probe/code/edge.h"
#include "probe/code/jumps.h"
#include "probe/code/operands.h"
#include "probe/code/size.h"
#include "probe/code/survey.h"

namespace gputopo {

// The vendor's instruction cache with `depth` nearer ones; nullptr if there is none.
[[nodiscard]] const ElementInfo* code_cache_at(Vendor vendor, std::size_t depth);

class CodeFindings {
 public:
  explicit CodeFindings(probe::DeviceSession& bench);
  ~CodeFindings();

  // This function and those below throw NotSupportedError if the device runs no code programs.
  [[nodiscard]] const probe::CodeSurvey& survey();
  [[nodiscard]] const probe::CodeCache& located_cache(ElementId element);
  [[nodiscard]] const probe::CodeSize& size(ElementId element);
  // Adds the size, which the findings below need. Throws what size() throws.
  [[nodiscard]] const probe::CodeCache& cache_with_size(ElementId element);
  [[nodiscard]] const probe::CodeEdge& steep_edge(ElementId element);
  [[nodiscard]] const probe::CodeJumps& jumps();
  [[nodiscard]] const probe::FoundOperandCache& operands();

 private:
  [[nodiscard]] probe::ProbeRunner runner() const { return probe::ProbeRunner(session_); }
  // Throws Inconclusive if another level hides behind this one or a nearer one.
  void require_none_hidden(std::size_t level);

  probe::DeviceSession& session_;
  LazyResult<probe::CodeSurvey> survey_;
  LazyResultMap<ElementId, probe::CodeCache> located_;
  LazyResultMap<ElementId, probe::CodeSize> sizes_;
  LazyResultMap<ElementId, probe::CodeCache> sized_;
  LazyResultMap<ElementId, probe::CodeEdge> edges_;
  LazyResult<probe::CodeJumps> jumps_;
  LazyResult<probe::FoundOperandCache> operands_;
};

}  // namespace gputopo
