// SPDX-License-Identifier: LGPL-2.1-or-later
#include "../assembly/structure_tools.h"

#include <patchfem/kernels/blas1.h>
#include <patchfem/kernels/smoother_bodies.h>
#include <patchfem/lac/precondition_mixed.h>

namespace PatchFEM
{
  void SinglePrecision::reinit(const MatrixBase<double> &matrix)
  {
    const Backend &place = matrix.backend();
    single_src.reinit(place, matrix.n_rows(), true);
    single_dst.reinit(place, matrix.n_rows(), true);
    norm.reinit(place, kernels::reduction::max_parts + 1);
  }

  const MatrixBase<float> &SinglePrecision::copy(const MatrixBase<double> &matrix)
  {
    const auto *rows     = dynamic_cast<const CSRMatrix<double> *>(&matrix);
    const auto *diagonal = dynamic_cast<const MDIAMatrix<double> *>(&matrix);
    const auto *slices   = dynamic_cast<const SlicedEllpackMatrix<double> *>(&matrix);
    const auto *halves   = dynamic_cast<const SymmetricEllpackMatrix<double> *>(&matrix);
    require(rows != nullptr || diagonal != nullptr || slices != nullptr || halves != nullptr,
            "A preconditioner in single precision is not available for matrices of the format " + matrix.format() +
                ".");
    release_copy();
    if (rows != nullptr)
    {
      csr.copy_from(*rows);
      return csr;
    }
    if (diagonal != nullptr)
    {
      mdia.copy_from(*diagonal);
      return mdia;
    }
    if (halves != nullptr)
    {
      symmetric.copy_from(*halves);
      return symmetric;
    }
    sliced.copy_from(*slices);
    return sliced;
  }

  void SinglePrecision::release_copy()
  {
    csr       = CSRMatrix<float>();
    mdia      = MDIAMatrix<float>();
    sliced    = SlicedEllpackMatrix<float>();
    symmetric = SymmetricEllpackMatrix<float>();
  }

  void SinglePrecision::vmult(Vector<double> &dst, const Vector<double> &src) const
  {
    require(!norm.empty(), "A preconditioner was applied before it was initialized.");
    require(dst.size() == single_dst.size() && src.size() == single_src.size() && dst.backend() == norm.backend() &&
                src.backend() == norm.backend(),
            "A vector does not have the size and the back end of the preconditioner.");
    const Backend     &place  = src.backend();
    const std::int64_t n      = static_cast<std::int64_t>(src.size());
    double *const      square = norm.data() + kernels::reduction::max_parts;
    dispatch(place, [&](auto where) { kernels::dot(where, n, src.data(), src.data(), norm.data(), square); });
    run(place, n, kernels::ConvertScaledBody<double, float>{src.data(), square, true, single_src.data()});
    single().vmult(single_dst, single_src);
    run(place, n, kernels::ConvertScaledBody<float, double>{single_dst.data(), square, false, dst.data()});
  }

  std::size_t SinglePrecision::memory_consumption() const
  {
    return csr.values_memory_consumption() + mdia.values_memory_consumption() + sliced.values_memory_consumption() +
           symmetric.values_memory_consumption() + single_src.memory_consumption() + single_dst.memory_consumption() +
           norm.memory_consumption();
  }
} // namespace PatchFEM
