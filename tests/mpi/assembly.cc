// SPDX-License-Identifier: LGPL-2.1-or-later
#include "../core/constrained_tables.h"
#include "base/nccl_library.h"
#include "rank_tables.h"

#include <patchfem/assembly/assembler.h>
#include <patchfem/base/emulated_device.h>
#include <patchfem/base/rank_group.h>
#include <patchfem/kernels/weak_forms.h>
#include <patchfem/lac/multigrid/precondition_amg.h>
#include <patchfem/lac/precondition/precondition_ic.h>
#include <patchfem/lac/precondition/precondition_jacobi.h>
#include <patchfem/lac/precondition/precondition_polynomial.h>
#include <patchfem/lac/precondition/precondition_ssor.h>
#include <patchfem/lac/solver/conjugate_gradients.h>

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <thread>

using namespace PatchFEM;

namespace
{
  /** A matrix and a load of one rank or of several, by the numbers of unknowns in the tables of all. */
  template <typename Form>
  struct System
  {
    System(const Backend &backend, const ElementTables &tables, const Patches::AdditionalData &data, const bool varying)
        : space(backend, tables, Space::AdditionalData(32)), dofs(space.batches().dof_indices().to_vector())
    {
      Assembler<Form> assembler(space, data);
      const int       n_values = Form::n_coefficients;
      if (varying)
      {
        // By the cell's number in the tables of all, of own cells alone.
        std::vector<std::vector<double>> values;
        for (std::size_t b = 0; b < tables.batches.size(); ++b)
        {
          const CellTable &batch = tables.batches[b];
          const int        n_own = tables.ranks.several() ? tables.ranks.n_own_cells[b] : batch.n_cells;
          values.emplace_back();
          for (int cell = 0; cell < n_own; ++cell)
            for (int v = 0; v < n_values; ++v)
              values.back().push_back(1. + 0.1 * v +
                                      0.01 * (batch.active_index.empty() ? cell : batch.active_index[cell]));
        }
        assembler.set_coefficients(CoefficientField::by_cell(n_values, values));
      }
      else
        assembler.set_coefficients(CoefficientField::constant(std::vector<double>(n_values, 1.5)));
      assembler.set_body_load(CoefficientField::constant(std::vector<double>(Form::n_components, 2.)));
      space.initialize_matrix(matrix);
      assembler.assemble(matrix, rhs);
    }

    Space                       space;
    std::vector<unsigned int>   dofs;
    SlicedEllpackMatrix<double> matrix;
    Vector<double>              rhs;
  };

  /** Every row of @p ours against that of @p all. */
  template <typename Form>
  void expect_rows_of(const System<Form> &ours, const System<Form> &all, const std::string &what)
  {
    const HostCSR<double>     A = ours.matrix.to_csr_host(), B = all.matrix.to_csr_host();
    const std::vector<double> f = ours.rhs.copy_to_host(), g = all.rhs.copy_to_host();
    std::vector<int>          row_of(all.dofs.size());
    for (std::size_t i = 0; i < all.dofs.size(); ++i)
      row_of[all.dofs[i]] = static_cast<int>(i);
    std::vector<double> diagonal(all.dofs.size());
    for (int i = 0; i < B.n_rows; ++i)
      for (std::int64_t e = B.row_offsets[i]; e < B.row_offsets[i + 1]; ++e)
        if (B.columns[e] == i)
          diagonal[i] = B.values[e];
    double worst = 0., worst_load = 0.;
    EXPECT_EQ(std::size_t(A.n_columns), ours.dofs.size());
    for (int i = 0; i < A.n_rows; ++i)
    {
      const int             row = row_of[ours.dofs[i]];
      std::map<int, double> entries;
      for (std::int64_t e = B.row_offsets[row]; e < B.row_offsets[row + 1]; ++e)
        entries[B.columns[e]] = B.values[e];
      EXPECT_EQ(A.row_offsets[i + 1] - A.row_offsets[i], std::int64_t(entries.size())) << what << ", row " << i;
      for (std::int64_t e = A.row_offsets[i]; e < A.row_offsets[i + 1]; ++e)
      {
        const int column = row_of[ours.dofs[A.columns[e]]];
        worst            = std::max(worst, entries.count(column) == 0 ? 1e300
                                                                      : std::abs(A.values[e] - entries[column]) /
                                                                 std::sqrt(diagonal[row] * diagonal[column]));
      }
      worst_load = std::max(worst_load, std::abs(f[i] - g[row]));
    }
    EXPECT_LE(worst, 1e-13) << what;
    EXPECT_LE(worst_load, 1e-13) << what;
  }

