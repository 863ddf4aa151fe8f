// What was found of the caches of code: the sweep over its length, and of each cache its size and the stairs of its
// edge. Each is made once.
#pragma once

#include "discover/findings/memo.h"
#include "gputopo/catalogue.h"
#include "probe/code/edge.h"
#include "probe/code/jumps.h"
#include "probe/code/operands.h"
#include "probe/code/size.h"
#include "probe/code/survey.h"

namespace gputopo {

// The vendor's cache of code that so many others are nearer than; nullptr where there is none.
[[nodiscard]] const ElementInfo* code_cache_at(Vendor vendor, std::size_t depth);

class CodeFindings {
 public:
  explicit CodeFindings(probe::Bench& bench);
  ~CodeFindings();

  // Throws NotSupportedError where the device runs no code programs; so do the others.
  [[nodiscard]] const probe::CodeSurvey& survey();
  [[nodiscard]] const probe::CodeCache& located(ElementId element);
  [[nodiscard]] const probe::CodeSize& size(ElementId element);
  // With its size, which what follows rests on. Throws what size() throws.
  [[nodiscard]] const probe::CodeCache& sized(ElementId element);
  [[nodiscard]] const probe::CodeEdge& steep_edge(ElementId element);
  [[nodiscard]] const probe::CodeJumps& jumps();
  [[nodiscard]] const probe::FoundOperandCache& operands();

 private:
  [[nodiscard]] probe::Lab lab() const { return probe::Lab(bench_); }
  // Throws Inconclusive where another level hides behind this one, or one before it.
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
