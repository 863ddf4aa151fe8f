#include "gputopo/program.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <numeric>
#include <random>
#include <unordered_map>

#include "gputopo/error.h"

namespace gputopo {
namespace {

// The names of an enum's values in order: one table serves both directions.
constexpr std::array<std::string_view, 7> kSpaceNames = {"global",   "global_bypass_l1", "read_only", "texture",
                                                         "constant", "shared",           "scalar"};
constexpr std::array<std::string_view, 3> kOrderNames = {"sequential", "reversed", "shuffled"};
constexpr std::array<std::string_view, 6> kStepNames = {"warm", "touch", "timed", "counted", "store", "paired"};
constexpr std::array<std::string_view, 3> kStreamOpNames = {"read", "write", "copy"};
constexpr std::array<std::string_view, 2> kCodeStepNames = {"run", "constants"};
constexpr std::array<std::string_view, 4> kAccessOpNames = {"load", "store", "store_load", "atomic_add"};

constexpr std::array<std::string_view, 3> kClusterOpNames = {"chase", "read", "bulk_copy"};

template <typename Enum, std::size_t N>
std::string_view name_of(const std::array<std::string_view, N>& names, Enum value) {
  return names.at(static_cast<std::size_t>(value));
}

template <typename Enum, std::size_t N>
Enum value_of(const std::array<std::string_view, N>& names, std::string_view text) {
  const auto* found = std::find(names.begin(), names.end(), text);
  if (found == names.end()) {
    throw FormatError(fmt::format("program text: '{}' is not one of {}", text, fmt::join(names, ", ")));
  }
  return static_cast<Enum>(found - names.begin());
}

std::uint64_t parse_number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (status != std::errc{} || end != text.data() + text.size()) {
    throw FormatError(fmt::format("program text: '{}' is not a number", text));
  }
  return value;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::vector<std::string_view> fields_of(std::string_view word, std::size_t least, std::size_t most) {
  std::vector<std::string_view> fields = split(word, ':');
  if (fields.size() < least || fields.size() > most) {
    throw FormatError(fmt::format("program text: '{}' has {} fields, not {}", word, fields.size(), least));
  }
  return fields;
}

std::uint32_t parse_number32(std::string_view text) { return static_cast<std::uint32_t>(parse_number(text)); }

void require(bool condition, std::string_view field, std::string_view rule) {
  if (!condition) throw UsageError(fmt::format("program: {} {}", field, rule));
}

constexpr std::uint64_t kConstantBankBytes = 64 * 1024;
constexpr std::uint32_t kMaxWarps = kTouchThreads / 32;

bool is_plain_memory(Space space) {
  return space == Space::kGlobal || space == Space::kGlobalBypassL1 || space == Space::kReadOnly ||
         space == Space::kScalar;
}

void validate_array(const ChaseProgram& program, std::size_t index) {
  const ChaseArray& array = program.arrays[index];
  const std::string field = fmt::format("arrays[{}]", index);
  require(array.stride_bytes >= kMinimumStrideBytes, field + ".stride_bytes", "must be at least 16");
  require(array.stride_bytes % 8 == 0, field + ".stride_bytes", "must be a multiple of 8");
  require(array.element_count() >= 1, field + ".bytes", "must hold at least one element");
  require(array.element_count() <= (1ull << 31), field + ".bytes", "must hold at most 2^31 elements");
  require(array.skew_bytes == 0 || array.skew_bytes + kMinimumStrideBytes <= array.stride_bytes, field + ".skew_bytes",
          "must leave room for the links within the stride");
  require(array.skew_bytes % 8 == 0, field + ".skew_bytes", "must be a multiple of 8");
  require(array.stagger_bytes % kMinimumStrideBytes == 0, field + ".stagger_bytes", "must be a multiple of 16");
  require(std::has_single_bit(array.stagger_window_bytes) && array.stagger_window_bytes <= array.stride_bytes,
          field + ".stagger_window_bytes", "must be a power of two up to the stride");
  require(array.stagger_bytes == 0 || array.skew_bytes == 0, field + ".stagger_bytes", "must be 0 beside a skew");
  if (!array.elements.empty()) {
    require(array.skew_bytes == 0, field + ".skew_bytes", "must be 0 where elements are listed");
    std::vector<std::uint32_t> sorted = array.elements;
    std::sort(sorted.begin(), sorted.end());
    require(sorted.back() < array.element_count(), field + ".elements", "must lie in the array");
    require(std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end(), field + ".elements",
            "must be listed once each");
  }
  if (array.alias_of) {
    require(*array.alias_of < index, field + ".alias_of", "must name an earlier array");
    const ChaseArray& original = program.arrays[*array.alias_of];
    require(!original.alias_of, field + ".alias_of", "must name an array that is no alias itself");
    require(is_plain_memory(array.space) && is_plain_memory(original.space), field + ".alias_of",
            "is for spaces that read plain device memory");
    ChaseArray same = original;
    same.space = array.space;
    same.alias_of = array.alias_of;
    require(same == array, field, "must equal the array it aliases in all but its space");
  }
}

void validate_touch(const ChaseArray& array, const ChaseStep& step, const std::string& field) {
  const std::uint64_t elements = array.element_count();
  require(touched_elements(array, step) <= elements - step.first, field + ".loads", "must end within the array");
  require(array.skew_bytes == 0 || touched_elements(array, step) == elements, field + ".loads",
          "must be all elements of an array that is skewed");
}

// What a store step can write: each link follows from the place of the element before or after.
void validate_store(const ChaseArray& array, const ChaseStep& step, const std::string& field) {
  require(is_global(array.space), field + ".kind", "must not be store in a space but global and global_bypass_l1");
  const bool plain = array.elements.empty() && array.stagger_bytes == 0 && array.skew_bytes == 0;
  require(plain, field + ".kind", "must not be store where elements are listed, staggered or skewed");
  require(array.order == Order::kSequential && array.second_order == Order::kReversed, field + ".kind",
          "must not be store in orders but sequential and, second, reversed");
  require(step.chain == 0, field + ".chain", "must be 0 for store");
  require(step.first == 0, field + ".first", "must be 0 for store");
  require(step.loads <= array.element_count(), field + ".loads", "must be at most all elements for store");
}

void validate_chase(const ChaseProgram& program) {
  require(!program.arrays.empty(), "arrays", "must not be empty");
  require(!program.actors.empty(), "actors", "must not be empty");
  require(!program.steps.empty(), "steps", "must not be empty");
  require(!program.sm || program.exclusive, "sm", "needs exclusive");
  std::uint64_t constant_bytes = 0;
  for (std::size_t i = 0; i < program.arrays.size(); ++i) {
    validate_array(program, i);
    if (program.arrays[i].space == Space::kConstant) constant_bytes += program.arrays[i].bytes;
  }
  require(constant_bytes <= kConstantBankBytes, "arrays", "take more than the 64 KiB that constant memory has");
  for (const ChaseActor& actor : program.actors) {
    require(actor.warp < kMaxWarps && actor.lane < 32, "actors", "must name a warp under 32 and a lane under 32");
    require(actor.sm.has_value() == program.actors[0].sm.has_value(), "actors", "must all name an SM or none");
    require(!actor.sm || (program.exclusive && !program.sm), "actors", "may name SMs in exclusive programs without sm");
  }
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    const ChaseStep& step = program.steps[i];
    const std::string field = fmt::format("steps[{}]", i);
    require(step.actor < program.actors.size(), field + ".actor", "is out of range");
    require(step.array < program.arrays.size(), field + ".array", "is out of range");
    require(step.chain <= 1, field + ".chain", "must be 0 or 1");
    require(step.kind == StepKind::kTouch || step.loads >= 1, field + ".loads", "must be at least 1");
    const bool plain = program.arrays[step.array].elements.empty() && program.arrays[step.array].stagger_bytes == 0;
    require(step.kind != StepKind::kTouch || plain, field + ".kind",
            "must not be touch where elements are listed or staggered");
    require(step.first < program.arrays[step.array].chain_length(), field + ".first", "is out of range");
    if (step.kind == StepKind::kTouch) validate_touch(program.arrays[step.array], step, field);
    require(step.kind != StepKind::kPaired || is_global(program.arrays[step.array].space), field + ".kind",
            "must not be paired in a space but global and global_bypass_l1");
    if (step.kind == StepKind::kStore) validate_store(program.arrays[step.array], step, field);
  }
}

void validate_stream(const StreamProgram& program) {
  require(program.vector_bytes == 4 || program.vector_bytes == 8 || program.vector_bytes == 16, "vector_bytes",
          "must be 4, 8 or 16");
  require(program.loads_in_flight >= 1 && program.loads_in_flight <= 16, "loads_in_flight", "must be 1 to 16");
  require(program.threads_per_block >= 32 && program.threads_per_block <= 1024 && program.threads_per_block % 32 == 0,
          "threads_per_block", "must be a multiple of 32 up to 1024");
  require(program.blocks_per_sm >= 1 && program.blocks_per_sm <= 32, "blocks_per_sm", "must be 1 to 32");
  require(program.repeats >= 1, "repeats", "must be at least 1");
  require(program.bytes >= program.vector_bytes, "bytes", "must hold at least one vector");
  const bool may_span = program.op == StreamOp::kCopy && !program.per_block && is_global(program.space);
  require(program.write_span_bytes == 0 || (may_span && program.write_span_bytes <= program.bytes), "write_span_bytes",
          "must be 0, or at most the bytes of a copy in global or global_bypass_l1 that is not per block");
  require(program.space != Space::kShared || program.per_block, "per_block", "must be set for shared memory");
  require(program.space != Space::kConstant || program.bytes <= kConstantBankBytes, "bytes",
          "is more than the 64 KiB that constant memory has");
  const bool writable =
      program.space == Space::kGlobal || program.space == Space::kGlobalBypassL1 || program.space == Space::kShared;
  require(writable || program.op == StreamOp::kRead, "op", "must be read in a read-only space");
}

void validate_code_step(const InstructionProgram& program, std::size_t index) {
  const CodeStep& step = program.steps[index];
  const std::string field = fmt::format("steps[{}]", index);
  constexpr std::uint32_t kMostPasses = 1024;
  require(step.actor < program.actors.size(), field + ".actor", "is out of range");
  require(step.passes >= 1 && step.passes <= kMostPasses, field + ".passes", "must be 1 to 1024");
  require(step.count >= 1, field + ".count", "must be at least 1");
  if (step.kind == CodeStepKind::kConstants) {
    for (const auto& [name, bytes] :
         {std::pair(".first", step.first), {".count", step.count}, {".stride_bytes", step.stride_bytes}}) {
      require(bytes % kConstantStepBytes == 0, field + name, "must be a multiple of 64 for constants");
    }
    require(step.stride_bytes >= 1, field + ".stride_bytes", "must not be 0");
    require(step.first <= kConstantBankBytes && step.count <= kConstantBankBytes - step.first, field + ".count",
            "is more than the 64 KiB that constant memory has");
    return;
  }
  require(step.first % kCodeEntryInstructions == 0, field + ".first", "must be a multiple of 4096");
  require(step.count % kCodeBlockInstructions == 0, field + ".count", "must be a multiple of 32");
  require(step.first < kMostCodeInstructions && step.count <= kMostCodeInstructions - step.first, field + ".count",
          "leaves the 24192 instructions that there are");
  require(step.lead <= kCodeLeadInstructions && step.lead % kCodeLeadStep == 0, field + ".lead",
          "must be an even number up to 128");
  require(step.lead == 0 || (step.first == 0 && step.count <= kMostCodeBehindLead), field + ".lead",
          "must be 0 where the run begins within the stretch, or ends behind its first 7680 instructions");
}

void validate_code(const InstructionProgram& program) {
  require(!program.actors.empty(), "actors", "must not be empty");
  require(!program.steps.empty(), "steps", "must not be empty");
  constexpr std::uint32_t kMostWarps = 8;
  std::vector<std::uint32_t> sms;
  for (const CodeActor& actor : program.actors) {
    require(actor.warp < kMostWarps, "actors", "must name a warp under 8");
    require(actor.sm.has_value() == program.actors[0].sm.has_value(), "actors", "must all name an SM or none");
    if (actor.sm && std::find(sms.begin(), sms.end(), *actor.sm) == sms.end()) sms.push_back(*actor.sm);
  }
  require(sms.size() <= 2, "actors", "must name two SMs at most");
  for (std::size_t i = 0; i < program.steps.size(); ++i) validate_code_step(program, i);
}

void validate_access(const AccessProgram& program) {
  constexpr std::uint32_t kMostAccesses = 1u << 20;
  constexpr std::uint64_t kMostStrideBytes = 1u << 20;
  const bool shared = program.space == Space::kShared;
  require(shared || program.space == Space::kGlobal || program.space == Space::kGlobalBypassL1, "space",
          "must be shared, global or global_bypass_l1");
  require(program.space != Space::kGlobal || program.op == AccessOp::kLoad, "op",
          "must be load in global, where L1 would take no part; use global_bypass_l1");
  const std::uint32_t word = access_word_bytes(program);
  require(program.bytes >= word && program.bytes % word == 0, "bytes", "must be whole words, at least one");
  require(program.lane_stride_bytes % word == 0 && program.lane_stride_bytes <= kMostStrideBytes, "lane_stride_bytes",
          "must be a multiple of the word up to 1 MiB");
  require(program.warp_stride_bytes % word == 0 && program.warp_stride_bytes <= kMostStrideBytes, "warp_stride_bytes",
          "must be a multiple of the word up to 1 MiB");
  require(program.hop_bytes % word == 0 && program.hop_bytes < program.bytes, "hop_bytes",
          "must be a multiple of the word under bytes");
  require(program.hop_bytes == 0 || program.op == AccessOp::kLoad, "hop_bytes", "must be 0 but for loads");
  require(program.warps >= 1 && program.warps <= kMostAccessWarps, "warps", "must be 1 to 32");
  require(
      program.accesses >= kAccessUnroll && program.accesses <= kMostAccesses && program.accesses % kAccessUnroll == 0,
      "accesses", "must be a multiple of 16 from 16 to 2^20");
  require(program.warm_accesses <= kMostAccesses && program.warm_accesses % kAccessUnroll == 0, "warm_accesses",
          "must be a multiple of 16 up to 2^20");
}

void validate_bulk_copy(const ClusterProgram& program) {
  constexpr std::uint32_t kCopyGranule = 16;
  constexpr std::uint32_t kMostCopyBytes = 128u << 10;
  require(program.cluster_size == 1, "cluster_size", "must be 1 for bulk copies");
  require(program.hop == 0, "hop", "must be 0 for bulk copies");
  require(program.copy_bytes >= kCopyGranule && program.copy_bytes <= kMostCopyBytes &&
              program.copy_bytes % kCopyGranule == 0,
          "copy_bytes", "must be a multiple of 16 up to 128 KiB");
  require(program.bytes >= program.copy_bytes && program.bytes % program.copy_bytes == 0, "bytes",
          "must be whole copies, at least one");
  require(program.in_flight >= 1 && program.in_flight <= kMostCopiesInFlight, "in_flight", "must be 1 to 32");
  require(program.accesses % program.in_flight == 0, "accesses", "must be a multiple of in_flight");
  require(program.warm_accesses % program.in_flight == 0, "warm_accesses", "must be a multiple of in_flight");
}

void validate_cluster(const ClusterProgram& program) {
  constexpr std::uint32_t kMostAccesses = 1u << 20;
  require(program.cluster_size >= 1 && program.cluster_size <= kMostClusterSize, "cluster_size", "must be 1 to 16");
  require(program.hop < program.cluster_size, "hop", "must be under cluster_size");
  require(program.reader < program.cluster_size, "reader", "must be under cluster_size");
  require(program.warps >= 1 && program.warps <= kMostAccessWarps, "warps", "must be 1 to 32");
  require(program.warps == 1 || program.op == ClusterOp::kRead, "warps", "must be 1 but for read");
  require(program.reader == 0 || program.op == ClusterOp::kChase, "reader", "must be 0 but for chase");
  require(
      program.accesses >= kClusterUnroll && program.accesses <= kMostAccesses && program.accesses % kClusterUnroll == 0,
      "accesses", "must be a multiple of 16 from 16 to 2^20");
  require(program.warm_accesses <= kMostAccesses && program.warm_accesses % kClusterUnroll == 0, "warm_accesses",
          "must be a multiple of 16 up to 2^20");
  if (program.op == ClusterOp::kBulkCopy) return validate_bulk_copy(program);
  require(program.copy_bytes == 0 && program.in_flight == 1, "copy_bytes, in_flight", "are for bulk copies");
  if (program.op == ClusterOp::kChase) {
    require(program.bytes >= kClusterHopBytes && program.bytes % kClusterHopBytes == 0, "bytes",
            "must be a multiple of 128");
  } else {
    const std::uint64_t pass = std::uint64_t{program.warps} * kClusterWarpLanes * kClusterReadBytes;
    require(std::has_single_bit(program.bytes) && program.bytes >= pass, "bytes",
            "must be a power of two, at least one load of all warps");
  }
}

// Runs of consecutive indices as first-last: 0-15,18,20-21.
std::string elements_text(const std::vector<std::uint32_t>& elements) {
  std::string text;
  for (std::size_t i = 0; i < elements.size();) {
    std::size_t end = i + 1;
    while (end < elements.size() && elements[end] == elements[end - 1] + 1) ++end;
    if (i > 0) text += ',';
    text += end - i > 1 ? fmt::format("{}-{}", elements[i], elements[end - 1]) : fmt::format("{}", elements[i]);
    i = end;
  }
  return text;
}

std::string chase_text(const ChaseProgram& program) {
  std::string text = fmt::format("chase exclusive={} carve_out={} timed_cap={}", program.exclusive ? 1 : 0,
                                 program.shared_carve_out_bytes, program.timed_cap);
  if (program.sm) text += fmt::format(" sm={}", *program.sm);
  for (const ChaseArray& array : program.arrays) {
    text += fmt::format(" array={}:{}:{}:{}:{}:{}:{}", to_string(array.space), array.bytes, array.stride_bytes,
                        to_string(array.order), to_string(array.second_order), array.seed, array.skew_bytes);
    if (array.alias_of) text += fmt::format(":{}", *array.alias_of);
    if (array.stagger_bytes != 0) {
      text += fmt::format(" stagger={}:{}", array.stagger_bytes, array.stagger_window_bytes);
    }
    if (!array.elements.empty()) text += " elements=" + elements_text(array.elements);
  }
  for (const ChaseActor& actor : program.actors) {
    text += fmt::format(" actor={}:{}", actor.warp, actor.lane);
    if (actor.sm) text += fmt::format(":{}", *actor.sm);
  }
  for (const ChaseStep& step : program.steps) {
    text += fmt::format(" step={}:{}:{}:{}:{}:{}", to_string(step.kind), step.actor, step.array, step.loads, step.chain,
                        step.first);
  }
  return text;
}

std::string stream_text(const StreamProgram& program) {
  std::string text = fmt::format(
      "stream op={} space={} bytes={} per_block={} blocks_per_sm={} threads={} vector={} in_flight={} repeats={} "
      "carve_out={}",
      to_string(program.op), to_string(program.space), program.bytes, program.per_block ? 1 : 0, program.blocks_per_sm,
      program.threads_per_block, program.vector_bytes, program.loads_in_flight, program.repeats,
      program.shared_carve_out_bytes);
  if (program.write_span_bytes != 0) text += fmt::format(" write_span={}", program.write_span_bytes);
  return text;
}

std::string code_text(const InstructionProgram& program) {
  std::string text = "code";
  for (const CodeActor& actor : program.actors) {
    text += fmt::format(" actor={}", actor.warp);
    if (actor.sm) text += fmt::format(":{}", *actor.sm);
  }
  for (const CodeStep& step : program.steps) {
    text += fmt::format(" step={}:{}:{}:{}:{}", to_string(step.kind), step.actor, step.first, step.count, step.passes);
    if (step.stride_bytes != kConstantStepBytes) text += fmt::format(":{}", step.stride_bytes);
    if (step.lead > 0) text += fmt::format(":{}", step.lead);
  }
  return text;
}

std::string access_text(const AccessProgram& program) {
  return fmt::format(
      "access op={} space={} bytes={} lane_stride={} warp_stride={} hop={} warps={} every_sm={} warm={} accesses={} "
      "carve_out={}",
      to_string(program.op), to_string(program.space), program.bytes, program.lane_stride_bytes,
      program.warp_stride_bytes, program.hop_bytes, program.warps, program.every_sm ? 1 : 0, program.warm_accesses,
      program.accesses, program.shared_carve_out_bytes);
}

std::string cluster_text(const ClusterProgram& program) {
  return fmt::format(
      "cluster op={} size={} every_sm={} reader={} hop={} bytes={} warps={} copy_bytes={} in_flight={} warm={} "
      "accesses={}",
      to_string(program.op), program.cluster_size, program.every_sm ? 1 : 0, program.reader, program.hop, program.bytes,
      program.warps, program.copy_bytes, program.in_flight, program.warm_accesses, program.accesses);
}

ChaseArray parse_array(std::string_view word) {
  const auto f = fields_of(word, 7, 8);
  ChaseArray array;
  array.space = value_of<Space>(kSpaceNames, f[0]);
  array.bytes = parse_number(f[1]);
  array.stride_bytes = parse_number(f[2]);
  array.order = value_of<Order>(kOrderNames, f[3]);
  array.second_order = value_of<Order>(kOrderNames, f[4]);
  array.seed = parse_number(f[5]);
  array.skew_bytes = parse_number(f[6]);
  if (f.size() == 8) array.alias_of = parse_number32(f[7]);
  return array;
}

std::vector<std::uint32_t> parse_elements(std::string_view text) {
  std::vector<std::uint32_t> elements;
  for (const std::string_view run : split(text, ',')) {
    const auto ends = split(run, '-');
    const std::uint32_t first = parse_number32(ends.front());
    const std::uint32_t last = parse_number32(ends.back());
    constexpr std::uint32_t kLongestRun = 1u << 24;
    if (ends.size() > 2 || last < first || last - first > kLongestRun) {
      throw FormatError(fmt::format("program text: '{}' is no run of elements", run));
    }
    for (std::uint32_t i = first; i <= last; ++i) elements.push_back(i);
  }
  return elements;
}

ChaseStep parse_step(std::string_view word) {
  const auto f = fields_of(word, 6, 6);
  return {.kind = value_of<StepKind>(kStepNames, f[0]),
          .actor = parse_number32(f[1]),
          .array = parse_number32(f[2]),
          .loads = parse_number(f[3]),
          .chain = parse_number32(f[4]),
          .first = parse_number(f[5])};
}

[[noreturn]] void throw_unknown_word(std::string_view key) {
  throw FormatError(fmt::format("program text: unknown word '{}'", key));
}

void set_chase_word(ChaseProgram& program, std::string_view key, std::string_view value) {
  if (key == "exclusive") {
    program.exclusive = parse_number(value) != 0;
  } else if (key == "carve_out") {
    program.shared_carve_out_bytes = parse_number(value);
  } else if (key == "timed_cap") {
    program.timed_cap = parse_number32(value);
  } else if (key == "sm") {
    program.sm = parse_number32(value);
  } else if (key == "array") {
    program.arrays.push_back(parse_array(value));
  } else if (key == "elements" || key == "stagger") {
    if (program.arrays.empty()) throw FormatError(fmt::format("program text: {} stands before any array", key));
    ChaseArray& array = program.arrays.back();
    if (key == "elements") {
      array.elements = parse_elements(value);
    } else {
      const auto f = fields_of(value, 2, 2);
      array.stagger_bytes = parse_number(f[0]);
      array.stagger_window_bytes = parse_number(f[1]);
    }
  } else if (key == "actor") {
    const auto f = fields_of(value, 2, 3);
    ChaseActor& actor = program.actors.emplace_back();
    actor.warp = parse_number32(f[0]);
    actor.lane = parse_number32(f[1]);
    if (f.size() == 3) actor.sm = parse_number32(f[2]);
  } else if (key == "step") {
    program.steps.push_back(parse_step(value));
  } else {
    throw_unknown_word(key);
  }
}

void set_stream_word(StreamProgram& program, std::string_view key, std::string_view value) {
  if (key == "op") {
    program.op = value_of<StreamOp>(kStreamOpNames, value);
  } else if (key == "space") {
    program.space = value_of<Space>(kSpaceNames, value);
  } else if (key == "bytes") {
    program.bytes = parse_number(value);
  } else if (key == "per_block") {
    program.per_block = parse_number(value) != 0;
  } else if (key == "blocks_per_sm") {
    program.blocks_per_sm = parse_number32(value);
  } else if (key == "threads") {
    program.threads_per_block = parse_number32(value);
  } else if (key == "vector") {
    program.vector_bytes = parse_number32(value);
  } else if (key == "in_flight") {
    program.loads_in_flight = parse_number32(value);
  } else if (key == "write_span") {
    program.write_span_bytes = parse_number(value);
  } else if (key == "repeats") {
    program.repeats = parse_number32(value);
  } else if (key == "carve_out") {
    program.shared_carve_out_bytes = parse_number(value);
  } else {
    throw_unknown_word(key);
  }
}

void set_code_word(InstructionProgram& program, std::string_view key, std::string_view value) {
  if (key == "actor") {
    const auto f = fields_of(value, 1, 2);
    CodeActor& actor = program.actors.emplace_back();
    actor.warp = parse_number32(f[0]);
    if (f.size() == 2) actor.sm = parse_number32(f[1]);
  } else if (key == "step") {
    const auto f = fields_of(value, 5, 6);
    CodeStep& step = program.steps.emplace_back(CodeStep{.kind = value_of<CodeStepKind>(kCodeStepNames, f[0]),
                                                         .actor = parse_number32(f[1]),
                                                         .first = parse_number32(f[2]),
                                                         .count = parse_number32(f[3]),
                                                         .passes = parse_number32(f[4])});
    // Constants may end with their stride, code with its lead.
    if (f.size() == 6) (step.kind == CodeStepKind::kConstants ? step.stride_bytes : step.lead) = parse_number32(f[5]);
  } else {
    throw_unknown_word(key);
  }
}

void set_access_word(AccessProgram& program, std::string_view key, std::string_view value) {
  if (key == "op") {
    program.op = value_of<AccessOp>(kAccessOpNames, value);
  } else if (key == "space") {
    program.space = value_of<Space>(kSpaceNames, value);
  } else if (key == "bytes") {
    program.bytes = parse_number(value);
  } else if (key == "lane_stride") {
    program.lane_stride_bytes = parse_number32(value);
  } else if (key == "warp_stride") {
    program.warp_stride_bytes = parse_number32(value);
  } else if (key == "hop") {
    program.hop_bytes = parse_number(value);
  } else if (key == "warps") {
    program.warps = parse_number32(value);
  } else if (key == "every_sm") {
    program.every_sm = parse_number(value) != 0;
  } else if (key == "warm") {
    program.warm_accesses = parse_number32(value);
  } else if (key == "accesses") {
    program.accesses = parse_number32(value);
  } else if (key == "carve_out") {
    program.shared_carve_out_bytes = parse_number(value);
  } else {
    throw_unknown_word(key);
  }
}

// The first `count` of a seeded permutation of 0..length-1: Fisher-Yates from the front, so that what is not asked for
// need not be drawn, with our own mapping to a range: std::shuffle differs between standard libraries, and a recording
// must replay anywhere.
std::vector<std::uint32_t> shuffled(std::uint64_t length, std::uint64_t count, std::uint64_t seed) {
  // Arrays of two lengths are not to be visited at the same places of each.
  std::mt19937_64 generator(seed ^ length * 0x9E3779B97F4A7C15);
  const auto draw = [&](std::uint64_t i) { return i + (((generator() >> 32) * (length - i)) >> 32); };
  std::vector<std::uint32_t> order;
  constexpr std::uint64_t kFew = 16;  // a map of what moved pays below one in so many
  if (count < length / kFew) {
    std::unordered_map<std::uint64_t, std::uint32_t> moved;
    const auto value_at = [&](std::uint64_t i) {
      const auto found = moved.find(i);
      return found == moved.end() ? static_cast<std::uint32_t>(i) : found->second;
    };
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::uint64_t j = draw(i);
      order.push_back(value_at(j));
      moved[j] = value_at(i);
    }
    return order;
  }
  order.resize(length);
  std::iota(order.begin(), order.end(), 0u);
  for (std::uint64_t i = 0; i < count; ++i) std::swap(order[i], order[draw(i)]);
  order.resize(count);
  return order;
}

