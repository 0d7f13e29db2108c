// SPDX-License-Identifier: LGPL-2.1-or-later
// Degree 1 as the first step of multigrid on several ranks, beside one rank on the same mesh; on 1, 2, 3 and 5.
#include "extraction_ranks_check.h"

#include <patchfem/lac/multigrid/smoothed_aggregation.h>
#include <patchfem/patchfem.h>

#include <deal.II/distributed/fully_distributed_tria.h>
#include <deal.II/distributed/shared_tria.h>
#include <deal.II/distributed/tria.h>
#include <deal.II/dofs/dof_tools.h>
#include <deal.II/fe/fe_q.h>
#include <deal.II/fe/fe_system.h>
#include <deal.II/fe/mapping_q1.h>
#include <deal.II/grid/grid_generator.h>
#include <deal.II/hp/fe_collection.h>
#include <deal.II/numerics/vector_tools_boundary.h>

namespace
{
  using namespace RankCheck;
  using PatchFEM::Array;
  using PatchFEM::Backend;
  using PatchFEM::FESpace;
  using PatchFEM::LinearEmbedding;
  using PatchFEM::SlicedEllpackMatrix;
  using PatchFEM::Vector;

  /** What a mesh may have in excess of some cells that are smaller by two levels. */
  struct Mesh
  {
    double width     = 1.;    ///< of all cells
    bool   far_apart = false; ///< cells that meet in a vertex differ by two levels
  };

  template <int dim>
  void make_mesh(Triangulation<dim> &triangulation, const Mesh &mesh)
  {
    Point<dim> corner;
    for (int d = 0; d < dim; ++d)
      corner[d] = d == 0 ? mesh.width : 1.;
    GridGenerator::hyper_rectangle(triangulation, Point<dim>(), corner, true);
    triangulation.refine_global(2);
    for (int step = 0; step < 2; ++step) // hanging vertices whose lines end at hanging ones
    {
      for (const auto &cell : triangulation.active_cell_iterators())
      {
        const Point<dim> x     = cell->center();
        const bool       small = mesh.far_apart
                                     ? x[0] < 0.25 * (2 - step) && x[1] < 0.25 * (2 - step)
                                     : !cell->is_artificial() && x[0] < mesh.width * (0.6 - 0.3 * step) && x[1] < 0.5;
        if (small)
          cell->set_refine_flag();
      }
      triangulation.execute_coarsening_and_refinement();
    }
  }

  /** A matrix of Laplace or of elasticity; x = 0 is held, of x = 1 the first component. */
  template <int dim, int n_components>
  struct System
  {
    using Form = std::conditional_t<n_components == 1, PatchFEM::Laplace<dim>, PatchFEM::Elasticity<dim>>;

    hp::FECollection<dim>                  fe;
    DoFHandler<dim>                        dof_handler;
    AffineConstraints<double>              constraints;
    FESpace<dim>                           space;
    std::shared_ptr<const LinearEmbedding> P;
    SlicedEllpackMatrix<double>            A;
    Vector<double>                         rhs;

    System(const Backend &backend, const Triangulation<dim> &triangulation, const std::vector<int> &degrees, bool held)
        : dof_handler(triangulation)
    {
      for (const int degree : degrees)
        fe.push_back(FESystem<dim>(FE_Q<dim>(degree), n_components));
      for (const auto &cell : dof_handler.active_cell_iterators())
        if (cell->is_locally_owned())
          cell->set_active_fe_index(static_cast<int>(random_of(cell->center(), 3) * fe.size()));
      dof_handler.distribute_dofs(fe);
      const MappingQ1<dim> mapping;
      constraints.reinit(DoFTools::extract_locally_relevant_dofs(dof_handler));
      DoFTools::make_hanging_node_constraints(dof_handler, constraints);
      for (const unsigned char end : {0, 1})
        if (ComponentMask mask(n_components, end == 0); held)
        {
          mask.set(0, true);
          VectorTools::interpolate_boundary_values(mapping, dof_handler, end,
                                                   Functions::ZeroFunction<dim>(n_components), constraints, mask);
        }
      constraints.close();
      space.reinit(backend, mapping, dof_handler, constraints);
      P = space.linear_embedding();
      PatchFEM::Assembler<Form> assembler(space);
      assembler.set_coefficients(PatchFEM::CoefficientField::constant(std::vector<double>(Form::n_coefficients, 1.)));
      assembler.set_body_load(PatchFEM::CoefficientField::constant(std::vector<double>(n_components, 1.)));
      space.initialize_matrix(A);
      assembler.assemble(A, rhs);
    }

    bool has_rows() const { return is_owner(space.backend()); }

    /** [node of this rank] */
    std::vector<Point<dim>> points() const
    {
      const std::vector<double> values = space.batches().node_points().to_vector();
      std::vector<Point<dim>>   result(space.batches().n_rows());
      for (std::size_t i = 0; i < result.size(); ++i)
        for (int d = 0; d < dim; ++d)
          result[i][d] = values[i * dim + d];
      return result;
    }

