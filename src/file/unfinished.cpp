#include "file/unfinished.h"

#include <unistd.h>

#include <array>
#include <atomic>
#include <climits>
#include <cstring>

namespace gputopo {
namespace {

// Plain memory, because a signal handler may neither allocate nor wait for a lock.
struct UnfinishedSlot {
  std::atomic<bool> is_taken = false;
  std::atomic<bool> is_named = false;
  int folder = -1;
  std::array<char, NAME_MAX + 1> name{};
};

constexpr int kSlots = 4;  // a thread writes one file at a time
std::array<UnfinishedSlot, kSlots> g_unfinished;
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler may use only lock-free atomics");

}  // namespace

UnfinishedFile::UnfinishedFile(int folder, const std::string& name) {
  if (name.size() > NAME_MAX) return;
  for (int slot = 0; slot < kSlots; ++slot) {
    UnfinishedSlot& candidate = g_unfinished[static_cast<std::size_t>(slot)];
    if (candidate.is_taken.exchange(true)) continue;
    candidate.folder = folder;
    std::memcpy(candidate.name.data(), name.c_str(), name.size() + 1);
    candidate.is_named = true;
    slot_ = slot;
    return;
  }
}

UnfinishedFile::~UnfinishedFile() {
  if (slot_ < 0) return;
  UnfinishedSlot& slot = g_unfinished[static_cast<std::size_t>(slot_)];
  slot.is_named = false;
  slot.is_taken = false;
}

void remove_unfinished() noexcept {
  for (const UnfinishedSlot& slot : g_unfinished) {
    if (slot.is_named) ::unlinkat(slot.folder, slot.name.data(), 0);
  }
}

}  // namespace gputopo
