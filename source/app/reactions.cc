// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/app/reactions.h>
#include <patchfem/kernels/geometry.h>

#include <algorithm>
#include <cmath>

namespace PatchFEM
{
  using dealii::types::boundary_id;
  using SolutionVector = dealii::LinearAlgebra::distributed::Vector<double>;

  void Resultant::add(const double *const f, const double *const x)
  {
    double f_square = 0., x_square = 0.;
    for (std::size_t c = 0; c < force.size(); ++c)
    {
      force[c] += f[c];
      f_square += f[c] * f[c];
      x_square += moment.empty() ? 0. : x[c] * x[c];
    }
    magnitudes[0] += std::sqrt(f_square);
    magnitudes[1] += std::sqrt(f_square) * std::sqrt(x_square);
    if (moment.size() == 1)
      moment[0] += x[0] * f[1] - x[1] * f[0];
    if (moment.size() == 3)
      for (int k = 0; k < 3; ++k)
        moment[k] += x[(k + 1) % 3] * f[(k + 2) % 3] - x[(k + 2) % 3] * f[(k + 1) % 3];
  }

  Resultant &Resultant::operator+=(const Resultant &other)
  {
    for (std::size_t c = 0; c < force.size(); ++c)
      force[c] += other.force[c];
    for (std::size_t k = 0; k < moment.size(); ++k)
      moment[k] += other.moment[k];
    for (const int k : {0, 1})
      magnitudes[k] += other.magnitudes[k];
    return *this;
  }

  bool Resultant::is_there() const
  {
    const auto differs = [](const double x) { return x != 0.; };
    return std::any_of(force.begin(), force.end(), differs) || std::any_of(moment.begin(), moment.end(), differs);
  }

  std::vector<std::pair<std::string, double *>> Resultant::numbers()
  {
    if (force.size() == 1)
      return {{"flow", &force[0]}};
    std::vector<std::pair<std::string, double *>> result;
    for (std::size_t c = 0; c < force.size(); ++c)
      result.emplace_back(std::string("force_") + "xyz"[c], &force[c]);
    for (std::size_t k = 0; k < moment.size(); ++k)
      result.emplace_back(std::string("moment_") + "xyz"[moment.size() == 1 ? 2 : k], &moment[k]);
    return result;
  }

  template <int dim>
  std::vector<double> PointwiseEquation<dim>::values_at(const dealii::Point<dim>                  &point,
                                                        const dealii::Point<dim>                  &center,
                                                        const dealii::types::material_id           material,
                                                        const dealii::Vector<double>              &u,
                                                        const std::vector<dealii::Tensor<1, dim>> &gradients,
                                                        const std::vector<double>                 &mean_gradient) const
  {
    std::vector<double> values(law.n_values), parameters(law.n_parameters), gradient;
    for (const dealii::Tensor<1, dim> &of_component : gradients)
      gradient.insert(gradient.end(), of_component.begin_raw(), of_component.end_raw());
    coefficients(dealii::Point<dim>(point + inside_of_cell * (center - point)), material, parameters.data());
    law.evaluate({u.begin(), gradient.data(), mean_gradient.data(), parameters.data()}, values.data());
    return values;
  }

  namespace
  {
    /** Cells and faces of this rank alone. */
    int n_own_cells(const ElementTables &tables, const std::size_t b)
    {
      return tables.ranks.several() ? tables.ranks.n_own_cells[b] : tables.batches[b].n_cells;
    }
    std::size_t n_own_faces(const ElementTables &tables)
    {
      return tables.ranks.several() ? tables.ranks.n_own_faces : tables.faces.size();
    }

    template <typename Map>
    void sum_over_ranks(const ElementTables &tables, Map &resultants)
    {
      if (!tables.ranks.several())
        return;
      std::vector<double *> numbers;
      for (auto &item : resultants)
      {
        for (const auto &number : item.second.numbers())
          numbers.push_back(number.second);
        for (double &magnitude : item.second.magnitudes)
          numbers.push_back(&magnitude);
      }
      std::vector<double> values;
      for (const double *number : numbers)
        values.push_back(*number);
      tables.ranks.communicator->sum(values.data(), static_cast<int>(values.size()));
      for (std::size_t i = 0; i < numbers.size(); ++i)
        *numbers[i] = values[i];
    }

