// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/run.h"

#include <patchfem/kernels/blas1.h>
#include <patchfem/kernels/primitives.h>
#include <patchfem/lac/matrix/coordinate_matrix.h>
#include <patchfem/lac/matrix/format_model.h>

#include <algorithm>

namespace PatchFEM
{
  template <typename Number>
  void CoordinateMatrix<Number>::reinit(const CSRMatrix<Number> &matrix)
  {
    const Backend        &place = matrix.backend();
    const CSRView<Number> csr   = matrix.view();
    size_rows                   = csr.n_rows;
    size_columns                = csr.n_columns;
    n_block_rows                = matrix.block_rows();
    n_block_columns             = matrix.block_columns();
    const std::size_t n         = matrix.n_nonzero_elements();
    rows.reinit(place, n);
    columns.reinit(place, n);
    values.reinit(place, n);
    run(place, size_rows,
        kernels::CopyRowsBody<Number>{csr, false, csr.row_offsets, rows.data(), columns.data(), values.data()});
    carries.reinit(place, 2 * view().n_pieces());
  }

  template <typename Number>
  CoordinateView<Number> CoordinateMatrix<Number>::view() const
  {
    return {size_rows,   size_columns,   static_cast<std::int64_t>(values.size()),
            rows.data(), columns.data(), values.data()};
  }

  template <typename Number>
  template <typename Result>
  void CoordinateMatrix<Number>::add(const double factor, const Number *x, Result *y) const
  {
    const CoordinateView<Number> A = view();
    dispatch(backend(), [&](auto where) { kernels::add_pieces(where, A, factor, x, y, carries.data()); });
    run(backend(), A.n_pieces(), kernels::CoordinateCarryBody<Number, Result>{A, factor, carries.data(), y});
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
    dispatch(backend(), [&](auto where) { kernels::convert(where, r.size(), b.data(), r.data()); });
    add(-1., x.data(), r.data());
  }

  template <typename Number>
  void CoordinateMatrix<Number>::extract_block_diagonal(const int block_size, Array<Number> &blocks) const
  {
    require(block_size >= 1 && block_size <= kernels::max_block_size && size_rows % block_size == 0,
            "The rows of a matrix are not a multiple of the block size " + std::to_string(block_size) + ".");
    require(size_rows <= size_columns, "A matrix with more rows than columns has no block diagonal.");
    blocks.reinit(backend(), static_cast<std::size_t>(size_rows) * block_size);
    blocks.set_zero();
    run(backend(), static_cast<std::int64_t>(values.size()),
        kernels::CoordinateDiagonalBody<Number>{view(), block_size, size_rows / block_size, blocks.data()});
  }

  template <typename Number>
  HostCSR<Number> CoordinateMatrix<Number>::to_csr_host() const
  {
    HostCSR<Number> result{size_rows, size_columns, std::vector<std::int64_t>(std::size_t(size_rows) + 1, 0),
                           columns.to_vector(), values.to_vector()};
    for (const int row : rows.to_vector())
      ++result.row_offsets[std::size_t(row) + 1];
    for (int row = 0; row < size_rows; ++row)
      result.row_offsets[row + 1] += result.row_offsets[row];
    return result;
  }

  template <typename Number>
  std::size_t CoordinateMatrix<Number>::memory_consumption() const
  {
    return rows.memory_consumption() + columns.memory_consumption() + values.memory_consumption() +
           carries.memory_consumption();
  }

