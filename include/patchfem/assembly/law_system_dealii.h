// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/assembly/law_assembler.h>
#include <patchfem/lac/multigrid/precondition_amg.h>
#include <patchfem/lac/solver/newton_dealii.h>

namespace PatchFEM
{
  /** Parameters of LawSystem. */
  struct LawSystemParameters
  {
    PreconditionAMG<double>::AdditionalData multigrid;
    Renewal::AdditionalData                 renewal;
    unsigned int                            max_iterations = 1000; ///< of a linear solution
  };

  /**
   * The linear systems of Newton's method for a LawAssembler: the tangent, PreconditionAMG for it, and conjugate gradients,
   * or GMRES where a law is not symmetric. Boundary values, and other k of the space, are reached by the first correction
   * of a step, through the tangent.
   * @code
   *   LawSystem      system(solid, space.rigid_body_modes());
   *   NewtonSolver<> newton;
   *   system.attach(newton);
   *   ...
   *   space.update_inhomogeneities(constraints);
   *   solid.begin_step(step);
   *   solid.commit(u, newton.solve(u));
   * @endcode
   * The hierarchy is made of the tangent at the begin of a step, which is that of a converged state, and kept within it
   * unless Renewal finds that another one pays: the tangents between may be indefinite.
   */
  class LawSystem
  {
  public:
    using AdditionalData = LawSystemParameters;

    /** @p laws must outlive this. */
    LawSystem(LawAssembler &laws, NearNullSpace modes, const AdditionalData &data = AdditionalData());

    /** Gives @p newton its functions, which refer to both. */
    void attach(NewtonSolver<> &newton);

    const SlicedEllpackMatrix<double> &tangent() const { return K; }
    const PreconditionAMG<double>     &multigrid() const { return preconditioner; }

    /** Bytes on the back end besides those of the laws. */
    std::size_t memory_consumption() const;

  private:
    void linearise(const Vector<double> &u, bool first);
    void solve(const Vector<double> &rhs, Vector<double> &d, double tolerance);
    void renew(Renewal::Action action);
    void prepare_step();

    LawAssembler               *laws;
    Space                       space;
    NearNullSpace               modes;
    AdditionalData              data;
    SlicedEllpackMatrix<double> K;
    Vector<double>              load;            ///< -r - C^T K k of the last tangent
    const Vector<double>       *state = nullptr; ///< u of it
    PreconditionAMG<double>     preconditioner;
    ConjugateGradients<double>  iteration;
    Renewal                     renewal;
    LinearSolution              solution;
    double                      rounding_scale = 0.;
    bool                        moves = false, begins = false;
  };
} // namespace PatchFEM
