// Tunables that several methods of the probes have in common, with the reason for each value. What one method alone has
// is with that method.
#pragma once

#include <cstdint>

namespace gputopo::probe {

struct Parameters {
  // Independent copies of one program. More: steadier medians, against jitter and neighbours; cost: that many SMs or
  // launches. Odd, so that a median is a sample.
  std::uint32_t copies = 5;
  // Tiny array whose loads all hit: fits the smallest cache any GPU had (a 1 KiB constant cache).
  std::uint64_t tiny_bytes = 256;
  // Longest line that is looked for; twice the longest seen.
  std::uint64_t line_limit_bytes = 512;
  // Loads counted per footprint: a proportion to +-1% at 95% in the worst case.
  std::uint64_t survey_loads = 8192;
  // Same for programs that run alone; one thread, so time is precious.
  std::uint64_t exclusive_loads = 2048;
  // Samples that a residency estimate aims at, all copies together: 0.27% standard error at three
  // capacities.
  std::uint64_t residency_samples = 270000;
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
