// The memory of a simulated machine as one program sees it: which cache or memory serves a load, and how long that
// takes. load_run.cpp defines the loads of Hierarchy; fill_back.cpp defines fill_back() and its helpers.
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

// Bytes of a cache that remain after a carve-out of `carve_out_bytes` for shared memory.
[[nodiscard]] std::uint64_t usable_bytes(const CacheSpec& spec, std::uint64_t carve_out_bytes);
// The geometry of a TLB level, with its entries as lines. Throws FormatError without the name of the field.
[[nodiscard]] CacheGeometry tlb_geometry(const TlbSpec& spec);

// The caches and TLBs that a warp's loads through one space pass, nearest first, and the memory behind them.
class Path {
 public:
  struct Stop {
    Cache* cache = nullptr;
    double latency_cycles = 0;
    // A miss in a nearer stop fetches `fetch_sectors` sectors of this cache, from the multiple of `fetch_bytes` at or
    // below the address on. A load hits here only if all of them are present.
    std::uint64_t fetch_bytes = 1;
    std::uint32_t fetch_sectors = 1;
    Cache* whole = nullptr;  // whole cache behind a near partition, if any
    const CacheSpec* spec = nullptr;
    // The stop behind a near partition without a whole cache: each line's home partition serves it.
    bool by_home = false;
  };

  // The partitions of the path's partitioned cache, and the near one.
  struct Partitions {
    std::vector<Cache*> caches;
    std::uint32_t near = 0;
    std::size_t near_stop = ~std::size_t{0};  // index in `stops`, before the far stop; none without partitions
    HomeMap homes;
  };

  // Cycles that a translation adds to a load that a cache serves, and to one that memory serves.
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
  const AtomicSpec* atomics = nullptr;  // atomics of the nearest stop that performs any
  std::size_t atomic_stop = 0;
  double memory_latency_cycles = 0;
  double far_memory_latency_cycles = 0;  // 0: the same as near memory
  std::vector<TlbStop> tlbs;             // asked behind the first `stops_before_tlb` stops; empty: no translation
  std::size_t stops_before_tlb = 0;
  unsigned page_shift = 0;  // log2 of the first TLB level's pages
};

class Hierarchy {
 public:
  explicit Hierarchy(const MachineSpec& spec);

  // Sets ChaseProgram::l2_fetch_bytes for the programs that start from now on.
  void set_l2_fetch_bytes(std::uint32_t bytes) { l2_fetch_bytes_ = bytes; }

  // Empties all caches and TLBs, and sets the carve-out.
  void start_program(std::uint64_t carve_out_bytes, std::uint64_t seed);

  // Lets rollback() undo the effects of later loads, until start_program() is called.
  void checkpoint();
  // Restores the state of the checkpoint for another program. The checkpoint stays.
  void rollback(std::uint64_t seed);
  // Restores the state of the checkpoint and ends the checkpoint.
  void resume(std::uint64_t seed);

  // Ends the checkpoint: later effects can no longer be undone.
  void end_checkpoint();
  // True only if all later loads would take what they would have taken at the checkpoint; may be false if in doubt.
  [[nodiscard]] bool is_at_checkpoint() const;

  // True if a cache replaced lines at random since start_program(): another seed would have led to another state.
  [[nodiscard]] bool chose_at_random() const;

  [[nodiscard]] Path path_of(Space space, std::uint32_t warp, std::uint32_t sm = 0) {
    return path_of(space, warp, sm, sm);
  }
  // `near_sm`: the SM whose position decides which partition is near and how far the shared levels are.
  [[nodiscard]] Path path_of(Space space, std::uint32_t warp, std::uint32_t sm, std::uint32_t near_sm);
  // For a block whose loads overlap, which hides the distance of its SM to what all SMs share.
  [[nodiscard]] Path overlapping_path_of(Space space, std::uint32_t warp, std::uint32_t sm, std::uint32_t near_sm);
  // The path of a warp's instructions. Its latencies are cycles per instruction.
  [[nodiscard]] Path code_path_of(std::uint32_t warp, std::uint32_t sm);
  // The same caches, with the latencies of jumps.
  [[nodiscard]] Path jump_path_of(std::uint32_t warp, std::uint32_t sm);
  // The path of constants that are operands.
  [[nodiscard]] Path operand_path_of(std::uint32_t warp, std::uint32_t sm);

  // Returns the latency of a load without noise, and fills the caches that it passes, from `first_stop` on.
  double load(const Path& path, std::uint64_t address, std::size_t first_stop = 0) {
    double cycles = 0;
    load(path, {&address, 1}, &cycles, first_stop);
    return cycles;
  }
  // The same for up to kMaxLoadsAtOnce consecutive loads. Each cache handles all loads that reach it before the next
  // cache does, so it sees the same addresses in the same order as with one load after another.
  void load(const Path& path, std::span<const std::uint64_t> addresses, double* cycles, std::size_t first_stop = 0);