void set_cluster_word(ClusterProgram& program, std::string_view key, std::string_view value) {
  if (key == "op") {
    program.op = value_of<ClusterOp>(kClusterOpNames, value);
  } else if (key == "size") {
    program.cluster_size = parse_number32(value);
  } else if (key == "every_sm") {
    program.every_sm = parse_number(value) != 0;
  } else if (key == "reader") {
    program.reader = parse_number32(value);
  } else if (key == "hop") {
    program.hop = parse_number32(value);
  } else if (key == "bytes") {
    program.bytes = parse_number(value);
  } else if (key == "warps") {
    program.warps = parse_number32(value);
  } else if (key == "copy_bytes") {
    program.copy_bytes = parse_number32(value);
  } else if (key == "in_flight") {
    program.in_flight = parse_number32(value);
  } else if (key == "warm") {
    program.warm_accesses = parse_number32(value);
  } else if (key == "accesses") {
    program.accesses = parse_number32(value);
  } else {
    throw_unknown_word(key);
  }
}

}  // namespace

std::string_view to_string(Space space) { return name_of(kSpaceNames, space); }
std::string_view to_string(Order order) { return name_of(kOrderNames, order); }
std::string_view to_string(StepKind kind) { return name_of(kStepNames, kind); }
std::string_view to_string(StreamOp op) { return name_of(kStreamOpNames, op); }
std::string_view to_string(CodeStepKind kind) { return name_of(kCodeStepNames, kind); }

