// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/assembly/evaluation_dealii.h>
#include <patchfem/base/exceptions.h>
#include <patchfem/base/threads.h>

#include <deal.II/lac/vector.h>

#include <algorithm>
#include <cmath>
#include <string>

namespace PatchFEM
{
  namespace
  {
    /** Calls a function for a few points at a time, without allocation from one call to the next. */
    template <int dim>
    class Evaluator
    {
    public:
      explicit Evaluator(const dealii::Function<dim> &function) : function(function) {}

      /** @p points is [point][dim], @p values [point][component]. */
      void evaluate(const double *coordinates, const unsigned int n_points, double *values)
      {
        const unsigned int n_components = function.n_components;
        points.resize(n_points);
        for (unsigned int q = 0; q < n_points; ++q)
          for (unsigned int d = 0; d < dim; ++d)
            points[q][d] = coordinates[q * dim + d];

        if (n_components == 1)
        {
          scalars.resize(n_points);
          function.value_list(points, scalars);
          std::copy(scalars.begin(), scalars.end(), values);
        }
        else
        {
          vectors.resize(n_points, dealii::Vector<double>(n_components));
          function.vector_value_list(points, vectors);
          for (unsigned int q = 0; q < n_points; ++q)
            std::copy(vectors[q].begin(), vectors[q].end(), values + q * n_components);
        }

        for (unsigned int i = 0; i < n_points * n_components; ++i)
          if (!std::isfinite(values[i]))
          {
            std::string place;
            for (unsigned int d = 0; d < dim; ++d)
              place += (d > 0 ? ", " : "") + std::to_string(points[i / n_components][d]);
            throw Error("Component " + std::to_string(i % n_components) + " of a function is not finite at (" + place +
                        "): correct its expression there.");
          }
      }

    private:
      const dealii::Function<dim>        &function;
      std::vector<dealii::Point<dim>>     points;
      std::vector<double>                 scalars;
      std::vector<dealii::Vector<double>> vectors;
    };
  } // namespace

  template <int dim>
  std::vector<std::vector<double>> evaluate_at_quadrature_points(const dealii::Function<dim> &function,
                                                                 const ElementTables         &tables)
  {
    std::vector<std::vector<double>> values;
    for (const CellTable &batch : tables.batches)
    {
      const int         n      = batch.reference.n_quadrature;
      const std::size_t stride = std::size_t(n) * function.n_components;
      values.emplace_back(batch.n_cells * stride);
      double *const batch_values = values.back().data();
      for_shares(batch.n_cells, [&](const std::int64_t begin, const std::int64_t end) {
        Evaluator<dim>      evaluator(function);
        std::vector<double> points(std::size_t(n) * dim);
        for (int cell = static_cast<int>(begin); cell < end; ++cell)
        {
          cell_quadrature_points(tables, batch, cell, points.data());
          evaluator.evaluate(points.data(), n, batch_values + cell * stride);
        }
      });
    }
    return values;
  }

  template <int dim>
  std::vector<double> evaluate_at_face_quadrature_points(const dealii::Function<dim> &function,
                                                         const FaceQuadrature        &faces)
  {
    const std::size_t   n_components = function.n_components;
    const int           n_faces      = static_cast<int>(faces.offsets.size()) - 1;
    std::vector<double> values(faces.n_points() * n_components);
    for_shares(n_faces, [&](const std::int64_t begin, const std::int64_t end) {
      Evaluator<dim> evaluator(function);
      for (std::int64_t f = begin; f < end; ++f)
        evaluator.evaluate(faces.points.data() + faces.offsets[f] * dim, faces.offsets[f + 1] - faces.offsets[f],
                           values.data() + faces.offsets[f] * n_components);
    });
    return values;
  }

  template std::vector<std::vector<double>> evaluate_at_quadrature_points<2>(const dealii::Function<2> &,
                                                                             const ElementTables &);
  template std::vector<std::vector<double>> evaluate_at_quadrature_points<3>(const dealii::Function<3> &,
                                                                             const ElementTables &);
  template std::vector<double>              evaluate_at_face_quadrature_points<2>(const dealii::Function<2> &,
                                                                     const FaceQuadrature &);
  template std::vector<double>              evaluate_at_face_quadrature_points<3>(const dealii::Function<3> &,
                                                                     const FaceQuadrature &);
} // namespace PatchFEM
