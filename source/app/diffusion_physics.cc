// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/app/diffusion_physics.h>
#include <patchfem/app/field_evaluation.h>
#include <patchfem/app/powers_of_two.h>
#include <patchfem/base/exceptions.h>

#include <algorithm>

namespace PatchFEM
{
  using dealii::Point;
  using dealii::SymmetricTensor;
  using dealii::types::material_id;

  void DiffusionApplication::declare_physics(dealii::ParameterHandler &prm)
  {
    prm.enter_subsection("Boundary conditions");
    prm.add_parameter("Flux", natural.loads, "Inflow K du/dn by boundary: '2: 1, 3 4: x*y'.");
    prm.add_parameter("Robin", natural.robin,
                      "alpha and g of K du/dn + alpha u = g by boundary: '2: 10; 10*20, 3: 1; 0'.");
    prm.leave_subsection();
    prm.enter_subsection("Material");
    prm.add_parameter(words.coefficient, coefficient,
                      "K of div(K grad u): a formula, or one per material ('1: 2, 2 3: 1+x, default: 1'). Tensors "
                      "are given by their upper triangle, Kxx; Kxy; Kyy or Kxx; Kxy; Kxz; Kyy; Kyz; Kzz.");
    prm.add_parameter(words.reaction, reaction,
                      std::string("r ") + (words.positive_reaction ? ">" : ">=") +
                          " 0 of the term r u: a formula, or one per material.");
    prm.leave_subsection();
    prm.enter_subsection("Loads");
    prm.add_parameter("Source", source, "f: a formula, or one per material.");
    prm.declare_entry("Right-hand side", "loads", dealii::Patterns::Selection("loads|ones"),
                      "loads: the integrals of Source, Flux and Robin with every shape function. ones: 1 in every "
                      "unknown, b_i = 1, which is no load of a continuous problem but what comparisons of solvers "
                      "take; without loads, Dirichlet values, periodicity and hanging nodes.");
    prm.leave_subsection();
  }

  ParametersInUse DiffusionApplication::parse_parameters(dealii::ParameterHandler &prm)
  {
    const ParametersInUse result = FiniteElementApplication::parse_parameters(prm);
    unit_rhs                     = prm.get({"Loads"}, "Right-hand side") == "ones";
    require(!unit_rhs || (source == "0" && natural.loads.empty() && natural.robin.empty()),
            "Loads/Right-hand side = ones leaves no place for Loads/Source, Boundary conditions/Flux and Robin; remove "
            "these, or choose loads.");
    return result;
  }

  namespace
  {
    template <int dim>
    class DiffusionPhysics : public Physics<dim>
    {
    public:
      explicit DiffusionPhysics(const DiffusionApplication &application)
          : Physics<dim>(NaturalConditions<dim>(application.natural, 1, application.constants())),
            coefficient_name("Material/" + application.words.coefficient), unit_rhs(application.unit_rhs),
            coefficient(
                application.coefficient, {1, dim * (dim + 1) / 2}, {}, application.constants(), coefficient_name),
            reaction(application.reaction,
                     {1},
                     {0., !application.words.positive_reaction},
                     application.constants(),
                     "Material/" + application.words.reaction),
            source(application.source, {1}, {}, application.constants(), "Loads/Source"),
            constant_coefficients(coefficient.is_piecewise_constant() && reaction.is_piecewise_constant())
      {}

      void add_cell(const dealii::FEValues<dim> &values,
                    const material_id            material,
                    dealii::FullMatrix<double>  &matrix,
                    dealii::Vector<double>      &rhs) const override
      {
        const unsigned int n = values.dofs_per_cell;
        // What is constant in a cell is looked up once.
        SymmetricTensor<2, dim> k;
        double                  r = 0., f = 0.;
        for (const unsigned int q : values.quadrature_point_indices())
        {
          const Point<dim> &point = values.quadrature_point(q);
          const double      dx    = values.JxW(q);
          if (q == 0 || !constant_coefficients)
          {
            k = conductivity(point, material);
            r = reaction.value(point, material);
          }
          if (q == 0 || !source.is_piecewise_constant())
            f = source.value(point, material);
          for (unsigned int i = 0; i < n; ++i)
          {
            const dealii::Tensor<1, dim> flux_i  = (k * values.shape_grad(i, q)) * dx;
            const double                 value_i = values.shape_value(i, q) * dx;
            for (unsigned int j = 0; j <= i; ++j)
              matrix(i, j) += flux_i * values.shape_grad(j, q) + r * value_i * values.shape_value(j, q);
            rhs(i) += f * value_i;
          }
        }
        for (unsigned int i = 0; i < n; ++i)
          for (unsigned int j = i + 1; j < n; ++j)
            matrix(i, j) = matrix(j, i);
      }

