// SPDX-License-Identifier: LGPL-2.1-or-later
#include <deal.II/lac/dynamic_sparsity_pattern.h>
#include <patchfem/lac/dealii_interface_dealii.h>

#include <Epetra_CrsMatrix.h>

#include <algorithm>
#include <utility>

namespace PatchFEM
{
  namespace
  {
    /** deal.II's index of each unknown, and back. */
    class Numbering
    {
    public:
      Numbering(const std::vector<unsigned int> &dof_indices, const std::size_t n) : to_dealii(dof_indices)
      {
        if (dof_indices.empty())
          return;
        require(dof_indices.size() == n,
                "The map of degrees of freedom does not have the size of the matrix or vector.");
        from_dealii.assign(n, -1);
        for (std::size_t i = 0; i < n; ++i)
        {
          require(dof_indices[i] < n && from_dealii[dof_indices[i]] < 0,
                  "The map of degrees of freedom is not a permutation at unknown " + std::to_string(i) + ".");
          from_dealii[dof_indices[i]] = static_cast<int>(i);
        }
      }

      std::size_t dealii(const std::size_t unknown) const { return to_dealii.empty() ? unknown : to_dealii[unknown]; }
      int         ours(const std::size_t index) const
      {
        return from_dealii.empty() ? static_cast<int>(index) : from_dealii[index];
      }

    private:
      const std::vector<unsigned int> &to_dealii;
      std::vector<int>                 from_dealii;
    };

    using Row = std::vector<std::pair<int, double>>;

    /** @p get_row(index, row) appends the entries of deal.II's row with deal.II's columns. */
    template <typename GetRow>
    HostCSR<double> import_rows(const std::size_t                n_rows,
                                const std::size_t                n_columns,
                                const std::vector<unsigned int> &dof_indices,
                                const GetRow                    &get_row)
    {
      require(n_rows < INT32_MAX && n_columns < INT32_MAX, "A matrix has more than 2^31 - 1 rows or columns.");
      require(dof_indices.empty() || n_rows == n_columns, "A map of degrees of freedom needs a square matrix.");
      const Numbering numbering(dof_indices, n_rows);
      HostCSR<double> result;
      result.n_rows    = static_cast<int>(n_rows);
      result.n_columns = static_cast<int>(n_columns);
      result.row_offsets.reserve(n_rows + 1);
      result.row_offsets.push_back(0);
      Row row;
      for (std::size_t i = 0; i < n_rows; ++i)
      {
        row.clear();
        get_row(numbering.dealii(i), row);
        for (auto &entry : row)
          entry.first = numbering.ours(entry.first);
        std::sort(row.begin(), row.end());
        for (const auto &entry : row)
        {
          result.columns.push_back(entry.first);
          result.values.push_back(entry.second);
        }
        result.row_offsets.push_back(static_cast<std::int64_t>(result.columns.size()));
      }
      return result;
    }
  } // namespace

  void
  copy_from_dealii(const dealii::Vector<double> &src, Vector<double> &dst, const std::vector<unsigned int> &dof_indices)
  {
    const Numbering     numbering(dof_indices, src.size());
    std::vector<double> values(src.size());
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = src(numbering.dealii(i));
    dst.reinit(Backend(dst.backend()), values.size(), true);
    dst.copy_from_host(values);
  }

  NearNullSpace to_near_null_space(const std::vector<dealii::Vector<double>> &modes,
                                   const Backend                             &backend,
                                   const std::vector<unsigned int>           &dof_indices)
  {
    std::vector<std::vector<double>> values;
    for (const dealii::Vector<double> &mode : modes)
    {
      const Numbering numbering(dof_indices, mode.size());
      values.emplace_back(mode.size());
      for (std::size_t i = 0; i < mode.size(); ++i)
        values.back()[i] = mode(numbering.dealii(i));
    }
    return NearNullSpace::from_vectors(backend, values);
  }

  void
  copy_to_dealii(const Vector<double> &src, dealii::Vector<double> &dst, const std::vector<unsigned int> &dof_indices)
  {
    const Numbering           numbering(dof_indices, src.size());
    const std::vector<double> values = src.copy_to_host();
    dst.reinit(values.size(), true);
    for (std::size_t i = 0; i < values.size(); ++i)
      dst(numbering.dealii(i)) = values[i];
  }

