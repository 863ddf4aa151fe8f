// Reads a report of MT4G 1.x as sys-sage 1.1.0 does (caps-tum/sys-sage, src/parsers/mt4g.cpp): which fields it needs,
// of which type, and which counts must be divisible. Returns counts, and throws where sys-sage would end the process
// or build a tree that lacks a part of the GPU.
#pragma once

#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace gputopo::test {

struct SysSageTree {
  std::size_t sms = 0;
  std::size_t cores = 0;
  std::size_t l3 = 0;
  std::size_t l2 = 0;
  std::size_t scalar = 0;
  std::vector<std::string> of_an_sm;  // "L1+Texture+Read Only", in the order of creation
};

class SysSageReader {
 public:
  using Json = nlohmann::json;

  explicit SysSageReader(const Json& document) : document_(document) {}

  SysSageTree read() {
    no_nulls(document_, "");
    general(at(document_, "general"));
    compute(at(document_, "compute"));
    const Json& memory = at(document_, "memory");
    shared_by_all(memory);
    of_each_sm(memory);
    return tree_;
  }

 private:
  static void hold(bool holds, const std::string& what) {
    if (!holds) throw std::runtime_error(what);
  }
  static void no_nulls(const Json& json, const std::string& path) {
    hold(!json.is_null(), path + " is null");
    if (!json.is_structured()) return;
    for (const auto& [key, value] : json.items()) no_nulls(value, path + "/" + key);
  }
  static const Json& at(const Json& json, const char* key) {
    hold(json.is_object() && json.contains(key), std::string("no ") + key);
    return json.at(key);
  }
  static double number(const Json& json) {
    hold(json.is_number(), "no number: " + json.dump());
    return json.get<double>();
  }
  static std::int64_t whole(const Json& json, std::int64_t most) {
    hold(json.is_number_integer(), "no whole number: " + json.dump());
    const auto value = json.get<std::int64_t>();
    hold(value >= 0 && value <= most, "not of its type: " + json.dump());
    return value;
  }
  static std::int64_t as_int(const Json& json) { return whole(json, std::numeric_limits<std::int32_t>::max()); }
  static std::int64_t as_size(const Json& json) { return whole(json, std::numeric_limits<std::int64_t>::max()); }
  static std::int64_t value_of(const Json& json, const char* key) { return as_size(at(at(json, key), "value")); }
  static std::int64_t int_of(const Json& json, const char* key) { return as_int(at(at(json, key), "value")); }
  static std::int64_t size_of(const Json& json, const char* key) { return as_size(at(at(json, key), "size")); }
  static void optional_size(const Json& json, const char* key) {
    if (json.contains(key)) size_of(json, key);
  }
  static void mean_of(const Json& json) { number(at(at(json, "latency"), "mean")); }
  static void both_bandwidths(const Json& json) {
    number(at(at(json, "readBandwidth"), "value"));
    number(at(at(json, "writeBandwidth"), "value"));
  }
  static void optional_miss_penalty(const Json& json) {
    if (json.contains("missPenalty")) number(at(json.at("missPenalty"), "value"));
  }

  void general(const Json& json) {
    hold(at(json, "name").is_string() && at(json, "vendor").is_string(), "no names");
    const Json& capability = at(json, "computeCapability");
    as_int(at(capability, "major"));
    as_int(at(capability, "minor"));
    int_of(json, "clockRate");
  }

  void compute(const Json& json) {
    tree_.sms = static_cast<std::size_t>(as_int(at(json, "multiProcessorCount")));
    hold(tree_.sms > 0, "divides by no SMs");
    tree_.cores = static_cast<std::size_t>(as_int(at(json, "numberOfCoresPerMultiProcessor")));
    for (const char* key :
         {"maxThreadsPerBlock", "warpSize", "maxThreadsPerMultiProcessor", "maxBlocksPerMultiProcessor"}) {
      as_int(at(json, key));
    }
    // MT4G writes the first spelling, sys-sage reads the second.
    for (const auto& [written, read] :
         {std::pair("numXCDs", "numXDCDs"), std::pair("numSIMDsPerCU", "numSIMDsPerCu")}) {
      hold(json.contains(written) == json.contains(read), std::string("one spelling alone of ") + written);
      if (json.contains(read)) hold(as_int(json.at(read)) == as_int(json.at(written)), "spellings differ");
    }
  }

  // Distributes `amount` instances over those of the level before.
  static std::size_t dealt(std::size_t amount, std::size_t parents, const std::string& what) {
    hold(amount > 0, "none of " + what);
    hold(amount % parents == 0, std::to_string(amount) + " of " + what + " are dealt to " + std::to_string(parents));
    return amount;
  }

  void shared_by_all(const Json& memory) {
    const Json& main = at(memory, "main");
    value_of(main, "totalGlobalMem");
    int_of(main, "memoryClockRate");
    int_of(main, "memoryBusWidth");
    if (main.contains("latency")) {
      mean_of(main);
      both_bandwidths(main);
    }
    std::size_t leaves = 1;
    if (memory.contains("l3")) leaves = tree_.l3 = l3(memory.at("l3"));
    leaves = tree_.l2 = l2(at(memory, "l2"), leaves);
    if (memory.contains("scalarL1")) {
      tree_.scalar = scalar(memory.at("scalarL1"), leaves);
    } else {
      dealt(tree_.sms, leaves, "the SMs");
    }
  }

