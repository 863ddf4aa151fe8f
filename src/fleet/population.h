// Groups a fleet's GPUs, each by its latest run, for comparison, and collects each value of all GPUs of a group.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "fleet/judgement.h"

namespace gputopo::fleet {

// Indices into Store::runs(), in order of time.
struct GpuRuns {
  std::size_t latest = 0;
  std::vector<std::size_t> earlier;  // runs with the same model, driver and profile
  std::vector<std::size_t> all;
};

struct Members {
  Group group;
  std::vector<GpuRuns> gpus;
};

// A finding about a GPU that needs no statistics, or a part of it that is not judged.
struct PartOfGpu {
  std::uint32_t gpu = 0;  // index into Members::gpus
  OutlierValue value;
};

struct NumberCell {
  std::uint32_t gpu = 0;  // index into Members::gpus
  const StoredReading* reading = nullptr;
};

// One value of all GPUs of a group. Each GPU contributes one number, or several for links of one kind.
struct Population {
  std::string path;  // for links "link.host-gpu.host, PCIe 5.0 x16.copy_bandwidth"
  std::string unit;
  ValueKind kind;
  std::vector<NumberCell> numbers;
  std::vector<NumberCell> texts;
  std::vector<NumberCell> absent;  // with a reason
};

// Returns the groups sorted by name. Adds notes to `judgement` about misleading data.
[[nodiscard]] std::vector<Members> groups_of(const Store& store, std::int64_t now, Judgement& judgement);

[[nodiscard]] std::vector<Population> populations_of(const Store& store, const Members& members);

[[nodiscard]] GpuName name_of(const Store& store, const StoredRun& run, std::size_t group);

}  // namespace gputopo::fleet
