// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/lac/matrix/mdia_matrix.h>
#include <patchfem/lac/solver/null_space.h>

#include <array>
#include <vector>

/**
 * @file
 * The pressure equation on voxels, numbered and assembled without a list of cells. A word of 32 bits says which of 32
 * cells of a row along x are fluid, and the number of an unknown is that of its word's first one plus the fluid cells
 * before it in the word. Words, and their first numbers, are 16 bytes for 32 cells, which the second-level cache holds
 * for 256^3 cells, so that from memory come labels, 1 byte a cell, and to memory go columns and diagonal, 32 bytes a
 * row. Members that take Where are the steps (source/kernels/launch.h) of those without.
 *
 * Around the box there is a layer of words without fluid, so that the words of neighbours are at fixed distances and no
 * one asks for the ends of the box: one word in front of each row along x, which is behind the row before as well, and
 * rows on all other sides.
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

  /** Of 32 cells along x those that are fluid, and those that are not solid. */
  struct alignas(8) VoxelBits
  {
    std::uint32_t fluid, open;
  };

  /** A box of n[0] x n[1] x n[2] voxels, x fastest, whose fluid cells are numbered in this order. */
  struct VoxelView
  {
    int                 n[3];
    int                 n_words; ///< of a row along x, the one in front included
    const VoxelBits    *bits;    ///< [((z + 1) * (n[1] + 2) + y + 1) * n_words + x / 32 + 1], bit x % 32
    const std::int64_t *first;   ///< [word + 1]: fluid cells in the words before

    PATCHFEM_INLINE int step_y() const { return n_words; }
    PATCHFEM_INLINE int step_z() const { return n_words * (n[1] + 2); }
    PATCHFEM_INLINE int all_words() const { return step_z() * (n[2] + 2); }
  };

  /** A box of cubes. */
  struct VoxelGrid
  {
    std::array<int, 3> n{{1, 1, 1}}; ///< cells in each direction; one cell between solid walls makes a plane problem
    double             h = 1.;       ///< edge of a cell
    /// Whether there is air behind the lower and the upper side of each direction, [2 d + s]; solid walls else.
    std::array<bool, 6> open_sides{{false, false, false, false, false, false}};

    std::int64_t n_cells() const { return std::int64_t(n[0]) * n[1] * n[2]; }

    /** Words of its VoxelView, the layer around the box included. */
    std::int64_t n_words() const { return ((std::int64_t(n[0]) + 31) / 32 + 1) * (n[1] + 2) * (n[2] + 2); }

    /** Faces with normal direction @p d, those of the boundary included. */
    std::int64_t n_faces(const int d) const { return n_cells() / n[d] * (n[d] + 1); }
  };

  /** Normal velocities of the faces of a VoxelGrid, one array for each direction, x fastest (a staggered grid). */
  struct FaceVelocities
  {
    Array<double> component[3];

    /** Zero everywhere. */
    void reinit(const Backend &backend, const VoxelGrid &grid);

    std::size_t memory_consumption() const { return memory_consumption_of(component[0], component[1], component[2]); }
  };

  /**
   * Which voxels are unknowns: the fluid ones, numbered in the order of the cells by a scan on the back end. Memory for
   * the grid is kept from one reinit() to the next.
   */
  class FluidCells
  {
  public:
    /** @param labels VoxelLabel of each cell [(z * n[1] + y) * n[0] + x], on @p backend. */
    void reinit(const Backend &backend, const VoxelGrid &grid, const Array<unsigned char> &labels);

    /** All words, and how many cells of each are fluid; bit 2 d + s of @p sides is open_sides[2 d + s]. */
    template <typename Where>
    void mark(Where, const Array<unsigned char> &labels, unsigned int sides);

    const Backend   &backend() const { return first.backend(); }
    const VoxelGrid &grid() const { return box; }
    int              n_unknowns() const { return n; }

    /** Bits of words; loops over cells run for so many. */
    std::int64_t n_bits() const { return 32 * std::int64_t(view().all_words()); }

    VoxelView view() const
    {
      return {{box.n[0], box.n[1], box.n[2]}, (box.n[0] + 31) / 32 + 1, bits.data(), first.data()};
    }

    /**
     * How many parts of the fluid, connected by faces, touch no air: the pressure of each is determined up to a
     * constant. Cells with solid ones all around are not counted; their pressure is 0.
     */
    int find_closed_parts();
    template <typename Where>
    int find_closed_parts(Where);

    /** The constants of the closed parts, which it finds if need be. Throws Error if they are more than @p limit. */
    template <typename Number>
    NullSpace<Number> null_space(int limit = 32);
    template <typename Where>
    std::vector<Vector<double>> constants_of_parts(Where); ///< 1 on the cells of one closed part, 0 elsewhere

    /** Values of unknowns at all cells, 0 where there is no fluid. */
    template <typename Number>
    void to_cells(const Vector<Number> &values, Array<double> &cells) const;
    template <typename Number, typename Where>
    void to_cells(Where, const Vector<Number> &values, Array<double> &cells) const;

    /** The reverse: sets the size of @p values. */
    template <typename Number>
    void from_cells(const Array<double> &cells, Vector<Number> &values) const;
    template <typename Number, typename Where>
    void from_cells(Where, const Array<double> &cells, Vector<Number> &values) const;

    std::size_t memory_consumption() const { return memory_consumption_of(bits, first, counts, parent, surface); }

  private:
    VoxelGrid           box;
    int                 n = 0, n_closed = 0; ///< -1: closed parts have not been looked for
    Array<VoxelBits>    bits;
    Array<std::int64_t> first;           ///< unknowns before each word
    Array<int>          counts;          ///< of each word
    Array<int>          parent, surface; ///< of the parts
  };

  /**
   * The pressure equation of an incompressible liquid on voxels (P2), assembled straight into mDIA. A step of length dt
   * takes the velocities u to u - dt / rho grad p, without divergence in fluid cells; with p = 0 in air, no flow
   * through solid faces, and both sides of the balance of a cell multiplied by rho h / dt:
   *
   *   sum over neighbours j that are not solid of (p_i - p_j) = - rho h / dt (sum of u over the same faces, outward).
   *
   * So the diagonal counts the neighbours that are not solid, other entries are -1, and fluxes after the step are the
   * residual times - dt / (rho h). Nothing but sizes is seen by the host.
   */
  template <typename Number>
  class VoxelPoisson
  {
  public:
    /** Structure and entries of the matrix. */
    void reinit(const FluidCells &cells);
    template <typename Where>
    void reinit(Where, const FluidCells &cells);

    const MDIAMatrix<Number> &matrix() const { return A; }

    /** The right-hand side, by @p scale = rho h / dt. @p divergence: the one that cells shall have, nullptr for 0. */
    void assemble_rhs(const FluidCells     &cells,
                      const FaceVelocities &velocities,
                      const Array<double>  *divergence,
                      double                scale,
                      Vector<Number>       &rhs) const;
    template <typename Where>
    void assemble_rhs(Where,
                      const FluidCells     &cells,
                      const FaceVelocities &velocities,
                      const Array<double>  *divergence,
                      double                scale,
                      Vector<Number>       &rhs) const;

    /** @p velocities after the step; @p scale = dt / (rho h). Faces of solid cells get 0. */
    void
    project(const FluidCells &cells, const Vector<Number> &pressure, double scale, FaceVelocities &velocities) const;
    template <typename Where>
    void project(
        Where, const FluidCells &cells, const Vector<Number> &pressure, double scale, FaceVelocities &velocities) const;

    std::size_t memory_consumption() const { return memory_consumption_of(A, counts, widths, sums); }

  private:
    MDIAMatrix<Number>  A;
    Array<int>          counts, widths;
    Array<std::int64_t> sums;
  };
} // namespace PatchFEM
