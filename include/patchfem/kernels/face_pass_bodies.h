// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/kernels/atomics.h>
#include <patchfem/kernels/face_pass.h>
#include <patchfem/kernels/geometry.h>
#include <patchfem/kernels/parallel_for.h>

#include <cmath>

/** @file Definitions of face_pass.h. Included where a law is instantiated; see PATCHFEM_INSTANTIATE_LAW_ON. */
namespace PatchFEM::kernels
{
  /** Item i is point i % n_face_quadrature of face i / n_face_quadrature. */
  template <typename Law>
  struct FaceLawBody
  {
    using Traits = FaceLawTraits<Law>;
    using State  = FaceLawState<Law>;
    static_assert(std::is_empty_v<State>, "The points of faces keep no state.");
    static_assert(Traits::n_fields == 0 && (Traits::reads & ~Reads::tangents) == 0,
                  "Face laws read the field, its place and the time.");

    FacePass a;

    PATCHFEM_INLINE void operator()(const std::int64_t i) const
    {
      constexpr int        n = Traits::n_inputs, n_comp = Traits::n_components;
      const ReferenceView &r = a.batches.batch[a.b].reference;
      const int face = static_cast<int>(i / r.n_face_quadrature), q = static_cast<int>(i % r.n_face_quadrature);
      const std::int64_t point = a.points[face] + q;
      double             in[n], out[n_comp];
      FaceData           data;
      gather(a.cells[face], a.faces[face], q, in, data);
      const State old{};
      State       now;
      double     *traction = a.traction + point * n_comp;
      bool        finite   = true;
      if (a.tangent != nullptr)
      {
        double *tangent = a.tangent + point * n_comp * a.n_inputs;
        for_traction_tangent<Law, n>(in, data, old, now, out, [&](const int row, const int column, const double value) {
          finite = finite && std::isfinite(value);
          tangent[row * a.n_inputs + column] += value;
        });
      }
      else
        evaluate_traction<Law>(in, data, old, now, out);
      for (int c = 0; c < n_comp; ++c)
      {
        finite = finite && std::isfinite(out[c]);
        traction[c] += out[c];
      }
      if (!finite)
        data.refuse(Refusal::not_finite);
      if (data.refusal != 0)
        atomic_min(a.failure, point * 8 + data.refusal);
    }

  private:
    PATCHFEM_INLINE void
    gather(const int local, const int face, const int q, double (&in)[Traits::n_inputs], FaceData &data) const
    {
      constexpr int        dim = Traits::dimension, n_comp = Traits::n_components;
      const BatchView     &batch    = a.batches.batch[a.b];
      const ReferenceView &r        = batch.reference;
      const std::int64_t   entry    = std::int64_t(face) * r.n_face_quadrature + q;
      const int           *nodes    = batch.nodes + std::int64_t(local) * r.n_shape;
      const double        *tangents = r.face_tangents + entry * dim * (dim - 1);
      PATCHFEM_UNROLL
      for (double &entry_of_in : in)
        entry_of_in = 0.;
      for (int s = 0; s < r.n_shape; ++s)
      {
        const double *gradient = r.face_shape_gradients + (entry * r.n_shape + s) * dim;
        PATCHFEM_UNROLL
        for (int k = 0; k < Traits::n_inputs / n_comp; ++k)
        {
          double shape = k == 0 ? r.face_shape_values[entry * r.n_shape + s] : 0.;
          for (int d = 0; d < dim && k > 0; ++d)
            shape += gradient[d] * tangents[d * (dim - 1) + k - 1];
          PATCHFEM_UNROLL
          for (int c = 0; c < n_comp; ++c)
            in[k * n_comp + c] += shape * a.u[std::int64_t(nodes[s]) * n_comp + c];
        }
      }
      const auto   at       = face_point_geometry<dim, double>(a.batches.points, batch, local, face, q);
      const auto   inverse  = PatchFEM::inverse(at.jacobian, determinant(at.jacobian));
      const auto   normal   = real_gradient<dim, double>(inverse, r.face_normals + face * dim);
      const int   *geometry = batch.geometry + std::int64_t(local) * r.n_geometry;
      const double length   = std::sqrt(dot(normal, normal));
      PATCHFEM_UNROLL
      for (int d = 0; d < dim; ++d)
      {
        data.position[d] =
            coordinate(a.batches.points, dim, d, geometry, r.n_geometry, r.face_geometry_values + entry * r.n_geometry);
        data.normal[d] = normal[d] / length;
        for (int k = 0; k < dim - 1; ++k)
          data.tangents[k][d] = at.tangents(d, k);
      }
      data.parameters  = a.parameters;
      data.time        = a.time;
      data.time_step   = a.step;
      data.load_factor = a.load_factor;
    }
  };

  template <typename Where, typename Law>
  void needs_patchfem_add_law::LawKernels<Where, Law, LawKind::face>::evaluate(const Where &where, const FacePass &pass)
  {
    const int n_q = pass.batches.batch[pass.b].reference.n_face_quadrature;
    parallel_for(where, std::int64_t(pass.n_faces) * n_q, FaceLawBody<Law>{pass});
  }
} // namespace PatchFEM::kernels
