// Every tunable of the probes, with the reason for its value.
#pragma once

#include <cstdint>

namespace gputopo::probe {

struct Parameters {
  // Independent copies of one program. More: steadier medians, against jitter and neighbours; cost: that many SMs or
  // launches. Odd, so that a median is a sample.
  std::uint32_t copies = 5;
  // Tiny array whose loads all hit: fits the smallest cache any GPU had (a 1 KiB constant cache).
  std::uint64_t tiny_bytes = 256;
  // Stride of a cold pass in which every load misses: larger than any line seen so far (256 B).
  std::uint64_t cold_stride_bytes = 512;
  // Longest line that is looked for; twice the longest seen.
  std::uint64_t line_limit_bytes = 512;
  // Footprints per octave of the survey. More resolves ramps; fewer is faster.
  std::uint32_t footprints_per_octave = 4;
  // The survey goes on past first_limit up to last_limit only while loads still hit.
  std::uint64_t survey_first_limit_bytes = 1u << 20;
  std::uint64_t survey_last_limit_bytes = 16u << 20;
  // Loads counted per footprint: a proportion to +-1% at 95% in the worst case.
  std::uint64_t survey_loads = 8192;
  // Same for programs that run alone; one thread, so time is precious.
  std::uint64_t exclusive_loads = 2048;
  // A footprint fits when at most this part of its loads misses beyond the noise of a tiny array.
  double fits_tolerance = 0.004;
  // Two reference miss ratios (fits, exceeds) must be this far apart to decide anything between them.
  double least_contrast = 0.10;
  // Part of the fitting footprint that line, amount and sharing experiments use: near the capacity, so that two of them
  // exceed it, and clear of the ramp before it.
  double comfortable = 0.90;
  // Sampled residency: of the lines of the cache, the part that one program samples. Every missed sample evicts a line,
  // which is corrected for: at this part by 3%, known to a tenth.
  double sampled_part = 0.1;
  // Footprint, in capacities. More: every set is full even where they fill unevenly; fewer: more of the samples hit.
  double sampled_capacities = 3;
  // Samples that a residency estimate aims at, all copies together: 0.27% standard error at that footprint.
  std::uint64_t residency_samples = 270000;
  std::uint32_t residency_programs_limit = 12000;
  // Places up to which a cache is packed place by place. More: exact sizes of larger caches; the time grows with the
  // square.
  double packed_places_limit = 400;
  // Lines among which those of one set are looked for, by walking all of them again and again. More would take minutes.
  double structure_lines_limit = 32768;
  // The same for a cache that SMs share, where lines are left out of what one block touches at once: 256 MiB of 128 B.
  double structure_shared_lines_limit = 2097152;
  // The same for a cache behind another, where all that fits is walked every time.
  double structure_behind_lines_limit = 1024;
  // Cycles that one launch may take: under two seconds at 1 GHz.
  double launch_cycles_limit = 1.8e9;
  // Evictor of the last cache: this many times its size, so that nothing of it is left under any replacement.
  double last_cache_evictor_factor = 3;
  // L2 size to assume when the vendor's interface does not tell.
  std::uint64_t l2_guess_bytes = 64u << 20;
  // Cold TLB: the reach of a device-memory chase, as part of the free memory.
  double tlb_reach_of_free = 0.75;
};

}  // namespace gputopo::probe
