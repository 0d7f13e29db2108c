// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/assembly/edge_constraints_dealii.h>
#include <patchfem/assembly/extraction_dealii.h>
#include <patchfem/base/versions_dealii.h>

#include <deal.II/base/quadrature_lib.h>
#include <deal.II/dofs/dof_accessor.h>
#include <deal.II/grid/tria.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

namespace PatchFEM
{
  namespace
  {
    /** Traces of the elements of a space on edges. */
    class Edges
    {
    public:
      using Index  = dealii::types::global_dof_index;
      using Line   = dealii::DoFHandler<3>::line_iterator;
      using Points = std::vector<double>;

      explicit Edges(const dealii::DoFHandler<3> &space)
          : space(space), n_components(space.get_fe_collection().n_components())
      {
        for (unsigned int f = 0; f < space.get_fe_collection().size(); ++f)
          if (const dealii::FiniteElement<3> &fe = space.get_fe(f); fe.n_dofs_per_vertex() > 0)
          {
            const dealii::Quadrature<1> nodes = dealii::QGaussLobatto<1>(fe.degree + 1);
            for (const dealii::Point<1> &node : nodes.get_points())
              nodes_of_degree[fe.degree].push_back(node[0]);
          }
        for (auto &[degree, nodes] : nodes_of_degree)
          nodes.resize(degree + 1);
      }

      /** Whether there are several degrees, on hexahedra. */
      bool several() const
      {
        return nodes_of_degree.size() > 1 && space.get_triangulation().all_reference_cells_are_hyper_cube();
      }

      const Points &nodes(const unsigned int degree) const { return nodes_of_degree.at(degree); }
      unsigned int  degree(const unsigned int f) const { return space.get_fe(f).degree; }

      /** The elements of @p line, of ascending degree. */
      std::vector<unsigned int> elements(const Line &line) const
      {
        std::vector<unsigned int> result;
        for (unsigned int n = 0; n < line->n_active_fe_indices(); ++n)
          if (space.get_fe(line->nth_active_fe_index(n)).n_dofs_per_vertex() > 0) // not FE_Nothing
            result.push_back(line->nth_active_fe_index(n));
        std::sort(result.begin(), result.end(), [&](const auto a, const auto b) { return degree(a) < degree(b); });
        return result;
      }

      /** The unknowns of component @p c of element @p f on @p line, from its first vertex on. */
      std::vector<Index> unknowns(const Line &line, const unsigned int f, const unsigned int c) const
      {
        const dealii::FiniteElement<3> &fe    = space.get_fe(f);
        const unsigned int              first = fe.get_first_line_index();
        std::vector<Index>              all(2 * n_components + fe.n_dofs_per_line()), result(fe.degree + 1);
        line->get_dof_indices(all, f);
        result.front() = all[c];
        result.back()  = all[n_components + c];
        for (unsigned int i = 0; i < fe.n_dofs_per_line(); ++i)
          if (const auto [component, index] = fe.system_to_component_index(first + i); component == c)
            result[1 + index - fe.base_element(0).get_first_line_index()] = all[2 * n_components + i];
        return result;
      }

      /** Lagrange's polynomials of the nodes of @p degree at @p t. */
      Points basis(const unsigned int degree, const double t) const
      {
        const Points &x = nodes(degree);
        Points        result(degree + 1, 1.);
        for (unsigned int i = 0; i <= degree; ++i)
          for (unsigned int j = 0; j <= degree; ++j)
            if (i != j)
              result[i] *= (t - x[j]) / (x[i] - x[j]);
        return result;
      }

      /** visit(line) for all edges of this rank's cells; with @p once for those that no lower rank's cell has. */
      template <typename Visit>
      void for_each(const bool once, const Visit &visit) const
      {
        std::vector<bool> seen(space.get_triangulation().n_raw_lines(), false);
        const auto        me = space.get_triangulation().locally_owned_subdomain();
        if (once && me != dealii::numbers::invalid_subdomain_id)
          for (const auto &cell : space.active_cell_iterators())
            if (cell->is_ghost() && cell->subdomain_id() < me)
              for (const unsigned int l : cell->line_indices())
                seen[cell->line(l)->index()] = true;
        for (const auto &cell : space.active_cell_iterators())
          if (cell->is_locally_owned())
            for (const unsigned int l : cell->line_indices())
              if (const Line line = cell->line(l); !seen[line->index()])
              {
                seen[line->index()] = true;
                visit(line);
              }
      }

      const dealii::DoFHandler<3> &space;
      const unsigned int           n_components;

    private:
      std::map<unsigned int, Points> nodes_of_degree;
    };

