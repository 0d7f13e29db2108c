// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/app/boundary_conditions.h>
#include <patchfem/app/reactions.h>
#include <patchfem/assembly/assembler.h>
#include <patchfem/base/mesh_lists.h>

#include <deal.II/hp/fe_collection.h>
#include <deal.II/numerics/data_component_interpretation.h>

namespace PatchFEM
{
  template <int dim>
  struct Discretisation;

  /** The data of a weak form on one mesh, as plain values. */
  struct SystemFields
  {
    CoefficientField coefficients;
    CoefficientField body_load;
    FaceTerms        face_terms;
  };

  /**
   * An equation as its discretisation sees it: components, natural boundary conditions, modes without energy, and
   * formulas for the mesh's materials.
   */
  template <int dim>
  class Equation
  {
  public:
    virtual ~Equation() = default;

    unsigned int n_components() const { return natural.n_components(); }

    /** Throws Error for formulas that do not fit the mesh, or on ids of boundaries where all components are @p held. */
    virtual void resolve(const MeshFacts &mesh, const std::set<dealii::types::boundary_id> &held)
    {
      for (MaterialFunction<dim> *function : material_functions())
        function->resolve(mesh.materials);
      natural.resolve(mesh.boundaries, held);
    }

    /** Throws Error for elements that the equation is not to be discretised with. */
    virtual void check_elements(const dealii::hp::FECollection<dim> &) const {}

    /** What a user should know of solutions on such a mesh, on this rank's cells; mostly nothing. */
    virtual std::string caution(const dealii::DoFHandler<dim> &) const { return ""; }

    /** The conditions on the boundary that are integrals over it. */
    const NaturalConditions<dim> &natural_conditions() const { return natural; }

    /** Of the unknowns in pictures. */
    std::vector<std::string> solution_names() const
    {
      return std::vector<std::string>(n_components(), n_components() == 1 ? "solution" : "displacement");
    }

    /** A derived field in pictures: which values it is made of. */
    struct Picture
    {
      std::string                                                      name;
      std::vector<int>                                                 values;
      dealii::DataComponentInterpretation::DataComponentInterpretation kind;
    };
    virtual std::vector<Picture> pictures() const = 0;

    /** @name Modes of no energy: the constant, or the rigid-body modes */
    /** @{ */
    virtual std::vector<std::string> mode_names() const = 0;

    /** Component @p c of mode @p m at @p point, where rotations are about the origin. */
    virtual double mode(unsigned int m, const dealii::Point<dim> &point, unsigned int c) const = 0;

    /** Whether the equation itself, without boundary conditions, has no such modes (a reaction term). */
    virtual bool is_definite_inside(const dealii::Point<dim> &point, dealii::types::material_id material) const = 0;

    /** For messages: the conditions that can hold a mode, and other remedies, ", or ..." */
    virtual std::pair<std::string, std::string> remedies() const
    {
      return {"Dirichlet or Robin conditions", std::string(n_components() == 1 ? ", or a positive reaction" : "") +
                                                   ", or set Solver/Null space = project"};
    }
    /** @} */

    /** Coefficients and loads. */
    virtual std::vector<MaterialFunction<dim> *> material_functions() = 0;

  protected:
    explicit Equation(const NaturalConditions<dim> &natural) : natural(natural) {}

    NaturalConditions<dim> natural;
  };

  /** Names of the translations and rotations of a body. */
  inline std::vector<std::string> names_of_rigid_body_modes(const unsigned int dim)
  {
    if (dim == 2)
      return {"translation in x", "translation in y", "rotation"};
    return {"translation in x", "translation in y", "translation in z",
            "rotation about x", "rotation about y", "rotation about z"};
  }

  /** Component @p c of mode @p m of these at @p point, where rotations are about the origin. */
  template <int dim>
  double rigid_body_mode(const unsigned int m, const dealii::Point<dim> &point, const unsigned int c)
  {
    if (m < dim)
      return m == c ? 1. : 0.;
    if (dim == 2)
      return c == 0 ? -point[1] : point[0];
    // e_k x point for the axis k
    const unsigned int k = m - dim;
    if (c == (k + 1) % 3)
      return -point[(k + 2) % 3];
    if (c == (k + 2) % 3)
      return point[(k + 1) % 3];
    return 0.;
  }

  /**
   * The part of a linear equation that the application knows, and not the driver: coefficients, loads, fields for
   * pictures. One object serves every solver path, so that all of them discretise the same problem.
   */
  template <int dim>
  class Physics : public Equation<dim>
  {
  public:
    /** A warning about a solution, whose ghosts are up to date, alike on all ranks; mostly none. Collective. */
    virtual std::string caution_after(const Discretisation<dim> &,
                                      const dealii::LinearAlgebra::distributed::Vector<double> &) const
    {
      return "";
    }

    /** @name Integrals, for the loop over cells that deal.II programs write */
    /** @{ */
    /** Adds the cell's matrix and the load of its volume. @p matrix and @p rhs come zeroed. */
    virtual void add_cell(const dealii::FEValues<dim> &values,
                          dealii::types::material_id   material,
                          dealii::FullMatrix<double>  &matrix,
                          dealii::Vector<double>      &rhs) const = 0;

    /** Whether the right-hand side is 1 in every unknown in place of the loads; only where there are no constraints. */
    virtual bool has_unit_rhs() const { return false; }
    /** @} */

    /** @name Plain data, for PatchFEM's own assembly of the same integrals */
    /** @{ */
    /** The argument is a zero that says in which numbers. */
    virtual AssemblerBase<double> make_assembler(double) const                       = 0;
    virtual AssemblerBase<float>  make_assembler(float) const                        = 0;
    virtual SystemFields          evaluate_fields(const ElementTables &tables) const = 0;
    /** @} */

    /** @name Fields: what is reported and pictured of a solution, all of one law */
    /** @{ */
    /** Its parameters are the coefficients of the weak form; its first values the solution and, of a vector, |u|. */
    virtual FieldLaw                 law() const         = 0;
    virtual std::vector<std::string> value_names() const = 0;

    /** The law's parameters at a point; by material alone if has_constant_coefficients(). */
    virtual void
    coefficients_at(const dealii::Point<dim> &point, dealii::types::material_id material, double *parameters) const = 0;
    virtual bool has_constant_coefficients() const                                                                  = 0;

    virtual const MaterialFunction<dim> &body_load() const = 0;

    /** @} */

  protected:
    using Equation<dim>::Equation;
  };

  /** The equation at points, without terms on faces. @p physics is to live as long. */
  template <int dim>
  PointwiseEquation<dim> make_equation(const Physics<dim> &physics)
  {
    PointwiseEquation<dim> result{physics.law(),
                                  [&physics](const auto &point, const auto material, double *values) {
                                    physics.coefficients_at(point, material, values);
                                  },
                                  {},
                                  {}};
    if (!physics.body_load().is_zero())
      result.body_load = [&physics](const auto &point, const auto material, double *f) {
        for (unsigned int c = 0; c < physics.n_components(); ++c)
          f[c] = physics.body_load().value(point, material, c);
      };
    return result;
  }
} // namespace PatchFEM
