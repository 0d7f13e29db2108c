// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/app/expression.h>

#include <deal.II/base/auto_derivative_function.h>
#include <deal.II/base/parameter_handler.h>
#include <deal.II/dofs/dof_handler.h>
#include <deal.II/fe/component_mask.h>
#include <deal.II/fe/fe_values.h>
#include <deal.II/fe/mapping.h>
#include <deal.II/lac/affine_constraints.h>
#include <deal.II/lac/full_matrix.h>
#include <deal.II/lac/vector.h>

#include <array>
#include <bitset>
#include <optional>

namespace PatchFEM
{
  /**
   * A function with one formula per component, as deal.II's routines want it. Gradients are differences of fourth
   * order; their step should be small against the domain, see set_h().
   */
  template <int dim>
  class ExpressionFunction : public dealii::AutoDerivativeFunction<dim>
  {
  public:
    explicit ExpressionFunction(const std::vector<Expression<dim>> &components)
        : dealii::AutoDerivativeFunction<dim>(1e-4, components.size()), components(components)
    {
      this->set_formula(dealii::AutoDerivativeFunction<dim>::FourthOrder);
    }

    double value(const dealii::Point<dim> &point, const unsigned int component = 0) const override
    {
      return components[component].value(point);
    }

  private:
    const std::vector<Expression<dim>> components;
  };

  /**
   * Formulas on parts of the boundary, by number or name, read from one parameter such as `Dirichlet`. A component that
   * is written as `free` has none; `exact` stands for the exact solution's component.
   */
  template <int dim>
  class BoundaryFormulas
  {
  public:
    BoundaryFormulas() = default;

    /** @p n_formulas: how many an item has. @p exact: formulas of the exact solution, empty if there is none. */
    BoundaryFormulas(const std::string              &text,
                     unsigned int                    n_formulas,
                     bool                            allow_free,
                     const std::vector<std::string> &exact,
                     const Constants                &constants,
                     const std::string              &entry);

    /** Formulas of several items for the same face: of Dirichlet values they must be equal, loads add up. */
    enum class Overlap
    {
      equal,
      sum
    };

    /**
     * Finds the boundaries that items are for, and applies "all" to the rest. Throws Error for a boundary that is not
     * @p present; for one of ids that are all @p held, where Dirichlet values leave a condition without effect; for items
     * that name a boundary twice, or give different formulas to a component on faces in two boundaries.
     */
    void resolve(const MeshRegions                          &present,
                 const std::set<dealii::types::boundary_id> &held    = {},
                 Overlap                                     overlap = Overlap::equal);

    bool contains(const dealii::types::boundary_id id) const { return by_id.count(id) != 0; }

    /** Component @p c on @p id, the first one: nothing if free or if the id has no item. */
    const Expression<dim> *formula(dealii::types::boundary_id id, unsigned int c) const;

    /** The sum of all formulas of component @p c on @p id. */
    double value(dealii::types::boundary_id id, unsigned int c, const dealii::Point<dim> &point) const;

    const std::set<dealii::types::boundary_id> &ids() const { return id_set; }

    /** Whether a formula mentions the time. */
    bool depends_on_time() const;

    /** The last part of its name, `Dirichlet`. */
    std::string short_name() const { return name.substr(name.rfind('/') + 1); }

  private:
    /** For each component what is to be added, nothing if it is free. */
    using Formulas = std::vector<std::vector<Expression<dim>>>;

    struct Item
    {
      std::string word;
      Formulas    formulas;
    };

    std::string                                    name;
    std::vector<Item>                              items;
    std::optional<Formulas>                        on_all;
    std::string                                    all_word; ///< how the entry calls all others: `all` or `default`
    std::map<dealii::types::boundary_id, Formulas> by_id;
    std::set<dealii::types::boundary_id>           id_set;
  };

  /** The conditions of section `Boundary conditions` that constrain unknowns; natural ones belong to the physics. */
  struct EssentialConditionParameters
  {
    std::string dirichlet, no_normal_flux, periodic;

    /** @param vector_valued Whether `No normal flux` makes sense. */
    void declare_parameters(dealii::ParameterHandler &prm, bool vector_valued);
  };

  template <int dim>
  class EssentialConditions
  {
  public:
    EssentialConditions(const EssentialConditionParameters &parameters,
                        unsigned int                        n_components,
                        const std::vector<std::string>     &exact,
                        const Constants                    &constants);

    /** Throws Error for a condition on an absent boundary, and for No normal flux on one of held_ids(). */
    void resolve(const MeshRegions &present);

    /** Ids on which all components are given. */
    std::set<dealii::types::boundary_id> held_ids() const;

    /** Tells the triangulation about periodic faces; once, before it is refined and after resolve(). */
    void add_periodicity(dealii::Triangulation<dim> &triangulation);

