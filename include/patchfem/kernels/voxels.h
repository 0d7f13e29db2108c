// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef patchfem_kernels_voxels_h
#define patchfem_kernels_voxels_h

#include <patchfem/kernels/atomics.h>
#include <patchfem/kernels/matrix_views.h>

/**
 * @file
 * The pressure equation on voxels, numbered and assembled without a list of cells. A word of 32 bits says which of 32
 * cells of a row along x are fluid, and the number of an unknown is that of its word's first one plus the fluid cells
 * before it in the word. Words and their first numbers are 16 bytes for 32 cells, which the second-level cache holds for
 * 256^3 cells, so that from memory come labels, 1 byte a cell, and to memory go columns and diagonal, 32 bytes a row.
 */
namespace PatchFEM
{
  /** What fills a voxel. */
  enum class VoxelLabel : unsigned char
  {
    solid,
    fluid,
    air
  };

  /** A box of n[0] x n[1] x n[2] voxels, x fastest, whose fluid cells are numbered in this order. */
  struct VoxelView
  {
    int n[3];
    int n_words; ///< of a row along x
    unsigned int
        open_sides; ///< bit 2 d + s: air, not solid, behind the lower (s = 0) or upper (s = 1) side in direction d

    const std::uint32_t *fluid; ///< [(z * n[1] + y) * n_words + x / 32], bit x % 32
    const std::uint32_t *open;  ///< the same of fluid and air
    const std::int64_t  *first; ///< [word + 1]: fluid cells in the words before

    PATCHFEM_INLINE int all_words() const { return n_words * n[1] * n[2]; }
  };

  namespace kernels
  {
    PATCHFEM_INLINE int count_bits(const std::uint32_t bits)
    {
#if defined(__CUDA_ARCH__)
      return __popc(bits);
#else
      return __builtin_popcount(bits);
#endif
    }

    /** The bits below @p bit < 32. */
    PATCHFEM_INLINE std::uint32_t bits_below(const int bit)
    {
      return (std::uint32_t(1) << bit) - 1;
    }

    /** A word and where it lies. */
    struct VoxelWord
    {
      int index, w, y, z;

      PATCHFEM_INLINE VoxelWord(const VoxelView &grid, const int index) : index(index)
      {
        const unsigned int row = static_cast<unsigned int>(index) / static_cast<unsigned int>(grid.n_words);
        w                      = index - static_cast<int>(row) * grid.n_words;
        z                      = static_cast<int>(row / static_cast<unsigned int>(grid.n[1]));
        y                      = static_cast<int>(row) - z * grid.n[1];
      }
    };

    /**
     * For each of the six directions the cells of a word whose neighbour is in a set: fluid cells, or with @p outside
     * those that are not solid. Directions are ordered as unknowns are: -z, -y, -x, +x, +y, +z.
     */
    struct VoxelNeighbours
    {
      std::uint32_t mask[6];

      PATCHFEM_INLINE
      VoxelNeighbours(const VoxelView &grid, const VoxelWord &at, const std::uint32_t *set, const unsigned int outside)
      {
        const int           step_y = grid.n_words, step_z = grid.n_words * grid.n[1];
        const std::uint32_t own  = set[at.index];
        const auto          side = [&](const int s) { return (outside >> s & 1) != 0 ? ~std::uint32_t(0) : 0u; };
        mask[0]                  = at.z > 0 ? set[at.index - step_z] : side(4);
        mask[1]                  = at.y > 0 ? set[at.index - step_y] : side(2);
        mask[2]                  = own << 1 | (at.w > 0 ? set[at.index - 1] : side(0)) >> 31;
        // Bits behind the end of a row are 0 in own, so that the last cell's neighbour is put in its place.
        mask[3] = own >> 1;
        if (at.w + 1 < grid.n_words)
          mask[3] |= set[at.index + 1] << 31;
        else
          mask[3] |= side(1) & (std::uint32_t(1) << (grid.n[0] - 1) % 32);
        mask[4] = at.y + 1 < grid.n[1] ? set[at.index + step_y] : side(3);
        mask[5] = at.z + 1 < grid.n[2] ? set[at.index + step_z] : side(5);
      }
    };

    PATCHFEM_INLINE VoxelNeighbours fluid_neighbours(const VoxelView &grid, const VoxelWord &at)
    {
      return {grid, at, grid.fluid, 0};
    }

