#include "report/json/timing.h"

#include <fmt/format.h>

#include <utility>

namespace gputopo::report {
namespace {

using Json = nlohmann::ordered_json;

// Writes "gpu_seconds", "compile_seconds", "compile_calls" and so on.
Json times_json(const DeviceTimes& times) {
  Json json{{"gpu_seconds", times.gpu_seconds}};
  for (const CallKind kind : kAllCallKinds) {
    json[fmt::format("{}_seconds", to_string(kind))] = times.of(kind).seconds;
    json[fmt::format("{}_calls", to_string(kind))] = times.of(kind).calls;
  }
  return json;
}

DeviceTimes read_times(const Node& node) {
  DeviceTimes times{.gpu_seconds = node.at("gpu_seconds").number()};
  for (const CallKind kind : kAllCallKinds) {
    const Node calls = node.at(fmt::format("{}_calls", to_string(kind)));
    const Node seconds = node.at(fmt::format("{}_seconds", to_string(kind)));
    times.of(kind) = {.calls = static_cast<std::uint64_t>(calls.integer()), .seconds = seconds.number()};
  }
  return times;
}

Json profile_json(const Profile& profile) {
  Json calls = Json::array();
  for (const NamedCallTimes& call : profile.calls) {
    calls.push_back(Json{{"call", call.name}, {"seconds", call.times.seconds}, {"calls", call.times.calls}});
  }
  return Json{
      {"opening", times_json(profile.opening)}, {"total", times_json(profile.total)}, {"calls", std::move(calls)}};
}

Profile read_profile(const Node& node) {
  Profile profile{.opening = read_times(node.at("opening")), .total = read_times(node.at("total")), .calls = {}};
  for (const Node& call : node.at("calls").elements()) {
    profile.calls.push_back({.name = call.at("call").text(),
                             .times = {.calls = static_cast<std::uint64_t>(call.at("calls").integer()),
                                       .seconds = call.at("seconds").number()}});
  }
  return profile;
}

}  // namespace

Json timing_json(const Topology& topology) {
  Json probes = Json::array();
  for (const ProbeTime& probe : topology.timing) {
    Json& json =
        probes.emplace_back(Json{{"probe", probe.probe}, {"seconds", probe.seconds}, {"programs", probe.programs}});
    if (probe.device) json["device"] = times_json(*probe.device);
  }
  Json json{{"total_seconds", topology.total_seconds}, {"probes", std::move(probes)}};
  if (topology.profile) json["profile"] = profile_json(*topology.profile);
  return json;
}

void read_timing(const Node& timing, Topology& topology) {
  topology.total_seconds = timing.at("total_seconds").number();
  for (const Node& probe : timing.at("probes").elements()) {
    ProbeTime& time =
        topology.timing.emplace_back(ProbeTime{.probe = probe.at("probe").text(),
                                               .seconds = probe.at("seconds").number(),
                                               .programs = static_cast<std::uint64_t>(probe.at("programs").integer())});
    if (probe.has("device")) time.device = read_times(probe.at("device"));
  }
  if (timing.has("profile")) topology.profile = read_profile(timing.at("profile"));
}

}  // namespace gputopo::report
