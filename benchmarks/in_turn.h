// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/lac/matrix/sliced_ellpack_matrix.h>

namespace benchmark
{
  /** The same matrix, whose products wait for all ghosts first. */
  class InTurn : public PatchFEM::Operator<double>
  {
  public:
    explicit InTurn(const PatchFEM::SlicedEllpackMatrix<double> &A) : A(A) {}

    const PatchFEM::Backend &backend() const override { return A.backend(); }
    int                      n_rows() const override { return A.n_rows(); }
    int                      n_columns() const override { return A.n_columns(); }

    const std::shared_ptr<const PatchFEM::Partitioner> &partitioner() const override { return A.partitioner(); }
    void initialize_vector(PatchFEM::Vector<double> &vector, const bool omit_zeroing_entries = false) const override
    {
      A.initialize_vector(vector, omit_zeroing_entries);
    }
    void vmult(PatchFEM::Vector<double> &dst, const PatchFEM::Vector<double> &src) const override
    {
      src.update_ghosts();
      A.product(src.data(), PatchFEM::kernels::Overwrite<double>{dst.data()});
    }
    void residual(PatchFEM::Vector<double>       &r,
                  const PatchFEM::Vector<double> &x,
                  const PatchFEM::Vector<double> &b) const override
    {
      x.update_ghosts();
      A.product(x.data(), PatchFEM::kernels::Residual<double>{b.data(), r.data()});
    }
    void cg_product(PatchFEM::Vector<double>       &q,
                    const PatchFEM::Vector<double> &p,
                    const PatchFEM::CGView         &cg) const override
    {
      p.update_ghosts();
      A.product(p.data(), PatchFEM::kernels::ConjugateGradients<double>{p.data(), q.data(), cg});
      finish_cg_product(cg);
    }

  private:
    const PatchFEM::SlicedEllpackMatrix<double> &A;
  };
} // namespace benchmark