    PATCHFEM_INLINE VoxelNeighbours open_neighbours(const VoxelView &grid, const VoxelWord &at)
    {
      return {grid, at, grid.open, grid.open_sides};
    }

    /** A cell; bodies over cells are called for all bits of all words, and those behind the end of a row do not exist. */
    struct VoxelCell
    {
      VoxelWord     word;
      int           bit, x;
      std::uint32_t fluid; ///< of the word

      PATCHFEM_INLINE VoxelCell(const VoxelView &grid, const std::int64_t i)
          : word(grid, static_cast<int>(i >> 5)), bit(static_cast<int>(i & 31)), x(32 * word.w + bit),
            fluid(grid.fluid[word.index])
      {}

      PATCHFEM_INLINE bool exists(const VoxelView &grid) const { return x < grid.n[0]; }
      PATCHFEM_INLINE bool is_fluid() const { return (fluid >> bit & 1) != 0; }

      PATCHFEM_INLINE int row(const VoxelView &grid) const
      {
        return static_cast<int>(grid.first[word.index]) + count_bits(fluid & bits_below(bit));
      }

      PATCHFEM_INLINE std::int64_t index(const VoxelView &grid) const
      {
        return (std::int64_t(word.z) * grid.n[1] + word.y) * grid.n[0] + x;
      }

      /** Of the face below in direction @p d, one more cell on is the face above. Faces of a direction are x fastest too. */
      PATCHFEM_INLINE std::int64_t face(const VoxelView &grid, const int d) const
      {
        return (std::int64_t(word.z) * (grid.n[1] + (d == 1)) + word.y) * (grid.n[0] + (d == 0)) + x;
      }
    };

    /** From a face to the next one in its own direction. */
    PATCHFEM_INLINE std::int64_t face_step(const VoxelView &grid, const int d)
    {
      return d == 0 ? 1 : (d == 1 ? std::int64_t(grid.n[0]) : std::int64_t(grid.n[0]) * grid.n[1]);
    }

    /** The unknown of the cell one of @p word_step words away with the same @p bit, which is fluid. */
    PATCHFEM_INLINE int row_in_word(const VoxelView &grid, const int word, const int bit)
    {
      return static_cast<int>(grid.first[word]) + count_bits(grid.fluid[word] & bits_below(bit));
    }

    /**
     * Words of fluid and of open cells from VoxelLabels [(z * n[1] + y) * n[0] + x], and how many cells of each word are
     * fluid; grid.fluid, open and first are not read.
     */
    void voxel_words(Host,
                     const VoxelView     &grid,
                     const unsigned char *labels,
                     std::uint32_t       *fluid,
                     std::uint32_t       *open,
                     int                 *counts);
    void voxel_words(Cuda,
                     const VoxelView     &grid,
                     const unsigned char *labels,
                     std::uint32_t       *fluid,
                     std::uint32_t       *open,
                     int                 *counts);

    /**
     * Of each word the number of entries off the diagonal, and into widths[slice] the columns of an mDIA slice, 32 times
     * the most neighbours of one of its rows. Neighbours of the 32 cells are added side by side: bit c of sum[k] is
     * digit k of the number of cell c.
     */
    struct VoxelWidthsBody
    {
      VoxelView grid;
      int      *counts; ///< [word]
      int      *widths; ///< [slice], zero before

      PATCHFEM_INLINE void operator()(const std::int64_t i) const
      {
        const VoxelWord       at(grid, static_cast<int>(i));
        const std::uint32_t   cells      = grid.fluid[at.index];
        const VoxelNeighbours neighbours = fluid_neighbours(grid, at);
        std::uint32_t         sum[3]     = {0, 0, 0};
        PATCHFEM_UNROLL
        for (int k = 0; k < 6; ++k)
        {
          const std::uint32_t one = neighbours.mask[k] & cells, two = sum[0] & one;
          sum[0] ^= one;
          sum[2] ^= sum[1] & two;
          sum[1] ^= two;
        }
        counts[i] = count_bits(sum[0]) + 2 * count_bits(sum[1]) + 4 * count_bits(sum[2]);
        if (cells == 0)
          return;

        // The cells whose rows are in the first of at most two slices.
        const std::int64_t row   = grid.first[i];
        const int          room  = static_cast<int>(32 - row % 32);
        std::uint32_t      later = cells;
        for (int k = 0; k < room; ++k)
          later &= later - 1;
        const auto most = [&](const std::uint32_t among) {
          std::uint32_t candidates = among;
          int           result     = 0;
          PATCHFEM_UNROLL
          for (int k = 2; k >= 0; --k)
            if ((candidates & sum[k]) != 0)
            {
              candidates &= sum[k];
              result += 1 << k;
            }
          return result;
        };
        atomic_max(widths + row / 32, 32 * most(cells & ~later));
        if (later != 0)
          atomic_max(widths + row / 32 + 1, 32 * most(later));
      }
    };

