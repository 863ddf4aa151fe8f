// Malicious recordings: bytes that gputopo never writes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <nlohmann/json.hpp>

#include "device/replay/recording.h"
#include "file/limits.h"

namespace gputopo {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// A recording of these CBOR bytes whose header claims this length.
std::string packed_recording(const std::string& cbor, std::uint64_t length) {
  std::string file(kRecordingMagic);
  for (int shift = 0; shift < 64; shift += 8) file += static_cast<char>(length >> shift & 0xff);
  uLongf size = compressBound(cbor.size());
  std::string packed(size, '\0');
  compress(reinterpret_cast<Bytef*>(packed.data()), &size, reinterpret_cast<const Bytef*>(cbor.data()), cbor.size());
  return file + packed.substr(0, size);
}

std::string refusal_of(const std::string& file) {
  try {
    static_cast<void>(decode_recording(file));
    return "read";
  } catch (const FormatError& error) {
    return error.what();
  }
}

std::string refusal_of_cbor(const std::string& cbor) { return refusal_of(packed_recording(cbor, cbor.size())); }

TEST(HostileRecording, WithListsWithinLists) {
  for (const std::string& opening : {std::string("\x81"), std::string("\xa1\x60"), std::string("\x9f"),
                                     std::string("\x7f"), std::string("\x5f"), std::string("\xc0")}) {
    std::string nested;
    for (int i = 0; i < 1'000'000; ++i) nested += opening;
    EXPECT_THAT(refusal_of_cbor(nested),
                AllOf(HasSubstr("the recording has"), HasSubstr("at byte"), Not(HasSubstr("\n"))));
  }
}

TEST(HostileRecording, WithMoreThanItSays) {
  const std::string zeros(50 << 20, '\0');
  EXPECT_THAT(refusal_of(packed_recording(zeros, 100)), HasSubstr("truncated or corrupt"));
}

TEST(HostileRecording, WithLessThanItSays) {
  EXPECT_THAT(refusal_of(packed_recording("x", 1 << 26)), HasSubstr("truncated or corrupt"));
  EXPECT_THAT(refusal_of(packed_recording("x", 1ull << 40)), HasSubstr("reads at most 268435456"));
  EXPECT_THAT(refusal_of(packed_recording("x", ~0ull)), HasSubstr("at most"));
}

TEST(HostileRecording, WithMoreValuesThanAnyHas) {
  const std::string count = {'\x9a', '\x06', '\0', '\0', '\0'};  // 96 Mi
  EXPECT_THAT(refusal_of_cbor(count + std::string(96 << 20, '\0')), HasSubstr("has more than 67108864 values"));
  EXPECT_THAT(refusal_of_cbor(count), HasSubstr("truncated or corrupt"));
}

// A recording of one chase, with changes.
std::string refusal_with_changes(const std::vector<std::pair<std::string, json>>& changes) {
  json document = json::parse(R"({
    "version": 1,
    "info": {"vendor": "", "name": "", "architecture": "", "driver_version": "", "sm_count": 1, "warp_size": 32,
             "carve_outs_bytes": [], "simulated": true, "pci_address": "", "spaces": [0], "max_array_bytes": 4096},
    "answers": [["chase array=global:4096:64:sequential:reversed:1:0 actor=0:0 step=timed:0:0:2:0:0",
                 [{"clock": 1000, "carve_out": 0, "sm": 0, "steps": [[2, 100, [40, 40], [21, 20, 2]]]}]]]})");
  for (const auto& [pointer, value] : changes) document[json::json_pointer(pointer)] = value;
  const std::vector<std::uint8_t> bytes = json::to_cbor(document);
  return refusal_of_cbor(std::string(bytes.begin(), bytes.end()));
}

std::string refusal_with(const std::string& pointer, const json& value) {
  return refusal_with_changes({{pointer, value}});
}

