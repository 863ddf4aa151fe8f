// Reduces evidence to a size that fits into a report.
#pragma once

#include "gputopo/model.h"

namespace gputopo::report {

// A curve with more points looks no better, and nobody reads that many numbers as JSON.
inline constexpr std::size_t kMaxRows = 2000;
// A map (each pair of values of two axes once, such as SMs by L2 slices) is useless with holes. Up to this size (300
// SMs by 109 slices) it is kept whole. A larger one keeps every n-th row and column, so it stays a map.
inline constexpr std::size_t kMaxMapCells = 32768;

// True if the table is drawn as a map and has each pair of its two axes' values exactly once, in any order.
[[nodiscard]] bool is_whole_map(const SampleTable& table);

// Keeps at most `max_rows` rows: the first, the last, and in each stretch of adjacent rows those with a column's
// minimum or maximum, so edges and outliers survive. A map with more than `max_rows` rows keeps at most `max_cells`.
// Integers stay exact; others keep six significant digits. Thinning twice changes nothing more.
[[nodiscard]] SampleTable downsampled(const SampleTable& table, std::size_t max_rows = kMaxRows,
                                      std::size_t max_cells = kMaxMapCells);

[[nodiscard]] Attribute downsampled(const Attribute& attribute, std::size_t max_rows);

// Returns a report whose tables hold about `max_numbers` in total. Thins the longest curves first, then maps, but never
// below a readable size. People load a page of seventy plots over a network.
[[nodiscard]] Topology thinned_to(const Topology& topology, std::size_t max_numbers);

}  // namespace gputopo::report
