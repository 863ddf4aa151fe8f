// Runs the generated PTX on the host, slowly, so that the CUDA device can be tested without a GPU. Accepts only the
// instructions that the generators use, checks every address, and counts invented cycles.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace fake_cuda {

class PtxError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Thrown for an access outside allocated memory.
class AddressError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Special registers for a thread's position and the time.
enum class Special : std::uint8_t { kThread, kWarp, kThreads, kBlock, kBlockY, kBlocks, kSm, kClock, kTimer };

struct Operand {
  enum class Kind { kRegister, kImmediate, kSpecial, kAddress, kList } kind = Kind::kImmediate;
  int reg = -1;             // kRegister; base of kAddress (-1: none)
  std::uint64_t value = 0;  // kImmediate; offset of kAddress
  Special special{};        // kSpecial
  int parameter = -1;       // of kAddress (-1: none)
  std::vector<int> regs;    // kList
};

struct Instruction {
  int guard = -1;
  bool guard_negated = false;
  std::vector<std::string> op;  // parts between the dots
  std::vector<Operand> operands;
  std::vector<std::size_t> targets;  // of a branch: one target, or a list that the operand indexes
  int line = 0;
  // Decoded from `op`.
  enum class Code : std::uint8_t;
  Code code{};
  std::uint8_t bytes = 4;  // of the type suffix
  bool reduces = false;    // barrier with a reduction
  // The relation of a comparison, and how its result combines with another predicate.
  enum class Relation : std::uint8_t { kEqual, kNotEqual, kLess, kNotLess } relation{};
  enum class Join : std::uint8_t { kNone, kAnd, kOr } join{};
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
  std::size_t local_bytes = 0;  // per thread
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

// Throws PtxError, which names the line.
[[nodiscard]] Program parse(const std::string& ptx);

struct Grid {
  unsigned blocks = 1;
  unsigned blocks_y = 1;
  unsigned threads = 1;
  std::size_t shared_bytes = 0;
  bool blocks_wait_for_one_another = false;  // such blocks run in turns; otherwise one block runs after the other
};

// How often each 4-byte word of memory was accessed.
class WordCounts {
 public:
  using Address = std::uint64_t;

  void add(Address first, std::size_t bytes) {
    for (Address word = first / 4; word < (first + bytes) / 4; ++word) ++page_of(word)[word % kWords];
  }
  void clear() { pages_.clear(); }
  // Visits the accessed words in the order of their addresses.
  void for_each(const std::function<void(Address, std::uint64_t count)>& visit) const {
    for (const auto& [number, page] : pages_) {
      for (std::size_t i = 0; i < kWords; ++i) {
        if (page[i] > 0) visit(4 * (number * kWords + i), page[i]);
      }
    }
  }

 private:
  static constexpr std::size_t kWords = 16384;
  using Page = std::array<std::uint32_t, kWords>;

  // Neighboring accesses usually fall into the same page as the last one.
  Page& page_of(std::uint64_t word) {
    if (pages_.empty() || last_number_ != word / kWords) {
      last_number_ = word / kWords;
      last_ = pages_.try_emplace(last_number_).first;
    }
    return last_->second;
  }

  std::map<std::uint64_t, Page> pages_;
  std::map<std::uint64_t, Page>::iterator last_;
  std::uint64_t last_number_ = 0;
};

class Machine {
 public:
  std::function<void(std::uint64_t address, std::size_t bytes)> check_global;  // throws AddressError
  std::function<unsigned(unsigned block)> sm_of_block;
  std::uint64_t cycles_per_microsecond = 1500;
  std::map<std::uint64_t, TextureView> textures;
  // Loads from global memory (textures included) and stores to it, in the last run with `counts` set.
  WordCounts loads_of_word;
  WordCounts stores_to_word;
  bool counts = true;

  // `arguments` point at the parameters' values.
  void run(const Program& program, const Kernel& kernel, const Grid& grid, void* const* arguments);

 private:
  std::uint64_t cycles_ = 0;
};

}  // namespace fake_cuda
