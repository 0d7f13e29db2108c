// SPDX-License-Identifier: LGPL-2.1-or-later
#include "solver_tools.h"

#include <patchfem/kernels/reduction.h>

#include <sstream>
#include <type_traits>

namespace PatchFEM
{
  namespace
  {
    std::vector<Vector<double>> on_backend(const Backend &backend, const std::vector<std::vector<double>> &vectors)
    {
      std::vector<Vector<double>> result;
      for (const std::vector<double> &values : vectors)
        result.emplace_back(backend, values);
      return result;
    }
  } // namespace

  template <typename Number>
  NullSpace<Number>::NullSpace(const Backend &backend, const std::vector<std::vector<double>> &vectors)
      : NullSpace(on_backend(backend, vectors))
  {}

  template <typename Number>
  NullSpace<Number>::NullSpace(std::vector<Vector<double>> &&vectors)
  {
    if (vectors.empty())
      return;
    const Backend backend = vectors[0].backend();
    sums.reinit(backend, kernels::reduction::max_parts + 1);
    // Modified Gram-Schmidt in double, each vector twice.
    std::vector<Vector<double>> orthonormal;
    for (Vector<double> &v : vectors)
    {
      require(orthonormal.empty() || v.size() == orthonormal[0].size(),
              "The vectors of a null space differ in length.");
      const double before = v.l2_norm();
      for (int pass = 0; pass < 2; ++pass)
        for (const Vector<double> &w : orthonormal)
          v.add(-w.dot(v), w);
      const double after = v.l2_norm();
      require(after > 1e-10 * before, "Vector ", orthonormal.size(),
              " of a null space is zero or depends on those before it.");
      v *= 1. / after;
      orthonormal.push_back(std::move(v));
    }
    for (Vector<double> &v : orthonormal)
    {
      if constexpr (std::is_same_v<Number, double>)
        basis.push_back(std::move(v));
      else
      {
        basis.emplace_back(backend);
        basis.back().copy_from(v);
      }
    }
  }

  template <typename Number>
  void NullSpace<Number>::project(Vector<Number> &x) const
  {
    for (const Vector<Number> &v : basis)
      choose(v.backend(), [&](auto where) { solver::remove_component(where, v, sums, x); });
  }

  template <typename Number>
  void NullSpace<Number>::check(const Operator<Number> &A) const
  {
    // Of the order of what rounding leaves of sums that cancel.
    const double   tolerance = std::is_same_v<Number, double> ? 1e-9 : 1e-4;
    Vector<Number> image, diagonal(A.backend());
    A.initialize_vector(image, true);
    A.extract_diagonal(diagonal);
    for (const Vector<Number> &v : basis)
    {
      require(v.size() == image.size(), "A null space does not have an entry for every row of the matrix.");
      A.vmult(image, v);
      Vector<Number> scale(A.backend());
      scale.copy_from(v);
      scale.scale(diagonal); // D v
      const double defect = image.l2_norm() / scale.l2_norm();
      if (defect < tolerance)
        continue;
      std::ostringstream text;
      text << "The matrix does not have the null space that is to be projected away: |A v| / |D v| is " << defect
           << " for a vector v of it, D the diagonal.";
      throw Error(text.str());
    }
  }

  template <typename Number>
  std::size_t NullSpace<Number>::memory_consumption() const
  {
    std::size_t result = sums.memory_consumption();
    for (const Vector<Number> &v : basis)
      result += v.memory_consumption();
    return result;
  }

  template <typename Number>
  PreconditionProjected<Number>::PreconditionProjected(const PreconditionBase<Number> &preconditioner,
                                                       const NullSpace<Number>        &null_space)
      : preconditioner(preconditioner), null_space(null_space)
  {
    require(null_space.n_vectors() > 0, "There is no null space to project away.");
    projected.reinit(null_space.vectors()[0], true);
  }

  template <typename Number>
  void PreconditionProjected<Number>::vmult(Vector<Number> &dst, const Vector<Number> &src) const
  {
    projected.equ(Number(1), src);
    null_space.project(projected);
    preconditioner.vmult(dst, projected);
    null_space.project(dst);
  }

  template class NullSpace<float>;
  template class NullSpace<double>;
  template class PreconditionProjected<float>;
  template class PreconditionProjected<double>;
} // namespace PatchFEM
