// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/run.h"
#include "kernels/smoother_bodies.h"

#include <patchfem/kernels/blas1.h>
#include <patchfem/lac/solver/largest_eigenvalue.h>

#include <cstddef>

namespace PatchFEM
{
  template <typename Number>
  void LargestEigenvalue<Number>::compute(const Operator<Number>         &A,
                                          const PreconditionBase<Number> &D_inverse,
                                          const int                       n_steps)
  {
    require(n_steps >= 1 && n_steps <= kernels::LanczosScalars::max_steps,
            "The steps of an eigenvalue estimate must be between 1 and " +
                std::to_string(kernels::LanczosScalars::max_steps) + ", not " + std::to_string(n_steps) + ".");
    const Backend     &place = A.backend();
    const std::int64_t n     = A.n_rows();
    memory.reinit(place, 1);
    memory.set_zero();
    Vector<Number> r, r_previous, q, z;
    for (Vector<Number> *vector : {&r, &r_previous, &q, &z})
      vector->reinit(place, n, true);
    Array<double> partials(place, kernels::reduction::max_parts);

    kernels::LanczosScalars *scalars = memory.data();
    auto *const              product =
        reinterpret_cast<double *>(reinterpret_cast<char *>(scalars) + offsetof(kernels::LanczosScalars, product));
    const auto dot = [&](const Vector<Number> &a, const Vector<Number> &b) {
      dispatch(place, [&](auto where) { kernels::dot(where, n, a.data(), b.data(), partials.data(), product); });
    };
    const auto to_unit_length = [&](const int step) {
      D_inverse.vmult(z, r);
      dot(r, z);
      run(place, 1, kernels::LanczosLengthBody{scalars, step});
      run(place, n, kernels::LanczosNormaliseBody<Number>{scalars, step, r.data(), z.data()});
    };

    run(place, n, kernels::ScatteredBody<Number>{r.data()});
    to_unit_length(0);
    for (int step = 0; step < n_steps; ++step)
    {
      A.vmult(q, z);
      dot(z, q);
      run(place, n,
          kernels::LanczosUpdateBody<Number>{scalars, step, r.data(), step > 0 ? r_previous.data() : nullptr,
                                             q.data()});
      r_previous.swap(r);
      r.swap(q);
      to_unit_length(step + 1);
    }
    run(place, 1, kernels::LargestEigenvalueBody{scalars, n_steps});
  }

  template class LargestEigenvalue<float>;
  template class LargestEigenvalue<double>;
} // namespace PatchFEM
