// Policies of replacement as models of one set: which loads of its lines would hit. No device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace gputopo::probe {

struct Policy {
  enum class Kind : std::uint8_t {
    kLru,
    kFifo,
    kPseudoLru,     // a tree of bits that point away from what was used last
    kSegmentedLru,  // what was hit is protected; the oldest of the others goes
    kSrrip,         // re-reference intervals of two bits, hits first
  };
  Kind kind = Kind::kLru;
  std::size_t protected_ways = 0;  // of kSegmentedLru

  friend bool operator==(const Policy&, const Policy&) = default;
};
// "lru", "segmented_lru 2/4" of four ways, ...
[[nodiscard]] std::string to_string(const Policy& policy, std::size_t ways);

// Those that a set of so many ways can have and that differ from one another there.
[[nodiscard]] std::vector<Policy> policies_of(std::size_t ways);

// What a set holds before the first load: nothing, or lines that are never loaded again.
enum class Beginning : std::uint8_t { kEmpty, kStale };

// One set.
class PolicySet {
 public:
  PolicySet() = default;
  PolicySet(const PolicySet&) = delete;
  PolicySet& operator=(const PolicySet&) = delete;
  virtual ~PolicySet() = default;

  // Loads the line: whether it was there. It is now.
  virtual bool load(std::uint32_t line) = 0;
};
// Of lines 0 to `lines` - 1.
[[nodiscard]] std::unique_ptr<PolicySet> make_set(const Policy& policy, std::size_t ways, std::size_t lines,
                                                  Beginning beginning);

}  // namespace gputopo::probe
