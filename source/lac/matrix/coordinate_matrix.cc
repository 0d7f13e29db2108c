// SPDX-License-Identifier: LGPL-2.1-or-later
#include "block_pattern.h"
#include "coordinate_steps.h"

#include <patchfem/kernels/blas1.h>
#include <patchfem/lac/matrix/format_model.h>

#include <algorithm>
#include <numeric>

namespace PatchFEM
{
  template <typename Number>
  void CoordinateMatrix<Number>::reinit(const CSRMatrix<Number> &matrix, const int n_before)
  {
    const Backend    &place = matrix.backend();
    CompressedPattern entries;
    dispatch(place, [&](auto where) {
      internal::compress_rows(where, place, internal::PartsOfRows<Number>{matrix.view(), n_before, INT_MAX},
                              matrix.n_rows(), matrix.n_columns(), entries, values);
    });
    columns = std::move(entries.columns);
    rows.reinit(place, columns.size());
    dispatch(place, [&](auto where) { internal::name_rows(where, entries.offsets, rows); });
    sizes           = matrix.extents();
    sizes.n_nonzero = values.size();
    carries.reinit(place, 2 * view().n_pieces());
  }

  template <typename Number>
  template <typename Result>
  void CoordinateMatrix<Number>::add(const double factor, const Number *x, Result *y) const
  {
    launch(backend(), [&](auto where) { kernels::add_product(where, view(), factor, x, y, carries.data()); });
  }

  template <typename Number>
  void CoordinateMatrix<Number>::vmult(Vector<Number> &dst, const Vector<Number> &src) const
  {
    this->check_product(dst, src);
    dst = Number(0);
    add(1., src.data(), dst.data());
  }

  template <typename Number>
  void CoordinateMatrix<Number>::vmult_add(Vector<Number> &dst, const Vector<Number> &src) const
  {
    this->check_product(dst, src);
    add(1., src.data(), dst.data());
  }

  template <typename Number>
  void CoordinateMatrix<Number>::residual(Vector<Number> &r, const Vector<Number> &x, const Vector<Number> &b) const
  {
    this->check_residual(r, x, b);
    launch(backend(), [&](auto where) { kernels::convert(where, r.size(), b.data(), r.data()); });
    add(-1., x.data(), r.data());
  }

  template <typename Number>
  void CoordinateMatrix<Number>::extract_block_diagonal(const int block_size, Array<Number> &blocks) const
  {
    check_block_diagonal(this->n_rows(), this->n_columns(), block_size);
    blocks.reinit(backend(), std::size_t(this->n_rows()) * block_size);
    blocks.set_zero();
    dispatch(backend(), [&](auto where) { internal::block_diagonal(where, view(), block_size, blocks); });
  }

  template <typename Number>
  HostCSR<Number> CoordinateMatrix<Number>::to_csr_host() const
  {
    std::vector<std::int64_t> offsets(std::size_t(this->n_rows()) + 1, 0);
    for (const int row : rows.to_vector())
      ++offsets[std::size_t(row) + 1];
    std::partial_sum(offsets.begin(), offsets.end(), offsets.begin());
    return {this->n_rows(), this->n_columns(), std::move(offsets), columns.to_vector(), values.to_vector()};
  }

  template <typename Number>
  void HybridMatrix<Number>::reinit(const CSRMatrix<Number> &matrix, const AdditionalData &additional_data)
  {
    require(additional_data.width >= 0, "The width of the ELLPACK part of a hybrid matrix must not be negative.");
    const Backend &place = matrix.backend();

    // The largest width that a third of the rows fill.
    int width = additional_data.width;
    if (width == 0 && matrix.n_rows() > 0)
    {
      std::vector<std::int64_t> lengths(std::size_t(matrix.n_rows()) + 1);
      memory::copy(Backend(BackendKind::host), lengths.data(), place, matrix.view().row_offsets,
                   lengths.size() * sizeof(std::int64_t));
      std::adjacent_difference(lengths.begin(), lengths.end(), lengths.begin());
      const auto third = lengths.end() - (matrix.n_rows() + 2) / 3;
      std::nth_element(lengths.begin() + 1, third, lengths.end());
      width = static_cast<int>(*third);
    }
    CSRMatrix<Number> first;
    internal::compress_rows(place, internal::PartsOfRows<Number>{matrix.view(), 0, width}, matrix.n_rows(),
                            matrix.n_columns(), first);
    regular.reinit(first, 1, 1, {additional_data.slice_height});
    first = CSRMatrix<Number>(); // gives memory back
    rest.reinit(matrix, width);
    sizes = {matrix.n_rows(), matrix.n_columns(), 1, 1, matrix.n_nonzero_elements()};
    sums_of_rest.reinit(place, std::is_same_v<Number, double> ? 0 : this->n_rows());
  }