    /** Compares traces after constraints. */
    class Traces
    {
    public:
      using Index  = Edges::Index;
      using Line   = Edges::Line;
      using Points = Edges::Points;
      using Sum    = std::vector<std::pair<Index, double>>; ///< weights of unknowns

      Traces(const Edges &edges, const dealii::AffineConstraints<double> &constraints)
          : edges(edges), constraints(constraints)
      {}

      /** Whether elements differ on @p line, or cells of half its size from those of the line. */
      bool is_open(const Line &line)
      {
        const std::vector<unsigned int> elements = edges.elements(line);
        if (elements.empty() || (elements.size() == 1 && !line->has_children()))
          return false;
        for (unsigned int c = 0; c < edges.n_components; ++c)
        {
          const std::vector<Index> lowest = edges.unknowns(line, elements[0], c);
          const auto value = [&](const double t, Sum &sum) { add(lowest, edges.basis(lowest.size() - 1, t), 1., sum); };
          if (differs(value, lowest.size() - 1, line, c, 0., 1.))
            return true;
        }
        return false;
      }

      /** How many of the four edges inside of a face of @p cell whose neighbours are smaller differ from it. */
      int n_open_inside(const dealii::DoFHandler<3>::active_cell_iterator &cell, const unsigned int face)
      {
        const auto &mother = cell->face(face);
        int         n_open = 0;
        if (!mother->has_children() || mother->n_children() < 4 || cell->get_fe().n_dofs_per_vertex() == 0)
          return 0;
        const dealii::ReferenceCell cube   = cell->reference_cell();
        const unsigned int          centre = mother->child(0)->vertex_index(3), f = cell->active_fe_index();
        std::vector<Index>          of_cell(cell->get_fe().n_dofs_per_cell()), of_component;
        cell->get_dof_indices(of_cell);
        for (unsigned int j = 0; j < 4; ++j)
        {
          const unsigned int edge   = cube.face_to_cell_lines(face, j, standard_orientation);
          const unsigned int middle = cell->line(edge)->child(0)->vertex_index(1);
          const Line         inner  = line_between(mother, centre, middle);
          const auto         at     = [&](const double t) -> const Points             &{
            Points &values = values_inside[{f, face, j, t}];
            if (values.empty())
            {
              const dealii::Point<3> ends[2] = {unit_centre(cube.face_to_cell_vertices(face, 0, standard_orientation),
                                                                        cube.face_to_cell_vertices(face, 3, standard_orientation)),
                                                unit_centre(dealii::GeometryInfo<3>::line_to_cell_vertices(edge, 0),
                                                                        dealii::GeometryInfo<3>::line_to_cell_vertices(edge, 1))};
              const dealii::Point<3> point(ends[0] + t * (ends[1] - ends[0]));
              for (unsigned int i = 0; i < cell->get_fe().base_element(0).n_dofs_per_cell(); ++i)
                values.push_back(cell->get_fe().base_element(0).shape_value(i, point));
            }
            return values;
          };
          bool open = false;
          for (unsigned int c = 0; c < edges.n_components && !open; ++c)
          {
            of_component.clear();
            for (unsigned int i = 0; i < cell->get_fe().base_element(0).n_dofs_per_cell(); ++i)
              of_component.push_back(of_cell[cell->get_fe().component_to_system_index(c, i)]);
            const bool forward = inner->vertex_index(0) == centre;
            open = differs([&](const double t, Sum &sum) { add(of_component, at(t), 1., sum); }, edges.degree(f), inner,
                           c, forward ? 0. : 1., forward ? 1. : 0.);
          }
          n_open += open;
        }
        return n_open;
      }

    private:
      const Edges                             &edges;
      const dealii::AffineConstraints<double> &constraints;
      Sum                                      difference;

      /// [(element, face, edge of it, t)]: values of shape functions between the centres of face and edge
      std::map<std::tuple<unsigned int, unsigned int, unsigned int, double>, Points> values_inside;

      static dealii::Point<3> unit_centre(const unsigned int v, const unsigned int w)
      {
        using Cube = dealii::GeometryInfo<3>;
        return dealii::Point<3>(0.5 * (Cube::unit_cell_vertex(v) + Cube::unit_cell_vertex(w)));
      }

      template <typename Face>
      static Line line_between(const Face &mother, const unsigned int v, const unsigned int w)
      {
        for (unsigned int child = 0; child < 4; ++child)
          for (unsigned int l = 0; l < 4; ++l)
            if (const auto line = mother->child(child)->line(l);
                line->vertex_index(0) + line->vertex_index(1) == v + w &&
                (line->vertex_index(0) == v || line->vertex_index(0) == w))
              return line;
        Assert(false, dealii::ExcInternalError());
        return mother->line(0);
      }

