// SPDX-License-Identifier: LGPL-2.1-or-later
#include "../core/constrained_tables.h"
#include "../core/message_of.h"
#include "rank_tables.h"

#include <patchfem/assembly/assembler.h>
#include <patchfem/assembly/quadrature_field.h>
#include <patchfem/base/emulated_device.h>
#include <patchfem/base/rank_group.h>
#include <patchfem/kernels/weak_forms.h>
#include <patchfem/lac/matrix/matrix_factory.h>
#include <patchfem/lac/multigrid/precondition_amg.h>
#include <patchfem/lac/precondition/precondition_ic.h>
#include <patchfem/lac/precondition/precondition_jacobi.h>
#include <patchfem/lac/precondition/precondition_polynomial.h>
#include <patchfem/lac/precondition/precondition_ssor.h>

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

using namespace PatchFEM;

namespace
{
  using Calls = std::vector<std::pair<std::string, std::function<void()>>>;

  /** What fails on the owner of the device alone, which all ranks say then. */
  class ErrorsOfRanks : public testing::Test
  {
  protected:
    const std::shared_ptr<const Communicator> all     = rank_tables::world();
    const Backend                             backend = rank_tables::backends().back();

    void SetUp() override
    {
      if (backend.group() == nullptr || backend.group()->groups().size() > 1)
        GTEST_SKIP() << "ranks that do not share one device";
    }

    Space space() const
    {
      ElementTables tables = synthetic::cube_of_hexahedra(6, 3);
      constrain(tables);
      return {backend, rank_tables::part(tables, rank_tables::owners(tables, all->size()), all)};
    }

    void expect_same(const std::string &message, const std::string &part, const std::string &what) const
    {
      EXPECT_NE(message.find(part), std::string::npos) << what << ": " << message;
      for (const Communicator::Bytes &other : all->all_gather(Communicator::Bytes(message.begin(), message.end())))
        EXPECT_EQ(std::string(other.begin(), other.end()), message) << what;
    }

    /** Each with no memory left, and then with all of it. */
    void expect_full(const Calls &calls) const
    {
      for (const auto &[what, call] : calls)
      {
        if (is_owner(backend))
          memory::limit_emulated_device(memory::in_use(backend.kind()));
        const std::string message = message_of(call);
        memory::limit_emulated_device(SIZE_MAX);
        expect_same(message, "memory", what);
        EXPECT_EQ(message_of(call), "") << what;
      }
    }
  };

  TEST_F(ErrorsOfRanks, AFullDevice)
  {
    if (backend.group() != nullptr && backend.group()->groups()[0].device.find("emulated") == std::string::npos)
      GTEST_SKIP() << "memory of real devices has no limit to set";
    const Space                 fresh = space(), V = space();
    SlicedEllpackMatrix<double> A, B;
    CSRMatrix<double>           C;
    Vector<double>              v, w;
    Assembler<Elasticity<3>>    assembler;
    expect_full(
        {{"sparsity", [&] { fresh.sparsity(); }},
         {"matrix", [&] { V.initialize_matrix(A); }},
         {"rows", [&] { V.initialize_matrix(C); }},
         {"vector", [&] { V.initialize_dof_vector(v); }},
         {"constants", [&] { V.constants(); }},
         {"rigid-body modes", [&] { V.rigid_body_modes(); }},
         {"constraints", [&] { V.constraints(); }},
         {"cells of nodes", [&] { V.node_cells(); }},
         {"unconstrained", [&] { V.unconstrained(); }},
         {"made matrix", [&] { make_matrix<double>(backend, V.sparsity().view(), 3, 3, format_row("csr").format); }},
         {"field", [&] { QuadratureField<double>(V, 3); }},
         {"assembler", [&] { assembler.reinit(fresh); }}});
    assembler.reinit(V);
    std::vector<std::vector<double>> values;
    for (const int n : V.tables().ranks.n_own_cells)
      values.emplace_back(n * 2, 1.);
    const std::vector<double> own(V.tables().n_owned_nodes() * 3, 1.);
    expect_full({{"coefficients", [&] { assembler.set_coefficients(CoefficientField::by_cell(2, values)); }},
                 {"face terms", [&] { assembler.set_face_terms({}); }},
                 {"right-hand side", [&] { assembler.assemble_rhs(w); }},
                 {"values of ranks", [&] {
                    Vector<double> x;
                    V.from_rank(own, x);
                  }}});
    assembler.assemble_matrix(A);
    expect_full({{"conversion", [&] { convert<double>(A, format_row("symmetric").format); }},
                 {"Jacobi", [&] { PreconditionJacobi<double>().initialize(A); }},
                 {"block Jacobi", [&] { PreconditionBlockJacobi<double>().initialize(A); }},
                 {"polynomial", [&] { PreconditionPolynomial<double>().initialize(A); }},
                 {"SSOR", [&] { PreconditionSSOR<double>().initialize(A); }},
                 {"IC", [&] { PreconditionIC<double>().initialize(A); }},
                 {"AMG", [&] { PreconditionAMG<double>().initialize(A, V.rigid_body_modes()); }}});
  }