    /** Values without a pattern at places, [place][component]. */
    std::vector<double> at(const std::vector<Point<dim>> &places) const
    {
      std::vector<double> result;
      for (const Point<dim> &x : places)
        for (int a = 0; a < n_components; ++a)
          result.push_back(random_of(x, a) - 0.5);
      return result;
    }

    std::vector<double> at_vertices() const
    {
      const std::vector<Point<dim>> all = points();
      std::vector<Point<dim>>       vertices;
      for (const int node : P->nodes.to_vector())
        vertices.push_back(all[node]);
      return at(vertices);
    }

    unsigned int solve(const PatchFEM::PreconditionBase<double> &preconditioner) const
    {
      ReductionControl control(500, 0., 1e-8);
      PatchFEM::SolverCG(control).solve(A, rhs, preconditioner);
      return control.last_step();
    }
  };

  template <int dim>
  std::array<long, dim + 1> key_of(const Point<dim> &point, const int component)
  {
    std::array<long, dim + 1> key;
    for (int d = 0; d < dim; ++d)
      key[d] = std::lround(point[d] * 1e6);
    key[dim] = component;
    return key;
  }

  /** P u, R and R A P of @p ours, of several ranks, against P u of @p all, of one. */
  template <int dim, int n_components>
  void compare_steps(const System<dim, n_components> &ours, const System<dim, n_components> &all)
  {
    using Coarsening        = PatchFEM::SmoothedAggregation<double>;
    const auto interpolated = [](const System<dim, n_components> &system, Coarsening &step, Vector<double> &coarse,
                                 Vector<double> &fine) {
      step.reinit(system.A, *system.P);
      step.compute(system.A, *system.P);
      step.coarse_matrix().initialize_vector(coarse);
      system.A.initialize_vector(fine);
      coarse.copy_from_host(system.at_vertices());
      step.prolongator().vmult(fine, coarse);
      return fine.copy_to_host();
    };
    PatchFEM::on_owner(ours.space.backend(), [&] {
      Coarsening                                  step, step_of_one;
      Vector<double>                              u, u_of_one, Pu, Pu_of_one;
      std::map<std::array<long, dim + 1>, double> expected;
      double                                      worst  = 0.;
      const std::vector<double>                   values = interpolated(all, step_of_one, u_of_one, Pu_of_one);
      const std::vector<Point<dim>>               points = all.points(), own = ours.points();
      for (std::size_t i = 0; i < values.size(); ++i)
        if (values[i] != 0.) // else the row is of a constrained unknown, which may lie where a free one does
          expected[key_of(points[i / n_components], i % n_components)] = values[i];
      const std::vector<double> found = interpolated(ours, step, u, Pu);
      for (std::size_t i = 0; i < found.size(); ++i)
        if (found[i] != 0.)
          worst = std::max(worst, std::abs(found[i] - expected.at(key_of(own[i / n_components], i % n_components))));
      EXPECT_LT(worst, 1e-13);
      std::int64_t n_free = std::count_if(found.begin(), found.end(), [](const double value) { return value != 0.; });
      if (ours.A.partitioner() != nullptr)
        n_free = ours.A.partitioner()->communicator().sum(n_free);
      EXPECT_EQ(n_free, std::int64_t(expected.size()));

      // v . P u = R v . u, and u . R A P u = P u . A P u but for components that are held, whose rows are those of I.
      Vector<double> v, APu, Rv, Cu;
      ours.A.initialize_vector(v);
      ours.A.initialize_vector(APu);
      step.coarse_matrix().initialize_vector(Rv);
      step.coarse_matrix().initialize_vector(Cu);
      v.copy_from_host(ours.at(own));
      step.restrictor().vmult(Rv, v);
      EXPECT_NEAR(v.dot(Pu), Rv.dot(u), 1e-12 * v.l2_norm() * Pu.l2_norm());
      ours.A.vmult(APu, Pu);
      step.restrictor().vmult(Rv, APu);
      step.coarse_matrix().vmult(Cu, u);
      const std::vector<double> RAPu = Rv.copy_to_host(), C = Cu.copy_to_host(), of_vertices = u.copy_to_host();
      worst = 0.;
      for (std::size_t i = 0; i < C.size(); ++i)
        if (C[i] != of_vertices[i])
          worst = std::max(worst, std::abs(RAPu[i] - C[i]));
      EXPECT_LT(worst, 1e-11);
    });
  }

