// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/assembly/field_summary.h>
#include <patchfem/kernels/geometry.h>

#include <algorithm>
#include <cmath>

namespace PatchFEM::internal
{
  namespace
  {
    constexpr int most_lanes = 1 << 15; // enough to fill a device

    /** Tables of @p reference at its points, kept in @p arrays. */
    void set_points(const Backend              &backend,
                    const ReferenceElement     &reference,
                    ReferenceView              &view,
                    std::vector<Array<double>> &arrays)
    {
      const auto upload = [&](const std::vector<double> &values) {
        return arrays.emplace_back(backend, values).data();
      };
      view.n_quadrature       = reference.n_quadrature;
      view.weights            = upload(reference.weights);
      view.shape_values       = upload(reference.shape_values);
      view.shape_gradients    = upload(reference.shape_gradients);
      view.geometry_values    = upload(reference.geometry_values);
      view.geometry_gradients = upload(reference.geometry_gradients);
    }

    FieldExtremes no_extremes(const std::size_t n)
    {
      return {std::vector<FieldExtreme>(n, {HUGE_VAL}), std::vector<FieldExtreme>(n, {-HUGE_VAL})};
    }

    /** One reduction on the back end, by the rank that has rows there. */
    class Reduction
    {
    public:
      Reduction(const Space &space, const Vector<double> &u, const LawRequest &request, const CoefficientField &field)
          : backend(space.backend()), request(request)
      {
        const ElementBatches &batches = space.batches();
        const ElementTables  &tables  = space.tables_of_batches();
        a.batches                     = batches.view();
        a.u                           = u.data();
        a.material                    = -1;
        if (request.material != all_materials)
        {
          const auto found = std::lower_bound(batches.materials().begin(), batches.materials().end(), request.material);
          is_empty         = found == batches.materials().end() || *found != request.material;
          a.material       = static_cast<int>(found - batches.materials().begin());
        }
        for (int b = 0; b < a.batches.n_batches; ++b)
        {
          a.rules[b] = a.batches.batch[b].reference;
          a.n_own[b] = tables.ranks.n_own_cells.empty() ? tables.batches[b].n_cells : tables.ranks.n_own_cells[b];
          if (!request.points.empty())
            set_points(backend, request.points[b], a.batches.batch[b].reference, arrays);
        }
        set_parameters(batches, field);
        const int n_groups = (a.batches.n_cells + 31) / 32, n_lane_groups = std::min(n_groups, most_lanes / 32);
        is_empty         = is_empty || n_groups == 0;
        a.cells_per_lane = is_empty ? 0 : (n_groups + n_lane_groups - 1) / n_lane_groups;
        a.n_lanes        = 32 * n_lane_groups;
      }

      /** [value] */
      std::vector<double> integrals()
      {
        const int           n = request.n_values;
        std::vector<double> result(n, 0.);
        if (is_empty)
          return result;
        Array<double> sums(backend, std::size_t(n) * a.n_lanes);
        a.sums = sums.data();
        request.reduce(backend, a);
        const std::vector<double> of_lanes = sums.to_vector();
        for (int k = 0; k < n; ++k)
          for (int lane = 0; lane < a.n_lanes; ++lane)
            result[k] += of_lanes[std::size_t(k) * a.n_lanes + lane];
        return result;
      }

      FieldExtremes extremes(const ElementTables &tables)
      {
        const std::size_t n      = request.n_values;
        FieldExtremes     result = no_extremes(n);
        if (is_empty)
          return result;
        for (int b = 0; b < a.batches.n_batches; ++b)
          require(a.batches.batch[b].reference.n_quadrature <= LawReduction::max_points,
                  "Extreme values are found at up to ", LawReduction::max_points, " points of a cell, but one has ",
                  a.batches.batch[b].reference.n_quadrature, "; choose fewer.");
        Array<double>       least(backend, n * a.n_lanes), most(backend, n * a.n_lanes);
        Array<std::int64_t> least_at(backend, n * a.n_lanes), most_at(backend, n * a.n_lanes);
        a.least    = least.data();
        a.most     = most.data();
        a.least_at = least_at.data();
        a.most_at  = most_at.data();
        request.reduce(backend, a);
        const auto choose = [&](const Array<double> &values, const Array<std::int64_t> &places, const double sign,
                                std::vector<FieldExtreme> &to) {
          const std::vector<double>       of_lanes = values.to_vector();
          const std::vector<std::int64_t> at       = places.to_vector();
          for (std::size_t k = 0; k < n; ++k)
          {
            std::size_t best = k * a.n_lanes;
            for (std::size_t i = best; i < (k + 1) * a.n_lanes; ++i)
              if (sign * of_lanes[i] > sign * of_lanes[best])
                best = i;
            if (at[best] >= 0)
              to[k] = {of_lanes[best], place_of(at[best], tables)};
          }
        };
        choose(least, least_at, -1., result.least);
        choose(most, most_at, 1., result.most);
        return result;
      }

