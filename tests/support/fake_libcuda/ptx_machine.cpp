#include "ptx_machine.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <span>
#include <sstream>

namespace fake_cuda {

enum class Instruction::Code : std::uint8_t {
  kMov,
  kCvt,
  kAdd,
  kSub,
  kMulLo,
  kMulWide,
  kMadLo,
  kMadWide,
  kFma,
  kDiv,
  kRem,
  kMin,
  kAnd,
  kOr,
  kXor,
  kShl,
  kShr,
  kSetp,
  kSelp,
  kLoadParameter,
  kLoadGlobal,
  kLoadShared,
  kLoadConstant,
  kLoadLocal,
  kStoreGlobal,
  kStoreShared,
  kStoreLocal,
  kTexture,
  kExchangeGlobal,
  kAddGlobal,
  kAddShared,
  kBarrier,
  kFence,
  kBranch,
  kIndexedBranch,
  kReturn,
};

namespace {

using Code = Instruction::Code;

// Shared memory does not start at offset 0 of its window on recent GPUs either.
constexpr std::uint64_t kSharedWindowStart = 1024;
constexpr std::uint64_t kLocalWindowStart = 512;

// Invented costs in cycles. A reading of %globaltimer costs 1 ms, or kernels would wait for it forever.
constexpr std::uint64_t kInstructionCycles = 2;
constexpr std::uint64_t kGlobalLoadCycles = 200;
constexpr std::uint64_t kOtherLoadCycles = 30;
constexpr std::uint64_t kTimerReadingCycles = 1'500'000;
// Instructions of one turn, for blocks that wait for one another.
constexpr int kTurn = 2000;

std::string trim(const std::string& text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::string part;
  int depth = 0;
  for (const char c : text) {
    if (c == '{' || c == '[') ++depth;
    if (c == '}' || c == ']') --depth;
    if (c == separator && depth == 0) {
      parts.push_back(trim(part));
      part.clear();
    } else {
      part += c;
    }
  }
  if (!trim(part).empty()) parts.push_back(trim(part));
  return parts;
}

bool has(const std::vector<std::string>& op, const std::string& word) {
  return std::find(op.begin(), op.end(), word) != op.end();
}

Code decode(const std::vector<std::string>& op) {
  const std::string& name = op[0];
  if (name == "mov" || name == "cvta") return Code::kMov;
  if (name == "cvt") return Code::kCvt;
  if (name == "add") return Code::kAdd;
  if (name == "sub") return Code::kSub;
  if (name == "mul") return has(op, "wide") ? Code::kMulWide : Code::kMulLo;
  if (name == "mad") return has(op, "wide") ? Code::kMadWide : Code::kMadLo;
  if (name == "fma") return Code::kFma;
  if (name == "div") return Code::kDiv;
  if (name == "rem") return Code::kRem;
  if (name == "min") return Code::kMin;
  if (name == "and") return Code::kAnd;
  if (name == "or") return Code::kOr;
  if (name == "xor") return Code::kXor;
  if (name == "shl") return Code::kShl;
  if (name == "shr") return Code::kShr;
  if (name == "setp") return Code::kSetp;
  if (name == "selp") return Code::kSelp;
  if (name == "tex") return Code::kTexture;
  if (name == "bar") return Code::kBarrier;
  if (name == "membar" || name == "pmevent") return Code::kFence;
  if (name == "bra") return Code::kBranch;
  if (name == "brx" && has(op, "idx")) return Code::kIndexedBranch;
  if (name == "ret") return Code::kReturn;
  if (name == "atom" && has(op, "global") && has(op, "exch")) return Code::kExchangeGlobal;
  if (name == "atom" && has(op, "global") && has(op, "add")) return Code::kAddGlobal;
  if (name == "atom" && has(op, "shared") && has(op, "add")) return Code::kAddShared;
  if (name == "ld" && has(op, "param")) return Code::kLoadParameter;
  if (name == "ld" && has(op, "global")) return Code::kLoadGlobal;
  if (name == "ld" && has(op, "shared")) return Code::kLoadShared;
  if (name == "ld" && has(op, "local")) return Code::kLoadLocal;
  if (name == "ld" && has(op, "const")) return Code::kLoadConstant;
  if (name == "st" && has(op, "global")) return Code::kStoreGlobal;
  if (name == "st" && has(op, "shared")) return Code::kStoreShared;
  if (name == "st" && has(op, "local")) return Code::kStoreLocal;
  throw PtxError("unknown instruction " + name);
}

std::uint8_t type_bytes(const std::vector<std::string>& op) {
  const std::string& type = op.back();
  return type.size() == 3 && type.substr(1) == "64" ? 8 : 4;
}

Special special_named(const std::string& name) {
  static const std::map<std::string, Special> specials = {
      {"%tid.x", Special::kThread},      {"%warpid", Special::kWarp},         {"%ntid.x", Special::kThreads},
      {"%ctaid.x", Special::kBlock},     {"%ctaid.y", Special::kBlockY},      {"%nctaid.x", Special::kBlocks},
      {"%smid", Special::kSm},           {"%clock64", Special::kClock},       {"%clock", Special::kClock},
      {"%globaltimer", Special::kTimer}, {"%globaltimer_lo", Special::kTimer}};
  const auto found = specials.find(name);
  if (found == specials.end()) throw PtxError("unknown register " + name);
  return found->second;
}

// "setp.lt.and.u32"
void decode_comparison(Instruction& instruction) {
  using Relation = Instruction::Relation;
  static const std::map<std::string, Relation> relations = {
      {"eq", Relation::kEqual}, {"ne", Relation::kNotEqual}, {"lt", Relation::kLess}, {"ge", Relation::kNotLess}};
  const auto found = relations.find(instruction.op.at(1));
  if (found == relations.end()) throw PtxError("unknown comparison " + instruction.op[1]);
  instruction.relation = found->second;
  if (instruction.op.at(2) == "and") instruction.join = Instruction::Join::kAnd;
  if (instruction.op[2] == "or") instruction.join = Instruction::Join::kOr;
}

class Parser {
 public:
  explicit Parser(const std::string& ptx) : input_(ptx) {}

