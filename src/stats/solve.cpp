#include "stats/solve.h"

#include <cmath>

namespace gputopo::stats {
namespace {

// Replaces the lower triangle by that of the Cholesky factor.
bool decompose(SquareMatrix& matrix) {
  for (std::size_t column = 0; column < matrix.size; ++column) {
    for (std::size_t row = column; row < matrix.size; ++row) {
      double left = matrix.at(row, column);
      for (std::size_t i = 0; i < column; ++i) left -= matrix.at(row, i) * matrix.at(column, i);
      if (row > column) {
        matrix.at(row, column) = left / matrix.at(column, column);
      } else if (left > 0) {
        matrix.at(row, column) = std::sqrt(left);
      } else {
        return false;
      }
    }
  }
  return true;
}

}  // namespace

std::vector<double> solve_symmetric(SquareMatrix matrix, std::vector<double> right) {
  if (!decompose(matrix)) return {};
  const std::size_t n = matrix.size;
  for (std::size_t row = 0; row < n; ++row) {
    for (std::size_t i = 0; i < row; ++i) right[row] -= matrix.at(row, i) * right[i];
    right[row] /= matrix.at(row, row);
  }
  for (std::size_t row = n; row-- > 0;) {
    for (std::size_t i = row + 1; i < n; ++i) right[row] -= matrix.at(i, row) * right[i];
    right[row] /= matrix.at(row, row);
  }
  return right;
}

}  // namespace gputopo::stats
