// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "kernels/count_bits.h"
#include "kernels/launch.h"

#include <patchfem/assembly/voxel_poisson.h>
#include <patchfem/kernels/atomics.h>
#include <patchfem/kernels/primitives.h>

/** @file The steps (see launch.h) of voxel_poisson.h. */
namespace PatchFEM
{
  namespace
  {
    /** The bits below @p bit < 32. */
    PATCHFEM_INLINE std::uint32_t bits_below(const int bit)
    {
      return (std::uint32_t(1) << bit) - 1;
    }

    /** The lowest run of set bits of @p bits, which are not 0. */
    PATCHFEM_INLINE std::uint32_t lowest_run(const std::uint32_t bits)
    {
      return bits & ~(bits + (bits & (~bits + 1)));
    }

    /** Where a word lies; y and z are -1 or n in the layer around the box, and w is -1 in front of a row. */
    struct VoxelWord
    {
      int w, y, z;

      PATCHFEM_INLINE VoxelWord(const VoxelView &grid, const int index)
      {
        const unsigned int row   = static_cast<unsigned int>(index) / static_cast<unsigned int>(grid.n_words);
        const unsigned int plane = row / static_cast<unsigned int>(grid.n[1] + 2);
        w                        = index - static_cast<int>(row) * grid.n_words - 1;
        y                        = static_cast<int>(row - plane * static_cast<unsigned int>(grid.n[1] + 2)) - 1;
        z                        = static_cast<int>(plane) - 1;
      }

      /** How many of its cells are in the box. */
      PATCHFEM_INLINE int n_cells(const VoxelView &grid) const
      {
        if (w < 0 || y < 0 || y >= grid.n[1] || z < 0 || z >= grid.n[2])
          return 0;
        const int left = grid.n[0] - 32 * w;
        return left < 32 ? left : 32;
      }

      /** The first of its cells in an array of all cells. */
      PATCHFEM_INLINE std::int64_t first_cell(const VoxelView &grid) const
      {
        return std::int64_t(z * grid.n[1] + y) * grid.n[0] + 32 * w;
      }
    };

    /**
     * The cells of a word that are outside of the box and have air: bit 2 d + s of @p open_sides is for the lower
     * (s = 0) or upper (s = 1) side in direction d. A word in front of a row is for the cell before it and the one
     * behind the row before.
     */
    PATCHFEM_INLINE std::uint32_t air_outside(const VoxelView &grid, const VoxelWord &at, const unsigned int open_sides)
    {
      const auto side = [&](const int s) { return (open_sides >> s & 1) != 0 ? ~std::uint32_t(0) : 0u; };
      if (at.z < 0)
        return side(4);
      if (at.z >= grid.n[2])
        return side(5);
      if (at.y < 0)
        return side(2);
      if (at.y >= grid.n[1])
        return at.w < 0 ? side(1) & 1 : side(3);
      if (at.w < 0)
        return (side(0) & std::uint32_t(1) << 31) | (side(1) & 1);
      const int n = at.n_cells(grid);
      return n < 32 ? side(1) & ~bits_below(n) : 0;
    }

    /**
     * For each of the six directions the cells of a word of the box whose neighbour is fluid, and those whose neighbour
     * is not solid. Directions are ordered as unknowns are: -z, -y, -x, +x, +y, +z.
     */
    struct VoxelNeighbours
    {
      std::uint32_t fluid[6], open[6];

      PATCHFEM_INLINE VoxelNeighbours(const VoxelView &grid, const int word)
      {
        const VoxelBits *at  = grid.bits + word;
        const VoxelBits  own = at[0], before = at[-1], behind = at[1];
        const int        step[6] = {-grid.step_z(), -grid.step_y(), 0, 0, grid.step_y(), grid.step_z()};
        for (int k = 0; k < 6; ++k)
          if (k != 2 && k != 3)
          {
            fluid[k] = at[step[k]].fluid;
            open[k]  = at[step[k]].open;
          }
        fluid[2] = own.fluid << 1 | before.fluid >> 31;
        open[2]  = own.open << 1 | before.open >> 31;
        fluid[3] = own.fluid >> 1 | behind.fluid << 31;
        open[3]  = own.open >> 1 | behind.open << 31;
      }
    };

