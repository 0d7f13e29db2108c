// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "benchmark_cuda.h"
#include "lagrange_meshes.h"

#include <patchfem/assembly/assembler.h>
#include <patchfem/base/threads.h>

#include <atomic>

/** One assembly, measured and verified by element loops on the host that share no code with the kernels. */
namespace benchmark
{
  using namespace PatchFEM;

  /** What matrix and load must be, in the numbering of the tables: a product with hashed numbers x, and a component. */
  struct Expected
  {
    std::vector<double> x, product, load;

    /** @p product(tables, x): the product, such as synthetic::element_product. */
    template <typename Product>
    Expected(const ElementTables &tables, const Product &product_of)
        : x(std::int64_t(tables.n_nodes) * tables.n_components), load(synthetic::element_load(tables))
    {
      for (std::size_t i = 0; i < x.size(); ++i)
        x[i] = synthetic::hashed(i) - 0.5;
      product = product_of(tables, x);
    }
  };

  /** A space on a back end, a matrix that all strategies fill, and what must be in it. */
  template <typename Number>
  class AssemblyCase
  {
  public:
    AssemblyCase(const Space &space, const Expected &expected) : space(space), expected(expected)
    {
      space.initialize_matrix(matrix);
      std::vector<Number> permuted(space.n_dofs());
      for_all_dofs(
          [&](const std::int64_t i, const std::int64_t here) { permuted[here] = static_cast<Number>(expected.x[i]); });
      source = Vector<Number>(space.backend(), permuted);
    }

    /** Bytes that every assembly moves at least: the matrix is written, points and numbers of nodes are read. */
    double least_bytes() const
    {
      const CellTable &batch  = space.tables().batches[0];
      const double     n_comp = space.batches().n_components();
      const bool       same   = batch.geometry.empty() || batch.geometry == batch.nodes;
      return double(space.sparsity().n_blocks()) * n_comp * n_comp * sizeof(Number) +
             double(space.tables().points.size()) * 8. +
             double(batch.nodes.size() + (same ? 0 : batch.geometry.size())) * 4.;
    }

    struct Measurement
    {
      double                        warm = 0., cold = 0.; ///< seconds
      bool                          correct = false, repeatable = false;
      std::map<std::string, double> further;
      std::string                   kernel;
    };

    /** Throws Error where the strategy of @p data refuses, or leaves the cells to another one. */
    template <typename Form>
    Measurement
    measure(DeviceTimer &timer, const Patches::AdditionalData &data, const std::vector<double> &coefficients)
    {
      Assembler<Form, Number> assembler(space, data);
      const Patches          &plan = assembler.patches();
      require(data.strategy == "auto" || plan.strategy() == data.strategy, "It leaves these cells to the strategy ",
              plan.strategy(), ".");
      assembler.set_coefficients(CoefficientField::constant(coefficients));
      assembler.set_body_load(CoefficientField::constant(std::vector<double>(Form::n_components, 1.)));
      matrix = Number(0);
      Vector<Number> rhs;
      const auto     assemble = [&]() { assembler.assemble(matrix, rhs); };

      Measurement result;
      result.cold                       = median(timer.cold(3, assemble));
      result.warm                       = median(timer.warm(10, assemble));
      result.kernel                     = assembler.kernel_names()[0];
      const std::vector<Number> product = product_with_source(), load = rhs.copy_to_host();
      assemble();
      result.correct         = is_right(rhs);
      result.repeatable      = product_with_source() == product && rhs.copy_to_host() == load;
      const auto   own_bytes = double(plan.memory_consumption());
      const double all_bytes = own_bytes + double(assembler.memory_consumption());

      result.further["plan_seconds"]   = assembler.structure_seconds().plan;
      result.further["plan_bytes"]     = own_bytes;
      result.further["extra_memory"]   = all_bytes / matrix.memory_consumption();
      result.further["redundancy"]     = plan.redundancy();
      result.further["rows_per_patch"] = double(plan.rows_per_patch());
      result.further["repeatable"]     = double(result.repeatable);
      return result;
    }

    /** Whether the matrix and @p rhs are what is expected. */
    bool is_right(const Vector<Number> &rhs) const
    {
      return agrees(product_with_source(), expected.product, 1) &&
             agrees(rhs.copy_to_host(), expected.load, space.batches().n_components());
    }

    const Space                &space;
    const Expected             &expected;
    SlicedEllpackMatrix<Number> matrix;

  private:
    Vector<Number> source;

    /** Calls @p function(unknown of the tables, the same here). */
    template <typename Function>
    void for_all_dofs(const Function &function) const
    {
      const std::int64_t      n_comp   = space.batches().n_components();
      const std::vector<int> &position = space.batches().new_of_old();
      parallel_for(space.n_dofs(),
                   [&](const std::int64_t i) { function(i, position[i / n_comp] * n_comp + i % n_comp); });
    }

    std::vector<Number> product_with_source() const
    {
      Vector<Number> product(space.backend(), space.n_dofs());
      matrix.vmult(product, source);
      return product.copy_to_host();
    }

    /** Whether @p result is @p right, of which each number stands for @p n_same unknowns, to rounding. */
    bool agrees(const std::vector<Number> &result, const std::vector<double> &right, const int n_same) const
    {
      const double tolerance = sizeof(Number) == 8 ? 1e-12 : 1e-4;
      double       largest   = 0.;
      for (const double value : right)
        largest = std::max(largest, std::abs(value));
      std::atomic<bool> all = true;
      for_all_dofs([&](const std::int64_t i, const std::int64_t here) {
        if (!(std::abs(result[here] - right[i / n_same]) <= tolerance * largest)) // true for a NaN
          all = false;
      });
      return all;
    }
  };
} // namespace benchmark
