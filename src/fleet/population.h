// The GPUs of a fleet, each by its latest run, in groups that can be compared; and of each value those of all of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "fleet/judgement.h"

namespace gputopo::fleet {

// Places in Store::runs(), in the order of time.
struct GpuRuns {
  std::size_t latest = 0;
  std::vector<std::size_t> earlier;  // of the same model, driver and profile
};

struct Members {
  Group group;
  std::vector<GpuRuns> gpus;
};

struct NumberCell {
  std::uint32_t gpu = 0;  // place in Members::gpus
  const StoredReading* reading = nullptr;
};

// One value of all GPUs of a group: one of each, but for links, of which a GPU has several of a kind.
struct Population {
  std::string path;  // of links "link.gpu-gpu.nvlink.copy_bandwidth"
  std::string unit;
  ValueKind kind;
  std::vector<NumberCell> numbers;
  std::vector<NumberCell> texts;
  std::vector<NumberCell> absent;  // with a reason
};

// Groups in the order of their names. Notes what may mislead.
[[nodiscard]] std::vector<Members> groups_of(const Store& store, std::int64_t now, Judgement& judgement);

[[nodiscard]] std::vector<Population> populations_of(const Store& store, const Members& members);

[[nodiscard]] GpuName name_of(const Store& store, const StoredRun& run, std::size_t group);

}  // namespace gputopo::fleet
