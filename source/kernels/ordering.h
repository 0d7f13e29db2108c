// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/kernels/geometry.h>
#include <patchfem/kernels/parallel_for.h>

#include <climits>

/** @file Bodies (see parallel_for.h) that number nodes and cells. */
namespace PatchFEM::kernels
{
  /**
   * Position along the Hilbert curve of the point with integer coordinates @p x of @p bits bits each. Skilling's
   * transform ("Programming the Hilbert curve", AIP Conf. Proc. 707, 2004): Gray-code and rotate in place, then
   * interleave the bits.
   */
  template <int dim>
  PATCHFEM_INLINE std::uint64_t hilbert_index(std::uint32_t (&x)[dim], const int bits)
  {
    for (std::uint32_t q = std::uint32_t(1) << (bits - 1); q > 1; q >>= 1)
    {
      const std::uint32_t p = q - 1;
      for (int i = 0; i < dim; ++i)
        if (x[i] & q)
          x[0] ^= p;
        else
        {
          const std::uint32_t t = (x[0] ^ x[i]) & p;
          x[0] ^= t;
          x[i] ^= t;
        }
    }
    for (int i = 1; i < dim; ++i)
      x[i] ^= x[i - 1];
    std::uint32_t t = 0;
    for (std::uint32_t q = std::uint32_t(1) << (bits - 1); q > 1; q >>= 1)
      if (x[dim - 1] & q)
        t ^= q - 1;
    for (int i = 0; i < dim; ++i)
      x[i] ^= t;

    std::uint64_t index = 0;
    for (int b = bits - 1; b >= 0; --b)
      for (int i = 0; i < dim; ++i)
        index = (index << 1) | ((x[i] >> b) & 1u);
    return index;
  }

  /** Bits of a coordinate on the curve, so that an index fits 60 bits. */
  template <int dim>
  constexpr int hilbert_bits()
  {
    return dim == 3 ? 20 : 30;
  }

  /** values[i] = value. */
  struct FillBody
  {
    int *values;
    int  value;

    PATCHFEM_INLINE void operator()(const std::int64_t i) const { values[i] = value; }
  };

  /** values[i] = i. */
  template <typename T>
  struct IotaBody
  {
    T *values;

    PATCHFEM_INLINE void operator()(const std::int64_t i) const { values[i] = static_cast<T>(i); }
  };

  /** For each (cell, shape): the first cell of every node and how many cells it has. */
  struct NodeCellsBody
  {
    BatchView batch;
    int      *first_cell; ///< [node], starts at INT_MAX
    int      *n_cells;    ///< [node], starts at 0

    PATCHFEM_INLINE void operator()(const std::int64_t i) const
    {
      const int node = batch.nodes[i];
      atomic_min(first_cell + node, batch.first_cell + static_cast<int>(i / batch.reference.n_shape));
      atomic_increment(n_cells + node);
    }
  };

  /** The support point of shape function @p shape of cell @p cell of @p batch. */
  template <int dim>
  PATCHFEM_INLINE void
  support_point(const BatchView &batch, const double *points, const int cell, const int shape, double *x)
  {
    const int n_geometry = batch.reference.n_geometry;
    for (int a = 0; a < dim; ++a)
      x[a] = 0.;
    for (int g = 0; g < n_geometry; ++g)
    {
      const double *point = points + std::int64_t(batch.geometry[std::int64_t(cell) * n_geometry + g]) * dim;
      const double  value = batch.reference.support_geometry_values[shape * n_geometry + g];
      for (int a = 0; a < dim; ++a)
        x[a] += value * point[a];
    }
  }

  /** For each (cell, shape) whose cell is the node's first: where the node lies in space. */
  template <int dim>
  struct NodePointBody
  {
    BatchView     batch;
    const double *points;
    const int    *first_cell;  ///< [node]
    double       *node_points; ///< [node][dim]

    PATCHFEM_INLINE void operator()(const std::int64_t i) const
    {
      const int n_shape = batch.reference.n_shape;
      const int node = batch.nodes[i], cell = static_cast<int>(i / n_shape), shape = static_cast<int>(i % n_shape);
      if (first_cell[node] == batch.first_cell + cell)
        support_point<dim>(batch, points, cell, shape, node_points + std::int64_t(node) * dim);
    }
  };

  /**
   * For each (cell, shape) whose cell is the node's first: where the node lies on the curve. One spacing of nodes is a
   * power of two of the curve's integers, and a node lies in the middle of its spacing: on a mesh with even spacings,
   * moved nodes included, 2^k nodes that follow each other from a multiple of 2^k on fill a box. A cell of a cube of
   * 150^3 then touches 1.93 patches of 96 rows; with spacings that are no power of two, 2.19.
   */
  template <int dim>
  struct NodeCurveBody
  {
    BatchView      batch;
    const double  *points;
    const int     *first_cell; ///< [node]
    double         origin[dim];
    double         scale[dim]; ///< unit / spacing of the nodes
    double         unit;       ///< integers a spacing
    std::uint64_t *curve;      ///< [node]

