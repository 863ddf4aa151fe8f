// The parts of a chip and how they nest. The tree and the drawing share this model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gputopo/model.h"
#include "report/words/unit_map.h"

namespace gputopo::report {

// One physical memory; several elements if they share it.
struct PhysicalMemory {
  std::vector<const MemoryElement*> elements;  // at least one
  std::optional<double> bytes;                 // total of all instances
  int instances = 1;                           // per unit for `in_unit`, otherwise on the chip
  bool is_parted = false;                      // instances are parts of one capacity, not one capacity each
  bool is_device_memory = false;               // the memory behind all caches
  bool is_of_die = false;                      // one per die
  std::string shared_by;                       // "2 SMs" if several units share one; otherwise empty
  std::size_t sharers = 1;                     // most units that share one; 0: the whole chip
  std::string rate;                            // read bandwidth: per unit for `in_unit`, otherwise of the chip
  std::vector<std::string> notes;              // related facts: TLBs on the path, rate of all units
  [[nodiscard]] std::string title() const;     // "L1 data cache = Texture cache"
  // "240 KiB, 38.6 cycles, 127.8 B/clk/SM": each from the first element that has it.
  [[nodiscard]] std::string figures() const;
};

struct UnitLatency {
  std::uint32_t unit = 0;
  double cycles = 0;
};

struct Chip {
  std::string unit_name = "SM";         // "CU" on AMD
  std::optional<int> units;             // SMs or CUs
  std::vector<UnitLevel> levels;        // known groups of units
  std::vector<UnitLevel> drawn;         // groups for a drawing (drawn_levels)
  UnitLevel parts;                      // units near each part of L2
  std::vector<UnitLatency> heat;        // L2 latency of each unit, if known
  std::vector<PhysicalMemory> in_unit;  // fastest first
  std::vector<PhysicalMemory> on_chip;  // outside the units, farthest last
};

[[nodiscard]] Chip chip_of(const Topology& topology);

// Returns the drawn level whose groups have one of this memory each, if there is one.
[[nodiscard]] std::optional<std::size_t> level_of(const Chip& chip, const PhysicalMemory& memory);

}  // namespace gputopo::report