  Program parse_module() {
    std::string line;
    while (next(line)) {
      if (line.rfind(".visible .entry", 0) == 0) {
        parse_kernel(line);
      } else if (line.rfind(".func", 0) == 0) {
        parse_function(line);
      } else if (line.find("constant_bank[") != std::string::npos) {
        program_.constant_bank.resize(std::stoull(line.substr(line.find('[') + 1)));
      } else if (line[0] != '.') {
        fail("unexpected text");
      }
    }
    return std::move(program_);
  }

 private:
  [[noreturn]] void fail(const std::string& why) const {
    throw PtxError("line " + std::to_string(number_) + ": " + why);
  }

  bool next(std::string& line) {
    if (!expanded_.empty()) {
      line = expanded_.front();
      expanded_.pop_front();
      return true;
    }
    while (std::getline(input_, line)) {
      ++number_;
      line = trim(line);
      if (!line.empty()) return true;
    }
    return false;
  }

  // Parses ".func (.reg .b32 %result) name(.reg .b32 %a, .reg .b32 %b)" and its lines.
  void parse_function(const std::string& header) {
    const auto names = [&](std::size_t open) {
      std::vector<std::string> registers;
      const std::string list = header.substr(open + 1, header.find(')', open) - open - 1);
      for (const std::string& declaration : split(list, ',')) {
        registers.push_back(declaration.substr(declaration.find('%')));
      }
      return registers;
    };
    const std::size_t end_of_results = header.find(')');
    const std::size_t open = header.rfind('(');
    Function& function = functions_[trim(header.substr(end_of_results + 1, open - end_of_results - 1))];
    function.results = names(header.find('('));
    function.parameters = names(open);
    std::string line;
    while (next(line) && line != "}") {
      if (line != "{") function.lines.push_back(line);
    }
  }

