// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/base/partitioner.h>
#include <patchfem/lac/matrix/sliced_ellpack_matrix.h>

namespace PatchFEM
{
  namespace internal
  {
    /** Data of a GatheredMatrix that have no number type. */
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
      everything->release();
      own_and_others = {};
    }

    /** The values of @p A, which has that pattern. */
    void update(const SlicedEllpackMatrix<Number> &A);

    const SlicedEllpackMatrix<Number> &matrix() const { return whole; }
    const Communicator                &communicator() const { return everything->communicator(); }

    /** @p all becomes the vector of all ranks, of which @p own is the part of each; only launches kernels. */
    void gather(Vector<Number> &all, const Vector<Number> &own) const;

    /** @p own becomes the part of this rank of @p all. */
    void own_part(Vector<Number> &own, const Vector<Number> &all) const;

    std::size_t memory_consumption() const
    {
      return memory_consumption_of(whole, own_offsets, places, offsets, sent, own_and_others) +
             (travel != nullptr ? travel->memory_consumption() : 0);
    }

  private:
    template <typename OtherNumber>
    friend class GatheredMatrix;

    /** Entries of @p n nodes. */
    void copy(Number *to, const Number *from, std::int64_t n) const;

    SlicedEllpackMatrix<Number>          whole;
    mutable Vector<Number>               own_and_others; ///< of the nodes, those of all other ranks being ghosts
    std::unique_ptr<Transport::Exchange> travel;         ///< of values, once they were there
  };
} // namespace PatchFEM
