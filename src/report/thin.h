// Evidence small enough to travel in a report.
#pragma once

#include "gputopo/model.h"

namespace gputopo::report {

// A curve of more points than this looks no better, and JSON of them is read by no person.
inline constexpr std::size_t kMostRows = 2000;
// A map (every pair of two columns once, such as SMs by L2 slices) means nothing with holes in it: it is kept whole up
// to here, 300 SMs by 109 slices, and beyond every so many of its rows and columns are, which are a map again.
inline constexpr std::size_t kMostMapCells = 32768;

// A column that says how often the others of its row came: "loads", "count", "samples".
[[nodiscard]] bool is_count(std::string_view column);

// Whether the rows are every pair of the values of the first two columns, once each, in any order, with a
// value, not a count, in the third.
[[nodiscard]] bool is_map(const SampleTable& table);

// At most `most_rows` rows, but of a map: of each stretch of neighbouring rows, those where a column has its least or
// its greatest value, so that edges and outliers stay; and the first and the last row. Numbers are rounded to what they
// mean: whole ones stay, others keep six significant digits. Thinning what was thinned changes nothing. A map of more
// than `most_rows` has `most_cells` at most.
[[nodiscard]] SampleTable thinned(const SampleTable& table, std::size_t most_rows = kMostRows,
                                  std::size_t most_cells = kMostMapCells);

// The attribute with each of its tables thinned to `most_rows`.
[[nodiscard]] Attribute thinned(const Attribute& attribute, std::size_t most_rows);

// A report whose tables hold about `most_numbers` in all: those of most rows are thinned until they do, curves first
// and then maps, but not to less than can be read. A page of seventy plots is read by a person, over a network.
[[nodiscard]] Topology thinned_to(const Topology& topology, std::size_t most_numbers);

}  // namespace gputopo::report
