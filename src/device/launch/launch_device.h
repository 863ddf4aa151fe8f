// A device that runs programs as kernel launches: what GPUs of all vendors share.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "device/driver/driver_call.h"
#include "device/launch/access_runner.h"
#include "device/launch/chase_runner.h"
#include "device/launch/code_runner.h"
#include "device/launch/launch_runner.h"
#include "device/launch/occupancy_runner.h"
#include "device/launch/operation_runner.h"
#include "device/launch/stream_runner.h"
#include "gputopo/device.h"

namespace gputopo::launch {

// `Vendor` provides what differs. Types: Gpu (a ChaseGpu), Streams (see StreamRunner), CodeKernel (a CodeGpu),
// AccessKernels (an AccessGpu), OperationKernels (an OperationGpu), OccupancyKernels (an OccupancyGpu), EmptyKernels (a
// launch::EmptyKernels) and Clusters (which checks its programs before a batch runs, and runs them). Functions:
// native_code(gpu, program) for each kind of program, and compiles_ahead() and expect(gpu, program), which may begin to
// compile it. A new kind that is missing here does not compile.
template <typename Vendor>
class LaunchDevice : public Device {
 public:
  // `ordinal`: number of the GPU in the vendor's interface.
  explicit LaunchDevice(int ordinal)
      : gpu_(ordinal),
        chases_(gpu_),
        streams_(gpu_),
        code_kernel_(gpu_),
        codes_(gpu_, code_kernel_),
        access_kernels_(gpu_),
        accesses_(gpu_, access_kernels_),
        clusters_(gpu_),
        operation_kernels_(gpu_),
        operations_(gpu_, operation_kernels_),
        occupancy_kernels_(gpu_),
        occupancies_(gpu_, occupancy_kernels_),
        empty_kernels_(gpu_),
        launches_(gpu_, empty_kernels_) {}

  [[nodiscard]] const DeviceInfo& info() const override { return gpu_.info(); }

  [[nodiscard]] std::vector<ProgramResult> run(std::span<const Program> programs) override {
    for (const Program& program : programs) {
      validate(program);
      std::visit([&](const auto& kind) { check(kind); }, program);
    }
    std::vector<ProgramResult> results(programs.size());
    std::vector<ChaseJob> chases;
    for (std::size_t i = 0; i < programs.size(); ++i) {
      if (const auto* chase = std::get_if<ChaseProgram>(&programs[i])) chases.push_back({chase, &results[i]});
    }
    operations_.prepare(programs);
    occupancies_.prepare(programs);
    gpu_.wake();
    chases_.run(chases);
    for (std::size_t i = 0; i < programs.size();) {
      const std::span<const Program> left = programs.subspan(i);
      const std::size_t ran = run_row(codes_, left, &results[i]) + run_row(accesses_, left, &results[i]) +
                              run_row(operations_, left, &results[i]);
      if (ran == 0) std::visit([&](const auto& kind) { run_alone(kind, results[i]); }, programs[i]);
      i += ran == 0 ? 1 : ran;
    }
    return results;
  }

  void expect(std::span<const Program> programs) override {
    if (!Vendor::compiles_ahead()) return;
    try {
      operations_.expect(programs);
      for (const Program& program : programs) {
        std::visit([this](const auto& kind) { Vendor::expect(gpu_, kind); }, program);
      }
    } catch (const Error&) {
      // The programs fail again when they run.
    }
  }

  void set_stop_condition(std::function<bool()> ended) override { gpu_.set_stop_condition(std::move(ended)); }
  void rest(double seconds) override { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

  [[nodiscard]] std::vector<std::string> warnings() override { return gpu_.warnings(); }
  [[nodiscard]] std::optional<DeviceHealth> health() override { return gpu_.health(); }

  [[nodiscard]] DeviceTimes times() const override {
    DeviceTimes times = by_kind(call_times());
    times.gpu_seconds = gpu_.kernel_seconds();
    return times;
  }
  [[nodiscard]] std::vector<NamedCallTimes> call_times() const override { return driver_call_times(); }

  [[nodiscard]] std::string native_code(const Program& program) override {
    return std::visit([this](const auto& kind) { return Vendor::native_code(gpu_, kind); }, program);
  }

 protected:
  [[nodiscard]] typename Vendor::Gpu& gpu() { return gpu_; }

 private:
  // Refuses what this GPU cannot run. Kinds that only some of a vendor's GPUs refuse are refused in their turn.
  void check(const ChaseProgram&) const {}
  void check(const StreamProgram&) const {}
  void check(const InstructionProgram&) const {}
  void check(const AccessProgram&) const {}
  void check(const ClusterProgram& program) const { clusters_.check(program); }
  void check(const OperationProgram&) const {}
  void check(const OccupancyProgram&) const {}
  void check(const LaunchProgram&) const {}

  // Runs the leading programs of the runner's kind, and returns how many there are.
  template <typename Runner>
  static std::size_t run_row(Runner& runner, std::span<const Program> programs, ProgramResult* results) {
    std::vector<const typename Runner::Kind*> row;
    for (const Program& program : programs) {
      const auto* one = std::get_if<typename Runner::Kind>(&program);
      if (one == nullptr) break;
      row.push_back(one);
    }
    if (!row.empty()) std::ranges::move(runner.run(row), results);
    return row.size();
  }

  void run_alone(const ChaseProgram&, ProgramResult&) {}  // it ran before, beside others
  // These run in rows.
  void run_alone(const InstructionProgram&, ProgramResult&) {}
  void run_alone(const AccessProgram&, ProgramResult&) {}
  void run_alone(const OperationProgram&, ProgramResult&) {}
  void run_alone(const StreamProgram& program, ProgramResult& result) { result = streams_.run(program); }
  void run_alone(const ClusterProgram& program, ProgramResult& result) { result = clusters_.run(program); }
  void run_alone(const OccupancyProgram& program, ProgramResult& result) { result = occupancies_.run(program); }
  void run_alone(const LaunchProgram& program, ProgramResult& result) { result = launches_.run(program); }

  typename Vendor::Gpu gpu_;
  ChaseRunner chases_;
  StreamRunner<typename Vendor::Streams> streams_;
  typename Vendor::CodeKernel code_kernel_;
  CodeRunner codes_;
  typename Vendor::AccessKernels access_kernels_;
  AccessRunner accesses_;
  typename Vendor::Clusters clusters_;
  typename Vendor::OperationKernels operation_kernels_;
  OperationRunner operations_;
  typename Vendor::OccupancyKernels occupancy_kernels_;
  OccupancyRunner occupancies_;
  typename Vendor::EmptyKernels empty_kernels_;
  LaunchRunner launches_;
};

}  // namespace gputopo::launch