  // Replaces "call (%result), name, (%a, %b);" by the lines of the function. Its registers and labels then belong to
  // the kernel, so a kernel may call each function only once.
  void expand_call(const std::string& line) {
    const std::size_t end_of_results = line.find(')');
    const std::size_t open = line.rfind('(');
    const auto list = [&](std::size_t from) {
      return split(line.substr(from + 1, line.find(')', from) - from - 1), ',');
    };
    std::string name = trim(line.substr(end_of_results + 1, open - end_of_results - 1));
    name = trim(name.substr(1, name.size() - 2));  // between two commas
    if (!functions_.contains(name)) fail("no function " + name);
    const Function& function = functions_[name];
    std::vector<std::string> lines;
    const auto declare = [&](const std::string& reg) { lines.push_back(".reg .b32 " + reg + ";"); };
    std::for_each(function.results.begin(), function.results.end(), declare);
    const std::vector<std::string> given = list(open);
    for (std::size_t i = 0; i < function.parameters.size(); ++i) {
      declare(function.parameters[i]);
      lines.push_back("mov.b32 " + function.parameters[i] + ", " + given.at(i) + ";");
    }
    for (const std::string& each : function.lines) lines.push_back(each == "ret;" ? "bra RETURNED;" : each);
    lines.emplace_back("RETURNED:");
    const std::vector<std::string> results = list(line.find('('));
    for (std::size_t i = 0; i < results.size(); ++i) {
      lines.push_back("mov.b32 " + results[i] + ", " + function.results.at(i) + ";");
    }
    expanded_.insert(expanded_.begin(), lines.begin(), lines.end());
  }

  void parse_kernel(const std::string& header) {
    Kernel kernel;
    const std::size_t open = header.find('(');
    kernel.name = trim(header.substr(15, open - 15));
    std::size_t offset = 0;
    for (const std::string& declaration : split(header.substr(open + 1, header.rfind(')') - open - 1), ',')) {
      std::istringstream words(declaration);
      std::string word;
      Parameter parameter;
      std::size_t bytes = declaration.find("64 ") != std::string::npos ? 8 : 4;
      while (words >> word) parameter.name = word;
      if (const std::size_t bracket = parameter.name.find('['); bracket != std::string::npos) {
        bytes = std::stoull(parameter.name.substr(bracket + 1));
        parameter.name.resize(bracket);
      }
      parameter.offset = offset;
      parameter.bytes = bytes;
      offset += bytes;
      kernel.parameters.push_back(parameter);
    }
    registers_.clear();
    std::map<std::string, std::size_t> labels;
    std::map<std::string, std::vector<std::string>> target_lists;
    std::vector<std::pair<std::size_t, std::string>> branches;
    std::string line;
    while (next(line) && line != "}") {
      if (line == "{") continue;
      if (line.back() == ':') {
        labels[line.substr(0, line.size() - 1)] = kernel.code.size();
      } else if (const auto list = line.find(": .branchtargets "); list != std::string::npos) {
        const std::string names = line.substr(list + std::string(": .branchtargets ").size());
        target_lists[line.substr(0, list)] = split(names.substr(0, names.find(';')), ',');
      } else if (line.rfind(".reg", 0) == 0) {
        std::istringstream words(line);
        std::string word;
        words >> word >> word;
        std::string names;
        std::getline(words, names, ';');
        for (const std::string& name : split(names, ',')) {
          if (!registers_.emplace(name, static_cast<int>(registers_.size())).second)
            fail("register " + name + " declared twice");
        }
      } else if (line.rfind(".local", 0) == 0) {
        kernel.local_bytes = std::stoull(line.substr(line.find('[') + 1));
      } else if (line.rfind("call ", 0) == 0) {
        expand_call(line);
      } else if (line[0] != '.') {
        if (line.back() != ';') fail("no semicolon");
        parse_instruction(line.substr(0, line.size() - 1), kernel, branches);
      }
    }
    for (const auto& [index, target] : branches) {
      const bool is_list = kernel.code[index].code == Code::kIndexedBranch;
      if (is_list && !target_lists.contains(target)) throw PtxError("no list of targets " + target);
      for (const std::string& label : is_list ? target_lists[target] : std::vector{target}) {
        if (!labels.contains(label)) throw PtxError("no label " + label);
        kernel.code[index].targets.push_back(labels[label]);
      }
    }
    kernel.registers = registers_.size();
    program_.kernels[kernel.name] = std::move(kernel);
  }

