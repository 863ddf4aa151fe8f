// The model of Hong and Kim (An Analytical Model for a GPU Architecture with Memory-level and Thread-level Parallelism
// Awareness, ISCA 2009), extended to caches as in section VI-A of the MT4G paper; docs/model.md has the equations.
// Cycles count the SM's clock; counts are per warp.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gputopo::kernel_model {

// Instructions of one kind.
struct Work {
  double count = 0;
  double issue_cycles = 0;    // one instruction occupies the SM's issue for so long
  double latency_cycles = 0;  // cycles until a dependent instruction may start
};

// Returns the computation cycles of one warp that shares the SM with `warps - 1` others. Independent instructions
// (`ilp`) and the other warps hide latency (ITILP: Sim et al., PPoPP 2012).
[[nodiscard]] double computation_cycles(const std::vector<Work>& work, double ilp, double warps);

// Waits of a warp for memory, each for the transactions of one instruction, or of several that are in flight together.
struct MemoryPeriods {
  double count = 0;
  double transactions = 1;
  double latency_cycles = 0;    // latency of the first transaction: Mem_LD
  double departure_cycles = 0;  // delay between consecutive transactions: Departure_del
  std::string level = {};       // level that serves them; levels work in parallel
  [[nodiscard]] double cycles() const { return latency_cycles + (transactions - 1) * departure_cycles; }
};

struct LevelTraffic {
  std::string level;
  double bytes = 0;             // total of one warp
  double bytes_per_second = 0;  // bandwidth of all active SMs together
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
  kFewWarps,  // memory waits of all warps overlap: equation 22
  kMemory,    // CWP >= MWP: equation 23
  kCompute,   // MWP > CWP: equation 24
};
[[nodiscard]] std::string_view to_string(Case which);

struct HongKim {
  double warps = 1;            // N
  double repetitions = 1;      // #Rep
  double mem_l = 0;            // Mem_L, of one period
  double departure_delay = 0;  // delay of one period, at the slowest level
  std::string delay_level;
  double mem_cycles = 0;
  double comp_cycles = 0;
  double mwp_without_bandwidth = 0;  // before it is bounded by N; 0 without memory
  double mwp_peak_bandwidth = 0;     // 0 without memory
  std::string mwp_level;             // level whose bandwidth gives it
  double mwp = 0;
  double cwp_full = 0;  // infinite without computation
  double cwp = 0;
  Case which = Case::kCompute;
  double barrier_cycles = 0;
  double cycles = 0;  // cycles of the whole kernel, including barriers

  // Cycles of the kernel if only memory, or only computation, limited it. The larger one is the bound.
  [[nodiscard]] double memory_cycles() const { return mwp > 0 ? mem_cycles * warps / mwp * repetitions : 0; }
  [[nodiscard]] double computing_cycles() const { return comp_cycles * warps * repetitions; }
};

[[nodiscard]] HongKim hong_kim(const HongKimInput& input);

}  // namespace gputopo::kernel_model
