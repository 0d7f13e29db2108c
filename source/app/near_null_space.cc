// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/app/mesh.h>
#include <patchfem/app/near_null_space.h>
#include <patchfem/base/exceptions.h>

#include <deal.II/distributed/tria_base.h>
#include <deal.II/dofs/dof_tools.h>
#include <deal.II/grid/grid_tools.h>
#include <deal.II/hp/fe_values.h>
#include <deal.II/lac/full_matrix.h>

#include <boost/pending/disjoint_sets.hpp>

#include <algorithm>
#include <limits>
#include <numeric>
#include <set>
#include <unordered_map>

namespace PatchFEM
{
  using dealii::Point;

  namespace
  {
    template <int dim>
    using CellIterator = typename dealii::DoFHandler<dim>::active_cell_iterator;

    /** The unknowns of cells, at the support points of their shape functions in space. */
    template <int dim>
    class CellUnknowns
    {
    public:
      explicit CellUnknowns(const Discretisation<dim> &discretisation)
          : mapping(*discretisation.mapping), values(mapping,
                                                     discretisation.dof_handler->get_fe_collection(),
                                                     rules(discretisation.dof_handler->get_fe_collection()),
                                                     dealii::update_quadrature_points)
      {}

      /** Calls @p visitor(index, point, component) for each unknown of @p cell. */
      template <typename Visitor>
      void visit(const CellIterator<dim> &cell, const Visitor &visitor)
      {
        values.reinit(cell);
        const std::vector<Point<dim>> &points = values.get_present_fe_values().get_quadrature_points();
        indices.resize(points.size());
        cell->get_dof_indices(indices);
        for (unsigned int i = 0; i < indices.size(); ++i)
          visitor(indices[i], points[i], cell->get_fe().system_to_component_index(i).first);
      }

    private:
      static dealii::hp::QCollection<dim> rules(const dealii::hp::FECollection<dim> &elements)
      {
        dealii::hp::QCollection<dim> result;
        for (unsigned int i = 0; i < elements.size(); ++i)
          result.push_back(dealii::Quadrature<dim>(elements[i].get_unit_support_points()));
        return result;
      }

      const dealii::hp::MappingCollection<dim>     mapping;
      dealii::hp::FEValues<dim>                    values; // points to mapping
      std::vector<dealii::types::global_dof_index> indices;
    };

    using Sets = boost::disjoint_sets_with_storage<>;

    /** Coarse cells that share a vertex are connected. */
    template <int dim>
    Sets connect_coarse_cells(const dealii::Triangulation<dim> &triangulation)
    {
      Sets                                  sets(triangulation.n_cells(0));
      std::unordered_map<unsigned int, int> cell_of_vertex;
      for (const auto &cell : triangulation.cell_iterators_on_level(0))
        for (const unsigned int v : cell->vertex_indices())
          sets.union_set(cell->index(), cell_of_vertex.emplace(cell->vertex_index(v), cell->index()).first->second);
      return sets;
    }

    /** The coarse cell of one cell after another, most of which have the same parent as the one before. */
    template <int dim>
    class CoarseIndex
    {
    public:
      unsigned int operator()(const CellIterator<dim> &cell)
      {
        if (cell->level() == 0)
          return cell->index();
        if (cell->level() != level || cell->parent_index() != parent)
        {
          level                                                       = cell->level();
          parent                                                      = cell->parent_index();
          typename dealii::Triangulation<dim>::cell_iterator ancestor = cell->parent();
          while (ancestor->level() > 0)
            ancestor = ancestor->parent();
          index = ancestor->index();
        }
        return index;
      }

    private:
      int          level = 0, parent = -1; ///< of the last cell, and of its parent
      unsigned int index = 0;              ///< its coarse cell
    };