    /** A cell; loops over cells are called for all bits of all words, of which only some are in the box. */
    struct VoxelCell
    {
      int           word, bit;
      std::uint32_t mine; ///< the bit alone
      VoxelBits     bits; ///< of the word

      PATCHFEM_INLINE VoxelCell(const VoxelView &grid, const std::int64_t i)
          : word(static_cast<int>(i >> 5)), bit(static_cast<int>(i & 31)), mine(std::uint32_t(1) << bit),
            bits(grid.bits[word])
      {}

      PATCHFEM_INLINE bool is_in(const std::uint32_t cells) const { return (cells & mine) != 0; }
      PATCHFEM_INLINE bool is_fluid() const { return is_in(bits.fluid); }

      /** The unknown of the cell in the same place of a word whose first unknown and fluid cells these are. */
      PATCHFEM_INLINE int row(const std::int64_t first, const std::uint32_t fluid) const
      {
        return static_cast<int>(first) + kernels::count_bits(fluid & (mine - 1));
      }

      PATCHFEM_INLINE int row(const VoxelView &grid) const { return row(grid.first[word], bits.fluid); }
    };

    struct VoxelPlace
    {
      int          at[3];
      bool         exists; ///< in the box
      std::int64_t index;  ///< in an array of all cells

      PATCHFEM_INLINE VoxelPlace(const VoxelView &grid, const VoxelCell &cell)
      {
        const VoxelWord word(grid, cell.word);
        at[0]  = 32 * word.w + cell.bit;
        at[1]  = word.y;
        at[2]  = word.z;
        exists = cell.bit < word.n_cells(grid);
        index  = word.first_cell(grid) + cell.bit;
      }

      /**
       * Of the face below in direction @p d, one more cell on is the face above. Faces of a direction are x fastest
       * too: each row has one more along x, or each plane one more row along y.
       */
      PATCHFEM_INLINE std::int64_t face(const VoxelView &grid, const int d) const
      {
        return index + (d == 0   ? std::int64_t(at[2] * grid.n[1] + at[1])
                        : d == 1 ? std::int64_t(at[2]) * grid.n[0]
                                 : std::int64_t(0));
      }
    };

    /** From a face to the next one in its own direction. */
    PATCHFEM_INLINE std::int64_t face_step(const VoxelView &grid, const int d)
    {
      return d == 0 ? 1 : (d == 1 ? std::int64_t(grid.n[0]) : std::int64_t(grid.n[0]) * grid.n[1]);
    }

    template <typename Velocities>
    auto pointers_of(Velocities &velocities)
    {
      auto &u = velocities.component;
      return std::array<decltype(u[0].data()), 3>{{u[0].data(), u[1].data(), u[2].data()}};
    }

    /** The first row of the run of fluid cells that a fluid cell is in. */
    PATCHFEM_INLINE int start_of_run(const VoxelView &grid, const int word, const int bit)
    {
      const std::uint32_t fluid = grid.bits[word].fluid, holes = ~fluid & bits_below(bit);
#if defined(__CUDA_ARCH__)
      const int start = 32 - __clz(holes);
#else
      const int start = holes == 0 ? 0 : 32 - __builtin_clz(holes);
#endif
      return static_cast<int>(grid.first[word]) + kernels::count_bits(fluid & bits_below(start));
    }

    PATCHFEM_INLINE int lowest_bit(const std::uint32_t bits)
    {
      return kernels::count_bits((bits & (~bits + 1)) - 1);
    }

    /** Calls visit(run, its first row) for the runs of fluid cells of a word. */
    template <typename Visitor>
    PATCHFEM_INLINE void for_each_run(const VoxelView &grid, const int word, const Visitor &visit)
    {
      std::uint32_t rest = grid.bits[word].fluid;
      int           row  = rest != 0 ? static_cast<int>(grid.first[word]) : 0;
      while (rest != 0)
      {
        const std::uint32_t run = lowest_run(rest);
        visit(run, row);
        row += kernels::count_bits(run);
        rest ^= run;
      }
    }

