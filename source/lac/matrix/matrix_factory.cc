// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lac/multigrid/multigrid_pattern.h"

#include <patchfem/lac/matrix/coordinate_matrix.h>
#include <patchfem/lac/matrix/matrix_factory.h>
#include <patchfem/lac/matrix/mdia_matrix.h>
#include <patchfem/lac/matrix/symmetric_ellpack_matrix.h>

namespace PatchFEM
{
  using Kind = MatrixFormat::Kind;

  bool is_converted(const MatrixFormat &format, const int block_size)
  {
    return format.kind == Kind::sliced_scalar ? block_size > 1
                                              : format.kind != Kind::sliced_ellpack && format.kind != Kind::csr;
  }

  MatrixFormat assembled_format(const MatrixFormat &format, const int block_size)
  {
    if (!is_converted(format, block_size))
      return format;
    MatrixFormat result;
    result.kind = format.kind == Kind::symmetric ? Kind::sliced_ellpack : Kind::csr;
    return result;
  }

  namespace
  {
    template <typename Number>
    typename SlicedEllpackMatrix<Number>::AdditionalData slices_of(const MatrixFormat &format)
    {
      return {format.slice_height, format.short_columns, format.skip_padding};
    }

    template <typename Number>
    std::unique_ptr<MatrixBase<Number>> in_slices(const CSRMatrix<Number> &matrix, const MatrixFormat &format)
    {
      const Backend        &place = matrix.backend();
      const CSRView<Number> rows  = matrix.view();
      const bool            cut   = format.kind != Kind::sliced_scalar;
      const int             b = cut ? matrix.block_rows() : 1, c = cut ? matrix.block_columns() : 1;
      auto                  made = std::make_unique<SlicedEllpackMatrix<Number>>();
      if (b == 1 && c == 1)
        made->reinit(place, {rows.n_rows, rows.n_columns, rows.row_offsets, rows.columns}, 1, 1,
                     slices_of<Number>(format));
      else
      {
        const CompressedPattern pattern = block_pattern(place, rows, b, c);
        made->reinit(place, pattern.view(), b, c, slices_of<Number>(format));
      }
      dispatch(place, [&](auto where) { kernels::fill_values(where, rows, made->row_lengths(), made->view()); });
      return made;
    }
  } // namespace

  template <typename Number>
  std::unique_ptr<MatrixBase<Number>> make_matrix(const Backend      &backend,
                                                  const SparsityView &pattern,
                                                  const int           block_rows,
                                                  const int           block_columns,
                                                  const MatrixFormat &format)
  {
    require(!is_converted(format, block_rows * block_columns),
            "Matrices are not assembled into the format " + format.name() + "; they are converted to it.");
    if (format.kind == Kind::csr)
    {
      auto result = std::make_unique<CSRMatrix<Number>>();
      result->use_kernel(format.csr_kernel);
      result->reinit(backend, pattern, block_rows, block_columns);
      return result;
    }
    auto result = std::make_unique<SlicedEllpackMatrix<Number>>();
    result->reinit(backend, pattern, block_rows, block_columns, slices_of<Number>(format));
    return result;
  }

  template <typename Number>
  std::unique_ptr<MatrixBase<Number>> convert(const MatrixBase<Number> &matrix, const MatrixFormat &format)
  {
    const auto *csr    = dynamic_cast<const CSRMatrix<Number> *>(&matrix);
    const auto *sliced = dynamic_cast<const SlicedEllpackMatrix<Number> *>(&matrix);
    require(format.kind == Kind::symmetric ? csr != nullptr || sliced != nullptr
                                           : csr != nullptr && format.kind != Kind::csr,
            "A matrix of the format " + matrix.format() + " cannot be converted to " + format.name() + ".");
    const auto made_of = [&](auto &&result, const auto &...source) {
      result->reinit(source...);
      return std::unique_ptr<MatrixBase<Number>>(std::move(result));
    };
    switch (format.kind)
    {
    case Kind::symmetric:
      return sliced != nullptr ? made_of(std::make_unique<SymmetricEllpackMatrix<Number>>(), *sliced)
                               : made_of(std::make_unique<SymmetricEllpackMatrix<Number>>(), *csr, csr->block_rows());
    case Kind::coordinate:
      return made_of(std::make_unique<CoordinateMatrix<Number>>(), *csr);
    case Kind::hybrid:
      return made_of(std::make_unique<HybridMatrix<Number>>(), *csr);
    case Kind::mdia:
      return made_of(std::make_unique<MDIAMatrix<Number>>(), *csr);
    default:
      return in_slices(*csr, format);
    }
  }

#define PATCHFEM_INSTANTIATE(Number)                                                                        \
  template std::unique_ptr<MatrixBase<Number>> make_matrix(const Backend &, const SparsityView &, int, int, \
                                                           const MatrixFormat &);                           \
  template std::unique_ptr<MatrixBase<Number>> convert(const MatrixBase<Number> &, const MatrixFormat &)
  PATCHFEM_INSTANTIATE(float);
  PATCHFEM_INSTANTIATE(double);
#undef PATCHFEM_INSTANTIATE
} // namespace PatchFEM
