// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "strategies/scatter.h"
#include <patchfem/base/threads.h>

#include <vector>

namespace PatchFEM
{
  /**
   * What a cell has in fast memory (P4, table IV): the blocks (i, j) of its matrix, of symmetric forms those with
   * i <= j, then its load. Coordinates of its geometry nodes are there before: in the same place if they are so few
   * that a thread keeps them while it computes the cell, else behind. Number e of cell c of a part with n cells is at
   * e * n + c: neighbouring threads compute neighbouring cells and use different banks.
   */
  struct SharedNZCell
  {
    int  n_shape, n_comp, n_nodal;
    bool upper, in_place;

    PATCHFEM_INLINE
    SharedNZCell(const int n_shape, const int n_geometry, const int dim, const int n_comp, const bool upper)
        : n_shape(n_shape), n_comp(n_comp), n_nodal(n_geometry * dim), upper(upper), in_place(n_geometry <= 1 << dim)
    {}

    /** Where the block of nodes @p i and @p j begins; i <= j if upper. */
    PATCHFEM_INLINE int block(const int i, const int j) const
    {
      return (upper ? i * (2 * n_shape - i - 1) / 2 + j : i * n_shape + j) * n_comp * n_comp;
    }
    PATCHFEM_INLINE int load(const int i) const
    {
      return (upper ? n_shape * (n_shape + 1) / 2 : n_shape * n_shape) * n_comp * n_comp + i * n_comp;
    }
    PATCHFEM_INLINE int n_element() const { return load(n_shape); }

    PATCHFEM_INLINE int nodal() const { return in_place ? 0 : n_element(); } ///< where coordinates begin
    PATCHFEM_INLINE int size() const
    {
      return !in_place ? n_element() + n_nodal : n_element() < n_nodal ? n_nodal : n_element();
    }

    /**
     * What names the block (@p i, @p j) of cell @p c of @p n in a reduction list: where it begins in fast memory, and,
     * where blocks have more than one entry, by the lowest bit whether it is to be transposed.
     */
    PATCHFEM_INLINE int source(const int i, const int j, const int c, const int n) const
    {
      const bool transposed = upper && j < i;
      const int  begin      = (transposed ? block(j, i) : block(i, j)) * n + c;
      return has_flags() ? 2 * begin + transposed : begin;
    }
    PATCHFEM_INLINE int source_of_load(const int i, const int c, const int n) const
    {
      return (load(i) * n + c) << has_flags();
    }
    PATCHFEM_INLINE bool has_flags() const { return n_comp > 1; }
  };

  /** Where the lists of a part begin, and those of the part before end; and the columns of its two arrays. */
  struct SharedNZPart
  {
    std::int64_t rows, cells, scatter, reduction;
    int          scatter_columns, reduction_columns;
  };

  /**
   * Parts of the rows, in any order, with the cells that touch them. The two arrays of a part (P4, figures 6 and 9)
   * have columns, one for a thread, with list after list and zeros at the ends. A list of the scatter array is a point,
   * k + 1, and where its coordinates go in nodal data, each as -k - 1. One of the reduction array is what adds up to a
   * block or a load, SharedNZCell's sources + 1, and the target k as -k - 1: (row of the part << place_bits | place in
   * the row) << 1, where all bits of the place are set for the load. Of a symmetric matrix that mirrors, two blocks in
   * rows of the part have one list with two targets; the first one, marked by its lowest bit, gets the transposed sum.
   * Blocks to which nothing adds have lists without sources, and so have rows without cells, which are in parts of
   * their own.
   */
  struct SharedNZView
  {
    static constexpr int n_threads = 256, preferred = 2; ///< parts on a multiprocessor

    int                 n_parts, most_cells, place_bits;
    const SharedNZPart *parts;        ///< [part + 1]
    const int          *rows, *cells; ///< cells by their positions in the batch
    const int          *scatter;
    PackedView          reduction; ///< signed, of 2 or 4 bytes

    PATCHFEM_INLINE int reduction_entry(const std::int64_t k) const
    {
      return reduction.width == 2 ? static_cast<std::int16_t>(reduction[k]) : static_cast<int>(reduction[k]);
    }

