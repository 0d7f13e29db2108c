// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/lac/graph/aggregate_lists.h>
#include <patchfem/lac/matrix/compressed_pattern.h>
#include <patchfem/lac/matrix/sliced_ellpack_matrix.h>
#include <patchfem/lac/multigrid/linear_embedding.h>
#include <patchfem/lac/precondition/precondition_jacobi.h>
#include <patchfem/lac/solver/largest_eigenvalue.h>

#include <algorithm>
#include <cstdint>

namespace PatchFEM
{
  namespace kernels
  {
    template <typename Number>
    struct CoarseningView;
    template <typename Number>
    struct ProductStretch;
    struct ProductRows;
  } // namespace kernels

  /**
   * The tentative prolongator Q and the modes of the next level, R_B: per aggregate the rows of B are Q R_B (see
   * kernels::AggregateQRBody). A mode that depends on others on its aggregate is dropped there: its column is zero.
   */
  class TentativeProlongator
  {
  public:
    /** @p modes is B, [node][component][mode], where aggregates are; one below 1e-10 of its length is dropped. */
    void compute(const AggregateLists &aggregates, const Array<double> &modes, int n_components, int n_modes);

    /** Q, [node][component][mode]; 0 at nodes without an aggregate. */
    const Array<double> &values() const { return tentative; }

    /** B of the next level, [aggregate][mode][mode]; may be taken away by swap() after the last compute(). */
    Array<double>       &coarse_modes() { return coarse; }
    const Array<double> &coarse_modes() const { return coarse; }

    /** [aggregate], bit m: mode m was dropped. */
    const Array<int> &dropped() const { return dropped_modes; }
    int               n_dropped() const { return dropped_count; }
    std::size_t       memory_consumption() const { return memory_consumption_of(tentative, coarse, dropped_modes); }

  private:
    Array<double> tentative, coarse;
    Array<int>    dropped_modes;
    int           dropped_count = 0;
  };

  class OfRanks;

  namespace internal
  {
    /** What a SmoothedAggregation knows that is the same in every number type. */
    struct CoarseningPatterns
    {
      CompressedPattern        P_pattern, product_pattern, coarse_pattern; ///< of P, A P and the coarse matrix
      bool                     by_rows  = false; ///< the coarse matrix is made row by row, and has no coarse_pattern
      bool                     complete = false; ///< P and the coarse matrix have their patterns
      std::shared_ptr<OfRanks> of_ranks;         ///< none on one rank
      int                      R_width        = 0;
      int                      C_width        = 0;
      std::size_t              P_size         = 0; ///< numbers in the slices of P
      int                      n_in_stretches = 0; ///< rows; those behind them, of several ranks, are one more
      Array<double>            omega;
    };
  } // namespace internal

  /**
   * One step of coarsening by smoothed aggregation (Vanek, Mandel, Brezina 1996): P = (I - omega D^-1 A) Q with omega =
   * 3/2 / lambda_max(D^-1 A), D the block diagonal; R = P^T; the coarse matrix R A P. reinit() finds the patterns and
   * allocates, once per mesh; compute() is numeric only. A must be symmetric; of the coarse matrix the upper half is
   * computed and copied to the lower one.
   *
   * On a level with weak edges P has the blocks of aggregates that strong ones reach alone, and is changed to have the modes of the
   * whole one (multigrid::project_rows()). Weak edges carry little energy, but each such block would make rows of the coarse matrix
   * twice as long or more.
   *
   * On the host a coarse matrix of scalars is made row by row, as (R A) P, pattern and values at once in each compute():
   * a row of R reads rows of A near each other, which stay in fast memory. To find A P, to write and to read it takes
   * more than twice as long. prolongator() and coarse_matrix() are there after compute() then.
   *
   * Otherwise A P is never stored whole: its rows are computed in stretches of stretch_bytes(), and each is added to the
   * coarse matrix before the next: short ones fill a device less well. Products read P's values row by row; these stand in
   * the memory of P until the products are done.
   *
   * Of several ranks (A has a Partitioner) each has aggregates of its own nodes, and P reaches those of others. Rows of P
   * and of A P that are other ranks' ghosts are fetched, so that each computes the rows of R A P of its own aggregates,
   * with fine nodes in the order that they have there. Rows of A P from the first on that is fetched are one stretch, the
   * only one where the coarse matrix is made by rows, and a block between two ranks is summed by both, equal to
   * rounding. All functions are collective then.
   */
  template <typename Number>
  class SmoothedAggregation : private internal::CoarseningPatterns
  {
  public:
    void reinit(const SlicedEllpackMatrix<Number> &A, const AggregateLists &aggregates, int n_modes);