    /**
     * Connected parts of the mesh, as @p sets of coarse cells tell of this rank and ghost cells of the others. A part is
     * known by the least id of its coarse cells, which ranks hand on from one to the next.
     */
    template <int dim>
    class Parts
    {
    public:
      Parts(const dealii::DoFHandler<dim> &dof_handler, Sets &sets)
      {
        const auto &triangulation = dof_handler.get_triangulation();
        for (const auto &cell : triangulation.cell_iterators_on_level(0))
          ids.push_back(cell->id().get_coarse_cell_id());
        least = ids;
        do
        {
          for (unsigned int c = 0; c < ids.size(); ++c)
            least[sets.find_set(c)] = std::min(least[sets.find_set(c)], least[c]);
          for (unsigned int c = 0; c < ids.size(); ++c)
            least[c] = least[sets.find_set(c)];
        } while (hear_of_ghosts(dof_handler));

        std::set<Id>     here;
        CoarseIndex<dim> coarse_index;
        for (const auto &cell : dof_handler.active_cell_iterators())
          if (cell->is_locally_owned())
            here.insert(least[coarse_index(cell)]);
        std::set<Id> all;
        for (const auto &ids_of_rank : dealii::Utilities::MPI::all_gather(triangulation.get_communicator(),
                                                                          std::vector<Id>(here.begin(), here.end())))
          all.insert(ids_of_rank.begin(), ids_of_rank.end());
        first_ids.assign(all.begin(), all.end());
      }

      unsigned int size() const { return first_ids.size(); }

      /** The part of a coarse cell, numbered as their first cells are. */
      unsigned int operator()(const unsigned int coarse_cell) const
      {
        return std::lower_bound(first_ids.begin(), first_ids.end(), least[coarse_cell]) - first_ids.begin();
      }

      /** The centre of the first coarse cell of each part. */
      std::vector<Point<dim>> places(const dealii::Triangulation<dim> &triangulation) const
      {
        std::vector<double> coordinates(size() * dim, std::numeric_limits<double>::lowest());
        for (const auto &cell : triangulation.cell_iterators_on_level(0))
          if (ids[cell->index()] == least[cell->index()] && (*this)(cell->index()) < size())
            for (unsigned int d = 0; d < dim; ++d)
              coordinates[(*this)(cell->index()) * dim + d] = cell->center()[d];
        dealii::Utilities::MPI::max(coordinates, triangulation.get_communicator(), coordinates);
        std::vector<Point<dim>> result(size());
        for (unsigned int i = 0; i < coordinates.size(); ++i)
          result[i / dim][i % dim] = coordinates[i];
        return result;
      }

    private:
      using Id = dealii::types::coarse_cell_id;

      std::vector<Id> ids, least; ///< [coarse cell]
      std::vector<Id> first_ids;  ///< [part], ascending

      /** Whether a rank heard of a lower id. */
      bool hear_of_ghosts(const dealii::DoFHandler<dim> &dof_handler)
      {
        const auto *distributed =
            dynamic_cast<const dealii::parallel::DistributedTriangulationBase<dim> *>(&dof_handler.get_triangulation());
        if (distributed == nullptr) // each rank has all cells
          return false;
        int              lower = 0;
        CoarseIndex<dim> sent, received;
        dealii::GridTools::exchange_cell_data_to_ghosts<Id, dealii::DoFHandler<dim>>(
            dof_handler, [&](const auto &cell) { return least[sent(cell)]; },
            [&](const auto &cell, const Id id) {
              Id &here = least[received(cell)];
              lower    = std::max(lower, int(id < here));
              here     = std::min(id, here);
            });
        return dealii::Utilities::MPI::max(lower, distributed->get_communicator()) != 0;
      }
    };

    /** The modes at an unknown, or one condition on them, and where it is in the mesh. */
    struct ModeRow
    {
      unsigned int        coarse_cell;
      std::vector<double> values;
    };

    /** A mode that no row holds, and the combination of all modes with a 1 there that satisfies every row. */
    struct FreeCombination
    {
      unsigned int        mode;
      std::vector<double> coefficients;
    };