    PATCHFEM_INLINE int root_of(int *parent, int row)
    {
      int above = kernels::atomic_load(parent + row);
      while (above != row)
      {
        const int next = kernels::atomic_load(parent + above);
        if (next != above) // shortens the way for others
          kernels::atomic_min(parent + row, next);
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
        const int seen = kernels::atomic_compare_exchange(parent + larger, larger, smaller);
        if (seen == larger)
          return;
        a = root_of(parent, seen); // it was joined to another meanwhile
        b = smaller;
      }
    }

    /** Joins the word with the one @p step further, but for runs of pairs of which one is in @p done. */
    PATCHFEM_INLINE void
    join_rows(const VoxelView &grid, int *parent, const int word, const int step, const std::uint32_t done)
    {
      const VoxelBits *at   = grid.bits + word;
      std::uint32_t    rest = at[0].fluid & at[step].fluid;
      // A run that goes on from the word before.
      if (rest != 0 && (at[-1].fluid & at[step - 1].fluid) >> 31 != 0 && (rest & 1) != 0)
        rest ^= lowest_run(rest);
      while (rest != 0)
      {
        const std::uint32_t run = lowest_run(rest);
        rest ^= run;
        if ((run & done) != 0)
          continue;
        const int bit = lowest_bit(run);
        join(parent, start_of_run(grid, word, bit), start_of_run(grid, word + step, bit));
      }
    }
  } // namespace

  /**
   * Of each run of fluid cells in a word the first row points to a lower such row of its part or, the lowest, to
   * itself. Runs are joined one by one, the larger of two roots to the smaller, so that in the end the root of a part
   * is its lowest row in whatever order that happens (see Jaiganesh and Burtscher, HPDC 2018). A pair of cells need not
   * be joined if a pair before it has been: along y and z those that touch a pair with smaller x, along z those that
   * touch one with smaller y, as their ends are joined in x and y. Of a full box only the ends of words are, one word
   * in a row to the row below and one in a plane to the plane below.
   */
  template <>
  int FluidCells::find_closed_parts(Here)
  {
    const VoxelView    grid  = view();
    const std::int64_t words = grid.all_words();
    parent.reinit(backend(), n);
    surface.reinit(backend(), n);
    Array<int> number(backend(), 1);
    number.set_zero();
    int *const parent = this->parent.data(), *const surface = this->surface.data();
    launch(backend(), words, [=] PATCHFEM_DEVICE(const std::int64_t i) {
      for_each_run(grid, static_cast<int>(i), [&](std::uint32_t, const int row) {
        parent[row]  = row;
        surface[row] = 0;
      });
    });
    launch(backend(), words, [=] PATCHFEM_DEVICE(const std::int64_t i) {
      const int        word  = static_cast<int>(i);
      const VoxelBits *at    = grid.bits + word;
      const auto       fluid = [&](const int step) { return at[step].fluid; };
      if (fluid(0) == 0)
        return;
      if ((fluid(0) & 1) != 0 && fluid(-1) >> 31 != 0)
        join(parent, static_cast<int>(grid.first[word]), start_of_run(grid, word - 1, 31));
      const int y = -grid.step_y(), z = -grid.step_z();
      join_rows(grid, parent, word, y, 0);
      join_rows(grid, parent, word, z, fluid(y) & fluid(y + z));
    });
    // Marks the roots of parts with a cell beside air, and cells that have solid ones all around.
    launch(backend(), words, [=] PATCHFEM_DEVICE(const std::int64_t i) {
      const int word = static_cast<int>(i);
      if (grid.bits[word].fluid == 0)
        return;
      const VoxelNeighbours neighbours(grid, word);
      std::uint32_t         air = 0, open = 0;
      for (int k = 0; k < 6; ++k)
      {
        air |= neighbours.open[k] & ~neighbours.fluid[k];
        open |= neighbours.open[k];
      }
      for_each_run(grid, word, [&](const std::uint32_t run, const int row) {
        if (((air | ~open) & run) == 0)
          return;
        int *mark = surface + root_of(parent, row);
        if (kernels::atomic_load(mark) == 0)
          kernels::atomic_max(mark, 1);
      });
    });
    launch(backend(), words, [=, number = number.data()] PATCHFEM_DEVICE(const std::int64_t i) {
      for_each_run(grid, static_cast<int>(i), [&](std::uint32_t, const int row) {
        if (parent[row] == row && surface[row] == 0)
          kernels::atomic_increment(number);
      });
    });
    return number.read(0);
  }

