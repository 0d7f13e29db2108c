// SPDX-License-Identifier: LGPL-2.1-or-later
#include "../core/constrained_tables.h"
#include "rank_tables.h"

#include <patchfem/assembly/assembler.h>
#include <patchfem/base/rank_group.h>
#include <patchfem/kernels/weak_forms.h>
#include <patchfem/lac/multigrid/precondition_amg.h>
#include <patchfem/lac/solver/conjugate_gradients.h>

#include <gtest/gtest.h>

#include <cmath>

using namespace PatchFEM;

namespace
{
  template <typename Form>
  struct System
  {
    System(const Backend &backend, const ElementTables &tables) : space(backend, tables) { assemble(1.); }

    void assemble(const double coefficient)
    {
      Assembler<Form> assembler(space);
      assembler.set_coefficients(CoefficientField::constant(std::vector<double>(Form::n_coefficients, coefficient)));
      assembler.set_body_load(CoefficientField::constant(std::vector<double>(Form::n_components, 1.)));
      space.initialize_matrix(matrix);
      assembler.assemble(matrix, rhs);
    }

    NearNullSpace modes() const { return Form::n_components == 1 ? space.constants() : space.rigid_body_modes(); }

    Space                       space;
    SlicedEllpackMatrix<double> matrix;
    Vector<double>              rhs;
  };

  struct Solved
  {
    unsigned int        n_iterations;
    std::vector<double> x;
    double              norm;
  };

  template <typename Form>
  Solved solve(const System<Form> &system, const PreconditionBase<double> &preconditioner)
  {
    Vector<double>     x;
    const unsigned int n_iterations = rank_tables::solve(system.matrix, system.rhs, preconditioner, 1e-8, x);
    return {n_iterations, x.copy_to_host(), x.l2_norm()};
  }

  template <typename Form>
  void check(ElementTables tables, const std::string &what, const double width = 1.)
  {
    hold(tables);
    const auto             communicator = rank_tables::world();
    const std::vector<int> owners       = rank_tables::owners(tables, communicator->size());
    if (width != 1.) // and regular: cells of random widths are another matter
    {
      const double n = std::round(std::cbrt(static_cast<double>(tables.n_nodes))) - 1.;
      for (std::size_t i = 0; i < tables.points.size(); ++i)
        tables.points[i] = std::round(tables.points[i] * n) / n * (i % 3 == 0 ? width : 1.);
    }
    const ElementTables own = rank_tables::part(tables, owners, communicator);
    const System<Form>  all(Backend(), tables);
    for (const Backend &backend : rank_tables::backends())
    {
      System<Form> ours(backend, own);
      for (const bool single : {true, false})
      {
        typename PreconditionAMG<double>::AdditionalData data;
        data.single_precision = single;
        data.coarse_size      = 60; // more levels than one
        PreconditionAMG<double> amg_of_one, amg;
        amg_of_one.initialize(all.matrix, all.modes(), data);
        amg.initialize(ours.matrix, ours.modes(), data);
        const bool has_levels = backend.group() == nullptr || backend.group()->owns();
        EXPECT_EQ(amg.n_levels() > 0, has_levels);
        if (width == 1. && has_levels) // of flat cells the last levels of both see other modes
        {
          EXPECT_LT(std::abs(std::log(amg.condition() / amg_of_one.condition())), std::log(5.)) << what;
        }
        const Solved expected = solve(all, amg_of_one), found = solve(ours, amg), again = solve(ours, amg);
        EXPECT_EQ(found.x, again.x) << "the same ranks give other bits";
        EXPECT_NEAR(found.norm, expected.norm, 1e-6 * expected.norm) << what;
        EXPECT_LE(found.n_iterations, 1.2 * expected.n_iterations + 2.) << what;
        if (backend != Backend(BackendKind::emulated_device) && communicator->rank() == 0)
          std::cout << what << (single ? ", mixed: " : ", double: ") << expected.n_iterations << " iterations on one, "
                    << found.n_iterations << " on " << communicator->size() << " ranks, " << amg_of_one.n_levels()
                    << " and " << amg.n_levels() << " levels" << std::endl;
        // Values that no power of two makes of the others, so that all bits change.
        ours.assemble(3.);
        amg.update(ours.matrix);
        PreconditionAMG<double> fresh;
        fresh.initialize(ours.matrix, ours.modes(), data);
        EXPECT_EQ(solve(ours, amg).x, solve(ours, fresh).x) << what << ": update() gives other bits";
        ours.assemble(1.);
      }
    }
  }

  TEST(MultigridOfRanks, IteratesAsOnOneRank)
  {
    check<Laplace<3>>(synthetic::cube_of_hexahedra(16, 1), "Laplace, hexahedra");
    check<Laplace<3>>(synthetic::cube_of_tetrahedra(12, 1, true), "Laplace, tetrahedra");
    check<Elasticity<3>>(synthetic::cube_of_hexahedra(10, 3), "elasticity, hexahedra");
  }

  /** Borders of ranks cut short edges: which edges are short is to be seen from those that are cut, too. */
  TEST(MultigridOfRanks, FollowsShortEdges)
  {
    check<Laplace<3>>(synthetic::cube_of_hexahedra(16, 1), "Laplace, cells of 1 : 100", 0.01);
    check<Elasticity<3>>(synthetic::cube_of_hexahedra(8, 3), "elasticity, cells of 1 : 100", 0.01);
  }
} // namespace