    /**
     * Free combinations, by elimination (Gauss-Jordan) in the order of the modes: what is left of a mode's diagonal
     * entry after the modes before it are eliminated is its distance from them. Translations come first, so that a
     * hinge is called a rotation.
     */
    std::vector<FreeCombination> free_combinations(dealii::FullMatrix<double> g)
    {
      const unsigned int n     = g.m();
      const double       trace = g.trace();
      std::vector<bool>  held(n);
      for (unsigned int m = 0; m < n; ++m)
      {
        const double pivot = g(m, m);
        held[m]            = pivot > 1e-12 * trace;
        if (!held[m])
          continue;
        for (unsigned int j = 0; j < n; ++j)
          g(m, j) /= pivot;
        for (unsigned int i = 0; i < n; ++i)
          if (i != m)
            g.add_row(i, -g(i, m), m);
      }
      std::vector<FreeCombination> result;
      for (unsigned int f = 0; f < n; ++f)
        if (!held[f])
        {
          FreeCombination combination{f, std::vector<double>(n, 0.)};
          for (unsigned int m = 0; m < n; ++m)
            combination.coefficients[m] = held[m] ? -g(m, f) : (m == f);
          result.push_back(combination);
        }
      return result;
    }
  } // namespace

  template <int dim>
  std::vector<double> near_null_space(const Discretisation<dim> &discretisation, const Physics<dim> &physics)
  {
    const dealii::DoFHandler<dim> &dof_handler = *discretisation.dof_handler;
    const dealii::IndexSet        &owned       = dof_handler.locally_owned_dofs();
    const std::size_t              n_owned     = owned.n_elements();

    std::vector<Point<dim>>    points(n_owned);
    std::vector<unsigned char> components(n_owned);
    CellUnknowns<dim>          unknowns(discretisation);
    for (const auto &cell : dof_handler.active_cell_iterators())
      if (!cell->is_artificial())
        unknowns.visit(cell, [&](const auto index, const Point<dim> &point, const unsigned int component) {
          if (!owned.is_element(index))
            return;
          points[owned.index_within_set(index)]     = point;
          components[owned.index_within_set(index)] = component;
        });

    Point<dim> centroid;
    for (const Point<dim> &point : points)
      centroid += point;
    for (unsigned int d = 0; d < dim; ++d)
      centroid[d] = dealii::Utilities::MPI::sum(centroid[d], discretisation.communicator) / dof_handler.n_dofs();

    const unsigned int  n_modes = physics.mode_names().size();
    std::vector<double> modes(n_modes * n_owned);
    for (unsigned int m = 0; m < n_modes; ++m)
      for (std::size_t k = 0; k < n_owned; ++k)
        modes[m * n_owned + k] = physics.mode(m, Point<dim>(points[k] - centroid), components[k]);
    return modes;
  }

