// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/base/side_stream.h>
#include <patchfem/lac/precondition/precondition_base.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace PatchFEM
{
  /** When an iteration ends. */
  struct IterationControl
  {
    /// What a monitor answers to one step.
    enum class Action
    {
      iterate,
      accept, ///< the solution is good enough
      abort
    };

    /// Absolute, on |b - A x|.
    double tolerance = 1e-10;
    /// If positive, |b - A x| <= reduction * |b - A x_0| is enough as well.
    double       reduction      = 0.;
    unsigned int max_iterations = 1000;

    /// Sees the residual of every step, 0 included, in order and each once. If it ends the iteration, x is that of the
    /// step of the host's last look; with a look interval of 1 that of the step itself.
    std::function<Action(unsigned int step, double residual)> monitor;
  };

  /** When x = x + alpha p, which nothing else of a step waits for, is done. The bits of the result are the same. */
  enum class SolutionUpdate
  {
    fused,  ///< by the kernel that reads p anyway, p = z + beta p, which saves 8 bytes an unknown
    streams ///< beside residual and preconditioner on a stream of its own (P2); on the host just after the product
  };

  std::string to_string(SolutionUpdate update);

  /** Parameters of ConjugateGradients. */
  struct CGParameters
  {
    /// Iterations between two looks of the host, 4096 at most; 0: what the preconditioner asks for.
    unsigned int look_interval = 0;
    /// The residual is recomputed as b - A x every so many steps (P1), so that it does not drift; 0: only at the end.
    /// The rounding of b - A x is large beside that of the recursion and disturbs the conjugacy of later directions, so
    /// doing it often costs steps; where the residual is no longer a million times what rounding may leave it would
    /// make the iteration grow, and is not done. Costs ten products at the start.
    unsigned int   residual_interval = 0;
    SolutionUpdate update            = SolutionUpdate::fused;
    /// If positive, the end needs |D^-1 (b - A x)| <= row_tolerance (|x| + |D^-1 b|) as well, D the diagonal of A, which
    /// the operator then has to know. |b - A x| alone sees no more than the largest rows, such as those of a stiff
    /// support; this does not depend on how rows are scaled. Looked at when the tolerance is met; where it fails the
    /// iteration goes on. No more than an answer of the monitor to a residual above the tolerance passes it over.
    double row_tolerance = 0.;
  };

  /** How an iteration ended. */
  struct IterationResult
  {
    enum class Status
    {
      converged,
      max_iterations,
      accepted, ///< by the monitor
      aborted,  ///< by the monitor
      /// The tolerance is below what rounding in double leaves of b - A x, and x is as accurate as that allows: the
      /// recursion has met the tolerance, while |b - A x| in double is at most rounding_limit and not so near to the
      /// tolerance that a restart might meet it. A refinement (see ConjugateGradients) that is cut short is undone.
      rounding,
      /// |b - A x| is above rounding_limit, or this is single precision, and after a restart neither it nor the energy
      /// of the error that it stands for falls; or row_residual does not.
      stagnated,
      /// The residual is at most rounding_limit, but of a solution that only grew: the load moves what nothing holds,
      /// or x has no right digits. The matrix is singular to rounding.
      singular,
      breakdown
    };

    Status       status       = Status::max_iterations;
    CGStatus     cause        = CGStatus::iterating; ///< of a breakdown
    unsigned int n_iterations = 0;
    unsigned int n_restarts   = 0;  ///< because the recomputed residual was above the tolerance
    double       tolerance    = 0.; ///< absolute, that was iterated to
    double       residual     = 0.; ///< |b - A x| of the x returned, recomputed from it
    /// 8 u |A| |x|, u the rounding unit of double and |A| the largest eigenvalue by some power steps, which the
    /// rounding of A x may leave of the residual; 0 unless the iteration came to where it was needed.
    double rounding_limit = 0.;
    /// |D^-1 (b - A x)| / (|x| + |D^-1 b|) of the x returned, D the diagonal; 0 unless CGParameters::row_tolerance asks.
    double         row_residual  = 0.;
    double         row_tolerance = 0.; ///< that was iterated to: CGParameters::row_tolerance, or what rounding leaves
    SolutionUpdate update        = SolutionUpdate::fused; ///< when x was updated
    /// The residual of every step, [n_iterations + 1]; from where a refinement begins on in twice the precision.
    std::vector<double> history;

    /** Whether x is a solution: to the tolerance, to the monitor's liking, or to rounding. */
    bool success() const
    {
      return status == Status::converged || status == Status::accepted || status == Status::rounding;
    }

    /** One sentence that says why the iteration ended; names matrix or preconditioner for a breakdown. */
    std::string message(const std::string &preconditioner) const;
  };

  /**
   * Preconditioned conjugate gradients whose scalars stay on the back end (see kernels/cg.h for the kernels and their
   * traffic). Some iterations are recorded as a Graph and launched together; the host looks at the residuals only every
   * few iterations. Steps after convergence do nothing, so results do not depend on how often the host looks.
   *
   * x is the initial guess. When the recursion's residual meets the tolerance the true residual b - A x is formed, its
   * rows summed in double; if it fails the test, the iteration starts again from this x, and its steps count on. It
   * ends when a restart does not help any more: at the limit of the arithmetic, which in double is an answer, or above
   * it, which is not. At the limit |b - A x| is mostly the rounding of A x. Where the energy of the error that it
   * stands for is above 1e-7 of the solution's and the matrix has rows, the iteration goes on from the residual in
   * twice the precision (see compensated_residual()): then rounding A's entries changes x more than iterating.
   *
   * Loads of any size that numbers can have are solved for: where the square of the first residual would overflow or
   * vanish, the residual is scaled by a power of two.
   */
  template <typename Number>
  class ConjugateGradients
  {
  public:
    using AdditionalData = CGParameters;

    explicit ConjugateGradients(const AdditionalData &additional_data = AdditionalData())
        : additional_data(additional_data)
    {}

    /** Solves A x = b. Throws Error only for arguments that do not fit; how it ended is in the result. */
    IterationResult solve(const Operator<Number>         &A,
                          Vector<Number>                 &x,
                          const Vector<Number>           &b,
                          const PreconditionBase<Number> &preconditioner,
                          const IterationControl         &control);

    /** Of the vectors the iteration works with; kept between solutions. */
    std::size_t memory_consumption() const { return memory_consumption_of(r, z, p, q, shared, partials); }

  private:
    AdditionalData additional_data;

    Vector<Number>              r, z, p, q;
    Array<char>                 shared; ///< CGScalars and the history of the steps since the last look
    Array<double>               partials;
    std::unique_ptr<SideStream> side; ///< with SolutionUpdate::streams

    struct Solution;

    IterationResult iterate(const Operator<Number>         &A,
                            Vector<Number>                 &x,
                            const Vector<Number>           &b,
                            const PreconditionBase<Number> &preconditioner,
                            const IterationControl         &control);
  };
} // namespace PatchFEM