  template <typename Form>
  void check_rows(ElementTables tables, const std::string &what)
  {
    const auto communicator = rank_tables::world();
    for (const bool constrained : {false, true})
    {
      if (constrained)
        constrain(tables);
      const ElementTables own =
          rank_tables::part(tables, rank_tables::owners(tables, communicator->size()), communicator);
      for (const Backend &backend : rank_tables::backends())
        for (const char *strategy : {"patches", "gather"})
          for (const bool varying : {false, true})
          {
            Patches::AdditionalData data;
            data.strategy = strategy;
            const System<Form> all(Backend(), tables, data, varying), ours(backend, own, data, varying);
            EXPECT_EQ(communicator->sum(std::int64_t(ours.rhs.size())), std::int64_t(all.rhs.size()));
            expect_rows_of(ours, all, what + " " + strategy);

            // Products: the source is known by its numbers.
            Vector<double>      x, y;
            std::vector<double> values(ours.rhs.size()), of_all(all.rhs.size());
            ours.matrix.initialize_vector(x);
            ours.matrix.initialize_vector(y);
            for (std::size_t i = 0; i < values.size(); ++i)
              values[i] = synthetic::hashed(ours.dofs[i]);
            for (std::size_t i = 0; i < of_all.size(); ++i)
              of_all[i] = synthetic::hashed(all.dofs[i]);
            x.copy_from_host(values);
            const Vector<double> x_of_all(Backend(), of_all);
            Vector<double>       y_of_all(Backend(), of_all.size());
            all.matrix.vmult(y_of_all, x_of_all);
            ours.matrix.vmult(y, x);
            EXPECT_NEAR(y.l2_norm(), y_of_all.l2_norm(), 1e-12 * y_of_all.l2_norm());
            EXPECT_NEAR(y.dot(ours.rhs), y_of_all.dot(all.rhs), 1e-12 * y_of_all.l2_norm() * all.rhs.l2_norm());
          }
    }
  }

  TEST(AssemblyOfRanks, RowsAreThoseOfOneRank)
  {
    check_rows<Laplace<3>>(synthetic::cube_of_hexahedra(6, 1), "hexahedra");
    check_rows<Elasticity<3>>(synthetic::cube_of_hexahedra(4, 3), "elasticity");
    check_rows<Laplace<3>>(synthetic::cube_of_tetrahedra(5, 1, true), "tetrahedra");
  }

  /** Numbers of interior rows have no column of another rank, and all ghosts are columns behind them. */
  TEST(AssemblyOfRanks, InteriorRowsComeFirst)
  {
    const auto                      communicator = rank_tables::world();
    const ElementTables             tables       = synthetic::cube_of_hexahedra(6, 1);
    const Space                     space(Backend(),
                                          rank_tables::part(tables, rank_tables::owners(tables, communicator->size()), communicator));
    const std::vector<std::int64_t> offsets = space.sparsity().row_offsets().to_vector();
    const std::vector<int>          columns = space.sparsity().column_indices().to_vector();
    const int                       n = space.batches().n_rows(), n_interior = space.batches().n_interior_rows();
    for (int row = 0; row < n; ++row)
    {
      const bool sees_ghosts = std::any_of(columns.begin() + offsets[row], columns.begin() + offsets[row + 1],
                                           [=](const int column) { return column >= n; });
      EXPECT_EQ(sees_ghosts, row >= n_interior) << row;
    }
    if (communicator->size() == 1)
    {
      EXPECT_EQ(n, n_interior);
    }
    SlicedEllpackMatrix<double> matrix;
    space.initialize_matrix(matrix);
    EXPECT_EQ(matrix.extents().n_interior, communicator->size() == 1 ? 0 : n_interior);
  }

  struct Value
  {
    int    dof;
    double value;
  };

  struct Solved
  {
    unsigned int        n_iterations;
    std::vector<double> x; ///< by the numbers of all
  };

