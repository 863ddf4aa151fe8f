#include "device/hip/cu_masks.h"

#include <algorithm>
#include <utility>

#include "device/hip/device_wait.h"
#include "gputopo/error.h"

namespace gputopo::hip {
namespace {

// Each stream is a hardware queue. With more queues than the GPU has places for, all would take turns.
constexpr std::size_t kMaxStreams = 4;
constexpr std::uint32_t kBitsOfWord = 32;

}  // namespace

CuMasks::CuMasks(std::shared_ptr<const Runtime> runtime, std::vector<std::uint32_t> hardware_ids, RollCall roll_call)
    : runtime_(std::move(runtime)),
      hardware_ids_(std::move(hardware_ids)),
      roll_call_(std::move(roll_call)),
      usable_(runtime_->stream_create_with_cu_mask != nullptr && runtime_->stream_destroy != nullptr) {}

void CuMasks::give_up() {
  usable_ = false;
  streams_.clear();
}

CuMasks::Stream CuMasks::create(const std::vector<std::uint32_t>& bits) const {
  std::vector<std::uint32_t> mask((hardware_ids_.size() + kBitsOfWord - 1) / kBitsOfWord);
  for (const std::uint32_t bit : bits) mask[bit / kBitsOfWord] |= 1u << bit % kBitsOfWord;
  StreamHandle handle = nullptr;
  const auto words = static_cast<std::uint32_t>(mask.size());
  if (runtime_->stream_create_with_cu_mask(&handle, words, mask.data()) != kSuccess) return nullptr;
  return {handle, [runtime = runtime_](StreamHandle stream) {
            if (stream != nullptr && !has_faulted()) static_cast<void>(runtime->stream_destroy(stream));
          }};
}

bool CuMasks::learn() {
  // CUs are counted from 1, so each is under some mask.
  std::map<std::uint32_t, std::uint32_t> numbers;
  for (std::uint32_t digit = 1; digit <= hardware_ids_.size(); digit *= 2) {
    std::vector<std::uint32_t> bits;
    for (std::uint32_t number = 1; number <= hardware_ids_.size(); ++number) {
      if ((number & digit) != 0) bits.push_back(number - 1);
    }
    const Stream stream = create(bits);
    if (stream == nullptr) return false;
    const std::set<std::uint32_t> seen = roll_call_(stream.get(), static_cast<std::uint32_t>(bits.size()));
    if (seen.size() != bits.size()) return false;
    for (const std::uint32_t id : seen) numbers[id] |= digit;
  }
  std::set<std::uint32_t> bits;
  for (const std::uint32_t id : hardware_ids_) {
    const std::uint32_t number = numbers[id];
    if (number == 0 || number > hardware_ids_.size() || !bits.insert(number - 1).second) return false;
    bit_of_[id] = number - 1;
  }
  return numbers.size() == hardware_ids_.size();
}

StreamHandle CuMasks::stream_of(const std::set<std::uint32_t>& hardware_ids) {
  if (usable_ && bit_of_.empty()) {
    try {
      usable_ = learn();
    } catch (const DeviceLostError&) {
      throw;
    } catch (const DeviceError&) {
      usable_ = false;
    }
  }
  if (!usable_) return nullptr;
  const auto same = [&](const Masked& masked) { return masked.hardware_ids == hardware_ids; };
  const auto found = std::find_if(streams_.begin(), streams_.end(), same);
  if (found != streams_.end()) {
    std::rotate(found, found + 1, streams_.end());
    return streams_.back().stream.get();
  }
  std::vector<std::uint32_t> bits;
  for (const std::uint32_t id : hardware_ids) bits.push_back(bit_of_.at(id));
  if (streams_.size() == kMaxStreams) streams_.erase(streams_.begin());
  streams_.push_back({hardware_ids, create(bits)});
  if (streams_.back().stream == nullptr) give_up();
  return usable_ ? streams_.back().stream.get() : nullptr;
}

}  // namespace gputopo::hip
