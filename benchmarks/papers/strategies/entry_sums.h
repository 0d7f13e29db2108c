// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/kernels/patches_host.h>
#include <patchfem/kernels/product.h>

#include <tuple>
#include <type_traits>

/**
 * @file
 * Matrices of all cells are formed first. Then lists of contributions are summed, one for each block of the matrix and
 * one for each row of the load, in the order of the cells; a contribution is n numbers side by side, n_components^2 of
 * a matrix or n_components of a load. A patch finishes the blocks of its rows, which are consecutive in the sparsity,
 * in fast memory and writes them from there as the format has them (P4, 4.2.3; PatchBody). Strategies differ in how
 * lists reach the workers: the types of lists below.
 *
 * With b bytes a number and c contributions a block, 2 c n b bytes a block are written by the first pass and read by
 * the second, and n b are written in the end: for trilinear hexahedra (c = 64 / 27) in double precision 38 + 8 with one
 * component and 341 + 72 with three. The lists come on top.
 */
namespace PatchFEM::kernels
{
  /** What a patch sums: its blocks or its rows. */
  struct PatchItems
  {
    int          patch;
    std::int64_t first; ///< of all
    int          n;
  };

  /** What a plan has, in one of the types of lists below: each names its strategy, and itself for a user. */
  template <typename Lists>
  struct EntryLists
  {
    Lists matrix, load;
  };

  /** One worker as a team of lanes; on the device a warp is one. */
  struct SerialLanes : public SerialTeam
  {
    /** What lane @p lane has as @p value. */
    template <typename T>
    PATCHFEM_INLINE T from(const T value, int) const
    {
      return value;
    }

    PATCHFEM_INLINE bool any(const bool value) const { return value; }
  };

  /**
   * The sums of as many lists as a team has lanes, each of which walks one. The team's numbers are shared out so that
   * neighbours read neighbouring ones: number m of a lane, m < n, is entry f % n of list f / n, f = m * size + rank.
   */
  template <int n, typename Number, typename Lanes>
  struct ListSums
  {
    /// Contributions of a list that are on their way together: some 8 loads in each lane.
    static constexpr int at_once = n >= 6 ? 1 : n >= 3 ? 2 : 4;

    Lanes         lanes;
    const Number *source;
    Number        sum[n];

    PATCHFEM_INLINE int entry(const int m) const { return (m * Lanes::size + lanes.rank()) % n; }

    /** What the lane that walks the list of number @p m has as @p value. */
    template <typename T>
    PATCHFEM_INLINE T of_list(const int m, const T value) const
    {
      return n == 1 ? value : lanes.from(value, (m * Lanes::size + lanes.rank()) / n);
    }

    /** The lane's share of the contributions whose numbers, plus 1, the lanes have as @p number; 0 is none. */
    PATCHFEM_INLINE void read(const unsigned int number, Number (&values)[n]) const
    {
      PATCHFEM_UNROLL
      for (int m = 0; m < n; ++m)
      {
        const unsigned int k = of_list(m, number);
        values[m]            = k > 0 ? source[std::int64_t(k - 1) * n + entry(m)] : Number(0);
      }
    }

    PATCHFEM_INLINE void add(const Number (&values)[n])
    {
      PATCHFEM_UNROLL
      for (int m = 0; m < n; ++m)
        sum[m] += values[m];
    }

    /** Where the lanes have -(item) - 1 as @p target, the sum of the list is that of the item, and another begins. */
    PATCHFEM_INLINE void finish(const int target, Number *to)
    {
      PATCHFEM_UNROLL
      for (int m = 0; m < n; ++m)
        if (const int item = -1 - of_list(m, target); item >= 0)
        {
          to[item * n + entry(m)] = sum[m];
          sum[m]                  = Number(0);
        }
    }
  };

  /**
   * Lists that are packed into equally long columns, as many in each patch, and read row by row of the columns: a
   * contribution's number + 1, -(item of the patch) - 1 at the end of a list, 0 where columns end early (P4, 4.2.3,
   * algorithm 6). 4 (c + 1) bytes a block and the zeros: 13 for trilinear hexahedra.
   */
  struct ReductionArrays
  {
    static constexpr const char *strategy = "global_nz", *name = "reduction arrays";