  template <>
  std::vector<Vector<double>> FluidCells::constants_of_parts(Here)
  {
    const VoxelView     grid = view();
    Array<int>          flags(backend(), n);
    Array<std::int64_t> numbers(backend(), std::size_t(n) + 1); // of roots: closed parts before
    flags.set_zero();
    launch(backend(), grid.all_words(),
           [=, parent = parent.data(), surface = surface.data(),
            flags = flags.data()] PATCHFEM_DEVICE(const std::int64_t i) {
             for_each_run(grid, static_cast<int>(i), [&](std::uint32_t, const int row) {
               if (parent[row] == row && surface[row] == 0)
                 flags[row] = 1;
             });
           });
    launch(backend(), [&](const Here where) { kernels::exclusive_scan(where, n, flags.data(), numbers.data()); });
    std::vector<Vector<double>> constants;
    for (int part = 0; part < n_closed; ++part)
    {
      constants.emplace_back(backend());
      constants.back().reinit(backend(), n, true);
      launch(backend(), n_bits(),
             [=, parent = parent.data(), surface = surface.data(), numbers = numbers.data(),
              values = constants.back().data()] PATCHFEM_DEVICE(const std::int64_t i) {
               const VoxelCell cell(grid, i);
               if (!cell.is_fluid())
                 return;
               const int root         = root_of(parent, start_of_run(grid, cell.word, cell.bit));
               values[cell.row(grid)] = surface[root] == 0 && numbers[root] == part ? 1. : 0.;
             });
    }
    return constants;
  }

  template <typename Number, typename Where>
  void FluidCells::to_cells(Where, const Vector<Number> &values, Array<double> &cells) const
  {
    cells.reinit(backend(), box.n_cells());
    launch(backend(), n_bits(),
           [=, grid = view(), rows = values.data(), cells = cells.data()] PATCHFEM_DEVICE(const std::int64_t i) {
             const VoxelCell  cell(grid, i);
             const VoxelPlace place(grid, cell);
             if (place.exists)
               cells[place.index] = cell.is_fluid() ? static_cast<double>(rows[cell.row(grid)]) : 0.;
           });
  }

  template <typename Number, typename Where>
  void FluidCells::from_cells(Where, const Array<double> &cells, Vector<Number> &values) const
  {
    values.reinit(backend(), n, true);
    launch(backend(), n_bits(),
           [=, grid = view(), cells = cells.data(), rows = values.data()] PATCHFEM_DEVICE(const std::int64_t i) {
             const VoxelCell cell(grid, i);
             if (cell.is_fluid())
               rows[cell.row(grid)] = static_cast<Number>(cells[VoxelPlace(grid, cell).index]);
           });
  }

