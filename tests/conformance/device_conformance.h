// The shared part of the suite that every Device must pass. Each kind of program has its own test file.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <variant>
#include <vector>

#include "gputopo/device.h"
#include "support/command.h"

namespace gputopo::conformance {

inline constexpr std::uint64_t kSeed = 11;

struct Candidate {
  std::string name;
  std::string spec;       // argument of open_device()
  bool replayed = false;  // a recording of that device answers
  bool hardware = false;
};

inline void PrintTo(const Candidate& candidate, std::ostream* out) { *out << candidate.name; }

class DeviceConformance : public testing::TestWithParam<Candidate> {
 protected:
  // Calls `check` with the device; for a replay, first with the recorded device and then with its recording.
  void on_device(const std::function<void(Device&)>& check) {
    std::unique_ptr<Device> device = open();
    if (device == nullptr) GTEST_SKIP() << "no GPU: " << problem_;
    if (!GetParam().replayed) return check(*device);
    Recorder recorder(std::move(device));
    check(recorder);
    const test::TemporaryFolder folder;
    recorder.save(folder.file("recording"));
    check(*open_device("replay:" + folder.file("recording"), kSeed));
  }

 private:
  std::unique_ptr<Device> open() {
    try {
      return open_device(GetParam().spec, kSeed);
    } catch (const DeviceError& error) {
      if (!GetParam().hardware) throw;
      problem_ = error.what();
      return nullptr;
    }
  }

  std::string problem_;
};

inline bool has_space(const Device& device, Space space) {
  const auto& spaces = device.info().spaces;
  return std::find(spaces.begin(), spaces.end(), space) != spaces.end();
}

// One actor warms an array and then chases it. `kind` is the kind of the last step.
inline ChaseProgram chase(Space space, StepKind kind, std::uint64_t loads) {
  ChaseProgram program;
  const std::uint64_t stride = std::max<std::uint64_t>(64, least_stride_bytes(space));
  program.arrays = {{.space = space, .bytes = 16 * stride, .stride_bytes = stride}};
  program.actors = {{}};
  program.steps = {{.kind = StepKind::kWarm, .loads = 64}, {.kind = kind, .loads = loads}};
  return program;
}

inline const ChaseResult& chase_of(const ProgramResult& result) { return std::get<ChaseResult>(result.data); }
inline const StreamResult& stream_of(const ProgramResult& result) { return std::get<StreamResult>(result.data); }

inline ProgramResult run_one(Device& device, const Program& program) {
  std::vector<ProgramResult> results = device.run({&program, 1});
  EXPECT_EQ(results.size(), 1u);
  return results.at(0);
}

inline std::uint64_t histogram_sum(const StepResult& step) {
  return std::accumulate(step.histogram.begin(), step.histogram.end(), std::uint64_t{0});
}

inline std::uint32_t median(std::vector<std::uint32_t> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

}  // namespace gputopo::conformance
