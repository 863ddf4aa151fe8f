// Findings about data caches: the place in the survey of the space, the fetch granularity, the line, the capacity.
// Each is made once and does not depend on who asked first. cache_requirements.cpp defines the functions require_...
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "discover/findings/lazy_result.h"
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
  CacheFindings(probe::DeviceSession& bench, SurveyFindings& surveys, CodeFindings& code);
  ~CacheFindings();

  // The survey, if this is the nearest cache and TLB misses hide where it ends because they take as long as the level
  // behind it; otherwise nullptr. Only what fits the cache is known then.
  [[nodiscard]] const probe::Survey* hidden_by_translation(ElementId element);

  // ---- Caches: each stage adds a finding to the stage before. A finding that cannot be made (the line of a cache
  // that is never exceeded) is left out. A cache that is not present is absent at every stage. ----
  // The levels in the survey.
  [[nodiscard]] const probe::Cache& located_cache(ElementId element);
  // Adds the fetch granularity. Runs no further programs.
  [[nodiscard]] const probe::Cache& fetched(ElementId element);
  // Adds the line.
  [[nodiscard]] const probe::Cache& cache_with_line(ElementId element);
  // Adds the capacity, which takes longest.
  [[nodiscard]] const probe::Cache& cache_with_size(ElementId element);
  // The part that one SM reaches first: the near partition of an L2 with several.
  [[nodiscard]] const probe::Cache& near_part(ElementId element);
  // Which SMs are near the same part.
  [[nodiscard]] const probe::SmsByPartition& sides(ElementId element);
  [[nodiscard]] const probe::Partitions& partitions(ElementId element);

  // A stride in bytes that skips no line of the caches that SMs share, as far as lines are known: 128 B at most.
  [[nodiscard]] std::uint64_t shortest_shared_line_bytes();

  [[nodiscard]] const probe::Fetch& fetch(ElementId element);
  [[nodiscard]] const probe::Line& line(ElementId element);
  [[nodiscard]] const probe::Capacity& capacity(ElementId element);
  // The size of the whole cache in bytes. One SM sees less if L2 copies far lines.
  struct TotalSize {
    double bytes = 0;
    stats::Interval interval;
    std::string method;
    std::optional<double> seen_bytes;  // seen by one SM; unset if that is the whole cache, or unknown
    std::vector<std::string> flags;
  };
  [[nodiscard]] const TotalSize& whole_size(ElementId element);
  // The size at each shared-memory carve-out.
  [[nodiscard]] const probe::SizeByCarveOut& size_by_carve_out(ElementId element);
  // Whether this is known to be the same cache as L1, so that it need not be measured again.
  [[nodiscard]] bool is_known_as_l1(ElementId element);
  [[nodiscard]] bool may_have_partitions(ElementId element) const;
  // Made once for each physical cache: a cache that is the same as L1 has the structure of L1.
  [[nodiscard]] const probe::Structure& structure(ElementId element);

  // Whether loads through each of two elements evict what the other holds.
  struct Sharing {
    bool shared = false;
    probe::Conditions conditions;
  };
  [[nodiscard]] Sharing sharing(ElementId one, ElementId other);
  // The line of L1 as global loads show it; nullptr if they do not.
  [[nodiscard]] const probe::Line* line_of_l1();
  // Whether it is a constant cache that holds all of constant memory. Code may share such a cache.
  [[nodiscard]] bool holds_all_constants(ElementId element);

  // ---- Preconditions of measurements; they throw NotPresent ----
  // L1 caches loads of the space.
  void require_l1_caching(Space space = Space::kGlobal);
  // Global loads, stores and atomics use this L2.
  void require_l2_of_globals(ElementId l2);
  // Misses of this cache go to a single level, as far as translations let that be seen. Throws Inconclusive.
  void require_next_level(const probe::Cache& cache);

 private:
  [[nodiscard]] probe::Cache locate(ElementId element);
  [[nodiscard]] probe::Cache locate_in_sm(const ElementInfo& info, const probe::Survey& found);
  [[nodiscard]] probe::Cache locate_shared_by_sms(const ElementInfo& info, const probe::Survey& found);
  [[nodiscard]] std::optional<probe::Cache> l2_of_textures();
  // Throws Inconclusive if the levels behind the first may be TLB misses.
  void require_translated_levels(ElementId element);
  void require_reached_lines(ElementId element);
  void require_local_misses(const probe::Survey& survey);
  void require_apart_from_l2(const probe::Survey& survey, std::size_t level);
  void require_l2_behind(const probe::Cache& of_constants);
  // Throws Inconclusive if neighboring lines share sets, so that no footprint shows the capacity.
  void require_sets_of_few_neighbours(const probe::Cache& cache);
  [[nodiscard]] probe::Fetch make_fetch(ElementId element);
  [[nodiscard]] probe::Line make_line(ElementId element);
  [[nodiscard]] probe::Capacity make_capacity(ElementId element);
  [[nodiscard]] TotalSize make_whole_size(ElementId element);
  [[nodiscard]] probe::Partitions make_partitions(ElementId element);
  // Corrects a size that one SM saw: copies of far lines in L2 occupy space twice.
  void correct_for_copies(ElementId element, TotalSize& size);
  // Whether a cache of unknown size seems to be the same cache as L1.
  [[nodiscard]] bool looks_like_l1(ElementId element);
  // Whether a cache (of known or assumed size) has lines like L1 and each of the two evicts what the other holds.
  [[nodiscard]] bool is_same_as_l1(ElementId element, const probe::Cache& cache);
  // Whether loads of `evictor` evict what `victim` holds.
  [[nodiscard]] const Sharing& eviction(ElementId victim, ElementId evictor);
  [[nodiscard]] Sharing make_eviction(const probe::Cache& victim, const probe::Cache& evictor) const;
  [[nodiscard]] probe::ProbeRunner runner() const { return probe::ProbeRunner(session_); }

  probe::DeviceSession& session_;
  SurveyFindings& surveys_;
  CodeFindings& code_;
  Vendor vendor_;
  LazyResultMap<ElementId, probe::Cache> located_;
  LazyResultMap<ElementId, probe::Cache> fetched_;
  LazyResultMap<ElementId, probe::Cache> lined_;
  LazyResultMap<ElementId, probe::Cache> sized_;
  LazyResultMap<ElementId, probe::Cache> near_parts_;
  LazyResultMap<ElementId, probe::SmsByPartition> sides_;
  LazyResultMap<ElementId, probe::Partitions> partitions_;
  LazyResultMap<ElementId, probe::Fetch> fetches_;
  LazyResultMap<ElementId, probe::Line> lines_;
  LazyResultMap<ElementId, probe::Capacity> capacities_;
  LazyResultMap<ElementId, TotalSize> whole_sizes_;
  LazyResultMap<ElementId, probe::SizeByCarveOut> sizes_by_carve_out_;
  LazyResultMap<ElementId, probe::Structure> structures_;
  LazyResultMap<std::pair<ElementId, ElementId>, Sharing> evictions_;
};

}  // namespace gputopo