  template <typename Number>
  template <typename Where>
  void VoxelPoisson<Number>::reinit(Where, const FluidCells &cells)
  {
    const Backend  &backend = cells.backend();
    const VoxelView grid    = cells.view();
    const int       n_words = grid.all_words(), n_rows = cells.n_unknowns(), n_slices = PatchFEM::n_slices(n_rows, 32);
    A = MDIAMatrix<Number>(); // gives memory back first
    counts.reinit(backend, n_words);
    sums.reinit(backend, std::size_t(n_words) + 1);
    widths.reinit(backend, n_slices);
    widths.set_zero();
    // Of each word the number of entries off the diagonal, and into widths[slice] the columns of an mDIA slice, 32
    // times the most neighbours of one of its rows. Neighbours of the 32 cells are added side by side: bit c of sum[k]
    // is digit k of the number of cell c.
    launch(backend, n_words, [=, counts = counts.data(), widths = widths.data()] PATCHFEM_DEVICE(const std::int64_t i) {
      const std::uint32_t cells = grid.bits[i].fluid;
      counts[i]                 = 0;
      if (cells == 0)
        return;
      const VoxelNeighbours neighbours(grid, static_cast<int>(i));
      std::uint32_t         sum[3] = {0, 0, 0};
      for (int k = 0; k < 6; ++k)
      {
        const std::uint32_t one = neighbours.fluid[k] & cells, two = sum[0] & one;
        sum[0] ^= one;
        sum[2] ^= sum[1] & two;
        sum[1] ^= two;
      }
      counts[i] = kernels::count_bits(sum[0]) + 2 * kernels::count_bits(sum[1]) + 4 * kernels::count_bits(sum[2]);

      // The cells whose rows are in the first of at most two slices.
      const std::int64_t row   = grid.first[i];
      const int          room  = static_cast<int>(32 - row % 32);
      std::uint32_t      later = cells;
      for (int k = 0; k < room; ++k)
        later &= later - 1;
      const auto most = [&](const std::uint32_t among) {
        std::uint32_t candidates = among;
        int           result     = 0;
        for (int k = 2; k >= 0; --k)
          if ((candidates & sum[k]) != 0)
          {
            candidates &= sum[k];
            result += 1 << k;
          }
        return result;
      };
      kernels::atomic_max(widths + row / 32, 32 * most(cells & ~later));
      if (later != 0)
        kernels::atomic_max(widths + row / 32 + 1, 32 * most(later));
    });
    Array<std::int64_t> slices(backend, std::size_t(n_slices) + 1);
    launch(backend, [&](const Here where) {
      kernels::exclusive_scan(where, n_words, counts.data(), sums.data());
      kernels::exclusive_scan(where, n_slices, widths.data(), slices.data());
    });
    const std::int64_t        n_off_diagonal = sums.read(n_words);
    Array<int>                all_columns(backend, slices.read(n_slices));
    const std::int64_t *const slice_offsets = slices.data();
    int *const                columns       = all_columns.data();
    A.reinit(n_rows, Number(-1), std::move(slices), std::move(all_columns), n_off_diagonal);
    // The diagonal is the number of neighbours that are not solid, and 1 where there are none.
    launch(backend, cells.n_bits(), [=, diagonal = A.view().diagonal] PATCHFEM_DEVICE(const std::int64_t i) {
      const VoxelCell cell(grid, i);
      if (!cell.is_fluid())
        return;
      const VoxelNeighbours neighbours(grid, cell.word);
      const int             row   = cell.row(grid);
      const int             slice = row >> 5, r = row & 31;
      const std::int64_t    begin   = slice_offsets[slice];
      const int             width   = static_cast<int>(slice_offsets[slice + 1] - begin);
      const int             step[6] = {-grid.step_z(), -grid.step_y(), 0, 0, grid.step_y(), grid.step_z()};
      int                  *place   = columns + begin + r;
      int                   at = 0, n_open = 0;
      for (int k = 0; k < 6; ++k)
      {
        n_open += cell.is_in(neighbours.open[k]);
        if (!cell.is_in(neighbours.fluid[k]))
          continue;
        place[at] = k == 2   ? row - 1
                    : k == 3 ? row + 1
                             : cell.row(grid.first[cell.word + step[k]], neighbours.fluid[k]);
        at += 32;
      }
      for (; at < width; at += 32)
        place[at] = -1;
      diagonal[row] = static_cast<Number>(n_open > 0 ? n_open : 1);
      // The last slice has no rows behind the end.
      if (row + 1 == n_rows)
        for (int further = 1; further < 32 - r; ++further)
          for (at = 0; at < width; at += 32)
            place[further + at] = -1;
    });
  }

