// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/assembly/face_quadrature.h>
#include <patchfem/assembly/fe_space_dealii.h>
#include <patchfem/base/threads.h>

#include <deal.II/lac/vector.h>

#include <boost/functional/hash.hpp>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <optional>

namespace PatchFEM
{
  namespace
  {
    /** Values of a function of one or several components at sets of points; an object for each thread. */
    template <int dim>
    class FunctionValues
    {
    public:
      explicit FunctionValues(const dealii::Function<dim> &function) : function(function) {}

      /** @p coordinates: [point][dim], @p values: [point][component]. Throws Error where one is not finite. */
      void evaluate(const std::size_t n, const double *coordinates, double *values)
      {
        const unsigned int n_components = function.n_components;
        points.resize(n);
        for (std::size_t i = 0; i < n * dim; ++i)
          points[i / dim][i % dim] = coordinates[i];
        if (n_components == 1)
        {
          scalars.resize(n);
          function.value_list(points, scalars);
          std::copy(scalars.begin(), scalars.end(), values);
        }
        else
        {
          vectors.resize(n, dealii::Vector<double>(n_components));
          function.vector_value_list(points, vectors);
          for (std::size_t q = 0; q < n; ++q)
            std::copy(vectors[q].begin(), vectors[q].end(), values + q * n_components);
        }
        for (std::size_t i = 0; i < n * n_components; ++i)
          if (!std::isfinite(values[i]))
          {
            std::string place;
            for (unsigned int d = 0; d < dim; ++d)
              place += (d > 0 ? ", " : "") + std::to_string(points[i / n_components][d]);
            throw Error("Component ", i % n_components, " of a function is not finite at (", place,
                        "): correct its expression there.");
          }
      }

    private:
      const dealii::Function<dim>        &function;
      std::vector<dealii::Point<dim>>     points;
      std::vector<double>                 scalars;
      std::vector<dealii::Vector<double>> vectors;
    };
  } // namespace

  template <int dim>
  std::vector<std::vector<double>> evaluate_at_quadrature_points(const dealii::Function<dim> &function,
                                                                 const ElementTables         &tables)
  {
    std::vector<std::vector<double>> all;
    for (const CellTable &batch : tables.batches)
    {
      const std::size_t n = batch.reference.n_quadrature;
      all.emplace_back(batch.n_cells * n * function.n_components);
      double *const values_of_batch = all.back().data();
      for_shares(batch.n_cells, [&](const std::int64_t begin, const std::int64_t end) {
        std::vector<double> coordinates(n * dim);
        FunctionValues<dim> values(function);
        for (std::int64_t cell = begin; cell < end; ++cell)
        {
          cell_quadrature_points(tables, batch, static_cast<int>(cell), coordinates.data());
          values.evaluate(n, coordinates.data(), values_of_batch + cell * n * function.n_components);
        }
      });
    }
    return all;
  }

  /** What ties a space to its DoFHandler. */
  template <int dim>
  struct FESpace<dim>::Source
  {
    explicit Source(const dealii::DoFHandler<dim> &dof_handler)
        : handler(dof_handler),
          connection(handler.get_triangulation().signals.any_change.connect([this] { mesh_changed = true; }))
    {
      handler.subscribe(&handler_lives);
      for (const auto &cell : handler.active_cell_iterators())
        if (cell->is_locally_owned())
          sample.emplace_back(cell->level(), cell->index());
      const std::size_t n = sample.size(), stride = (n + most_cells - 1) / most_cells;
      for (std::size_t i = 0; stride > 1 && i * stride < n; ++i)
        sample[i] = sample[i * stride];
      sample.resize(stride > 1 ? (n + stride - 1) / stride : n);
      known = digests();
    }
    ~Source()
    {
      if (handler_lives)
        handler.unsubscribe(&handler_lives);
    }