  template <int dim>
  std::vector<FreeModes> find_free_modes(const Discretisation<dim>                  &discretisation,
                                         const Physics<dim>                         &physics,
                                         const dealii::AffineConstraints<double>    &essential_lines,
                                         const std::set<dealii::types::boundary_id> &essential_ids)
  {
    const dealii::DoFHandler<dim>    &dof_handler   = *discretisation.dof_handler;
    const dealii::Triangulation<dim> &triangulation = dof_handler.get_triangulation();
    const dealii::IndexSet           &owned         = dof_handler.locally_owned_dofs();
    const unsigned int                n_modes       = physics.mode_names().size();
    const unsigned int                n_components  = physics.n_components();

    // The frame in which modes are of order one.
    const auto       box      = bounding_box(triangulation);
    const Point<dim> centre   = box.center();
    const double     size     = 0.5 * box.get_boundary_points().first.distance(box.get_boundary_points().second);
    const auto       modes_at = [&](const Point<dim> &point, const unsigned int c) {
      std::vector<double> values(n_modes);
      for (unsigned int m = 0; m < n_modes; ++m)
        values[m] = physics.mode(m, Point<dim>((point - centre) / size), c);
      return values;
    };

    Sets                                                         sets = connect_coarse_cells(triangulation);
    std::unordered_map<dealii::types::global_dof_index, ModeRow> places; // the modes at unknowns of the boundary
    std::vector<ModeRow>                                         rows;
    CellUnknowns<dim>                                            unknowns(discretisation);
    CoarseIndex<dim>                                             coarse_index;
    std::vector<char>                                            is_definite(triangulation.n_cells(0), 0);

    for (const auto &cell : dof_handler.active_cell_iterators())
      if (cell->is_locally_owned())
      {
        const unsigned int coarse = coarse_index(cell);
        if (!is_definite[coarse])
          is_definite[coarse] = physics.is_definite_inside(cell->center(), cell->material_id());

        if (!cell->at_boundary()) // which it knows of its neighbours, without its faces
          continue;
        bool has_essential_face = false;
        for (const auto &face : cell->face_iterators())
          if (face->at_boundary())
          {
            has_essential_face |= essential_ids.count(face->boundary_id()) != 0;
            for (const unsigned int v : face->vertex_indices())
              if (physics.natural_conditions().robin_coefficient(face->boundary_id(), face->vertex(v)) > 0.)
                for (unsigned int c = 0; c < n_components; ++c)
                  rows.push_back({coarse, modes_at(face->vertex(v), c)});
          }
        if (has_essential_face)
          unknowns.visit(cell, [&](const auto index, const Point<dim> &point, const unsigned int component) {
            places.emplace(index, ModeRow{coarse, modes_at(point, component)});
          });
      }

    for (const auto &place : places)
      if (essential_lines.is_constrained(place.first))
      {
        ModeRow row      = place.second;
        bool    complete = true;
        for (const auto &entry : *essential_lines.get_constraint_entries(place.first))
        {
          const auto master = places.find(entry.first);
          complete          = complete && master != places.end();
          if (!complete)
            break;
          sets.union_set(row.coarse_cell, master->second.coarse_cell);
          for (unsigned int m = 0; m < n_modes; ++m)
            row.values[m] -= entry.second * master->second.values[m];
        }
        if (complete)
          rows.push_back(row);
      }

    // Sum up by connected part.
    const Parts<dim>    parts(dof_handler, sets);
    const unsigned int  block = n_modes * n_modes;
    std::vector<double> g(parts.size() * block, 0.);
    for (unsigned int c = 0; c < triangulation.n_cells(0); ++c)
      if (is_definite[c]) // it holds every mode
        for (unsigned int m = 0; m < n_modes; ++m)
          g[parts(c) * block + m * (n_modes + 1)] += 1.;
    for (const ModeRow &row : rows)
    {
      double *matrix = g.data() + parts(row.coarse_cell) * block;
      for (unsigned int i = 0; i < n_modes; ++i)
        for (unsigned int j = 0; j < n_modes; ++j)
          matrix[i * n_modes + j] += row.values[i] * row.values[j];
    }
    dealii::Utilities::MPI::sum(g, discretisation.communicator, g);

    const unsigned int                        n_parts         = parts.size();
    const std::vector<Point<dim>>             places_of_parts = parts.places(triangulation);
    std::vector<FreeModes>                    result(n_parts);
    std::vector<std::vector<FreeCombination>> combinations(n_parts);
    for (unsigned int part = 0; part < n_parts; ++part)
    {
      combinations[part] = free_combinations(dealii::FullMatrix<double>(n_modes, n_modes, &g[part * block]));
      if (combinations[part].empty())
        continue;
      result[part].part = n_parts > 1 ? text_of("part of the mesh around (", places_of_parts[part], ")") : "mesh";
      for (const FreeCombination &combination : combinations[part])
      {
        result[part].names += (result[part].names.empty() ? "" : ", ") + physics.mode_names()[combination.mode];
        result[part].modes.emplace_back(owned.n_elements(), 0.);
      }
    }

    if (std::all_of(combinations.begin(), combinations.end(), [](const auto &of_part) { return of_part.empty(); }))
      return {};

    for (const auto &cell : dof_handler.active_cell_iterators())
      if (!cell->is_artificial())
      {
        const unsigned int part = parts(coarse_index(cell));
        if (combinations[part].empty())
          continue;
        unknowns.visit(cell, [&](const auto index, const Point<dim> &point, const unsigned int component) {
          if (!owned.is_element(index))
            return;
          const std::vector<double> values = modes_at(point, component);
          for (unsigned int v = 0; v < combinations[part].size(); ++v)
            result[part].modes[v][owned.index_within_set(index)] =
                std::inner_product(values.begin(), values.end(), combinations[part][v].coefficients.begin(), 0.);
        });
      }
    result.erase(std::remove_if(result.begin(), result.end(), [](const auto &part) { return part.modes.empty(); }),
                 result.end());
    return result;
  }