  /** The steps of conjugate gradients, and the levels of ranks in their report. */
  template <int dim, int n_components>
  void compare_solutions(const System<dim, n_components> &ours,
                         const System<dim, n_components> &all,
                         const bool                       held,
                         const std::string               &what)
  {
    unsigned int in_double = 0; // after levels in single precision that are taken for too short
    for (const std::string precision : {"mixed", "double after single", "double"})
    {
      PatchFEM::PreconditionAMG<double>::AdditionalData data;
      data.single_precision = precision != "double";
      data.coarse_size      = 60;
      if (precision == "double after single")
        data.single_limit = data.finest_limit = 0.;
      const auto steps = [&](const System<dim, n_components> &system) {
        PatchFEM::NullSpace<double> null_space;
        const auto near_null = n_components == 1 ? system.space.constants() : system.space.rigid_body_modes();
        if (!held)
        {
          std::vector<Vector<double>> ones(1);
          system.space.initialize_dof_vector(ones[0]);
          ones[0] = 1.;
          system.space.constraints().set_zero(ones[0]);
          null_space = PatchFEM::NullSpace<double>(std::move(ones));
        }
        PatchFEM::PreconditionAMG<double> amg;
        amg.initialize(system.A, near_null, data, null_space);
        if (system.has_rows())
        {
          EXPECT_EQ(amg.statistics()[0].embedded_degree, system.P != nullptr ? system.P->degree : 1);
        }
        if (!held)
        {
          Vector<double> b(system.rhs), x(system.rhs);
          null_space.project(b);
          x = 0.;
          ReductionControl control(500, 0., 1e-8);
          PatchFEM::SolverCG(control).solve(system.A, x, b, PatchFEM::PreconditionProjected<double>(amg, null_space));
          return control.last_step();
        }
        const unsigned int n = system.solve(amg);
        amg.update(system.A);
        EXPECT_EQ(system.solve(amg), n);
        return n;
      };
      const unsigned int expected = steps(all), found = steps(ours);
      EXPECT_LE(found, 1.15 * expected + 1.) << what;
      EXPECT_TRUE(precision != "double" || found == in_double) << what;
      in_double = found;
      if (this_rank() == 0)
        std::cout << what << ", " << precision << ": " << expected << " iterations on one, " << found << " on "
                  << n_ranks() << " ranks" << std::endl;
    }
  }

  template <int dim, int n_components>
  void check(const std::vector<int> &degrees, const bool held = true)
  {
    const std::string what = std::to_string(dim) + "D, " + std::to_string(n_components) + " components, degrees " +
                             testing::PrintToString(degrees) + (held ? "" : ", free");
    SCOPED_TRACE(what);
    Triangulation<dim>                        serial(Triangulation<dim>::limit_level_difference_at_vertices);
    parallel::distributed::Triangulation<dim> distributed(MPI_COMM_WORLD);
    make_mesh(serial, {});
    make_mesh(distributed, {});
    ASSERT_EQ(serial.n_active_cells(), distributed.n_global_active_cells());
    const System<dim, n_components> all(Backend(), serial, degrees, held);
    std::vector<Backend>            backends{shared_backend()};
    if (shared_backend().group() == nullptr)
      backends.emplace_back();
    for (const Backend &backend : backends)
    {
      const System<dim, n_components> ours(backend, distributed, degrees, held);
      ASSERT_NE(all.P, nullptr);
      ASSERT_TRUE(ours.P != nullptr || !ours.has_rows());
      compare_steps(ours, all);
      compare_solutions(ours, all, held, what);
    }
  }

  TEST(EmbeddingRanks, Scalars)
  {
    for (const int degree : {2, 3, 4})
      check<2, 1>({degree});
    check<3, 1>({2});
    check<3, 1>({3});
  }

  TEST(EmbeddingRanks, Vectors)
  {
    check<2, 2>({2});
    check<2, 2>({3});
    check<3, 3>({2});
  }

  TEST(EmbeddingRanks, DegreesThatDiffer)
  {
    check<2, 1>({1, 2, 3});
    check<2, 2>({3, 2});
    check<3, 1>({1, 2});
  }

  TEST(EmbeddingRanks, NullSpaces)
  {
    check<2, 1>({2}, false);
    check<3, 1>({2}, false);
  }

  /**
   * On meshes that are not p4est's cells that meet in a vertex may differ by two levels. The owner of a vertex has
   * all nodes that depend on it, or there is no embedding on any rank.
   */
  TEST(EmbeddingRanks, LevelsThatAreFarApart)
  {
    Mesh mesh;
    mesh.far_apart = true;
    Triangulation<2>                   serial;
    parallel::shared::Triangulation<2> shared(MPI_COMM_WORLD, Triangulation<2>::none, true,
                                              parallel::shared::Triangulation<2>::partition_zorder);
    make_mesh(serial, mesh);
    make_mesh(shared, mesh);
    for (const int degree : {2, 3})
    {
      const System<2, 1> all(Backend(), serial, {degree}, true), ours(Backend(), shared, {degree}, true);
      const int          there = ours.P != nullptr;
      EXPECT_EQ(Utilities::MPI::min(there, MPI_COMM_WORLD), Utilities::MPI::max(there, MPI_COMM_WORLD));
      if (there != 0)
        compare_steps(ours, all);
    }
  }

  /** All cells are stretched, which all ranks say. */
  TEST(EmbeddingRanks, IsNoneOfStretchedCells)
  {
    Mesh mesh;
    mesh.width = 0.1;
    parallel::distributed::Triangulation<2> triangulation(MPI_COMM_WORLD);
    make_mesh(triangulation, mesh);
    EXPECT_EQ((System<2, 1>(Backend(), triangulation, {2}, true).P), nullptr);
  }
} // namespace
