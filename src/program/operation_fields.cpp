#include "program/operation_fields.h"

#include <algorithm>
#include <bit>

#include "gputopo/program/cluster.h"
#include "gputopo/program/operation_duration.h"
#include "program/result_mismatch.h"
#include "program/validation.h"

namespace gputopo {
namespace {

// At 16 B each, these are 8 KiB, to which the loop adds 0.6%. A sequence has up to a few hundred instructions.
constexpr std::uint32_t kInstructionsPerRound = 512;
constexpr std::uint32_t kSequencesPerRound = 32;
// Each takes a warpgroup a hundred cycles or more to run, and the compiler 10 ms to translate.
constexpr std::uint32_t kLargeMatricesPerRound = 64;

bool is_large_matrix(OperationId id) { return gputopo::is_large_matrix(info_of(id).type); }

bool is_sequence(OperationId id) {
  const OperationClass of = info_of(id).of;
  return of == OperationClass::kDivision || of == OperationClass::kControl || of == OperationClass::kSeveralSms ||
         is_matrix_of_few_bits(info_of(id).type);
}

}  // namespace

bool has_sequences(const OperationProgram& program) {
  return program.sides > 1 || is_sequence(program.operation) || is_large_matrix(program.operation) ||
         (program.beside && is_sequence(*program.beside));
}

std::uint32_t operations_per_round(const OperationProgram& program) {
  if (is_large_matrix(program.operation)) return kLargeMatricesPerRound;
  return has_sequences(program) ? kSequencesPerRound : kInstructionsPerRound;
}

namespace {

// Upper bound of the cycles that all warps together take for each operation of one warp.
double most_cycles_of_one(const OperationProgram& program) {
  constexpr double kOfChain = 128;
  constexpr double kOfSequence = 8192;
  constexpr double kOfMatrix = 128;  // also for each of the warps that compute a large one together
  constexpr double kOfUnit = 32;     // of one lane
  const double warps = program.warps;
  if (is_large_matrix(program.operation)) return kOfMatrix * warps;
  if (has_sequences(program)) return kOfSequence * warps;
  const bool has_matrices = registers_of(info_of(program.operation).type) > 1 ||
                            (program.beside && registers_of(info_of(*program.beside).type) > 1);
  return std::max(kOfChain, (has_matrices ? kOfMatrix : kOfUnit) * warps);
}

}  // namespace

double most_cycles(const OperationProgram& program) {
  return most_cycles_of_one(program) * operations_per_round(program) * program.sides *
         (static_cast<double>(program.rounds) + 1);
}

void validate_kind(const OperationProgram& program) {
  require(program.streams >= 1 && program.streams <= kMaxOperationStreams && std::has_single_bit(program.streams),
          "streams", "must be 1, 2, 4 or 8");
  require(!program.beside || program.streams > 1, "streams", "must be at least 2 if beside names an operation");
  require(program.warps >= 1 && program.warps <= kMaxOperationWarps, "warps", "must be 1 to 32");
  require(program.sides >= 1 && program.sides <= kMaxOperationSides && std::has_single_bit(program.sides), "sides",
          "must be 1, 2, 4, 8, 16 or 32");
  require(program.sides == 1 || program.streams == 1, "sides", "must be 1 if there are several streams");
  const std::uint32_t together = warps_per_operation(info_of(program.operation).type);
  require(program.warps % together == 0, "warps",
          "must be a multiple of 4, because 4 warps perform this operation together");
  require(together == 1 || program.warps <= kMaxWarpgroupWarps, "warps", "must be 4 or 8 for this operation");
  require(together == 1 || program.streams == 1, "streams",
          "must be 1 for an operation that several warps perform together");
  require(together == 1 || program.sides == 1, "sides",
          "must be 1 for an operation that several warps perform together");
  require(!program.beside || warps_per_operation(info_of(*program.beside).type) == 1, "beside",
          "must name an operation that one warp performs alone");
  require(program.cluster_size <= kMaxClusterBlocks, "cluster_size", "must be 0 to 16");
  require(program.cluster_size == 0 || !program.every_sm, "cluster_size", "must be 0 if every_sm is set");
  require(program.rounds >= 1 && program.rounds <= kMaxOperationRounds, "rounds", "must be 1 to 2^16");
}

std::string result_mismatch(const OperationProgram& program, const OperationResult& result) {
  if (!result.refusal.empty()) return result.cycles.empty() ? "" : "has times for an operation that was refused";
  if (result.cycles.empty()) return "has no block";
  const std::size_t most = std::max(program.cluster_size, 1u);
  if (result.cycles.size() > most && !program.every_sm) return "has more blocks than ran";
  if (result.sms.size() != result.cycles.size()) return "does not have one SM for each block";
  if (std::string wrong = amount_misfit(result.cycles); !wrong.empty()) return wrong;
  if (std::string wrong = amount_misfit({result.code_bytes, result.instruction_bytes, result.energy_joules});
      !wrong.empty())
    return wrong;
  return sm_misfit(result.sms);
}

}  // namespace gputopo