      bool has_unit_rhs() const override { return unit_rhs; }

      AssemblerBase<double> make_assembler(double) const override { return make<double>(); }
      AssemblerBase<float>  make_assembler(float) const override { return make<float>(); }

      SystemFields evaluate_fields(const ElementTables &tables) const override
      {
        SystemFields fields;
        fields.coefficients = make_field<dim>(tables, law().n_parameters, constant_coefficients,
                                              [&](const Point<dim> &point, const material_id material, double *values) {
                                                coefficients_at(point, material, values);
                                              });
        fields.body_load    = make_field(tables, source);
        fields.face_terms   = make_face_terms(tables, this->natural);
        return fields;
      }

      std::vector<std::string> mode_names() const override { return {"the constant"}; }
      double                   mode(unsigned int, const Point<dim> &, unsigned int) const override { return 1.; }

      bool is_definite_inside(const Point<dim> &point, const material_id material) const override
      {
        return reaction.value(point, material) > 0.;
      }

      FieldLaw law() const override
      {
        return is_plain() ? FieldLaw::of<DiffusionFields<dim, true>>() : FieldLaw::of<DiffusionFields<dim, false>>();
      }

      std::vector<std::string> value_names() const override
      {
        std::vector<std::string> names{"solution"};
        for (int d = 0; d < dim; ++d)
          names.push_back(std::string("flux_") + "xyz"[d]);
        names.insert(names.end(), {"flux_magnitude", "energy", "absorbed"});
        return names;
      }

      void coefficients_at(const Point<dim> &point, const material_id material, double *values) const override
      {
        const SymmetricTensor<2, dim> k = conductivity(point, material);
        if (is_plain())
        {
          *values = k[0][0];
          return;
        }
        for (unsigned int i = 0; i < dim; ++i)
          for (unsigned int j = i; j < dim; ++j)
            *values++ = k[i][j];
        *values = reaction.value(point, material);
      }

      bool has_constant_coefficients() const override { return constant_coefficients; }

      const MaterialFunction<dim> &body_load() const override { return source; }

      std::vector<typename Physics<dim>::Picture> pictures() const override
      {
        std::vector<int> flux;
        for (int d = 0; d < dim; ++d)
          flux.push_back(1 + d);
        return {{"flux", flux, dealii::DataComponentInterpretation::component_is_part_of_vector}};
      }

      std::vector<MaterialFunction<dim> *> material_functions() override { return {&coefficient, &reaction, &source}; }

    private:
      /** Laplace if K is a number and r = 0, else Diffusion. */
      template <typename Number>
      AssemblerBase<Number> make() const
      {
        if (is_plain())
          return Assembler<Laplace<dim>, Number>();
        return Assembler<Diffusion<dim>, Number>();
      }

      /** K at a point; throws Error if it is not positive definite there. */
      SymmetricTensor<2, dim> conductivity(const Point<dim> &point, const material_id material) const
      {
        SymmetricTensor<2, dim> k;
        if (coefficient.n_components() == 1)
          k = coefficient.value(point, material) * dealii::unit_symmetric_tensor<dim>();
        else
          for (unsigned int i = 0, c = 0; i < dim; ++i)
            for (unsigned int j = i; j < dim; ++j, ++c)
              k[i][j] = coefficient.value(point, material, c);

        // Sylvester: all leading minors are positive; in any units.
        SymmetricTensor<2, dim> s       = k;
        double                  largest = 0.;
        for (unsigned int c = 0; c < k.n_independent_components; ++c)
          largest = std::max(largest, std::abs(k.access_raw_entry(c)));
        multiply_by_power_of_two(s, -binary_exponent(largest));
        const bool positive =
            s[0][0] > 0 && dealii::determinant(s) > 0 && (dim == 2 || s[0][0] * s[1][1] - s[0][1] * s[0][1] > 0);
        require(positive, "The entry ", coefficient_name, " is not positive definite at the point (", point, "), ",
                coefficient.describe(material), ".");
        return k;
      }

      /** Whether the form Laplace suffices. */
      bool is_plain() const { return coefficient.n_components() == 1 && reaction.is_zero(); }

      const std::string     coefficient_name; ///< of its entry
      const bool            unit_rhs;
      MaterialFunction<dim> coefficient, reaction, source;
      const bool            constant_coefficients; ///< inside of each cell
    };
  } // namespace

  std::unique_ptr<Physics<2>> DiffusionApplication::make_physics_2d() const
  {
    return std::make_unique<DiffusionPhysics<2>>(*this);
  }

  std::unique_ptr<Physics<3>> DiffusionApplication::make_physics_3d() const
  {
    return std::make_unique<DiffusionPhysics<3>>(*this);
  }
} // namespace PatchFEM
