// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/assembly/face_quadrature.h>
#include <patchfem/assembly/fe_space_dealii.h>
#include <patchfem/base/threads.h>

#include <deal.II/lac/vector.h>

#include <algorithm>
#include <cmath>
#include <optional>

namespace PatchFEM
{
  template <int dim>
  std::vector<std::vector<double>> evaluate_at_quadrature_points(const dealii::Function<dim> &function,
                                                                 const ElementTables         &tables)
  {
    const unsigned int               n_components = function.n_components;
    std::vector<std::vector<double>> all;
    for (const CellTable &batch : tables.batches)
    {
      const unsigned int n = batch.reference.n_quadrature;
      all.emplace_back(std::size_t(batch.n_cells) * n * n_components);
      double *const values_of_batch = all.back().data();
      for_shares(batch.n_cells, [&](const std::int64_t begin, const std::int64_t end) {
        std::vector<double>                 coordinates(std::size_t(n) * dim), scalars(n);
        std::vector<dealii::Point<dim>>     points(n);
        std::vector<dealii::Vector<double>> vectors(n, dealii::Vector<double>(n_components));
        for (std::int64_t cell = begin; cell < end; ++cell)
        {
          double *const values = values_of_batch + cell * n * n_components;
          cell_quadrature_points(tables, batch, static_cast<int>(cell), coordinates.data());
          for (unsigned int i = 0; i < n * dim; ++i)
            points[i / dim][i % dim] = coordinates[i];
          if (n_components == 1)
          {
            function.value_list(points, scalars);
            std::copy(scalars.begin(), scalars.end(), values);
          }
          else
          {
            function.vector_value_list(points, vectors);
            for (unsigned int q = 0; q < n; ++q)
              std::copy(vectors[q].begin(), vectors[q].end(), values + q * n_components);
          }
          for (unsigned int i = 0; i < n * n_components; ++i)
            if (!std::isfinite(values[i]))
            {
              std::string place;
              for (unsigned int d = 0; d < dim; ++d)
                place += (d > 0 ? ", " : "") + std::to_string(points[i / n_components][d]);
              throw Error("Component ", i % n_components, " of a function is not finite at (", place,
                          "): correct its expression there.");
            }
        }
      });
    }
    return all;
  }

  /** What ties a space to its DoFHandler. */
  template <int dim>
  struct FESpace<dim>::Source
  {
    bool                               mesh_changed = false;
    boost::signals2::scoped_connection connection;
    std::optional<DoFNumbering>        numbering; ///< made when it is first asked for, as is what follows
    std::vector<unsigned int>          owned_dofs;
  };

  template <int dim>
  void FESpace<dim>::reinit(const Backend                           &backend,
                            const dealii::Mapping<dim>              &mapping,
                            const dealii::DoFHandler<dim>           &dof_handler,
                            const dealii::AffineConstraints<double> &constraints,
                            const ExtractionData<dim>               &extraction,
                            const Space::AdditionalData             &order)
  {
    static_cast<Space &>(*this) =
        Space(backend, extract_element_tables(mapping, dof_handler, constraints, extraction), order);
    source = std::make_shared<Source>();
    source->connection =
        dof_handler.get_triangulation().signals.any_change.connect([s = source.get()] { s->mesh_changed = true; });
  }

  template <int dim>
  void FESpace<dim>::check_mesh() const
  {
    require(source != nullptr, "A space was used before it was made.");
    require(!source->mesh_changed, "The mesh has changed since the space was made of it; call FESpace::reinit().");
  }

  template <int dim>
  const DoFNumbering &FESpace<dim>::numbering() const
  {
    check_mesh();
    require(!this->tables().ranks.several(),
            "A space of several ranks has no numbering of all unknowns; copy to a vector of all ranks.");
    if (!source->numbering)
      source->numbering.emplace(this->batches().dof_indices().to_vector());
    return *source->numbering;
  }

  template <int dim>
  const std::vector<unsigned int> &FESpace<dim>::owned_dofs() const
  {
    check_mesh();
    const ElementTables       &tables = this->tables();
    std::vector<unsigned int> &dofs   = source->owned_dofs;
    const std::size_t          n      = std::size_t(tables.n_owned_nodes()) * tables.n_components;
    for (std::size_t i = dofs.size(); i < n; ++i)
      dofs.push_back(tables.dof_index(i));
    return dofs;
  }

