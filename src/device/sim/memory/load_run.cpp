// Runs of loads through a hierarchy.
#include <algorithm>
#include <array>

#include "device/sim/memory/hierarchy.h"

namespace gputopo::sim {

// The loads of a run that no cache has served yet, in order.
class Hierarchy::Pending {
 public:
  Pending(std::span<const std::uint64_t> addresses, double* cycles) : addresses_(addresses), cycles_(cycles) {}

  [[nodiscard]] std::size_t count() const { return addresses_.size(); }
  [[nodiscard]] std::span<const std::uint64_t> addresses() const { return addresses_; }

  void set_cycles(std::size_t i, double cycles) { cycles_[is_whole_ ? i : places_[i]] = cycles; }

  void set_translation(std::size_t i, Path::Translation translation) {
    if (!is_translated_ && translation.cycles == 0 && translation.memory_cycles == 0) return;
    if (!is_translated_) {
      std::fill_n(translation_cycles_.begin(), count(), 0.0);
      std::fill_n(translation_memory_cycles_.begin(), count(), 0.0);
    }
    is_translated_ = true;
    translation_cycles_[i] = translation.cycles;
    translation_memory_cycles_[i] = translation.memory_cycles;
  }
  [[nodiscard]] double translation_cycles(std::size_t i) const { return is_translated_ ? translation_cycles_[i] : 0; }
  [[nodiscard]] double translation_memory_cycles(std::size_t i) const {
    return is_translated_ ? translation_memory_cycles_[i] : 0;
  }

  void drop(const bool* served) {
    const auto served_count = static_cast<std::size_t>(std::count(served, served + count(), true));
    if (served_count == 0) return;
    std::size_t kept = 0;
    for (std::size_t i = 0; i < count() && served_count < count(); ++i) {
      kept_addresses_[kept] = addresses_[i];
      places_[kept] = is_whole_ ? static_cast<std::uint32_t>(i) : places_[i];
      if (is_translated_) {
        translation_cycles_[kept] = translation_cycles_[i];
        translation_memory_cycles_[kept] = translation_memory_cycles_[i];
      }
      kept += served[i] ? 0 : 1;
    }
    is_whole_ = false;
    addresses_ = std::span(kept_addresses_).first(kept);
  }