  int find_register(const std::string& name) const {
    const auto found = registers_.find(name);
    if (found == registers_.end()) fail("no register " + name);
    return found->second;
  }

  Operand parse_operand(const std::string& text, const Kernel& kernel) const {
    Operand operand;
    if (text[0] == '[') {
      operand.kind = Operand::Kind::kAddress;
      const std::vector<std::string> parts = split(text.substr(1, text.size() - 2), '+');
      if (const std::vector<std::string> texture = split(text.substr(1, text.size() - 2), ','); texture.size() == 2) {
        operand.reg = find_register(texture[0]);
        operand.regs = {find_register(texture[1].substr(1, texture[1].size() - 2))};
        return operand;
      }
      if (parts[0][0] == '%') {
        operand.reg = find_register(parts[0]);
      } else {
        const auto named = [&](const Parameter& parameter) { return parameter.name == parts[0]; };
        const auto found = std::ranges::find_if(kernel.parameters, named);
        const bool is_parameter = found != kernel.parameters.end();
        if (!is_parameter && parts[0] != "constant_bank") fail("no parameter " + parts[0]);
        if (is_parameter) operand.parameter = static_cast<int>(found - kernel.parameters.begin());
      }
      if (parts.size() == 2) operand.value = std::stoull(parts[1]);
    } else if (text[0] == '{') {
      operand.kind = Operand::Kind::kList;
      for (const std::string& part : split(text.substr(1, text.size() - 2), ','))
        operand.regs.push_back(find_register(part));
    } else if (text[0] == '%' && registers_.contains(text)) {
      operand.kind = Operand::Kind::kRegister;
      operand.reg = find_register(text);
    } else if (text[0] == '%') {
      operand.kind = Operand::Kind::kSpecial;
      operand.special = special_named(text);
    } else if (text == "dynamic_shared") {
      operand.value = kSharedWindowStart;
    } else if (text == "local_frame") {
      operand.value = kLocalWindowStart;
    } else if (text == "constant_bank") {
      operand.value = 0;
    } else {
      operand.value = std::stoull(text);
    }
    return operand;
  }

  void parse_instruction(std::string text, Kernel& kernel, std::vector<std::pair<std::size_t, std::string>>& branches) {
    Instruction instruction;
    instruction.line = number_;
    if (text[0] == '@') {
      const std::size_t space = text.find(' ');
      instruction.guard_negated = text[1] == '!';
      instruction.guard =
          find_register(text.substr(instruction.guard_negated ? 2 : 1, space - (instruction.guard_negated ? 2 : 1)));
      text = trim(text.substr(space));
    }
    const std::size_t space = text.find(' ');
    instruction.op = split(text.substr(0, space), '.');
    instruction.code = decode(instruction.op);
    instruction.bytes = type_bytes(instruction.op);
    instruction.reduces = instruction.code == Code::kBarrier && has(instruction.op, "red");
    if (instruction.code == Code::kSetp) decode_comparison(instruction);
    const std::string rest = space == std::string::npos ? "" : trim(text.substr(space));
    if (instruction.code == Code::kBranch) {
      branches.emplace_back(kernel.code.size(), rest);
    } else if (instruction.code == Code::kIndexedBranch) {
      const std::vector<std::string> operands = split(rest, ',');
      instruction.operands.push_back(parse_operand(operands.at(0), kernel));
      branches.emplace_back(kernel.code.size(), operands.at(1));
    } else if (!rest.empty()) {
      for (const std::string& operand : split(rest, ','))
        instruction.operands.push_back(parse_operand(operand, kernel));
    }
    // All other instructions take one register per operand.
    constexpr Code kOfLists[] = {Code::kLoadParameter, Code::kLoadGlobal,  Code::kLoadShared, Code::kLoadConstant,
                                 Code::kStoreGlobal,   Code::kStoreShared, Code::kTexture};
    const bool has_list = std::any_of(instruction.operands.begin(), instruction.operands.end(),
                                      [](const Operand& operand) { return operand.kind == Operand::Kind::kList; });
    if (has_list && std::find(std::begin(kOfLists), std::end(kOfLists), instruction.code) == std::end(kOfLists)) {
      fail("several registers of " + instruction.op[0]);
    }
    kernel.code.push_back(std::move(instruction));
  }

