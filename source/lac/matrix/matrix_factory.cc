// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/base/rank_group.h>
#include <patchfem/lac/matrix/coordinate_matrix.h>
#include <patchfem/lac/matrix/matrix_factory.h>
#include <patchfem/lac/matrix/mdia_matrix.h>
#include <patchfem/lac/matrix/symmetric_ellpack_matrix.h>

namespace PatchFEM
{
  bool is_converted(const MatrixFormat &format, const int block_size)
  {
    return block_size > format.kind->largest_assembled;
  }

  MatrixFormat assembled_format(const MatrixFormat &format, const int block_size)
  {
    return is_converted(format, block_size) ? MatrixFormat(format.kind->source()) : format;
  }

  namespace
  {
    std::vector<FormatRow> make_table()
    {
      using namespace formats;
      using Row            = FormatRow;
      constexpr int one    = INT_MAX; // slice
      const auto    copies = Row::rows | Row::copy, scalars = copies | Row::assembled_scalars;
      const auto    all = copies | Row::blocks | Row::assembled;
      return {
          {"sliced_ellpack", "slices of rows of a node's blocks (sliced ELLPACK: SELL, SBELL)",
           Row::slices | Row::sorted | all, sliced_ellpack},
          {"symmetric", "slices of blocks of a symmetric matrix, with most entries once", Row::blocks | Row::copy,
           symmetric},
          {"csr", "compressed sparse rows of scalars", all, csr},
          {"sell", "slices of rows of scalars", Row::slices | Row::sorted | scalars, sliced_scalar},
          {"bell", "one slice of blocks", all, {sliced_ellpack, one}},
          {"ellpack", "one slice of scalars", scalars, {sliced_scalar, one}},
          {"ellpack_r",
           "one slice of scalars, with products to the end of each row",
           scalars,
           {sliced_scalar, one, false, true}},
          {"coo", "coordinates", Row::blocks, coordinate},
          {"hybrid", "ELLPACK, and coordinates for what is longer", 0, hybrid},
          {"mdia", "a diagonal and columns, for matrices with one constant off the diagonal", Row::sorted | copies,
           mdia},
      };
    }
  } // namespace

  const std::vector<FormatRow> &matrix_formats()
  {
    static const std::vector<FormatRow> table = make_table();
    return table;
  }

  std::string format_names(const unsigned int traits, const unsigned int others, const std::string &conjunction)
  {
    std::string result, last;
    for (const FormatRow &row : matrix_formats())
      if (row.is(traits) && (row.traits & others) == 0)
      {
        result += (result.empty() || last.empty() ? "" : ", ") + last;
        last = row.name;
      }
    return result + (result.empty() ? "" : " " + conjunction + " ") + last;
  }

  const FormatRow &format_row(const std::string &name)
  {
    for (const FormatRow &row : matrix_formats())
      if (row.name == name)
        return row;
    throw Error("There is no Matrix/Format ", name, ".");
  }

  const FormatRow &format_row(const MatrixFormat &format)
  {
    const FormatRow *result = nullptr;
    for (const FormatRow &row : matrix_formats())
      if (row.format.kind == format.kind &&
          (!format.is_sliced() || (row.format.slice_height == INT_MAX) == (format.slice_height == INT_MAX)) &&
          (result == nullptr || row.format.skip_padding == format.skip_padding))
        result = &row;
    require(result != nullptr, "This format has no row in the table of formats.");
    return *result;
  }

  std::string MatrixFormat::name() const
  {
    const FormatRow &row    = format_row(*this);
    std::string      result = row.name;
    if (kind == &formats::csr && csr_kernel != CSRKernel::pieces)
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
    require(!is_converted(format, block_rows * block_columns), "Matrices are not assembled into the format ",
            format.name(), "; they are converted to it.");
    return on_owner_then_members(backend, [&]() -> std::unique_ptr<MatrixBase<Number>> {
      if (!format.is_sliced())
      {
        auto result = std::make_unique<CSRMatrix<Number>>();
        result->use_kernel(format.csr_kernel);
        result->reinit(backend, pattern, block_rows, block_columns);
        return result;
      }
      auto result = std::make_unique<SlicedEllpackMatrix<Number>>();
      result->reinit(backend, pattern, block_rows, block_columns,
                     {format.slice_height, format.short_columns, format.skip_padding});
      return result;
    });
  }

  template <typename Number>
  std::unique_ptr<MatrixBase<Number>> convert(const MatrixBase<Number> &matrix, const MatrixFormat &format)
  {
    return on_owner_then_members(matrix.backend(), [&] {
      std::unique_ptr<MatrixBase<Number>> result = format.kind->make(matrix, format);
      require(result != nullptr, "A matrix of the format ", matrix.format(), " cannot be converted to ", format.name(),
              ".");
      result->set_partitioner(matrix.partitioner());
      return result;
    });
  }

#define PATCHFEM_INSTANTIATE(Number)                                                                        \
  template std::unique_ptr<MatrixBase<Number>> make_matrix(const Backend &, const SparsityView &, int, int, \
                                                           const MatrixFormat &);                           \
  template std::unique_ptr<MatrixBase<Number>> convert(const MatrixBase<Number> &, const MatrixFormat &)
  PATCHFEM_INSTANTIATE(float);
  PATCHFEM_INSTANTIATE(double);
#undef PATCHFEM_INSTANTIATE
} // namespace PatchFEM