 private:
  std::span<const std::uint64_t> addresses_;
  double* cycles_;              // results of the whole run
  bool is_whole_ = true;        // no load has been served yet
  bool is_translated_ = false;  // a translation took time
  std::array<std::uint64_t, kMaxLoadsAtOnce> kept_addresses_;
  std::array<std::uint32_t, kMaxLoadsAtOnce> places_;  // indices in the run
  std::array<double, kMaxLoadsAtOnce> translation_cycles_;
  std::array<double, kMaxLoadsAtOnce> translation_memory_cycles_;
};

void Hierarchy::load(const Path& path, std::span<const std::uint64_t> addresses, double* cycles,
                     std::size_t first_stop) {
  Pending pending(addresses, cycles);
  for (std::size_t i = first_stop; i < path.stops.size() && pending.count() > 0; ++i) {
    if (i == path.stops_before_tlb) translate(path, pending);
    if (path.stops[i].whole == nullptr) {
      serve(path, path.stops[i], pending);
    } else {
      serve_near_and_whole(path, i++, pending);
    }
  }
  if (path.stops_before_tlb == path.stops.size()) translate(path, pending);
  for (std::size_t i = 0; i < pending.count(); ++i) {
    pending.set_cycles(i, memory_cycles(path, pending.addresses()[i]) + pending.translation_memory_cycles(i));
  }
}

void Hierarchy::translate(const Path& path, Pending& pending) {
  if (path.tlbs.empty()) return;
  for (std::size_t i = 0; i < pending.count(); ++i) {
    pending.set_translation(i, translate(path, pending.addresses()[i]));
  }
}

void Hierarchy::serve(const Path& path, const Path::Stop& stop, Pending& pending) {
  std::array<bool, kMaxLoadsAtOnce> hits;
  if (stop.by_home) {
    ask_homes(path, stop, pending.addresses(), hits.data());
  } else {
    ask(stop, *stop.cache, pending.addresses(), hits.data());
  }
  for (std::size_t i = 0; i < pending.count(); ++i) {
    if (hits[i]) pending.set_cycles(i, stop.latency_cycles + pending.translation_cycles(i));
  }
  pending.drop(hits.data());
}

void Hierarchy::serve_near_and_whole(const Path& path, std::size_t near_stop, Pending& pending) {
  const Path::Stop& near = path.stops[near_stop];
  const Path::Stop& far = path.stops[near_stop + 1];
  const std::span<const std::uint64_t> addresses = pending.addresses();
  std::array<bool, kMaxLoadsAtOnce> near_hits;
  std::array<bool, kMaxLoadsAtOnce> hits;
  ask(near, *near.cache, addresses, near_hits.data());
  if (far.fetch_sectors == 1) {
    ask(far, *far.cache, addresses, hits.data());
  } else {
    for (std::size_t i = 0; i < addresses.size(); ++i) {
      hits[i] = near_hits[i] ? far.cache->access(addresses[i]) : access_range(far, *far.cache, addresses[i]);
    }
  }
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    if (hits[i]) {
      pending.set_cycles(i, (near_hits[i] ? near : far).latency_cycles + pending.translation_cycles(i));
    } else if (near_hits[i]) {
      pending.set_cycles(i, memory_cycles(path, addresses[i]) + pending.translation_memory_cycles(i));
    }
    hits[i] = hits[i] || near_hits[i];
  }
  pending.drop(hits.data());
}

// Finds out whether the cache has all that each load fetches.
void Hierarchy::ask(const Path::Stop& stop, Cache& cache, std::span<const std::uint64_t> addresses, bool* hits) {
  if (stop.fetch_sectors == 1) return cache.access(addresses, hits);
  std::array<std::uint64_t, kMaxLoadsAtOnce> sectors;
  std::array<bool, kMaxLoadsAtOnce> there;
  const std::size_t at_once = kMaxLoadsAtOnce / stop.fetch_sectors;
  for (std::size_t first = 0; first < addresses.size(); first += at_once) {
    const std::size_t last = std::min(first + at_once, addresses.size());
    std::size_t asked = 0;
    for (std::size_t i = first; i < last; ++i) {
      const std::uint64_t start = addresses[i] & ~(stop.fetch_bytes - 1);
      for (std::uint32_t s = 0; s < stop.fetch_sectors; ++s) {
        sectors[asked++] = start + s * std::uint64_t{cache.sector_bytes()};
      }
    }
    cache.access(std::span(sectors).first(asked), there.data());
    for (std::size_t i = first; i < last; ++i) {
      const bool* const of_load = &there[(i - first) * stop.fetch_sectors];
      hits[i] = std::all_of(of_load, of_load + stop.fetch_sectors, [](bool is_there) { return is_there; });
    }
  }
}

// The same for each load's home partition, except the near one, which was asked before.
void Hierarchy::ask_homes(const Path& path, const Path::Stop& stop, std::span<const std::uint64_t> addresses,
                          bool* hits) {
  const Path::Partitions& partitions = path.partitions;
  for (std::size_t first = 0; first < addresses.size();) {
    const std::uint32_t home = partitions.homes.home_of(addresses[first]);
    std::size_t last = first + 1;
    while (last < addresses.size() && partitions.homes.home_of(addresses[last]) == home) ++last;
    if (home == partitions.near) {
      std::fill(hits + first, hits + last, false);
    } else {
      ask(stop, *partitions.caches[home], addresses.subspan(first, last - first), hits + first);
    }
    first = last;
  }
}

}  // namespace gputopo::sim
