// SPDX-License-Identifier: LGPL-2.1-or-later
#include "integrate_steps.h"

#include <patchfem/assembly/quadrature_field.h>

#include <algorithm>

namespace PatchFEM
{
  namespace
  {
    /** Whether the tables of both list cells and points of one mesh in one order; not looked for across ranks. */
    bool same_points(const Space &a, const Space &b)
    {
      const ElementTables &one = a.tables(), &other = b.tables();
      if (&one == &other)
        return true;
      if (one.ranks.several() || other.ranks.several() || one.batches.size() != other.batches.size())
        return false;
      for (std::size_t k = 0; k < one.batches.size(); ++k)
      {
        const CellTable &first = one.batches[k], &second = other.batches[k];
        if (first.n_cells != second.n_cells || first.active_index != second.active_index ||
            first.reference.n_quadrature != second.reference.n_quadrature ||
            first.reference.weights != second.reference.weights || one.dim != other.dim)
          return false;
        for (int cell = 0; cell < first.n_cells; ++cell) // where they begin
          if (!std::equal(&one.points[std::size_t(first.points_of(cell)[0]) * one.dim],
                          &one.points[std::size_t(first.points_of(cell)[0]) * one.dim] + one.dim,
                          &other.points[std::size_t(second.points_of(cell)[0]) * other.dim]))
            return false;
      }
      return true;
    }
  } // namespace

  template <typename Number>
  QuadratureField<Number>::QuadratureField(const Space &space, const int n_values)
      : data(std::make_shared<Data>()), n(n_values)
  {
    require(n > 0, "A field at quadrature points needs at least one value.");
    data->space            = space;
    data->stride           = n;
    const BatchesView view = space.batches().view();
    std::int64_t      size = 0;
    for (int b = 0; b < view.n_batches; ++b)
    {
      data->first[b] = size;
      size += std::int64_t(view.batch[b].n_cells) * view.batch[b].reference.n_quadrature * n;
    }
    on_owner_then_members(space.backend(), [&] {
      data->values.reinit(space.backend(), size);
      data->values.set_zero();
    });
  }

  template <typename Number>
  typename QuadratureField<Number>::Data &QuadratureField<Number>::get() const
  {
    require(data != nullptr, "A field at quadrature points was used before it was made.");
    return *data;
  }

  template <typename Number>
  QuadratureField<Number> QuadratureField<Number>::components(const int first, const int n_values) const
  {
    get();
    require(first >= 0 && n_values > 0 && first <= n - n_values, "A field with ", n,
            " values at each point does not have values ", first, " to ", std::int64_t(first) + n_values - 1, ".");
    QuadratureField result = *this;
    result.offset += first;
    result.n = n_values;
    return result;
  }

  template <typename Number>
  CoefficientView<Number>
  QuadratureField<Number>::view(const Space &space, const int n_values, const char *const name) const
  {
    CoefficientView<Number> result{};
    const ElementBatches   &batches = space.batches();
    if (data == nullptr)
      return result;
    require(n == n_values, name, " needs ", n_values, " values, not ", n, ".");
    require(batches.backend() == data->space.backend() && same_points(space, data->space), name,
            " was given a field at the quadrature points of another space.");
    result.kind   = CoefficientView<Number>::quadrature_point;
    result.stride = data->stride;
    for (int b = 0; b < batches.n_batches(); ++b)
      result.values[b] = data->values.data() + data->first[b] + offset;
    return result;
  }

  template <typename Number>
  std::vector<std::vector<double>> QuadratureField<Number>::copy_to_host() const
  {
    const Data                      &d         = get();
    const std::vector<Number>        all       = d.values.to_vector();
    const int                        n_batches = d.space.batches().n_batches();
    std::vector<std::vector<double>> result(n_batches);
    for (int b = 0; b < n_batches; ++b)
    {
      const std::size_t end = b + 1 < n_batches ? d.first[b + 1] : all.size();
      for (std::size_t point = d.first[b]; point < end; point += d.stride)
        result[b].insert(result[b].end(), all.begin() + point + offset, all.begin() + point + offset + n);
    }
    return result;
  }

  template <typename Number>
  void integrate(const Space                   &space,
                 const QuadratureField<Number> &load,
                 const QuadratureField<Number> &flux,
                 Vector<Number>                &rhs,
                 const bool                     condense)
  {
    const ElementBatches &batches = space.batches();
    on_owner_then_members(space.backend(), [&] {
      const CoefficientView<Number> f = load.view(space, batches.n_components(), "The load of integrate()");
      const CoefficientView<Number> F =
          flux.view(space, batches.n_components() * batches.dimension(), "The flux of integrate()");
      space.initialize_dof_vector(rhs, true);
      dispatch(space.backend(), [&](auto where) {
        if (batches.dimension() == 2)
          integrate_cells<2>(where, space, f, F, rhs);
        else
          integrate_cells<3>(where, space, f, F, rhs);
      });
      if (condense)
        space.constraints().condense(rhs);
    });
  }

#define PATCHFEM_INSTANTIATE(Number)                                                                       \
  template class QuadratureField<Number>;                                                                  \
  template void integrate(const Space &, const QuadratureField<Number> &, const QuadratureField<Number> &, \
                          Vector<Number> &, bool)
  PATCHFEM_INSTANTIATE(float);
  PATCHFEM_INSTANTIATE(double);
#undef PATCHFEM_INSTANTIATE
} // namespace PatchFEM
