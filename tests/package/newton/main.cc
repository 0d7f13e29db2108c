// SPDX-License-Identifier: LGPL-2.1-or-later
// newton BACKEND: the surface of least area over a ball (deal.II's step-15) by Newton's method, with all but the mesh on that
// back end, and the same with deal.II alone; their solutions are compared on meshes that are refined by the error, with
// degrees 1 to 3 in 2D. Exit code 77: there is no CUDA device.
#include "../../../doc/tutorials/minimal_surface.h"

#include <deal.II/base/quadrature_lib.h>
#include <deal.II/dofs/dof_tools.h>
#include <deal.II/fe/fe_q.h>
#include <deal.II/fe/fe_values.h>
#include <deal.II/fe/mapping_q.h>
#include <deal.II/grid/grid_generator.h>
#include <deal.II/grid/grid_refinement.h>
#include <deal.II/hp/fe_values.h>
#include <deal.II/lac/dynamic_sparsity_pattern.h>
#include <deal.II/lac/sparse_direct.h>
#include <deal.II/lac/sparse_matrix.h>
#include <deal.II/numerics/error_estimator.h>
#include <deal.II/numerics/vector_tools.h>
#include <patchfem/patchfem.h>

#include <cmath>
#include <iostream>

using namespace dealii;

constexpr unsigned int most_steps = 12;
constexpr double       tolerance  = 1e-13; // of the residual

template <int dim>
class BoundaryValues : public Function<dim>
{
public:
  double value(const Point<dim> &p, const unsigned int) const override { return 0.5 * std::sin(2. * (p[0] + p[1])); }
};

template <int dim>
struct Problem
{
  Triangulation<dim>        triangulation;
  const MappingQ<dim>       mapping{2};
  hp::FECollection<dim>     elements;
  hp::QCollection<dim>      rules;
  hp::QCollection<dim - 1>  face_rules;
  DoFHandler<dim>           dof_handler{triangulation};
  AffineConstraints<double> constraints, homogeneous;

  Problem()
  {
    GridGenerator::hyper_ball(triangulation);
    triangulation.refine_global(4 - dim);
    for (int degree = 1; degree <= (dim == 2 ? 3 : 1); ++degree)
    {
      elements.push_back(FE_Q<dim>(degree));
      rules.push_back(QGauss<dim>(degree + 1));
      face_rules.push_back(QGauss<dim - 1>(degree + 1));
    }
  }

  void setup()
  {
    for (const auto &cell : dof_handler.active_cell_iterators())
      cell->set_active_fe_index(cell->active_cell_index() % elements.size());
    dof_handler.distribute_dofs(elements);
    constraints.clear();
    homogeneous.clear();
    for (auto *const lines : {&constraints, &homogeneous})
    {
      DoFTools::make_hanging_node_constraints(dof_handler, *lines);
      const BoundaryValues<dim>          given;
      const Functions::ZeroFunction<dim> zero;
      const Function<dim> &values = lines == &constraints ? static_cast<const Function<dim> &>(given) : zero;
      VectorTools::interpolate_boundary_values(mapping, dof_handler, 0, values, *lines);
      lines->close();
    }
  }

  void refine(const Vector<double> &solution)
  {
    Vector<float> errors(triangulation.n_active_cells());
    KellyErrorEstimator<dim>::estimate(mapping, dof_handler, face_rules, {}, solution, errors);
    GridRefinement::refine_and_coarsen_fixed_number(triangulation, errors, 0.2, 0.03);
    triangulation.execute_coarsening_and_refinement();
  }

  // The tangent at u, and minus the residual, with deal.II's loop.
  void assemble(const Vector<double>            &u,
                const AffineConstraints<double> &lines,
                SparseMatrix<double>            &tangent,
                Vector<double>                  &rhs) const
  {
    tangent = 0.;
    rhs     = 0.;
    const hp::MappingCollection<dim>     mappings(mapping);
    hp::FEValues<dim>                    hp_values(mappings, elements, rules, update_gradients | update_JxW_values);
    std::vector<types::global_dof_index> dofs;
    std::vector<Tensor<1, dim>>          gradients;
    for (const auto &cell : dof_handler.active_cell_iterators())
    {
      hp_values.reinit(cell);
      const FEValues<dim> &values = hp_values.get_present_fe_values();
      const unsigned int   n      = cell->get_fe().n_dofs_per_cell();
      FullMatrix<double>   cell_matrix(n, n);
      Vector<double>       cell_rhs(n);
      dofs.resize(n);
      gradients.resize(values.n_quadrature_points);
      cell->get_dof_indices(dofs);
      values.get_function_gradients(u, gradients);
      for (const unsigned int q : values.quadrature_point_indices())
      {
        const Tensor<1, dim> &g = gradients[q];
        const double          s = 1. / std::sqrt(1. + g * g);
        for (unsigned int i = 0; i < n; ++i)
        {
          const Tensor<1, dim> test = values.shape_grad(i, q);
          cell_rhs(i) -= s * (g * test) * values.JxW(q);
          for (unsigned int j = 0; j < n; ++j)
          {
            const Tensor<1, dim> trial = values.shape_grad(j, q);
            cell_matrix(i, j) += s * (test * trial - s * s * (g * test) * (g * trial)) * values.JxW(q);
          }
        }
      }
      lines.distribute_local_to_global(cell_matrix, cell_rhs, dofs, tangent, rhs);
    }
  }
};

