// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/base/partitioner.h>
#include <patchfem/lac/matrix/sliced_ellpack_matrix.h>

namespace PatchFEM
{
  namespace internal
  {
    /** What a GatheredMatrix knows that is the same in every number type. */
    struct GatheredPattern
    {
      std::shared_ptr<const Partitioner> everything;
      Array<std::int64_t>                own_offsets; ///< of this rank's rows, in blocks
      Array<int>                         places;      ///< of each of its blocks in the row of the whole
      Array<std::int64_t>                offsets;     ///< of all rows, in blocks
      std::int64_t                       first = 0;   ///< block of this rank among all
      std::vector<Destination>           destinations;
      std::vector<Source>                sources;
      Array<int>                         sent; ///< to destinations, of own blocks
    };
  } // namespace internal

  /**
   * The whole of a square matrix of several ranks on each of them, its nodes rank by rank, for levels so small that every
   * rank does better with all of them. Values go from device to device: of n blocks a rank sends its own to each other
   * one and writes n where products want them. Of many, which a level that nothing coarsens may have, an update takes
   * their values three times more, in buffers and inboxes of which the latter stay. All functions are collective.
   */
  template <typename Number>
  class GatheredMatrix : private internal::GatheredPattern
  {
  public:
    /** The pattern of @p A; Error if it has more unknowns than an int counts. */
    void reinit(const SlicedEllpackMatrix<Number> &A);

    /** The pattern that @p other has, which is used up. */
    template <typename OtherNumber>
    void reinit(GatheredMatrix<OtherNumber> &&other);

    /** Gives the memory of values back; only the pattern is there then. */
    void release_values()
    {
      whole.release_values();
      travel.reset();
    }

    /** The values of @p A, which has that pattern. */
    void update(const SlicedEllpackMatrix<Number> &A);

    const SlicedEllpackMatrix<Number> &matrix() const { return whole; }

    /** Of the nodes, those of all other ranks being ghosts. */
    const std::shared_ptr<const Partitioner> &nodes() const { return everything; }

    std::size_t memory_consumption() const
    {
      return memory_consumption_of(whole, own_offsets, places, offsets, sent) +
             (travel != nullptr ? travel->memory_consumption() : 0);
    }

  private:
    template <typename OtherNumber>
    friend class GatheredMatrix;

    SlicedEllpackMatrix<Number>          whole;
    std::unique_ptr<Transport::Exchange> travel; ///< of values, once they were there
  };
} // namespace PatchFEM