  template <typename Number>
  void HybridMatrix<Number>::vmult(Vector<Number> &dst, const Vector<Number> &src) const
  {
    regular.vmult(dst, src);
    rest.add(1., src.data(), dst.data());
  }

  template <typename Number>
  void HybridMatrix<Number>::vmult_add(Vector<Number> &dst, const Vector<Number> &src) const
  {
    regular.vmult_add(dst, src);
    rest.add(1., src.data(), dst.data());
  }

  template <typename Number>
  void HybridMatrix<Number>::residual(Vector<Number> &r, const Vector<Number> &x, const Vector<Number> &b) const
  {
    if constexpr (std::is_same_v<Number, double>)
    {
      regular.residual(r, x, b);
      rest.add(-1., x.data(), r.data());
    }
    else
    {
      // One after the other would round each row twice to single precision: what the second part gives waits in double.
      this->check_residual(r, x, b);
      sums_of_rest.set_zero();
      rest.add(1., x.data(), sums_of_rest.data());
      dispatch(backend(), [&](auto where) {
        internal::hybrid_residual(where, regular, x.data(), b.data(), sums_of_rest.data(), r.data());
      });
    }
  }

  template <typename Number>
  void HybridMatrix<Number>::extract_block_diagonal(const int block_size, Array<Number> &blocks) const
  {
    regular.extract_block_diagonal(block_size, blocks);
    dispatch(backend(), [&](auto where) { internal::block_diagonal(where, rest.view(), 1, blocks); });
  }

  template <typename Number>
  HostCSR<Number> HybridMatrix<Number>::to_csr_host() const
  {
    const HostCSR<Number> first = regular.to_csr_host(), last = rest.to_csr_host();
    HostCSR<Number>       result{first.n_rows, first.n_columns, {0}, {}, {}};
    for (int row = 0; row < first.n_rows; ++row)
    {
      std::vector<std::pair<int, Number>> entries;
      for (const HostCSR<Number> *part : {&first, &last})
        for (std::int64_t e = part->row_offsets[row]; e < part->row_offsets[row + 1]; ++e)
          entries.emplace_back(part->columns[e], part->values[e]);
      result.append_row(entries);
    }
    return result;
  }

  namespace
  {
    struct CoordinateKind final : ConvertedKind<CoordinateKind, CoordinateMatrix>
    {
      double storage(const FormatCase &c) const override { return double(c.pattern.n_entries()) * (c.size + 8.); }
      /** Lengths and places of rows. */
      double workspace(const FormatCase &c) const override { return 12. * double(c.pattern.scalar_rows()); }
      /** Entries are added to a result of zeros. */
      double traffic(const FormatCase &c) const override
      {
        return storage(c) + double(c.pattern.scalar_rows()) * c.size;
      }
      double efficiency(const FormatCase &c, const MemoryModel &memory) const override
      {
        return memory.is_device ? c.pattern.share_of_rate(0.73, 1.2) : 1.1;
      }
    };

    struct HybridKind final : ConvertedKind<HybridKind, HybridMatrix>
    {
      double storage(const FormatCase &c) const override
      {
        // The width that a third of the rows fill, and blocks behind it for each row.
        const std::vector<int> &l     = c.pattern.lengths;
        const int               width = l.empty() ? 0 : l[l.size() - (l.size() + 2) / 3];
        double                  rest  = 0.;
        for (auto length = l.rbegin(); length != l.rend() && *length > width; ++length)
          rest += double(*length - width) / double(l.size());
        return double(c.pattern.scalar_rows()) *
               (c.pattern.block_columns * (width * (c.size + 4.) + rest * (c.size + 8.)) + 4.25);
      }
      /** The lengths of rows in ELLPACK are not read. */
      double traffic(const FormatCase &c) const override { return storage(c) - 4. * double(c.pattern.scalar_rows()); }
      /** A copy in compressed rows of the entries in ELLPACK. */
      double workspace(const FormatCase &c) const override
      {
        return double(c.pattern.n_entries()) * (c.size + 4.) + 24. * double(c.pattern.scalar_rows());
      }
      double efficiency(const FormatCase &c, const MemoryModel &memory) const override
      {
        return memory.is_device ? c.pattern.share_of_rate(0.97, 1.6) : 1.15;
      }
    };
    constexpr CoordinateKind coordinate_kind{};
    constexpr HybridKind     hybrid_kind{};
  } // namespace
  const FormatKind &formats::coordinate = coordinate_kind, &formats::hybrid = hybrid_kind;

  template class CoordinateMatrix<float>;
  template class CoordinateMatrix<double>;
  template class HybridMatrix<float>;
  template class HybridMatrix<double>;
} // namespace PatchFEM
