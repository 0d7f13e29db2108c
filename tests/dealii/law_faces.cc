// SPDX-License-Identifier: LGPL-2.1-or-later
#include "../core/backend_names.h"

#include <patchfem/assembly/fe_space_dealii.h>
#include <patchfem/assembly/law_assembler.h>
#include <patchfem/kernels/materials/faces.h>
#include <patchfem/kernels/materials/heat.h>
#include <patchfem/kernels/materials/solids.h>

#include <deal.II/dofs/dof_handler.h>
#include <deal.II/dofs/dof_tools.h>
#include <deal.II/fe/fe_q.h>
#include <deal.II/fe/fe_system.h>
#include <deal.II/fe/mapping_q.h>
#include <deal.II/grid/grid_generator.h>
#include <deal.II/grid/tria.h>
#include <deal.II/numerics/vector_tools.h>

#include <cmath>
#include <limits>

namespace
{
  using namespace dealii;
  using PatchFEM::CoefficientField;
  using PatchFEM::Converged;
  using PatchFEM::FESpace;
  using PatchFEM::LawAssembler;
  namespace Materials = PatchFEM::Materials;

  class LawFaces : public BackendTest
  {};
  PATCHFEM_INSTANTIATE_BACKENDS(LawFaces);

  /** A mesh with hanging nodes and degrees 1 and 2, of one field. */
  template <int dim>
  struct Discretisation
  {
    Triangulation<dim>        triangulation;
    const MappingQ<dim>       mapping{2};
    hp::FECollection<dim>     elements;
    DoFHandler<dim>           dof_handler{triangulation};
    AffineConstraints<double> constraints;
    FESpace<dim>              space;

    template <typename Generate>
    Discretisation(const PatchFEM::Backend &backend, const int n_comp, const Generate &generate)
    {
      generate(triangulation);
      for (const auto &cell : triangulation.active_cell_iterators())
        if (cell->center()[0] > 0.4)
          cell->set_refine_flag();
      triangulation.execute_coarsening_and_refinement();
      for (int degree = 1; degree <= 2; ++degree)
        elements.push_back(FESystem<dim>(FE_Q<dim>(degree), n_comp));
      for (const auto &cell : dof_handler.active_cell_iterators())
        cell->set_active_fe_index(cell->active_cell_index() % 2);
      dof_handler.distribute_dofs(elements);
      DoFTools::make_hanging_node_constraints(dof_handler, constraints);
      constraints.close();
      PatchFEM::ExtractionData<dim> extraction;
      extraction.all_boundary_faces = true;
      space.reinit(backend, mapping, dof_handler, constraints, extraction);
    }

    PatchFEM::Vector<double> vector(const Function<dim> &function) const
    {
      Vector<double>           values(dof_handler.n_dofs());
      PatchFEM::Vector<double> result;
      VectorTools::interpolate(mapping, dof_handler, function, values);
      constraints.distribute(values);
      space.copy_from(values, result);
      return result;
    }
  };

  template <int dim>
  class Wave : public Function<dim>
  {
  public:
    Wave(const int n_comp, const double factor) : Function<dim>(n_comp), factor(factor) {}
    double value(const Point<dim> &p, const unsigned int c) const override
    {
      return factor * std::sin(1. + c + p[0] + 2. * p[1] * p[dim - 1]);
    }

  private:
    const double factor;
  };

  double distance(const PatchFEM::Vector<double> &a, const PatchFEM::Vector<double> &b)
  {
    PatchFEM::Vector<double> difference = a;
    difference.add(-1., b);
    return difference.linfty_norm() / b.linfty_norm();
  }

  /** K v against differences of r, with the face laws that @p add_laws gives. */
  template <int dim, typename AddLaws>
  void compare_with_differences(const PatchFEM::Backend &backend,
                                const int                n_comp,
                                const double             offset,
                                const double             size,
                                const AddLaws           &add_laws)
  {
    const Discretisation<dim> d(backend, n_comp, [](auto &mesh) { GridGenerator::subdivided_hyper_cube(mesh, 2); });
    LawAssembler              laws(d.space);
    add_laws(laws);
    laws.begin_step({0.5, 0.1, 0.8});
    PatchFEM::Vector<double> rest;
    d.space.initialize_dof_vector(rest);
    laws.set_rate(2., rest);
    PatchFEM::SlicedEllpackMatrix<double> K;
    PatchFEM::Vector<double>              rhs, r, plus, minus, product;
    d.space.initialize_matrix(K);
    PatchFEM::Vector<double> u   = d.vector(Wave<dim>(n_comp, size)),
                             one = d.vector(Functions::ConstantFunction<dim>(offset, n_comp));
    u.add(1., one);
    const PatchFEM::Vector<double> v = d.vector(Wave<dim>(n_comp, 1.));
    rhs                              = std::numeric_limits<double>::quiet_NaN();
    laws.linearise(u, K, rhs);
    laws.residual(u, r);
    r *= -1.;
    EXPECT_LT(distance(rhs, r), 1e-14);
    u.add(1e-6, v);
    laws.residual(u, plus);
    u.add(-2e-6, v);
    laws.residual(u, minus);
    plus.add(-1., minus);
    plus *= 0.5e6;
    product.reinit(v);
    K.vmult(product, v);
    d.space.constraints().set_zero(product);
    EXPECT_LT(distance(product, plus), 1e-7);
  }
} // namespace