    const std::int64_t *offsets; ///< [patch + 1], in rows of the array
    const int          *entries; ///< [row][column]
    int                 width;   ///< a multiple of 32

    template <int n, typename Number, typename Lanes>
    PATCHFEM_INLINE void sum(const PatchItems &items,
                             const Lanes       lanes,
                             const int         rank,
                             const int         size,
                             const Number     *source,
                             Number           *to) const
    {
      using Sums                 = ListSums<n, Number, Lanes>;
      constexpr int      at_once = Sums::at_once;
      const std::int64_t begin   = offsets[items.patch];
      const int          n_rows  = static_cast<int>(offsets[items.patch + 1] - begin);
      for (int column = rank; column < width; column += size)
      {
        Sums       sums{lanes, source, {}};
        const int *list = entries + begin * width + column;
        int        next[at_once];
        const auto read = [&](const int row) {
          PATCHFEM_UNROLL
          for (int k = 0; k < at_once; ++k)
            next[k] = row + k < n_rows ? list[std::int64_t(row + k) * width] : 0;
        };
        read(0);
        for (int row = 0; row < n_rows; row += at_once)
        {
          int    now[at_once];
          Number values[at_once][n];
          PATCHFEM_UNROLL
          for (int k = 0; k < at_once; ++k)
            now[k] = next[k];
          read(row + at_once); // while values are on their way
          PATCHFEM_UNROLL
          for (int k = 0; k < at_once; ++k)
            sums.read(now[k] > 0 ? now[k] : 0, values[k]);
          PATCHFEM_UNROLL
          for (int k = 0; k < at_once; ++k)
          {
            sums.add(values[k]);
            sums.finish(now[k], to);
          }
        }
      }
    }
  };

  /**
   * The permutation that sorts contributions by items, and where those of an item begin: neighbouring lanes take
   * neighbouring items. 8 + 4 c bytes a block, 17 for trilinear hexahedra.
   */
  struct SortedLists
  {
    static constexpr const char *strategy = "coo", *name = "sorted lists";

    const std::int64_t *offsets; ///< [item + 1]
    const unsigned int *contributions;

    template <int n, typename Number, typename Lanes>
    PATCHFEM_INLINE void sum(const PatchItems &items,
                             const Lanes       lanes,
                             const int         rank,
                             const int         size,
                             const Number     *source,
                             Number           *to) const
    {
      using Sums            = ListSums<n, Number, Lanes>;
      constexpr int at_once = Sums::at_once;
      std::int64_t  begin = 0, end = 0;
      const auto    find = [&](const int item) {
        const bool exists = item < items.n;
        begin             = exists ? offsets[items.first + item] : 0;
        end               = exists ? offsets[items.first + item + 1] : 0;
      };
      find(rank);
      for (int item = rank; item - lanes.rank() < items.n; item += size)
      {
        Sums                sums{lanes, source, {}};
        const unsigned int *list   = contributions + begin;
        const int           length = static_cast<int>(end - begin);
        find(item + size); // while values are on their way
        for (int step = 0; lanes.any(step < length); step += at_once)
        {
          Number values[at_once][n];
          PATCHFEM_UNROLL
          for (int k = 0; k < at_once; ++k)
            sums.read(step + k < length ? list[step + k] + 1 : 0, values[k]);
          PATCHFEM_UNROLL
          for (int k = 0; k < at_once; ++k)
            sums.add(values[k]);
        }
        sums.finish(item < items.n ? -1 - item : 0, to);
      }
    }
  };

  /**
   * A matrix of ones, with a row for each number of the sums and a column for each number of the cells' matrices, times
   * these numbers (P4, 4.2.4). It is in single precision, where 1 is 1. n (8 + 8 c + 2 b) bytes a block: 43 and 387 for
   * trilinear hexahedra with one and three components.
   */
  struct SumsByProduct
  {
    static constexpr const char *strategy = "product", *name = "a matrix of ones";

    CSRView<float> ones;
    std::int64_t   results; ///< where the chunk's buffer has room for the product

    /** Of the patch, in the order of the sparsity. */
    template <int n, typename Number, typename Lanes>
    PATCHFEM_INLINE void
    sum(const PatchItems &items, Lanes, const int rank, const int size, const Number *source, Number *to) const
    {
      for (int i = rank; i < items.n * n; i += size)
        to[i] = source[items.first * n + i];
    }
  };