    PATCHFEM_INLINE void operator()(const std::int64_t i) const
    {
      const int n_shape = batch.reference.n_shape;
      const int node = batch.nodes[i], cell = static_cast<int>(i / n_shape), shape = static_cast<int>(i % n_shape);
      if (first_cell[node] != batch.first_cell + cell)
        return;
      double x[dim];
      support_point<dim>(batch, points, cell, shape, x);
      constexpr int bits = hilbert_bits<dim>();
      std::uint32_t integer[dim];
      for (int a = 0; a < dim; ++a)
      {
        const double t    = (x[a] - origin[a]) * scale[a] + 0.5 * unit;
        const double most = static_cast<double>((std::uint32_t(1) << bits) - 1);
        integer[a]        = static_cast<std::uint32_t>(t < 0. ? 0. : (t > most ? most : t));
      }
      curve[node] = hilbert_index<dim>(integer, bits);
    }
  };

  /** Sort key of the node with rank @p i: its window, then falling length of its row. */
  struct WindowKeyBody
  {
    const int     *node_of_rank;
    const int     *lengths; ///< [node], in whatever unit, such as cells
    int            window;
    std::uint64_t *keys; ///< [rank]

    PATCHFEM_INLINE void operator()(const std::int64_t i) const
    {
      const int n = lengths[node_of_rank[i]];
      keys[i]     = (std::uint64_t(i / window) << 16) | std::uint64_t(65535 - (n < 65535 ? n : 65535));
    }
  };

  /** Sorting windows to choose from, the smallest first. */
  struct SortingWindows
  {
    static constexpr int n = 4, largest = 1024;

    PATCHFEM_INLINE static int size(const int w) { return w == 0 ? 1 : 16 << (2 * w); } // 1, 64, 256, 1024
  };

  /**
   * Lengths along the curve of every @p stride-th group of SortingWindows::largest nodes, from the first on; -1 behind
   * the last node.
   */
  struct SampleLengthsBody
  {
    int        n_nodes;
    int        stride;
    const int *node_of_rank;
    const int *lengths; ///< [node]
    int       *sample;  ///< [group][SortingWindows::largest]

    PATCHFEM_INLINE void operator()(const std::int64_t i) const
    {
      constexpr int      size = SortingWindows::largest;
      const std::int64_t rank = i / size * stride * size + i % size;
      sample[i]               = rank < n_nodes ? lengths[node_of_rank[rank]] : -1;
    }
  };

  /** inverse[permutation[i]] = i. */
  struct InvertBody
  {
    const int *permutation;
    int       *inverse;

    PATCHFEM_INLINE void operator()(const std::int64_t i) const { inverse[permutation[i]] = static_cast<int>(i); }
  };

  /** nodes[i] = new_of_old[nodes[i]]. */
  struct RenumberBody
  {
    const int *new_of_old;
    int       *nodes;

    PATCHFEM_INLINE void operator()(const std::int64_t i) const { nodes[i] = new_of_old[nodes[i]]; }
  };

  /** Sort key of cell @p i: its smallest node. */
  struct CellKeyBody
  {
    const int     *nodes; ///< [cell][shape]
    int            n_shape;
    std::uint64_t *keys; ///< [cell]

    PATCHFEM_INLINE void operator()(const std::int64_t i) const
    {
      int least = INT_MAX;
      for (int k = 0; k < n_shape; ++k)
        least = nodes[i * n_shape + k] < least ? nodes[i * n_shape + k] : least;
      keys[i] = static_cast<std::uint64_t>(least);
    }
  };

  /** Row i of @p to, of @p width entries, is row permutation[i] of @p from. */
  template <typename T>
  struct PermuteRowsBody
  {
    const int *permutation;
    int        width;
    const T   *from;
    T         *to;

    PATCHFEM_INLINE void operator()(const std::int64_t i) const
    {
      to[i] = from[std::int64_t(permutation[i / width]) * width + i % width];
    }
  };

  /**
   * The smallest global number of a cell with a Jacobian determinant that is not positive at a quadrature point.
   * Scaled by |X|^dim, a flat cell is recognised at any size: det <= 1e-14 (largest edge)^dim.
   */
  template <int dim>
  struct JacobianCheckBody
  {
    BatchView     batch;
    const double *points;
    int          *bad_cell; ///< starts at INT_MAX

    PATCHFEM_INLINE void operator()(const std::int64_t i) const
    {
      const int  n_geometry = batch.reference.n_geometry;
      const int *geometry   = batch.geometry + i * n_geometry;
      double     extent     = 0.;
      for (int g = 1; g < n_geometry; ++g)
        for (int a = 0; a < dim; ++a)
        {
          const double d = points[std::int64_t(geometry[g]) * dim + a] - points[std::int64_t(geometry[0]) * dim + a];
          extent         = d > extent ? d : (-d > extent ? -d : extent);
        }
      double least = 1e-14;
      for (int a = 0; a < dim; ++a)
        least *= extent;
      for (int q = 0; q < batch.reference.n_quadrature; ++q)
      {
        const auto J = jacobian<dim, double>(points, geometry, n_geometry,
                                             batch.reference.geometry_gradients + q * n_geometry * dim);
        if (!(determinant(J) > least))
        {
          atomic_min(bad_cell, batch.first_cell + static_cast<int>(i));
          return;
        }
      }
    }
  };
} // namespace PatchFEM::kernels