  template <typename Form>
  Solved solve(const System<Form> &system, const PreconditionBase<double> &preconditioner)
  {
    Vector<double>     x;
    const unsigned int n_iterations = rank_tables::solve(system.matrix, system.rhs, preconditioner, 1e-10, x);
    const auto         values       = x.copy_to_host();
    std::vector<Value> own;
    for (std::size_t i = 0; i < values.size(); ++i)
      own.push_back({int(system.dofs[i]), values[i]});
    if (system.space.tables().ranks.several())
      own = rank_tables::world()->concatenate(own);
    std::vector<double> all(own.size(), 0.);
    for (const auto &[dof, value] : own)
      all[dof] = value;
    return {n_iterations, all};
  }

  template <typename Form>
  void check_solutions(ElementTables tables)
  {
    hold(tables);
    const auto          communicator = rank_tables::world();
    const ElementTables own =
        rank_tables::part(tables, rank_tables::owners(tables, communicator->size()), communicator);
    const System<Form> all(Backend(), tables, {}, true);
    for (const Backend &backend : rank_tables::backends())
    {
      const System<Form> ours(backend, own, {}, true);
      const auto         compare = [&](const auto &make, const double more = 0.) {
        const auto   one = make(all.matrix), several = make(ours.matrix);
        const Solved expected = solve(all, *one), found = solve(ours, *several), again = solve(ours, *several);
        EXPECT_GE(double(found.n_iterations), expected.n_iterations - 1.);
        EXPECT_LE(double(found.n_iterations), (1. + more) * expected.n_iterations + 1.);
        EXPECT_EQ(found.x, again.x) << "the same ranks give other bits";
        double worst = 0., largest = 0.;
        for (std::size_t i = 0; i < expected.x.size(); ++i)
        {
          worst   = std::max(worst, std::abs(found.x[i] - expected.x[i]));
          largest = std::max(largest, std::abs(expected.x[i]));
        }
        EXPECT_LE(worst, 1e-7 * largest);
      };
      compare([](const auto &A) {
        auto made = std::make_unique<PreconditionJacobi<double>>();
        made->initialize(A);
        return made;
      });
      compare([](const auto &A) {
        auto made = std::make_unique<PreconditionPolynomial<double>>();
        made->initialize(A);
        return made;
      });
      compare([](const auto &A) {
        auto made = std::make_unique<PreconditionPolynomial<double, float>>();
        made->initialize(A);
        return made;
      });
      // Each rank factorises its own rows: block Jacobi with as many blocks as ranks.
      compare(
          [](const auto &A) {
            auto made = std::make_unique<PreconditionSSOR<double>>();
            made->initialize(A);
            return made;
          },
          1.);
      compare(
          [](const auto &A) {
            auto made = std::make_unique<PreconditionIC<double>>();
            made->initialize(A);
            return made;
          },
          1.);
    }
  }

  TEST(SolutionOfRanks, IsThatOfOneRank)
  {
    check_solutions<Laplace<3>>(synthetic::cube_of_hexahedra(7, 1));
    check_solutions<Elasticity<3>>(synthetic::cube_of_hexahedra(5, 3));
  }

  /** Each rank by itself on both of these, and where ranks share devices these. */
  std::vector<Backend> backends_of_one_rank_and_shared()
  {
    std::vector<Backend> result{Backend(BackendKind::host), Backend(BackendKind::emulated_device)};
    if (const Backend &shared = rank_tables::backends().back(); shared.group() != nullptr)
      result.push_back(shared);
    return result;
  }

  /** Cells of the last rank alone make rows negative. */
  TEST(SolutionOfRanks, AnIndefiniteRowIsAnErrorOfAll)
  {
    const auto          communicator = rank_tables::world();
    const ElementTables tables       = synthetic::cube_of_hexahedra(8, 1);
    const ElementTables own =
        rank_tables::part(tables, rank_tables::owners(tables, communicator->size()), communicator);
    for (const Backend &backend : backends_of_one_rank_and_shared())
    {
      System<Laplace<3>>               ours(backend, own, {}, false);
      Assembler<Laplace<3>>            assembler(ours.space);
      std::vector<std::vector<double>> values;
      for (const int n_cells : own.ranks.n_own_cells)
        values.emplace_back(n_cells, communicator->rank() == communicator->size() - 1 ? -1. : 1.);
      assembler.set_coefficients(CoefficientField::by_cell(1, values));
      assembler.assemble(ours.matrix, ours.rhs);
      EXPECT_THROW(PreconditionJacobi<double>().initialize(ours.matrix), NotPositiveDefinite);
      EXPECT_THROW(PreconditionPolynomial<double>().initialize(ours.matrix), Error);
      EXPECT_THROW(PreconditionSSOR<double>().initialize(ours.matrix), NotPositiveDefinite);
      EXPECT_THROW(PreconditionIC<double>().initialize(ours.matrix), Error);
      for (const AMGSmoother smoother : {AMGSmoother::chebyshev, AMGSmoother::l1_jacobi, AMGSmoother::patch})
      {
        PreconditionAMG<double>::AdditionalData data;
        data.smoother    = smoother;
        data.coarse_size = 20;
        EXPECT_THROW(PreconditionAMG<double>().initialize(ours.matrix, ours.space.constants(), data), Error);
      }
    }
  }

