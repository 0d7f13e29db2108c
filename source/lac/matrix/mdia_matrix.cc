// SPDX-License-Identifier: LGPL-2.1-or-later
#include "block_pattern.h"
#include "kernels/run.h"

#include <patchfem/kernels/blas1.h>
#include <patchfem/kernels/primitives.h>
#include <patchfem/kernels/sliced_ellpack.h>
#include <patchfem/lac/matrix/format_model.h>
#include <patchfem/lac/matrix/mdia_matrix.h>

#include <climits>
#include <limits>

namespace PatchFEM
{
  template <typename Number>
  void MDIAMatrix<Number>::reinit(const Backend &backend, const SparsityView &entries, const Number value)
  {
    require(entries.n_rows == entries.n_columns, "A matrix of the format mdia must be square.");
    constexpr int height   = MDIAView<Number>::slice_height;
    const int     n        = entries.n_rows;
    const int     n_slices = PatchFEM::n_slices(n, height);
    constant               = value;
    const auto made        = this->new_pattern(n, n);

    Array<int>          counts(backend, n);
    Array<std::int64_t> offsets(backend, std::size_t(n) + 1);
    run(backend, n, kernels::OffDiagonalBody{entries, counts.data(), nullptr, nullptr});
    dispatch(backend, [&](auto where) { kernels::exclusive_scan(where, n, counts.data(), offsets.data()); });
    Array<int> columns(backend, offsets.read(n));
    run(backend, n, kernels::OffDiagonalBody{entries, nullptr, offsets.data(), columns.data()});

    const SparsityView off_diagonal{n, n, offsets.data(), columns.data()};
    made->n_nonzero = columns.size() + n;
    made->slice_offsets.reinit(backend, std::size_t(n_slices) + 1);
    dispatch(backend, [&](auto where) {
      kernels::slice_offsets(where, off_diagonal, height, made->slice_offsets.data(), counts.data());
    });
    made->columns.reinit(backend, read_offset(backend, made->slice_offsets.data(), n_slices));
    run(backend, std::int64_t(n_slices) * height,
        kernels::MDIAColumnsBody{off_diagonal, made->slice_offsets.data(), made->columns.data()});
    pattern = made;
    values.reinit(backend, n);
    values.set_zero();
  }

  template <typename Number>
  void MDIAMatrix<Number>::reinit(const int             n,
                                  const Number          value,
                                  Array<std::int64_t> &&slice_offsets,
                                  Array<int>          &&columns,
                                  const std::int64_t    n_off_diagonal)
  {
    require(std::int64_t(slice_offsets.size()) == PatchFEM::n_slices(n, MDIAView<Number>::slice_height) + 1,
            "Slices of an mDIA matrix do not fit its rows.");
    const Backend backend = slice_offsets.backend();
    const auto    made    = this->new_pattern(n, n);
    made->n_nonzero       = n_off_diagonal + n;
    made->slice_offsets   = std::move(slice_offsets);
    made->columns         = std::move(columns);
    pattern               = made;
    constant              = value;
    values.reinit(backend, n);
  }