    void compute(const SlicedEllpackMatrix<Number>     &A,
                 const AggregateLists                  &aggregates,
                 const TentativeProlongator            &tentative,
                 const PreconditionBlockJacobi<Number> &D_inverse,
                 const LargestEigenvalue<Number>       &lambda);

    /** A step with this P in place of aggregates. */
    void reinit(const SlicedEllpackMatrix<Number> &A, const LinearEmbedding &embedding);
    void compute(const SlicedEllpackMatrix<Number> &A, const LinearEmbedding &embedding);

    /** A step with the patterns of @p other, whose matrix has that of @p A, and which is used up. */
    template <typename OtherNumber>
    void reinit(const SlicedEllpackMatrix<Number> &A, SmoothedAggregation<OtherNumber> &&other);

    /** Gives the memory of P, R and the coarse matrix back; only patterns are there then. */
    void release_values();

    // The same by one side (multigrid_steps.h).

    template <typename Where>
    void compute_on(Where,
                    const SlicedEllpackMatrix<Number>     &A,
                    const AggregateLists                  &aggregates,
                    const TentativeProlongator            &tentative,
                    const PreconditionBlockJacobi<Number> &D_inverse,
                    const LargestEigenvalue<Number>       &lambda);

    template <typename Where>
    void compute_on(Where, const SlicedEllpackMatrix<Number> &A, const LinearEmbedding &embedding);

    /** P, R and the coarse matrix of P's values in scalar rows; 1 on the diagonal of modes that are dropped, [node] bits. */
    template <typename Where>
    void multiply(Where, const SlicedEllpackMatrix<Number> &A, Array<Number> &P_values, const Array<int> &dropped);

    /** Puts P's values from scalar rows, with rows of ghosts behind, into slices in the same memory; by way of @p buffer. */
    template <typename Where>
    void fill_prolongator(Where, Array<Number> &P_values, Array<Number> &buffer);

    const SlicedEllpackMatrix<Number> &prolongator() const { return P; }
    const SlicedEllpackMatrix<Number> &restrictor() const { return R; }
    const SlicedEllpackMatrix<Number> &coarse_matrix() const { return coarse; }
    SlicedEllpackMatrix<Number>       &coarse_matrix() { return coarse; }
    std::size_t                        memory_consumption() const;

    /**
     * Of A P's values at once, about: a third of those of A, at least 64 MB and at most 2 GB,
     * which fill any device.
     */
    static std::int64_t stretch_bytes(const std::int64_t bytes_of_A)
    {
      return std::clamp(bytes_of_A / 3, std::int64_t(1) << 26, std::int64_t(1) << 31);
    }

    /** Rows per stretch, for the next reinit() and compute(); 0: the rule above. Results in double do not depend on it. */
    void set_stretch(const int n_rows) { stretch = n_rows; }

    /** What kernels see. */
    kernels::CoarseningView<Number> view(const SlicedEllpackMatrix<Number> &A, Number *P_values) const;

  private:
    template <typename OtherNumber>
    friend class SmoothedAggregation;

    SlicedEllpackMatrix<Number> P, R, coarse;
    int                         stretch         = 0;
    int                         stretch_rows    = 0;
    std::int64_t                stretch_entries = 0; ///< blocks of A P in the longest stretch

    kernels::ProductRows product_rows(const SlicedEllpackMatrix<Number> &A) const;

    /** Memory for all values of P_pattern, which is P's. */
    Array<Number> memory_of_P();

    void compute_rows(const SlicedEllpackMatrix<Number>     &A,
                      const kernels::CoarseningView<Number> &view,
                      const kernels::ProductStretch<Number> &rows);
    void make_coarse(const SlicedEllpackMatrix<Number> &A, const CompressedPattern &pattern);
    void reinit_on_ranks(const SlicedEllpackMatrix<Number> &A, const AggregateLists &aggregates, int n_modes);
    void plan_products(const SlicedEllpackMatrix<Number> &A, int n_modes);
    template <typename Renumber>
    void plan_products_of_ranks(const SlicedEllpackMatrix<Number> &A,
                                int                                n_modes,
                                bool                               empty_as_P,
                                const Renumber                    &renumber);
    void finish_patterns(const SlicedEllpackMatrix<Number> &A);
    void plan_stretches(const SlicedEllpackMatrix<Number> &A);
  };
} // namespace PatchFEM
