// Models of replacement policies for one set: which loads of its lines hit. Needs no device.
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
    kPseudoLru,     // tree of bits that point away from what was used last
    kSegmentedLru,  // lines that hit are protected; the oldest of the others goes
    kSrrip,         // re-reference intervals of two bits, hit priority
  };
  Kind kind = Kind::kLru;
  std::size_t protected_ways = 0;  // of kSegmentedLru

  friend bool operator==(const Policy&, const Policy&) = default;
};
// "lru", "segmented_lru 2/4" for four ways, ...
[[nodiscard]] std::string to_string(const Policy& policy, std::size_t ways);

// Policies that a set of `ways` can have and that differ there.
[[nodiscard]] std::vector<Policy> policies_of(std::size_t ways);

// Initial state of a set: empty, or full of lines that are never loaded again.
enum class Beginning : std::uint8_t { kEmpty, kStale };

class PolicySet {
 public:
  PolicySet() = default;
  PolicySet(const PolicySet&) = delete;
  PolicySet& operator=(const PolicySet&) = delete;
  virtual ~PolicySet() = default;

  // Loads the line. Returns whether it was resident.
  virtual bool load(std::uint32_t line) = 0;
};
// A set for lines 0 to `lines` - 1.
[[nodiscard]] std::unique_ptr<PolicySet> make_set(const Policy& policy, std::size_t ways, std::size_t lines,
                                                  Beginning beginning);

}  // namespace gputopo::probe
