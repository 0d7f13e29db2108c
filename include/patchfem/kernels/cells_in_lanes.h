// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/kernels/cell_records.h>
#include <patchfem/kernels/cube_pairs.h>
#include <patchfem/kernels/lanes.h>

namespace PatchFEM::kernels
{
  /**
   * Cells of one batch side by side in the vector registers of a core, for forms whose moments are known (MomentKind)
   * and coefficients that do not vary inside cells: what the arithmetic of a cell alone leaves idle is used by others.
   * A trilinear hexahedron of Laplace takes some 1,100 operations (CubePairs), which four cells share.
   */
  template <typename Form, typename Number, typename Extents>
  class CellsInLanes
  {
  public:
    static constexpr int  dim      = Form::dimension;
    static constexpr bool inner    = moment_kind_of<Form> == MomentKind::inner_product;
    static constexpr bool means    = moment_kind_of<Form> == MomentKind::outer_product_and_means;
    static constexpr bool possible = moment_kind_of<Form> != MomentKind::other;
    static constexpr int  n_cells  = Lanes<Number>::size;
    static constexpr bool cubes =
        inner && Form::n_components == 1 &&
        std::is_same<Extents, MultilinearCube<dim>>::value; ///< where the reference cell is multilinear

    static bool serves(const KernelRequest &request) { return possible && !request.varying; }

    /** Bytes of working memory for cells of @p reference. */
    static std::size_t bytes(const ReferenceView &reference)
    {
      return Parts(reference.n_shape, reference.n_geometry, reference.n_quadrature).end * sizeof(Lanes<Number>);
    }

    /** For cells of batch number @p b; @p memory has bytes() and an alignment for numbers. */
    CellsInLanes(const AssemblyArguments<Number> &a, const int b, void *const memory)
        : a(a), b(b), batch(a.batches.batch[b]), lanes(static_cast<Lanes<Number> *>(memory))
    {}

    /** Moments, where asked for @p with_matrix or found beside loads, and weights of the @p n <= n_cells cells at positions @p local. */
    void integrate(const int *const local, const int n, const bool with_matrix)
    {
      const Parts          parts(n_shape(), n_geometry(), n_points());
      const ReferenceView &r = batch.reference;
      if constexpr (cubes)
        if (r.multilinear)
          return integrate_cubes(parts, local, n);
      for (int lane = 0; lane < n_cells; ++lane)
      {
        cells[lane]            = local[lane < n ? lane : n - 1];
        const int    *geometry = batch.geometry + std::int64_t(cells[lane]) * n_geometry();
        const double *origin   = a.batches.points + std::int64_t(geometry[0]) * dim;
        for (int g = 1; g < n_geometry(); ++g)
          for (int d = 0; d < dim; ++d)
            lanes[parts.points + g * dim + d].set(
                lane, static_cast<Number>(a.batches.points[std::int64_t(geometry[g]) * dim + d] - origin[d]));
      }

      for (int q = 0; q < n_points(); ++q)
      {
        SmallMatrix<dim, dim, Lanes<Number>> J{};
        for (int g = 1; g < n_geometry(); ++g) // positions are relative to the first node
          for (int x = 0; x < dim; ++x)
            for (int y = 0; y < dim; ++y)
              J(x, y) += lanes[parts.points + g * dim + x] *
                         Lanes<Number>(r.geometry_gradients[(q * n_geometry() + g) * dim + y]);
        const Lanes<Number> det      = determinant(J);
        const auto          inverted = inverse(J, det);
        lanes[parts.weights + q]     = det * Lanes<Number>(r.weights[q]);
        if (with_matrix)
          for (int i = 0; i < n_shape(); ++i)
          {
            const auto g = real_gradient<dim, Lanes<Number>>(inverted, r.shape_gradients + (q * n_shape() + i) * dim);
            for (int d = 0; d < dim; ++d)
              lanes[parts.gradients + (i * n_points() + q) * dim + d] = g[d];
          }
      }
      for (int i = 0; i < n_shape(); ++i)
      {
        Lanes<Number> sum(0.);
        for (int q = 0; q < n_points(); ++q)
          sum += lanes[parts.weights + q] * Lanes<Number>(r.shape_values[q * n_shape() + i]);
        lanes[parts.shape_integrals + i] = sum;
      }
      if (with_matrix)
        sum_moments(parts);
    }

