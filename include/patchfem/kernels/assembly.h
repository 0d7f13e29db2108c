// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/base/backend.h>
#include <patchfem/base/exceptions.h>
#include <patchfem/kernels/batch_views.h>
#include <patchfem/kernels/matrix_views.h>
#include <patchfem/kernels/patch_views.h>
#include <patchfem/kernels/weak_forms.h>

#include <functional>
#include <string>
#include <string_view>

/**
 * @file
 * The contract of assembly, batch after batch. A chunk of patches is assembled by two kernels: first matrices and loads
 * of its buffered cells, with boundary terms and constraints resolved, and of its staged ones (element_bodies.h); then
 * its patches, which compute all other cells (cell_records.h) and sum rows (patch_bodies.h).
 */
namespace PatchFEM
{
  /** Where finished rows go: one of the formats. */
  template <typename Number>
  struct MatrixTarget
  {
    enum Format : int
    {
      none, ///< only the right-hand side is assembled
      csr,
      sliced_ellpack
    };

    Format                    format;
    CSRView<Number>           csr_view;    ///< scalar rows
    SlicedEllpackView<Number> sliced_view; ///< block rows
    std::int64_t              n_values;    ///< padding included
  };

  /** Boundary terms at the quadrature points of FacesView's faces, at their positions in ElementTables::faces. */
  template <typename Number>
  struct FaceTermsView
  {
    const std::int64_t *point_offsets; ///< [face of the tables], where its points start; nullptr: no terms
    const Number       *load;          ///< [point][component], integrated against the test functions
    const Number       *robin;         ///< [point], coefficient of u v in the matrix; nullptr: none
    const Number       *tangent;       ///< [point][component][n_inputs] of tractions, see FaceLawTraits; nullptr: none
    int                 n_inputs;
  };

  /** Everything a chunk needs. Null pointers and format none leave the matrix or the right-hand side out. */
  template <typename Number>
  struct AssemblyArguments
  {
    BatchesView             batches;
    ConstrainedCellsView    constrained;
    FacesView               faces;
    PatchesView             patches;
    CoefficientView<Number> coefficients;
    CoefficientView<Number> load; ///< body load, n_components values
    FaceTermsView<Number>   face_terms;
    MatrixTarget<Number>    matrix;
    Number                 *rhs; ///< [row][component] or nullptr

    int                 first_patch, end_patch;
    const BufferedCell *buffered; ///< of this chunk
    int                 n_buffered;
    const int          *staged; ///< global numbers of this chunk's staged cells, by slot
    int                 n_staged;
    Number             *buffer_matrix; ///< buffered cells', then staged cells'
    Number             *buffer_vector;
    std::int64_t        staged_matrix, staged_vector; ///< where staged cells begin in the buffers
    std::size_t         fast_memory;                  ///< bytes a patch may use
    std::size_t         multiprocessor_memory;        ///< bytes for kernels that have no rows
    int                 most_blocks;                  ///< blocks of the rows of the largest patch
    int                 most_levels;                  ///< levels of the patch with the most of them
    int                 computed_batch;
    const std::int64_t *phases; ///< on the host, [n_phases + 1]: entries of the plan's cells that are added at once
    int                 n_phases;
    const void         *own_lists; ///< on the host, what the plan's strategy has besides: a view of its own type
    bool                one_point; ///< gradients are constant and loads too: one quadrature point is exact
    bool                add;       ///< to what other batches have left in the matrix and the right-hand side

    /**
     * Where entry @p e of n_block of block (@p i, @p j) of the matrix in slot @p slot of staged cells stands: blocks lie
     * side by side or, where rows gather them, their first entries, their second ones, and so on, each padded to
     * PatchRoom::even() columns.
     */
    PATCHFEM_INLINE std::int64_t
    staged_entry(const std::int64_t slot, const int n, const int i, const int j, const int n_block, const int e) const
    {
      const bool gathered  = patches.staged_pairs != nullptr;
      const int  n_columns = gathered ? kernels::PatchRoom::even(n) : n;
      return staged_matrix + (slot * n + i) * n_columns * n_block + (gathered ? e * n_columns + j : j * n_block + e);
    }
  };

  namespace kernels
  {
    /** What decides which kernel runs. What only plan and data tell has its usual value before they are there. */
    struct KernelRequest
    {
      std::string_view strategy;
      ReferenceView    reference;            ///< of the cells
      bool             isoparametric;        ///< geometry functions are shape functions
      bool             points_are_nodes;     ///< the points of cells are numbered as their nodes
      bool             one_point;            ///< as in AssemblyArguments
      std::size_t      fast_memory;          ///< of a multiprocessor
      int              concurrent;           ///< patches that share it; 0: as many as are best
      bool             stages;               ///< all cells go through the buffer
      bool             computes     = true;  ///< not all cells are buffered
      bool             varying      = false; ///< coefficients vary inside cells
      bool             short_places = true;  ///< of one byte, or in words (PlacesView)
    };

    /** The kernels that a back end has for a form, a strategy and a kind of cell. */
    template <typename Number>
    struct AssemblyKernel
    {
      using Launch = std::function<void(const AssemblyArguments<Number> &)>;

      std::string name; ///< for a user
      PatchRoom   room{};
      Launch      stage; ///< matrices and loads of the chunk's buffered and staged cells
      Launch      sum;   ///< then its patches
    };

    /**
     * A kernel of a strategy is one of these with
     *   possible        whether it is compiled for its form and numbers
     *   stages          whether it forms matrices of cells in the buffer, or numbers_per_cell(request) that stand for
     *                   one, with a buffer_share, or sums rows, and has a room(request), a PatchRoom
     *   name            for a user
     *   serves(request) whether it takes such cells of such a strategy
     *   launch(where, arguments)
     * What it does not say is as here.
     */
    struct AnyKernel
    {
      static constexpr bool        possible     = true;
      static constexpr bool        stages       = false;
      static constexpr const char *name         = "";
      static constexpr double      buffer_share = 0.1;

      static bool serves(const KernelRequest &) { return true; }
      static int  numbers_per_cell(const KernelRequest &) { return 0; } ///< the matrix
    };

    // An undefined symbol names what has to be called in CMakeLists.txt.
    inline namespace needs_patchfem_add_weak_form
    {
      /** What a back end has for a request: the first kernel that stages, and the first that sums, of all strategies. */
      template <typename Form, typename Number>
      AssemblyKernel<Number> assembly_kernel(Host, const KernelRequest &request);
      template <typename Form, typename Number>
      AssemblyKernel<Number> assembly_kernel(Cuda, const KernelRequest &request);
    } // namespace needs_patchfem_add_weak_form
  }   // namespace kernels
} // namespace PatchFEM

/** Compiles the kernels of a weak form on the back end Where of the file. */
#define PATCHFEM_INSTANTIATE_ASSEMBLY_ON(Where, Form)              \
  PATCHFEM_INSTANTIATE_ASSEMBLY_OF_NUMBER_ON(Where, Form, double); \
  PATCHFEM_INSTANTIATE_ASSEMBLY_OF_NUMBER_ON(Where, Form, float)

#define PATCHFEM_INSTANTIATE_ASSEMBLY_OF_NUMBER_ON(Where, Form, Number)                                \
  template PatchFEM::kernels::AssemblyKernel<Number> PatchFEM::kernels::assembly_kernel<Form, Number>( \
      PatchFEM::Where, const PatchFEM::kernels::KernelRequest &)