std::string_view to_string(AccessOp op) { return name_of(kAccessOpNames, op); }

std::string_view to_string(ClusterOp op) { return name_of(kClusterOpNames, op); }

std::uint32_t access_word_bytes(const AccessProgram& program) {
  return program.op == AccessOp::kLoad && program.space != Space::kShared ? 8 : 4;
}

std::uint64_t cluster_access_bytes(const ClusterProgram& program) {
  switch (program.op) {
    case ClusterOp::kChase:
      return sizeof(std::uint64_t);
    case ClusterOp::kRead:
      return std::uint64_t{program.warps} * kClusterWarpLanes * kClusterReadBytes;
    case ClusterOp::kBulkCopy:
      break;
  }
  return program.copy_bytes;
}

std::vector<std::uint32_t> chain_order(const ChaseArray& array, std::uint32_t chain, std::uint64_t count) {
  const std::uint64_t length = array.chain_length();
  count = std::min(count, length);
  const Order order = chain == 0 ? array.order : array.second_order;
  std::vector<std::uint32_t> visited;
  if (order == Order::kShuffled) {
    visited = shuffled(length, count, array.seed * 2 + chain);
  } else {
    visited.resize(count);
    for (std::uint64_t i = 0; i < count; ++i) {
      visited[i] = static_cast<std::uint32_t>(order == Order::kReversed ? length - 1 - i : i);
    }
  }
  if (!array.elements.empty()) {
    for (std::uint32_t& place : visited) place = array.elements[place];
  }
  return visited;
}