    /** Of indices of unknowns and of material ids in the sample. */
    std::pair<std::size_t, std::size_t> digests() const
    {
      std::pair<std::size_t, std::size_t>          result{0, 0};
      std::vector<dealii::types::global_dof_index> indices;
      for (const auto &place : sample)
      {
        const typename dealii::DoFHandler<dim>::active_cell_iterator cell(&handler.get_triangulation(), place.first,
                                                                          place.second, &handler);
        indices.resize(cell->get_fe().n_dofs_per_cell());
        cell->get_dof_indices(indices);
        boost::hash_range(result.first, indices.begin(), indices.end());
        boost::hash_combine(result.second, cell->material_id());
      }
      return result;
    }

    static constexpr std::size_t most_cells = 4096;

    const dealii::DoFHandler<dim>      &handler;
    std::atomic<bool>                   handler_lives{true};
    bool                                mesh_changed = false;
    boost::signals2::scoped_connection  connection;
    std::vector<std::pair<int, int>>    sample; ///< level and index of cells
    std::pair<std::size_t, std::size_t> known;
    std::optional<DoFNumbering>         numbering; ///< made when it is first asked for, as is what follows
    std::vector<unsigned int>           owned_dofs;
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
    source = std::make_shared<Source>(dof_handler);
  }

  template <int dim>
  void FESpace<dim>::check_source() const
  {
    require(source != nullptr, "A space was used before it was made.");
    require(!source->mesh_changed, "The mesh has changed since the space was made of it; call FESpace::reinit().");
    require(!source->handler_lives || source->handler.has_active_dofs(),
            "The DoFHandler was cleared since the space was made of it; call distribute_dofs() and FESpace::reinit().");
    const auto now = source->handler_lives ? source->digests() : source->known;
    require(now.first == source->known.first, "The unknowns were numbered anew since the space was made of them; call "
                                              "DoFRenumbering before FESpace::reinit().");
    require(now.second == source->known.second, "Material ids have changed since the space was made of them; call "
                                                "set_material_id() before FESpace::reinit().");
  }

  template <int dim>
  const DoFNumbering &FESpace<dim>::numbering() const
  {
    check_source();
    require(!this->tables().ranks.several(),
            "A space of several ranks has no numbering of all unknowns; copy to a vector of all ranks.");
    if (!source->numbering)
      source->numbering.emplace(this->batches().dof_indices().to_vector());
    return *source->numbering;
  }

  template <int dim>
  const std::vector<unsigned int> &FESpace<dim>::owned_dofs() const
  {
    check_source();
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
    check_source();
    std::vector<std::vector<double>> values;
    this->tables().ranks.agree_on_errors([&] { values = evaluate_at_quadrature_points(function, this->tables()); });
    return CoefficientField::at_quadrature_points(static_cast<int>(function.n_components), std::move(values));
  }

  template <int dim>
  FaceTerms FESpace<dim>::evaluate_on_faces(const dealii::Function<dim>                &function,
                                            const std::set<dealii::types::boundary_id> &boundary_ids) const
  {
    check_source();
    const ElementTables &tables = this->tables();
    const std::size_t    n      = tables.n_components;
    require(function.n_components == n, "A load on faces needs ", n,
            " components, one for each of the space; this has ", function.n_components, ".");
    const auto wanted = [&](const FaceEntry &face) {
      return boundary_ids.empty() || boundary_ids.count(face.boundary_id) > 0;
    };
    for (const dealii::types::boundary_id id : boundary_ids)
    {
      const std::int64_t here = std::any_of(tables.faces.begin(), tables.faces.end(), [&](const FaceEntry &face) {
        return face.boundary_id == static_cast<int>(id);
      });
      require((tables.ranks.several() ? tables.ranks.communicator->maximum(here) : here) > 0,
              "The space has no faces of boundary id ", id,
              "; name it in ExtractionData::boundary_ids, or set "
              "all_boundary_faces there.");
    }
    const FaceQuadrature faces = compute_face_quadrature(tables);
    FaceTerms            terms;
    terms.load.resize(faces.n_points() * n);
    tables.ranks.agree_on_errors([&] {
      for_shares(tables.faces.size(), [&](const std::int64_t begin, const std::int64_t end) {
        FunctionValues<dim> values(function);
        for (std::int64_t f = begin; f < end; ++f)
          if (wanted(tables.faces[f]))
            values.evaluate(faces.offsets[f + 1] - faces.offsets[f], &faces.points[faces.offsets[f] * dim],
                            &terms.load[faces.offsets[f] * n]);
      });
    });
    return terms;
  }

