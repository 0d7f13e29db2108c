// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/app/boundary_conditions.h>
#include <patchfem/base/exceptions.h>
#include <patchfem/base/quote.h>

#include <deal.II/dofs/dof_tools.h>
#include <deal.II/grid/grid_tools.h>
#include <deal.II/numerics/vector_tools.h>

#include <sstream>

namespace PatchFEM
{
  using dealii::types::boundary_id;

  namespace
  {
    void check_id(const boundary_id            id,
                  const std::set<boundary_id> &present,
                  const std::set<boundary_id> &held,
                  const std::string           &entry)
    {
      require(present.count(id) != 0, "The entry ", entry, " names boundary id ", id,
              ", but no face has it; the mesh has ", dealii::Patterns::Tools::to_string(present), ".");
      require(held.count(id) == 0, "The entry ", entry, " would be without effect on boundary id ", id,
              ", where Boundary conditions/Dirichlet gives the whole solution; take the id out of one of them.");
    }
  } // namespace

  template <int dim>
  BoundaryFormulas<dim>::BoundaryFormulas(const std::string              &text,
                                          const unsigned int              n_formulas,
                                          const bool                      allow_free,
                                          const std::vector<std::string> &exact,
                                          const Constants                &constants,
                                          const std::string              &entry)
      : name(entry)
  {
    for (const KeyedFormulas &item : split_keyed_formulas(text, false, entry))
    {
      std::vector<std::string> texts = item.formulas;
      if (texts.size() == 1 && texts[0] == "exact" && n_formulas > 1)
        texts.assign(n_formulas, "exact");
      require(texts.size() == n_formulas, "The entry ", entry, " has an item with ", texts.size(),
              " formulas (separated by ';') where ", n_formulas, " are wanted: ", quote(item.text), ".");
      Formulas formulas(n_formulas);
      for (unsigned int c = 0; c < n_formulas; ++c)
      {
        if (texts[c] == "free" && allow_free)
          continue;
        const bool is_exact = texts[c] == "exact";
        require(!is_exact || c < exact.size(), "The entry ", entry,
                " says 'exact', but there is no exact solution for it; fill Exact solution/Formula, which is for "
                "Dirichlet alone.");
        formulas[c] = is_exact ? Expression<dim>(exact[c], constants, "Exact solution/Formula")
                               : Expression<dim>(texts[c], constants, entry);
      }
      if (item.all)
      {
        require(!on_all, "The entry ", entry, " says 'all' twice.");
        on_all = formulas;
      }
      for (const unsigned int id : item.ids)
        add(id, formulas);
    }
  }

  template <int dim>
  void BoundaryFormulas<dim>::add(const boundary_id id, const Formulas &formulas)
  {
    require(by_id.emplace(id, formulas).second, "The entry ", name, " names boundary id ", id, " twice.");
    id_set.insert(id);
  }

  template <int dim>
  void BoundaryFormulas<dim>::resolve(const std::set<boundary_id> &present, const std::set<boundary_id> &held)
  {
    for (const boundary_id id : id_set)
      check_id(id, present, held, name);
    if (on_all)
      for (const boundary_id id : present)
        if (by_id.count(id) == 0)
          add(id, *on_all);
    on_all.reset();
  }

  template <int dim>
  const Expression<dim> *BoundaryFormulas<dim>::formula(const boundary_id id, const unsigned int c) const
  {
    const auto found = by_id.find(id);
    return found != by_id.end() && found->second[c] ? &*found->second[c] : nullptr;
  }

  void EssentialConditionParameters::declare_parameters(dealii::ParameterHandler &prm, const bool vector_valued)
  {
    prm.enter_subsection("Boundary conditions");
    prm.add_parameter(
        "Dirichlet", dirichlet,
        vector_valued
            ? "Displacements by boundary id: '0: 0; 0; 0, 1 2: free; free; 0.1*x'. A component that is 'free' has no "
              "condition, 'exact' is that of the exact solution, and 'all' stands for all ids not named."
            : "Values by boundary id: '0: 0, 1 2: x*y'. 'exact' is the exact solution, and 'all' stands for all ids "
              "not named.");
    if (vector_valued)
      prm.add_parameter("No normal flux", no_normal_flux,
                        "Boundary ids on which the displacement has no normal component, such as '1, 2'.");
    prm.add_parameter(
        "Periodic", periodic,
        "Pairs of boundary ids on which the solution is the same and the axis between them: '0 1 x, 2 3 y'.");
    prm.leave_subsection();
  }

