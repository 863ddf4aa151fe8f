// Evidence small enough to travel in a report.
#pragma once

#include "gputopo/model.h"

namespace gputopo::report {

// A curve of more points than this looks no better, and JSON of them is read by no person.
inline constexpr std::size_t kMaxRows = 2000;
// A map (every pair of two axes once, such as SMs by L2 slices) means nothing with holes in it: it is kept whole up to
// here, 300 SMs by 109 slices, and beyond every so many of its rows and columns are, which are a map again.
inline constexpr std::size_t kMaxMapCells = 32768;

// Whether the table is drawn as a map and has every pair of the values of its two axes, once each, in any order.
[[nodiscard]] bool is_whole_map(const SampleTable& table);

// At most `max_rows` rows, but of a map: of each stretch of neighbouring rows, those where a column has its least or
// its greatest value, so that edges and outliers stay; and the first and the last row. Numbers are rounded to what they
// mean: whole ones stay, others keep six significant digits. Thinning what was thinned changes nothing. A map of more
// than `max_rows` has `max_cells` at most.
[[nodiscard]] SampleTable thinned(const SampleTable& table, std::size_t max_rows = kMaxRows,
                                  std::size_t max_cells = kMaxMapCells);

// The attribute with each of its tables thinned to `max_rows`.
[[nodiscard]] Attribute thinned(const Attribute& attribute, std::size_t max_rows);

// A report whose tables hold about `max_numbers` in all: those of most rows are thinned until they do, curves first
// and then maps, but not to less than can be read. A page of seventy plots is read by a person, over a network.
[[nodiscard]] Topology thinned_to(const Topology& topology, std::size_t max_numbers);

}  // namespace gputopo::report
