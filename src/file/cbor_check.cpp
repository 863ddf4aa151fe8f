#include "file/cbor_check.h"

#include <fmt/format.h>

#include <vector>

#include "file/limits.h"
#include "gputopo/error.h"

namespace gputopo {
namespace {

// RFC 8949: the first three bits of a value give its kind, the next five its argument or the argument's length.
enum class Major : std::uint8_t { kUnsigned, kNegative, kBytes, kText, kList, kMap, kTag, kSimple };

constexpr unsigned kArgumentBits = 5;
constexpr std::uint8_t kArgumentMask = 0x1f;
constexpr std::uint8_t kFirstLongArgument = 24;  // the argument follows in 1, 2, 4 or 8 bytes
constexpr std::uint8_t kLastLongArgument = 27;

class CborWalk {
 public:
  explicit CborWalk(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}

  void run() {
    left_.push_back(1);
    while (!left_.empty()) {
      if (left_.back() == 0) {
        left_.pop_back();
        continue;
      }
      --left_.back();
      value();
    }
    if (at_ != bytes_.size()) refuse("has data after its end");
  }

 private:
  [[noreturn]] void refuse(std::string_view problem) const {
    throw FormatError(fmt::format("the recording {} at byte {} of its content", problem, at_));
  }

  std::uint64_t argument(std::uint8_t first) {
    const std::uint8_t length = first & kArgumentMask;
    if (length < kFirstLongArgument) return length;
    if (length > kLastLongArgument) refuse("has a value of unknown length");
    const std::size_t count = std::size_t{1} << (length - kFirstLongArgument);
    if (bytes_.size() - at_ < count) refuse("is truncated or corrupt");
    std::uint64_t number = 0;
    for (std::size_t i = 0; i < count; ++i) number = number << 8 | bytes_[at_++];
    return number;
  }

  void value() {
    if (at_ == bytes_.size()) refuse("is truncated or corrupt");
    if (++values_ > limits::kMaxRecordedItems)
      refuse(fmt::format("has more than {} values", limits::kMaxRecordedItems));
    const std::uint8_t first = bytes_[at_++];
    const std::uint64_t number = argument(first);
    switch (static_cast<Major>(first >> kArgumentBits)) {
      case Major::kUnsigned:
      case Major::kNegative:
      case Major::kSimple:
        return;
      case Major::kText:
        if (number > bytes_.size() - at_) refuse("is truncated or corrupt");
        at_ += number;
        return;
      case Major::kList:
        return open(number, 1);
      case Major::kMap:
        return open(number, 2);
      case Major::kBytes:
      case Major::kTag:
        refuse("has a value of a kind that recordings do not use");
    }
  }

  // Each item takes at least one byte, so there are at most as many items as bytes.
  void open(std::uint64_t count, std::uint64_t each) {
    if (count > (bytes_.size() - at_) / each) refuse("is truncated or corrupt");
    if (left_.size() > limits::kMaxDepth) {
      refuse(fmt::format("has more than {} nested lists and objects", limits::kMaxDepth));
    }
    left_.push_back(count * each);
  }

  std::span<const std::uint8_t> bytes_;
  std::size_t at_ = 0;
  std::size_t values_ = 0;
  std::vector<std::uint64_t> left_;  // remaining values, for each level
};

}  // namespace

void check_cbor(std::span<const std::uint8_t> bytes) { CborWalk(bytes).run(); }

}  // namespace gputopo
