// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/app/natural_conditions.h>
#include <patchfem/base/exceptions.h>

namespace PatchFEM
{
  using dealii::types::boundary_id;

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
  bool NaturalConditions<dim>::contains(const boundary_id id) const
  {
    return loads.contains(id) || pressure.contains(id) || robin.contains(id);
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

  template class NaturalConditions<2>;
  template class NaturalConditions<3>;
} // namespace PatchFEM