TEST(HostileRecording, WithValuesOfAnotherKind) {
  ASSERT_EQ(refusal_with_changes({}), "read");
  const std::string answer = "/answers/0/1/0";
  EXPECT_THAT(refusal_with(answer + "/clock", "fast"), HasSubstr("answer.clock is not a number"));
  EXPECT_THAT(refusal_with(answer + "/clock", -1), HasSubstr("answer.clock is less than zero"));
  EXPECT_THAT(refusal_with(answer + "/steps", 3), HasSubstr("answer.steps is not a list"));
  EXPECT_THAT(refusal_with(answer + "/steps/0", json::array()), HasSubstr("answer.steps[0][0] is missing"));
  EXPECT_THAT(refusal_with(answer + "/steps/0/0", -2), HasSubstr("answer.steps[0].loads is not a whole number"));
  EXPECT_THAT(refusal_with(answer + "/steps/0/2/1", 1ull << 40), HasSubstr("answer.steps[0].latencies[1] is not"));
  EXPECT_THAT(refusal_with(answer + "/steps/0/3/1", 4096), HasSubstr("histogram[1] is not one of the 21"));
  EXPECT_THAT(refusal_with(answer + "/steps/0/3/0", 1ull << 40), HasSubstr("has more than 1024 bins"));
  EXPECT_THAT(refusal_with(answer, 7), HasSubstr("answer.clock is missing"));
  EXPECT_THAT(refusal_with("/answers/0/1", json::array()), HasSubstr("answers[0][1] must be a list"));
  EXPECT_THAT(refusal_with("/answers/0", 3), HasSubstr("answers[0] is not a list"));
  EXPECT_THAT(refusal_with("/info/sm_count", 1ull << 40), HasSubstr("info.sm_count is not a whole number"));
  EXPECT_THAT(refusal_with("/info/spaces", {{{"a", 1}}}), HasSubstr("info.spaces[0] is not"));
  EXPECT_THAT(refusal_with("/warnings", 5), HasSubstr("warnings is not a list"));
  EXPECT_THAT(refusal_with("/info", 5), HasSubstr("info.vendor is missing"));
}

TEST(HostileRecording, ThatIsNoDocument) {
  for (const json& document : {json::array(), json(7), json::object(), json{{"version", "1"}}, json{{"version", 1}},
                               json{{"version", 1}, {"info", 5}, {"answers", 5}}}) {
    const std::vector<std::uint8_t> bytes = json::to_cbor(document);
    EXPECT_THAT(refusal_of_cbor(std::string(bytes.begin(), bytes.end())), HasSubstr("is truncated or corrupt"));
  }
}

TEST(HostileRecording, OfClustersThatNoGpuHas) {
  const std::string text = to_text(ClusterProgram{.op = ClusterOp::kRead, .cluster_size = 2});
  const auto refusal_of_clusters = [&](const std::string& cluster) {
    const json answers = json::parse(R"([{"clock": 1000, "carve_out": 0, "cluster": )" + cluster + "}]");
    return refusal_with_changes({{"/answers/0/0", text}, {"/answers/0/1", answers}});
  };
  EXPECT_EQ(refusal_of_clusters("[[0, 1], [10], 4096, 0.1, 4, 8]"), "read");
  EXPECT_THAT(refusal_of_clusters("[[0, 1], [10], 4096, 0.1, 4, 1048576]"),
              HasSubstr("has a largest cluster of 1048576"));
  EXPECT_THAT(refusal_of_clusters("[[0, 5000], [10], 4096, 0.1, 4, 8]"), HasSubstr("names SM 5000"));
  EXPECT_THAT(refusal_of_clusters("[[0], [10], 4096, 0.1, 4, 8]"), HasSubstr("does not have one SM for each block"));
  EXPECT_THAT(refusal_of_clusters("[[0, 1], [-10], 4096, 0.1, 4, 8]"), HasSubstr("has the number -10"));
}

}  // namespace
}  // namespace gputopo