  /** What patches sum: the numbers of staged cells, or of the product that is formed here. */
  template <typename Lists, typename Number, typename Where>
  const Number *source_of_sums(Where where, const Lists &lists, Number *buffer, const std::int64_t staged)
  {
    if constexpr (std::is_same_v<Lists, SumsByProduct>)
    {
      product(where, lists.ones, buffer + staged, Overwrite<Number>{buffer + lists.results});
      return buffer + lists.results;
    }
    return buffer + staged;
  }

  template <int n_comp, typename Number, typename Lists>
  struct EntryBody : public PatchBody<n_comp, Number>
  {
    EntryLists<Lists> lists;
    const Number     *matrix, *load; ///< sources; nullptr: there is nothing to sum

    template <typename Lanes>
    PATCHFEM_INLINE void sum(const int                                          patch,
                             const Lanes                                        lanes,
                             const int                                          rank,
                             const int                                          size,
                             const typename PatchBody<n_comp, Number>::Scratch &s) const
    {
      const PatchesView &p     = this->a.patches;
      const int          first = p.first_row(patch), n_rows = p.end_row(patch) - first;
      // The last workers take the rows, which are few: they have the fewest blocks.
      const int last = size - Lanes::size - rank + 2 * lanes.rank();
      if (load != nullptr)
        lists.load.template sum<n_comp>({patch, first, n_rows}, lanes, last, size, load, s.rhs);
      if (matrix != nullptr)
        lists.matrix.template sum<n_comp * n_comp>({patch, p.row_offsets[first], s.start[n_rows]}, lanes, rank, size,
                                                   matrix, s.blocks);
    }
  };

  template <int n_comp, typename Number, typename Lists>
  void sum_entries(Host, const EntryBody<n_comp, Number, Lists> &body)
  {
    sum_patches(body, 0, [&](const int patch, const auto &scratch) { body.sum(patch, SerialLanes(), 0, 1, scratch); });
  }

  template <typename Form, typename Number, typename Lists>
  struct EntryKernel : public AnyKernel
  {
    static constexpr const char *name = Lists::name;

    static bool serves(const KernelRequest &r) { return r.strategy == Lists::strategy; }

    /** Three patches share the fast memory of a multiprocessor: some read while others write. */
    static PatchRoom room(const KernelRequest &r)
    {
      return {r.fast_memory / (r.concurrent > 0 ? r.concurrent : 3) - 1024};
    }

    template <typename Where>
    static void launch(Where where, const AssemblyArguments<Number> &a)
    {
      const auto &lists = *static_cast<const EntryLists<Lists> *>(a.own_lists);

      EntryBody<Form::n_components, Number, Lists> body{{a}, lists, nullptr, nullptr};
      if (body.with_matrix())
        body.matrix = source_of_sums(where, lists.matrix, a.buffer_matrix, a.staged_matrix);
      if (body.loaded())
        body.load = source_of_sums(where, lists.load, a.buffer_vector, a.staged_vector);
      sum_entries(where, body);
    }
  };
} // namespace PatchFEM::kernels

namespace PatchFEM
{
  struct StrategyRow;

  namespace strategies
  {
    template <typename Lists>
    struct EntrySums
    {
      template <typename Form, typename Number, typename Where>
      static auto kernels(Where)
      {
        return std::tuple<PatchFEM::kernels::EntryKernel<Form, Number, Lists>>();
      }
    };

    /** Lists are packed for the threads that sum them (P4, 4.2.3: GlobalNZ). */
    struct GlobalNZ : public EntrySums<PatchFEM::kernels::ReductionArrays>
    {
      static StrategyRow row();
    };

    /** Contributions are sorted once, as for PETSc's MatSetValuesCOO, and summed through the permutation. */
    struct COO : public EntrySums<PatchFEM::kernels::SortedLists>
    {
      static StrategyRow row();
    };

    /** Sums are a sparse matrix-vector product (P4, 4.2.4). */
    struct Product : public EntrySums<PatchFEM::kernels::SumsByProduct>
    {
      static StrategyRow row();
    };
  } // namespace strategies
} // namespace PatchFEM

#ifdef __CUDACC__
#include "strategies/entry_sums.cuh"
#endif
