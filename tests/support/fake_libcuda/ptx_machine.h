// Runs the PTX that gputopo generates, slowly and on the host, so that the CUDA device can be tested without a GPU.
// Knows the instructions that the generators use and refuses any other, checks every address, and counts invented
// cycles.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

namespace fake_cuda {

class PtxError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Thrown for an access outside what is allocated.
class AddressError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct Operand {
  enum class Kind { kRegister, kImmediate, kSpecial, kAddress, kList } kind = Kind::kImmediate;
  int reg = -1;             // kRegister; base of kAddress (-1: none)
  std::uint64_t value = 0;  // kImmediate; offset of kAddress
  std::string name;         // kSpecial: "%tid.x"; parameter of kAddress
  std::vector<int> regs;    // kList
};

struct Instruction {
  int guard = -1;
  bool guard_negated = false;
  std::vector<std::string> op;  // split at the dots
  std::vector<Operand> operands;
  std::vector<std::size_t> targets;  // of a branch: one, or those that its operand chooses from
  int line = 0;
  // Decoded from `op`.
  enum class Code : std::uint8_t;
  Code code{};
  std::uint8_t bytes = 4;  // of the type at its end
};

struct Parameter {
  std::string name;
  std::size_t offset = 0;
  std::size_t bytes = 0;
};

struct Kernel {
  std::string name;
  std::vector<Parameter> parameters;
  std::vector<Instruction> code;
  std::size_t registers = 0;
  std::size_t local_bytes = 0;  // of each thread
};

struct TextureView {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  unsigned channels = 1;
};

// A module: its kernels and its constant bank.
struct Program {
  std::map<std::string, Kernel> kernels;
  std::vector<std::byte> constant_bank;
};

// Throws PtxError with the line.
[[nodiscard]] Program parse(const std::string& ptx);

struct Grid {
  unsigned blocks = 1;
  unsigned blocks_y = 1;
  unsigned threads = 1;
  std::size_t shared_bytes = 0;
  bool blocks_wait_for_one_another = false;  // they then take turns; else one runs after the other
};

class Machine {
 public:
  std::function<void(std::uint64_t address, std::size_t bytes)> check_global;  // throws AddressError
  std::function<unsigned(unsigned block)> sm_of_block;
  std::uint64_t cycles_per_microsecond = 1500;
  std::map<std::uint64_t, TextureView> textures;
  // How often each 4-byte word was loaded from global memory (through textures too) or stored there, by the last run.
  std::unordered_map<std::uint64_t, std::uint64_t> loads_of_word;
  std::unordered_map<std::uint64_t, std::uint64_t> stores_to_word;

  // `arguments` point at the parameters' values.
  void run(const Program& program, const Kernel& kernel, const Grid& grid, void* const* arguments);

 private:
  std::uint64_t cycles_ = 0;
};

}  // namespace fake_cuda
