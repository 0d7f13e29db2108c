// SPDX-License-Identifier: LGPL-2.1-or-later
#include "../core/backend_names.h"

#include <patchfem/assembly/fe_space_dealii.h>
#include <patchfem/assembly/law_system_dealii.h>
#include <patchfem/base/step_control.h>
#include <patchfem/kernels/materials/faces.h>
#include <patchfem/kernels/materials/plasticity.h>
#include <patchfem/kernels/materials/solids.h>

#include <deal.II/dofs/dof_handler.h>
#include <deal.II/dofs/dof_tools.h>
#include <deal.II/fe/fe_q.h>
#include <deal.II/fe/fe_system.h>
#include <deal.II/fe/mapping_q1.h>
#include <deal.II/grid/grid_generator.h>
#include <deal.II/grid/grid_tools.h>
#include <deal.II/grid/tria.h>
#include <deal.II/numerics/vector_tools.h>

#include <cmath>
#include <memory>

namespace
{
  using namespace dealii;
  using PatchFEM::CoefficientField;
  using PatchFEM::Converged;
  using PatchFEM::LawAssembler;
  using PatchFEM::LawSystem;
  using PatchFEM::StepFailure;
  namespace Materials = PatchFEM::Materials;

  class LawSystemTest : public BackendTest
  {};
  PATCHFEM_INSTANTIATE_BACKENDS(LawSystemTest);

  /** A unit cube of distorted cells with three planes of symmetry, pulled at x = 1; its other sides are free. */
  class PulledCube
  {
  public:
    explicit PulledCube(const PatchFEM::Backend &backend)
    {
      GridGenerator::subdivided_hyper_cube(triangulation, 3, 0., 1., true);
      GridTools::distort_random(0.2, triangulation, true, 17);
      dof_handler.distribute_dofs(fe);
      PatchFEM::ExtractionData<3> extraction;
      extraction.all_boundary_faces = true;
      space.reinit(backend, mapping, dof_handler, constraints(0.), extraction);
      solid = std::make_unique<LawAssembler>(space);
      space.initialize_dof_vector(u);
    }

    template <typename Law>
    void add(const std::vector<double> &parameters)
    {
      solid->add_law<Law>(CoefficientField::constant(parameters));
      system = std::make_unique<LawSystem>(*solid, space.rigid_body_modes());
      system->attach(newton);
    }

    /** A step to u_x = @p pull at x = 1. Returns the force there. */
    double move(const double pull)
    {
      solid->begin_step({pull, 0., pull});
      space.update_inhomogeneities(constraints(pull));
      Converged                converged = newton.solve(u);
      PatchFEM::Vector<double> forces;
      solid->reactions(u, forces);
      solid->commit(u, std::move(converged));
      return sum(forces, 1);
    }

    /** Component 0 of @p vector on the boundary @p id. */
    double sum(const PatchFEM::Vector<double> &vector, const types::boundary_id id) const
    {
      Vector<double> values(dof_handler.n_dofs());
      space.copy_to(vector, values);
      double result = 0.;
      for (const auto dof :
           DoFTools::extract_boundary_dofs(dof_handler, fe.component_mask(FEValuesExtractors::Scalar(0)), {id}))
        result += values(dof);
      return result;
    }

    Triangulation<3>              triangulation;
    const MappingQ1<3>            mapping;
    const FESystem<3>             fe{FE_Q<3>(1), 3};
    DoFHandler<3>                 dof_handler{triangulation};
    PatchFEM::FESpace<3>          space;
    std::unique_ptr<LawAssembler> solid;
    std::unique_ptr<LawSystem>    system;
    PatchFEM::NewtonSolver<>      newton;
    PatchFEM::Vector<double>      u;

  private:
    AffineConstraints<double> constraints(const double pull) const
    {
      AffineConstraints<double> result;
      for (const unsigned int id : {0, 1, 2, 4})
        VectorTools::interpolate_boundary_values(mapping, dof_handler, id,
                                                 Functions::ConstantFunction<3>(id == 1 ? pull : 0., 3), result,
                                                 fe.component_mask(FEValuesExtractors::Scalar(id / 2)));
      result.close();
      return result;
    }
  };

  /** The root of @p f, which grows, in (a, b). */
  template <typename Function>
  double bisect(const Function &f, double a, double b)
  {
    for (int k = 0; k < 200; ++k)
      (f(0.5 * (a + b)) > 0. ? b : a) = 0.5 * (a + b);
    return 0.5 * (a + b);
  }

  double rubber_force(const double lambda, const double mu, const double stretch)
  {
    const double across =
        bisect([&](const double s) { return mu * (s * s - 1.) + lambda * std::log(stretch * s * s); }, 0.1, 1.5);
    return mu * stretch + (lambda * std::log(stretch * across * across) - mu) / stretch;
  }
} // namespace