    /** r = A u - f of single cells, from tables alone. */
    template <int dim>
    struct CellResidual
    {
      const ElementTables          &tables;
      const PointwiseEquation<dim> &equation;
      const unsigned int            n_comp = tables.n_components;

      // Work arrays of a cell, kept so that memory is asked for once.
      std::vector<SmallVector<dim, double>> gradients = {}; // [q][shape]
      std::vector<double>                   weights = {}, points = {}, values = {}, grad_u = {}, mean = {};
      std::vector<double>                   parameters = std::vector<double>(equation.law.n_parameters),
                          of_law = std::vector<double>(equation.law.n_values), flux = std::vector<double>(n_comp * dim),
                          source = std::vector<double>(n_comp), load = std::vector<double>(n_comp);

      /** Adds the integrals over the volume of a cell. @p u, @p inertia, which may be null, and @p r are [shape][component]. */
      void add_volume(const CellTable &batch, const int cell, const double *u, const double *inertia, double *r)
      {
        const ReferenceElement &reference = batch.reference;
        const int               n_shape = reference.n_shape, n_q = reference.n_quadrature;
        gradients.resize(std::size_t(n_q) * n_shape);
        weights.resize(n_q);
        points.resize(n_q * dim);
        values.assign(n_q * n_comp, 0.);
        grad_u.assign(n_q * n_comp * dim, 0.);
        mean.assign(n_comp * dim, 0.);
        double volume = 0.;
        for (int q = 0; q < n_q; ++q)
        {
          const auto J =
              jacobian<dim, double>(tables.points.data(), batch.points_of(cell), reference.n_geometry,
                                    &reference.geometry_gradients[std::size_t(q) * reference.n_geometry * dim]);
          const double det     = determinant(J);
          const auto   inverse = PatchFEM::inverse(J, det);
          weights[q]           = det * reference.weights[q];
          volume += weights[q];
          for (int s = 0; s < n_shape; ++s)
          {
            const auto g = real_gradient<dim, double>(inverse, &reference.shape_gradients[(q * n_shape + s) * dim]);
            gradients[q * n_shape + s] = g;
            for (unsigned int c = 0; c < n_comp; ++c)
            {
              values[q * n_comp + c] += reference.shape_values[q * n_shape + s] * u[s * n_comp + c];
              for (int d = 0; d < dim; ++d)
                grad_u[(q * n_comp + c) * dim + d] += g[d] * u[s * n_comp + c];
            }
          }
          for (unsigned int k = 0; k < n_comp * dim; ++k)
            mean[k] += weights[q] * grad_u[q * n_comp * dim + k];
        }
        for (double &entry : mean)
          entry /= volume;

        cell_quadrature_points(tables, batch, cell, points.data());
        for (int q = 0; q < n_q; ++q)
        {
          dealii::Point<dim> x;
          for (int d = 0; d < dim; ++d)
            x[d] = points[q * dim + d];
          equation.coefficients(x, batch.material_ids[cell], parameters.data());
          std::fill(load.begin(), load.end(), 0.);
          if (equation.body_load)
            equation.body_load(x, batch.material_ids[cell], load.data());
          for (unsigned int i = 0; inertia != nullptr && i < n_shape * n_comp; ++i)
            load[i % n_comp] += reference.shape_values[q * n_shape + i / n_comp] * inertia[i];
          equation.law.evaluate({&values[q * n_comp], &grad_u[q * n_comp * dim], mean.data(), parameters.data()},
                                of_law.data());
          equation.law.weak_flux(of_law.data(), flux.data(), source.data());
          for (int s = 0; s < n_shape; ++s)
            for (unsigned int c = 0; c < n_comp; ++c)
            {
              double sum = (source[c] - load[c]) * reference.shape_values[q * n_shape + s];
              for (int d = 0; d < dim; ++d)
                sum += flux[c * dim + d] * gradients[q * n_shape + s][d];
              r[s * n_comp + c] += weights[q] * sum;
            }
        }
      }

