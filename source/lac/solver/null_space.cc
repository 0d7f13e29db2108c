// SPDX-License-Identifier: LGPL-2.1-or-later
#include "solver_tools.h"

#include <patchfem/kernels/reduction.h>

#include <cmath>
#include <sstream>
#include <type_traits>

namespace PatchFEM
{
  std::vector<double> solve_dense(std::vector<std::vector<double>> A, std::vector<double> b)
  {
    const std::size_t n = b.size();
    for (std::size_t k = 0; k < n; ++k)
    {
      std::size_t pivot = k;
      for (std::size_t i = k + 1; i < n; ++i)
        pivot = std::abs(A[i][k]) > std::abs(A[pivot][k]) ? i : pivot;
      std::swap(A[k], A[pivot]);
      std::swap(b[k], b[pivot]);
      for (std::size_t i = k + 1; i < n; ++i)
      {
        const double factor = A[i][k] / A[k][k];
        for (std::size_t j = k; j < n; ++j)
          A[i][j] -= factor * A[k][j];
        b[i] -= factor * b[k];
      }
    }
    for (std::size_t k = n; k-- > 0;)
    {
      for (std::size_t j = k + 1; j < n; ++j)
        b[k] -= A[k][j] * b[j];
      b[k] /= A[k][k];
    }
    return b;
  }

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
  NullSpace<Number>::NullSpace(std::vector<Vector<double>> &&vectors, std::vector<Vector<double>> &&inertia)
  {
    require(inertia.empty() || inertia.size() == vectors.size(), "A null space of ", vectors.size(),
            " vectors was given the loads of ", inertia.size(), ".");
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
    const auto keep = [&](std::vector<Vector<double>> &from, std::vector<Vector<Number>> &to) {
      for (Vector<double> &v : from)
        if constexpr (std::is_same_v<Number, double>)
          to.push_back(std::move(v));
        else
        {
          to.emplace_back(backend);
          to.back().copy_from(v);
        }
    };
    keep(orthonormal, basis);
    keep(inertia, loads);
  }

  template <typename Number>
  void NullSpace<Number>::project(Vector<Number> &x) const
  {
    for (const Vector<Number> &v : basis)
      dispatch(v.backend(), [&](auto where) { solver::remove_component(where, v, sums, x); });
  }

  template <typename Number>
  std::vector<double> NullSpace<Number>::balance(Vector<Number> &b) const
  {
    std::vector<double> c = balance_load(b, basis, loads);
    project(b);
    return c;
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
    for (const auto *vectors : {&basis, &loads})
      for (const Vector<Number> &v : *vectors)
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
