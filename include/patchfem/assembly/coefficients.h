// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/assembly/element_batches.h>

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <vector>

namespace PatchFEM
{
  template <int dim>
  class FESpace;

  /**
   * Values of a coefficient or a body load: n_values numbers that are constant, or vary by material, by cell or by
   * quadrature point. Plain host data. Throws Error for values that are not finite, naming where.
   */
  class CoefficientField
  {
  public:
    using Kind = CoefficientView<double>::Kind;

    /** No values: a load that is zero. */
    CoefficientField() = default;

    static CoefficientField constant(const std::vector<double> &values);

    /** Values of each material id; ids that a mesh has but the map lacks are an error when the field is used. */
    static CoefficientField by_material(const std::map<int, std::vector<double>> &values);

    /** values[batch][cell of the tables][n_values]. */
    static CoefficientField by_cell(int n_values, std::vector<std::vector<double>> values)
    {
      return {CoefficientView<double>::cell, n_values, std::move(values), "by cell"};
    }

    /**
     * The values that @p function, a std::vector<double>, has on each cell of deal.II's, in order:
     * `by_cell(space, [&](const auto &cell) { return std::vector<double>{conductivity[cell->active_cell_index()]}; })`.
     */
    template <int dim, typename Function>
    static CoefficientField by_cell(const FESpace<dim> &space, const Function &function);

    /** values[batch][cell of the tables][q][n_values], the points as cell_quadrature_points() orders them. */
    static CoefficientField at_quadrature_points(int n_values, std::vector<std::vector<double>> values)
    {
      return {CoefficientView<double>::quadrature_point, n_values, std::move(values), "at quadrature points"};
    }

    Kind kind() const { return field_kind; }
    int  n_values() const { return n; }

    const std::map<int, std::vector<double>> &material_values() const { return materials; }
    const std::vector<std::vector<double>>   &values() const { return batch_values; }

  private:
    CoefficientField(Kind kind, int n_values, std::vector<std::vector<double>> values, const std::string &where);

    Kind                               field_kind = CoefficientView<double>::none;
    int                                n          = 0;
    std::map<int, std::vector<double>> materials;
    std::vector<std::vector<double>>   batch_values; ///< one entry for constant
  };

  /** A CoefficientField on a back end, in the precision of an assembly. */
  template <typename Number>
  class DeviceCoefficients
  {
  public:
    /**
     * Takes the values of @p field over. Throws Error, and stays what it was, if they do not fit @p batches.
     * @param name what messages call it, such as "The weak form".
     */
    void reinit(const ElementBatches &batches, const CoefficientField &field, int n_values, const char *name);

    /** Refers to values on the back end, as long as @p keeper lives; what becomes of them later is seen. */
    void reinit(const CoefficientView<Number> &values, std::shared_ptr<const void> keeper);

    CoefficientView<Number> view() const { return device_view; }
    std::size_t             memory_consumption() const;

  private:
    std::vector<Array<Number>>  arrays;
    std::shared_ptr<const void> owner; ///< of values that lie elsewhere
    CoefficientView<Number>     device_view{};
  };

  /**
   * Terms on the boundary faces of ElementTables::faces, in that order, at their quadrature points: load is tested with
   * every component, robin multiplies u v in the matrix and is the same for all components. Empty vectors: none.
   */
  struct FaceTerms
  {
    std::vector<double> load;  ///< [face][q][component]
    std::vector<double> robin; ///< [face][q]
  };
} // namespace PatchFEM