    /** Calls visit(entry(k)) for the entries k of column @p column, of @p n_columns, of those in [@p begin, @p end). */
    template <typename Entry, typename Visit>
    static PATCHFEM_INLINE void for_column(const std::int64_t begin,
                                           const std::int64_t end,
                                           const int          column,
                                           const int          n_columns,
                                           const Entry       &entry,
                                           const Visit       &visit)
    {
      constexpr int at_once = 4; // reads from far memory that are under way together
      for (std::int64_t k = begin + column; k < end; k += at_once * n_columns)
      {
        int entries[at_once];
        PATCHFEM_UNROLL
        for (int h = 0; h < at_once; ++h)
          entries[h] = k + h * n_columns < end ? entry(k + h * n_columns) : 0;
        PATCHFEM_UNROLL
        for (int h = 0; h < at_once; ++h)
          if (entries[h] != 0)
            visit(entries[h]);
      }
    }
  };
} // namespace PatchFEM

namespace PatchFEM::kernels
{
  /**
   * Assembly by nonzero entries from fast memory (P4, 4.3): scatter | compute | reduce, with a barrier at each bar.
   * Phases share out their items over @p size workers, of which this is number @p rank.
   *
   * A part reads 4 bytes for each entry of the scatter array, one for each point and each geometry node of a cell,
   * 8 dim bytes a point, and coefficients; 2 or 4 bytes for each entry of the reduction array, of which all parts
   * together have n_shape (n_shape + 1) for each cell of the batch and one for each block and load, or if they mirror
   * nearly half of the former. Each block and load is written once.
   */
  template <typename Form, typename Number, typename Extents>
  struct SharedNZBody
  {
    static constexpr int  dim = Form::dimension, n_comp = Form::n_components, n_block = n_comp * n_comp;
    static constexpr bool upper = is_symmetric<Form>;

    using value_type = Number;

    TargetRows<n_comp, Number> rows;
    SharedNZView               view;

    using Records = CellRecords<Form, Number, Extents>;
    PATCHFEM_INLINE Records records() const { return {rows.a}; }

    static PATCHFEM_HOST_DEVICE SharedNZCell cell_of(const ReferenceView &r)
    {
      return Extents::n_shape > 0 ? SharedNZCell(Extents::n_shape, Extents::n_shape, dim, n_comp, upper)
                                  : SharedNZCell(r.n_shape, r.n_geometry, dim, n_comp, upper);
    }

    /** Of the largest part in fast memory. */
    std::size_t n_numbers() const { return std::size_t(view.most_cells) * cell_of(records().batch().reference).size(); }

    PATCHFEM_INLINE int n_cells(const int part) const
    {
      return static_cast<int>(view.parts[part + 1].cells - view.parts[part].cells);
    }

    /**
     * Reads each point once and gives it to all cells that need it (P4, algorithm 7). Coordinates are relative to a
     * point of the part, so that single precision keeps the digits of small cells.
     */
    PATCHFEM_INLINE void scatter(const int part, const int rank, const int size, Number *data) const
    {
      const SharedNZPart &begin = view.parts[part];
      const int           n     = n_cells(part);
      if (n == 0)
        return;
      const Records records = this->records();
      const double *points  = rows.a.batches.points;
      const double *origin =
          points +
          std::int64_t(records.batch().geometry[std::int64_t(view.cells[begin.cells]) * records.n_geometry()]) * dim;
      Number *nodal  = data + cell_of(records.batch().reference).nodal() * n;
      Number  x[dim] = {};
      for (int column = rank; column < begin.scatter_columns; column += size)
        view.for_column(
            begin.scatter, view.parts[part + 1].scatter, column, begin.scatter_columns,
            [&](const std::int64_t k) { return view.scatter[k]; },
            [&](const int entry) {
              PATCHFEM_UNROLL
              for (int d = 0; d < dim; ++d)
                if (entry > 0)
                  x[d] = static_cast<Number>(points[std::int64_t(entry - 1) * dim + d] - origin[d]);
                else
                  nodal[-entry - 1 + d * n] = x[d];
            });
    }