  /** Wherever the memory of the last rank ends, all have the same error, and the next attempt succeeds. */
  TEST(SolutionOfRanks, AFullDeviceIsAnErrorOfAll)
  {
    const auto          communicator = rank_tables::world();
    const ElementTables tables       = synthetic::cube_of_hexahedra(8, 1);
    const ElementTables own =
        rank_tables::part(tables, rank_tables::owners(tables, communicator->size()), communicator);
    for (const Backend &backend : backends_of_one_rank_and_shared())
    {
      const RankGroup *const group = backend.group();
      const int              last  = group != nullptr ? group->groups().back().ranks[0] : communicator->size() - 1;
      const BackendKind      kind  = BackendKind::emulated_device;
      // Memory of real devices has no limit to set.
      if (group == nullptr ? backend.kind() != kind : group->groups()[0].device.find("emulated") == std::string::npos)
        continue;
      const System<Laplace<3>> ours(backend, own, {}, false);
      const auto               check = [&](auto preconditioner, const std::string &what) {
        preconditioner.initialize(ours.matrix); // to know what it takes
        const std::size_t kept = preconditioner.memory_consumption();
        preconditioner         = {};
        for (const double share : {0., 0.3, 0.6, 0.9})
        {
          if (communicator->rank() == last)
            memory::limit_emulated_device(memory::in_use(kind) + static_cast<std::size_t>(share * double(kept)));
          EXPECT_THROW(preconditioner.initialize(ours.matrix), Error) << what << ", " << share;
          memory::limit_emulated_device(SIZE_MAX);
          EXPECT_NO_THROW(preconditioner.initialize(ours.matrix)) << what;
          preconditioner = {};
        }
      };
      check(PreconditionJacobi<double>(), "Jacobi");
      check(PreconditionSSOR<double>(), "SSOR");
      check(PreconditionIC<double>(), "IC");
    }
  }

  /** The last rank has no node and no cell, and takes part in everything all the same. */
  TEST(SolutionOfRanks, ARankMayHaveNothing)
  {
    const auto    communicator = rank_tables::world();
    ElementTables tables       = synthetic::cube_of_hexahedra(4, 1);
    hold(tables);
    const int                n_working = std::max(1, communicator->size() - 1);
    const ElementTables      own = rank_tables::part(tables, rank_tables::owners(tables, n_working), communicator);
    const System<Laplace<3>> all(Backend(), tables, {}, true);
    for (const Backend &backend : rank_tables::backends())
    {
      const System<Laplace<3>> ours(backend, own, {}, true);
      expect_rows_of(ours, all, "with a rank that has nothing");
      PreconditionJacobi<double>     jacobi, jacobi_of_all;
      PreconditionPolynomial<double> polynomial;
      PreconditionSSOR<double>       ssor;
      jacobi.initialize(ours.matrix);
      jacobi_of_all.initialize(all.matrix);
      polynomial.initialize(ours.matrix);
      ssor.initialize(ours.matrix);
      const Solved expected = solve(all, jacobi_of_all);
      for (const PreconditionBase<double> *preconditioner :
           std::initializer_list<const PreconditionBase<double> *>{&jacobi, &polynomial, &ssor})
      {
        const Solved found = solve(ours, *preconditioner);
        double       worst = 0.;
        for (std::size_t i = 0; i < expected.x.size(); ++i)
          worst = std::max(worst, std::abs(found.x[i] - expected.x[i]));
        EXPECT_LE(worst, 1e-7);
      }
    }
  }

