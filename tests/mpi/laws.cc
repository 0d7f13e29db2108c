// SPDX-License-Identifier: LGPL-2.1-or-later
#include "../core/constrained_tables.h"
#include "rank_tables.h"

#include <patchfem/assembly/law_assembler.h>
#include <patchfem/base/rank_group.h>
#include <patchfem/kernels/materials/plasticity.h>
#include <patchfem/kernels/materials/solids.h>

#include <gtest/gtest.h>

using namespace PatchFEM;

namespace
{
  /** A cube with constraints, and all of it but what belongs to other ranks. */
  struct Cube
  {
    Cube() : tables(synthetic::cube_of_hexahedra(5, 3)), communicator(rank_tables::world())
    {
      constrain(tables);
      for (int cell = 0; cell < tables.batches[0].n_cells; ++cell)
        tables.batches[0].material_ids[cell] = cell % 3 == 0 ? 4 : 1;
    }

    ElementTables own() const
    {
      return rank_tables::part(tables, rank_tables::owners(tables, communicator->size()), communicator);
    }

    ElementTables                       tables;
    std::shared_ptr<const Communicator> communicator;
  };

  /** @p factor (hashed - 0.5) by the number of an unknown in the tables of all, with constraints. */
  Vector<double> field(const Space &space, const double factor)
  {
    Vector<double> x;
    space.initialize_dof_vector(x);
    const std::vector<unsigned int> dofs = space.batches().dof_indices().to_vector();
    std::vector<double>             values(x.size());
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = factor * (synthetic::hashed(dofs[i]) - 0.5);
    on_owner_then_members(space.backend(), [&] { x.copy_from_host(values); });
    space.constraints().distribute(x);
    return x;
  }

  std::string message_of(const std::function<void()> &function)
  {
    try
    {
      function();
    }
    catch (const StepFailure &error)
    {
      return std::string("StepFailure: ") + error.what();
    }
    catch (const Error &error)
    {
      return error.what();
    }
    return "";
  }
} // namespace

/** Residuals, tangents and states of two steps are those of one rank: copies of others' cells have states of their own. */
TEST(LawsOfRanks, AreThoseOfOneRank)
{
  const Cube cube;
  const auto run = [](Space space) {
    space.update_inhomogeneities(std::vector<double>(space.tables().constraints.n_lines(), 0.));
    LawAssembler                laws(space);
    SlicedEllpackMatrix<double> K;
    Vector<double>              rhs, r, product;
    std::vector<double>         result;
    laws.add_law<Materials::NeoHookean>(CoefficientField::by_material({{1, {3., 2.}}}), {1});
    laws.add_law<Materials::J2Plasticity>(CoefficientField::constant({5., 2., 0.01, 0., 1., 0.1, 0.2}));
    space.initialize_matrix(K);
    for (const double size : {0.02, -0.03})
    {
      const Vector<double> u = field(space, size), v = field(space, 1.);
      laws.begin_step({});
      laws.linearise(u, K, rhs);
      product.reinit(v);
      K.vmult(product, v);
      space.constraints().set_zero(product);
      laws.residual(u, r);
      for (const Vector<double> *x : {&rhs, &r, &product})
        result.insert(result.end(), {x->l2_norm(), x->dot(v)});
      result.push_back(laws.force_scale());
      laws.commit(u, Converged::by_my_own_test(0., 0.));
    }
    return result;
  };
  const std::vector<double> expected = run(Space(Backend(), cube.tables));
  for (const Backend &backend : rank_tables::backends())
  {
    const std::vector<double> found = run(Space(backend, cube.own()));
    for (std::size_t i = 0; i < expected.size(); ++i)
      EXPECT_NEAR(found[i], expected[i], 1e-12 * std::abs(expected[i])) << i << " on " << backend.name();
  }
}

/** A point that one rank's cell has, or a material without a law there, is an error of all. */
TEST(LawsOfRanks, ErrorsOfOneAreThoseOfAll)
{
  Cube cube;
  for (const Backend &backend : rank_tables::backends())
  {
    Space        space(backend, cube.own());
    LawAssembler laws(space);
    space.update_inhomogeneities(std::vector<double>(space.tables().constraints.n_lines(), 0.));
    laws.add_law<Materials::NeoHookean>(CoefficientField::constant({3., 2.}));
    laws.begin_step({});
    Vector<double>            u = field(space, 0.), r;
    const std::vector<double> zero(u.size(), 0.);
    laws.residual(u, r);
    std::vector<double> values(u.size());
    const auto          dofs = space.batches().dof_indices().to_vector();
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = dofs[i] == 3u * 100 ? 5. : 0.; // one node goes through its cells
    on_owner_then_members(space.backend(), [&] { u.copy_from_host(values); });
    const std::string message = message_of([&] { laws.residual(u, r); });
    EXPECT_EQ(message.find("StepFailure: The law Materials::NeoHookean fails at ("), 0u) << message;
    EXPECT_EQ(message.substr(0, 13), "StepFailure: ") << message;
    laws.residual(field(space, 0.), r); // and goes on
  }
  cube.tables.batches[0].material_ids.back() = 9;
  for (const Backend &backend : rank_tables::backends())
  {
    const Space  space(backend, cube.own());
    LawAssembler laws(space);
    laws.add_law<Materials::NeoHookean>(CoefficientField::constant({3., 2.}), {1, 4});
    EXPECT_EQ(message_of([&] { laws.begin_step({}); }), "Material 9 has no law.");
  }
}
