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
 * The contract of assembly. A chunk of patches is assembled by four kernels: matrices and loads of its buffered cells,
 * boundary terms on them, resolution of their constraints, then the rows of its patches. Patches compute the cells
 * that are not buffered themselves. The bodies are in element_bodies.h and row_bodies.h, shared by both sides.
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
    Number             *buffer_matrix;
    Number             *buffer_vector;
    std::size_t         fast_memory; ///< bytes a patch may use
    int                 most_cells;  ///< cells of the largest patch
    int                 most_blocks; ///< blocks of the rows of the largest patch
    int                 most_pairs;  ///< pairs of the largest patch
    int                 most_slots;  ///< places of the largest patch
    int                 computed_batch;
    bool                staged;        ///< patches compute cells; false if all cells are buffered
    bool                isoparametric; ///< geometry functions of the computed batch are its shape functions
    bool                one_point;     ///< gradients are constant and loads too: one quadrature point is exact
  };

  namespace kernels
  {
    /** Bytes of fast memory that a computed cell of @p reference takes for @p Form. */
    template <typename Form, typename Number>
    std::size_t cell_bytes(const ReferenceView &reference, bool one_point);

    template <typename Form, typename Number>
    void element_matrices(Host, const AssemblyArguments<Number> &arguments);
    template <typename Form, typename Number>
    void element_matrices(Cuda, const AssemblyArguments<Number> &arguments);

    template <typename Form, typename Number>
    void patch_rows(Host, const AssemblyArguments<Number> &arguments);
    template <typename Form, typename Number>
    void patch_rows(Cuda, const AssemblyArguments<Number> &arguments);
  } // namespace kernels
} // namespace PatchFEM

#endif