    /**
     * Columns and diagonal of the rows of cells. The diagonal is the number of neighbours that are not solid, and 1 where
     * there are none.
     */
    template <typename Number>
    struct VoxelFillBody
    {
      VoxelView           grid;
      int                 n_rows;
      const std::int64_t *slice_offsets;
      int                *columns;
      Number             *diagonal;

      PATCHFEM_INLINE void operator()(const std::int64_t i) const
      {
        const VoxelCell cell(grid, i);
        if (!cell.is_fluid())
          return;
        const VoxelNeighbours fluid = fluid_neighbours(grid, cell.word), open = open_neighbours(grid, cell.word);
        const int             row    = cell.row(grid);
        const std::int64_t    end    = slice_offsets[row / 32 + 1];
        const int             step_y = grid.n_words, step_z = grid.n_words * grid.n[1];
        std::int64_t          at         = slice_offsets[row / 32] + row % 32;
        int                   neighbours = 0;
        PATCHFEM_UNROLL
        for (int k = 0; k < 6; ++k)
        {
          neighbours += open.mask[k] >> cell.bit & 1;
          if ((fluid.mask[k] >> cell.bit & 1) == 0)
            continue;
          const int step = k == 0 ? -step_z : (k == 1 ? -step_y : (k == 4 ? step_y : step_z));
          columns[at]    = k == 2 ? row - 1 : k == 3 ? row + 1 : row_in_word(grid, cell.word.index + step, cell.bit);
          at += 32;
        }
        for (; at < end; at += 32)
          columns[at] = -1;
        diagonal[row] = static_cast<Number>(neighbours > 0 ? neighbours : 1);
        // The last slice has no rows behind the end.
        if (row + 1 == n_rows)
          for (int r = row % 32 + 1; r < 32; ++r)
            for (at = slice_offsets[row / 32] + r; at < end; at += 32)
              columns[at] = -1;
      }
    };

    /**
     * b = factor (h div - the flow out of the cell), the flow the sum of the velocities on faces that are not solid; 0 for a
     * cell between solid ones. Velocities are 8 bytes a face, three faces a cell.
     */
    template <typename Number>
    struct VoxelFlowBody
    {
      VoxelView     grid;
      const double *velocity[3]; ///< [face] by direction, see VoxelCell::face()
      const double *divergence;  ///< [cell], or nullptr for 0
      double        h, factor;
      Number       *result; ///< [row]

      PATCHFEM_INLINE void operator()(const std::int64_t i) const
      {
        const VoxelCell cell(grid, i);
        if (!cell.is_fluid())
          return;
        const VoxelNeighbours open  = open_neighbours(grid, cell.word);
        double                flow  = 0.;
        bool                  moves = false;
        PATCHFEM_UNROLL
        for (int d = 0; d < 3; ++d)
        {
          const std::int64_t face = cell.face(grid, d);
          if ((open.mask[2 - d] >> cell.bit & 1) != 0)
          {
            flow -= velocity[d][face];
            moves = true;
          }
          if ((open.mask[3 + d] >> cell.bit & 1) != 0)
          {
            flow += velocity[d][face + face_step(grid, d)];
            moves = true;
          }
        }
        if (divergence != nullptr)
          flow -= h * divergence[cell.index(grid)];
        result[cell.row(grid)] = static_cast<Number>(moves ? -factor * flow : 0.);
      }
    };