      /** Adds those over face @p f of the tables, whose points begin at @p first. */
      void add_face(
          const std::size_t f, const std::size_t first, const FaceQuadrature &faces, const double *u, double *r) const
      {
        const FaceEntry        &face      = tables.faces[f];
        const ReferenceElement &reference = tables.batches[face.batch].reference;
        const FaceTerms        &terms     = equation.face_terms;
        for (int q = 0; q < reference.n_face_quadrature; ++q)
        {
          const double *shape =
              &reference
                   .face_shape_values[(std::size_t(face.face) * reference.n_face_quadrature + q) * reference.n_shape];
          for (unsigned int c = 0; c < n_comp; ++c)
          {
            double density = terms.load.empty() ? 0. : -terms.load[(first + q) * n_comp + c];
            if (!terms.robin.empty())
              for (int s = 0; s < reference.n_shape; ++s)
                density += terms.robin[first + q] * shape[s] * u[s * n_comp + c];
            for (int s = 0; s < reference.n_shape; ++s)
              r[s * n_comp + c] += faces.weights[first + q] * density * shape[s];
          }
        }
      }
    };

    /** Calls @p function for this rank's active cells at the boundary below @p cell: none lie below one inside. */
    template <typename Cell, typename Function>
    void for_boundary_cells(const Cell &cell, const Function &function)
    {
      if (!cell->at_boundary())
        return;
      for (unsigned int c = 0; c < cell->n_children(); ++c)
        for_boundary_cells(cell->child(c), function);
      if (cell->is_active() && cell->is_locally_owned())
        function(cell);
    }

    /** The unknowns that are held, and the residual there. */
    template <int dim>
    class HeldUnknowns
    {
    public:
      HeldUnknowns(const dealii::DoFHandler<dim>                      &dof_handler,
                   const ElementTables                                &tables,
                   const dealii::AffineConstraints<double>            &continuity,
                   const std::map<boundary_id, dealii::ComponentMask> &held,
                   const SolutionVector                               &u)
          : tables(tables), continuity(continuity), held(held), n_comp(tables.n_components),
            owned(dof_handler.locally_owned_dofs())
      {
        // Masters of a rank's unknowns may be further away than what is relevant to it.
        dealii::IndexSet relevant = u.get_partitioner()->ghost_indices();
        relevant.add_indices(owned);
        for (const auto &line : continuity.get_lines())
          for (const auto &entry : line.entries)
            relevant.add_index(entry.first);
        marks.reinit(owned, relevant, u.get_mpi_communicator());
        residual.reinit(marks);
        mark(dof_handler);
        bool any = false; // mostly few ranks have some
        for (unsigned int i = 0; i < marks.locally_owned_size() + marks.get_partitioner()->n_ghost_indices(); ++i)
          any = any || marks.local_element(i) > 0.;
        touched.assign(tables.n_nodes, any ? -1 : 0);
      }

      /** Whether the residual of a cell counts. */
      bool is_touched(const CellTable &batch, const std::int64_t cell)
      {
        const int *nodes = &batch.nodes[cell * batch.reference.n_shape];
        return std::any_of(nodes, nodes + batch.reference.n_shape, [&](const int node) {
          if (touched[node] < 0)
          {
            touched[node] = 0;
            for (int c = 0; c < n_comp; ++c)
              for_masters(tables.dof_index(std::size_t(node) * n_comp + c), [&](const unsigned int dof, double) {
                if (marks(dof) > 0.)
                  touched[node] = 1;
              });
          }
          return touched[node] != 0;
        });
      }

      /** Adds @p r, [shape][component], of a cell. */
      void add(const CellTable &batch, const std::int64_t cell, const std::vector<double> &r)
      {
        const int        n_geometry = batch.reference.n_geometry;
        const int *const nodes      = &batch.nodes[cell * batch.reference.n_shape];
        for (std::size_t i = 0; i < r.size(); ++i)
        {
          const std::size_t  shape = i / n_comp, component = i % n_comp;
          const unsigned int dof = tables.dof_index(std::size_t(nodes[shape]) * n_comp + component);
          for_masters(dof, [&](const unsigned int master, const double weight) {
            if (marks(master) > 0.)
              residual(master) += weight * r[i];
          });
          if (!(marks(dof) > 0.) || !owned.is_element(dof) || continuity.is_constrained(dof))
            continue;
          supports.push_back({dof, component, {}});
          for (int d = 0; d < dim; ++d)
            supports.back().place[d] = coordinate(tables.points.data(), dim, d, batch.points_of(cell), n_geometry,
                                                  &batch.reference.support_geometry_values[shape * n_geometry]);
        }
      }

