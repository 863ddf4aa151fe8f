#include "node/link_rounds.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace gputopo::node {

// Round-robin: one GPU stays and all others move on by one place each round. An odd count leaves one place empty.
std::vector<Round> disjoint_rounds(std::size_t gpus) {
  const std::size_t places = gpus + gpus % 2;
  std::vector<Round> rounds;
  for (std::size_t turn = 0; turn + 1 < places; ++turn) {
    const auto at = [&](std::size_t place) { return place == 0 ? 0 : 1 + (place - 1 + turn) % (places - 1); };
    Round round;
    for (std::size_t place = 0; place < places / 2; ++place) {
      const auto [one, other] = std::minmax({at(place), at(places - 1 - place)});
      if (other < gpus) round.emplace_back(static_cast<std::uint32_t>(one), static_cast<std::uint32_t>(other));
    }
    rounds.push_back(std::move(round));
  }
  return rounds;
}

bool is_one_switch(const NodeInfo& info) {
  constexpr std::size_t kLeastGpus = 4;
  const std::size_t gpus = info.gpus.size();
  if (gpus < kLeastGpus || info.peers.size() != gpus * (gpus - 1)) return false;
  const PeerLink& first = info.peers.front();
  return std::ranges::all_of(info.peers, [&](const PeerLink& peer) {
    return peer.is_reachable && peer.kind == "nvswitch" && peer.lanes == first.lanes;
  });
}

std::vector<Batch> batches_of(const NodeInfo& info, const std::vector<Transfer>& transfers) {
  const bool at_once = is_one_switch(info);
  std::vector<Batch> batches;
  for (const Transfer& transfer : transfers) {
    if (!at_once || transfer.from.kind != transfer.to.kind) batches.push_back({transfer});
  }
  if (!at_once) return batches;
  const auto ways_of = [&](const Round& round) {
    std::array<Batch, 2> ways;
    for (const auto& [one, other] : round) {
      const Endpoint places[] = {{EndpointKind::kGpu, one}, {EndpointKind::kGpu, other}};
      ways[0].push_back({places[0], places[1]});
      ways[1].push_back({places[1], places[0]});
    }
    for (Batch& way : ways) {
      std::erase_if(
          way, [&](const Transfer& transfer) { return std::ranges::find(transfers, transfer) == transfers.end(); });
    }
    return ways;
  };
  bool is_first = true;
  for (const Round& round : disjoint_rounds(info.gpus.size())) {
    for (Batch& way : ways_of(round)) {
      if (std::exchange(is_first, false)) {
        for (const Transfer& transfer : way) batches.push_back({transfer});
      } else if (!way.empty()) {
        batches.push_back(std::move(way));
      }
    }
  }
  return batches;
}

bool matches_solo_rate(const Estimate& at_once, std::span<const double> alone) {
  constexpr double kAlike = 0.01;
  const auto is_alike = [&](double rate) { return std::abs(at_once.value - rate) <= kAlike * rate; };
  return alone.size() > 1 && std::ranges::all_of(alone, is_alike) && at_once.spread() <= kSteadySpread;
}

}  // namespace gputopo::node