  template <int dim>
  EssentialConditions<dim>::EssentialConditions(const EssentialConditionParameters &parameters,
                                                const unsigned int                  n_components,
                                                const std::vector<std::string>     &exact,
                                                const Constants                    &constants)
      : n_components(n_components),
        dirichlet(
            parameters.dirichlet, n_components, n_components > 1, exact, constants, "Boundary conditions/Dirichlet")
  {
    for (const std::string &id : dealii::Utilities::split_string_list(parameters.no_normal_flux, ','))
      no_normal_flux_ids.insert(parse_id(id, "Boundary conditions/No normal flux"));
    for (const std::string &item : dealii::Utilities::split_string_list(parameters.periodic, ','))
    {
      const std::string  name = "Boundary conditions/Periodic";
      std::istringstream stream(item);
      std::string        first, second, axis, rest;
      require((stream >> first >> second >> axis) && !(stream >> rest) && axis.size() == 1 && axis[0] >= 'x' &&
                  axis[0] < 'x' + dim,
              "The entry ", name, " wants pairs of boundary ids and the axis between them, x",
              dim == 3 ? ", y or z" : " or y", ", such as '0 1 x', but has ", quote(item), ".");
      periodic_pairs.push_back(
          {parse_id(first, name), parse_id(second, name), static_cast<unsigned int>(axis[0] - 'x')});
      require(periodic_pairs.back().first != periodic_pairs.back().second, "The entry ", name, " joins boundary id ",
              first, " to itself; each part of the boundary needs an id.");
    }
  }

  template <int dim>
  std::set<boundary_id> EssentialConditions<dim>::held_ids() const
  {
    std::set<boundary_id> result = dirichlet.ids();
    for (const boundary_id id : dirichlet.ids())
      for (unsigned int c = 0; c < n_components; ++c)
        if (dirichlet.formula(id, c) == nullptr)
          result.erase(id);
    return result;
  }

  template <int dim>
  void EssentialConditions<dim>::resolve(const std::set<boundary_id> &present)
  {
    dirichlet.resolve(present);
    for (const boundary_id id : no_normal_flux_ids)
      check_id(id, present, held_ids(), "Boundary conditions/No normal flux");
    for (const PeriodicPair &pair : periodic_pairs)
      for (const boundary_id id : {pair.first, pair.second})
      {
        check_id(id, present, {}, "Boundary conditions/Periodic");
        require(!dirichlet.contains(id), "Boundary id ", id,
                " has both a periodic and a Dirichlet condition; choose one.");
      }
  }

  template <int dim>
  void EssentialConditions<dim>::add_periodicity(dealii::Triangulation<dim> &triangulation) const
  {
    std::vector<dealii::GridTools::PeriodicFacePair<typename dealii::Triangulation<dim>::cell_iterator>> faces;
    for (const PeriodicPair &pair : periodic_pairs)
      try
      {
        dealii::GridTools::collect_periodic_faces(triangulation, pair.first, pair.second, pair.direction, faces);
      }
      catch (const dealii::ExceptionBase &)
      {
        throw Error("The faces of boundary ids ", pair.first, " and ", pair.second, " do not match along ",
                    char('x' + pair.direction), "; periodic parts of the boundary must be copies of each other.");
      }
    if (!faces.empty())
      triangulation.add_periodicity(faces);
  }

  template <int dim>
  void EssentialConditions<dim>::make_constraints(const dealii::Mapping<dim>        &mapping,
                                                  const dealii::DoFHandler<dim>     &dof_handler,
                                                  dealii::AffineConstraints<double> &constraints) const
  {
    for (const PeriodicPair &pair : periodic_pairs)
      dealii::DoFTools::make_periodicity_constraints(dof_handler, pair.first, pair.second, pair.direction, constraints);

    for (const boundary_id id : dirichlet.ids())
    {
      std::vector<bool>            mask(n_components, false);
      std::vector<Expression<dim>> values(n_components);
      for (unsigned int c = 0; c < n_components; ++c)
        if (const Expression<dim> *formula = dirichlet.formula(id, c))
        {
          mask[c]   = true;
          values[c] = *formula;
        }
      dealii::VectorTools::interpolate_boundary_values(mapping, dof_handler, id, ExpressionFunction<dim>(values),
                                                       constraints, dealii::ComponentMask(mask));
    }

    if (!no_normal_flux_ids.empty())
      dealii::VectorTools::compute_no_normal_flux_constraints(dof_handler, 0, no_normal_flux_ids, constraints, mapping);
  }

