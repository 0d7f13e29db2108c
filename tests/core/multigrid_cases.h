// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "../../benchmarks/grid_system.h"
#include "lac_cases.h"

#include <patchfem/lac/multigrid/precondition_amg.h>

#include <cmath>
#include <map>
#include <vector>

/** Problems and aggregates for tests of multigrid, and dense algebra to compare with. */
namespace cases
{
  using namespace PatchFEM;

  /** Q1 Laplace (n_c = 1) or elasticity (n_c = 3) on n^3 nodes, fixed at x = 0, as host rows with full blocks. */
  template <int n_c>
  HostCSR<double> grid_matrix(const int n, const double nu = 0.3)
  {
    const benchmark::GridSystem<n_c> system(n, nu);
    std::vector<std::int64_t>        offsets;
    std::vector<int>                 columns;
    system.pattern(offsets, columns);
    const int       n_nodes = n * n * n;
    HostCSR<double> result;
    result.n_rows = result.n_columns = n_nodes * n_c;
    result.row_offsets.assign(std::size_t(n_nodes) * n_c + 1, 0);
    for (int i = 0; i < n_nodes; ++i)
      for (int a = 0; a < n_c; ++a)
        result.row_offsets[i * n_c + a + 1] = result.row_offsets[i * n_c + a] + (offsets[i + 1] - offsets[i]) * n_c;
    result.columns.resize(result.row_offsets.back());
    result.values.resize(result.row_offsets.back());
#pragma omp parallel for schedule(static)
    for (int i = 0; i < n_nodes; ++i)
      for (std::int64_t e = offsets[i]; e < offsets[i + 1]; ++e)
      {
        double block[n_c * n_c];
        system.block(i, columns[e], block);
        for (int a = 0; a < n_c; ++a)
          for (int c = 0; c < n_c; ++c)
          {
            const std::int64_t at = result.row_offsets[i * n_c + a] + (e - offsets[i]) * n_c + c;
            result.columns[at]    = columns[e] * n_c + c;
            result.values[at]     = block[a * n_c + c];
          }
      }
    return result;
  }

  inline std::vector<double> grid_points(const int n)
  {
    std::vector<double> points;
    for (int i = 0; i < n * n * n; ++i)
      for (const int x : {i % n, i / n % n, i / n / n})
        points.push_back(x / double(n - 1));
    return points;
  }

  /** Blocks of 3^3 nodes of a grid, level by level; nodes with x = 0 stay out on the finest level. */
  class GridAggregation : public AMGAggregation
  {
  public:
    explicit GridAggregation(const int n) : n(n) {}

    AggregateLists aggregate(unsigned int level, const SlicedEllpackMatrix<double> &A) override
    {
      return lists(level, A.backend());
    }
    AggregateLists aggregate(unsigned int level, const SlicedEllpackMatrix<float> &A) override
    {
      return lists(level, A.backend());
    }

    AggregateLists lists(const unsigned int level, const Backend &backend) const
    {
      int extent[3] = {n, n, n};
      for (unsigned int l = 0; l < level; ++l)
      {
        extent[0] = (extent[0] - (l == 0) + 2) / 3;
        extent[1] = extent[2] = (extent[1] + 2) / 3;
      }
      const int        first     = level == 0 ? 1 : 0;
      const int        coarse[2] = {(extent[0] - first + 2) / 3, (extent[1] + 2) / 3};
      std::vector<int> aggregate_of_node;
      for (int z = 0; z < extent[2]; ++z)
        for (int y = 0; y < extent[1]; ++y)
          for (int x = 0; x < extent[0]; ++x)
            aggregate_of_node.push_back(x < first ? -1 : (x - first) / 3 + coarse[0] * (y / 3 + coarse[1] * (z / 3)));
      return AggregateLists(backend, aggregate_of_node);
    }

  private:
    int n;
  };

  /** The same aggregates on every level. */
  class FixedAggregation : public AMGAggregation
  {
  public:
    explicit FixedAggregation(const std::vector<int> &aggregate_of_node) : aggregate_of_node(aggregate_of_node) {}

    AggregateLists aggregate(unsigned int, const SlicedEllpackMatrix<double> &A) override
    {
      return AggregateLists(A.backend(), aggregate_of_node);
    }
    AggregateLists aggregate(unsigned int, const SlicedEllpackMatrix<float> &A) override
    {
      return AggregateLists(A.backend(), aggregate_of_node);
    }

  private:
    std::vector<int> aggregate_of_node;
  };

  /** Row major and dense. */
  struct Dense
  {
    int                 n_rows = 0, n_columns = 0;
    std::vector<double> values;

    Dense(const int n_rows, const int n_columns)
        : n_rows(n_rows), n_columns(n_columns), values(std::size_t(n_rows) * n_columns, 0.)
    {}
    template <typename Number>
    explicit Dense(const HostCSR<Number> &A) : Dense(A.n_rows, A.n_columns)
    {
      for (int i = 0; i < A.n_rows; ++i)
        for (std::int64_t e = A.row_offsets[i]; e < A.row_offsets[i + 1]; ++e)
          (*this)(i, A.columns[e]) = A.values[e];
    }
    double       &operator()(const int i, const int j) { return values[std::size_t(i) * n_columns + j]; }
    const double &operator()(const int i, const int j) const { return values[std::size_t(i) * n_columns + j]; }

