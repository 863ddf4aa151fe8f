// The memory of a simulated machine as one program sees it: which cache or memory serves a load, and after how long.
// load_run.cpp defines the loads of Hierarchy, and fill_back.cpp its fill_back() and what that needs.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "device/sim/cache/cache.h"
#include "device/sim/cache/homes.h"
#include "device/sim/machine/machine.h"

namespace gputopo::sim {

// The usable bytes of a cache once `carve_out_bytes` of shared memory are taken from it.
[[nodiscard]] std::uint64_t usable_bytes(const CacheSpec& spec, std::uint64_t carve_out_bytes);
// Of one level of TLB: its lines are the entries. Throws FormatError, without the field's name.
[[nodiscard]] CacheGeometry tlb_geometry(const TlbSpec& spec);

// What a load of one warp through one space passes, nearest first.
class Path {
 public:
  struct Stop {
    Cache* cache = nullptr;
    double latency_cycles = 0;
    // What the nearer stops fetch when they miss: these `fetch_sectors` sectors, from the address's multiple of
    // `fetch_bytes` on, must all be here.
    std::uint64_t fetch_bytes = 1;
    std::uint32_t fetch_sectors = 1;
    Cache* whole = nullptr;  // of a near partition: the whole cache behind it, if there is one
    const CacheSpec* spec = nullptr;
    // What is beyond the near partition is in the partition where it is at home.
    bool by_home = false;
  };

  // The partitions of the cache that has some, and which of them is near.
  struct Partitions {
    std::vector<Cache*> caches;
    std::uint32_t near = 0;
    std::size_t near_stop = ~std::size_t{0};  // none where there are no partitions; the far one follows
    HomeMap homes;
  };

  // What a translation adds to a load that a cache serves, and to one that memory does.
  struct Translation {
    double cycles = 0;
    double memory_cycles = 0;
  };

  struct TlbStop {
    Cache* cache = nullptr;
    Translation miss;
  };

  std::vector<Stop> stops;
  Partitions partitions;
  const AtomicSpec* atomics = nullptr;  // of the nearest stop that performs any
  std::size_t atomic_stop = 0;
  double memory_latency_cycles = 0;
  double far_memory_latency_cycles = 0;  // 0: no other
  std::vector<TlbStop> tlbs;  // that translate beyond the first `stops_before_tlb` stops; empty: nothing is translated
  std::size_t stops_before_tlb = 0;
  unsigned page_shift = 0;  // of the first level of TLB
};

class Hierarchy {
 public:
  explicit Hierarchy(const MachineSpec& spec);

  // Of the programs that start from here on: ChaseProgram::l2_fetch_bytes.
  void set_l2_fetch_bytes(std::uint32_t bytes) { l2_fetch_bytes_ = bytes; }

  // Everything is empty again, and the carve-out is taken.
  void start_program(std::uint64_t carve_out_bytes, std::uint64_t seed);

  // From here on rollback() can undo what loads change, until start_program() is called.
  void checkpoint();
  // What was at the checkpoint is there again, for another program.
  void rollback(std::uint64_t seed);
  // Likewise, and what changes from here on stays.
  void resume(std::uint64_t seed);

  // What changes from here on stays.
  void end_checkpoint();
  // Whether all loads from here on would take what they would have taken at the checkpoint. False where that is hard to
  // say.
  [[nodiscard]] bool is_at_checkpoint() const;

  // A cache replaced lines at random since start_program(): another seed would have led to another state.
  [[nodiscard]] bool chose_at_random() const;

  [[nodiscard]] Path path_of(Space space, std::uint32_t warp, std::uint32_t sm = 0) {
    return path_of(space, warp, sm, sm);
  }
  // `near_sm`: the SM that decides what is near.
  [[nodiscard]] Path path_of(Space space, std::uint32_t warp, std::uint32_t sm, std::uint32_t near_sm);
  // Of a block whose loads overlap: how far its SM is from what all share does not show.
  [[nodiscard]] Path overlapping_path_of(Space space, std::uint32_t warp, std::uint32_t sm, std::uint32_t near_sm);
  // What the instructions of a warp pass; "latencies" are cycles per instruction.
  [[nodiscard]] Path code_path_of(std::uint32_t warp, std::uint32_t sm);
  // The same caches; "latencies" are those of a jump.
  [[nodiscard]] Path jump_path_of(std::uint32_t warp, std::uint32_t sm);
  // Of constants that are operands.
  [[nodiscard]] Path operand_path_of(std::uint32_t warp, std::uint32_t sm);