  static std::size_t l3(const Json& json) {
    if (json.contains("size")) value_of(json, "size");
    if (json.contains("lineSize")) value_of(json, "lineSize");
    if (json.contains("readBandwidth")) both_bandwidths(json);
    return dealt(json.contains("amount") ? static_cast<std::size_t>(as_int(json.at("amount"))) : 1, 1, "L3");
  }

  static std::size_t l2(const Json& json, std::size_t leaves) {
    int_of(json, "size");
    optional_size(json, "fetchGranularity");
    optional_size(json, "segmentSize");
    if (json.contains("lineSize"))
      as_size(at(json.at("lineSize"), json.at("lineSize").contains("value") ? "value" : "size"));
    if (json.contains("latency")) {
      mean_of(json);
      both_bandwidths(json);
    }
    optional_miss_penalty(json);
    return dealt(json.contains("amount") ? static_cast<std::size_t>(as_int(json.at("amount"))) : 1, leaves, "L2");
  }

  std::size_t scalar(const Json& json, std::size_t leaves) const {
    size_of(json, "fetchGranularity");
    size_of(json, "size");
    optional_size(json, "lineSize");
    mean_of(json);
    optional_miss_penalty(json);
    const std::size_t amount =
        dealt(json.contains("uniqueAmount") ? static_cast<std::size_t>(as_int(json.at("uniqueAmount"))) : 1, leaves,
              "scalar");
    if (!json.contains("sharedBetween")) return dealt(amount, leaves, "scalar");
    hold(json.at("sharedBetween").size() == amount, "not as many groups as scalar caches");
    std::set<std::int64_t> ids;
    std::size_t members = 0;
    for (const Json& group : json.at("sharedBetween")) {
      for (const Json& id : group) ids.insert(as_int(id));
      members += group.size();
    }
    hold(members == tree_.sms, "SMs too many, or in no group");
    hold(ids.size() == members, "an SM in two groups");
    return amount;
  }

  // A cache of an SM. An SM may have several instances.
  std::string sm_cache(const Json& json, std::string name, bool is_mandatory) {
    if (is_mandatory) {
      size_of(json, "fetchGranularity");
      size_of(json, "size");
      mean_of(json);
    } else {
      optional_size(json, "fetchGranularity");
      optional_size(json, "size");
      if (json.contains("latency")) mean_of(json);
    }
    optional_size(json, "lineSize");
    optional_miss_penalty(json);
    if (json.contains("amountPerMultiprocessor")) {
      const auto amount = static_cast<std::size_t>(as_int(json.at("amountPerMultiprocessor")));
      hold(amount > 0 && tree_.cores % amount == 0, "the cores are not dealt to " + name);
    }
    if (!json.contains("sharedWith")) return name;
    for (const Json& partner : json.at("sharedWith")) {
      const auto text = partner.get<std::string>();
      hold(std::set<std::string>{"L1", "Read Only", "Texture", "Constant L1"}.contains(text), "unknown name " + text);
      name += "+" + text;
    }
    return name;
  }

  void constants(const Json& json) {
    value_of(json, "totalConstMem");
    if (json.size() == 1) {
      tree_.of_an_sm.emplace_back("Constant");
      return;
    }
    const Json& l15 = at(json, "l1.5");
    size_of(l15, "fetchGranularity");
    size_of(l15, "size");
    optional_size(l15, "lineSize");
    if (l15.contains("latency")) mean_of(l15);
    tree_.of_an_sm.emplace_back("Constant L1.5");
    const Json& l1 = at(json, "l1");
    if (l1.contains("sharedWith")) return;  // sys-sage then treats it as a part of another cache
    tree_.of_an_sm.push_back(sm_cache(l1, "Constant L1", true));
  }

  void of_each_sm(const Json& memory) {
    constants(at(memory, "constant"));
    const Json& shared = at(memory, "shared");
    value_of(shared, "sharedMemPerBlock");
    value_of(shared, "sharedMemPerMultiProcessor");
    if (shared.contains("latency")) mean_of(shared);
    tree_.of_an_sm.emplace_back("Shared Memory");
    const std::string l1 = sm_cache(at(memory, "l1"), "L1", false);
    tree_.of_an_sm.push_back(l1);
    for (const auto& [key, name] : {std::pair("texture", "Texture"), std::pair("readOnly", "Read Only")}) {
      if (!memory.contains(key)) continue;
      const std::string own = sm_cache(memory.at(key), name, true);
      const bool is_known = std::ranges::any_of(tree_.of_an_sm, [&](const std::string& other) {
        return other.find(std::string("+") + name) != std::string::npos;
      });
      if (!is_known) tree_.of_an_sm.push_back(own);
    }
  }

  const Json& document_;
  SysSageTree tree_;
};

}  // namespace gputopo::test