  template <typename Number>
  void MDIAMatrix<Number>::reinit(const CSRMatrix<Number> &matrix)
  {
    require(matrix.n_rows() == matrix.n_columns(), "A matrix of the format mdia must be square.");
    const Backend         place     = matrix.backend();
    const CSRView<Number> A         = matrix.view();
    const int             n         = A.n_rows;
    const double          tolerance = 1000. * std::numeric_limits<Number>::epsilon();
    Array<Number>         seen(place, n);
    Array<int>            row(place, std::vector<int>{INT_MAX}), counts(place, n);
    run(place, n, kernels::OffDiagonalValueBody<Number>{A, tolerance, seen.data(), row.data()});
    const int    first = row.read(0);
    const Number value = first < n ? seen.read(first) : Number(0);

    row.copy_from(place, std::vector<int>{INT_MAX});
    run(place, n,
        kernels::ConstantEntriesBody<Number>{A, tolerance, value, counts.data(), nullptr, nullptr, row.data()});
    const int bad_row = row.read(0);
    require(bad_row == INT_MAX, "The format mdia holds one constant off the diagonal, but row " +
                                    std::to_string(bad_row) + " has an entry that differs from others.");
    Array<std::int64_t> offsets(place, std::size_t(n) + 1);
    dispatch(place, [&](auto where) { kernels::exclusive_scan(where, n, counts.data(), offsets.data()); });
    Array<int> columns(place, offsets.read(n));
    run(place, n,
        kernels::ConstantEntriesBody<Number>{A, tolerance, value, nullptr, offsets.data(), columns.data(), nullptr});
    reinit(place, {n, n, offsets.data(), columns.data()}, value);
    matrix.extract_block_diagonal(1, values);
  }

  template <typename Number>
  void MDIAMatrix<Number>::copy_to(CSRMatrix<Number> &matrix) const
  {
    const Backend      &place = backend();
    const int           n     = n_rows();
    Array<int>          counts(place, n);
    Array<std::int64_t> offsets(place, std::size_t(n) + 1);
    run(place, n, kernels::MDIAToCSRBody<Number>{view(), counts.data(), {}, nullptr});
    dispatch(place, [&](auto where) { kernels::exclusive_scan(where, n, counts.data(), offsets.data()); });
    Array<int>    columns(place, this->n_nonzero_elements());
    Array<Number> entries(place, this->n_nonzero_elements());
    run(place, n,
        kernels::MDIAToCSRBody<Number>{
            view(), nullptr, {n, n, offsets.data(), columns.data(), entries.data()}, columns.data()});
    matrix.reinit(place, SparsityView{n, n, offsets.data(), columns.data()});
    dispatch(place, [&](auto where) { kernels::convert(where, entries.size(), entries.data(), matrix.view().values); });
  }

  template <typename Number>
  MDIAView<Number> MDIAMatrix<Number>::view() const
  {
    return {n_rows(), constant, pattern->slice_offsets.data(), pattern->columns.data(), values.data()};
  }

  template <typename Number>
  void MDIAMatrix<Number>::extract_block_diagonal(const int block_size, Array<Number> &blocks) const
  {
    require(block_size == 1,
            "A matrix of the format mdia has diagonal blocks of size 1 only, not " + std::to_string(block_size) + ".");
    blocks.copy_from(backend(), values);
  }

  template <typename Number>
  HostCSR<Number> MDIAMatrix<Number>::to_csr_host() const
  {
    CSRMatrix<Number> csr;
    copy_to(csr);
    return csr.to_csr_host();
  }

  namespace
  {
    struct MDIAKind final : ConvertedKind<MDIAKind>
    {
      constexpr MDIAKind() : ConvertedKind(0) {}

      double storage(const FormatCase &c) const override
      {
        const double slices = n_slices(c.pattern.n_rows, 32);
        return 4. * (c.pattern.stored_blocks(32) - 32. * slices) + 8. * slices +
               double(c.pattern.scalar_rows()) * c.size;
      }
      /** Columns off the diagonal. */
      double workspace(const FormatCase &c) const override
      {
        return 4. * double(c.pattern.n_entries()) + 12. * double(c.pattern.scalar_rows());
      }
      double efficiency(const FormatCase &, const MemoryModel &memory) const override
      {
        return memory.is_device ? 0.8 : 1.1;
      }
      template <typename Number>
      std::unique_ptr<MatrixBase<Number>> make_of(const MatrixBase<Number> &A, const MatrixFormat &) const
      {
        return made_of_rows<MDIAMatrix>(A);
      }
    };
    constexpr MDIAKind mdia_kind;
  } // namespace
  const FormatKind &formats::mdia = mdia_kind;

  template class MDIAMatrix<float>;
  template class MDIAMatrix<double>;
} // namespace PatchFEM