  struct Function {
    std::vector<std::string> results;
    std::vector<std::string> parameters;
    std::vector<std::string> lines;
  };

  std::istringstream input_;
  int number_ = 0;
  std::map<std::string, Function> functions_;
  std::deque<std::string> expanded_;  // lines that precede the next line of the input
  Program program_;
  std::map<std::string, int> registers_;
};

struct Thread {
  std::vector<std::uint64_t> registers;
  std::size_t next = 0;
  unsigned id = 0;
  bool ended = false;
  std::vector<std::byte> local;
  int reduces_into = -1;  // register that receives whether any thread at the barrier had a true predicate
};

// One block. Its threads run in turn between barriers.
class Block {
 public:
  Block(Machine& machine, const Program& program, const Kernel& kernel, const Grid& grid, void* const* arguments,
        unsigned x, unsigned y, std::uint64_t cycles)
      : machine_(machine),
        program_(program),
        kernel_(kernel),
        grid_(grid),
        arguments_(arguments),
        x_(x),
        y_(y),
        cycles_(cycles),
        shared_(grid.shared_bytes),
        threads_(grid.threads) {
    for (unsigned i = 0; i < grid.threads; ++i) {
      threads_[i].registers.resize(kernel.registers);
      threads_[i].local.resize(kernel.local_bytes);
      threads_[i].id = i;
    }
  }

  void run() {
    while (take_turn(0)) {
    }
  }

  // Runs to the next barrier, or for about `most` instructions (0: no limit). Returns false if all threads ended.
  bool take_turn(int most) {
    for (; turn_ < threads_.size(); ++turn_) {
      if (!threads_[turn_].ended && !run_to_barrier(threads_[turn_], most)) return true;
    }
    turn_ = 0;
    for (Thread& thread : threads_) {
      if (thread.reduces_into >= 0) thread.registers[thread.reduces_into] = any_ ? 1 : 0;
      thread.reduces_into = -1;
    }
    any_ = false;
    return std::any_of(threads_.begin(), threads_.end(), [](const Thread& thread) { return !thread.ended; });
  }

  [[nodiscard]] std::uint64_t cycles() const { return cycles_; }

 private:
  // Returns false if the thread has not reached a barrier after `most` instructions.
  bool run_to_barrier(Thread& thread, int most) {
    for (int i = 0; most == 0 || i < most; ++i) {
      if (thread.next >= kernel_.code.size()) throw PtxError("ran off the end of " + kernel_.name);
      const Instruction& instruction = kernel_.code[thread.next++];
      cycles_ += kInstructionCycles;
      if (instruction.guard >= 0 && (thread.registers[instruction.guard] != 0) == instruction.guard_negated) continue;
      switch (instruction.code) {
        case Code::kReturn:
          thread.ended = true;
          return true;
        case Code::kBarrier:
          if (instruction.reduces) {
            thread.reduces_into = instruction.operands[0].reg;
            any_ = any_ || value(instruction.operands[2], thread) != 0;
          }
          return true;
        case Code::kBranch:
          thread.next = instruction.targets[0];
          break;
        case Code::kIndexedBranch:
          thread.next = instruction.targets.at(value(instruction.operands[0], thread));
          break;
        default:
          execute(instruction, thread);
      }
    }
    return false;
  }