    /**
     * Each thread computes a cell, or several one after the other. Where there are fewer cells than threads, several
     * share the rows of a cell, and @p sync, a barrier, comes between reads of coordinates and what takes their place.
     */
    template <typename Sync>
    PATCHFEM_INLINE void compute(const int part, const int rank, const int size, Number *data, const Sync &sync) const
    {
      const int n = n_cells(part);
      if (n == 0)
        return;
      const Records      records   = this->records();
      const SharedNZCell cell      = cell_of(records.batch().reference);
      const int          at_once   = n < size ? n : size;
      const int          n_workers = size / at_once < cell.n_shape ? size / at_once : cell.n_shape;
      const int          lane = rank % at_once, worker = rank / at_once;
      Number             x[(1 << dim) * dim] = {};
      for (int first = 0; first < n; first += at_once)
      {
        const int  c     = first + lane;
        const bool works = c < n && worker < n_workers;
        if (cell.in_place)
        {
          PATCHFEM_UNROLL
          for (int k = 0; k < cell.n_nodal; ++k)
            if (works)
              x[k] = data[k * n + c];
          if (n_workers > 1)
            sync();
        }
        if (!works)
          continue;
        const int local = view.cells[view.parts[part].cells + c];
        compute_rows(records, cell, local, cell.in_place ? x : data + cell.nodal() * n + c, cell.in_place ? 1 : n,
                     worker, n_workers, data + c, n);
      }
    }

    /** Rows worker, worker + n_workers, ... of a cell with coordinates x[k * x_stride], to data[e * stride]. */
    PATCHFEM_INLINE void compute_rows(const Records      &records,
                                      const SharedNZCell &cell,
                                      const int           local,
                                      const Number       *x,
                                      const int           x_stride,
                                      const int           worker,
                                      const int           n_workers,
                                      Number             *data,
                                      const int           stride) const
    {
      const AssemblyArguments<Number> &a      = rows.a;
      const bool                       matrix = rows.with_matrix(), loaded = rows.loaded();
      for (int q = 0; q < records.n_quadrature(); ++q)
      {
        const auto point =
            geometry_at(records, q, [=](const int g, const int d) { return x[(g * dim + d) * x_stride]; });
        const Number weight = point.weight;
        const auto   shape  = [&](const int i) { return shape_at(records, point, q, i); };
        const auto   add    = [&](const int e, const Number value) {
          data[e * stride] = q == 0 ? value : data[e * stride] + value;
        };
        ShapeFunction<dim, Number> kept[Extents::n_shape > 0 ? Extents::n_shape : 1];
        PATCHFEM_UNROLL
        for (int j = 0; j < Extents::n_shape; ++j)
          kept[j] = shape(j);
        for (int i = worker; i < records.n_shape(); i += n_workers)
        {
          const ShapeFunction<dim, Number> test         = shape(i);
          const Number                    *coefficients = a.coefficients.at(a.batches, a.computed_batch, local, q);
          PATCHFEM_UNROLL
          for (int j = 0; j < records.n_shape(); ++j)
            if (matrix && (!upper || i <= j))
            {
              const auto block = Form::matrix(coefficients, test, Extents::n_shape > 0 ? kept[j] : shape(j));
              PATCHFEM_UNROLL
              for (int e = 0; e < n_block; ++e)
                add(cell.block(i, j) + e, weight * block(e / n_comp, e % n_comp));
            }
          for (int c = 0; c < n_comp && loaded; ++c)
            add(cell.load(i) + c, weight * test.value * a.load.at(a.batches, a.computed_batch, local, q)[c]);
        }
      }
    }

    /** Sums what the lists name and writes it to the rows (P4, algorithm 6). */
    PATCHFEM_INLINE void reduce(const int part, const int rank, const int size, const Number *data) const
    {
      const int n = n_cells(part);
      if (rows.a.add && n == 0)
        return;
      const SharedNZCell  cell  = cell_of(records().batch().reference);
      const SharedNZPart &begin = view.parts[part], &end = view.parts[part + 1];
      const int           loads = cell.load(0) * n;
      for (int column = rank; column < begin.reduction_columns; column += size)
      {
        Number sum[n_block] = {};
        bool   any          = false;
        view.for_column(
            begin.reduction, end.reduction, column, begin.reduction_columns,
            [&](const std::int64_t k) { return view.reduction_entry(k); },
            [&](const int entry) {
              if (entry > 0)
              {
                const bool    transposed = cell.has_flags() && ((entry - 1) & 1) != 0;
                const int     source     = (entry - 1) >> cell.has_flags();
                const Number *from       = data + source;
                PATCHFEM_UNROLL
                for (int e = 0; e < n_block; ++e)
                  if (e < n_comp || source < loads)
                    sum[e] += from[(transposed ? e % n_comp * n_comp + e / n_comp : e) * n];
                any = true;
              }
              else
              {
                write(begin.rows, -entry - 1, sum, any);
                if (((-entry - 1) & 1) != 0)
                  return; // there is another target
                PATCHFEM_UNROLL
                for (int e = 0; e < n_block; ++e)
                  sum[e] = Number(0);
                any = false;
              }
            });
      }
      if (rows.a.matrix.format == MatrixTarget<Number>::sliced_ellpack && !rows.a.add)
        for (std::int64_t r = begin.rows + rank; r < end.rows; r += size)
          clear_padding(view.rows[r]);
    }