    Dense operator*(const Dense &other) const
    {
      Dense result(n_rows, other.n_columns);
      for (int i = 0; i < n_rows; ++i)
        for (int k = 0; k < n_columns; ++k)
          if ((*this)(i, k) != 0.)
            for (int j = 0; j < other.n_columns; ++j)
              result(i, j) += (*this)(i, k) * other(k, j);
      return result;
    }

    Dense transposed() const
    {
      Dense result(n_columns, n_rows);
      for (int i = 0; i < n_rows; ++i)
        for (int j = 0; j < n_columns; ++j)
          result(j, i) = (*this)(i, j);
      return result;
    }

    double magnitude() const
    {
      double result = 0.;
      for (const double value : values)
        result = std::max(result, std::abs(value));
      return result;
    }
  };

  /** max |a - b|; infinite if one is not finite or the sizes differ. */
  inline double difference(const std::vector<double> &a, const std::vector<double> &b)
  {
    if (a.size() != b.size())
      return HUGE_VAL;
    double result = 0.;
    for (std::size_t i = 0; i < a.size(); ++i)
      result = std::isfinite(a[i] - b[i]) ? std::max(result, std::abs(a[i] - b[i])) : HUGE_VAL;
    return result;
  }

  template <typename Number>
  std::vector<double> widened(const std::vector<Number> &values)
  {
    return std::vector<double>(values.begin(), values.end());
  }

  /** D^-1 A with D the block diagonal of M, dense; blocks by Gauss-Jordan elimination. */
  inline Dense scaled_by_block_diagonal(const Dense &A, const Dense &M, const int b)
  {
    Dense result = A;
    for (int first = 0; first < A.n_rows; first += b)
    {
      Dense D(b, b);
      for (int a = 0; a < b; ++a)
        for (int c = 0; c < b; ++c)
          D(a, c) = M(first + a, first + c);
      for (int k = 0; k < b; ++k)
      {
        const double pivot = D(k, k);
        for (int c = 0; c < b; ++c)
          D(k, c) /= pivot;
        for (int j = 0; j < A.n_columns; ++j)
          result(first + k, j) /= pivot;
        for (int a = 0; a < b; ++a)
          if (a != k)
          {
            const double factor = D(a, k);
            for (int c = 0; c < b; ++c)
              D(a, c) -= factor * D(k, c);
            for (int j = 0; j < A.n_columns; ++j)
              result(first + a, j) -= factor * result(first + k, j);
          }
      }
    }
    return result;
  }

  inline std::vector<double> times(const Dense &A, const std::vector<double> &x)
  {
    std::vector<double> y(A.n_rows, 0.);
    for (int i = 0; i < A.n_rows; ++i)
      for (int j = 0; j < A.n_columns; ++j)
        y[i] += A(i, j) * x[j];
    return y;
  }

  /** x + factor y */
  inline std::vector<double> plus(std::vector<double> x, const double factor, const std::vector<double> &y)
  {
    for (std::size_t i = 0; i < x.size(); ++i)
      x[i] += factor * y[i];
    return x;
  }

  /** A^-1 b by elimination with row pivots. */
  inline std::vector<double> solve_dense(Dense A, std::vector<double> b)
  {
    const int n = A.n_rows;
    for (int k = 0; k < n; ++k)
    {
      int pivot = k;
      for (int i = k + 1; i < n; ++i)
        pivot = std::abs(A(i, k)) > std::abs(A(pivot, k)) ? i : pivot;
      for (int j = 0; j < n; ++j)
        std::swap(A(k, j), A(pivot, j));
      std::swap(b[k], b[pivot]);
      for (int i = k + 1; i < n; ++i)
      {
        const double factor = A(i, k) / A(k, k);
        for (int j = k; j < n && factor != 0.; ++j)
          A(i, j) -= factor * A(k, j);
        b[i] -= factor * b[k];
      }
    }
    for (int k = n - 1; k >= 0; --k)
    {
      for (int j = k + 1; j < n; ++j)
        b[k] -= A(k, j) * b[j];
      b[k] /= A(k, k);
    }
    return b;
  }

  /** The smallest pivot of symmetric elimination: positive if and only if A is positive definite. */
  inline double smallest_pivot(Dense A)
  {
    double result = HUGE_VAL;
    for (int k = 0; k < A.n_rows; ++k)
    {
      result = std::min(result, A(k, k));
      for (int i = k + 1; i < A.n_rows; ++i)
      {
        const double factor = A(i, k) / A(k, k);
        for (int j = k; j < A.n_rows; ++j)
          A(i, j) -= factor * A(k, j);
      }
    }
    return result;
  }
} // namespace cases
