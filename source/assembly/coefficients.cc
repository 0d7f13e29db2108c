// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/assembly/coefficients.h>

#include <algorithm>
#include <cmath>

namespace PatchFEM
{
  namespace
  {
    using View = CoefficientView<double>;

    void require_finite(const std::vector<double> &values, const int n_values, const std::string &where)
    {
      std::int64_t bad = -1;
#pragma omp parallel for schedule(static) reduction(max : bad)
      for (std::int64_t i = 0; i < static_cast<std::int64_t>(values.size()); ++i)
        if (!std::isfinite(values[i]))
          bad = i;
      require(bad < 0, "A coefficient or load is not finite (", where, ", value ",
              std::max<std::int64_t>(bad, 0) / n_values, "); correct its expression there.");
    }
  } // namespace

  CoefficientField CoefficientField::constant(const std::vector<double> &values)
  {
    return {View::constant, static_cast<int>(values.size()), {values}, "constant"};
  }

  CoefficientField CoefficientField::by_material(const std::map<int, std::vector<double>> &values)
  {
    require(!values.empty(), "A coefficient by material needs at least one material id.");
    CoefficientField field(View::material, static_cast<int>(values.begin()->second.size()), {}, "");
    for (const auto &[id, numbers] : values)
    {
      require(static_cast<int>(numbers.size()) == field.n, "Every material needs the same number of values.");
      require_finite(numbers, field.n, "material id " + std::to_string(id));
    }
    field.materials = values;
    return field;
  }

  CoefficientField::CoefficientField(const Kind                       kind,
                                     const int                        n_values,
                                     std::vector<std::vector<double>> values,
                                     const std::string               &where)
      : field_kind(kind), n(n_values), batch_values(std::move(values))
  {
    for (const std::vector<double> &list : batch_values)
      require_finite(list, kind == View::constant ? 1 : n, where);
  }

  template <typename Number>
  void DeviceCoefficients<Number>::reinit(const ElementBatches   &batches,
                                          const CoefficientField &field,
                                          const int               n_values,
                                          const char             *name)
  {
    // First all that may be refused, then what changes this object.
    std::vector<double>                      values_of_all; // cells of every batch read the same values
    std::vector<const std::vector<double> *> sources;
    const int                                n_batches = batches.n_batches();
    if (field.kind() != View::none)
      require(field.n_values() == n_values, name, " needs ", n_values, " values, not ", field.n_values(), ".");
    if (field.kind() == View::constant)
      sources = {&field.values()[0]};
    else if (field.kind() == View::material)
    {
      for (const int id : batches.materials())
      {
        const auto entry = field.material_values().find(id);
        require(entry != field.material_values().end(), name, " has no value for material id ", id,
                ", which the mesh has.");
        values_of_all.insert(values_of_all.end(), entry->second.begin(), entry->second.end());
      }
      sources = {&values_of_all};
    }
    else if (field.kind() != View::none)
    {
      require(field.values().size() == static_cast<std::size_t>(n_batches), name,
              " needs values for every batch of cells.");
      for (int b = 0; b < n_batches; ++b)
      {
        const std::size_t per_cell =
            field.kind() == View::cell ? n_values : std::size_t(n_values) * batches.reference(b).n_quadrature;
        require(field.values()[b].size() == per_cell * batches.n_cells(b), name,
                " has another number of values than the cells of batch ", b, " need.");
        sources.push_back(&field.values()[b]);
      }
    }

    // Memory of the same size is used again: fields at quadrature points are large and may be set in every step.
    device_view = CoefficientView<Number>{};
    owner.reset();
    arrays.resize(sources.size());
    for (std::size_t i = 0; i < sources.size(); ++i)
      arrays[i].copy_from(batches.backend(), std::vector<Number>(sources[i]->begin(), sources[i]->end()));
    if (sources.empty())
      return;
    device_view.kind   = static_cast<typename CoefficientView<Number>::Kind>(field.kind());
    device_view.stride = n_values;
    for (int b = 0; b < n_batches; ++b)
      device_view.values[b] = arrays[sources.size() == 1 ? 0 : b].data();
  }

  template <typename Number>
  void DeviceCoefficients<Number>::reinit(const CoefficientView<Number> &values, std::shared_ptr<const void> keeper)
  {
    arrays.clear();
    device_view = values;
    owner       = std::move(keeper);
  }

  template <typename Number>
  std::size_t DeviceCoefficients<Number>::memory_consumption() const
  {
    std::size_t bytes = 0;
    for (const Array<Number> &array : arrays)
      bytes += array.memory_consumption();
    return bytes;
  }

  template class DeviceCoefficients<double>;
  template class DeviceCoefficients<float>;
} // namespace PatchFEM