    /** Block (i, j) of the matrix of the cell in @p lane. */
    SmallMatrix<Form::n_components, Form::n_components, Number> block(const int lane, const int i, const int j) const
    {
      const Parts                parts(n_shape(), n_geometry(), n_points());
      constexpr int              n = inner ? 1 : dim;
      SmallMatrix<n, n, Number>  moments;
      const int                  first = i < j ? i : j, second = i < j ? j : i;
      const Lanes<Number> *const from = lanes + parts.moments + pair(first, second) * n * n;
      const bool                 flip = !is_symmetric<Form> && j < i;
      for (int x = 0; x < n; ++x)
        for (int y = 0; y < n; ++y)
          moments(x, y) = from[flip ? y * n + x : x * n + y][lane];
      const auto result = finish(a.coefficients.at(a.batches, b, cells[lane], 0), moments, parts, lane,
                                 flip ? second : first, flip ? first : second);
      if constexpr (is_symmetric<Form>)
        return i <= j ? result : transpose(result);
      else
        return result;
    }

    /** The load of node @p i, component @p c, of the cell in @p lane. */
    Number load(const int lane, const int i, const int c) const
    {
      const Parts parts(n_shape(), n_geometry(), n_points());
      if (cubes && batch.reference.multilinear)
        return lanes[parts.shape_integrals + i][lane];
      if (!a.load.varies_inside_cells())
        return lanes[parts.shape_integrals + i][lane] * a.load.at(a.batches, b, cells[lane], 0)[c];
      Number sum = Number(0);
      for (int q = 0; q < n_points(); ++q)
        sum += lanes[parts.weights + q][lane] * static_cast<Number>(batch.reference.shape_values[q * n_shape() + i]) *
               a.load.at(a.batches, b, cells[lane], q)[c];
      return sum;
    }

  private:
    /** Where what is kept begins in the working memory. */
    struct Parts
    {
      int points, weights, gradients, scaled, shape_integrals, means, moments, end; ///< means: integrals of gradients

      Parts(const int n_shape, const int n_geometry, const int n_points)
          : points(0), weights(points + n_geometry * dim), gradients(weights + n_points),
            scaled(gradients + n_shape * n_points * dim), shape_integrals(scaled + n_points * dim),
            means(shape_integrals + n_shape), moments(means + (CellsInLanes::means ? n_shape * dim + 1 : 0)),
            end(moments + n_shape * (n_shape + 1) / 2 * (inner ? 1 : dim * dim))
      {}
    };

    const AssemblyArguments<Number> &a;
    const int                        b;
    const BatchView                 &batch;
    Lanes<Number> *const             lanes;
    int cells[n_cells]; ///< positions in the batch; the last one stands in unused lanes too

    int n_shape() const { return Extents::n_shape > 0 ? Extents::n_shape : batch.reference.n_shape; }
    int n_geometry() const { return Extents::n_shape > 0 ? Extents::n_shape : batch.reference.n_geometry; }
    int n_points() const { return Extents::n_shape > 0 ? Extents::n_quadrature : batch.reference.n_quadrature; }

    /** The block of shape functions @p i and @p j of the cell in @p lane. */
    template <typename Moments>
    auto finish(const Number  *coefficients,
                const Moments &moments,
                const Parts   &parts,
                const int      lane,
                const int      i,
                const int      j) const
    {
      if constexpr (means)
      {
        SmallVector<dim, Number> test, trial;
        for (int d = 0; d < dim; ++d)
        {
          test[d]  = lanes[parts.means + i * dim + d][lane];
          trial[d] = lanes[parts.means + j * dim + d][lane];
        }
        return Form::finish(coefficients, moments, test, trial, lanes[parts.means + n_shape() * dim][lane]);
      }
      else
        return Form::finish(coefficients, moments);
    }