    /**
     * u = u - scale grad p on faces of fluid cells, p = 0 in air; 0 on faces of solid cells; what it was between two
     * cells of air. A cell does the faces below it, and those above it at the end of the grid.
     */
    template <typename Number>
    struct VoxelProjectBody
    {
      VoxelView     grid;
      const Number *pressure; ///< [row]
      double        scale;
      double       *velocity[3];

      PATCHFEM_INLINE void operator()(const std::int64_t i) const
      {
        const VoxelCell cell(grid, i);
        if (!cell.exists(grid))
          return;
        const VoxelNeighbours fluid = fluid_neighbours(grid, cell.word), open = open_neighbours(grid, cell.word);
        const bool            is_open = (grid.open[cell.word.index] >> cell.bit & 1) != 0;
        const int             row     = cell.is_fluid() ? cell.row(grid) : -1;
        const double          p       = row >= 0 ? static_cast<double>(pressure[row]) : 0.;
        const int             step[3] = {0, grid.n_words, grid.n_words * grid.n[1]};
        PATCHFEM_UNROLL
        for (int d = 0; d < 3; ++d)
        {
          const std::int64_t face          = cell.face(grid, d);
          const bool         other_is_open = (open.mask[2 - d] >> cell.bit & 1) != 0;
          const bool         other_fluid   = (fluid.mask[2 - d] >> cell.bit & 1) != 0;
          double             other         = 0.;
          if (other_fluid)
          {
            // Along x the cell before is the last bit of the word before, or the bit before.
            const int word = cell.word.index - (d == 0 ? cell.bit == 0 : step[d]);
            const int bit  = d == 0 ? (cell.bit + 31) % 32 : cell.bit;
            other          = static_cast<double>(pressure[row_in_word(grid, word, bit)]);
          }
          if (!is_open || !other_is_open)
            velocity[d][face] = 0.;
          else if (row >= 0 || other_fluid)
            velocity[d][face] -= scale * (p - other);

          const int last = d == 0 ? cell.x : (d == 1 ? cell.word.y : cell.word.z);
          if (last + 1 < grid.n[d])
            continue;
          double &above = velocity[d][face + face_step(grid, d)];
          if (!is_open || (open.mask[3 + d] >> cell.bit & 1) == 0)
            above = 0.;
          else if (row >= 0)
            above -= scale * (0. - p);
        }
      }
    };

    /** Values of rows on all cells, 0 where there is no fluid; and the reverse. */
    template <typename Number>
    struct VoxelScatterBody
    {
      VoxelView     grid;
      const Number *rows;
      double       *cells;

      PATCHFEM_INLINE void operator()(const std::int64_t i) const
      {
        const VoxelCell cell(grid, i);
        if (cell.exists(grid))
          cells[cell.index(grid)] = cell.is_fluid() ? static_cast<double>(rows[cell.row(grid)]) : 0.;
      }
    };

    template <typename Number>
    struct VoxelGatherBody
    {
      VoxelView     grid;
      const double *cells;
      Number       *rows;

      PATCHFEM_INLINE void operator()(const std::int64_t i) const
      {
        const VoxelCell cell(grid, i);
        if (cell.is_fluid())
          rows[cell.row(grid)] = static_cast<Number>(cells[cell.index(grid)]);
      }
    };

    /**
     * @name Connected parts of the fluid
     * Each row points to a lower one of its part or, the lowest, to itself. Fluid cells side by side in a word point to the
     * first of them at once; other pairs are joined one by one, the larger of two roots to the smaller, so that in the end
     * the root of a part is its lowest row in whatever order that happens (see Jaiganesh and Burtscher, HPDC 2018). Of the
     * pairs between two rows of cells only the first of each run along x is joined.
     */
    /** @{ */
    struct VoxelRunsBody
    {
      VoxelView grid;
      int      *parent;  ///< [row]
      int      *surface; ///< [row]: zero for VoxelSurfaceBody

      PATCHFEM_INLINE void operator()(const std::int64_t i) const
      {
        const VoxelCell cell(grid, i);
        if (!cell.is_fluid())
          return;
        const int           row   = cell.row(grid);
        const std::uint32_t holes = ~cell.fluid & bits_below(cell.bit);
        int                 start = 0; // the bit behind the last hole
#if defined(__CUDA_ARCH__)
        start = 32 - __clz(holes);
#else
        start = holes == 0 ? 0 : 32 - __builtin_clz(holes);
#endif
        parent[row]  = row - (cell.bit - start);
        surface[row] = 0;
      }
    };

