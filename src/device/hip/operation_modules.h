// The kernels of operation programs on AMD GPUs, compiled many at a time.
#pragma once

#include <list>
#include <map>

#include "device/hip/gpu.h"
#include "device/launch/operation_kernels.h"

namespace gputopo::hip {

class OperationModules : public launch::OperationGpu {
 public:
  explicit OperationModules(Gpu& gpu) : gpu_(gpu) {}

  void prepare(std::span<const launch::OperationShape> shapes) override;
  [[nodiscard]] const launch::OperationCode& code_of(const launch::OperationShape& shape) override {
    return kernels_.at(shape).code;
  }
  void launch(const launch::OperationLaunch& launch, launch::OperationParameters parameters) override;

 private:
  struct Kernel {
    launch::OperationCode code;
    const Module* module = nullptr;  // null if it was refused
  };

  Gpu& gpu_;
  std::list<Module> modules_;
  std::map<launch::OperationShape, Kernel> kernels_;
};

}  // namespace gputopo::hip
