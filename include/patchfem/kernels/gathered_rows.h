// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef patchfem_kernels_gathered_rows_h
#define patchfem_kernels_gathered_rows_h

#include <patchfem/kernels/patch_bodies.h>

namespace PatchFEM
{
  namespace kernels
  {
    /**
     * Rows of a patch add entries of the matrices that it has staged in fast memory, each entry in the order of the cells.
     * Every entry of the rows is written, those that no staged cell feeds as 0.
     */
    template <typename Number>
    struct GatheredRows
    {
      const PatchBody<1, Number>                   &body;
      const typename PatchBody<1, Number>::Scratch &scratch;
      const int                                     patch;
      const Number                                 *staged;

      struct alignas(8) Quad
      {
        std::uint16_t position[4];
      };

      /** What a worker needs to know of an item. */
      struct Fetched
      {
        GatherItem   item;
        Quad         quad;
        std::uint8_t places[4];
        int          start; ///< of the row's blocks
      };

      PATCHFEM_INLINE Quad quad(const std::int64_t number, const int lane) const
      {
        return reinterpret_cast<const Quad *>(body.a.patches.gather.sources)[number * GatherItem::n_rows + lane];
      }

      PATCHFEM_INLINE Fetched fetch(const GatherItem &item, const int lane) const
      {
        const PatchesView &p = body.a.patches;
        Fetched            f;
        f.item = item;
        f.quad = quad(item.quad, lane);
        PATCHFEM_UNROLL
        for (int e = 0; e < 4; ++e)
          f.places[e] = e < item.n_ranks
                            ? p.gather.places[(std::int64_t(item.rank) + e) * GatherItem::n_rows + lane]
                            : GatherItem::no_place;
        const int first = p.first_row(patch), row = first + item.row + lane;
        f.start = row < p.end_row(patch) ? static_cast<int>(p.row_offsets[row] - p.row_offsets[first]) : 0;
        return f;
      }

      PATCHFEM_INLINE void store(const Fetched &f, const int e, const Number value) const
      {
        if (f.places[e] != GatherItem::no_place)
          scratch.blocks[f.start + f.places[e]] = value;
      }

      PATCHFEM_INLINE void sum(const Fetched &f, const int lane) const
      {
        const Quad &q = f.quad;
        if (f.item.is_diagonal && body.a.rhs != nullptr)
        {
          // Loads stand where the diagonal does, a few numbers on.
          constexpr int distance = StagedOctet::load - StagedOctet::diagonal;
          Number        load     = Number(0);
          if (body.loaded())
            for (int k = 0; k < f.item.n_quads; ++k)
            {
              const Quad now = k == 0 ? q : quad(f.item.quad + k, lane);
              PATCHFEM_UNROLL
              for (int u = 0; u < 4; ++u)
                load += staged[now.position[u] + distance];
            }
          const int row = f.item.row + lane;
          if (row < body.a.patches.end_row(patch) - body.a.patches.first_row(patch))
            scratch.rhs[row] = load;
        }
        if (!body.with_matrix())
          return;
        Number value[4];
        PATCHFEM_UNROLL
        for (int u = 0; u < 4; ++u)
          value[u] = Number(0) + staged[q.position[u]];
        if (f.item.n_ranks == 1)
        {
          Number total = value[0] + staged[q.position[1]];
          total += staged[q.position[2]];
          total += staged[q.position[3]];
          for (int k = 1; k < f.item.n_quads; ++k)
          {
            const Quad next = quad(f.item.quad + k, lane);
            PATCHFEM_UNROLL
            for (int u = 0; u < 4; ++u)
              total += staged[next.position[u]];
          }
          store(f, 0, total);
        }
        else if (f.item.n_ranks == 2)
        {
          store(f, 0, value[0] + staged[q.position[1]]);
          store(f, 1, value[2] + staged[q.position[3]]);
        }
        else
        {
          PATCHFEM_UNROLL
          for (int e = 0; e < 4; ++e)
            store(f, e, value[e]);
        }
      }

      PATCHFEM_INLINE std::int64_t first_item() const { return item_of_patch(patch); }
      PATCHFEM_INLINE std::int64_t end_item() const { return item_of_patch(patch + 1); }
      PATCHFEM_INLINE std::int64_t item_of_patch(const int p) const
      {
        const PatchesView &v = body.a.patches;
        return v.gather.item_offsets[std::int64_t(p) * GatherView::n_slices(v.rows_per_patch)];
      }
    };
  } // namespace kernels
} // namespace PatchFEM

#endif