void validate(const Program& program) {
  if (const auto* chase = std::get_if<ChaseProgram>(&program)) {
    validate_chase(*chase);
  } else if (const auto* code = std::get_if<InstructionProgram>(&program)) {
    validate_code(*code);
  } else if (const auto* access = std::get_if<AccessProgram>(&program)) {
    validate_access(*access);
  } else if (const auto* cluster = std::get_if<ClusterProgram>(&program)) {
    validate_cluster(*cluster);
  } else {
    validate_stream(std::get<StreamProgram>(program));
  }
}

std::string to_text(const Program& program) {
  if (const auto* chase = std::get_if<ChaseProgram>(&program)) return chase_text(*chase);
  if (const auto* code = std::get_if<InstructionProgram>(&program)) return code_text(*code);
  if (const auto* access = std::get_if<AccessProgram>(&program)) return access_text(*access);
  if (const auto* cluster = std::get_if<ClusterProgram>(&program)) return cluster_text(*cluster);
  return stream_text(std::get<StreamProgram>(program));
}

Program parse_program(std::string_view text) {
  const std::vector<std::string_view> words = split(text, ' ');
  const auto parse_words = [&](auto program, auto set_word) -> Program {
    for (std::size_t i = 1; i < words.size(); ++i) {
      const std::size_t equals = words[i].find('=');
      if (equals == std::string_view::npos) throw_unknown_word(words[i]);
      set_word(program, words[i].substr(0, equals), words[i].substr(equals + 1));
    }
    return program;
  };
  if (words[0] == "chase") return parse_words(ChaseProgram{}, set_chase_word);
  if (words[0] == "stream") return parse_words(StreamProgram{}, set_stream_word);
  if (words[0] == "code") return parse_words(InstructionProgram{}, set_code_word);
  if (words[0] == "access") return parse_words(AccessProgram{}, set_access_word);
  if (words[0] == "cluster") return parse_words(ClusterProgram{}, set_cluster_word);
  throw FormatError(
      fmt::format("program text: '{}' is not 'chase', 'stream', 'code', 'access' or 'cluster'", words[0]));
}

}  // namespace gputopo