  /** b = 0 for a cell between solid ones. Velocities are 8 bytes a face, three faces a cell. */
  template <typename Number>
  template <typename Where>
  void VoxelPoisson<Number>::assemble_rhs(Where,
                                          const FluidCells     &cells,
                                          const FaceVelocities &velocities,
                                          const Array<double>  *divergences,
                                          const double          factor,
                                          Vector<Number>       &rhs) const
  {
    rhs.reinit(cells.backend(), cells.n_unknowns(), true);
    launch(cells.backend(), cells.n_bits(),
           [=, grid = cells.view(), h = cells.grid().h, velocity = pointers_of(velocities),
            divergence = divergences != nullptr ? divergences->data() : nullptr,
            result     = rhs.data()] PATCHFEM_DEVICE(const std::int64_t i) {
             const VoxelCell cell(grid, i);
             if (!cell.is_fluid())
               return;
             const VoxelPlace      place(grid, cell);
             const VoxelNeighbours neighbours(grid, cell.word);
             double                flow  = 0.;
             bool                  moves = false;
             for (int d = 0; d < 3; ++d)
             {
               const double *face = velocity[d] + place.face(grid, d);
               if (cell.is_in(neighbours.open[2 - d]))
               {
                 flow -= face[0];
                 moves = true;
               }
               if (cell.is_in(neighbours.open[3 + d]))
               {
                 flow += face[face_step(grid, d)];
                 moves = true;
               }
             }
             if (divergence != nullptr)
               flow -= h * divergence[place.index];
             result[cell.row(grid)] = static_cast<Number>(moves ? -factor * flow : 0.);
           });
  }

  /** Faces between two cells of air stay. A cell does the faces below it, and those above it at the end of the grid. */
  template <typename Number>
  template <typename Where>
  void VoxelPoisson<Number>::project(Where,
                                     const FluidCells     &cells,
                                     const Vector<Number> &pressures,
                                     const double          scale,
                                     FaceVelocities       &velocities) const
  {
    launch(cells.backend(), cells.n_bits(),
           [=, grid = cells.view(), pressure = pressures.data(),
            velocity = pointers_of(velocities)] PATCHFEM_DEVICE(const std::int64_t i) {
             const VoxelCell  cell(grid, i);
             const VoxelPlace place(grid, cell);
             if (!place.exists)
               return;
             const VoxelNeighbours neighbours(grid, cell.word);
             const bool            fluid = cell.is_fluid(), open = cell.is_in(cell.bits.open);
             const int             row     = fluid ? cell.row(grid) : 0;
             const double          p       = fluid ? static_cast<double>(pressure[row]) : 0.;
             const int             step[3] = {0, grid.step_y(), grid.step_z()};
             for (int d = 0; d < 3; ++d)
             {
               double    *face        = velocity[d] + place.face(grid, d);
               const bool other_open  = cell.is_in(neighbours.open[2 - d]);
               const bool other_fluid = cell.is_in(neighbours.fluid[2 - d]);
               if (!open || !other_open)
                 *face = 0.;
               else if (fluid || other_fluid)
               {
                 double other = 0.;
                 if (other_fluid && d > 0)
                   other = static_cast<double>(
                       pressure[cell.row(grid.first[cell.word - step[d]], neighbours.fluid[2 - d])]);
                 else if (other_fluid) // its number is the one before that which this cell has, or would have
                   other = static_cast<double>(pressure[(fluid ? row : cell.row(grid)) - 1]);
                 *face -= scale * (p - other);
               }

               if (place.at[d] + 1 < grid.n[d])
                 continue;
               double &above = face[face_step(grid, d)];
               if (!open || !cell.is_in(neighbours.open[3 + d]))
                 above = 0.;
               else if (fluid)
                 above -= scale * (0. - p);
             }
           });
  }

#define INSTANTIATE(Number)                                                                                \
  template void FluidCells::to_cells(Here, const Vector<Number> &, Array<double> &) const;                 \
  template void FluidCells::from_cells(Here, const Array<double> &, Vector<Number> &) const;               \
  template void VoxelPoisson<Number>::reinit(Here, const FluidCells &);                                    \
  template void VoxelPoisson<Number>::assemble_rhs(Here, const FluidCells &, const FaceVelocities &,       \
                                                   const Array<double> *, double, Vector<Number> &) const; \
  template void VoxelPoisson<Number>::project(Here, const FluidCells &, const Vector<Number> &, double,    \
                                              FaceVelocities &) const;
  INSTANTIATE(float)
  INSTANTIATE(double)
#undef INSTANTIATE
} // namespace PatchFEM