  template <int dim>
  std::set<boundary_id> EssentialConditions<dim>::ids() const
  {
    std::set<boundary_id> result = dirichlet.ids();
    result.insert(no_normal_flux_ids.begin(), no_normal_flux_ids.end());
    for (const PeriodicPair &pair : periodic_pairs)
      result.insert({pair.first, pair.second});
    return result;
  }

  template <int dim>
  NaturalConditions<dim>::NaturalConditions(const NaturalConditionParameters &parameters,
                                            const unsigned int                n_components,
                                            const Constants                  &constants)
      : n(n_components),
        loads(parameters.loads, n, false, {}, constants, "Boundary conditions/" + parameters.loads_entry),
        pressure(parameters.pressure, 1, false, {}, constants, "Boundary conditions/Pressure"),
        robin(parameters.robin, 1 + n, false, {}, constants, "Boundary conditions/Robin")
  {}

  template <int dim>
  void NaturalConditions<dim>::resolve(const std::set<boundary_id> &present, const std::set<boundary_id> &held)
  {
    for (BoundaryFormulas<dim> *formulas : {&loads, &pressure, &robin})
      formulas->resolve(present, held);
  }

  template <int dim>
  std::set<boundary_id> NaturalConditions<dim>::ids() const
  {
    std::set<boundary_id> result;
    for (const BoundaryFormulas<dim> *formulas : {&loads, &pressure, &robin})
      result.insert(formulas->ids().begin(), formulas->ids().end());
    return result;
  }

  template <int dim>
  void NaturalConditions<dim>::load(const boundary_id             id,
                                    const dealii::Point<dim>     &point,
                                    const dealii::Tensor<1, dim> &normal,
                                    double                       *g) const
  {
    const Expression<dim> *p      = pressure.formula(id, 0);
    const double           p_here = p != nullptr ? p->value(point) : 0.;
    for (unsigned int c = 0; c < n; ++c)
    {
      g[c] = p != nullptr ? -p_here * normal[c] : 0.;
      if (const Expression<dim> *formula = loads.formula(id, c))
        g[c] += formula->value(point);
      if (const Expression<dim> *formula = robin.formula(id, 1 + c))
        g[c] += formula->value(point);
    }
  }

  template <int dim>
  double NaturalConditions<dim>::robin_coefficient(const boundary_id id, const dealii::Point<dim> &point) const
  {
    const Expression<dim> *alpha = robin.formula(id, 0);
    const double           value = alpha != nullptr ? alpha->value(point) : 0.;
    require(value >= 0., "The coefficient alpha of Boundary conditions/Robin is negative on boundary id ", id,
            "; it must be at least 0.");
    return value;
  }

  template <int dim>
  void NaturalConditions<dim>::add_face(const dealii::FEFaceValues<dim> &values,
                                        const boundary_id                id,
                                        dealii::FullMatrix<double>      &matrix,
                                        dealii::Vector<double>          &rhs) const
  {
    const dealii::FiniteElement<dim> &fe = values.get_fe();
    std::vector<double>               g(n);
    for (const unsigned int q : values.quadrature_point_indices())
    {
      const dealii::Point<dim> &point = values.quadrature_point(q);
      const double              alpha = robin_coefficient(id, point);
      load(id, point, values.normal_vector(q), g.data());
      for (unsigned int i = 0; i < values.dofs_per_cell; ++i)
      {
        const unsigned int c       = fe.system_to_component_index(i).first;
        const double       value_i = values.shape_value(i, q) * values.JxW(q);
        if (alpha > 0.)
          for (unsigned int j = 0; j < values.dofs_per_cell; ++j)
            if (fe.system_to_component_index(j).first == c)
              matrix(i, j) += alpha * value_i * values.shape_value(j, q);
        rhs(i) += g[c] * value_i;
      }
    }
  }

  template class BoundaryFormulas<2>;
  template class BoundaryFormulas<3>;
  template class EssentialConditions<2>;
  template class EssentialConditions<3>;
  template class NaturalConditions<2>;
  template class NaturalConditions<3>;
} // namespace PatchFEM
