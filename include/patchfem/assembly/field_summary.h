// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/assembly/coefficients.h>
#include <patchfem/assembly/space.h>
#include <patchfem/kernels/laws.h>

#include <array>
#include <functional>
#include <limits>

namespace PatchFEM
{
  /** A value of a law that is least or largest, and where it is so. */
  struct FieldExtreme
  {
    double                value;
    std::array<double, 3> place{};
  };

  /** The least and the largest of each value of a law; +-infinity where there are no cells. */
  struct FieldExtremes
  {
    std::vector<FieldExtreme> least, most; ///< [value]
  };

  namespace internal
  {
    /** Common part of integrate_fields() and field_extremes(); [value][lane], and [extreme][value][lane]. */
    struct LawRequest
    {
      const CoefficientField                                    &parameters;
      int                                                        n_parameters, n_values;
      const std::vector<ReferenceElement>                       &points; ///< [batch]; empty: those of quadrature
      int                                                        material;
      std::function<void(const Backend &, const LawReduction &)> reduce;
    };
    std::vector<double> integrate_fields(const Space &, const Vector<double> &, const LawRequest &);
    FieldExtremes       field_extremes(const Space &, const Vector<double> &, const LawRequest &);

    template <typename Law>
    LawRequest law_request(const Space                         &space,
                           const CoefficientField              &parameters,
                           const std::vector<ReferenceElement> &points,
                           const int                            material)
    {
      require(space.tables().dim == Law::dimension && space.tables().n_components == Law::n_components,
              "The law is for another dimension, or number of components, than the space.");
      return {parameters,
              Law::n_parameters,
              Law::n_values,
              points,
              material,
              [](const Backend &backend, const LawReduction &arguments) {
                launch(backend,
                       [&](auto where) { kernels::LawKernels<decltype(where), Law>::reduce(where, arguments); });
              }};
    }
  } // namespace internal

  constexpr int all_materials = std::numeric_limits<int>::min();

  /**
   * The integrals of all values of a law of @p u, which is taken as it is, over the cells of a material or all. By the
   * quadrature of the space, on its back end, without room for values at points; the same bits for any number of threads.
   * Collective: the sums over all ranks. @p parameters are those of this rank's cells, as Assembler takes them.
   */
  template <typename Law>
  std::vector<double> integrate_fields(const Space            &space,
                                       const Vector<double>   &u,
                                       const CoefficientField &parameters = CoefficientField(),
                                       const int               material   = all_materials)
  {
    const std::vector<ReferenceElement> none;
    return internal::integrate_fields(space, u, internal::law_request<Law>(space, parameters, none, material));
  }

  /**
   * The least and largest values of a law at the points of quadrature, or those of @p points: an element for each batch
   * of the tables, with its functions at other points. @p parameters that vary inside of cells are given at the points.
   * Of equal values one is named. Throws Error if @p points do not fit the batches. Collective: those of all ranks.
   */
  template <typename Law>
  FieldExtremes field_extremes(const Space                         &space,
                               const Vector<double>                &u,
                               const CoefficientField              &parameters = CoefficientField(),
                               const std::vector<ReferenceElement> &points     = {})
  {
    return internal::field_extremes(space, u, internal::law_request<Law>(space, parameters, points, all_materials));
  }
} // namespace PatchFEM