  // True if no path was requested since start_program().
  [[nodiscard]] bool is_empty() const;
  // Returns the bytes that a miss brings in for the loads behind it, if a walk through new memory on this path need not
  // be simulated load by load. Returns nothing if it must be.
  [[nodiscard]] static std::optional<std::uint64_t> fill_back_bytes(const Path& path, bool is_empty,
                                                                    const NewWalk& walk);
  // Leaves in the caches what such a walk leaves. `next` returns up to kMaxLoadsAtOnce loads, from the last to the
  // first, one of those that share fill_back_bytes(). Returns whether a repetition of the walk would find none of it.
  static bool fill_back(const Path& path, const NewWalk& walk,
                        const std::function<std::span<const std::uint64_t>()>& next);
  // The latencies of such a walk, in order: the first load of each page and of each home block takes this long ...
  double new_load(const Path& path, std::uint64_t address) {
    return translate(path, address).memory_cycles + memory_cycles(path, address);
  }
  // ... and the loads behind it, up to this address, take what memory takes, or the nearest cache if it has the bytes.
  [[nodiscard]] static std::uint64_t end_of_alike(const Path& path, std::uint64_t address);

  // Stores all that a load would fetch, by the policy of each cache. Returns the cycles until the thread's next store,
  // which does not wait for this one.
  double store(const Path& path, std::uint64_t address);

  // Empties all caches and TLBs, after a turn of another process.
  void lose_contents();
  // Returns the latency of an atomic addition, which the home of the line performs.
  double atomic(const Path& path, std::uint64_t address);

  // Sends a load of another program through the shared caches of this path.
  void neighbour_load(const Path& path);

 private:
  // Adds the SM's distance to the latencies of all that the SMs share.
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
  // Serves loads from the near partition and the whole cache behind it (stops `near_stop` and the next). A hit in the
  // near partition refreshes the whole cache too, and takes the latency of memory if the line is gone there.
  static void serve_near_and_whole(const Path& path, std::size_t near_stop, Pending& pending);
  static void ask(const Path::Stop& stop, Cache& cache, std::span<const std::uint64_t> addresses, bool* hits);
  static void ask_homes(const Path& path, const Path::Stop& stop, std::span<const std::uint64_t> addresses, bool* hits);
  static bool access_range(const Path::Stop& stop, Cache& cache, std::uint64_t address);
  static bool access_home(const Path& path, const Path::Stop& stop, std::uint64_t address);
  // True if the cache has no whole behind it and the line's home is the near partition.
  static bool is_at_home(const Path& path, const Path::Stop& near, std::uint64_t address);
  // Returns whether the store ends at this stop.
  static bool store_at_home(const Path& path, const Path::Stop& stop, std::uint64_t address);
  // The same for a stop whose cache does not depend on the address.
  bool store_at(const Path& path, std::size_t index, std::uint64_t address);
  // Drops the line from all partitions but its home and, unless `of_own_too`, the near one.
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
  // Returns which of the caches of a scope an SM uses.
  [[nodiscard]] std::uint32_t unit_of(Scope scope, std::uint32_t sm) const;
  void add_cache(Path& path, const PathStop& stop, std::uint32_t warp, std::uint32_t sm, std::uint32_t near_sm,
                 std::uint64_t& fetch_bytes);
  void add_partitions(Path& path, const CacheSpec& cache, const PathStop& stop, std::uint32_t near_sm,
                      std::uint64_t& fetch_bytes);
  Cache& cache_at(std::size_t index, std::uint32_t instance, std::uint64_t bytes);
  // `index` counts all levels; those of textures come last.
  Cache& tlb_at(std::size_t index, const TlbSpec& tlb, std::uint32_t sm);
  // Applies the program's limit on what a miss fetches.
  [[nodiscard]] CacheSpec limited(const CacheSpec& cache) const;
  [[nodiscard]] InstanceKey key_of(std::size_t index, std::uint32_t instance, std::uint64_t bytes) const;
  // Keys number the caches of the spec first, then the TLB levels, then the caches under a fetch limit.
  template <typename GeometryOf>
  Cache& instance_at(const InstanceKey& key, const GeometryOf& geometry);
  static void add_stop(Path& path, const CacheSpec& spec, Cache& cache, double latency_cycles,
                       std::uint64_t& fetch_bytes);

  const MachineSpec& spec_;
  std::vector<HomeMap> homes_;  // one for each cache of the spec
  std::vector<std::uint32_t> group_of_sm_;
  std::uint64_t carve_out_bytes_ = 0;
  std::uint32_t l2_fetch_bytes_ = 0;
  std::uint64_t seed_ = 0;
  std::uint64_t program_ = 0;
  std::uint64_t neighbour_address_ = 0;

  // A cache is created when a program first uses it. Its key has the usable bytes because near partitions and
  // carve-outs differ in size. The instances of an SM (or TPC) follow those of the one before it. A program that runs
  // on one SM always uses the first ones, because it starts with empty caches anyway.
  struct Instance {
    std::unique_ptr<Cache> cache;
    std::uint64_t program = 0;   // program for which it was last emptied
    bool at_checkpoint = false;  // whether it was in use at the checkpoint
  };
  [[nodiscard]] std::uint64_t seed_of(const InstanceKey& key) const {
    return derive_seed(derive_seed(seed_, key.first * 64 + key.second.first), key.second.second);
  }
  std::map<InstanceKey, Instance> instances_;
  std::uint64_t last_page_ = kNoPage;  // last translated page of the latest path
  const Cache* last_tlb_ = nullptr;    // its first TLB level
  std::uint64_t page_at_checkpoint_ = kNoPage;
  const Cache* tlb_at_checkpoint_ = nullptr;
};

}  // namespace gputopo::sim
