// SPDX-License-Identifier: LGPL-2.1-or-later
#include "mdia_steps.h"

#include <patchfem/lac/matrix/format_model.h>

namespace PatchFEM
{
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
    const Backend         place = matrix.backend();
    const CSRView<Number> A     = matrix.view();
    const auto            made  = this->new_pattern(A.n_rows, A.n_rows);
    const int row = dispatch(place, [&](auto where) { return internal::build_mdia(where, place, A, *made, constant); });
    require(row == INT_MAX, "The format mdia holds one constant off the diagonal, but row ", row,
            " has an entry that differs from others.");
    pattern = made;
    matrix.extract_block_diagonal(1, values);
  }

  template <typename Number>
  void MDIAMatrix<Number>::copy_to(CSRMatrix<Number> &matrix) const
  {
    internal::compress_rows(backend(), view(), n_rows(), n_rows(), matrix);
  }

  template <typename Number>
  void MDIAMatrix<Number>::extract_block_diagonal(const int block_size, Array<Number> &blocks) const
  {
    require(block_size == 1, "A matrix of the format mdia has diagonal blocks of size 1 only, not ", block_size, ".");
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
    struct MDIAKind final : ConvertedKind<MDIAKind, MDIAMatrix>
    {
      double storage(const FormatCase &c) const override
      {
        const double slices = n_slices(c.pattern.n_rows, 32);
        return 4. * (c.pattern.stored_blocks(32) - 32. * slices) + 8. * slices +
               double(c.pattern.scalar_rows()) * c.size;
      }
      /** Length, first value and place of each row. */
      double workspace(const FormatCase &c) const override { return (12. + c.size) * double(c.pattern.scalar_rows()); }
      double efficiency(const FormatCase &, const MemoryModel &memory) const override
      {
        return memory.is_device ? 0.8 : 1.1;
      }
    };
    constexpr MDIAKind mdia_kind{};
  } // namespace
  const FormatKind &formats::mdia = mdia_kind;

  template class MDIAMatrix<float>;
  template class MDIAMatrix<double>;
} // namespace PatchFEM
