// SPDX-License-Identifier: LGPL-2.1-or-later
// vibration [BACKEND]: a beam of steel that is clamped at its left end. Its lowest modes, K x = lambda M x, by inverse
// iteration with several vectors; and its amplitude under a load that oscillates, (K - omega^2 M) x = f, by GMRES of deal.II.
#include "mass.h"

#include <deal.II/dofs/dof_handler.h>
#include <deal.II/fe/fe_q.h>
#include <deal.II/fe/fe_system.h>
#include <deal.II/fe/mapping_q1.h>
#include <deal.II/grid/grid_generator.h>
#include <deal.II/lac/lapack_full_matrix.h>
#include <deal.II/lac/solver_gmres.h>
#include <deal.II/numerics/vector_tools.h>
#include <patchfem/patchfem.h>

#include <cmath>
#include <iostream>
#include <random>

using namespace dealii;

constexpr int    dim    = 2;
constexpr double length = 2, height = 0.05, E = 210e9, nu = 0.3, density = 7850;

using Matrix = PatchFEM::SlicedEllpackMatrix<double>;
using Field  = PatchFEM::Vector<double>;

/** Vectors that are 0 at held unknowns: where these have rows of their own, no mode begins, and none comes in. */
std::vector<Field> make_fields(const PatchFEM::FESpace<dim> &space, const unsigned int n)
{
  std::vector<Field> fields(n);
  std::mt19937       generator;
  for (Field &x : fields)
  {
    space.initialize_dof_vector(x);
    std::vector<double> values(x.size());
    for (double &value : values)
      value = std::uniform_real_distribution<double>(-1., 1.)(generator);
    x.copy_from_host(values);
    space.constraints().set_zero(x);
  }
  return fields;
}

/** The least eigenvalues within the span of @p fields, which become their vectors, with x . M x = 1. */
std::vector<double> rotate_to_modes(const Matrix &K, const Matrix &M, std::vector<Field> &fields)
{
  const unsigned int          n = fields.size();
  LAPACKFullMatrix<double>    stiffness(n), mass(n);
  std::vector<Vector<double>> combinations(n);
  std::vector<double>         eigenvalues(n);
  Field                       product(fields[0]);
  for (unsigned int j = 0; j < n; ++j)
  {
    K.vmult(product, fields[j]);
    for (unsigned int i = 0; i < n; ++i)
      stiffness(i, j) = fields[i] * product;
    M.vmult(product, fields[j]);
    for (unsigned int i = 0; i < n; ++i)
      mass(i, j) = fields[i] * product;
  }
  stiffness.compute_generalized_eigenvalues_symmetric(mass, combinations);

  const std::vector<Field> old = fields;
  for (unsigned int j = 0; j < n; ++j)
  {
    eigenvalues[j] = stiffness.eigenvalue(j).real();
    fields[j]      = 0.;
    for (unsigned int i = 0; i < n; ++i)
      fields[j].add(combinations[j](i), old[i]);
  }
  return eigenvalues;
}

/** The @p n least eigenvalues, and in @p fields their vectors; the more further fields, the fewer steps. */
template <typename Preconditioner>
std::vector<double> find_modes(const Matrix         &K,
                               const Matrix         &M,
                               const Preconditioner &preconditioner,
                               const unsigned int    n,
                               std::vector<Field>   &fields)
{
  std::vector<double> eigenvalues = rotate_to_modes(K, M, fields);
  for (unsigned int step = 1; step <= 50; ++step)
  {
    Field right(fields[0]);
    for (unsigned int j = 0; j < fields.size(); ++j)
    {
      M.vmult(right, fields[j]);
      fields[j] /= eigenvalues[j]; // the solution, where it is a mode already
      SolverControl      control(1000, 1e-8 * right.l2_norm());
      PatchFEM::SolverCG solver(control);
      solver.solve(K, fields[j], right, preconditioner);
    }
    const std::vector<double> before = eigenvalues;
    eigenvalues                      = rotate_to_modes(K, M, fields);
    double change                    = 0.;
    for (unsigned int j = 0; j < n; ++j)
      change = std::max(change, std::abs(eigenvalues[j] / before[j] - 1.));
    if (change < 1e-8)
    {
      std::cout << step << " steps of inverse iteration" << std::endl;
      return eigenvalues;
    }
  }
  throw PatchFEM::Error("Inverse iteration did not converge in 50 steps; take more vectors.");
}

