// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/assembly/assembler.h>

#include <functional>
#include <memory>

namespace PatchFEM
{
  /**
   * An Assembler whose weak form was chosen at run time: what a physics gives to the path that assembles and
   * solves without knowing the equation.
   */
  template <typename Number>
  struct SystemAssembler
  {
    std::shared_ptr<AssemblerBase<Number>>                              assembler;
    std::function<void(const Space &, const Patches::AdditionalData &)> reinit;
    std::function<void(const CoefficientField &)>                       set_coefficients;
    std::function<void(MatrixBase<Number> &, Vector<Number> &)> assemble; ///< a CSRMatrix or SlicedEllpackMatrix
  };

  template <typename Form, typename Number>
  SystemAssembler<Number> make_system_assembler()
  {
    const auto assembler = std::make_shared<Assembler<Form, Number>>();
    const auto assemble  = [assembler](MatrixBase<Number> &matrix, Vector<Number> &rhs) {
      if (auto *csr = dynamic_cast<CSRMatrix<Number> *>(&matrix))
        assembler->assemble(*csr, rhs);
      else
        assembler->assemble(dynamic_cast<SlicedEllpackMatrix<Number> &>(matrix), rhs);
    };
    return {assembler,
            [assembler](const Space &space, const Patches::AdditionalData &data) { assembler->reinit(space, data); },
            [assembler](const CoefficientField &field) { assembler->set_coefficients(field); }, assemble};
  }

  /** The data of a weak form on one mesh, as plain values. */
  struct SystemFields
  {
    CoefficientField coefficients;
    CoefficientField body_load;
    FaceTerms        face_terms;
  };
} // namespace PatchFEM
