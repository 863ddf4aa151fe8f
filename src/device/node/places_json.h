// The parts of a node as JSON, for recordings and reports.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "gputopo/links.h"

namespace gputopo::node {

[[nodiscard]] nlohmann::ordered_json gpu_json(const NodeGpu& gpu);
[[nodiscard]] nlohmann::ordered_json numa_json(const NumaNode& numa);
[[nodiscard]] nlohmann::ordered_json peer_json(const PeerLink& peer);
// Each throws FormatError that names the `path`: "gpus[0].name".
[[nodiscard]] NodeGpu read_gpu(const nlohmann::ordered_json& json, const std::string& path);
[[nodiscard]] NumaNode read_numa(const nlohmann::ordered_json& json, const std::string& path);
[[nodiscard]] PeerLink read_peer(const nlohmann::ordered_json& json, const std::string& path);
// Parses "gpu0", as to_text(Endpoint) writes it.
[[nodiscard]] Endpoint parse_place(std::string_view text, const std::string& path);

[[nodiscard]] nlohmann::ordered_json info_json(const NodeInfo& info);
[[nodiscard]] NodeInfo read_info(const nlohmann::ordered_json& json);
// Throws FormatError if a place does not exist in the node, or if there are more parts than any node has.
void check_node(const NodeInfo& info);

// A required and an optional member (absent or null). `Value`: std::string, bool, double, std::uint32_t, std::uint64_t.
template <typename Value>
[[nodiscard]] Value member(const nlohmann::ordered_json& json, const char* name, const std::string& path);
template <typename Value>
[[nodiscard]] std::optional<Value> optional_member(const nlohmann::ordered_json& json, const char* name,
                                                   const std::string& path);
// Returns an empty list if there is no such member.
[[nodiscard]] const nlohmann::ordered_json& list_member(const nlohmann::ordered_json& json, const char* name,
                                                        const std::string& path);
[[noreturn]] void refuse(const std::string& path, const std::string& problem);
[[nodiscard]] std::string within(const std::string& path, std::string_view name);
[[nodiscard]] std::string item_of(const std::string& path, std::size_t index);

}  // namespace gputopo::node
