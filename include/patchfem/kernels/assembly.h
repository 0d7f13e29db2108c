// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef patchfem_kernels_assembly_h
#define patchfem_kernels_assembly_h

#include <patchfem/base/backend.h>
#include <patchfem/kernels/batch_views.h>
#include <patchfem/kernels/matrix_views.h>
#include <patchfem/kernels/patch_views.h>
#include <patchfem/kernels/weak_forms.h>

/**
 * @file
 * The contract of assembly, batch after batch. A chunk of patches is assembled by two kernels: matrices and loads of its
 * buffered cells, with boundary terms and constraints resolved, and of its staged ones (element_bodies.h), then its
 * patches, which compute all other cells (cell_records.h) and sum rows (patch_bodies.h).
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
  };

  /** Boundary terms at the quadrature points of FacesView's faces, at their positions in ElementTables::faces. */
  template <typename Number>
  struct FaceTermsView
  {
    const std::int64_t *point_offsets; ///< [face of the tables], where its points start; nullptr: no terms
    const Number       *load;          ///< [point][component], integrated against the test functions
    const Number       *robin;         ///< [point], coefficient of u v in the matrix; nullptr: none
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
    int                 most_blocks;                  ///< blocks of the rows of the largest patch
    int                 most_levels;                  ///< levels of the patch with the most of them
    int                 computed_batch;
    bool                isoparametric; ///< geometry functions of the computed batch are its shape functions
    bool                one_point;     ///< gradients are constant and loads too: one quadrature point is exact
    bool                add;           ///< to what other batches have left in the matrix and the right-hand side
  };

  namespace kernels
  {
    /** What a back end makes of a kind of cell. */
    struct PatchRoom
    {
      std::size_t available;      ///< bytes of a patch: its rows, and its workers
      std::size_t worker_bytes;   ///< what its workers want
      double      most_redundant; ///< integrations of a cell above which rows gather sooner than patches compute
      std::size_t bytes_per_row = 0, bytes_per_level = 0; ///< what workers want for each row and each level of cells
      bool        symmetric    = false; ///< of entries (i, j) and (j, i), which are numbers, one is enough
      double      buffer_share = 0.1;   ///< of the matrix, what the buffer of a chunk's cell matrices may take
    };

    // An undefined symbol names what has to be called in CMakeLists.txt.
    inline namespace needs_patchfem_add_weak_form
    {
      /**
       * The room of patches with cells of @p reference where there are @p total bytes for @p concurrent patches, or as
       * many as are best if that is 0. @p one_point: data that do not vary inside cells need one quadrature point.
       */
      template <typename Form, typename Number>
      PatchRoom patch_room(Host, const ReferenceView &reference, bool one_point, std::size_t total, int concurrent);
      template <typename Form, typename Number>
      PatchRoom patch_room(Cuda, const ReferenceView &reference, bool one_point, std::size_t total, int concurrent);

      template <typename Form, typename Number>
      void element_matrices(Host, const AssemblyArguments<Number> &arguments);
      template <typename Form, typename Number>
      void element_matrices(Cuda, const AssemblyArguments<Number> &arguments);

      template <typename Form, typename Number>
      void patch_rows(Host, const AssemblyArguments<Number> &arguments);
      template <typename Form, typename Number>
      void patch_rows(Cuda, const AssemblyArguments<Number> &arguments);
    } // namespace needs_patchfem_add_weak_form
  }   // namespace kernels
} // namespace PatchFEM

#endif
