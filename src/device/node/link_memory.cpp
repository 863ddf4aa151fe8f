#include "device/node/link_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "gputopo/error.h"
#include "program/transfer_fields.h"

namespace gputopo::node {
namespace {

constexpr std::uint64_t kWordsOfLink = kTransferStride / sizeof(std::uint64_t);

// A random cycle through all links, as offsets.
std::vector<std::uint64_t> shuffled_chain(std::uint64_t count) {
  std::vector<std::uint64_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  std::mt19937_64 random(count);
  std::shuffle(order.begin(), order.end(), random);
  std::vector<std::uint64_t> image(count * kWordsOfLink);
  for (std::uint64_t i = 0; i < count; ++i) image[order[i] * kWordsOfLink] = order[(i + 1) % count] * kTransferStride;
  return image;
}

}  // namespace

const std::vector<std::uint64_t>& LinkMemory::ChainImage::at(LinkAddress base, std::uint64_t bytes) {
  if (words_.empty()) words_ = shuffled_chain(bytes / kTransferStride);
  for (std::size_t i = 0; i < words_.size(); i += kWordsOfLink) words_[i] += base - base_;
  base_ = base;
  return words_;
}

void make_any_current(const LinkGpus& gpus) {
  const auto open = std::ranges::find_if(gpus, [](const auto& gpu) { return gpu != nullptr; });
  (*open)->make_current();
}

std::optional<std::uint32_t> LinkMemory::numa_id(std::uint32_t index) const {
  if (info_.numa_nodes.size() == 1) return std::nullopt;
  return info_.numa_nodes[index].id;
}

LockedMemory& LinkMemory::locked_memory(std::uint32_t index, std::uint64_t bytes) {
  Host& host = hosts_[index];
  if (bytes >= host.refused_bytes) throw DeviceMemoryError(host.refusal);
  if (!host.locked || host.locked->bytes() < bytes) {
    make_any_current(gpus_);
    try {
      host.locked = std::make_unique<LockedMemory>(driver_, bytes, numa_id(index));
    } catch (const DeviceMemoryError& error) {
      host.refused_bytes = bytes;
      host.refusal = error.what();
      throw;
    }
    chains_.erase({EndpointKind::kHost, index});
  }
  return *host.locked;
}

LinkAddress LinkMemory::reserve(const Endpoint& place, std::uint64_t bytes) {
  if (place.kind == EndpointKind::kHost) return locked_memory(place.index, bytes).address();
  LinkGpu& gpu = *gpus_[place.index];
  if (gpu.reserved_bytes() < bytes) {
    chains_.erase(place);
    gpu.make_current();
    gpu.reserve(bytes);
  }
  return gpu.address();
}

std::vector<Slot> LinkMemory::slots_of(const TransferProgram& program) {
  std::map<Endpoint, std::uint64_t> bytes;
  std::vector<Slot> slots(program.transfers.size());
  for (std::size_t i = 0; i < slots.size(); ++i) {
    slots[i].from = bytes[program.transfers[i].from];
    bytes[program.transfers[i].from] += program.bytes;
    slots[i].to = bytes[program.transfers[i].to];
    bytes[program.transfers[i].to] += program.bytes;
  }
  std::map<Endpoint, LinkAddress> bases;
  // GPUs first, because they report missing memory at once.
  std::for_each(bytes.rbegin(), bytes.rend(),
                [&](const auto& needed) { bases[needed.first] = reserve(needed.first, needed.second); });
  for (std::size_t i = 0; i < slots.size(); ++i) {
    slots[i].from += bases[program.transfers[i].from];
    slots[i].to += bases[program.transfers[i].to];
  }
  return slots;
}

HostMemory& LinkMemory::pageable(std::uint32_t numa_node, std::uint64_t bytes) {
  HostMemory& memory = hosts_[numa_node].pageable;
  if (memory.bytes() < bytes) memory = HostMemory(bytes, numa_id(numa_node));
  return memory;
}

void LinkMemory::put(const Endpoint& place, LinkAddress address, const void* data, std::uint64_t bytes) {
  if (place.kind == EndpointKind::kHost) {
    const LockedMemory& locked = *hosts_[place.index].locked;
    std::copy_n(static_cast<const std::byte*>(data), bytes, locked.at(address));
    return;
  }
  LinkGpu& gpu = *gpus_[place.index];
  gpu.make_current();
  gpu.upload(address, data, bytes);
  gpu.synchronize(fmt::format("copy of {} bytes to {}", bytes, to_text(place)));
}

std::uint64_t LinkMemory::word_at(const Endpoint& place, LinkAddress address) {
  std::uint64_t word = 0;
  if (place.kind == EndpointKind::kHost) {
    std::copy_n(hosts_[place.index].locked->at(address), sizeof(word), reinterpret_cast<std::byte*>(&word));
    return word;
  }
  gpus_[place.index]->make_current();
  gpus_[place.index]->download(&word, address, sizeof(word));
  return word;
}

LinkEnd LinkMemory::end_at(const Endpoint& place, LinkAddress address) const {
  if (place.kind == EndpointKind::kGpu) return {.gpu = gpus_[place.index].get(), .address = address};
  return {.address = address, .host = hosts_[place.index].locked->at(address)};
}

void LinkMemory::build_chain(const Endpoint& place, LinkAddress base, std::uint64_t bytes) {
  const auto known = chains_.find(place);
  if (known != chains_.end() && known->second == std::pair(base, bytes)) return;
  const std::vector<std::uint64_t>& image = images_[bytes].at(base, bytes);
  put(place, base, image.data(), image.size() * sizeof(std::uint64_t));
  chains_[place] = {base, bytes};
}

}  // namespace gputopo::node