  template <int dim>
  void remove_free_modes(const Discretisation<dim> &discretisation, SolutionVector &solution)
  {
    const dealii::DoFHandler<dim> &dof_handler = *discretisation.dof_handler;
    const dealii::IndexSet        &owned       = dof_handler.locally_owned_dofs();
    const unsigned int             n           = discretisation.free_modes.size();
    if (n == 0)
      return;
    std::vector<SolutionVector> fields(n + 1); // the modes, and the solution behind them
    for (unsigned int m = 0; m < n; ++m)
    {
      fields[m].reinit(solution);
      for (const dealii::types::global_dof_index i : owned)
        fields[m](i) = discretisation.free_modes[m][owned.index_within_set(i)];
      fields[m].update_ghost_values();
    }
    fields[n] = solution;
    fields[n].update_ghost_values();

    const dealii::hp::MappingCollection<dim> mapping(*discretisation.mapping);
    dealii::hp::FEValues<dim>                values(mapping, dof_handler.get_fe_collection(), discretisation.quadrature,
                                                    dealii::update_values | dealii::update_JxW_values);
    std::vector<std::vector<dealii::Vector<double>>> at_points(n + 1);
    dealii::FullMatrix<double>                       products(n, n + 1); // mode, field
    for (const auto &cell : dof_handler.active_cell_iterators())
      if (cell->is_locally_owned())
      {
        values.reinit(cell);
        const dealii::FEValues<dim> &fe_values = values.get_present_fe_values();
        for (unsigned int f = 0; f <= n; ++f)
        {
          at_points[f].assign(fe_values.n_quadrature_points, dealii::Vector<double>(cell->get_fe().n_components()));
          fe_values.get_function_values(fields[f], at_points[f]);
        }
        for (const unsigned int q : fe_values.quadrature_point_indices())
          for (unsigned int m = 0; m < n; ++m)
            for (unsigned int f = 0; f <= n; ++f)
              products(m, f) += fe_values.JxW(q) * (at_points[m][q] * at_points[f][q]);
      }
    dealii::Utilities::MPI::sum(products, discretisation.communicator, products);

    dealii::FullMatrix<double> gram(n, n);
    dealii::Vector<double>     product(n), coefficients(n);
    gram.fill(products);
    for (unsigned int m = 0; m < n; ++m)
      product(m) = products(m, n);
    gram.gauss_jordan();
    gram.vmult(coefficients, product);
    solution.zero_out_ghost_values();
    for (unsigned int m = 0; m < n; ++m)
    {
      fields[m].zero_out_ghost_values();
      solution.add(-coefficients(m), fields[m]);
    }
    solution.update_ghost_values();
  }

  void refuse_singular(const std::vector<FreeModes> &free, const unsigned int n_components)
  {
    if (!free.empty())
      throw Error("The problem is singular: no boundary condition holds ", free[0].names, " of the ", free[0].part,
                  "; give Dirichlet or Robin conditions that do", n_components == 1 ? ", or a positive reaction," : ",",
                  " or set Solver/Null space = project.");
  }

#define PATCHFEM_INSTANTIATE(dim)                                                                     \
  template std::vector<double>    near_null_space(const Discretisation<dim> &, const Physics<dim> &); \
  template void                   remove_free_modes(const Discretisation<dim> &, SolutionVector &);   \
  template std::vector<FreeModes> find_free_modes(const Discretisation<dim> &, const Physics<dim> &,  \
                                                  const dealii::AffineConstraints<double> &,          \
                                                  const std::set<dealii::types::boundary_id> &)
  PATCHFEM_INSTANTIATE(2);
  PATCHFEM_INSTANTIATE(3);
#undef PATCHFEM_INSTANTIATE
} // namespace PatchFEM