  template <typename Number>
  void HybridMatrix<Number>::reinit(const CSRMatrix<Number> &matrix, const AdditionalData &additional_data)
  {
    require(additional_data.width >= 0, "The width of the ELLPACK part of a hybrid matrix must not be negative.");
    const Backend        &place  = matrix.backend();
    const CSRView<Number> csr    = matrix.view();
    const int             n_rows = csr.n_rows;
    Array<int>            fitting(place, n_rows), others(place, n_rows);

    // The largest width that a third of the rows fill.
    int width = additional_data.width;
    if (width == 0)
    {
      run(place, n_rows, kernels::SplitRowBody{csr.row_offsets, INT32_MAX, fitting.data(), others.data()});
      std::vector<int>  lengths = fitting.to_vector();
      const std::size_t third   = lengths.size() - (lengths.size() + 2) / 3;
      std::nth_element(lengths.begin(), lengths.begin() + third, lengths.end());
      width = lengths.empty() ? 0 : lengths[third];
    }
    run(place, n_rows, kernels::SplitRowBody{csr.row_offsets, width, fitting.data(), others.data()});

    Array<std::int64_t> offsets(place, std::size_t(n_rows) + 1), rest_offsets(place, std::size_t(n_rows) + 1);
    dispatch(place, [&](auto where) {
      kernels::exclusive_scan(where, n_rows, fitting.data(), offsets.data());
      kernels::exclusive_scan(where, n_rows, others.data(), rest_offsets.data());
    });
    Array<int>    columns(place, offsets.read(n_rows));
    Array<Number> values(place, columns.size());
    run(place, n_rows,
        kernels::CopyRowsBody<Number>{csr, false, offsets.data(), nullptr, columns.data(), values.data()});
    regular.reinit(place, SparsityView{n_rows, csr.n_columns, offsets.data(), columns.data()}, 1, 1,
                   {additional_data.slice_height});
    const CSRView<Number> first{n_rows, csr.n_columns, offsets.data(), columns.data(), values.data()};
    dispatch(place, [&](auto where) { kernels::fill_values(where, first, regular.row_lengths(), regular.view()); });

    rest.size_rows    = n_rows;
    rest.size_columns = csr.n_columns;
    rest.rows.reinit(place, rest_offsets.read(n_rows));
    rest.columns.reinit(place, rest.rows.size());
    rest.values.reinit(place, rest.rows.size());
    rest.carries.reinit(place, 2 * rest.view().n_pieces());
    run(place, n_rows,
        kernels::CopyRowsBody<Number>{csr, true, rest_offsets.data(), rest.rows.data(), rest.columns.data(),
                                      rest.values.data()});
    sums_of_rest.reinit(place, std::is_same_v<Number, double> ? 0 : n_rows);
  }

  template <typename Number>
  std::size_t HybridMatrix<Number>::memory_consumption() const
  {
    return regular.memory_consumption() + rest.memory_consumption() + sums_of_rest.memory_consumption();
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
      run(backend(), n_rows(),
          kernels::HybridResidualBody<Number>{regular.view(), regular.row_lengths(), x.data(), b.data(),
                                              sums_of_rest.data(), r.data()});
    }
  }

  template <typename Number>
  void HybridMatrix<Number>::extract_block_diagonal(const int block_size, Array<Number> &blocks) const
  {
    regular.extract_block_diagonal(block_size, blocks);
    run(backend(), rest.n_nonzero_elements(),
        kernels::CoordinateDiagonalBody<Number>{rest.view(), 1, n_rows(), blocks.data()});
  }

  template <typename Number>
  HostCSR<Number> HybridMatrix<Number>::to_csr_host() const
  {
    const HostCSR<Number> first = regular.to_csr_host(), last = rest.to_csr_host();
    HostCSR<Number>       result{first.n_rows, first.n_columns, {0}, {}, {}};
    for (int row = 0; row < first.n_rows; ++row)
    {
      for (const HostCSR<Number> *part : {&first, &last})
        for (std::int64_t e = part->row_offsets[row]; e < part->row_offsets[row + 1]; ++e)
        {
          result.columns.push_back(part->columns[e]);
          result.values.push_back(part->values[e]);
        }
      result.row_offsets.push_back(result.columns.size());
    }
    return result;
  }

  namespace
  {
    struct CoordinateKind final : ConvertedKind<CoordinateKind>
    {
      constexpr CoordinateKind() : ConvertedKind(0) {}

      double storage(const FormatCase &c) const override { return double(c.pattern.n_entries()) * (c.size + 8.); }
      /** Entries are added to a result of zeros. */
      double traffic(const FormatCase &c) const override
      {
        return storage(c) + double(c.pattern.scalar_rows()) * c.size;
      }
      double efficiency(const FormatCase &c, const MemoryModel &memory) const override
      {
        return memory.is_device ? c.pattern.share_of_rate(0.73, 1.2) : 1.1;
      }
      template <typename Number>
      std::unique_ptr<MatrixBase<Number>> make_of(const MatrixBase<Number> &A, const MatrixFormat &) const
      {
        return made_of_rows<CoordinateMatrix>(A);
      }
    };

    struct HybridKind final : ConvertedKind<HybridKind>
    {
      constexpr HybridKind() : ConvertedKind(0) {}

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
      template <typename Number>
      std::unique_ptr<MatrixBase<Number>> make_of(const MatrixBase<Number> &A, const MatrixFormat &) const
      {
        return made_of_rows<HybridMatrix>(A);
      }
    };
    constexpr CoordinateKind coordinate_kind;
    constexpr HybridKind     hybrid_kind;
  } // namespace
  const FormatKind &formats::coordinate = coordinate_kind, &formats::hybrid = hybrid_kind;

  template class CoordinateMatrix<float>;
  template class CoordinateMatrix<double>;
  template class HybridMatrix<float>;
  template class HybridMatrix<double>;
} // namespace PatchFEM
