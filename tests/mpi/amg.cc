// SPDX-License-Identifier: LGPL-2.1-or-later
#include "../core/constrained_tables.h"
#include "rank_tables.h"

#include <patchfem/assembly/assembler.h>
#include <patchfem/base/rank_group.h>
#include <patchfem/kernels/weak_forms.h>
#include <patchfem/lac/multigrid/precondition_amg.h>
#include <patchfem/lac/solver/conjugate_gradients.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

using namespace PatchFEM;

namespace
{
  template <typename Form>
  struct System
  {
    /** @p ratio is lambda / mu of elasticity; cells of material 1 are @p contrast times as stiff as those of 0. */
    System(const Backend &backend, const ElementTables &tables, const double ratio = 1., const double contrast = 1.)
        : space(backend, tables), ratio(ratio), contrast(contrast)
    {
      assemble(1.);
    }

    void assemble(const double coefficient)
    {
      Assembler<Form>     assembler(space);
      std::vector<double> coefficients(Form::n_coefficients, coefficient);
      coefficients[0] *= ratio;
      std::vector<double> stiff = coefficients;
      for (double &value : stiff)
        value *= contrast;
      assembler.set_coefficients(CoefficientField::by_material({{0, coefficients}, {1, stiff}}));
      assembler.set_body_load(CoefficientField::constant(std::vector<double>(Form::n_components, 1.)));
      space.initialize_matrix(matrix);
      assembler.assemble(matrix, rhs);
    }

    NearNullSpace modes() const { return Form::n_components == 1 ? space.constants() : space.rigid_body_modes(); }

    /** The modes of the nodes whose x is less than @p limit, and those of all others. */
    NullSpace<double> motions(const double limit) const
    {
      const NearNullSpace         near_null = modes();
      const std::vector<double>   values = near_null.array().to_vector(), points = near_null.points().to_vector();
      const int                   n_modes = Form::n_components == 1 ? 1 : 6, n = matrix.n_rows();
      std::vector<Vector<double>> vectors;
      for (const bool behind : {false, true})
        for (int m = 0; m < n_modes; ++m)
        {
          std::vector<double> motion;
          for (int i = 0; i < n; ++i)
            motion.push_back((points[i / Form::n_components * 3] >= limit) == behind ? values[i * n_modes + m] : 0.);
          space.initialize_dof_vector(vectors.emplace_back());
          vectors.back().copy_from_host(motion);
        }
      NullSpace<double> result(std::move(vectors));
      result.check(matrix);
      return result;
    }

    Space                       space;
    double                      ratio, contrast;
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
  Solved solve(const System<Form>             &system,
               const PreconditionBase<double> &preconditioner,
               const NullSpace<double>        &null_space = NullSpace<double>())
  {
    Vector<double> x, b(system.rhs);
    if (null_space.n_vectors() > 0)
    {
      null_space.project(b);
      const unsigned int n =
          rank_tables::solve(system.matrix, b, PreconditionProjected<double>(preconditioner, null_space), 1e-8, x);
      return {n, x.copy_to_host(), x.l2_norm()};
    }
    const unsigned int n_iterations = rank_tables::solve(system.matrix, b, preconditioner, 1e-8, x);
    return {n_iterations, x.copy_to_host(), x.l2_norm()};
  }

  using Data = PreconditionAMG<double>::AdditionalData;

  /** x . M^-1 y = y . M^-1 x, of two vectors without a pattern. */
  void check_symmetry(const PreconditionBase<double> &M, const Vector<double> &like, const double tolerance)
  {
    Vector<double> x[2], image[2];
    for (int k = 0; k < 2; ++k)
    {
      x[k].reinit(like);
      image[k].reinit(like);
      std::vector<double> values(like.size());
      for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = std::sin(1. + (1. + k) * static_cast<double>(like.first_index() + std::int64_t(i)));
      x[k].copy_from_host(values);
      M.vmult(image[k], x[k]);
    }
    EXPECT_NEAR(x[0].dot(image[1]), x[1].dot(image[0]), tolerance * x[0].l2_norm() * image[1].l2_norm());
  }

