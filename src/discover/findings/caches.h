// The findings about data caches: for each cache its place in the survey of its space, then its fetch granularity, its
// line and its capacity. Each is made once, and what a finding is made from does not depend on who asked for it first.
// cache_requirements.cpp defines the functions require_...
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "discover/findings/memo.h"
#include "discover/findings/surveys.h"
#include "probe/capacity/carve_out.h"
#include "probe/capacity/size.h"
#include "probe/partitions/partitions.h"
#include "probe/partitions/sides.h"
#include "probe/structure/structure.h"

namespace gputopo {

class CodeFindings;

class CacheFindings {
 public:
  CacheFindings(probe::Bench& bench, SurveyFindings& surveys, CodeFindings& code);
  ~CacheFindings();

  // The survey's where misses of a TLB hide where this cache ends, as they take as long as the level behind it, and it
  // is the nearest: then only what fits it is known. Else nullptr.
  [[nodiscard]] const probe::Survey* hidden_by_translation(ElementId element);

  // ---- Caches: each stage knows what is to be known of the stages before. A finding that is not to be had (the line
  // of a cache that is never exceeded) leaves the cache without it; a cache that is not there is not there at any
  // stage. Its levels in the survey of its space.
  [[nodiscard]] const probe::Cache& located(ElementId element);
  // And what a miss fetches. No programs more.
  [[nodiscard]] const probe::Cache& fetched(ElementId element);
  // And its line.
  [[nodiscard]] const probe::Cache& lined(ElementId element);
  // And its capacity, which takes longest.
  [[nodiscard]] const probe::Cache& sized(ElementId element);
  // What one SM reaches first of it: of an L2 with partitions the one near it.
  [[nodiscard]] const probe::Cache& near_part(ElementId element);
  // Which SMs are near the same part of it.
  [[nodiscard]] const probe::Sides& sides(ElementId element);
  [[nodiscard]] const probe::Partitions& partitions(ElementId element);

  // Of the caches that SMs share: what leaves none of their lines out. As far as it is known, and no more than 128.
  [[nodiscard]] std::uint64_t shortest_shared_line_bytes();

  [[nodiscard]] const probe::Fetch& fetch(ElementId element);
  [[nodiscard]] const probe::Line& line(ElementId element);
  [[nodiscard]] const probe::Capacity& capacity(ElementId element);
  // The size of the whole cache, in bytes: where L2 copies far lines, one SM sees less than there is.
  struct WholeSize {
    double bytes = 0;
    stats::Interval interval;
    std::string method;
    std::optional<double> seen_bytes;  // by one SM; nothing where that is the whole, or is not known
    std::vector<std::string> flags;
  };
  [[nodiscard]] const WholeSize& whole_size(ElementId element);
  // At every carve-out of shared memory.
  [[nodiscard]] const probe::SizeByCarveOut& size_by_carve_out(ElementId element);
  // Whether it is the very cache that L1 is, which then need not be asked again.
  [[nodiscard]] bool is_known_as_l1(ElementId element);
  [[nodiscard]] bool may_have_partitions(ElementId element) const;
  // Once for each physical cache: what shares L1 has the structure of L1.
  [[nodiscard]] const probe::Structure& structure(ElementId element);

  // Whether loads through each evict what the other holds.
  struct Sharing {
    bool shared = false;
    probe::Conditions conditions;
  };
  [[nodiscard]] Sharing sharing(ElementId one, ElementId other);
  // As global loads show it; nothing where they do not.
  [[nodiscard]] const probe::Line* line_of_l1();
  // Of constants that all fit, behind which code and constants may meet.
  [[nodiscard]] bool holds_all_constants(ElementId element);

  // ---- What must hold for an element to be asked; they throw NotPresent ----
  // Global loads are cached in L1.
  void require_l1_caching(Space space = Space::kGlobal);
  // Global loads, stores and atomics pass this L2.
  void require_l2_of_globals(ElementId l2);
  // What misses this cache goes to one level, as far as translations let that be seen. Throws Inconclusive.
  void require_next_level(const probe::Cache& cache);

 private:
  [[nodiscard]] probe::Cache locate(ElementId element);
  [[nodiscard]] probe::Cache locate_in_sm(const ElementInfo& info, const probe::Survey& found);
  [[nodiscard]] probe::Cache locate_shared_by_sms(const ElementInfo& info, const probe::Survey& found);
  [[nodiscard]] std::optional<probe::Cache> l2_of_textures();
  // Throws Inconclusive where the levels behind the first may be misses of TLBs.
  void require_translated_levels(ElementId element);
  void require_reached_lines(ElementId element);
  void require_local_misses(const probe::Survey& survey);
  void require_apart_from_l2(const probe::Survey& survey, std::size_t level);
  void require_l2_behind(const probe::Cache& of_constants);
  // Throws Inconclusive where no footprint shows what the cache holds.
  void require_sets_of_few_neighbours(const probe::Cache& cache);
  [[nodiscard]] probe::Fetch make_fetch(ElementId element);
  [[nodiscard]] probe::Line make_line(ElementId element);
  [[nodiscard]] probe::Capacity make_capacity(ElementId element);
  [[nodiscard]] WholeSize make_whole_size(ElementId element);
  [[nodiscard]] probe::Partitions make_partitions(ElementId element);
  // Corrects a size that one SM saw: L2 may copy far lines, which take up room twice.
  void correct_for_copies(ElementId element, WholeSize& size);
  // Whether it seems to be the very cache that L1 is, of one whose size is not known yet.
  [[nodiscard]] bool looks_like_l1(ElementId element);
  // Of a cache with a size, known or taken for it: whether its lines are as long and each evicts what the other holds.
  [[nodiscard]] bool is_same_as_l1(ElementId element, const probe::Cache& cache);
  // Whether the loads of one evict what the other holds.
  [[nodiscard]] const Sharing& eviction(ElementId victim, ElementId evictor);
  [[nodiscard]] Sharing make_eviction(const probe::Cache& victim, const probe::Cache& evictor) const;
  [[nodiscard]] probe::Lab lab() const { return probe::Lab(bench_); }

  probe::Bench& bench_;
  SurveyFindings& surveys_;
  CodeFindings& code_;
  Vendor vendor_;
  Memo<ElementId, probe::Cache> located_;
  Memo<ElementId, probe::Cache> fetched_;
  Memo<ElementId, probe::Cache> lined_;
  Memo<ElementId, probe::Cache> sized_;
  Memo<ElementId, probe::Cache> near_parts_;
  Memo<ElementId, probe::Sides> sides_;
  Memo<ElementId, probe::Partitions> partitions_;
  Memo<ElementId, probe::Fetch> fetches_;
  Memo<ElementId, probe::Line> lines_;
  Memo<ElementId, probe::Capacity> capacities_;
  Memo<ElementId, WholeSize> whole_sizes_;
  Memo<ElementId, probe::SizeByCarveOut> sizes_by_carve_out_;
  Memo<ElementId, probe::Structure> structures_;
  Memo<std::pair<ElementId, ElementId>, Sharing> evictions_;
};

}  // namespace gputopo