TEST_P(LawFaces, TangentsAreDerivatives)
{
  compare_with_differences<3>(backend(), 3, 0., 0.05, [](LawAssembler &laws) {
    laws.add_law<Materials::NeoHookean>(CoefficientField::constant({3., 2.}));
    laws.add_face_law<Materials::FollowingPressure<3>>({5.}, {0});
    laws.add_face_law<Materials::NormalSprings<3>>({7.}, {0}); // both
    EXPECT_FALSE(laws.symmetric());
  });
  compare_with_differences<2>(backend(), 1, 2., 0.5, [](LawAssembler &laws) {
    laws.add_law<Materials::Heat<2>>(CoefficientField::constant({1., 0.5, 2., 0., 1., 1.}));
    laws.add_face_law<Materials::Radiation<2>>({0.3, 1.5}, {0});
    laws.add_face_law<Materials::Convection<2>>({2., 1.5}, {0});
  });
}

/** int p n over the deformed faces of a cube that grows by a factor of 1.5: no force in all, and int p n . x = 3 p V 1.5^2. */
TEST_P(LawFaces, PressureFollowsACube)
{
  const Discretisation<3>  d(backend(), 3, [](auto &mesh) { GridGenerator::subdivided_hyper_cube(mesh, 2, -1., 1.); });
  PatchFEM::Vector<double> r, position = d.vector(Functions::IdentityFunction<3>());
  LawAssembler             laws(d.space);
  laws.add_law<Materials::NeoHookean>(CoefficientField::constant({0., 0.}));
  laws.add_face_law<Materials::FollowingPressure<3>>({2.}, {0});
  laws.begin_step({0., 0., 0.5});
  PatchFEM::Vector<double> u = position;
  u *= 0.5;
  laws.residual(u, r);
  EXPECT_NEAR(r.dot(position), 1. * 3. * 8. * 2.25, 1e-11);
  for (unsigned int c = 0; c < 3; ++c)
  {
    std::vector<double> unit(3, 0.);
    unit[c] = 1.;
    EXPECT_NEAR(r.dot(d.vector(Functions::ConstantFunction<3>(unit))), 0., 1e-12);
  }
}

/** h (T_s - T) is what a load h T_s and a Robin term h make. */
TEST_P(LawFaces, ConvectionIsARobinCondition)
{
  const Discretisation<2>        d(backend(), 1, [](auto &mesh) { GridGenerator::hyper_ball(mesh); });
  const PatchFEM::ElementTables &tables = d.space.tables();
  PatchFEM::FaceTerms            terms;
  for (const auto &face : tables.faces)
    for (int q = 0; q < tables.batches[face.batch].reference.n_face_quadrature; ++q)
    {
      terms.load.push_back(3. * 20.);
      terms.robin.push_back(3.);
    }
  PatchFEM::Assembler<PatchFEM::Laplace<2>> linear(d.space);
  linear.set_coefficients(CoefficientField::constant({2.}));
  linear.set_face_terms(terms);
  LawAssembler laws(d.space);
  laws.add_law<Materials::Heat<2>>(CoefficientField::constant({2., 0., 0., 0., 0., 1.}));
  laws.add_face_law<Materials::Convection<2>>({3., 20.}, {0});
  PatchFEM::SlicedEllpackMatrix<double> K, expected_K;
  PatchFEM::Vector<double>              rhs, expected, zero, product, expected_product;
  d.space.initialize_matrix(K);
  d.space.initialize_matrix(expected_K);
  d.space.initialize_dof_vector(zero);
  laws.begin_step({});
  laws.set_rate(0., zero);
  laws.linearise(zero, K, rhs);
  linear.assemble(expected_K, expected);
  EXPECT_LT(distance(rhs, expected), 1e-13);
  const PatchFEM::Vector<double> v = d.vector(Wave<2>(1, 1.));
  for (auto *vector : {&product, &expected_product})
    vector->reinit(v);
  K.vmult(product, v);
  expected_K.vmult(expected_product, v);
  EXPECT_LT(distance(product, expected_product), 1e-13);
}

/** A law that no face of the space is listed for is an error, as is one of another field. */
TEST_P(LawFaces, BadInput)
{
  const Discretisation<2> d(backend(), 1, [](auto &mesh) { GridGenerator::hyper_ball(mesh); });
  LawAssembler            laws(d.space);
  EXPECT_THROW(laws.add_face_law<Materials::Convection<2>>({1., 2.}, {7}), PatchFEM::Error);
  EXPECT_THROW(laws.add_face_law<Materials::Convection<2>>({1.}, {0}), PatchFEM::Error);
  EXPECT_THROW(laws.add_face_law<Materials::Springs<2>>({1., 1.}, {0}), PatchFEM::Error);
}