  std::uint64_t special(Special which, const Thread& thread) {
    switch (which) {
      case Special::kThread:
        return thread.id;
      case Special::kWarp:
        return thread.id / 32;
      case Special::kThreads:
        return grid_.threads;
      case Special::kBlock:
        return x_;
      case Special::kBlockY:
        return y_;
      case Special::kBlocks:
        return grid_.blocks;
      case Special::kSm:
        return machine_.sm_of_block(x_);
      case Special::kClock:
        return cycles_;
      case Special::kTimer:
        cycles_ += kTimerReadingCycles;
        return cycles_ * 1000 / machine_.cycles_per_microsecond;
    }
    return 0;
  }

  std::uint64_t value(const Operand& operand, const Thread& thread) {
    switch (operand.kind) {
      case Operand::Kind::kRegister:
        return thread.registers[operand.reg];
      case Operand::Kind::kSpecial:
        return special(operand.special, thread);
      default:
        return operand.value;
    }
  }

  // Checks the bounds and alignment of an access and returns its memory.
  std::byte* memory(const Instruction& instruction, const Operand& operand, Thread& thread, std::size_t bytes) {
    const std::uint64_t address = (operand.reg >= 0 ? thread.registers[operand.reg] : 0) + operand.value;
    const auto check = [&](bool inside) {
      if (!inside || address % bytes != 0) {
        throw AddressError(kernel_.name + " line " + std::to_string(instruction.line) + ": address " +
                           std::to_string(address));
      }
    };
    switch (instruction.code) {
      case Code::kLoadParameter:
        if (operand.parameter < 0) throw PtxError("no parameter in line " + std::to_string(instruction.line));
        return static_cast<std::byte*>(arguments_[operand.parameter]) + operand.value;
      case Code::kLoadShared:
      case Code::kStoreShared:
      case Code::kAddShared:
        check(address >= kSharedWindowStart && address + bytes <= kSharedWindowStart + shared_.size());
        return shared_.data() + (address - kSharedWindowStart);
      case Code::kLoadLocal:
      case Code::kStoreLocal:
        check(address >= kLocalWindowStart && address + bytes <= kLocalWindowStart + thread.local.size());
        return thread.local.data() + (address - kLocalWindowStart);
      case Code::kLoadConstant:
        check(address + bytes <= program_.constant_bank.size());
        return const_cast<std::byte*>(program_.constant_bank.data()) + address;
      default:
        check(true);
        machine_.check_global(address, bytes);
        return reinterpret_cast<std::byte*>(address);
    }
  }

  static std::span<const int> registers_of(const Operand& operand) {
    return operand.kind == Operand::Kind::kList ? std::span(operand.regs) : std::span(&operand.reg, 1);
  }

  void count(WordCounts& words, const std::byte* at, std::size_t bytes) const {
    if (machine_.counts) words.add(reinterpret_cast<std::uint64_t>(at), bytes);
  }

  void load(const Instruction& instruction, Thread& thread) {
    cycles_ += instruction.code == Code::kLoadGlobal ? kGlobalLoadCycles : kOtherLoadCycles;
    const std::span<const int> to = registers_of(instruction.operands[0]);
    const std::byte* from = memory(instruction, instruction.operands[1], thread, instruction.bytes * to.size());
    if (instruction.code == Code::kLoadGlobal) count(machine_.loads_of_word, from, instruction.bytes * to.size());
    for (std::size_t i = 0; i < to.size(); ++i) {
      thread.registers[to[i]] = 0;
      std::memcpy(&thread.registers[to[i]], from + i * instruction.bytes, instruction.bytes);
    }
  }