  /** Only the owner has rows, so that members do not see what does not fit. */
  TEST_F(ErrorsOfRanks, WhatDoesNotFit)
  {
    const Space                 V = space();
    SlicedEllpackMatrix<double> A;
    Vector<double>              v, few(backend, is_owner(backend) ? 3 : 0);
    Assembler<Elasticity<3>>    assembler(V);
    QuadratureField<double>     field(V, 2);
    PreconditionJacobi<double>  jacobi;
    V.initialize_matrix(A);
    V.initialize_dof_vector(v);
    assembler.set_coefficients(CoefficientField::constant({1., 1.}));
    assembler.assemble_matrix(A);
    jacobi.initialize(A);
    const Calls calls{{"inner product", [&] { v.dot(few); }},
                      {"product", [&] { A.vmult(v, few); }},
                      {"residual", [&] { A.residual(v, v, few); }},
                      {"preconditioner", [&] { jacobi.vmult(v, few); }},
                      {"constraints", [&] { V.constraints().distribute(few); }},
                      {"values", [&] { V.by_rank(few); }},
                      {"field", [&] { assembler.set_body_load(field); }},
                      {"loads", [&] { integrate(V, field, {}, v); }}};
    for (const auto &[what, call] : calls)
      expect_same(message_of(call), " ", what);
    // Members have the memory of a host for patches, which does not count.
    Patches::AdditionalData data;
    data.fast_memory = backend.patch_memory() + 1;
    expect_same(message_of([&] { assembler.reinit(V, data); }), "Fast memory", "fast memory");
  }

  /**
   * Of the arrays that @p call makes each @p step-th, from the @p n-th on, does not fit on one owner of several, which all
   * ranks say then. Returns the first that call() can do without.
   */
  int refuse_arrays(const Backend &backend, int n, const int step, const std::function<void()> &call)
  {
    const auto all     = rank_tables::world();
    const bool refuses = all->rank() == (backend.group() ? backend.group()->groups().back().ranks[0] : all->size() - 1);
    for (;; n += step)
    {
      memory::refuse_on_emulated_device(refuses ? n : 0);
      const std::string message = message_of(call);
      memory::refuse_on_emulated_device(0);
      for (const Communicator::Bytes &other : all->all_gather(Communicator::Bytes(message.begin(), message.end())))
        EXPECT_EQ(std::string(other.begin(), other.end()), message) << "array " << n;
      if (message.empty())
        return n;
      EXPECT_NE(message.find("Not enough memory"), std::string::npos) << message;
    }
  }

  TEST(ErrorsOfOneOfRanks, SpaceAndMultigrid)
  {
    const auto    all      = rank_tables::world();
    const Backend backend  = rank_tables::backends().back();
    const int     n_owners = backend.group() ? static_cast<int>(backend.group()->groups().size()) : all->size();
    if (n_owners == 1 || std::getenv("PATCHFEM_TRANSPORT") != nullptr)
      GTEST_SKIP() << "no other owner, or memory of real devices";
    ElementTables tables = synthetic::cube_of_hexahedra(6, 3);
    constrain(tables);
    const ElementTables own = rank_tables::part(tables, rank_tables::owners(tables, all->size()), all);
    EXPECT_GT(refuse_arrays(backend, 1, 7, [&] { Space(backend, own); }), 20);

    const Space                 V(backend, own);
    SlicedEllpackMatrix<double> A;
    Assembler<Elasticity<3>>    assembler(V);
    assembler.set_coefficients(CoefficientField::constant({1., 1.}));
    V.initialize_matrix(A);
    assembler.assemble_matrix(A);
    const NearNullSpace                     modes = V.rigid_body_modes();
    PreconditionAMG<double>::AdditionalData data;
    data.coarse_size  = 60; // for more levels
    const auto set_up = [&] {
      PreconditionAMG<double> amg;
      amg.initialize(A, modes, data);
      amg.update(A);
    };
    for (const bool single : {true, false})
    {
      data.single_precision = single;
      // The first arrays of levels in single precision tell that values fit; without them levels are made in double.
      EXPECT_GT(refuse_arrays(backend, single ? 10 : 1, 31, set_up), 250);
    }
  }
} // namespace