    /** Moments of pairs and loads of cells, by CubePairs. */
    void integrate_cubes(const Parts &parts, const int *const local, const int n)
    {
      if constexpr (cubes)
      {
        constexpr int n_nodes = 1 << dim;
        Lanes<Number> x[n_nodes][dim];
        const bool    loaded = a.load.kind != CoefficientView<Number>::none;
        for (int lane = 0; lane < n_cells; ++lane)
        {
          cells[lane]            = local[lane < n ? lane : n - 1];
          const int    *geometry = batch.geometry + std::int64_t(cells[lane]) * n_nodes;
          const double *origin   = a.batches.points + std::int64_t(geometry[0]) * dim;
          for (int v = 0; v < n_nodes; ++v)
            for (int d = 0; d < dim; ++d)
              x[v][d].set(lane, static_cast<Number>(a.batches.points[std::int64_t(geometry[v]) * dim + d] - origin[d]));
        }
        CubePairs<dim, Lanes<Number>> pairs;
        pairs.integrate(
            x, [](int) { return Lanes<Number>(1.); },
            [&](const int q) {
              Lanes<Number> f(0.);
              for (int lane = 0; lane < n_cells && loaded; ++lane)
                f.set(lane, a.load.at(a.batches, b, cells[lane], q)[0]);
              return f;
            });
        for (int i = 0; i < n_nodes; ++i)
        {
          lanes[parts.shape_integrals + i] = pairs.load[i];
          Lanes<Number> others(0.);
          for (int j = 0; j < n_nodes; ++j)
            if (j != i)
              others += pairs.pair[PlacesView::pair_number(n_nodes, i < j ? i : j, i < j ? j : i)];
          lanes[parts.moments + pair(i, i)] = -others;
          for (int j = i + 1; j < n_nodes; ++j)
            lanes[parts.moments + pair(i, j)] = pairs.pair[PlacesView::pair_number(n_nodes, i, j)];
        }
      }
    }

    /** Number of the pair (@p i, @p j), i <= j. */
    int pair(const int i, const int j) const { return i * (2 * n_shape() - i - 1) / 2 + j; }

    /** sum_q w grad(phi_i) . grad(phi_j), or with (x), of all pairs i <= j. */
    void sum_moments(const Parts &parts)
    {
      const Lanes<Number> *const gradients = lanes + parts.gradients;
      Lanes<Number> *const       scaled    = lanes + parts.scaled; // w grad(phi_i), [q][d]
      Lanes<Number>             *out       = lanes + parts.moments;
      if constexpr (means)
      {
        Lanes<Number> volume(0.);
        for (int q = 0; q < n_points(); ++q)
          volume += lanes[parts.weights + q];
        lanes[parts.means + n_shape() * dim] = volume;
      }
      for (int i = 0; i < n_shape(); ++i)
      {
        for (int q = 0; q < n_points(); ++q)
          for (int d = 0; d < dim; ++d)
            scaled[q * dim + d] = lanes[parts.weights + q] * gradients[(i * n_points() + q) * dim + d];
        if constexpr (means)
          for (int d = 0; d < dim; ++d)
          {
            Lanes<Number> sum(0.);
            for (int q = 0; q < n_points(); ++q)
              sum += scaled[q * dim + d];
            lanes[parts.means + i * dim + d] = sum;
          }
        for (int j = i; j < n_shape(); ++j)
        {
          const Lanes<Number> *const other = gradients + j * n_points() * dim;
          if constexpr (inner)
          {
            Lanes<Number> sum(0.);
            for (int k = 0; k < n_points() * dim; ++k)
              sum += scaled[k] * other[k];
            *out++ = sum;
          }
          else
          {
            SmallMatrix<dim, dim, Lanes<Number>> sum{};
            for (int q = 0; q < n_points(); ++q)
              for (int x = 0; x < dim; ++x)
                for (int y = 0; y < dim; ++y)
                  sum(x, y) += scaled[q * dim + x] * other[q * dim + y];
            for (int x = 0; x < dim; ++x)
              for (int y = 0; y < dim; ++y)
                *out++ = sum(x, y);
          }
        }
      }
    }
  };
} // namespace PatchFEM::kernels