  TEST(SolutionOfRanks, ConstraintsActOnVectors)
  {
    const auto    communicator = rank_tables::world();
    ElementTables tables       = synthetic::cube_of_hexahedra(5, 1);
    constrain(tables);
    const ElementTables own =
        rank_tables::part(tables, rank_tables::owners(tables, communicator->size()), communicator);
    const Space one(Backend(), tables);
    const auto  run = [&](const Space &space) {
      Vector<double> x, b;
      space.initialize_dof_vector(x);
      const std::vector<unsigned int> dofs = space.batches().dof_indices().to_vector();
      std::vector<double>             values(x.size());
      for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = synthetic::hashed(dofs[i]);
      x.copy_from_host(values);
      b = x;
      space.constraints().distribute(x);
      space.constraints().condense(b);
      std::vector<double> result{x.l2_norm(), b.l2_norm(), x.dot(b)};
      std::vector<double> changed = space.tables().constraints.inhomogeneity;
      for (double &k : changed)
        k += 1.;
      const_cast<Space &>(space).update_inhomogeneities(changed);
      space.constraints().distribute(x);
      result.push_back(x.l2_norm());
      return result;
    };
    const std::vector<double> expected = run(one);
    for (const Backend &backend : rank_tables::backends())
    {
      const std::vector<double> found = run(Space(backend, own));
      for (std::size_t i = 0; i < expected.size(); ++i)
        EXPECT_NEAR(found[i], expected[i], 1e-12 * expected[0]);
    }
  }

  /** Elasticity with multigrid, to be solved again and again. */
  struct Repeated
  {
    explicit Repeated(const Backend &backend) : system(backend, own_tables(), {}, true)
    {
      PreconditionAMG<double>::AdditionalData data;
      data.coarse_size = 20;
      preconditioner.initialize(system.matrix, system.space.rigid_body_modes(), data);
    }

    std::vector<double> solution() const ///< the rank's own
    {
      Vector<double> x;
      rank_tables::solve(system.matrix, system.rhs, preconditioner, 1e-10, x);
      return x.copy_to_host();
    }

    static ElementTables own_tables()
    {
      ElementTables tables = synthetic::cube_of_hexahedra(5, 3);
      hold(tables);
      return rank_tables::part(tables, rank_tables::owners(tables, rank_tables::world()->size()), rank_tables::world());
    }

    System<Elasticity<3>>   system;
    PreconditionAMG<double> preconditioner;
  };

  /** Of exchanges and kernels that run beside each other none may come too early, however seldom. */
  TEST(SolutionOfDevices, RepeatsItsBits)
  {
    if (Backend::cuda_devices().size() < 2)
      GTEST_SKIP() << "fewer than two CUDA devices";
    const Repeated            repeated(backend_of_ranks("cuda", MPI_COMM_WORLD));
    const std::vector<double> first       = repeated.solution();
    int                       n_different = 0;
    for (int i = 1; i < 1000; ++i)
      n_different += repeated.solution() != first;
    EXPECT_EQ(n_different, 0);
  }

  TEST(SolutionOfDevices, DoesNotDependOnTheTransport)
  {
    if (Backend::cuda_devices().size() < 2)
      GTEST_SKIP() << "fewer than two CUDA devices";
    std::vector<const char *> transports{"mpi", "peer"};
    if (std::string reason; NcclLibrary::find("libnccl.so.2", reason) != nullptr)
      transports.push_back("nccl");
    const char *const                before = std::getenv("PATCHFEM_TRANSPORT");
    const std::string                wanted = before != nullptr ? before : "peer";
    std::vector<std::vector<double>> solutions;
    for (const char *const transport : transports)
    {
      setenv("PATCHFEM_TRANSPORT", transport, 1);
      solutions.push_back(Repeated(backend_of_ranks("cuda", MPI_COMM_WORLD)).solution());
      EXPECT_EQ(solutions.back(), solutions.front()) << transport;
    }
    before != nullptr ? setenv("PATCHFEM_TRANSPORT", wanted.c_str(), 1) : unsetenv("PATCHFEM_TRANSPORT");
  }

  /** For a test that expects all ranks to end: the last one is killed while they solve. */
  TEST(SolutionOfRanks, DISABLED_ARankIsKilled)
  {
    if (std::getenv("PATCHFEM_TRANSPORT") != nullptr && Backend::cuda_devices().size() < 2)
      GTEST_SKIP() << "fewer than two CUDA devices";
    const Repeated repeated(rank_tables::backends()[0]);
    repeated.solution();
    if (rank_tables::world()->rank() == rank_tables::world()->size() - 1)
      std::thread([] {
        std::this_thread::sleep_for(std::chrono::milliseconds(500));
        std::raise(SIGKILL);
      }).detach();
    for (;;)
      repeated.solution();
  }
} // namespace
