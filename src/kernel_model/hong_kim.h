// The model of Hong and Kim (An Analytical Model for a GPU Architecture with Memory-level and Thread-level Parallelism
// Awareness, ISCA 2009), as section VI-A of the MT4G paper extends it to the caches. docs/model.md has the equations.
// Cycles are those of an SM's clock; counts are of one warp.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gputopo::kernel_model {

// Instructions of one kind.
struct Work {
  double count = 0;
  double issue_cycles = 0;    // for which one keeps the SM from others
  double latency_cycles = 0;  // until another may use its result
};

// Computation cycles of a warp beside `warps - 1` others: what does not wait for one another hides latencies (Sim et
// al., PPoPP 2012, ITILP).
[[nodiscard]] double computation_cycles(const std::vector<Work>& work, double ilp, double warps);

// Times that a warp waits for memory: for the transactions of one instruction, or of several that are under way
// together.
struct MemoryPeriods {
  double count = 0;
  double transactions = 1;
  double latency_cycles = 0;    // of the first: Mem_LD
  double departure_cycles = 0;  // from one transaction to the next: Departure_del
  std::string level = {};       // that serves them; levels work beside one another
  [[nodiscard]] double cycles() const { return latency_cycles + (transactions - 1) * departure_cycles; }
};

struct LevelTraffic {
  std::string level;
  double bytes = 0;             // of a warp, in all
  double bytes_per_second = 0;  // of the SMs that are active
};

struct HongKimInput {
  std::vector<MemoryPeriods> memory;
  std::vector<LevelTraffic> traffic;
  double comp_cycles = 0;
  double barriers = 0;
  double warps_per_block = 1;
  double blocks_per_sm = 1;
  double active_sms = 1;
  double grid_blocks = 1;
  double clock_hz = 1;
};

enum class Case : std::uint8_t {
  kFewWarps,  // all warps fit into one wait: equation 22
  kMemory,    // CWP >= MWP: equation 23
  kCompute,   // MWP > CWP: equation 24
};
[[nodiscard]] std::string_view to_string(Case which);

struct HongKim {
  double warps = 1;            // N
  double repetitions = 1;      // #Rep
  double mem_l = 0;            // Mem_L, of a period
  double departure_delay = 0;  // of a period, at the level that takes longest
  std::string delay_level;
  double mem_cycles = 0;
  double comp_cycles = 0;
  double mwp_without_bandwidth = 0;  // before it is bounded by N; 0 without memory
  double mwp_peak_bandwidth = 0;     // 0 without memory
  std::string mwp_level;             // whose bandwidth gives it
  double mwp = 0;
  double cwp_full = 0;  // infinite without computation
  double cwp = 0;
  Case which = Case::kCompute;
  double barrier_cycles = 0;
  double cycles = 0;  // of the kernel, barriers included

  // What each side alone would take, of the kernel: the largest is the bound.
  [[nodiscard]] double memory_cycles() const { return mwp > 0 ? mem_cycles * warps / mwp * repetitions : 0; }
  [[nodiscard]] double computing_cycles() const { return comp_cycles * warps * repetitions; }
};

[[nodiscard]] HongKim hong_kim(const HongKimInput& input);

}  // namespace gputopo::kernel_model
