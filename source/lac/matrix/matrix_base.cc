// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/base/rank_group.h>
#include <patchfem/kernels/blas1.h>
#include <patchfem/lac/matrix/matrix_base.h>

#include <array>

namespace PatchFEM
{
  template <typename Number>
  void MatrixBase<Number>::extract_diagonal(Vector<Number> &diagonal) const
  {
    diagonal.reinit(backend(), n_rows(), true);
    extract_block_diagonal(1, diagonal.array());
  }

  template <typename Number>
  void MatrixBase<Number>::set_partitioner(const std::shared_ptr<const Partitioner> &partitioner)
  {
    require(partitioner == nullptr, "Matrices of the format ", format(), " are not shared by several ranks.");
  }

  /** kernel(where, n, of B, of A) for the array and for the constant, which is on the host. */
  template <typename Number>
  template <typename Kernel>
  void MatrixBase<Number>::combine(const MatrixBase &B, const Kernel &kernel)
  {
    on_owner_then_members(backend(), [&] {
      const Values a = values_over_pattern(),
                   b = const_cast<MatrixBase &>(B).values_over_pattern(); // which is only read
      require(a.array != nullptr, "Matrices of the format ", format(), " cannot be scaled, added or copied.");
      const auto sizes = [](const MatrixExtents &e) {
        return std::array<std::int64_t, 5>{e.row_blocks, e.column_blocks, e.block_rows, e.block_columns, e.n_nonzero};
      };
      const bool match = format() == B.format() && backend() == B.backend() && sizes(extents()) == sizes(B.extents()) &&
                         a.layout == b.layout && a.array->size() == b.array->size();
      require(match, "Two matrices can only be combined in one format, on one pattern and on one back end, not ",
              format(), " of ", n_nonzero_elements(), " entries on ", backend().name(), " with ", B.format(), " of ",
              B.n_nonzero_elements(), " on ", B.backend().name(), ".");
      launch(backend(), [&](auto where) { kernel(where, a.array->size(), b.array->data(), a.array->data()); });
      if (a.constant != nullptr)
        kernel(Host(), 1, b.constant, a.constant);
    });
  }

  template <typename Number>
  void MatrixBase<Number>::set_zero()
  {
    combine(*this, [](auto where, const std::int64_t n, const Number *, Number *values) {
      kernels::set<Number>(where, n, Number(0), values);
    });
  }

  template <typename Number>
  MatrixBase<Number> &MatrixBase<Number>::operator*=(const Number factor)
  {
    combine(*this, [=](auto where, const std::int64_t n, const Number *, Number *values) {
      kernels::equ(where, n, factor, values, values);
    });
    return *this;
  }

  template <typename Number>
  void MatrixBase<Number>::add(const Number factor, const MatrixBase &B)
  {
    combine(B, [=](auto where, const std::int64_t n, const Number *of_B, Number *values) {
      kernels::sadd(where, n, Number(1), factor, of_B, values);
    });
  }

  template <typename Number>
  void MatrixBase<Number>::copy_from(const MatrixBase &B)
  {
    combine(B, [](auto where, const std::int64_t n, const Number *of_B, Number *values) {
      kernels::convert(where, n, of_B, values);
    });
  }

  template class MatrixBase<float>;
  template class MatrixBase<double>;
} // namespace PatchFEM
