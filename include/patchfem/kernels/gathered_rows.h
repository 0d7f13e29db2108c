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
      using Scratch = typename PatchBody<1, Number>::Scratch;

      struct alignas(8) Quad
      {
        std::uint32_t words[2];

        PATCHFEM_INLINE int operator[](const int u) const
        {
          return static_cast<int>(u % 2 == 0 ? words[u / 2] & 65535u : words[u / 2] >> 16);
        }
      };

      /** What a worker reads of an item from far memory. */
      struct Fetched
      {
        Quad quad;
        int  places[4];
      };

      const PatchBody<1, Number> &body;
      const Scratch              &scratch;
      const Number               *staged;
      int                         n_rows; ///< of the patch
      const GatherItem           *items;  ///< and what follows: of the patch
      int                         n_items;
      const Quad                 *quads;
      const std::uint8_t         *places;

      PATCHFEM_INLINE
      GatheredRows(const PatchBody<1, Number> &b, const Scratch &s, const int patch, const Number *matrices)
          : body(b), scratch(s), staged(matrices), n_rows(b.a.patches.end_row(patch) - b.a.patches.first_row(patch))
      {
        const GatherView  &g     = body.a.patches.gather;
        const int          n     = GatherView::n_slices(body.a.patches.rows_per_patch);
        const std::int64_t slice = std::int64_t(patch) * n;
        items                    = g.items + g.item_offsets[slice];
        n_items                  = static_cast<int>(g.item_offsets[slice + n] - g.item_offsets[slice]);
        quads  = reinterpret_cast<const Quad *>(g.sources) + g.quad_offsets[slice] * GatherItem::n_rows;
        places = g.places + g.rank_offsets[slice] * GatherItem::n_rows;
      }

      PATCHFEM_INLINE Fetched fetch(const GatherItem &item, const int lane) const
      {
        Fetched f;
        f.quad       = quads[item.quad * GatherItem::n_rows + lane];
        const int at = item.rank * GatherItem::n_rows + lane;
        f.places[0]  = places[at];
        PATCHFEM_UNROLL
        for (int e = 1; e < 4; ++e)
          f.places[e] = e < item.n_ranks ? places[at + e * GatherItem::n_rows] : GatherItem::no_place;
        return f;
      }

      PATCHFEM_INLINE void store(const int start, const int place, const Number value) const
      {
        if (place != GatherItem::no_place)
          scratch.blocks[start + place] = value;
      }

      /** Adds the numbers @p distance after those of a quad. */
      PATCHFEM_INLINE void add(Number &sum, const Quad &quad, const int distance) const
      {
        PATCHFEM_UNROLL
        for (int u = 0; u < 4; ++u)
          sum += staged[quad[u] + distance];
      }

      PATCHFEM_INLINE void sum(const GatherItem &item, const Fetched &f, const int lane) const
      {
        const int row = item.slice * GatherItem::n_rows + lane;
        if (item.n_ranks == 0 && body.a.rhs != nullptr)
        {
          Number load = Number(0);
          if (body.loaded())
          {
            constexpr int distance = StagedOctet::load - StagedOctet::diagonal;
            add(load, f.quad, distance);
            for (int k = 1; k < item.n_quads; ++k)
              add(load, quads[(item.quad + k) * GatherItem::n_rows + lane], distance);
          }
          if (row < n_rows)
            scratch.rhs[row] = load;
        }
        if (!body.with_matrix())
          return;
        const int start = row < n_rows ? scratch.start[row] : 0;
        if (item.n_ranks < 2)
        {
          Number total = Number(0);
          add(total, f.quad, 0);
          for (int k = 1; k < item.n_quads; ++k)
            add(total, quads[(item.quad + k) * GatherItem::n_rows + lane], 0);
          store(start, f.places[0], total);
        }
        else if (item.n_ranks == 2)
        {
          store(start, f.places[0], Number(0) + staged[f.quad[0]] + staged[f.quad[1]]);
          store(start, f.places[1], Number(0) + staged[f.quad[2]] + staged[f.quad[3]]);
        }
        else
        {
          PATCHFEM_UNROLL
          for (int e = 0; e < 4; ++e)
            store(start, f.places[e], Number(0) + staged[f.quad[e]]);
        }
      }
    };
  } // namespace kernels
} // namespace PatchFEM

#endif
