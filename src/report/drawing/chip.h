// The parts of the chip and what lies within what: the one idea of its shape that the tree and the drawing share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gputopo/model.h"
#include "report/words/unit_map.h"

namespace gputopo::report {

// One memory as hardware; several elements where they share it.
struct PhysicalMemory {
  std::vector<const MemoryElement*> elements;  // at least one
  std::optional<double> bytes;                 // all instances
  int instances = 1;                           // per unit, or of the chip's
  bool is_parted = false;                      // the instances are parts of one capacity, not of one each
  bool is_device_memory = false;               // what all caches are in front of
  bool is_of_die = false;                      // one for each die of the chip
  std::string shared_by;                       // "2 SMs", where several units have one; else empty
  std::size_t sharers = 1;                     // the most units that have one together; 0: all of the chip
  std::string rate;                            // of reads: in a unit of that unit, elsewhere of the chip
  std::vector<std::string>
      notes;  // lines of what belongs to it: the TLBs on the way to it, what all units have together
  [[nodiscard]] std::string title() const;  // "L1 data cache = Texture cache"
  // "240 KiB, 38.6 cycles, 127.8 B/clk/SM": of the first element that knows.
  [[nodiscard]] std::string figures() const;
};

struct UnitLatency {
  std::uint32_t unit = 0;
  double cycles = 0;
};

struct Chip {
  std::string unit_name = "SM";         // "CU" on AMD
  std::optional<int> units;             // SMs or CUs
  std::vector<UnitLevel> levels;        // which units belong together, where that is known
  std::vector<UnitLevel> drawn;         // the same for a drawing (drawn_levels)
  UnitLevel parts;                      // near which part of L2 they are
  std::vector<UnitLatency> heat;        // what each unit waits for L2, where that is known
  std::vector<PhysicalMemory> in_unit;  // fastest first
  std::vector<PhysicalMemory> on_chip;  // outside of the units, farthest last
};

[[nodiscard]] Chip chip_of(const Topology& topology);

// The level of the drawing whose groups have one of this memory each; nothing where there is none.
[[nodiscard]] std::optional<std::size_t> level_of(const Chip& chip, const PhysicalMemory& memory);

}  // namespace gputopo::report