      /** sum += factor * (@p unknowns times @p weights), without inhomogeneities. */
      void add(const std::vector<Index> &unknowns, const Points &weights, const double factor, Sum &sum) const
      {
        for (unsigned int i = 0; i < unknowns.size(); ++i)
          if (weights[i] != 0.)
          {
            if (const auto *line = constraints.get_constraint_entries(unknowns[i]))
              for (const auto &[master, weight] : *line)
                sum.emplace_back(master, factor * weights[i] * weight);
            else if (!constraints.is_constrained(unknowns[i]))
              sum.emplace_back(unknowns[i], factor * weights[i]);
          }
      }

      /**
       * Whether a trace of component @p c on @p line, or on its parts, is another polynomial than value(t, sum) of
       * @p degree is for t from @p begin to @p end.
       */
      template <typename Value>
      bool differs(const Value       &value,
                   const unsigned int degree,
                   const Line        &line,
                   const unsigned int c,
                   const double       begin,
                   const double       end)
      {
        for (const unsigned int f : edges.elements(line))
        {
          const std::vector<Index> unknowns = edges.unknowns(line, f, c);
          for (const double t : edges.nodes(std::max(degree, edges.degree(f))))
          {
            difference.clear();
            value(begin + (end - begin) * t, difference);
            add(unknowns, edges.basis(edges.degree(f), t), -1., difference);
            std::sort(difference.begin(), difference.end());
            for (std::size_t i = 0; i < difference.size();)
            {
              double      sum    = 0.;
              const Index master = difference[i].first;
              for (; i < difference.size() && difference[i].first == master; ++i)
                sum += difference[i].second;
              if (std::abs(sum) > 1e-10) // rounding of weights of order one
                return true;
            }
          }
        }
        const double middle = 0.5 * (begin + end);
        return line->has_children() && (differs(value, degree, line->child(0), c, begin, middle) ||
                                        differs(value, degree, line->child(1), c, middle, end));
      }
    };
  } // namespace

  template <int dim>
  void make_edge_constraints([[maybe_unused]] const dealii::DoFHandler<dim>     &dof_handler,
                             [[maybe_unused]] dealii::AffineConstraints<double> &constraints)
  {
    if constexpr (dim == 3)
    {
      const Edges edges(dof_handler);
      if (!edges.several())
        return;
      edges.for_each(false, [&](const Edges::Line &line) {
        const std::vector<unsigned int> elements = edges.elements(line);
        for (std::size_t e = 1; e < elements.size(); ++e)
          for (unsigned int c = 0; c < edges.n_components; ++c)
          {
            const auto lowest = edges.unknowns(line, elements[0], c), unknowns = edges.unknowns(line, elements[e], c);
            for (std::size_t k = 1; k + 1 < unknowns.size(); ++k)
            {
              // Nodes that elements share are one unknown.
              if (constraints.is_constrained(unknowns[k]) ||
                  std::find(lowest.begin(), lowest.end(), unknowns[k]) != lowest.end())
                continue;
              const Edges::Points weights = edges.basis(lowest.size() - 1, edges.nodes(unknowns.size() - 1)[k]);
              constraints.add_line(unknowns[k]);
              for (std::size_t i = 0; i < lowest.size(); ++i)
                if (std::abs(weights[i]) > 1e-14)
                  constraints.add_entry(unknowns[k], lowest[i], weights[i]);
            }
          }
      });
    }
  }

  template <int dim>
  std::uint64_t count_open_edges(const dealii::DoFHandler<dim>                            &dof_handler,
                                 [[maybe_unused]] const dealii::AffineConstraints<double> &constraints)
  {
    std::uint64_t result = 0;
    if constexpr (dim == 3)
    {
      const Edges edges(dof_handler);
      if (!edges.several())
        return 0;
      Traces traces(edges, constraints);
      edges.for_each(true, [&](const Edges::Line &line) { result += traces.is_open(line); });
      for (const auto &cell : dof_handler.active_cell_iterators())
        if (cell->is_locally_owned())
          for (const unsigned int face : cell->face_indices())
            result += traces.n_open_inside(cell, face);
    }
    if (internal::n_processes(dof_handler.get_triangulation()) > 1)
      result = dealii::Utilities::MPI::sum(result, dof_handler.get_communicator());
    return result;
  }

  template void          make_edge_constraints<2>(const dealii::DoFHandler<2> &, dealii::AffineConstraints<double> &);
  template void          make_edge_constraints<3>(const dealii::DoFHandler<3> &, dealii::AffineConstraints<double> &);
  template std::uint64_t count_open_edges<2>(const dealii::DoFHandler<2> &, const dealii::AffineConstraints<double> &);
  template std::uint64_t count_open_edges<3>(const dealii::DoFHandler<3> &, const dealii::AffineConstraints<double> &);
} // namespace PatchFEM
