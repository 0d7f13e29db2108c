// SPDX-License-Identifier: LGPL-2.1-or-later
#include "base/parallel_resizer.h"

#include <patchfem/app/field_evaluation.h>
#include <patchfem/assembly/face_quadrature.h>
#include <patchfem/base/threads.h>

#include <algorithm>
#include <iterator>
#include <set>

namespace PatchFEM
{
  using dealii::Point;

  namespace
  {
    template <int dim>
    Point<dim> point_from(const double *coordinates)
    {
      Point<dim> point;
      for (unsigned int d = 0; d < dim; ++d)
        point[d] = coordinates[d];
      return point;
    }
  } // namespace

  template <int dim>
  CoefficientField
  make_field(const ElementTables                                                                 &tables,
             const int                                                                            n_values,
             const bool                                                                           piecewise_constant,
             const std::function<void(const Point<dim> &, dealii::types::material_id, double *)> &evaluate)
  {
    if (piecewise_constant)
    {
      std::set<int> materials; // neighbours mostly share theirs
      for (const CellTable &batch : tables.batches)
        std::unique_copy(batch.material_ids.begin(), batch.material_ids.end(),
                         std::inserter(materials, materials.end()));
      // The owner of a shared device takes its own field for the cells of all.
      if (tables.ranks.several())
        for (const int material :
             tables.ranks.communicator->concatenate(std::vector<int>(materials.begin(), materials.end())))
          materials.insert(material);
      std::map<int, std::vector<double>> values;
      for (const int material : materials)
      {
        values[material].resize(n_values);
        evaluate(Point<dim>(), material, values[material].data());
      }
      if (values.empty()) // a mesh without cells
        return CoefficientField::constant(std::vector<double>(n_values, 0.));
      // One value for all needs no table on the back end.
      if (std::all_of(values.begin(), values.end(),
                      [&](const auto &item) { return item.second == values.begin()->second; }))
        return CoefficientField::constant(values.begin()->second);
      return CoefficientField::by_material(values);
    }

    std::vector<std::vector<double>> values(tables.batches.size());
    ParallelResizer                  resizer;
    for (std::size_t b = 0; b < values.size(); ++b)
      resizer.add(values[b],
                  std::size_t(tables.batches[b].n_cells) * tables.batches[b].reference.n_quadrature * n_values);
    resizer.run();
    for (std::size_t b = 0; b < values.size(); ++b)
    {
      const CellTable &batch  = tables.batches[b];
      const int        n_q    = batch.reference.n_quadrature;
      double *const    target = values[b].data();
      parallel_for(batch.n_cells, [&](const std::int64_t cell) {
        std::vector<double> points(std::size_t(n_q) * dim);
        cell_quadrature_points(tables, batch, cell, points.data());
        for (int q = 0; q < n_q; ++q)
          evaluate(point_from<dim>(&points[std::size_t(q) * dim]), batch.material_ids[cell],
                   target + (cell * n_q + q) * n_values);
      });
    }
    return CoefficientField::at_quadrature_points(n_values, std::move(values));
  }

  template <int dim>
  CoefficientField make_field(const ElementTables &tables, const MaterialFunction<dim> &function)
  {
    if (function.is_zero())
      return {};
    return make_field<dim>(tables, function.n_components(), function.is_piecewise_constant(),
                           [&](const Point<dim> &point, const dealii::types::material_id material, double *values) {
                             for (unsigned int c = 0; c < function.n_components(); ++c)
                               values[c] = function.value(point, material, c);
                           });
  }

  template <int dim>
  FaceTerms make_face_terms(const ElementTables &tables, const NaturalConditions<dim> &conditions)
  {
    FaceTerms terms;
    if (tables.faces.empty())
      return terms;
    const FaceQuadrature faces        = compute_face_quadrature(tables);
    const unsigned int   n_components = conditions.n_components();
    terms.load.resize(faces.n_points() * n_components);
    terms.robin.resize(faces.n_points());
    parallel_for(tables.faces.size(), [&](const std::int64_t f) {
      const dealii::types::boundary_id id = tables.faces[f].boundary_id;
      for (std::size_t k = faces.offsets[f]; k < faces.offsets[f + 1]; ++k)
      {
        const Point<dim> point = point_from<dim>(&faces.points[k * dim]);
        conditions.load(id, point, point_from<dim>(&faces.normals[k * dim]), &terms.load[k * n_components]);
        terms.robin[k] = conditions.robin_coefficient(id, point);
      }
    });
    const auto vanishes = [](const std::vector<double> &list) {
      return std::all_of(list.begin(), list.end(), [](const double value) { return value == 0.; });
    };
    if (vanishes(terms.load))
      terms.load.clear();
    if (vanishes(terms.robin))
      terms.robin.clear();
    return terms;
  }

#define PATCHFEM_INSTANTIATE(dim)                                                             \
  template CoefficientField make_field<dim>(                                                  \
      const ElementTables &, int, bool,                                                       \
      const std::function<void(const Point<dim> &, dealii::types::material_id, double *)> &); \
  template CoefficientField make_field(const ElementTables &, const MaterialFunction<dim> &); \
  template FaceTerms        make_face_terms(const ElementTables &, const NaturalConditions<dim> &);
  PATCHFEM_INSTANTIATE(2)
  PATCHFEM_INSTANTIATE(3)
#undef PATCHFEM_INSTANTIATE
} // namespace PatchFEM
