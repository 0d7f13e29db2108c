// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lac/multigrid/bending.h"
#include "../../benchmarks/synthetic_tables.h"
#include "backend_names.h"
#include "lac_cases.h"

#include <patchfem/assembly/assembler.h>
#include <patchfem/assembly/space.h>
#include <patchfem/kernels/weak_forms.h>
#include <patchfem/lac/multigrid/precondition_amg.h>

#include <cmath>

using namespace PatchFEM;

/** What is known of soft bodies before levels are made. */
class BendingTest : public BackendTest
{};
PATCHFEM_INSTANTIATE_BACKENDS(BendingTest);

namespace
{
  /** A bar of 8 x 8 x 8 cells, @p length times as long in x as in y and z, turned by @p angle about z; ends held or not. */
  struct Bar
  {
    SlicedEllpackMatrix<double> matrix;
    NearNullSpace               modes;

    Bar(const Backend &backend, const double length, const bool first, const bool last, const double angle = 0.)
    {
      ElementTables    tables = synthetic::cube_of_hexahedra(8, 3);
      ConstraintTable &lines  = tables.constraints;
      lines.offsets.push_back(0);
      for (int i = 0; i < tables.n_nodes; ++i)
      {
        double *const p    = &tables.points[3 * std::size_t(i)];
        const bool    held = (first && p[0] == 0.) || (last && p[0] == 1.);
        for (int a = 0; a < 3 && held; ++a)
        {
          lines.constrained.push_back(3 * i + a);
          lines.inhomogeneity.push_back(0.);
          lines.offsets.push_back(0);
        }
        const double x = length * p[0], y = p[1];
        p[0] = std::cos(angle) * x - std::sin(angle) * y;
        p[1] = std::sin(angle) * x + std::cos(angle) * y;
      }
      Space                    space(backend, tables);
      Assembler<Elasticity<3>> assembler(space);
      assembler.set_coefficients(CoefficientField::constant({1., 1.}));
      Vector<double> rhs;
      space.initialize_matrix(matrix);
      assembler.set_body_load(CoefficientField::constant({1., 1., 1.}));
      assembler.assemble(matrix, rhs);
      modes = space.rigid_body_modes();
    }

    double softness() const { return multigrid::softness_in_bending(matrix, modes); }

    double condition() const
    {
      PreconditionAMG<double>::AdditionalData data;
      data.single_precision = false;
      return PreconditionAMG<double>(matrix, modes, data).condition();
    }
  };
} // namespace

TEST_P(BendingTest, BoundsWhatLevelsFind)
{
  // A bar held at an end bends by the square of the distance from it, at first. Cells as long as the bar is thick, with
  // nodes out of place, are stiffer against just that function than against what they make of it.
  const Bar    bar(backend(), 20., true, false);
  const double condition = bar.condition();
  EXPECT_GT(condition, 1e4);
  EXPECT_LE(bar.softness(), 1.5 * condition) << "levels find it from below";
  EXPECT_GE(bar.softness(), 0.1 * condition);
  // At the other end it is the same to what nodes are out of place by, and turned in space about so.
  EXPECT_NEAR(Bar(backend(), 20., false, true).softness(), bar.softness(), 1e-2 * bar.softness());
  const Bar turned(backend(), 20., true, false, 0.7);
  EXPECT_LE(turned.softness(), 1.5 * turned.condition());
  EXPECT_GE(turned.softness(), 0.08 * turned.condition());
  // Held at both ends it is stiffer.
  const Bar both(backend(), 20., true, true);
  EXPECT_LT(both.softness(), 0.2 * bar.softness());
  EXPECT_LE(both.softness(), 1.5 * both.condition());
  EXPECT_GE(both.softness(), 0.05 * both.condition());
}

TEST_P(BendingTest, KnowsNothingOfOthers)
{
  EXPECT_EQ(Bar(backend(), 1., true, false).softness(), 0.) << "round";
  EXPECT_EQ(Bar(backend(), 20., false, false).softness(), 0.) << "nothing holds it";
  const Bar bar(backend(), 20., true, false);
  EXPECT_EQ(multigrid::softness_in_bending(bar.matrix, NearNullSpace::constants(backend(), 729, 3)), 0.) << "no points";
}

TEST_P(BendingTest, LevelsAreMadeOnce)
{
  const Bar                               bar(backend(), 20., true, false);
  PreconditionAMG<double>::AdditionalData data;
  data.single_limit = 0.1 * bar.condition();
  PreconditionAMG<double> amg;
  int                     n_aggregates = 0, n_values = 0, n_in_single = 0;
  amg.monitor([&](const unsigned int level, const std::string &phase) {
    n_aggregates += level == 0 && phase == "aggregates";
    n_values += level == 0 && phase == "values";
  });
  amg.initialize(bar.matrix, bar.modes, data);
  amg.monitor({});
  EXPECT_EQ(n_aggregates, 1);
  EXPECT_EQ(n_values, 1);
  EXPECT_NE(amg.fallback(), "");
  for (const AMGLevelStatistics &level : amg.statistics())
    n_in_single += level.single;
  EXPECT_EQ(n_in_single, 1) << "the finest level";
  const auto apply = [&] {
    const std::vector<double> v = cases::random_values(bar.matrix.n_rows(), 3);
    Vector<double>            x(backend(), cases::not_a_number<double>(v.size()));
    amg.vmult(x, Vector<double>(backend(), v));
    return x.copy_to_host();
  };
  const std::vector<double> before = apply();
  amg.update(bar.matrix);
  EXPECT_EQ(apply(), before);
}
