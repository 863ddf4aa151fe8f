// How much straight-line code an instruction cache holds, from passes over code of growing length. Passes that cost
// more for other reasons as the code grows fool the method; so does a nearer cache that still holds a good part.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "probe/bench/decision.h"
#include "stats/descriptive.h"
#include "stats/plateaus.h"

namespace gputopo::probe {

// ---- The sweep: finds the levels ----

// Passes over code of one length.
struct CodePasses {
  std::uint32_t instructions = 0;
  std::vector<double> cycles;  // of each copy, in steady state
};

struct CodeSweepParameters {
  // The overhead of a pass is where a line through lengths of up to this many blocks meets zero: 1.5 KiB, less than
  // any known instruction cache. Larger values give a steadier line, which may exceed the first cache.
  std::uint32_t line_blocks = 3;
  // Latest block at which the first level begins: the smallest known instruction cache has 4 KiB. Larger values take a
  // farther level for the first.
  std::uint32_t first_level_blocks = 6;
  // No two consecutive shorter lengths may be faster by this part: a nearer cache would hold some of that code. Larger
  // values overlook one; smaller values take noise of the shortest lengths for one.
  double quicker_before = 0.15;
  // Nor may an instruction of the shortest length, among those that give the overhead, be faster by that part, and a
  // block by this many cycles: a nearer cache would hold the shortest, and neither its level nor the overhead shows.
  // Larger values overlook one; smaller values take noise and drift for one.
  double bend_cycles = 12;
  // Largest part of the code that a nearer cache may serve; beyond, the level is another's. Larger values multiply the
  // noise of the rest by more than ten.
  double most_served_nearer = 0.9;
  // Lines of the asking cache (64 B) in a line of the cache before (256 B), if either is unknown. Larger values widen
  // intervals of the third level.
  double most_lines_at_once = 4;
  // If a cache does not replace the oldest line, or a hash fills its sets unevenly, the next level may serve up to
  // this part at any length of the plateau. This excludes the nearest cache, whose plateau begins with code much
  // shorter than the cache. Larger values widen intervals.
  double served_behind = 0.15;
  // Noise of a plateau, relative to its interval, if the nearer cache may serve some of the code.
  double served_unevenness = 0.01;
};

// One value per length, ascending.
struct CodeSweep {
  std::vector<std::uint32_t> instructions;
  std::vector<double> footprints_bytes;
  std::vector<double> cycles_per_instruction;  // without the overhead of a pass
  double pass_cycles = 0;                      // the overhead
  double pass_error_cycles = 0;                // error of pass_cycles either way; 0 for fewer than three lengths
  double bend_cycles = 0;                      // by which the last of the shortest blocks exceeds the first
  double short_block_cycles = 0;               // cost of the last of the shortest blocks
  std::vector<stats::Plateau> levels;          // nearest first; the last serves code that no cache holds
};
[[nodiscard]] CodeSweep read_code_sweep(const std::vector<CodePasses>& lengths, double block_bytes,
                                        const CodeSweepParameters& parameters = {});
// Whether the sweep begins with a level. Every curve starts with code that fits the nearest cache; if that is no
// plateau, or one too short to be seen, nothing after it is known.
[[nodiscard]] bool begins_with_level(const CodeSweep& sweep, const CodeSweepParameters& parameters = {});

// Cost of an instruction that the nearer cache does not serve. That cache may serve up to nearer_part of the code:
// without replacing the oldest line, it still holds some of what runs in turn.
[[nodiscard]] double rate_without(double cycles, double nearer_cycles, double nearer_part,
                                  const CodeSweepParameters& parameters = {});

// Range of the lines of the asking cache that come along in one line of the cache before.
struct LinesAtOnce {
  double least = 1;
  double most = 1;
};
// `line_bytes` and `asking_line_bytes`: 0 if not known.
[[nodiscard]] LinesAtOnce lines_at_once(double line_bytes, double asking_line_bytes,
                                        const CodeSweepParameters& parameters = {});
// Straight-line code asks a cache only for the first of these lines; the cache before, at before_cycles, has the rest.
[[nodiscard]] double rate_of_first_lines(double cycles, double before_cycles, double lines);

// Size found for a cache.
struct HeldCode {
  double bytes = 0;
  bool is_sharp = false;  // whether its edge is
};

struct HiddenLevelParameters {
  // Multiple of the found size that a cache is assumed to hold. Larger values overlook more hidden levels.
  double held = 1.15;
  // Part of the step between both levels by which an instruction must be faster: above noise.
  double quicker_part = 0.06;
  // The same for a sharp edge, whose size is known better; `drift` is that of the time itself.
  double held_sharp = 1.1;
  double quicker_part_sharp = 0.02;
  double drift = 0.012;
  // Consecutive lengths that must be faster.
  std::size_t lengths = 2;
  // Misses stall if, from stall_from times the near level's end on, they grow for stall_octaves by less than
  // stall_growth of the growth before and after, each of which makes up stall_rise of the step. Uneven sets of one
  // cache stall nearer its end. More octaves or a smaller part overlook stalls.
  double stall_from = 1.55;
  double stall_octaves = 0.25;
  double stall_growth = 0.6;
  double stall_rise = 0.2;
};
// Length of code between the level and the next that shows a hidden level, whose plateau the slopes cover: code that
// runs faster than if the level served what it holds, and the next all else (no cache keeps more of code that runs in
// turn); or code from which the time stops growing for a while. Nothing if there is no such code.
[[nodiscard]] std::optional<double> hidden_level_bytes(const CodeSweep& sweep, std::size_t level, const HeldCode& found,
                                                       const HiddenLevelParameters& parameters = {});

// ---- The edge: finds where a level ends ----

struct CodeSizeParameters {
  // Code exceeds a cache if an instruction takes longer by this part of the step to the next level. One line too many
  // makes a whole set miss: half a percent of a cache of 1024 lines in sets of 4. Larger values overlook such a set;
  // smaller values take noise for one.
  double exceeds = 0.01;
  // Parts at which the edge is clear of what goes before, to be traced back to its beginning. A larger distance gives
  // a surer line, but a cliff has none.
  double edge_low = 0.1;
  double edge_high = 0.4;
  // Part up to which the edge must stay on that line, to within straight_part of the length or sharp_blocks: under a
  // hashed index sets overflow one by one, and about three in five loads miss at the capacity. A value nearer 1 is
  // surer, but includes the end of the edge.
  double edge_far = 0.75;
  double straight_part = 0.03;
  // The seen beginning and that of the line agree to within this part or sharp_blocks. Larger values take more edges
  // for sharp, with narrower intervals.
  double sharp_part = 0.01;
  double sharp_blocks = 1;
  // The same for any edge under LRU: other code of a pass takes lines of some sets, which overflow earlier. Larger
  // values accept hashed indices, whose first sets overflow long before the others.
  double in_turn_part = 0.06;
  // Under LRU with four ways, three quarters of the loads miss at 1.19 times the capacity. A slower edge than this may
  // be of random replacement that follows the LRU line by chance. Larger values take more for LRU.
  double slow_edge = 1.25;
  // Least relative delay of the time itself, which varies between lengths that fit as well.
  double unevenness = 0.004;
  // Least delay (cycles of a pass), against its noise. A single set that misses takes longer.
  double least_difference_cycles = 6;
};

// Code compared with shorter code that fits.
struct CodeComparison {
  std::uint32_t instructions = 0;
  std::vector<double> differences;  // of each copy, cycles per instruction
  double fitting_cycles = 0;        // per instruction of the shorter code
  double gap_cycles = 0;            // extra cycles per instruction at the next level
};
// Whether more than this part of it misses.
[[nodiscard]] bool takes_longer(const CodeComparison& code, double part, const CodeSizeParameters& parameters = {});

// Part of code that seems to fit but may miss. It assumes that a miss costs no more than seen, and that the next level
// is at most twice as slow: another may hide before it.
[[nodiscard]] double overlooked_part(const CodeComparison& code, const CodeSizeParameters& parameters = {});

// Most blocks of which at most the given part of CodeSizeParameters misses.
struct EdgeBlocks {
  std::uint32_t fits = 0;  // exceeds
  std::uint32_t low = 0;   // edge_low
  std::uint32_t high = 0;  // edge_high
  std::uint32_t far = 0;   // edge_far
};

struct CodeCapacity {
  double blocks = 0;
  std::uint32_t least_blocks = 0;  // this many fit
  double most_blocks = 0;          // this many do not fit
  double beginning = 0;            // where the edge leads back to
  bool sharp = false;              // it begins where the first misses are seen
  bool in_turn = false;            // or soon after, and goes on as where the oldest line of a set is replaced
};
// Misses begin at `fits` blocks. Under LRU the extra time grows in proportion to the excess code, so two points of the
// edge lead back to its beginning and on to its end. If these are elsewhere, misses begin slowly (random replacement)
// or early (a hashed index), or the time already grew because the nearer cache still holds a little.
[[nodiscard]] Decision<CodeCapacity> decide_code_capacity(const EdgeBlocks& edge,
                                                          const CodeSizeParameters& parameters = {});

}  // namespace gputopo::probe