    /** A sum, or zeros if there is not @p any, to target @p k of the part whose rows begin at @p first_row. */
    PATCHFEM_INLINE void
    write(const std::int64_t first_row, const int k, const Number (&sum)[n_block], const bool any) const
    {
      const AssemblyArguments<Number> &a    = rows.a;
      const int                        mask = (1 << view.place_bits) - 1, place = k >> 1 & mask;
      const bool                       transposed = (k & 1) != 0;
      const std::int64_t               row        = view.rows[first_row + (k >> (view.place_bits + 1))];
      const auto                       put = [&a](Number &to, const Number value) { to = a.add ? to + value : value; };
      if (a.add && !any)
        return;
      if (place == mask)
      {
        for (int c = 0; c < n_comp && a.rhs != nullptr; ++c)
          put(a.rhs[row * n_comp + c], rows.loaded() ? sum[c] : Number(0));
      }
      else if (rows.with_matrix())
      {
        const auto to = rows.row(static_cast<int>(row));
        PATCHFEM_UNROLL
        for (int e = 0; e < n_block; ++e)
          put(transposed ? to(place, e % n_comp, e / n_comp) : to(place, e / n_comp, e % n_comp), sum[e]);
      }
    }

    PATCHFEM_INLINE void clear_padding(const int row) const
    {
      const auto          to      = rows.row(row);
      const std::int64_t *offsets = rows.a.patches.row_offsets;
      const auto         &A       = rows.a.matrix.sliced_view;
      for (int k = static_cast<int>(offsets[row + 1] - offsets[row]); k < A.slice_width(row / A.slice_height); ++k)
        PATCHFEM_UNROLL
      for (int e = 0; e < n_block; ++e)
        to(k, e / n_comp, e % n_comp) = Number(0);
    }
  };

  template <typename Body>
  void compute_parts(Host, const Body &body)
  {
    for_pieces(body.view.n_parts, 4, [&](const auto &next) {
      std::vector<typename Body::value_type> data(body.n_numbers());
      next([&](const std::int64_t number) {
        const int part = static_cast<int>(number);
        body.scatter(part, 0, 1, data.data());
        body.compute(part, 0, 1, data.data(), [] {});
        body.reduce(part, 0, 1, data.data());
      });
    });
  }

  template <typename Form, typename Number, typename Extents>
  struct SharedNZKernel : public AnyKernel
  {
    using Body = SharedNZBody<Form, Number, Extents>;

    static constexpr bool        possible = !has_cell_moments<Form>; // entries are summed point by point
    static constexpr const char *name     = name_of_cells<Extents>();

    static bool serves(const KernelRequest &r) { return r.strategy == "shared_nz" && fits<Extents>(r); }

    /** Two parts share the fast memory of a multiprocessor, if nobody says how many: each takes 1 KB for the system. */
    static PatchRoom room(const KernelRequest &r)
    {
      const int n = r.concurrent > 0 ? r.concurrent : SharedNZView::preferred;
      return {r.fast_memory / n - (n > 1 ? 1024 : 0), Body::cell_of(r.reference).size() * sizeof(Number)};
    }

    template <typename Where>
    static void launch(const Where where, const AssemblyArguments<Number> &a)
    {
      const Body body{{a}, *static_cast<const SharedNZView *>(a.own_lists)};
      if (a.first_patch == 0 && body.view.n_parts > 0)
        compute_parts(where, body);
      add_buffered(where, body.rows);
    }
  };
} // namespace PatchFEM::kernels

namespace PatchFEM
{
  namespace strategies
  {
    /** The cells at a part of the nodes are computed in fast memory, from where its entries are summed (P4, 4.3). */
    struct SharedNZ : public OfCells<PatchFEM::kernels::SharedNZKernel>
    {
      /// Whether plans made from now on sum pairs of blocks of a symmetric matrix once, which gives the same bits.
      static inline bool mirrors = true;

      static StrategyRow row();
    };
  } // namespace strategies
} // namespace PatchFEM

#ifdef __CUDACC__
#include "strategies/shared_nz.cuh"
#endif