// Newton's method, from the harmonic function with the boundary values. The number of steps, more than most_steps if it
// did not converge.
template <int dim>
unsigned int solve_with_dealii(const Problem<dim> &problem, Vector<double> &u)
{
  DynamicSparsityPattern dsp(problem.dof_handler.n_dofs());
  DoFTools::make_sparsity_pattern(problem.dof_handler, dsp, problem.constraints);
  SparsityPattern pattern;
  pattern.copy_from(dsp);
  SparseMatrix<double> tangent(pattern);
  Vector<double>       rhs(problem.dof_handler.n_dofs()), update(rhs.size());
  u.reinit(rhs.size());
  for (unsigned int step = 0; step <= most_steps; ++step)
  {
    const AffineConstraints<double> &lines = step == 0 ? problem.constraints : problem.homogeneous;
    problem.assemble(u, lines, tangent, rhs);
    if (step > 0)
      lines.set_zero(rhs);
    if (step > 0 && rhs.l2_norm() < tolerance)
      return step;
    SparseDirectUMFPACK direct;
    direct.initialize(tangent);
    direct.vmult(update, rhs);
    lines.distribute(update);
    u += update;
  }
  return most_steps + 1;
}

// The same on a back end.
template <int dim>
unsigned int
solve_with_patchfem(const Problem<dim> &problem, const PatchFEM::Backend &backend, Vector<double> &solution)
{
  using Law = MinimalSurface<dim>;
  const PatchFEM::FESpace<dim>      space(backend, problem.mapping, problem.dof_handler, problem.constraints);
  PatchFEM::QuadratureField<double> field(space, Law::n_values);
  PatchFEM::Assembler<PatchFEM::Diffusion<dim>> assembler(space);
  PatchFEM::SlicedEllpackMatrix<double>         tangent;
  PatchFEM::Vector<double>                      u, rhs;
  assembler.set_coefficients(field.components(0, Law::n_tangent));
  space.initialize_matrix(tangent);
  space.initialize_dof_vector(u);
  for (unsigned int step = 0; step <= most_steps; ++step)
  {
    field.template evaluate<Law>(u);
    if (step == 0)
      assembler.assemble(tangent, rhs);
    else
    {
      integrate(space, {}, field.components(Law::n_tangent, dim), rhs);
      rhs *= -1.;
      if (rhs.l2_norm() < tolerance)
      {
        space.copy_to(u, solution);
        return step;
      }
      assembler.assemble_matrix(tangent);
    }
    SolverControl      control(1000, std::max(1e-8 * rhs.l2_norm(), 1e-15));
    PatchFEM::SolverCG solver(control);
    u.add(1., solver.solve(tangent, rhs, PatchFEM::PreconditionAMG<double>(tangent, space.constants())));
    space.constraints().distribute(u);
  }
  return most_steps + 1;
}

template <int dim>
bool run(const PatchFEM::Backend &backend)
{
  Problem<dim> problem;
  bool         success = true;
  for (int cycle = 0; cycle < 3; ++cycle)
  {
    problem.setup();
    Vector<double>     expected, found;
    const unsigned int steps     = solve_with_dealii(problem, expected),
                       our_steps = solve_with_patchfem(problem, backend, found);
    if (steps > most_steps || our_steps > most_steps)
    {
      std::cout << "Newton's method did not converge: " << steps << " and " << our_steps << " steps" << std::endl;
      return false;
    }
    found -= expected;
    const double difference = found.linfty_norm() / expected.linfty_norm();
    std::cout << dim << "D on " << backend.name() << ": " << expected.size() << " unknowns, "
              << problem.constraints.n_constraints() << " constraints, " << steps << " and " << our_steps
              << " steps, difference " << difference << std::endl;
    success = success && difference < 1e-10;
    problem.refine(expected);
  }
  return success;
}

int main(int argc, char **argv)
{
  try
  {
    const std::string name = argc > 1 ? argv[1] : "auto";
    if (name == "cuda" && !PatchFEM::Backend::cuda_available())
    {
      std::cout << "skipped: there is no CUDA device" << std::endl;
      return 77;
    }
    const PatchFEM::Backend backend(name);
    const bool              plane = run<2>(backend), space = run<3>(backend);
    return plane && space ? 0 : 1;
  }
  catch (const std::exception &error)
  {
    std::cerr << error.what() << std::endl;
    return 1;
  }
}