    PATCHFEM_INLINE int root_of(int *parent, int row)
    {
      int above = atomic_load(parent + row);
      while (above != row)
      {
        const int next = atomic_load(parent + above);
        if (next != above) // shortens the way for others
          atomic_min(parent + row, next);
        row   = above;
        above = next;
      }
      return row;
    }

    PATCHFEM_INLINE void join(int *parent, const int row, const int other)
    {
      int a = root_of(parent, row), b = root_of(parent, other);
      while (a != b)
      {
        const int larger = a > b ? a : b, smaller = a > b ? b : a;
        const int seen = atomic_compare_exchange(parent + larger, larger, smaller);
        if (seen == larger)
          return;
        a = root_of(parent, seen); // it was joined to another meanwhile
        b = smaller;
      }
    }

    struct VoxelJoinBody
    {
      VoxelView grid;
      int      *parent;

      PATCHFEM_INLINE void operator()(const std::int64_t i) const
      {
        const VoxelCell cell(grid, i);
        if (!cell.is_fluid())
          return;
        const VoxelNeighbours fluid   = fluid_neighbours(grid, cell.word);
        const int             row     = cell.row(grid);
        const int             step[2] = {grid.n_words * grid.n[1], grid.n_words};
        if (cell.bit == 0 && (fluid.mask[2] & 1) != 0)
          join(parent, row, row - 1);
        PATCHFEM_UNROLL
        for (int k = 0; k < 2; ++k)
        {
          const std::uint32_t pairs = fluid.mask[k] & cell.fluid;
          if (((pairs & ~(pairs << 1)) >> cell.bit & 1) != 0)
            join(parent, row, row_in_word(grid, cell.word.index - step[k], cell.bit));
        }
      }
    };

    struct VoxelRootBody
    {
      int *parent;

      PATCHFEM_INLINE void operator()(const std::int64_t row) const
      {
        int above = atomic_load(parent + row), next;
        while ((next = atomic_load(parent + above)) != above)
          above = next;
        atomic_min(parent + row, above);
      }
    };

    /** Marks the roots of parts with a cell beside air, and cells that have solid ones all around. */
    struct VoxelSurfaceBody
    {
      VoxelView  grid;
      const int *parent;
      int       *surface; ///< [row]

      PATCHFEM_INLINE void operator()(const std::int64_t i) const
      {
        const VoxelCell cell(grid, i);
        if (!cell.is_fluid())
          return;
        const VoxelNeighbours fluid = fluid_neighbours(grid, cell.word), open = open_neighbours(grid, cell.word);
        std::uint32_t         air = 0, any = 0;
        PATCHFEM_UNROLL
        for (int k = 0; k < 6; ++k)
        {
          air |= open.mask[k] & ~fluid.mask[k];
          any |= open.mask[k];
        }
        if (((air | ~any) >> cell.bit & 1) == 0)
          return;
        int *mark = surface + parent[cell.row(grid)];
        if (atomic_load(mark) == 0)
          atomic_max(mark, 1);
      }
    };

    /** Counts roots that are not marked, and says which they are. */
    struct VoxelClosedBody
    {
      const int *parent, *surface;
      int       *n_closed;

      PATCHFEM_INLINE void operator()(const std::int64_t row) const
      {
        if (parent[row] == row && surface[row] == 0)
          atomic_increment(n_closed);
      }
    };

    struct VoxelClosedFlagBody
    {
      const int *parent, *surface;
      int       *flag; ///< [row]

      PATCHFEM_INLINE void operator()(const std::int64_t row) const
      {
        flag[row] = parent[row] == row && surface[row] == 0;
      }
    };

    /** 1 on the cells of one closed part, 0 elsewhere. */
    struct VoxelPartBody
    {
      const int          *parent, *surface;
      const std::int64_t *number; ///< [row] of roots: closed parts before
      std::int64_t        part;
      double             *values; ///< [row]

      PATCHFEM_INLINE void operator()(const std::int64_t row) const
      {
        const int root = parent[row];
        values[row]    = surface[root] == 0 && number[root] == part ? 1. : 0.;
      }
    };
    /** @} */
  } // namespace kernels
} // namespace PatchFEM

#endif