  /** What is not as it is by default. */
  struct Case
  {
    double width    = 1.;            ///< of cells in x
    double noise    = 0.;            ///< that takes nodes away from lines
    double ratio    = 1.;            ///< lambda / mu
    double contrast = 1.;            ///< of material 1
    double longer   = 1.2;           ///< most steps over those of one rank, but for two
    double free     = 0.;            ///< no node is held, and those with x less than this are a part of their own
    Data   data     = more_levels(); ///< of the preconditioner
    int    n_idle   = 0;             ///< ranks without nodes, if there are enough

    static Data more_levels()
    {
      Data data;
      data.coarse_size = 60;
      return data;
    }
  };

  template <typename Form>
  void check(ElementTables tables, const std::string &what, const Case &options = Case())
  {
    const bool held = options.free == 0.;
    if (held)
      hold(tables);
    const auto             communicator = rank_tables::world();
    const std::vector<int> owners = rank_tables::owners(tables, std::max(1, communicator->size() - options.n_idle));
    if (options.width != 1.) // and regular: cells of random widths are another matter
    {
      const double n = std::round(std::cbrt(static_cast<double>(tables.n_nodes))) - 1.;
      for (std::size_t i = 0; i < tables.points.size(); ++i)
        tables.points[i] = (std::round(tables.points[i] * n) / n + options.noise * std::sin(static_cast<double>(i))) *
                           (i % 3 == 0 ? options.width : 1.);
    }
    const ElementTables own = rank_tables::part(tables, owners, communicator);
    const System<Form>  all(Backend(), tables, options.ratio, options.contrast);
    NullSpace<double>   motions_of_all, motions;
    if (!held)
      motions_of_all = all.motions(options.free);
    for (const Backend &backend : rank_tables::backends())
    {
      System<Form> ours(backend, own, options.ratio, options.contrast);
      if (!held)
        motions = ours.motions(options.free);
      for (const bool single : {true, false})
      {
        SCOPED_TRACE(what + (single ? ", mixed" : ", double"));
        Data data             = options.data;
        data.single_precision = single;
        PreconditionAMG<double> amg_of_one, amg;
        amg_of_one.initialize(all.matrix, all.modes(), data, motions_of_all);
        amg.initialize(ours.matrix, ours.modes(), data, motions);
        const bool has_levels = is_owner(backend);
        EXPECT_EQ(amg.n_levels() > 0, has_levels);
        if (options.width == 1. && held && has_levels) // of flat cells the last levels of both see other modes
        {
          EXPECT_LT(std::abs(std::log(amg.condition() / amg_of_one.condition())), std::log(5.)) << what;
        }
        const Solved expected = solve(all, amg_of_one, motions_of_all), found = solve(ours, amg, motions),
                     again = solve(ours, amg, motions);
        EXPECT_EQ(found.x, again.x) << "the same ranks give other bits";
        check_symmetry(amg, ours.rhs, single ? 1e-4 : 1e-12);
        EXPECT_NEAR(found.norm, expected.norm, 1e-6 * expected.norm) << what;
        EXPECT_LE(found.n_iterations, options.longer * expected.n_iterations + 2.) << what;
        if (backend != Backend(BackendKind::emulated_device) && communicator->rank() == 0)
          std::cout << what << (single ? ", mixed: " : ", double: ") << expected.n_iterations << " iterations on one, "
                    << found.n_iterations << " on " << communicator->size() << " ranks, " << amg_of_one.n_levels()
                    << " and " << amg.n_levels() << " levels" << std::endl;
        // Values that no power of two makes of the others, so that all bits change.
        ours.assemble(3.);
        amg.update(ours.matrix);
        EXPECT_TRUE(amg.aggregates_fit()) << what;
        PreconditionAMG<double> fresh;
        fresh.initialize(ours.matrix, ours.modes(), data, motions);
        EXPECT_EQ(solve(ours, amg, motions).x, solve(ours, fresh, motions).x) << what << ": update() gives other bits";
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
    Case flat;
    flat.width = 0.01;
    check<Laplace<3>>(synthetic::cube_of_hexahedra(16, 1), "Laplace, cells of 1 : 100", flat);
    check<Elasticity<3>>(synthetic::cube_of_hexahedra(8, 3), "elasticity, cells of 1 : 100", flat);
    // Aggregates of nodes that are nearly on a line hardly turn about it, and take over no such motion of others.
    for (const double noise : {1e-10, 1e-7, 1e-5})
    {
      SCOPED_TRACE(noise);
      flat.noise = noise;
      check<Elasticity<3>>(synthetic::cube_of_hexahedra(8, 3), "elasticity, cells of 1 : 100, in files", flat);
    }
  }

  /** Cubes of 2^3 cells, two cells apart, that are a million times as stiff as what is between, along @p axes: balls or fibres. */
  ElementTables with_stiff(ElementTables tables, const int n, const std::vector<int> &axes)
  {
    CellTable &cells = tables.batches[0];
    for (int c = 0; c < cells.n_cells; ++c)
    {
      const int at[3]       = {c % n, c / n % n, c / (n * n)};
      cells.material_ids[c] = std::all_of(axes.begin(), axes.end(), [&](const int d) { return at[d] % 4 >= 2; });
    }
    return tables;
  }

  TEST(MultigridOfRanks, FollowsMaterial)
  {
    Case stiff;
    stiff.contrast = 1e6;
    stiff.longer   = 1.4;
    check<Laplace<3>>(with_stiff(synthetic::cube_of_hexahedra(16, 1), 16, {0, 1, 2}), "Laplace, stiff balls", stiff);
    check<Elasticity<3>>(with_stiff(synthetic::cube_of_hexahedra(10, 3), 10, {0, 1, 2}), "elasticity, stiff balls",
                         stiff);
    stiff.longer = 2.2; // pieces of fibres that borders cut along themselves are aggregates apart: 27 steps for 12
    check<Laplace<3>>(with_stiff(synthetic::cube_of_hexahedra(16, 1), 16, {0, 1}), "Laplace, stiff fibres", stiff);
  }

  /** Members of groups that share a device know it, too. */
  TEST(MultigridOfRanks, TellsWhereAggregatesNoLongerFit)
  {
    ElementTables tables = with_stiff(synthetic::cube_of_hexahedra(16, 1), 16, {0, 1, 2});
    hold(tables);
    const auto          communicator = rank_tables::world();
    const ElementTables own =
        rank_tables::part(tables, rank_tables::owners(tables, communicator->size()), communicator);
    for (const Backend &backend : rank_tables::backends())
    {
      System<Laplace<3>>      ours(backend, own);
      PreconditionAMG<double> amg;
      amg.initialize(ours.matrix, ours.modes(), Case::more_levels());
      for (const double contrast : {1e6, 1., 10., 1e3})
      {
        ours.contrast = contrast;
        ours.assemble(1.);
        amg.update(ours.matrix);
        EXPECT_EQ(amg.aggregates_fit(), contrast <= 10.) << contrast;
      }
      amg.initialize(ours.matrix, ours.modes(), Case::more_levels());
      EXPECT_TRUE(amg.aggregates_fit());
    }
  }

  /** Beside the cube, which nothing holds, is a cell that is a node by itself on the second level, of one rank. */
  TEST(MultigridOfRanks, ProjectsNullSpaces)
  {
    const auto with_another_cell = [](ElementTables tables) {
      CellTable &cells = tables.batches[0];
      ++cells.n_cells;
      cells.material_ids.push_back(0);
      for (int v = 0; v < 8; ++v)
      {
        cells.nodes.push_back(tables.n_nodes++);
        for (int d = 0; d < 3; ++d)
          tables.points.push_back(d == 0 ? -0.2 + 0.1 * (v & 1) : 0.1 * ((v >> d) & 1));
      }
      cells.geometry = cells.nodes;
      return tables;
    };
    Case free;
    free.free   = -0.05;
    free.n_idle = 1;
    check<Laplace<3>>(with_another_cell(synthetic::cube_of_hexahedra(12, 1)), "Laplace that nothing holds", free);
    check<Elasticity<3>>(with_another_cell(synthetic::cube_of_hexahedra(8, 3)), "elasticity that nothing holds", free);
  }

  /** What fp32 is too short for is in fp64 on the aggregates that are there, whenever that is seen. */
  TEST(MultigridOfRanks, TakesAggregatesToDouble)
  {
    ElementTables tables = synthetic::cube_of_hexahedra(8, 3);
    hold(tables);
    const auto          communicator = rank_tables::world();
    const ElementTables own =
        rank_tables::part(tables, rank_tables::owners(tables, communicator->size()), communicator);
    for (const Backend &backend : rank_tables::backends())
    {
      const bool            has_levels = is_owner(backend);
      System<Elasticity<3>> ours(backend, own);
      Data                  data = Case::more_levels(), in_double = data;
      in_double.single_precision = false;
      PreconditionAMG<double> expected, found, hard;
      expected.initialize(ours.matrix, ours.modes(), in_double);
      data.finest_limit = 0.; // else the finest level would be smoothed in fp32
      data.single_limit = 0.;
      found.initialize(ours.matrix, ours.modes(), data);
      EXPECT_EQ(found.fallback() != "", has_levels);
      EXPECT_EQ(solve(ours, found).x, solve(ours, expected).x);
      EXPECT_EQ(found.memory_consumption(), expected.memory_consumption()) << "something is left behind";

      const double easy = has_levels ? expected.condition() : 0.;
      ours.ratio        = 1000.;
      ours.assemble(1.);
      hard.initialize(ours.matrix, ours.modes(), in_double);
      data.single_limit = has_levels ? std::sqrt(easy * hard.condition()) : 0.;
      ours.ratio        = 1.;
      ours.assemble(1.);
      found.initialize(ours.matrix, ours.modes(), data);
      EXPECT_EQ(found.fallback(), "");
      ours.ratio = 1000.;
      ours.assemble(1.);
      found.update(ours.matrix);
      EXPECT_EQ(found.fallback() != "", has_levels);
      EXPECT_EQ(solve(ours, found).x, solve(ours, hard).x);
      EXPECT_EQ(found.memory_consumption(), hard.memory_consumption()) << "something is left behind";
    }
  }

  /**
   * Under levels in fp64 the finest one is smoothed in fp32: with bytes of a bar that is known to bend, and on one owner of
   * a cube that levels in fp32 were made of before.
   */
  TEST(MultigridOfRanks, SmoothsTheFinestLevelInSingle)
  {
    const auto communicator = rank_tables::world();
    for (const bool in_bytes : {false, true})
    {
      const double  length = in_bytes ? 10. : 1.;
      ElementTables tables = synthetic::cube_of_hexahedra(8, 3);
      hold(tables);
      for (int i = 0; i < tables.n_nodes; ++i)
        tables.points[3 * std::size_t(i)] *= length;
      const ElementTables own =
          rank_tables::part(tables, rank_tables::owners(tables, communicator->size()), communicator);
      for (const Backend &backend : rank_tables::backends())
      {
        const bool            has_levels = is_owner(backend);
        System<Elasticity<3>> ours(backend, own);
        Data                  data = Case::more_levels(), in_double = data;
        in_double.single_precision = false;
        data.single_limit          = 10.;
        data.least_in_bytes        = in_bytes ? 0 : 1 << 30;
        PreconditionAMG<double> expected, found, single;
        expected.initialize(ours.matrix, ours.modes(), in_double);
        int n_values = 0;
        found.monitor(
            [&](const unsigned int level, const std::string &phase) { n_values += level == 0 && phase == "values"; });
        found.initialize(ours.matrix, ours.modes(), data);
        found.monitor({});
        EXPECT_EQ(n_values, has_levels ? (length > 1. ? 1 : 2) : 0);
        EXPECT_EQ(found.fallback() != "", has_levels);
        const Solved result = solve(ours, found);
        EXPECT_LE(result.n_iterations, solve(ours, expected).n_iterations + 1);
        check_symmetry(found, ours.rhs, 1e-4);
        if (has_levels)
        {
          const std::vector<AMGLevelStatistics> levels = found.statistics();
          EXPECT_EQ(levels.front().single, in_bytes || ours.matrix.partitioner() == nullptr);
          EXPECT_FALSE(levels.back().single);
        }
        found.update(ours.matrix);
        EXPECT_EQ(solve(ours, found).x, result.x);
        // And where all levels are in fp32.
        data.single_limit = 1e30;
        single.initialize(ours.matrix, ours.modes(), data);
        EXPECT_EQ(single.fallback(), "");
        EXPECT_LE(solve(ours, single).n_iterations, solve(ours, expected).n_iterations + 1);
      }
    }
  }

  TEST(MultigridOfRanks, VisitsLevelsTwice)
  {
    Case w;
    w.data.cycle = AMGCycle::w;
    check<Laplace<3>>(synthetic::cube_of_hexahedra(12, 1), "Laplace, W-cycle", w);
    check<Elasticity<3>>(synthetic::cube_of_hexahedra(8, 3), "elasticity, W-cycle", w);

    ElementTables tables = synthetic::cube_of_hexahedra(12, 1);
    hold(tables);
    const auto               communicator = rank_tables::world();
    const System<Laplace<3>> system(
        Backend(), rank_tables::part(tables, rank_tables::owners(tables, communicator->size()), communicator));
    for (const AMGCycle cycle : {AMGCycle::v, AMGCycle::w})
    {
      w.data.cycle = cycle;
      PreconditionAMG<double>    amg(system.matrix, system.modes(), w.data);
      std::map<std::string, int> n_calls;
      amg.monitor(
          [&](const unsigned int level, const std::string &phase) { n_calls[std::to_string(level) + phase]++; });
      Vector<double> x;
      system.matrix.initialize_vector(x);
      amg.vmult(x, system.rhs);
      EXPECT_EQ(n_calls["0pre-smoothing"], 1);
      EXPECT_EQ(n_calls["1pre-smoothing"], cycle == AMGCycle::w ? 2 : 1);
    }
  }

  TEST(MultigridOfRanks, HasNoMoreLevelsThanAllowed)
  {
    ElementTables tables = synthetic::cube_of_hexahedra(12, 1);
    hold(tables);
    const auto               communicator = rank_tables::world();
    const System<Laplace<3>> system(
        Backend(), rank_tables::part(tables, rank_tables::owners(tables, communicator->size()), communicator));
    Data data       = Case::more_levels();
    data.max_levels = 2;
    const PreconditionAMG<double> amg(system.matrix, system.modes(), data);
    EXPECT_EQ(amg.n_levels(), 2U);
    EXPECT_EQ(amg.statistics()[1].smoother, "dense inverse");
    EXPECT_LE(solve(system, amg).n_iterations, 12U);
  }

  /** Rows of factors are of one rank, and modes the same on all. */
  TEST(MultigridOfRanks, SmoothsNearlyIncompressibleSolids)
  {
    Case rubber;
    rubber.ratio         = 49.;
    rubber.n_idle        = 1;
    rubber.data.smoother = AMGSmoother::factorized_inverse;
    check<Elasticity<3>>(synthetic::cube_of_hexahedra(10, 3), "nearly incompressible", rubber);
  }

  TEST(MultigridOfRanks, RelaxesOnPatches)
  {
    Case patches;
    patches.data.smoother = AMGSmoother::patch;
    patches.n_idle        = 1;
    check<Laplace<3>>(synthetic::cube_of_hexahedra(12, 1), "Laplace, patches", patches);
    check<Elasticity<3>>(synthetic::cube_of_hexahedra(8, 3), "elasticity, patches", patches);
  }
} // namespace
