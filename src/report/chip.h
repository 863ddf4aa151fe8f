// The parts of the chip and what lies within what: the one idea of its shape that the tree and the drawing share.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gputopo/model.h"
#include "report/unit_map.h"

namespace gputopo::report {

// One memory as hardware; several elements where they share it.
struct PhysicalMemory {
  std::vector<const MemoryElement*> elements;  // at least one
  std::optional<double> bytes;                 // all instances
  int instances = 1;                           // per unit, or of the chip's
  bool is_parted = false;                      // the instances are parts of one capacity, not of one each
  bool is_device_memory = false;               // what all caches are in front of
  std::string shared_by;                       // "2 SMs", where several units have one; else empty
  std::string rate;                            // of reads: in a unit of that unit, elsewhere of the chip
  std::vector<std::string>
      notes;  // lines of what belongs to it: the TLBs on the way to it, what all units have together
  [[nodiscard]] std::string title() const;  // "L1 data cache = Texture cache"
  // "240 KiB, 38.6 cycles, 127.8 B/clk/SM": of the first element that knows.
  [[nodiscard]] std::string figures() const;
};

struct Chip {
  std::string unit_name = "SM";         // "CU" on AMD
  std::optional<int> units;             // SMs or CUs
  std::vector<UnitLevel> levels;        // which units belong together, where that is known
  std::vector<PhysicalMemory> in_unit;  // fastest first
  std::vector<PhysicalMemory> on_chip;  // outside of the units, farthest last
};

[[nodiscard]] Chip chip_of(const Topology& topology);

}  // namespace gputopo::report