      /** Of all cells of all ranks, by part. */
      std::map<boundary_id, Reaction> sums()
      {
        std::map<boundary_id, Reaction> result;
        std::vector<Reaction *>         by_mark(held.size() + 1);
        for (auto part = held.begin(); part != held.end(); ++part)
        {
          result[part->first]                      = Reaction(n_comp, dim);
          by_mark[std::distance(part, held.end())] = &result[part->first];
        }
        residual.compress(dealii::VectorOperation::add);
        std::sort(supports.begin(), supports.end(), [](const Support &x, const Support &y) { return x.dof < y.dof; });
        for (std::size_t i = 0; i < supports.size(); ++i)
          if (const Support &support = supports[i]; i == 0 || support.dof != supports[i - 1].dof)
          {
            Reaction           &part = *by_mark[static_cast<std::size_t>(marks(support.dof))];
            std::vector<double> force(n_comp, 0.);
            force[support.component] = residual(support.dof);
            part.add(force.data(), support.place.data());
            ++part.n_held[support.component];
          }
        sum_over_ranks(tables, result);
        if (tables.ranks.several())
          for (auto &item : result)
            tables.ranks.communicator->sum(item.second.n_held.data(), n_comp);
        return result;
      }

    private:
      /** A held unknown that this rank owns. */
      struct Support
      {
        unsigned int          dof;
        std::size_t           component;
        std::array<double, 3> place;
      };

      const ElementTables                                &tables;
      const dealii::AffineConstraints<double>            &continuity;
      const std::map<boundary_id, dealii::ComponentMask> &held;
      const int                                           n_comp;
      const dealii::IndexSet                             &owned;
      SolutionVector           marks; ///< how far the id of an unknown's part is from the end of the list; 0: none
      SolutionVector           residual;
      std::vector<signed char> touched;  ///< [node], -1: not known yet
      std::vector<Support>     supports; ///< once for each cell

      /** Unknowns that take a residual: its own, or the masters of that. */
      template <typename Function>
      void for_masters(const unsigned int dof, const Function &function) const
      {
        const auto *entries = continuity.n_constraints() > 0 ? continuity.get_constraint_entries(dof) : nullptr;
        if (entries == nullptr)
          function(dof, 1.);
        else
          for (const auto &[master, weight] : *entries)
            function(master, weight);
      }

      /** Of several parts that with the least id counts, which is furthest from the end. */
      void mark(const dealii::DoFHandler<dim> &dof_handler)
      {
        std::vector<dealii::types::global_dof_index> indices;
        const auto                                   mark_cell = [&](const auto &cell) {
          for (const unsigned int f : cell->face_indices())
          {
            const auto part = cell->face(f)->at_boundary() ? held.find(cell->face(f)->boundary_id()) : held.end();
            if (part == held.end())
              continue;
            const double                      mark = std::distance(part, held.end());
            const dealii::FiniteElement<dim> &fe   = cell->get_fe();
            indices.resize(fe.n_dofs_per_cell());
            cell->get_dof_indices(indices);
            for (unsigned int i = 0; i < indices.size(); ++i)
              if (fe.has_support_on_face(i, f) && part->second[fe.system_to_component_index(i).first])
                marks(indices[i]) = std::max<double>(marks(indices[i]), mark);
          }
        };
        for (const auto &cell : dof_handler.cell_iterators_on_level(0))
          for_boundary_cells(cell, mark_cell);
        marks.compress(dealii::VectorOperation::max);
        marks.update_ghost_values();
      }
    };
  } // namespace