    /** Adds the lines of all conditions; unknowns that are constrained already stay as they are. */
    void make_constraints(const dealii::Mapping<dim>        &mapping,
                          const dealii::DoFHandler<dim>     &dof_handler,
                          dealii::AffineConstraints<double> &constraints) const;

    /** An unknown of a Dirichlet value, whose formula outlives it while this is not resolved anew. */
    struct GivenValue
    {
      dealii::types::global_dof_index unknown;
      const Expression<dim>          *formula;
      dealii::Point<dim>              point;
    };

    /** Those of make_constraints() on this rank's cells, but for unknowns that are constrained in @p others. */
    std::vector<GivenValue> given_values(const dealii::Mapping<dim>              &mapping,
                                         const dealii::DoFHandler<dim>           &dof_handler,
                                         const dealii::AffineConstraints<double> &others) const;

    /** Its part that makes the solution periodic, which holds nothing. */
    void make_periodicity_constraints(const dealii::DoFHandler<dim>     &dof_handler,
                                      dealii::AffineConstraints<double> &constraints) const;

    /** The components that are given on each part of the boundary where some are. */
    std::map<dealii::types::boundary_id, dealii::ComponentMask> held() const;

    /** Ids on which an unknown may be constrained. */
    std::set<dealii::types::boundary_id> ids() const;

    bool has_periodicity() const { return !periodic_pairs.empty(); }
    bool depends_on_time() const { return dirichlet.depends_on_time(); }
    bool has_no_normal_flux() const { return !no_normal_flux_words.empty(); }

    /** Names of the entries with a condition on faces of @p id. */
    std::vector<std::string> entries_on(dealii::types::boundary_id id) const;

  private:
    /** Two parts of the boundary on which the solution is the same, @p direction apart. */
    struct PeriodicPair
    {
      std::array<std::string, 2>                          words;
      unsigned int                                        direction;
      std::array<std::set<dealii::types::boundary_id>, 2> ids;
    };

    /** Faces of coarse cells that are joined. */
    struct PeriodicFaces
    {
      int            cells[2]; ///< indices
      unsigned int   faces[2];
      std::bitset<3> orientation;
    };

    unsigned int                         n_components;
    BoundaryFormulas<dim>                dirichlet;
    std::vector<std::string>             no_normal_flux_words;
    std::set<dealii::types::boundary_id> no_normal_flux_ids;
    std::vector<PeriodicPair>            periodic_pairs;
    std::vector<PeriodicFaces>           periodic_faces;
  };

  /** What the section `Boundary conditions` gives of them, by boundary id. */
  struct NaturalConditionParameters
  {
    std::string loads_entry; ///< what the application calls `loads`
    std::string loads, pressure, robin;
  };

  /**
   * The conditions flux(u) n = g, of which g may be a load, a pressure p as g = -p n, or that of Robin's condition
   * flux(u) n + alpha u = g, or their sum. Of scalar problems the flux is a vector and g a number, without pressure.
   */
  template <int dim>
  class NaturalConditions
  {
  public:
    NaturalConditions(const NaturalConditionParameters &parameters,
                      unsigned int                      n_components,
                      const Constants                  &constants);

    /** See BoundaryFormulas. */
    void resolve(const MeshRegions &present, const std::set<dealii::types::boundary_id> &held);

    unsigned int n_components() const { return n; }

    bool depends_on_time() const
    {
      return loads.depends_on_time() || pressure.depends_on_time() || robin.depends_on_time();
    }

    /** Whether there is a condition on faces of @p id. */
    bool contains(const dealii::types::boundary_id id) const
    {
      return loads.contains(id) || pressure.contains(id) || robin.contains(id);
    }

    /** Those of faces on which there is one. */
    std::set<dealii::types::boundary_id> ids() const;

    /** Names of the entries with a condition on faces of @p id. */
    std::vector<std::string> entries_on(dealii::types::boundary_id id) const;

    /** g at a point of the boundary, n_components() numbers. */
    void load(dealii::types::boundary_id    id,
              const dealii::Point<dim>     &point,
              const dealii::Tensor<1, dim> &normal,
              double                       *g) const;

    /** alpha of the Robin condition; throws Error if it is negative. */
    double robin_coefficient(dealii::types::boundary_id id, const dealii::Point<dim> &point) const;

    /** Adds the integrals over a face. */
    void add_face(const dealii::FEFaceValues<dim> &values,
                  dealii::types::boundary_id       id,
                  dealii::FullMatrix<double>      &matrix,
                  dealii::Vector<double>          &rhs) const;

  private:
    unsigned int          n;
    BoundaryFormulas<dim> loads, pressure;
    BoundaryFormulas<dim> robin; // alpha; g_1; g_2 ...
    MeshRegions           boundaries;
  };
} // namespace PatchFEM