  HostCSR<double> to_host_csr(const dealii::SparseMatrix<double> &matrix, const std::vector<unsigned int> &dof_indices)
  {
    return import_rows(matrix.m(), matrix.n(), dof_indices, [&](const std::size_t index, Row &row) {
      for (auto entry = matrix.begin(index); entry != matrix.end(index); ++entry)
        row.emplace_back(static_cast<int>(entry->column()), entry->value());
    });
  }

  HostCSR<double> to_host_csr(const dealii::TrilinosWrappers::SparseMatrix &matrix,
                              const std::vector<unsigned int>              &dof_indices)
  {
    const Epetra_CrsMatrix &epetra = matrix.trilinos_matrix();
    require(static_cast<std::size_t>(epetra.NumMyRows()) == matrix.m(),
            "A Trilinos matrix can only be imported if all of its rows are on this process.");
    return import_rows(matrix.m(), matrix.n(), dof_indices, [&](const std::size_t index, Row &row) {
      int     n_entries = 0, *columns = nullptr;
      double *values = nullptr;
      require(epetra.ExtractMyRowView(epetra.LRID(static_cast<int>(index)), n_entries, values, columns) == 0,
              "Row " + std::to_string(index) + " of a Trilinos matrix cannot be read.");
      for (int e = 0; e < n_entries; ++e)
        row.emplace_back(epetra.GCID(columns[e]), values[e]);
    });
  }

  namespace
  {
    /** Calls @p use(row, columns, values), all in deal.II's numbering. */
    template <typename Use>
    void for_rows(const HostCSR<double> &matrix, const std::vector<unsigned int> &dof_indices, const Use &use)
    {
      require(dof_indices.empty() || matrix.n_rows == matrix.n_columns,
              "A map of degrees of freedom needs a square matrix.");
      const Numbering                              numbering(dof_indices, matrix.n_rows);
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

    void make_pattern(const HostCSR<double>           &matrix,
                      const std::vector<unsigned int> &dof_indices,
                      dealii::SparsityPattern         &pattern)
    {
      const bool                square = matrix.n_rows == matrix.n_columns;
      std::vector<unsigned int> lengths(matrix.n_rows);
      for_rows(matrix, dof_indices, [&](const auto row, const auto &columns, const auto &) {
        const bool diagonal = std::find(columns.begin(), columns.end(), row) != columns.end();
        lengths[row]        = static_cast<unsigned int>(columns.size() + (square && !diagonal));
      });
      pattern.reinit(matrix.n_rows, matrix.n_columns, lengths);
      for_rows(matrix, dof_indices, [&](const auto row, const auto &columns, const auto &) {
        pattern.add_entries(row, columns.begin(), columns.end());
      });
      pattern.compress();
    }
  } // namespace

  void export_matrix(const MatrixBase<double>        &src,
                     dealii::SparsityPattern         &pattern,
                     dealii::SparseMatrix<double>    &dst,
                     const std::vector<unsigned int> &dof_indices)
  {
    const HostCSR<double> matrix = src.to_csr_host();
    dst.clear();
    make_pattern(matrix, dof_indices, pattern);
    dst.reinit(pattern);
    for_rows(matrix, dof_indices,
             [&](const auto row, const auto &columns, const auto &values) { dst.set(row, columns, values, false); });
  }

  void export_matrix(const MatrixBase<double>               &src,
                     dealii::TrilinosWrappers::SparseMatrix &dst,
                     const std::vector<unsigned int>        &dof_indices)
  {
    const HostCSR<double>   matrix = src.to_csr_host();
    dealii::SparsityPattern pattern;
    make_pattern(matrix, dof_indices, pattern);
    dst.clear();
    dst.reinit(pattern);
    for_rows(matrix, dof_indices,
             [&](const auto row, const auto &columns, const auto &values) { dst.set(row, columns, values, false); });
    dst.compress(dealii::VectorOperation::insert);
  }
} // namespace PatchFEM