void run(const std::string &backend_name)
{
  const PatchFEM::Backend backend(backend_name);

  const types::boundary_id clamped = 0, loaded = 1;
  Triangulation<dim>       triangulation;
  GridGenerator::subdivided_hyper_rectangle(triangulation, {80, 2}, Point<dim>(0, 0), Point<dim>(length, height), true);
  const MappingQ1<dim> mapping;
  const FESystem<dim>  fe(FE_Q<dim>(2), dim);
  DoFHandler<dim>      dof_handler(triangulation);
  dof_handler.distribute_dofs(fe);
  AffineConstraints<double> constraints;
  VectorTools::interpolate_boundary_values(mapping, dof_handler, clamped, Functions::ZeroFunction<dim>(dim),
                                           constraints);
  constraints.close();

  PatchFEM::ExtractionData<dim> extraction;
  extraction.boundary_ids = {loaded};
  const PatchFEM::FESpace<dim> space(backend, mapping, dof_handler, constraints, extraction);

  // Two forms on one space: stiffness in plane stress with a load of 1 at the end, and mass.
  Matrix                                         K, M;
  Field                                          load;
  PatchFEM::Assembler<PatchFEM::Elasticity<dim>> stiffness(space);
  PatchFEM::Assembler<Mass<dim>>                 mass(space);
  space.initialize_matrix(K);
  space.initialize_matrix(M);
  stiffness.set_coefficients(PatchFEM::CoefficientField::constant({E * nu / (1. - nu * nu), E / (2. * (1. + nu))}));
  stiffness.set_face_terms(
      space.evaluate_on_faces(Functions::ConstantFunction<dim>(std::vector<double>{0., 1. / height}), {loaded}));
  stiffness.assemble(K, load);
  mass.set_coefficients(PatchFEM::CoefficientField::constant({density}));
  mass.assemble_matrix(M);
  const PatchFEM::PreconditionAMG<double> preconditioner(K, space.rigid_body_modes());

  // Bernoulli's beam has the frequencies (k / length)^2 sqrt(EI / m) / 2 pi, with 1 + cos k cosh k = 0.
  const double              stiffness_of_beam = E * std::pow(height, 3) / 12., mass_of_beam = density * height;
  std::vector<Field>        shapes      = make_fields(space, 6);
  const std::vector<double> eigenvalues = find_modes(K, M, preconditioner, 3, shapes);
  for (const double k : {1.875104, 4.694091, 7.854757})
  {
    const unsigned int mode = k < 2. ? 0 : k < 5. ? 1 : 2;
    std::cout << "Mode " << mode + 1 << ": " << std::sqrt(eigenvalues[mode]) / (2. * numbers::PI) << " Hz, of a beam "
              << std::pow(k / length, 2) * std::sqrt(stiffness_of_beam / mass_of_beam) / (2. * numbers::PI)
              << std::endl;
  }

  // Above the first frequency K - omega^2 M is not definite, which conjugate gradients need. Multigrid of K still serves.
  const double                          omega = 2. * numbers::PI * 30.;
  Field                                 product(load), x(load);
  const PatchFEM::OperatorShell<double> dynamic(backend, K.m(), K.n(), [&](Field &dst, const Field &src) {
    K.vmult(dst, src);
    M.vmult(product, src);
    dst.add(-omega * omega, product);
  });
  // Flexible GMRES, since single precision makes the cycle a little different in each step.
  SolverControl       control(200, 1e-8 * load.l2_norm());
  SolverFGMRES<Field> solver(control);
  x = 0.;
  solver.solve(dynamic, x, load, preconditioner);

  Vector<double> solution(dof_handler.n_dofs()), end(dim);
  space.copy_to(x, solution);
  constraints.distribute(solution);
  VectorTools::point_value(mapping, dof_handler, solution, Point<dim>(length, height / 2.), end);
  const double b = length * std::pow(mass_of_beam * omega * omega / stiffness_of_beam, 0.25);
  std::cout << "At 30 Hz: " << control.last_step() << " iterations, amplitude " << end(1) << ", of a beam "
            << std::pow(length / b, 3) / stiffness_of_beam * (std::sin(b) * std::cosh(b) - std::cos(b) * std::sinh(b)) /
                   (1. + std::cos(b) * std::cosh(b))
            << std::endl;
}

int main(int argc, char **argv)
{
  try
  {
    run(argc > 1 ? argv[1] : "auto");
  }
  catch (const std::exception &exception)
  {
    std::cerr << exception.what() << std::endl;
    return 1;
  }
  return 0;
}
