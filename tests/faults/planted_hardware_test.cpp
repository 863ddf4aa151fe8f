// Faults of hardware that are planted in nodes and fleets, from the command line to the exit code. None passes as good.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>

#include "gputopo/file.h"
#include "support/command.h"

namespace gputopo {
namespace {

using Json = nlohmann::ordered_json;
using test::CommandResult;
using test::TemporaryFolder;

constexpr int kExitGood = 0;
constexpr int kExitBad = 1;
constexpr int kExitNotJudged = 3;

CommandResult command(const std::string& arguments) { return test::run_command(GPUTOPO_BINARY " " + arguments); }

// ---- Nodes ----

struct NodeFault {
  const char* name;
  const char* node;  // one of the simulated nodes
  std::function<void(Json&)> plant;
  int exit_code;  // of `gputopo node` and of `gputopo fleet report`
  const char* options = "";
};
void PrintTo(const NodeFault& fault, std::ostream* out) { *out << fault.name; }

void slow_down(Json& node, const std::string& segment, double factor) {
  for (Json& one : node["segments"]) {
    if (one["name"] != segment) continue;
    for (const char* rate : {"bytes_per_second", "back_bytes_per_second", "both_bytes_per_second"}) {
      if (one.contains(rate)) one[rate] = one[rate].get<double>() * factor;
    }
  }
}

// Calls `change` for the pairs of a GPU.
void change_peers(Json& node, const std::string& gpu, const std::function<void(Json&)>& change) {
  for (Json& peer : node["peers"]) {
    if (peer["from"] == gpu || peer["to"] == gpu) change(peer);
  }
}

// Eight GPUs that are joined by one xGMI link each, with rates that the driver may report.
void make_mi300x(Json& node, const Json& lane_bytes_per_second) {
  for (Json& gpu : node["gpus"]) gpu["name"] = "AMD Instinct MI300X";
  for (Json& peer : node["peers"]) {
    peer["kind"] = "xgmi";
    peer["lanes"] = lane_bytes_per_second.is_null() ? Json() : Json(1);
    peer["lane_bytes_per_second"] = lane_bytes_per_second;
  }
  for (int gpu = 0; gpu < 8; ++gpu) slow_down(node, "nvlink" + std::to_string(gpu), 0.13);
}

// The links between slot and host: generation and lanes that they can have, and lanes in use.
void put_behind_bridge(Json& node, int generation, int lanes, int lanes_in_use) {
  for (Json& gpu : node["gpus"]) {
    gpu["pcie_slot_generation_max"] = 5;
    gpu["pcie_slot_width_max"] = 16;
    gpu["pcie_hops"] = {
        {{"port", "0000:00:01.0"}, {"width", lanes_in_use}, {"generation_max", generation}, {"width_max", lanes}}};
  }
}

void fall_back_to_pcie(Json& peer) {
  peer["kind"] = "pcie";
  peer.erase("lanes");
  peer.erase("lane_bytes_per_second");
}

std::vector<NodeFault> node_faults() {
  const auto slow = [](std::string segment, double factor) {
    return [=](Json& node) { slow_down(node, segment, factor); };
  };
  const auto gpu = [](std::size_t index, const char* key, Json value) {
    return [=](Json& node) { node["gpus"][index][key] = value; };
  };
  return {
      {"None2", "h200x2", [](Json&) {}, kExitGood},
      {"None8", "h100x8", [](Json&) {}, kExitGood},
      {"HostLinkAt13Percent", "h200x2", slow("pcie1", 0.13), kExitBad},
      {"HostLinkAtHalf", "h200x2", slow("pcie0", 0.5), kExitBad},
      {"HostLinkOf8At75Percent", "h100x8", slow("pcie5", 0.75), kExitBad},
      {"FourHostLinksOf8", "h100x8",
       [](Json& node) {
         for (const char* segment : {"pcie0", "pcie2", "pcie4", "pcie6"}) slow_down(node, segment, 0.13);
       },
       kExitBad},
      {"AllHostLinksOf2", "h200x2",
       [](Json& node) {
         for (const char* segment : {"pcie0", "pcie1"}) slow_down(node, segment, 0.13);
       },
       kExitBad},
      // The slots are PCIe 4.0, but nothing reports it.
      {"AllHostLinksOf2AtHalf", "h200x2",
       [](Json& node) {
         for (const char* segment : {"pcie0", "pcie1"}) slow_down(node, segment, 0.5);
       },
       kExitNotJudged},
      {"NvLinksAtHalf", "h200x2", slow("nvlink1", 0.5), kExitBad},
      {"NvLinksAt75Percent", "h200x2", slow("nvlink0", 0.75), kExitBad},
      {"NvLinks12Of18", "h100x8",
       [](Json& node) {
         change_peers(node, "gpu3", [](Json& peer) { peer["lanes"] = 12; });
         slow_down(node, "nvlink3", 12.0 / 18);
       },
       kExitBad},
      {"NvLinks17Of18", "h100x8",
       [](Json& node) {
         change_peers(node, "gpu6", [](Json& peer) { peer["lanes"] = 17; });
         slow_down(node, "nvlink6", 17.0 / 18);
       },
       kExitBad},
      {"NvLinks9Of18OnBoth", "h200x2",
       [](Json& node) {
         change_peers(node, "gpu0", [](Json& peer) { peer["lanes"] = 9; });
         slow_down(node, "nvlink0", 0.5);
         slow_down(node, "nvlink1", 0.5);
       },
       kExitBad},
      {"NoNvLinkOnAll", "h200x2", [](Json& node) { change_peers(node, "gpu0", fall_back_to_pcie); }, kExitBad},
      {"OneGpuFellBackToPcie", "h100x8", [](Json& node) { change_peers(node, "gpu2", fall_back_to_pcie); }, kExitBad},
      {"OnePairFellBackToPcie", "h100x8",
       [](Json& node) {
         change_peers(node, "gpu2", [](Json& peer) {
           if (peer["to"] == "gpu7" || peer["from"] == "gpu7") fall_back_to_pcie(peer);
         });
       },
       kExitBad},
      {"UnknownKindOfLink", "h200x2",
       [](Json& node) {
         change_peers(node, "gpu0", [](Json& peer) {
           fall_back_to_pcie(peer);
           peer["kind"] = "";
         });
         slow_down(node, "nvlink0", 0.02);
       },
       kExitNotJudged},
      {"NarrowPcieBesideAWideOne", "h200x2", gpu(1, "pcie_width", 8), kExitBad},
      {"UnknownPcie", "h200x2",
       [](Json& node) {
         for (const char* key : {"pcie_width", "pcie_width_max", "pcie_generation", "pcie_generation_max"}) {
           node["gpus"][1].erase(key);
         }
       },
       kExitNotJudged},
      {"UnknownMaximumOfPcie", "h200x2", [](Json& node) { node["gpus"][0].erase("pcie_generation_max"); },
       kExitNotJudged},
      {"NoneMi300x", "h100x8", [](Json& node) { make_mi300x(node, 50e9); }, kExitGood},
      {"NoneMi300xUntold", "h100x8", [](Json& node) { make_mi300x(node, {}); }, kExitGood},
      {"AllXgmiLinksSlow", "h100x8",
       [](Json& node) {
         make_mi300x(node, 50e9);
         for (int i = 0; i < 8; ++i) slow_down(node, "nvlink" + std::to_string(i), 0.3);
       },
       kExitBad},
      {"AllXgmiLinksTrainedAtAQuarter", "h100x8",
       [](Json& node) {
         make_mi300x(node, 16e9);
         for (int i = 0; i < 8; ++i) slow_down(node, "nvlink" + std::to_string(i), 0.25);
       },
       kExitBad},
      {"AllNvLinksTrainedAtHalf", "h200x2",
       [](Json& node) {
         change_peers(node, "gpu0", [](Json& peer) { peer["lane_bytes_per_second"] = 13.3e9; });
         slow_down(node, "nvlink0", 0.5);
         slow_down(node, "nvlink1", 0.5);
       },
       kExitBad},
      {"NoXgmiOnAll", "h100x8",
       [](Json& node) {
         make_mi300x(node, 50e9);
         for (int i = 0; i < 8; ++i) change_peers(node, "gpu" + std::to_string(i), fall_back_to_pcie);
       },
       kExitNotJudged},
      {"NoneBehindABridgeOfGeneration3", "h200x2",
       [](Json& node) {
         put_behind_bridge(node, 3, 16, 16);
         for (const char* segment : {"pcie0", "pcie1"}) slow_down(node, segment, 0.25);
       },
       kExitGood},
      {"NoneBehindABridgeOfFourLanes", "h200x2",
       [](Json& node) {
         put_behind_bridge(node, 5, 4, 4);
         for (const char* segment : {"pcie0", "pcie1"}) slow_down(node, segment, 0.25);
       },
       kExitGood},
      {"BridgeThatLostLanes", "h200x2",
       [](Json& node) {
         put_behind_bridge(node, 5, 16, 4);
         for (const char* segment : {"pcie0", "pcie1"}) slow_down(node, segment, 0.25);
       },
       kExitBad},
      {"BridgeAtALowerGeneration", "h200x2",
       [](Json& node) {
         put_behind_bridge(node, 5, 16, 16);
         for (const char* segment : {"pcie0", "pcie1"}) slow_down(node, segment, 0.5);
       },
       kExitBad},
      {"FewerGpusThanExpected", "h200x2", [](Json&) {}, kExitBad, "--expect 8xH200"},
      {"AnotherModelThanExpected", "h200x2", [](Json&) {}, kExitBad, "--expect 2xH20"},
      {"MoreModelsThanExpected", "h200x2", gpu(1, "name", "NVIDIA L4"), kExitBad, "--expect 1xH200"},
  };
}

class PlantedInNodes : public ::testing::TestWithParam<NodeFault> {};

TEST_P(PlantedInNodes, AreNotGood) {
  const NodeFault& fault = GetParam();
  const TemporaryFolder folder;
  Json node = Json::parse(read_file(GPUTOPO_SOURCE_DIR "/machines/nodes/" + std::string(fault.node) + ".json"));
  fault.plant(node);
  write_file(folder.file("machine.json"), node.dump());
  const CommandResult judged = command("node --links-only --quiet --node sim:" + folder.file("machine.json") +
                                       " --json " + folder.file("n.json") + " " + fault.options);
  EXPECT_EQ(judged.exit_code, fault.exit_code) << judged.out << judged.err;
  command("fleet merge --out " + folder.file("s.db") + " " + folder.file("n.json"));
  const CommandResult fleet = command("fleet report " + folder.file("s.db"));
  EXPECT_EQ(fleet.exit_code, fault.exit_code) << fleet.out << fleet.err;
}
INSTANTIATE_TEST_SUITE_P(All, PlantedInNodes, ::testing::ValuesIn(node_faults()),
                         [](const auto& fault) { return std::string(fault.param.name); });

// ---- Documents of nodes ----

struct DocumentFault {
  const char* name;
  std::function<void(Json&)> plant;
  double pcie_speed = 1;
};
void PrintTo(const DocumentFault& fault, std::ostream* out) { *out << fault.name; }

void remove_from_host_links(Json& document, std::size_t links, const char* key) {
  for (Json& link : document["links"]) {
    if (link["kind"] == "host" && links > 0 && link["attributes"].erase(key) > 0) --links;
  }
}

std::vector<DocumentFault> document_faults() {
  const auto without_links = [](Json& document) {
    document["links"] = Json::array();
    document["together"] = Json::object();
  };
  return {
      {"HalfOfTheCopyRatesMissing", [](Json& node) { remove_from_host_links(node, 8, "copy_bandwidth"); }},
      {"AllCopyRatesMissing", [](Json& node) { remove_from_host_links(node, 999, "copy_bandwidth"); }},
      {"CopyRatesMissingBesideUnknownMemories",
       [](Json& node) {
         for (Json& gpu : node["gpus"]) gpu.erase("numa_node");
         remove_from_host_links(node, 4, "copy_bandwidth");
       }},
      {"NoAttributes",
       [](Json& node) {
         for (Json& link : node["links"]) link["attributes"] = Json::object();
       }},
      {"NoKindOfHostLinksAtHalf",
       [](Json& node) {
         for (Json& link : node["links"]) link["kind"] = "";
       },
       0.5},
      {"NoKindOfPairs",
       [](Json& node) {
         for (Json& link : node["links"]) link["kind"] = "";
         for (Json& peer : node["peers"]) peer.erase("kind");
       }},
      {"NoGpus", [](Json& node) { node["gpus"] = Json::array(); }},
      {"NoGpusAndNoLinks",
       [=](Json& node) {
         node["gpus"] = node["peers"] = Json::array();
         without_links(node);
       }},
      {"NoLinks", without_links},
      {"NoLinksAndNoVerdicts",
       [=](Json& node) {
         without_links(node);
         node.erase("judgement");
       }},
      {"NothingMeasured",
       [=](Json& node) {
         without_links(node);
         node.erase("judgement");
         node["link_seconds"] = 0;
       }},
  };
}

class PlantedInDocuments : public ::testing::TestWithParam<DocumentFault> {};

TEST_P(PlantedInDocuments, AreNotJudged) {
  const DocumentFault& fault = GetParam();
  const TemporaryFolder folder;
  Json machine = Json::parse(read_file(GPUTOPO_SOURCE_DIR "/machines/nodes/h100x8.json"));
  for (int gpu = 0; gpu < 8; ++gpu) slow_down(machine, "pcie" + std::to_string(gpu), fault.pcie_speed);
  write_file(folder.file("machine.json"), machine.dump());
  command("node --links-only --quiet --node sim:" + folder.file("machine.json") + " --json " + folder.file("n.json"));
  Json document = Json::parse(read_file(folder.file("n.json")));
  fault.plant(document);
  write_file(folder.file("n.json"), document.dump());
  command("fleet merge --out " + folder.file("s.arrow") + " " + folder.file("n.json"));
  const CommandResult fleet = command("fleet report " + folder.file("s.arrow"));
  EXPECT_EQ(fleet.exit_code, kExitNotJudged) << fleet.out << fleet.err;
}
INSTANTIATE_TEST_SUITE_P(All, PlantedInDocuments, ::testing::ValuesIn(document_faults()),
                         [](const auto& fault) { return std::string(fault.param.name); });

// ---- Fleets ----

using Reports = std::vector<Json>;

struct FleetFaultCase {
  const char* name;
  std::size_t gpus;
  std::function<void(Reports&)> plant;
  int exit_code;
};
void PrintTo(const FleetFaultCase& fault, std::ostream* out) { *out << fault.name; }

void scale(Json& attribute, double factor) {
  for (const char* key : {"value", "low", "high"}) {
    if (attribute[key].is_number()) attribute[key] = attribute[key].get<double>() * factor;
  }
}

// Removes samples, and multiplies each measured rate and time by 1 + a sample of 0.5%.
void vary(Json& part, int gpu, int& number) {
  if (!part.is_structured()) return;
  if (part.is_object() && part.contains("source") && part.contains("value")) {
    part.erase("samples");
    const std::string unit = part.value("unit", "");
    const bool varies = unit.ends_with("/s") || unit.ends_with("/clk") || unit == "cycles" || unit == "ns";
    if (part["source"] == "measured" && varies) scale(part, 1 + 0.007 * std::sin(1.7 * ++number + 12.9 * gpu));
    return;
  }
  for (Json& member : part) vary(member, gpu, number);
}

Reports fleet_of(std::size_t gpus) {
  const Json report = Json::parse(read_file(GPUTOPO_SOURCE_DIR "/tests/reports/h200.json"));
  Reports reports(gpus, report);
  for (std::size_t gpu = 0; gpu < gpus; ++gpu) {
    int number = 0;
    vary(reports[gpu], static_cast<int>(gpu), number);
  }
  return reports;
}

std::vector<FleetFaultCase> fleet_faults() {
  const auto scaled = [](std::vector<std::size_t> gpus, const char* element, std::vector<const char*> names,
                         double factor) {
    return [=](Reports& reports) {
      for (const std::size_t gpu : gpus) {
        for (const char* name : names) scale(reports[gpu]["memory"][element][name], factor);
      }
    };
  };
  const std::vector<const char*> bandwidths = {"read_bandwidth", "write_bandwidth"};
  return {
      {"None2", 2, [](Reports&) {}, kExitNotJudged},  // too few to compare
      {"None8", 8, [](Reports&) {}, kExitGood},
      {"None16", 16, [](Reports&) {}, kExitGood},
      {"HalfTheMemoryBandwidthOf3", 3, scaled({1}, "device", bandwidths, 0.5), kExitBad},
      {"HalfTheMemoryBandwidthOf16", 16, scaled({9}, "device", bandwidths, 0.5), kExitBad},
      {"HalfTheMemoryBandwidthOfTwo", 8, scaled({2, 5}, "device", bandwidths, 0.5), kExitBad},
      {"HalfTheMemoryBandwidthOfHalf", 8, scaled({0, 1, 2, 3}, "device", bandwidths, 0.5), kExitNotJudged},
      {"OneOfTwoIsSlow", 2, scaled({1}, "device", bandwidths, 0.5), kExitNotJudged},
      {"FifthOfTheMemoryBandwidthLost", 8, scaled({3}, "device", bandwidths, 0.8), kExitBad},
      {"OneBandwidthLost", 8, scaled({3}, "device", {"read_bandwidth"}, 0.7), kExitBad},
      {"NoMemoryBandwidth", 8, scaled({6}, "device", {"read_bandwidth"}, 0), kExitBad},
      {"HalfAnL1", 8, scaled({4}, "l1", {"size"}, 0.5), kExitBad},
      {"HalfAnL2", 3, scaled({2}, "l2", {"size"}, 0.5), kExitBad},
      {"FewerSms", 8, [](Reports& reports) { reports[1]["compute"]["sm_count"]["value"] = 120; }, kExitBad},
      {"FewerSmsOnTwo", 8,
       [](Reports& reports) {
         for (const int gpu : {1, 2}) reports[gpu]["compute"]["sm_count"]["value"] = 120;
       },
       kExitBad},
      {"NoBandwidthInTheReport", 8, [](Reports& reports) { reports[7]["memory"]["device"].erase("read_bandwidth"); },
       kExitNotJudged},
      {"NoMemoryInTheReport", 8, [](Reports& reports) { reports[7]["memory"].erase("device"); }, kExitNotJudged},
      {"AnIncompleteReport", 8, [](Reports& reports) { reports[0]["complete"] = false; }, kExitNotJudged},
      {"ADateInTheFuture", 8, [](Reports& reports) { reports[3]["timestamp"] = "2096-01-01T00:00:00Z"; },
       kExitNotJudged},
  };
}

class PlantedInFleets : public ::testing::TestWithParam<FleetFaultCase> {};

TEST_P(PlantedInFleets, AreNotGood) {
  const FleetFaultCase& fault = GetParam();
  const TemporaryFolder folder;
  Reports reports = fleet_of(fault.gpus);
  fault.plant(reports);
  std::string files;
  for (std::size_t gpu = 0; gpu < reports.size(); ++gpu) {
    files += " " + folder.file("gpu" + std::to_string(gpu) + ".json");
    write_file(folder.file("gpu" + std::to_string(gpu) + ".json"), reports[gpu].dump());
  }
  const CommandResult merged = command("fleet merge --out " + folder.file("s.db") + files);
  EXPECT_EQ(merged.exit_code, 0) << merged.err;
  const CommandResult fleet = command("fleet report " + folder.file("s.db"));
  EXPECT_EQ(fleet.exit_code, fault.exit_code) << fleet.out << fleet.err;
}
INSTANTIATE_TEST_SUITE_P(All, PlantedInFleets, ::testing::ValuesIn(fleet_faults()),
                         [](const auto& fault) { return std::string(fault.param.name); });

// Nights of a host with eight GPUs.
TEST(PlantedInHistory, GpusAndHostsThatAreGoneAreNotGood) {
  const TemporaryFolder folder;
  command("node --links-only --quiet --node sim:h100x8 --json " + folder.file("n.json"));
  const Json document = Json::parse(read_file(folder.file("n.json")));
  const auto night = [&](const char* name, const char* host, const char* date, std::size_t gpus) {
    Json changed = document;
    changed["host"]["id"] = host;
    changed["timestamp"] = date;
    for (std::size_t gpu = 0; gpu < 8; ++gpu) {
      changed["gpus"][gpu]["id"] = std::string(host) + "-" + std::to_string(gpu);
    }
    while (changed["gpus"].size() > gpus) changed["gpus"].erase(changed["gpus"].size() - 1);
    if (gpus < 8) changed["links"] = changed["peers"] = changed["judgement"]["verdicts"] = Json::array();
    write_file(folder.file(name), changed.dump());
    return " " + folder.file(name);
  };
  const auto exit_code_of = [&](const std::string& files) {
    command("fleet merge --out " + folder.file("s.db") + files);
    return command("fleet report " + folder.file("s.db")).exit_code;
  };
  const std::string before = night("a1.json", "a", "2026-11-01T03:00:00Z", 8);
  EXPECT_EQ(exit_code_of(before + night("a2.json", "a", "2026-11-02T03:00:00Z", 8)), kExitGood);
  EXPECT_EQ(exit_code_of(before + night("a3.json", "a", "2026-11-02T03:00:00Z", 7)), kExitBad);
  EXPECT_EQ(exit_code_of(before + night("a4.json", "a", "2026-11-01T05:00:00Z", 7)), kExitBad);
  const std::string both = before + night("b1.json", "b", "2026-11-01T03:10:00Z", 8);
  EXPECT_EQ(exit_code_of(both), kExitGood);
  EXPECT_EQ(exit_code_of(both + night("a2.json", "a", "2026-11-02T03:00:00Z", 8)), kExitBad);
}

// A night that measures no links does not make a bad link good, whatever the driver is.
TEST(PlantedInHistory, ABadLinkStaysBadUntilItIsMeasuredAgain) {
  const TemporaryFolder folder;
  const auto measure = [&](const char* name, double pcie_speed, const char* date,
                           const std::function<void(Json&)>& change) {
    Json machine = Json::parse(read_file(GPUTOPO_SOURCE_DIR "/machines/nodes/h200x2.json"));
    slow_down(machine, "pcie1", pcie_speed);
    write_file(folder.file("machine.json"), machine.dump());
    command("node --links-only --quiet --node sim:" + folder.file("machine.json") + " --json " + folder.file(name));
    Json document = Json::parse(read_file(folder.file(name)));
    document["timestamp"] = date;
    change(document);
    write_file(folder.file(name), document.dump());
    return " " + folder.file(name);
  };
  const auto without_links = [](Json& document) {
    for (const char* key : {"links", "peers"}) document[key] = Json::array();
    for (const char* key : {"together", "judgement"}) document.erase(key);
    document["link_seconds"] = 0;
    document["driver_version"] = "another";
  };
  const auto keep = [](Json&) {};
  const std::string bad = measure("1.json", 0.13, "2026-11-01T03:00:00Z", keep);
  const std::string hiding = measure("2.json", 1, "2026-11-02T03:00:00Z", without_links);
  command("fleet merge --out " + folder.file("s.arrow") + bad + hiding);
  const CommandResult hidden = command("fleet report " + folder.file("s.arrow"));
  EXPECT_EQ(hidden.exit_code, kExitBad) << hidden.out;
  EXPECT_THAT(hidden.out, ::testing::HasSubstr("on 2026-11-01"));
  command("fleet merge --out " + folder.file("s.arrow") + bad + hiding +
          measure("3.json", 1, "2026-11-03T03:00:00Z", keep));
  EXPECT_EQ(command("fleet report " + folder.file("s.arrow")).exit_code, kExitGood);
}

}  // namespace
}  // namespace gputopo
