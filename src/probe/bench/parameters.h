// Tunables that several methods share, with the reason for each value. Other tunables are next to their method.
#pragma once

#include <cstdint>

namespace gputopo::probe {

struct Parameters {
  // Independent copies of one program. Larger values steady the medians against jitter and neighbors, but cost as many
  // SMs or launches. Odd, so that the median is a sample.
  std::uint32_t copies = 5;
  // Bytes of the tiny array, whose loads all hit. It fits the smallest cache of any GPU (a 1 KiB constant cache).
  std::uint64_t tiny_bytes = 256;
  // Longest cache line that the probes look for; twice the longest seen.
  std::uint64_t line_limit_bytes = 512;
  // Loads counted per footprint. They give a proportion to +-1% at 95% confidence in the worst case.
  std::uint64_t survey_loads = 8192;
  // The same for exclusive programs. They use one thread, so loads are expensive.
  std::uint64_t exclusive_loads = 2048;
  // Samples of a residency estimate, over all copies. They give a standard error of 0.27% at three capacities.
  std::uint64_t residency_samples = 270000;
  // Most lines of a cache whose conflict sets are found by repeated walks over all of them. More would take minutes.
  double structure_lines_limit = 32768;
  // The same limit for a cache that SMs share, whose search touches lines by whole blocks: 256 MiB of 128 B lines.
  double structure_shared_lines_limit = 2097152;
  // The same limit for a cache behind another one, where every test walks all lines that fit.
  double structure_behind_lines_limit = 1024;
  // Cycles that one launch may take: less than two seconds at 1 GHz.
  double launch_cycles_limit = 1.8e9;
  // Size of the last cache's evictor, in cache sizes. It evicts everything under any replacement policy.
  double last_cache_evictor_factor = 3;
  // L2 size to assume if the vendor's interface does not report it.
  std::uint64_t l2_guess_bytes = 64u << 20;
  // Span of a chase that misses the TLBs, as part of the largest array that the device allows.
  double tlb_reach_of_free = 0.75;
};

}  // namespace gputopo::probe