/** A patch test to a stretch of 2.5, and back to no force: the closed form, with quadratic convergence. */
TEST_P(LawSystemTest, RubberHasItsClosedForm)
{
  PulledCube cube(backend());
  cube.newton = PatchFEM::NewtonSolver<>([] {
    PatchFEM::NewtonParameters data;
    data.tolerance = 1e-11;
    return data;
  }());
  cube.add<Materials::NeoHookean>({500., 400.});
  for (const double pull : {0.5, 1.5, 0.})
  {
    const double force = cube.move(pull);
    EXPECT_NEAR(force, rubber_force(500., 400., 1. + pull), 1e-7);
    const auto &history = cube.newton.history();
    ASSERT_GE(history.size(), 3u);
    EXPECT_LE(history.size(), 9u);
    EXPECT_TRUE(history[0].predictor);
    for (const auto &row : history)
      EXPECT_FALSE(row.solution.truncated);
    // Residuals fall as their squares, but for what linear solutions leave: the sum of both in each correction.
    double first = history[0].residual;
    for (std::size_t n = 2; n + 1 < history.size(); ++n)
    {
      const double ratio = history[n].residual / first;
      EXPECT_LT(history[n + 1].residual / first, 20. * ratio * ratio + 2. * history[n].forcing * ratio + 1e-13);
    }
  }
  EXPECT_LT(cube.u.linfty_norm(), 1e-9);
}

/** Linear and kinematic hardening: the exact cyclic curve under uniaxial stress, at any sizes of steps. */
TEST_P(LawSystemTest, PlasticBarFollowsTheExactCurve)
{
  constexpr double E = 200000., nu = 0.3, yield = 250., iso = 1000., kin = 2000.;
  PulledCube       cube(backend());
  cube.add<Materials::J2Plasticity>({E / (3. * (1. - 2. * nu)), E / (2. * (1. + nu)), yield, 0., 1., iso, kin});
  double strain = 0., stress = 0., plastic = 0., back = 0., accumulated = 0.;
  for (const double target : {0.001, 0.004, 0.01, 0.002, -0.008, 0.003})
  {
    // One implicit step of the one-dimensional law, exact for a monotonic one.
    const double trial = E * (target - plastic) - back, limit = yield + iso * accumulated;
    strain = target;
    if (std::abs(trial) > limit)
    {
      const double step = (std::abs(trial) - limit) / (E + iso + kin), sign = trial > 0. ? 1. : -1.;
      plastic += sign * step;
      back += sign * kin * step;
      accumulated += step;
    }
    stress = E * (strain - plastic);
    EXPECT_NEAR(cube.move(target), stress, 1e-6 * yield) << "strain " << target;
  }
}

/** A step that fails leaves u and states as they were. */
TEST_P(LawSystemTest, StepsThatFailLeaveNothing)
{
  PulledCube cube(backend());
  cube.add<Materials::FiniteStrainJ2Plasticity>({500., 300., 1., 0., 1., 10.});
  cube.move(0.05);
  const std::vector<double> before = cube.u.copy_to_host();
  const auto                states = cube.solid->copy_state_to_host();
  EXPECT_THROW(cube.move(-1.5), StepFailure);
  EXPECT_EQ(cube.u.copy_to_host(), before);
  EXPECT_EQ(cube.solid->copy_state_to_host(), states);
  cube.solid->begin_step({});
  PatchFEM::Vector<double> inverted = cube.u;
  inverted *= -100.;
  EXPECT_THROW(cube.solid->commit(inverted, Converged::by_my_own_test(0., 0.)), StepFailure);
  EXPECT_EQ(cube.solid->copy_state_to_host(), states);
  cube.move(0.06);
  EXPECT_NE(cube.solid->copy_state_to_host(), states);
}

/** Shorter steps reach what is too far for one. */
TEST_P(LawSystemTest, StepsAreCutBack)
{
  PulledCube                 cube(backend());
  PatchFEM::NewtonParameters few;
  few.max_iterations = 3;
  cube.newton        = PatchFEM::NewtonSolver<>(few);
  cube.add<Materials::NeoHookean>({500., 400.});
  cube.move(0.05);
  PatchFEM::StepControl::AdditionalData data;
  data.first = 2.;
  PatchFEM::StepControl steps(data);
  double                time = 0., force = 0.;
  while (time < 1.)
    time = steps.advance(time, 1., [&](const double size) {
      force = cube.move(0.05 - 0.85 * (time + size));
      return cube.newton.n_corrections();
    });
  EXPECT_GT(steps.n_cut_backs(), 0u);
  EXPECT_NEAR(force, rubber_force(500., 400., 0.2), 1e-4 * std::abs(force));
}

/** Pressure that follows, whose tangent is not symmetric, on the free sides of the bar: homogeneous stretches. */
TEST_P(LawSystemTest, SystemsWithoutSymmetry)
{
  PulledCube cube(backend());
  cube.solid->add_face_law<Materials::FollowingPressure<3>>({-100.}, {3, 5}); // pulls at the free sides
  cube.add<Materials::NeoHookean>({500., 400.});
  EXPECT_FALSE(cube.solid->symmetric());
  cube.move(0.2);
  // Homogeneous: P_22 = p J / s with the stretches 1.2 and s.
  const double s = bisect(
      [](const double across) {
        const double J = 1.2 * across * across;
        return 400. * across + (500. * std::log(J) - 400.) / across - 0.2 * 100. * J / across;
      },
      0.5, 2.);
  Vector<double> values(cube.dof_handler.n_dofs());
  cube.space.copy_to(cube.u, values);
  for (const auto dof :
       DoFTools::extract_boundary_dofs(cube.dof_handler, cube.fe.component_mask(FEValuesExtractors::Scalar(1)), {3}))
    EXPECT_NEAR(values(dof), s - 1., 1e-6);
}
