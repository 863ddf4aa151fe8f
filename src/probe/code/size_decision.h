// How much straight-line code an instruction cache holds, from what a pass over code of growing length takes. Fooled by
// passes that cost more for other reasons than misses, as long as the code grows with them, and by a cache before it
// that still holds a good part.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "probe/bench/decision.h"
#include "stats/descriptive.h"
#include "stats/plateaus.h"

namespace gputopo::probe {

// ---- The sweep: which levels there are ----

// Passes over code of one length.
struct CodePasses {
  std::uint32_t instructions = 0;
  std::vector<double> cycles;  // of each copy, once the caches hold what they can
};

struct CodeSweepParameters {
  // The cost of a pass is where a line through the lengths up to this many blocks meets zero: 1.5 KiB, less than any
  // instruction cache known. More: a steadier line, that may leave the first cache.
  std::uint32_t line_blocks = 3;
  // The first level must have begun by so many blocks: the smallest instruction cache known has 4 KiB. Larger takes a
  // farther level for the first.
  std::uint32_t first_level_blocks = 6;
  // And no shorter code may run quicker by this part of what it takes, at two lengths that follow one another: a nearer
  // cache holds that, or some of it. Larger overlooks one; smaller takes the noise of the shortest lengths for one.
  double quicker_before = 0.15;
  // Nor may an instruction of the shortest code, of those lengths that the cost of a pass is read off, be quicker by
  // that part, and a block by so many cycles: then a nearer cache holds the shortest, and neither its level nor the
  // cost of a pass shows. More cycles overlook one; fewer take noise and drift for one.
  double bend_cycles = 12;
  // No more than this part of the code is taken to be served nearer, or the level is all another's. Larger: the noise
  // of what is left is multiplied by more than ten.
  double most_served_nearer = 0.9;
  // Lines of the cache before that one of the nearest holds, where either is not known: of 64 and 256 B. Larger: wider
  // intervals of the third level.
  double most_lines_at_once = 4;
  // Of a cache that does not replace the oldest, or whose sets a hash fills unevenly, up to this part of the code the
  // next level may serve at any length of the plateau; but the nearest, whose plateau begins with code that is much
  // shorter than what it holds. Larger: wider intervals.
  double served_behind = 0.15;
  // Where the nearer cache may serve some, noise of a plateau is as much of its interval as this part.
  double served_unevenness = 0.01;
};

// One number for each length, ascending.
struct CodeSweep {
  std::vector<std::uint32_t> instructions;
  std::vector<double> footprints_bytes;
  std::vector<double> cycles_per_instruction;  // without what a pass costs in itself
  double pass_cycles = 0;                      // that cost
  double pass_error_cycles = 0;                // by how much more or less it may be; 0 of fewer than three lengths
  double bend_cycles = 0;                      // that the last of the shortest blocks takes more than the first
  double short_block_cycles = 0;               // of a block among them
  std::vector<stats::Plateau> levels;          // nearest first; the last is what serves code that no cache found holds
};
[[nodiscard]] CodeSweep read_code_sweep(const std::vector<CodePasses>& lengths, double block_bytes,
                                        const CodeSweepParameters& parameters = {});
// Whether it begins with a level. Code that fits nearest is the start of every curve; if that is no plateau, or one too
// short to be seen, nothing can be said of what follows.
[[nodiscard]] bool begins_with_level(const CodeSweep& sweep, const CodeSweepParameters& parameters = {});

// What an instruction takes that the nearer cache, which may serve so large a part of the code, does not: a cache that
// does not replace the oldest line still holds some of what is run in turn.
[[nodiscard]] double rate_without(double cycles, double nearer_cycles, double nearer_part,
                                  const CodeSweepParameters& parameters = {});

// What comes with a line of the cache before: it holds at least and at most so many lines of the one that asks it.
struct LinesAtOnce {
  double least = 1;
  double most = 1;
};
// `line_bytes` and `asking_line_bytes`: 0 where they are not known.
[[nodiscard]] LinesAtOnce lines_at_once(double line_bytes, double asking_line_bytes,
                                        const CodeSweepParameters& parameters = {});
// Straight-line code asks a cache for the first of them only; the others are with the cache before, which takes
// `before_cycles`.
[[nodiscard]] double rate_of_first_lines(double cycles, double before_cycles, double lines);

// What a cache was found to hold.
struct HeldCode {
  double bytes = 0;
  bool is_sharp = false;  // its edge is
};

struct HiddenLevelParameters {
  // A cache is taken to hold so many times what was found that it does. Larger: fewer hidden levels are noticed.
  double held = 1.15;
  // An instruction must be quicker by this part of the step between both levels: noise is less.
  double quicker_part = 0.06;
  // The same where the edge is sharp, so that what the cache holds is known better; the time itself drifts by this
  // part.
  double held_sharp = 1.1;
  double quicker_part_sharp = 0.02;
  double drift = 0.012;
  // At so many lengths that follow one another.
  std::size_t lengths = 2;
  // Or misses stall: from so many times the near level's end on, for so many octaves they grow by less than this part
  // of how they grow before and after, and before and after each make up that part of the step. Uneven sets of one
  // cache stall nearer its end. Larger octaves or a smaller part: fewer stalls are noticed.
  double stall_from = 1.55;
  double stall_octaves = 0.25;
  double stall_growth = 0.6;
  double stall_rise = 0.2;
};
// Between the level and the next: the length of code that runs quicker than it would if what the level holds, and no
// cache keeps more of code that is run in turn, were served there and all else by the next; or from which on the time
// grows no longer for a while. Another level, whose plateau the slopes cover, serves some then. Nothing where there is
// no such code.
[[nodiscard]] std::optional<double> hidden_level_bytes(const CodeSweep& sweep, std::size_t level, const HeldCode& found,
                                                       const HiddenLevelParameters& parameters = {});

// ---- The edge: where a level ends ----

struct CodeSizeParameters {
  // Code exceeds a cache when an instruction takes longer than in shorter code by this part of what it takes longer at
  // the next level. One line too many makes misses of a whole set: in a cache of 1024 lines in sets of 4, half a
  // percent. Larger overlooks such a set; smaller takes noise for one.
  double exceeds = 0.01;
  // Parts where the edge is clear of what goes before, to be followed back to where it begins. Further apart: a surer
  // line back, which a cliff does not have.
  double edge_low = 0.1;
  double edge_high = 0.4;
  // And the part up to which the edge must go on as these two say, by this part of the length or so many blocks: where
  // an index is hashed sets overflow one by one, and the capacity is passed when about three in five loads miss. Nearer
  // one: surer of that; but the end of the edge comes into it.
  double edge_far = 0.75;
  double straight_part = 0.03;
  // The beginning that is seen and the one that follows from the edge agree when they differ by no more than this part,
  // or so many blocks. Larger takes more edges for sharp, with narrower intervals.
  double sharp_part = 0.01;
  double sharp_blocks = 1;
  // The same for the edge to be one of LRU at all: what else every pass runs takes lines of some sets, and these
  // overflow earlier. Larger takes hashed indices, whose first sets overflow long before the others.
  double in_turn_part = 0.06;
  // Three quarters of the loads miss at 1.19 times the capacity of four ways under LRU. An edge that is slower than
  // this may be of a cache that replaces at random, by chance on the line of LRU. Larger: more are taken for LRU.
  double slow_edge = 1.25;
  // Code must take longer by this part of the time itself, too, which differs between lengths of code that fit as well.
  double unevenness = 0.004;
  // And by so many cycles of a pass, which its noise may be. A single set that misses takes longer than that.
  double least_difference_cycles = 6;
};

// Code against shorter code that fits.
struct CodeComparison {
  std::uint32_t instructions = 0;
  std::vector<double> differences;  // in cycles of an instruction, of each copy
  double fitting_cycles = 0;        // of an instruction of the shorter
  double gap_cycles = 0;            // that one takes longer at the next level
};
// Whether so large a part of it misses.
[[nodiscard]] bool takes_longer(const CodeComparison& code, double part, const CodeSizeParameters& parameters = {});

// The part of code that fits, as far as is seen, which may miss all the same. A miss takes no more than is seen, nor is
// the next level taken to be more than twice as slow: another may hide before it.
[[nodiscard]] double overlooked_part(const CodeComparison& code, const CodeSizeParameters& parameters = {});

// The most blocks of which no more misses than CodeSizeParameters says.
struct EdgeBlocks {
  std::uint32_t fits = 0;  // exceeds
  std::uint32_t low = 0;   // edge_low
  std::uint32_t high = 0;  // edge_high
  std::uint32_t far = 0;   // edge_far
};

struct CodeCapacity {
  double blocks = 0;
  std::uint32_t least_blocks = 0;  // so many do fit
  double most_blocks = 0;          // so many do not
  double beginning = 0;            // that the edge leads back to
  bool sharp = false;              // it begins where the first misses are seen
  bool in_turn = false;            // or not long after, and goes on as where the oldest line of a set is replaced
};
// Misses begin at `fits` blocks. Under LRU what a pass takes longer then grows in proportion to the code that is too
// much, so two points of the edge lead back to its beginning and on to its end; if these are elsewhere, misses begin
// slowly (random replacement), or before the cache is full (a hashed index), or the time grew slowly already because
// the cache before still holds a little.
[[nodiscard]] Decision<CodeCapacity> decide_code_capacity(const EdgeBlocks& edge,
                                                          const CodeSizeParameters& parameters = {});

}  // namespace gputopo::probe