  // The latency of a load, without noise; fills what it passed, from `first_stop` on.
  double load(const Path& path, std::uint64_t address, std::size_t first_stop = 0) {
    double cycles = 0;
    load(path, {&address, 1}, &cycles, first_stop);
    return cycles;
  }
  // Of up to kMaxLoadsAtOnce loads, one after another. Each cache is asked for all that come to it before the next one
  // is: it sees the same addresses in the same order as if load came after load.
  void load(const Path& path, std::span<const std::uint64_t> addresses, double* cycles, std::size_t first_stop = 0);

  // No program has asked for a path since start_program().
  [[nodiscard]] bool is_empty() const;
  // Of a path on which a walk through new memory need not be followed: how many bytes the first of some loads brings to
  // all that follow it. Nothing where it must.
  [[nodiscard]] static std::optional<std::uint64_t> fill_back_bytes(const Path& path, bool is_empty,
                                                                    const NewWalk& walk);
  // What such a walk leaves in the caches: `next` writes its loads, up to kMaxLoadsAtOnce, from the last to the first,
  // one of those that share the bytes. Returns whether the same walk would find nothing of itself.
  static bool fill_back(const Path& path, const NewWalk& walk,
                        const std::function<std::span<const std::uint64_t>()>& next);
  // The loads of such a walk take, in its order: the first of a page or of a block at home in one place this much...
  double new_load(const Path& path, std::uint64_t address) {
    return translate(path, address).memory_cycles + memory_cycles(path, address);
  }
  // ... and those behind it, up to this address, what memory takes, or the nearest cache where it has the bytes.
  [[nodiscard]] static std::uint64_t end_of_alike(const Path& path, std::uint64_t address);

  // A store of all that a load would fetch: what each cache does with it, by its policy. The cycles until the next one
  // of the same thread, which waits for nothing.
  double store(const Path& path, std::uint64_t address);

  // Another process has had the GPU: every cache and TLB is empty.
  void lose_contents();
  // The latency of an atomic addition, which is performed where the line is at home.
  double atomic(const Path& path, std::uint64_t address);

  // Another program's load passes the shared caches of this path.
  void neighbour_load(const Path& path);

 private:
  // To what all SMs share.
  void add_distance(Path& path, std::uint32_t sm) const;
  [[nodiscard]] Path instruction_path_of(std::uint32_t warp, std::uint32_t sm, double CodeStop::*cycles,
                                         double memory_cycles);
  static constexpr std::uint64_t kNoPage = ~0ull;
  // The cache, its instance and its usable bytes.
  using InstanceKey = std::pair<std::size_t, std::pair<std::uint32_t, std::uint64_t>>;

