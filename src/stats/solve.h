// Systems of linear equations, as pure functions.
#pragma once

#include <cstddef>
#include <vector>

namespace gputopo::stats {

struct SquareMatrix {
  explicit SquareMatrix(std::size_t n) : size(n), cells(n * n) {}
  std::size_t size = 0;
  std::vector<double> cells;  // row by row

  [[nodiscard]] double& at(std::size_t row, std::size_t column) { return cells[row * size + column]; }
  [[nodiscard]] double at(std::size_t row, std::size_t column) const { return cells[row * size + column]; }
};

// Solves matrix * x = right for a symmetric matrix, by Cholesky decomposition. `right` has one number per row. Empty
// if the matrix is not positive definite.
[[nodiscard]] std::vector<double> solve_symmetric(SquareMatrix matrix, std::vector<double> right);

}  // namespace gputopo::stats