  void store(const Instruction& instruction, Thread& thread) {
    const Operand& source = instruction.operands[1];
    const bool immediate = source.kind == Operand::Kind::kImmediate;
    const std::span<const int> from = registers_of(source);  // unused for an immediate
    std::byte* to = memory(instruction, instruction.operands[0], thread, instruction.bytes * from.size());
    if (instruction.code == Code::kStoreGlobal) count(machine_.stores_to_word, to, instruction.bytes * from.size());
    for (std::size_t i = 0; i < from.size(); ++i) {
      const std::uint64_t word = immediate ? source.value : thread.registers[from[i]];
      std::memcpy(to + i * instruction.bytes, &word, instruction.bytes);
    }
  }

  // An atomic operation; returns the old value.
  template <typename Word = std::uint32_t, typename Change>
  Word replace(const Instruction& instruction, Thread& thread, Change change) {
    cycles_ += instruction.code == Code::kAddShared ? kOtherLoadCycles : kGlobalLoadCycles;
    std::byte* at = memory(instruction, instruction.operands[1], thread, sizeof(Word));
    Word old = 0;
    std::memcpy(&old, at, sizeof(Word));
    const Word word = change(old, static_cast<Word>(value(instruction.operands[2], thread)));
    std::memcpy(at, &word, sizeof(Word));
    return old;
  }

  void fetch_texel(const Instruction& instruction, Thread& thread) {
    cycles_ += kGlobalLoadCycles;
    const Operand& place = instruction.operands[1];
    const auto texture = machine_.textures.find(thread.registers[place.reg]);
    if (texture == machine_.textures.end()) throw AddressError("no such texture");
    const std::uint64_t texel_bytes = 4 * texture->second.channels;
    const std::uint64_t offset = thread.registers[place.regs[0]] * texel_bytes;
    if (offset + texel_bytes > texture->second.bytes) throw AddressError("texel out of range");
    machine_.check_global(texture->second.address + offset, texel_bytes);
    count(machine_.loads_of_word, reinterpret_cast<const std::byte*>(texture->second.address + offset), texel_bytes);
    for (unsigned i = 0; i < texture->second.channels; ++i) {
      std::uint32_t word = 0;
      std::memcpy(&word, reinterpret_cast<const std::byte*>(texture->second.address + offset + 4 * i), 4);
      thread.registers[instruction.operands[0].regs[i]] = word;
    }
  }

  void compare(const Instruction& instruction, Thread& thread) {
    using Relation = Instruction::Relation;
    const std::uint64_t a = value(instruction.operands[1], thread);
    const std::uint64_t b = value(instruction.operands[2], thread);
    const bool is_negated = instruction.relation == Relation::kNotEqual || instruction.relation == Relation::kNotLess;
    const bool is_equality = instruction.relation == Relation::kEqual || instruction.relation == Relation::kNotEqual;
    bool result = (is_equality ? a == b : a < b) != is_negated;
    if (instruction.join == Instruction::Join::kAnd) result = result && value(instruction.operands[3], thread) != 0;
    if (instruction.join == Instruction::Join::kOr) result = result || value(instruction.operands[3], thread) != 0;
    thread.registers[instruction.operands[0].reg] = result ? 1 : 0;
  }

