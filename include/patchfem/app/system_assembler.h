// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/assembly/assembler.h>

namespace PatchFEM
{
  /**
   * An Assembler whose weak form was chosen at run time: what a physics gives to the path that assembles and
   * solves without knowing the equation.
   */
  template <typename Number>
  class SystemAssembler
  {
  public:
    virtual ~SystemAssembler() = default;

    virtual AssemblerBase<Number> &assembler() = 0;

    virtual void reinit(const Space &space, const Patches::AdditionalData &data) = 0;
    virtual void set_coefficients(const CoefficientField &field)                 = 0;

    /** @p matrix is a CSRMatrix or a SlicedEllpackMatrix. */
    virtual void assemble(MatrixBase<Number> &matrix, Vector<Number> &rhs) = 0;
  };

  template <typename Form, typename Number>
  class SystemAssemblerFor : public SystemAssembler<Number>
  {
  public:
    AssemblerBase<Number> &assembler() override { return implementation; }

    void reinit(const Space &space, const Patches::AdditionalData &data) override
    {
      implementation.reinit(space, data);
    }
    void set_coefficients(const CoefficientField &field) override { implementation.set_coefficients(field); }
    void assemble(MatrixBase<Number> &matrix, Vector<Number> &rhs) override
    {
      if (auto *csr = dynamic_cast<CSRMatrix<Number> *>(&matrix))
        implementation.assemble(*csr, rhs);
      else
        implementation.assemble(dynamic_cast<SlicedEllpackMatrix<Number> &>(matrix), rhs);
    }

  private:
    Assembler<Form, Number> implementation;
  };

  /** The data of a weak form on one mesh, as plain values. */
  struct SystemFields
  {
    CoefficientField coefficients;
    CoefficientField body_load;
    FaceTerms        face_terms;
  };
} // namespace PatchFEM