  static Path::Translation miss_of(const TlbSpec& tlb, std::uint32_t near_partition);
  static double memory_cycles(const Path& path, std::uint64_t address) {
    if (path.far_memory_latency_cycles == 0 || path.partitions.caches.empty()) return path.memory_latency_cycles;
    return path.partitions.homes.home_of(address) == path.partitions.near ? path.memory_latency_cycles
                                                                          : path.far_memory_latency_cycles;
  }
  class Pending;
  void translate(const Path& path, Pending& pending);
  static void serve(const Path& path, const Path::Stop& stop, Pending& pending);
  // By the near partition and the whole cache behind it: the stops `near_stop` and the next. What the near partition
  // has hit counts, and refreshes, in the whole cache, too.
  static void serve_near_and_whole(const Path& path, std::size_t near_stop, Pending& pending);
  static void ask(const Path::Stop& stop, Cache& cache, std::span<const std::uint64_t> addresses, bool* hits);
  static void ask_homes(const Path& path, const Path::Stop& stop, std::span<const std::uint64_t> addresses, bool* hits);
  static bool access_range(const Path::Stop& stop, Cache& cache, std::uint64_t address);
  static bool access_home(const Path& path, const Path::Stop& stop, std::uint64_t address);
  // The line is at home in the near partition.
  static bool is_at_home(const Path& path, const Path::Stop& near, std::uint64_t address);
  // Whether the store ends there.
  static bool store_at_home(const Path& path, const Path::Stop& stop, std::uint64_t address);
  // The same at a stop whose cache does not depend on the address.
  bool store_at(const Path& path, std::size_t index, std::uint64_t address);
  // No other partition than that of the path, and where the line is at home, has it any more.
  static void drop_copies(const Path& path, std::uint64_t address, bool of_own_too);
  Path::Translation translate(const Path& path, std::uint64_t address) {
    if (path.tlbs.empty()) return {};
    const std::uint64_t page = address >> path.page_shift;
    if (page == last_page_ && path.tlbs.front().cache == last_tlb_) return {};  // still in the first level
    last_page_ = page;
    last_tlb_ = path.tlbs.front().cache;
    return translate_new_page(path, address);
  }
  static Path::Translation translate_new_page(const Path& path, std::uint64_t address);
  // Which of the caches of a scope an SM uses.
  [[nodiscard]] std::uint32_t unit_of(Scope scope, std::uint32_t sm) const;
  void add_cache(Path& path, const PathStop& stop, std::uint32_t warp, std::uint32_t sm, std::uint32_t near_sm,
                 std::uint64_t& fetch_bytes);
  void add_partitions(Path& path, const CacheSpec& cache, const PathStop& stop, std::uint32_t near_sm,
                      std::uint64_t& fetch_bytes);
  Cache& cache_at(std::size_t index, std::uint32_t instance, std::uint64_t bytes);
  // `index`: among all levels, those of textures last.
  Cache& tlb_at(std::size_t index, const TlbSpec& tlb, std::uint32_t sm);
  // As the program's limit to what it fetches for a miss has it.
  [[nodiscard]] CacheSpec limited(const CacheSpec& cache) const;
  [[nodiscard]] InstanceKey key_of(std::size_t index, std::uint32_t instance, std::uint64_t bytes) const;
  // Of the caches of the spec; numbered after them the levels of TLB, and caches that fetch under a limit.
  template <typename GeometryOf>
  Cache& instance_at(const InstanceKey& key, const GeometryOf& geometry);
  static void add_stop(Path& path, const CacheSpec& spec, Cache& cache, double latency_cycles,
                       std::uint64_t& fetch_bytes);

  const MachineSpec& spec_;
  std::vector<HomeMap> homes_;  // of each cache of the spec
  std::vector<std::uint32_t> group_of_sm_;
  std::uint64_t carve_out_bytes_ = 0;
  std::uint32_t l2_fetch_bytes_ = 0;
  std::uint64_t seed_ = 0;
  std::uint64_t program_ = 0;
  std::uint64_t neighbour_address_ = 0;

  // Caches come into being when a program first uses them: by index in the spec, instance and usable bytes (near
  // partitions and carve-outs differ in size). The instances of an SM (or TPC) follow those of the one before it; for a
  // program that runs on one SM, which starts with empty caches, that is always the first.
  struct Instance {
    std::unique_ptr<Cache> cache;
    std::uint64_t program = 0;   // that it was emptied for
    bool at_checkpoint = false;  // it was in use then
  };
  [[nodiscard]] std::uint64_t seed_of(const InstanceKey& key) const {
    return derive_seed(derive_seed(seed_, key.first * 64 + key.second.first), key.second.second);
  }
  std::map<InstanceKey, Instance> instances_;
  std::uint64_t last_page_ = kNoPage;  // translated on the path that was asked for last
  const Cache* last_tlb_ = nullptr;    // by this first level
  std::uint64_t page_at_checkpoint_ = kNoPage;
  const Cache* tlb_at_checkpoint_ = nullptr;
};

}  // namespace gputopo::sim
