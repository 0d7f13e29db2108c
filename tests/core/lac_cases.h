// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/lac/matrix/host_csr.h>

#include <cstdint>
#include <limits>
#include <random>
#include <vector>

/** Matrices and vectors for tests of the linear algebra, made and multiplied in plain loops. */
namespace cases
{
  using PatchFEM::HostCSR;

  inline std::vector<double> random_values(const std::size_t n, const unsigned int seed)
  {
    std::mt19937                           engine(seed);
    std::uniform_real_distribution<double> distribution(-1., 1.);
    std::vector<double>                    result(n);
    for (double &value : result)
      value = distribution(engine);
    return result;
  }

  template <typename Number>
  std::vector<Number> to(const std::vector<double> &values)
  {
    return std::vector<Number>(values.begin(), values.end());
  }

  template <typename Number>
  std::vector<Number> not_a_number(const std::size_t n)
  {
    return std::vector<Number>(n, std::numeric_limits<Number>::quiet_NaN());
  }

  /** y = A x, in double. */
  template <typename Number>
  std::vector<double> product(const HostCSR<Number> &A, const std::vector<double> &x)
  {
    std::vector<double> y(A.n_rows, 0.);
    for (int row = 0; row < A.n_rows; ++row)
      for (std::int64_t e = A.row_offsets[row]; e < A.row_offsets[row + 1]; ++e)
        y[row] += double(A.values[e]) * x[A.columns[e]];
    return y;
  }

  /** A pattern of blocks with rows of 0 to @p max_length blocks, several of them empty, and irregular columns. */
  inline HostCSR<double>
  random_pattern(const int n_rows, const int n_columns, const int max_length, const unsigned int seed)
  {
    std::mt19937    engine(seed);
    HostCSR<double> result;
    result.n_rows    = n_rows;
    result.n_columns = n_columns;
    result.row_offsets.push_back(0);
    for (int row = 0; row < n_rows; ++row)
    {
      const int length = std::min<int>(n_columns, row % 7 == 3 ? 0 : engine() % (max_length + 1));
      // Increasing columns with random gaps.
      int column = 0;
      for (int k = 0; k < length; ++k)
      {
        const int room = n_columns - (length - k) - column;
        column += room > 0 ? static_cast<int>(engine() % std::min(room + 1, 1 + 2 * n_columns / max_length)) : 0;
        result.columns.push_back(column++);
      }
      result.row_offsets.push_back(result.columns.size());
    }
    result.values.assign(result.columns.size(), 1.);
    return result;
  }

  /** Scalar matrix with full random blocks on @p pattern. */
  template <typename Number>
  HostCSR<Number>
  expand(const HostCSR<double> &pattern, const int block_rows, const int block_columns, const unsigned int seed)
  {
    HostCSR<Number> result;
    result.n_rows    = pattern.n_rows * block_rows;
    result.n_columns = pattern.n_columns * block_columns;
    result.row_offsets.push_back(0);
    for (int i = 0; i < pattern.n_rows; ++i)
      for (int a = 0; a < block_rows; ++a)
      {
        for (std::int64_t e = pattern.row_offsets[i]; e < pattern.row_offsets[i + 1]; ++e)
          for (int c = 0; c < block_columns; ++c)
            result.columns.push_back(pattern.columns[e] * block_columns + c);
        result.row_offsets.push_back(result.columns.size());
      }
    result.values = to<Number>(random_values(result.columns.size(), seed));
    return result;
  }

  /** Of @p values. */
  inline HostCSR<double> diagonal(const std::vector<double> &values)
  {
    HostCSR<double> result;
    result.n_rows = result.n_columns = int(values.size());
    result.values                    = values;
    for (int i = 0; i < result.n_rows; ++i)
      result.columns.push_back(i);
    for (int i = 0; i <= result.n_rows; ++i)
      result.row_offsets.push_back(i);
    return result;
  }

  /** The five-point Laplacian on an nx x ny grid (ny = 1: the second difference), Dirichlet values outside. */
  template <typename Number>
  HostCSR<Number> laplacian(const int nx, const int ny)
  {
    HostCSR<Number> result;
    result.n_rows = result.n_columns = nx * ny;
    result.row_offsets.push_back(0);
    for (int y = 0; y < ny; ++y)
      for (int x = 0; x < nx; ++x)
      {
        const auto entry = [&](const bool inside, const int column, const double value) {
          if (inside)
          {
            result.columns.push_back(column);
            result.values.push_back(Number(value));
          }
        };
        const int row = y * nx + x;
        entry(y > 0, row - nx, -1.);
        entry(x > 0, row - 1, -1.);
        entry(true, row, ny > 1 ? 4. : 2.);
        entry(x + 1 < nx, row + 1, -1.);
        entry(y + 1 < ny, row + nx, -1.);
        result.row_offsets.push_back(result.columns.size());
      }
    return result;
  }

  /** Symmetric positive definite: random symmetric blocks of size b on a ring of n nodes, made diagonally dominant. */
  inline HostCSR<double> spd_blocks(const int n, const int b, const unsigned int seed)
  {
    std::vector<std::vector<double>> dense(n * b, std::vector<double>(n * b, 0.));
    const std::vector<double>        random = random_values(std::size_t(n) * 3 * b * b, seed);
    std::size_t                      next   = 0;
    for (int i = 0; i < n; ++i)
      for (const int j : {i, (i + 1) % n, (i + 3) % n})
        for (int a = 0; a < b; ++a)
          for (int c = 0; c < b; ++c, ++next)
            dense[i * b + a][j * b + c] = dense[j * b + c][i * b + a] = random[next];
    HostCSR<double> result;
    result.n_rows = result.n_columns = n * b;
    result.row_offsets.push_back(0);
    for (int row = 0; row < n * b; ++row)
    {
      double sum = 0.1 * (1 + row % 5);
      for (int column = 0; column < n * b; ++column)
        sum += column == row ? 0. : std::abs(dense[row][column]);
      dense[row][row] = sum;
      for (int column = 0; column < n * b; ++column)
        if (dense[row][column] != 0.)
        {
          result.columns.push_back(column);
          result.values.push_back(dense[row][column]);
        }
      result.row_offsets.push_back(result.columns.size());
    }
    return result;
  }
} // namespace cases