  template <int dim>
  void FESpace<dim>::check_coupling(const HostCSR<double> &matrix) const
  {
    const Sparsity                 &sparsity = this->sparsity();
    const std::vector<std::int64_t> offsets  = sparsity.row_offsets().to_vector();
    const std::vector<int>          columns  = sparsity.column_indices().to_vector();
    require(std::int64_t(columns.size()) == sparsity.n_blocks(),
            "The columns of a space were given back before a matrix was imported.");
    // Nodes that are constrained in all components have nothing but their diagonal in the sparsity.
    const int    n          = this->batches().n_components();
    const auto   is_coupled = [&](const int node) { return offsets[node + 1] - offsets[node] > 1; };
    std::int64_t n_inside = 0, n_outside = 0;
#pragma omp parallel for schedule(static) reduction(+ : n_inside, n_outside)
    for (int row = 0; row < matrix.n_rows; ++row)
      if (is_coupled(row / n))
        for (std::int64_t e = matrix.row_offsets[row]; e < matrix.row_offsets[row + 1]; ++e)
          if (matrix.values[e] != 0. && is_coupled(matrix.columns[e] / n))
          {
            const auto begin = columns.begin() + offsets[row / n], end = columns.begin() + offsets[row / n + 1];
            ++(std::binary_search(begin, end, matrix.columns[e] / n) ? n_inside : n_outside);
          }
    if (10 * n_outside > n_inside)
      throw Error(n_outside, " of ", n_inside + n_outside,
                  " entries of the matrix couple unknowns whose nodes share no cell of the space: it is one of other "
                  "indices.");
  }

  template <int dim>
  CoefficientField FESpace<dim>::evaluate(const dealii::Function<dim> &function) const
  {
    check_mesh();
    return CoefficientField::at_quadrature_points(static_cast<int>(function.n_components),
                                                  evaluate_at_quadrature_points(function, this->tables()));
  }

  template <int dim>
  void FESpace<dim>::update_inhomogeneities(const dealii::AffineConstraints<double> &constraints)
  {
    check_mesh();
    const ConstraintTable &lines   = this->tables().constraints;
    const RankTables      &ranks   = this->tables().ranks;
    const std::int64_t     n_owned = std::int64_t(this->tables().n_owned_nodes()) * this->tables().n_components;
    std::vector<double>    values(lines.n_lines());
    const auto             read = [&] {
      require(ranks.several() || constraints.n_constraints() == lines.n_lines(),
                          "The constraints are not those of the space with other inhomogeneities: their number differs.");
      for (std::size_t l = 0; l < values.size() && lines.constrained[l] < n_owned; ++l) // those of ghosts have owners
      {
        const unsigned int dof     = this->tables().dof_index(lines.constrained[l]);
        const auto        *entries = constraints.get_constraint_entries(dof);
        std::int64_t       m       = lines.offsets[l];
        bool               same = entries != nullptr && m + std::int64_t(entries->size()) == lines.offsets[l + 1];
        for (std::size_t e = 0; same && e < entries->size(); ++e, ++m)
          same = (*entries)[e].first == this->tables().dof_index(lines.masters[m]) &&
                 std::abs((*entries)[e].second - lines.weights[m]) <= 1e-12;
        if (!same)
          throw Error("The constraints are not those of the space with other inhomogeneities: they differ at index ",
                                  dof, ".");
        values[l] = constraints.get_inhomogeneity(dof);
      }
    };
    if (ranks.several())
      ranks.communicator->together(read);
    else
      read();
    Space::update_inhomogeneities(values);
  }

  template std::vector<std::vector<double>> evaluate_at_quadrature_points(const dealii::Function<2> &,
                                                                          const ElementTables &);
  template std::vector<std::vector<double>> evaluate_at_quadrature_points(const dealii::Function<3> &,
                                                                          const ElementTables &);
  template class FESpace<2>;
  template class FESpace<3>;
} // namespace PatchFEM
