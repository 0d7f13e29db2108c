// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lac/multigrid/multigrid_pattern.h"

#include <patchfem/lac/matrix/coordinate_matrix.h>
#include <patchfem/lac/matrix/matrix_factory.h>
#include <patchfem/lac/matrix/mdia_matrix.h>
#include <patchfem/lac/matrix/symmetric_ellpack_matrix.h>

#include <type_traits>

namespace PatchFEM
{
  using Kind = MatrixFormat::Kind;

  bool is_converted(const MatrixFormat &format, const int block_size)
  {
    return format.kind == Kind::sliced_scalar ? block_size > 1 : !format_row(format).is(FormatRow::assembled);
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
    std::unique_ptr<MatrixBase<Number>> make_slices(const MatrixBase<Number> &matrix, const MatrixFormat &format)
    {
      const auto *csr = dynamic_cast<const CSRMatrix<Number> *>(&matrix);
      if (csr == nullptr)
        return nullptr;
      const Backend        &place = csr->backend();
      const CSRView<Number> rows  = csr->view();
      const bool            cut   = format.kind != Kind::sliced_scalar;
      const int             b = cut ? csr->block_rows() : 1, c = cut ? csr->block_columns() : 1;
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

    template <template <typename> class Matrix, typename Number>
    std::unique_ptr<MatrixBase<Number>> make_of_rows(const MatrixBase<Number> &matrix, const MatrixFormat &)
    {
      const auto *csr = dynamic_cast<const CSRMatrix<Number> *>(&matrix);
      if (csr == nullptr)
        return nullptr;
      auto made = std::make_unique<Matrix<Number>>();
      made->reinit(*csr);
      return made;
    }

    template <typename Number>
    std::unique_ptr<MatrixBase<Number>> make_symmetric(const MatrixBase<Number> &matrix, const MatrixFormat &)
    {
      auto made = std::make_unique<SymmetricEllpackMatrix<Number>>();
      if (const auto *sliced = dynamic_cast<const SlicedEllpackMatrix<Number> *>(&matrix))
        made->reinit(*sliced);
      else if (const auto *csr = dynamic_cast<const CSRMatrix<Number> *>(&matrix))
        made->reinit(*csr, csr->block_rows());
      else
        return nullptr;
      return made;
    }

    std::vector<FormatRow> make_table()
    {
      using Row             = FormatRow;
      constexpr int one     = INT32_MAX; // slice
      const auto    scalars = Row::rows | Row::copy, all = scalars | Row::blocks;
      const auto    format = [](const Kind kind, const int slice_height = 32, const bool skip_padding = false) {
        return MatrixFormat{kind, slice_height, false, skip_padding};
      };
      return {
          {"sliced_ellpack", "slices of rows of a node's blocks (sliced ELLPACK: SELL, SBELL)",
           Row::assembled | Row::slices | Row::sorted | all, format(Kind::sliced_ellpack), make_slices, make_slices},
          {"symmetric", "that with most entries once", Row::blocks | Row::copy, format(Kind::symmetric), make_symmetric,
           make_symmetric},
          {"csr", "compressed sparse rows of scalars", Row::assembled | all, format(Kind::csr), nullptr, nullptr},
          {"sell", "slices of rows of scalars", Row::slices | Row::sorted | scalars, format(Kind::sliced_scalar),
           make_slices, make_slices},
          {"bell", "one slice of blocks", Row::assembled | all, format(Kind::sliced_ellpack, one), make_slices,
           make_slices},
          {"ellpack", "one slice of scalars", scalars, format(Kind::sliced_scalar, one), make_slices, make_slices},
          {"ellpack_r", "that with products to the end of each row", scalars, format(Kind::sliced_scalar, one, true),
           make_slices, make_slices},
          {"coo", "coordinates", Row::blocks, format(Kind::coordinate), make_of_rows<CoordinateMatrix>,
           make_of_rows<CoordinateMatrix>},
          {"hybrid", "ELLPACK, and coordinates for what is longer", 0, format(Kind::hybrid), make_of_rows<HybridMatrix>,
           make_of_rows<HybridMatrix>},
          {"mdia", "a diagonal and columns, for matrices with one constant off the diagonal", Row::sorted | scalars,
           format(Kind::mdia), make_of_rows<MDIAMatrix>, make_of_rows<MDIAMatrix>},
      };
    }
  } // namespace

  const std::vector<FormatRow> &matrix_formats()
  {
    static const std::vector<FormatRow> table = make_table();
    return table;
  }

  const FormatRow &format_row(const std::string &name)
  {
    for (const FormatRow &row : matrix_formats())
      if (row.name == name)
        return row;
    throw Error("There is no Matrix/Format " + name + ".");
  }

  const FormatRow &format_row(const MatrixFormat &format)
  {
    const FormatRow *result = nullptr;
    for (const FormatRow &row : matrix_formats())
      if (row.format.kind == format.kind &&
          (!format.is_sliced() || (row.format.slice_height == INT32_MAX) == (format.slice_height == INT32_MAX)) &&
          (result == nullptr || row.format.skip_padding == format.skip_padding))
        result = &row;
    return *result;
  }

  std::string MatrixFormat::name() const
  {
    const FormatRow &row    = format_row(*this);
    std::string      result = row.name;
    if (kind == Kind::csr && csr_kernel != CSRKernel::pieces)
      result += csr_kernel == CSRKernel::scalar ? ", a thread a row" : ", a warp a row";
    if (row.is(FormatRow::slices))
      result += ", slices of " + std::to_string(slice_height) + (short_columns ? ", 16-bit columns" : "");
    return result + (skip_padding && !row.format.skip_padding ? ", without padding" : "");
  }

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
    const FormatRow                    &row = format_row(format);
    std::unique_ptr<MatrixBase<Number>> result;
    if constexpr (std::is_same_v<Number, double>)
      result = row.make_double != nullptr ? row.make_double(matrix, format) : nullptr;
    else
      result = row.make_single != nullptr ? row.make_single(matrix, format) : nullptr;
    require(result != nullptr,
            "A matrix of the format " + matrix.format() + " cannot be converted to " + format.name() + ".");
    return result;
  }

#define PATCHFEM_INSTANTIATE(Number)                                                                        \
  template std::unique_ptr<MatrixBase<Number>> make_matrix(const Backend &, const SparsityView &, int, int, \
                                                           const MatrixFormat &);                           \
  template std::unique_ptr<MatrixBase<Number>> convert(const MatrixBase<Number> &, const MatrixFormat &)
  PATCHFEM_INSTANTIATE(float);
  PATCHFEM_INSTANTIATE(double);
#undef PATCHFEM_INSTANTIATE
} // namespace PatchFEM