  template <int dim>
  std::map<boundary_id, Reaction> reactions(const dealii::DoFHandler<dim>                      &dof_handler,
                                            const ElementTables                                &tables,
                                            const dealii::AffineConstraints<double>            &continuity,
                                            const std::map<boundary_id, dealii::ComponentMask> &held,
                                            const PointwiseEquation<dim>                       &equation,
                                            const SolutionVector                               &u,
                                            const SolutionVector                               &inertia)
  {
    if (held.empty())
      return {};
    HeldUnknowns<dim>                                       unknowns(dof_handler, tables, continuity, held, u);
    CellResidual<dim>                                       cells{tables, equation};
    const FaceQuadrature                                    faces = compute_face_quadrature(tables);
    std::map<std::pair<int, int>, std::vector<std::size_t>> faces_of; // of touched cells
    for (std::size_t f = 0; f < n_own_faces(tables); ++f)
      if (const FaceEntry &face = tables.faces[f]; unknowns.is_touched(tables.batches[face.batch], face.cell))
        faces_of[{face.batch, face.cell}].push_back(f);

    const int           n_comp = tables.n_components;
    std::vector<double> u_cell, inertia_cell, r_cell;
    for (std::size_t b = 0; b < tables.batches.size(); ++b)
      for (int cell = 0; cell < n_own_cells(tables, b); ++cell)
      {
        const CellTable &batch = tables.batches[b];
        if (!unknowns.is_touched(batch, cell))
          continue;
        const int *nodes = &batch.nodes[std::size_t(cell) * batch.reference.n_shape];
        const auto read  = [&](const SolutionVector &from, std::vector<double> &values) {
          values.resize(batch.reference.n_shape * n_comp);
          for (std::size_t i = 0; i < values.size(); ++i)
            values[i] = from(tables.dof_index(std::size_t(nodes[i / n_comp]) * n_comp + i % n_comp));
        };
        read(u, u_cell);
        if (inertia.size() > 0)
          read(inertia, inertia_cell);
        r_cell.assign(u_cell.size(), 0.);
        cells.add_volume(batch, cell, u_cell.data(), inertia.size() > 0 ? inertia_cell.data() : nullptr, r_cell.data());
        if (const auto found = faces_of.find({b, cell}); found != faces_of.end())
          for (const std::size_t f : found->second)
            cells.add_face(f, faces.offsets[f], faces, u_cell.data(), r_cell.data());
        unknowns.add(batch, cell, r_cell);
      }
    return unknowns.sums();
  }

  template <int dim>
  std::map<boundary_id, FaceResultants> face_resultants(const ElementTables         &tables,
                                                        const std::set<boundary_id> &ids,
                                                        const FaceTerms             &terms,
                                                        const SolutionVector        &u)
  {
    const int                             n_comp = tables.n_components;
    std::map<boundary_id, Resultant>      loads, springs;
    std::map<boundary_id, FaceResultants> result;
    const FaceQuadrature                  faces = compute_face_quadrature(tables);
    std::vector<double>                   load(n_comp), spring(n_comp);
    for (const boundary_id id : ids)
      loads[id] = springs[id] = Resultant(n_comp, dim);
    for (std::size_t f = 0; f < n_own_faces(tables); ++f)
    {
      const FaceEntry        &face      = tables.faces[f];
      const CellTable        &batch     = tables.batches[face.batch];
      const ReferenceElement &reference = batch.reference;
      const int              *nodes     = &batch.nodes[std::size_t(face.cell) * reference.n_shape];
      for (std::size_t k = faces.offsets[f]; k < faces.offsets[f + 1]; ++k)
      {
        const std::size_t row = std::size_t(face.face) * reference.n_face_quadrature + (k - faces.offsets[f]);
        for (int c = 0; c < n_comp; ++c)
        {
          load[c]   = terms.load.empty() ? 0. : faces.weights[k] * terms.load[k * n_comp + c];
          spring[c] = 0.;
          if (!terms.robin.empty() && terms.robin[k] > 0.)
            for (int s = 0; s < reference.n_shape; ++s)
              spring[c] -= faces.weights[k] * terms.robin[k] *
                           reference.face_shape_values[row * reference.n_shape + s] *
                           u(tables.dof_index(std::size_t(nodes[s]) * n_comp + c));
        }
        loads.at(face.boundary_id).add(load.data(), &faces.points[k * dim]);
        springs.at(face.boundary_id).add(spring.data(), &faces.points[k * dim]);
      }
    }
    sum_over_ranks(tables, loads);
    sum_over_ranks(tables, springs);
    for (const boundary_id id : ids)
      result[id] = {loads[id], springs[id]};
    return result;
  }

#define PATCHFEM_INSTANTIATE(dim)                                                                                   \
  template struct PointwiseEquation<dim>;                                                                           \
  template std::map<boundary_id, Reaction> reactions(                                                               \
      const dealii::DoFHandler<dim> &, const ElementTables &, const dealii::AffineConstraints<double> &,            \
      const std::map<boundary_id, dealii::ComponentMask> &, const PointwiseEquation<dim> &, const SolutionVector &, \
      const SolutionVector &);                                                                                      \
  template std::map<boundary_id, FaceResultants> face_resultants<dim>(                                              \
      const ElementTables &, const std::set<boundary_id> &, const FaceTerms &, const SolutionVector &)
  PATCHFEM_INSTANTIATE(2);
  PATCHFEM_INSTANTIATE(3);
#undef PATCHFEM_INSTANTIATE
} // namespace PatchFEM
