// SPDX-License-Identifier: LGPL-2.1-or-later
#include <deal.II/lac/dynamic_sparsity_pattern.h>
#include <patchfem/lac/dof_numbering_dealii.h>

#include <Epetra_CrsMatrix.h>

#include <limits>
#include <numeric>
#include <utility>

namespace PatchFEM
{
  namespace
  {
    using Row = std::vector<std::pair<int, double>>;

    /** @p get_row(index, row) appends the entries of deal.II's row with deal.II's columns. */
    template <typename GetRow>
    HostCSR<double> import_rows(const std::size_t   n_rows,
                                const std::size_t   n_columns,
                                const DoFNumbering &numbering,
                                const GetRow       &get_row)
    {
      require(n_rows == numbering.size() && n_columns == numbering.size(), "A matrix of ", n_rows, " x ", n_columns,
              " is not one of ", numbering.size(), " unknowns.");
      HostCSR<double> result{static_cast<int>(n_rows), static_cast<int>(n_rows), {0}, {}, {}};
      result.row_offsets.reserve(n_rows + 1);
      Row row;
      for (std::size_t i = 0; i < n_rows; ++i)
      {
        row.clear();
        get_row(numbering.dealii(i), row);
        for (auto &entry : row)
          entry.first = static_cast<int>(numbering.patchfem(entry.first));
        result.append_row(row);
      }
      return result;
    }

    /** Calls @p use(row, columns, values), all in deal.II's numbering. */
    template <typename Use>
    void for_rows(const HostCSR<double> &matrix, const DoFNumbering &numbering, const Use &use)
    {
      std::vector<dealii::types::global_dof_index> columns;
      std::vector<double>                          values;
      for (int i = 0; i < matrix.n_rows; ++i)
      {
        columns.clear();
        for (std::int64_t e = matrix.row_offsets[i]; e < matrix.row_offsets[i + 1]; ++e)
          columns.push_back(numbering.dealii(matrix.columns[e]));
        values.assign(matrix.values.begin() + matrix.row_offsets[i], matrix.values.begin() + matrix.row_offsets[i + 1]);
        use(numbering.dealii(i), columns, values);
      }
    }

    /** @p src on @p pattern, which becomes deal.II's with the diagonal. */
    template <typename Matrix>
    void export_rows(const MatrixBase<double> &src,
                     const DoFNumbering       &numbering,
                     dealii::SparsityPattern  &pattern,
                     Matrix                   &dst)
    {
      require(std::size_t(src.n_rows()) == numbering.size() && src.n_columns() == src.n_rows(),
              "A matrix to be exported does not have a row and a column for each unknown.");
      dst.clear();
      const HostCSR<double>          matrix = src.to_csr_host();
      dealii::DynamicSparsityPattern entries(matrix.n_rows, matrix.n_columns);
      for_rows(matrix, numbering, [&](const auto row, const auto &columns, const auto &) {
        entries.add_entries(row, columns.begin(), columns.end());
      });
      pattern.copy_from(entries);
      dst.reinit(pattern);
      for_rows(matrix, numbering,
               [&](const auto row, const auto &columns, const auto &values) { dst.set(row, columns, values, false); });
    }
  } // namespace

  DoFNumbering::DoFNumbering(const std::size_t n) : theirs(n)
  {
    require(n < std::numeric_limits<int>::max(), "There are more than 2^31 - 1 unknowns.");
    std::iota(theirs.begin(), theirs.end(), 0u);
    ours = theirs;
  }

  DoFNumbering::DoFNumbering(std::vector<unsigned int> dof_indices) : theirs(std::move(dof_indices))
  {
    constexpr unsigned int none = -1;
    ours.assign(theirs.size(), none);
    for (std::size_t i = 0; i < theirs.size(); ++i)
    {
      if (theirs[i] >= ours.size() || ours[theirs[i]] != none)
        throw Error("The map of degrees of freedom is not a permutation at unknown ", i, ".");
      ours[theirs[i]] = static_cast<unsigned int>(i);
    }
  }

  template <typename Number>
  void DoFNumbering::copy_from(const dealii::Vector<double> &src, Vector<Number> &dst) const
  {
    require(src.size() == size(), "A vector of deal.II does not have an entry for each unknown.");
    std::vector<Number> values(size());
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = static_cast<Number>(src(theirs[i]));
    dst.reinit(Backend(dst.backend()), values.size(), true);
    dst.copy_from_host(values);
  }

  template <typename Number>
  void DoFNumbering::copy_to(const Vector<Number> &src, dealii::Vector<double> &dst) const
  {
    require(src.size() == size(), "A vector does not have an entry for each unknown.");
    const std::vector<Number> values = src.copy_to_host();
    dst.reinit(values.size(), true);
    for (std::size_t i = 0; i < values.size(); ++i)
      dst(theirs[i]) = values[i];
  }

  NearNullSpace DoFNumbering::near_null_space(const std::vector<dealii::Vector<double>> &modes,
                                              const Backend                             &backend) const
  {
    std::vector<std::vector<double>> values;
    for (const dealii::Vector<double> &mode : modes)
    {
      require(mode.size() == size(), "A mode does not have an entry for each unknown.");
      values.emplace_back(size());
      for (std::size_t i = 0; i < size(); ++i)
        values.back()[i] = mode(theirs[i]);
    }
    return NearNullSpace::from_vectors(backend, values);
  }

  HostCSR<double> DoFNumbering::import_matrix(const dealii::SparseMatrix<double> &matrix) const
  {
    return import_rows(matrix.m(), matrix.n(), *this, [&](const std::size_t index, Row &row) {
      for (auto entry = matrix.begin(index); entry != matrix.end(index); ++entry)
        row.emplace_back(static_cast<int>(entry->column()), entry->value());
    });
  }

  HostCSR<double> DoFNumbering::import_matrix(const dealii::TrilinosWrappers::SparseMatrix &matrix) const
  {
    const Epetra_CrsMatrix &epetra = matrix.trilinos_matrix();
    require(static_cast<std::size_t>(epetra.NumMyRows()) == matrix.m(),
            "A Trilinos matrix can only be imported if all of its rows are on this process.");
    return import_rows(matrix.m(), matrix.n(), *this, [&](const std::size_t index, Row &row) {
      int     n_entries = 0, *columns = nullptr;
      double *values = nullptr;
      if (epetra.ExtractMyRowView(epetra.LRID(static_cast<int>(index)), n_entries, values, columns) != 0)
        throw Error("Row ", index, " of a Trilinos matrix cannot be read.");
      for (int e = 0; e < n_entries; ++e)
        row.emplace_back(epetra.GCID(columns[e]), values[e]);
    });
  }

  void DoFNumbering::export_matrix(const MatrixBase<double>     &src,
                                   dealii::SparsityPattern      &pattern,
                                   dealii::SparseMatrix<double> &dst) const
  {
    export_rows(src, *this, pattern, dst);
  }

  void DoFNumbering::export_matrix(const MatrixBase<double> &src, dealii::TrilinosWrappers::SparseMatrix &dst) const
  {
    dealii::SparsityPattern pattern;
    export_rows(src, *this, pattern, dst);
    dst.compress(dealii::VectorOperation::insert);
  }

  template void DoFNumbering::copy_from(const dealii::Vector<double> &, Vector<float> &) const;
  template void DoFNumbering::copy_from(const dealii::Vector<double> &, Vector<double> &) const;
  template void DoFNumbering::copy_to(const Vector<float> &, dealii::Vector<double> &) const;
  template void DoFNumbering::copy_to(const Vector<double> &, dealii::Vector<double> &) const;
} // namespace PatchFEM
