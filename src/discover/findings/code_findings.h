// Findings about instruction caches, each made once: the sweep over code lengths, the sizes, the stairs of the edges.
#pragma once

#include "discover/findings/memo.h"
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
  explicit CodeFindings(probe::Bench& bench);
  ~CodeFindings();

  // This function and those below throw NotSupportedError if the device runs no code programs.
  [[nodiscard]] const probe::CodeSurvey& survey();
  [[nodiscard]] const probe::CodeCache& located(ElementId element);
  [[nodiscard]] const probe::CodeSize& size(ElementId element);
  // Adds the size, which the findings below need. Throws what size() throws.
  [[nodiscard]] const probe::CodeCache& sized(ElementId element);
  [[nodiscard]] const probe::CodeEdge& steep_edge(ElementId element);
  [[nodiscard]] const probe::CodeJumps& jumps();
  [[nodiscard]] const probe::FoundOperandCache& operands();

 private:
  [[nodiscard]] probe::Lab lab() const { return probe::Lab(bench_); }
  // Throws Inconclusive if another level hides behind this one or a nearer one.
  void require_none_hidden(std::size_t level);

  probe::Bench& bench_;
  Once<probe::CodeSurvey> survey_;
  Memo<ElementId, probe::CodeCache> located_;
  Memo<ElementId, probe::CodeSize> sizes_;
  Memo<ElementId, probe::CodeCache> sized_;
  Memo<ElementId, probe::CodeEdge> edges_;
  Once<probe::CodeJumps> jumps_;
  Once<probe::FoundOperandCache> operands_;
};

}  // namespace gputopo