  template <int dim>
  CoefficientField FESpace<dim>::evaluate_by_cell(
      const std::function<std::vector<double>(const typename dealii::Triangulation<dim>::active_cell_iterator &)>
          &function) const
  {
    check_source();
    require(source->handler_lives, "The DoFHandler, whose cells a function is asked for, is no more; it has to live as "
                                   "long as its space.");
    const std::vector<CellTable>    &batches = this->tables().batches;
    const RankTables                &ranks   = this->tables().ranks;
    std::vector<std::vector<double>> values(batches.size());
    std::vector<int>                 next(batches.size(), 0); // cells of a batch are in deal.II's order
    std::int64_t                     n_values = 0;
    ranks.agree_on_errors([&] {
      for (const auto &cell : source->handler.get_triangulation().active_cell_iterators())
        for (std::size_t b = 0; b < batches.size(); ++b)
          if (next[b] < (ranks.several() ? ranks.n_own_cells[b] : batches[b].n_cells) &&
              batches[b].active_index[next[b]] == static_cast<int>(cell->active_cell_index()))
          {
            const std::vector<double> of_cell = function(cell);
            require(n_values == 0 || of_cell.size() == std::size_t(n_values),
                    "A function of cells has different numbers of values on two cells.");
            n_values = of_cell.size();
            values[b].insert(values[b].end(), of_cell.begin(), of_cell.end());
            ++next[b];
          }
    });
    if (ranks.several())
      n_values = ranks.communicator->maximum(n_values); // a rank may be without cells
    return CoefficientField::by_cell(static_cast<int>(n_values), std::move(values));
  }

  template <int dim>
  void FESpace<dim>::update_inhomogeneities(const dealii::AffineConstraints<double> &constraints)
  {
    check_source();
    const ConstraintTable &lines   = this->tables().constraints;
    const RankTables      &ranks   = this->tables().ranks;
    const std::int64_t     n_owned = std::int64_t(this->tables().n_owned_nodes()) * this->tables().n_components;
    std::vector<double>    values(lines.n_lines());
    ranks.agree_on_errors([&] {
      require(ranks.several() || constraints.n_constraints() == lines.n_lines(),
              "The constraints are not those of the space with other inhomogeneities: their number differs.");
      for (std::size_t l = 0; l < values.size() && lines.constrained[l] < n_owned; ++l) // those of ghosts have owners
      {
        const unsigned int dof     = this->tables().dof_index(lines.constrained[l]);
        const auto        *entries = constraints.get_constraint_entries(dof);
        std::int64_t       m       = lines.offsets[l];
        bool               same    = entries != nullptr && m + std::int64_t(entries->size()) == lines.offsets[l + 1];
        for (std::size_t e = 0; same && e < entries->size(); ++e, ++m)
          same = (*entries)[e].first == this->tables().dof_index(lines.masters[m]) &&
                 std::abs((*entries)[e].second - lines.weights[m]) <= 1e-12;
        if (!same)
          throw Error("The constraints are not those of the space with other inhomogeneities: they differ at index ",
                      dof, ".");
        values[l] = constraints.get_inhomogeneity(dof);
      }
    });
    Space::update_inhomogeneities(values);
  }

  template std::vector<std::vector<double>> evaluate_at_quadrature_points(const dealii::Function<2> &,
                                                                          const ElementTables &);
  template std::vector<std::vector<double>> evaluate_at_quadrature_points(const dealii::Function<3> &,
                                                                          const ElementTables &);
  template class FESpace<2>;
  template class FESpace<3>;
} // namespace PatchFEM