    private:
      const Backend             &backend;
      const LawRequest          &request;
      LawReduction               a{};
      std::vector<Array<double>> arrays;
      DeviceCoefficients<double> coefficients;
      bool                       is_empty = false;

      void set_parameters(const ElementBatches &batches, const CoefficientField &field)
      {
        if (field.kind() != CoefficientView<double>::quadrature_point || request.points.empty())
        {
          coefficients.reinit(batches, field, request.n_parameters, "The law");
          a.parameters = coefficients.view();
          return;
        }
        a.parameters = {CoefficientView<double>::quadrature_point, request.n_parameters, {}};
        for (int b = 0; b < a.batches.n_batches; ++b)
        {
          const std::size_t size = std::size_t(request.points[b].n_quadrature) * a.n_own[b] * request.n_parameters;
          require(field.n_values() == request.n_parameters && field.values()[b].size() >= size, "The law needs ",
                  request.n_parameters, " parameters at each point.");
          a.parameters.values[b] = arrays.emplace_back(backend, field.values()[b]).data();
        }
      }

      /** Of the point and cell that @p code stands for. */
      std::array<double, 3> place_of(const std::int64_t code, const ElementTables &tables)
      {
        const int cell = static_cast<int>(code / LawReduction::max_points), q = code % LawReduction::max_points;
        const int b = a.batches.batch_of(cell);
        int       source;
        memory::copy(Backend(BackendKind::host), &source, backend,
                     a.batches.batch[b].source + (cell - a.batches.batch[b].first_cell), sizeof(source));
        const CellTable        &table     = tables.batches[b];
        const ReferenceElement &reference = request.points.empty() ? table.reference : request.points[b];
        std::array<double, 3>   place{};
        for (int d = 0; d < tables.dim; ++d)
          place[d] = coordinate(tables.points.data(), tables.dim, d, table.points_of(source), reference.n_geometry,
                                &reference.geometry_values[std::size_t(q) * reference.n_geometry]);
        return place;
      }
    };

    /** @p parameters of the cells that are summed, where ranks share the back end those of all of them. */
    CoefficientField on_owner(const Space &space, const LawRequest &request)
    {
      const CoefficientField &field = request.parameters;
      if (field.kind() != CoefficientView<double>::quadrature_point || request.points.empty())
        return space.with_copies(field);
      if (space.group() == nullptr)
        return field;
      const ElementTables             &tables = space.tables();
      std::vector<std::vector<double>> values;
      for (std::size_t b = 0; b < tables.batches.size(); ++b)
        values.push_back(space.backend().group()->gather(field.values()[b].data(),
                                                         std::size_t(tables.ranks.n_own_cells[b]) *
                                                             request.points[b].n_quadrature * field.n_values()));
      return CoefficientField::at_quadrature_points(field.n_values(), std::move(values));
    }

    /** Calls @p function(Reduction &) where there are rows. */
    template <typename Function>
    void reduce(const Space &space, const Vector<double> &u, const LawRequest &request, const Function &function)
    {
      const CoefficientField field = on_owner(space, request);
      on_owner(space.backend(), [&] {
        u.update_ghosts();
        Reduction reduction(space, u, request, field);
        function(reduction);
      });
    }
  } // namespace

  std::vector<double> integrate_fields(const Space &space, const Vector<double> &u, const LawRequest &request)
  {
    std::vector<double> result(request.n_values, 0.);
    reduce(space, u, request, [&](Reduction &reduction) { result = reduction.integrals(); });
    if (const auto &ranks = space.tables().ranks.communicator)
      ranks->sum(result.data(), request.n_values);
    return result;
  }

  FieldExtremes field_extremes(const Space &space, const Vector<double> &u, const LawRequest &request)
  {
    const std::vector<CellTable> &batches = space.tables().batches;
    require(request.points.empty() || request.points.size() == batches.size(),
            "Points for extreme values need an element for each of the ", batches.size(),
            " batches of the space; there are ", request.points.size(), ".");
    for (std::size_t b = 0; b < request.points.size(); ++b)
    {
      const ReferenceElement &points = request.points[b], &reference = batches[b].reference;
      require(points.n_shape == reference.n_shape && points.n_geometry == reference.n_geometry, "The points of batch ",
              b, " are of an element with ", points.n_shape, " functions, ", points.n_geometry,
              " for the geometry; its cells have ", reference.n_shape, " and ", reference.n_geometry, ".");
    }
    const std::size_t n      = request.n_values;
    FieldExtremes     result = no_extremes(n);
    reduce(space, u, request, [&](Reduction &reduction) { result = reduction.extremes(space.tables_of_batches()); });
    const auto &ranks = space.tables().ranks.communicator;
    if (ranks == nullptr)
      return result;
    const std::vector<FieldExtreme> least = ranks->concatenate(result.least), most = ranks->concatenate(result.most);
    for (std::size_t i = 0; i < least.size(); ++i)
    {
      if (least[i].value < result.least[i % n].value)
        result.least[i % n] = least[i];
      if (most[i].value > result.most[i % n].value)
        result.most[i % n] = most[i];
    }
    return result;
  }
} // namespace PatchFEM::internal
