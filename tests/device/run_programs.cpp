// run_programs DEVICE: runs the programs from standard input, one per line in text form, and prints the time of each:
// "seconds=1.2e-3 bytes=4096" for a stream, "cycles=1234" for the last step of a chase or for the slowest block of a
// chain of operations. For tests that compare a prediction with a program of their own.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <span>
#include <string>

#include "gputopo/device.h"
#include "gputopo/error.h"
#include "gputopo/program.h"

namespace {

using namespace gputopo;

struct Shown {
  std::string operator()(const StreamResult& result) const {
    return fmt::format("seconds={} bytes={}", result.seconds, result.bytes_moved);
  }
  std::string operator()(const ChaseResult& result) const {
    return fmt::format("cycles={}", result.steps.back().total_cycles);
  }
  std::string operator()(const OperationResult& result) const {
    if (result.cycles.empty()) return "refused";
    return fmt::format("cycles={}", std::ranges::max(result.cycles));
  }
  template <typename Other>
  std::string operator()(const Other&) const {
    return "unknown";
  }
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "usage: run_programs DEVICE <PROGRAMS\n");
    return 2;
  }
  try {
    const auto device = open_device(argv[1], 1);
    std::string line;
    while (std::getline(std::cin, line)) {
      const Program program = parse_program(line);
      const ProgramResult result = device->run(std::span(&program, 1)).at(0);
      fmt::print("{} clock_mhz={}\n", std::visit(Shown{}, result.data), result.sm_clock_mhz);
    }
  } catch (const Error& error) {
    fmt::print(stderr, "run_programs: {}\n", error.what());
    return 1;
  }
  return 0;
}
