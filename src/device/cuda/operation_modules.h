// The kernels of operation programs on NVIDIA GPUs, compiled many at a time.
#pragma once

#include <list>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "device/cuda/gpu.h"
#include "device/launch/operation_kernels.h"

namespace gputopo::cuda {

class OperationModules : public launch::OperationGpu {
 public:
  explicit OperationModules(Gpu& gpu) : gpu_(gpu) {}

  void prepare(std::span<const launch::OperationShape> shapes) override;
  void expect(std::span<const launch::OperationShape> shapes) override;
  [[nodiscard]] const launch::OperationCode& code_of(const launch::OperationShape& shape) override {
    return kernels_.at(shape).code;
  }
  void launch(const launch::OperationLaunch& launch, OperationParameters parameters) override;

 private:
  struct Kernel {
    launch::OperationCode code;
    const Module* module = nullptr;  // null if it was refused
  };

  // The outcome for some shapes: binaries with their shapes, and refused shapes with the compiler's message.
  struct Compiled {
    std::vector<std::pair<std::string, std::vector<launch::OperationShape>>> binaries;
    std::vector<std::pair<launch::OperationShape, std::string>> refused;
  };

  // Shapes that are compiled together.
  struct Part {
    std::vector<launch::OperationShape> shapes;
    CompileAhead::Begun<Compiled> compiled;
  };

  [[nodiscard]] static Compiled compile_part(const Driver& driver, const PtxTarget& target,
                                             std::span<const launch::OperationShape> shapes);
  // Begins to compile the shapes that are neither compiled nor begun.
  void begin(std::span<const launch::OperationShape> shapes);
  // Explains why there can be no kernel; empty if there can.
  [[nodiscard]] std::string refusal_of(const launch::OperationShape& shape) const;
  void add(const Compiled& part);
  void add_module(const std::string& binary, const std::vector<launch::OperationShape>& shapes);
  // See launch::refusal_of_spills(). Empty for operations that are an instruction or a known sequence everywhere,
  // because the driver loads each kernel that it is asked about.
  [[nodiscard]] std::string refusal_of_spills(const Module& module, const launch::OperationShape& shape) const;

  Gpu& gpu_;
  std::list<Part> begun_;
  std::list<Module> modules_;
  std::map<launch::OperationShape, Kernel> kernels_;
};

}  // namespace gputopo::cuda
