#include "file/unfinished.h"

#include <unistd.h>

#include <array>
#include <atomic>
#include <climits>
#include <cstring>

namespace gputopo {
namespace {

// Plain memory: a signal handler may neither allocate nor wait for a lock.
struct UnfinishedSlot {
  std::atomic<bool> is_taken = false;
  std::atomic<bool> is_named = false;
  std::array<char, PATH_MAX> path{};
};

constexpr int kSlots = 4;  // a thread writes one file at a time
std::array<UnfinishedSlot, kSlots> g_unfinished;
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler may touch lock-free atomics only");

}  // namespace

UnfinishedFile::UnfinishedFile(const std::string& path) {
  if (path.size() >= PATH_MAX) return;
  for (int slot = 0; slot < kSlots; ++slot) {
    UnfinishedSlot& candidate = g_unfinished[static_cast<std::size_t>(slot)];
    if (candidate.is_taken.exchange(true)) continue;
    std::memcpy(candidate.path.data(), path.c_str(), path.size() + 1);
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
    if (slot.is_named) ::unlink(slot.path.data());
  }
}

}  // namespace gputopo