  void execute(const Instruction& instruction, Thread& thread) {
    const auto in = [&](std::size_t i) { return value(instruction.operands[i], thread); };
    const auto out = [&](std::uint64_t result, std::size_t bytes) {
      thread.registers[instruction.operands[0].reg] = bytes == 8 ? result : result & 0xffffffffu;
    };
    switch (instruction.code) {
      case Code::kMov:
        return out(in(1), instruction.bytes);
      case Code::kCvt:
        return out(in(1) & 0xffffffffu, 8);  // between u32 and u64 both ways
      case Code::kAdd:
        return out(in(1) + in(2), instruction.bytes);
      case Code::kSub:
        return out(in(1) - in(2), instruction.bytes);
      case Code::kMulLo:
        return out(in(1) * in(2), instruction.bytes);
      case Code::kMulWide:
        return out(in(1) * in(2), 8);
      case Code::kMadLo:
        return out(in(1) * in(2) + in(3), instruction.bytes);
      case Code::kMadWide:
        return out(in(1) * in(2) + in(3), 8);
      case Code::kFma:
        return out(in(1) * in(2) + in(3), instruction.bytes);  // no test reads the result
      case Code::kDiv:
        return out(in(2) == 0 ? UINT64_MAX : in(1) / in(2), instruction.bytes);  // unspecified in PTX
      case Code::kRem:
        return out(in(2) == 0 ? UINT64_MAX : in(1) % in(2), instruction.bytes);
      case Code::kMin:
        return out(std::min(in(1), in(2)), instruction.bytes);
      case Code::kAnd:
        return out(in(1) & in(2), instruction.bytes);
      case Code::kOr:
        return out(in(1) | in(2), instruction.bytes);
      case Code::kXor:
        return out(in(1) ^ in(2), instruction.bytes);
      case Code::kShl:
        return out(in(1) << in(2), instruction.bytes);
      case Code::kShr:
        return out(in(1) >> in(2), instruction.bytes);
      case Code::kSetp:
        return compare(instruction, thread);
      case Code::kSelp:
        return out(in(3) != 0 ? in(1) : in(2), instruction.bytes);
      case Code::kLoadParameter:
      case Code::kLoadGlobal:
      case Code::kLoadShared:
      case Code::kLoadConstant:
      case Code::kLoadLocal:
        return load(instruction, thread);
      case Code::kStoreGlobal:
      case Code::kStoreLocal:
      case Code::kStoreShared:
        return store(instruction, thread);
      case Code::kTexture:
        return fetch_texel(instruction, thread);
      case Code::kExchangeGlobal:
        return out(replace(instruction, thread, [](std::uint32_t, std::uint32_t word) { return word; }), 4);
      case Code::kAddGlobal:
        if (instruction.bytes == sizeof(std::uint64_t)) {
          const auto add = [](std::uint64_t old, std::uint64_t word) { return old + word; };
          return out(replace<std::uint64_t>(instruction, thread, add), sizeof(std::uint64_t));
        }
        [[fallthrough]];
      case Code::kAddShared:
        return out(replace(instruction, thread, [](std::uint32_t old, std::uint32_t word) { return old + word; }), 4);
      default:
        return;
    }
  }

  Machine& machine_;
  const Program& program_;
  const Kernel& kernel_;
  const Grid& grid_;
  void* const* arguments_;
  unsigned x_;
  unsigned y_;
  std::uint64_t cycles_;
  std::vector<std::byte> shared_;
  std::vector<Thread> threads_;
  std::size_t turn_ = 0;  // the thread that runs next
  bool any_ = false;      // result of the reducing barrier so far
};

}  // namespace

Program parse(const std::string& ptx) { return Parser(ptx).parse_module(); }

void Machine::run(const Program& program, const Kernel& kernel, const Grid& grid, void* const* arguments) {
  if (counts) {
    loads_of_word.clear();
    stores_to_word.clear();
  }
  std::uint64_t end = cycles_;
  std::vector<Block> together;
  for (unsigned y = 0; y < grid.blocks_y; ++y) {
    for (unsigned x = 0; x < grid.blocks; ++x) {
      Block block(*this, program, kernel, grid, arguments, x, y, together.empty() ? end : cycles_);
      if (grid.blocks_wait_for_one_another) {
        together.push_back(std::move(block));
        continue;
      }
      block.run();
      end = block.cycles();
    }
  }
  bool running = !together.empty();
  while (running) {
    running = false;
    for (Block& block : together) {
      running = block.take_turn(kTurn) || running;
      end = std::max(end, block.cycles());
    }
  }
  cycles_ = end;
}

}  // namespace fake_cuda
