// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/app/parameters.h>
#include <patchfem/app/physics.h>
#include <patchfem/base/rank_group.h>
#include <patchfem/lac/graph/aggregation.h>
#include <patchfem/mpi/mpi_communicator.h>

#include <deal.II/base/mpi.h>
#include <deal.II/hp/q_collection.h>
#include <deal.II/lac/la_parallel_vector.h>

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <limits>
#include <optional>

namespace PatchFEM
{
  class RunReport;

  /** One line per stage and per few hundred iterations, for a person who waits: only on a terminal. */
  class Progress
  {
  public:
    /** @param enabled False on all but one rank. Nothing is ever printed where standard error is no terminal. */
    explicit Progress(const bool enabled) : enabled(enabled && isatty(STDERR_FILENO)) {}

    void stage(const std::string &name)
    {
      if (enabled)
        std::fprintf(stderr, "  ... %s\n", name.c_str());
    }

    /** Called in every iteration; prints every few hundred. */
    void iteration(const unsigned int step, const double relative_residual)
    {
      if (enabled && step > 0 && step % 300 == 0)
        std::fprintf(stderr, "  ... iteration %u, relative residual %.2e\n", step, relative_residual);
    }

  private:
    bool enabled;
  };

  /** What the driver keeps of a solution: owned and ghost entries, with ghosts up to date. */
  using SolutionVector = dealii::LinearAlgebra::distributed::Vector<double>;

  /** Everything that fixes the discrete problem except the physics. */
  template <int dim>
  struct Discretisation
  {
    const dealii::Mapping<dim>              *mapping;
    const dealii::DoFHandler<dim>           *dof_handler;
    const dealii::AffineConstraints<double> *constraints;
    dealii::hp::QCollection<dim>             quadrature;      ///< one for each element of the DoFHandler
    dealii::hp::QCollection<dim - 1>         face_quadrature; ///< the same
    MPI_Comm                                 communicator;

    /// Motions without energy that are to be projected away, [mode][locally owned unknown]. At unknowns that are not
    /// constrained they are a basis of the null space of the matrix, which has 0 at the others.
    std::vector<std::vector<double>> free_modes;

    /// The body load that accelerates a mode as it is, of density 1: the body that moves, its values at locally owned
    /// unknowns with constraints resolved, and its resultants, the moment about the origin.
    struct Inertia
    {
      std::string         part;
      std::vector<double> load, force, moment;
    };
    std::vector<Inertia> inertia; ///< [mode]
  };

  /** Seconds by stage; a stage that a path does not have stays empty. */
  struct StageSeconds
  {
    std::optional<double> mesh, dofs, extraction, sparsity, plan, assembly, preconditioner, solve, results, output;

    /** Names and values in the order in which they happen, and their sum as `total`. */
    std::vector<std::pair<const char *, std::optional<double>>> list() const
    {
      std::vector<std::pair<const char *, std::optional<double>>> stages{
          {"mesh", mesh},       {"dofs", dofs},         {"extraction", extraction},         {"sparsity", sparsity},
          {"plan", plan},       {"assembly", assembly}, {"preconditioner", preconditioner}, {"solve", solve},
          {"results", results}, {"output", output}};
      double sum = 0.;
      for (const auto &stage : stages)
        sum += stage.second.value_or(0.);
      stages.emplace_back("total", sum);
      return stages;
    }

    double total() const { return *list().back().second; }
  };

  /** What is to be said about a multigrid hierarchy. */
  struct AMGReport
  {
    std::vector<AMGLevelStatistics> levels;
    double                          operator_complexity = 0.; ///< nonzeros of all levels over those of the finest
    double                          grid_complexity     = 0.; ///< the same of unknowns
    double                          condition = 0.; ///< see PreconditionAMG; 0 unless it decided on the precision
    std::string                     fallback; ///< why levels are in double precision, see PreconditionAMG; or empty

    std::vector<Aggregation::Statistics> aggregation; ///< by level, up to the last with aggregates

    /** For pictures: the aggregate and the patch of each [node] of the mesh, -1 where none; empty without any. */
    struct Groups
    {
      std::vector<int> aggregate, patch;
    };
    std::vector<Groups>       groups;    ///< by level; empty unless asked for
    std::vector<unsigned int> node_dofs; ///< deal.II's index of the first unknown of each node; the same
  };

  /** What was projected away of a singular system. */
  struct NullSpaceReport
  {
    unsigned int        dimension    = 0;
    double              removed_load = 0.; ///< of |b|, by mass; it vanishes if the loads are in equilibrium
    std::vector<double> amounts      = {}; ///< of each Discretisation::Inertia that is in it

    /// Resultants of what was removed, the moment about the origin; that of a scalar is one number without a moment.
    struct Resultants
    {
      std::string         part;
      std::vector<double> force, moment;
    };
    std::vector<Resultants> out_of_balance = {}; ///< by part of the mesh
  };

  /** How well a system with the same matrix and a known solution x was solved, b = A x (P1, chapter 5). */
  struct SolverCheck
  {
    unsigned int iterations = 0;
    double       error      = 0.; ///< |x_computed - x| / |x|
  };

  /** How far data would have to be changed for a computed x to be the exact solution, r = b - A x. */
  struct BackwardError
  {
    double normwise      = 0.; ///< |r| / (|A| |x| + |b|), in the Euclidean norm
    double componentwise = 0.; ///< the largest |r_i| / (|A| |x| + |b|)_i, with absolute values of all entries
  };

  /** Against the exact solution. */
  struct Errors
  {
    double L2, H1;
  };

  /** A solution where it was found, for what is made of it. */
  struct SolvedSpace
  {
    Space          space;
    Vector<double> u;      ///< with all constraints; where ranks share the back end its owner has it
    SystemFields   fields; ///< of this rank's cells
  };

  /** What is to be said about one linear system that was made and solved. */
  struct PathReport
  {
    std::shared_ptr<SolvedSpace> solved; ///< by PatchFEM's own back ends, until it has been evaluated

    std::string           backend;
    std::string           device;
    std::uint64_t         nnz    = 0; ///< logical entries
    std::uint64_t         stored = 0; ///< entries in memory, with padding
    std::string           format;
    std::string           format_choice;  ///< what of PatchFEM's formats, as parameters call it, was taken
    std::optional<double> product_bytes;  ///< what a product with the matrix is expected to move
    std::optional<int>    sorting_window; ///< nodes among which rows are sorted by length
    std::string           precision; ///< double, single, or mixed: double with values of the preconditioner in single
    std::string           preconditioner;
    std::string           inside_ranks; ///< what of it each of several ranks makes of its own rows alone, or empty
    std::optional<AMGReport>       amg; ///< of PatchFEM's own
    std::optional<NullSpaceReport> null_space;  ///< of a singular system
    std::optional<double> factorisation_shift;  ///< of incomplete_cholesky: part of the diagonal that was added to it
    std::optional<SolverCheck> solver_check;    ///< if it was asked for
    std::string                solution_update; ///< of PatchFEM's conjugate gradients, as parameters call it
    unsigned int               n_iterations      = 0;
    double                     relative_residual = 0.; ///< |b - A x| / |b|, A and b as stored, computed anew at the end
    double row_residual        = 0.;    ///< |D^-1 (b - A x)| / (|x| + |D^-1 b|) of conjugate gradients, D the diagonal
    bool   stopped_at_rounding = false; ///< above the tolerance: the residual is rounding of A x and falls no further
    std::optional<BackwardError> backward_error; ///< if stopped at rounding
    std::optional<Errors>        errors;         ///< of the solution; a path leaves them empty
    StageSeconds                 seconds;
    std::optional<double>        repeated_assembly; ///< seconds, median over the repetitions that were asked for
    std::optional<double>        device_forecast, device_peak; ///< bytes
    std::vector<unsigned int>    cell_patches;                 ///< by active cell; empty if there are none
    std::vector<std::string>     assembly_kernels;             ///< by batch, see Assembler::kernel_names()
    std::optional<double>        assembly_redundancy;          ///< cells integrated per cell

    /// What a rank has, if there are several: own cells, copies of other ranks' cells, own unknowns, ghosts, and bytes
    /// of space, matrix and the like; of all arrays what was forecast, and the most that there was.
    struct RankShare
    {
      std::uint64_t cells = 0, copies = 0, unknowns = 0, ghosts = 0, bytes = 0, forecast = 0, peak = 0;
    };
    std::vector<RankShare> ranks; ///< [rank]; the same on all

    /// How ranks share devices, if they do; see RankGroup.
    struct Sharing
    {
      std::vector<RankGroup::Share> groups;                ///< the first rank of each owns its back end
      std::string                   transport;             ///< between owners, see Transport; empty if there is one
      double                        window_bytes = 0.;     ///< of shared memory on the first rank's machine
      double hand_over_bytes = 0., hand_over_seconds = 0.; ///< from and to the members of the first rank
    };
    std::optional<Sharing> sharing;
  };

  /**
   * One way from a discretisation to its solution: sparsity, assembly, preconditioner and solve, each timed. The driver
   * sees nothing else of a path, so that any two can run on the same problem one after the other.
   *
   * It assembles and solves. On return the SolutionVector has the constraints distributed and its ghosts updated.
   * Throws Error if the system cannot be solved.
   */
  template <int dim>
  struct LinearSystemPath
  {
    std::function<PathReport(const Discretisation<dim> &, const Physics<dim> &, SolutionVector &)> solve;

    /** Called once before: devices, which are looked for while a mesh is read, begin to work while it gets unknowns. */
    std::function<void()> prepare = [] {};
  };

  /**
   * PatchFEM's own way: tables from deal.II, then sparsity, patches, matrix, preconditioner and conjugate gradients on
   * one back end; only the solution comes back. Of several ranks each has its cells, on the host, or groups of them share
   * devices. Throws Error for what needs one process: the export of a system, pictures of aggregates.
   *
   * @param parameters Are to live as long as the path, and so are the others.
   * @param report Is told to begin() before a system is exported.
   */
  template <int dim>
  LinearSystemPath<dim>
  make_patch_path(const ProblemParameters &parameters, RunReport &report, Progress &progress, MPI_Comm communicator);

  /**
   * A reference by deal.II's loop over cells with distribute_local_to_global():
   *  - trilinos_ml, trilinos_jacobi, trilinos_none: into a Trilinos matrix, and conjugate gradients with smoothed
   *    aggregation (ML), point Jacobi (Ifpack) or nothing. Any number of ranks.
   *  - petsc_boomeramg: into a PETSc matrix, and conjugate gradients with hypre's BoomerAMG through deal.II's wrapper.
   *    The wrapper takes every unknown by itself: it passes on neither the unknowns of a node nor a near-null space,
   *    which is what elasticity lacks most with it. Strong connections are 0.25 of the largest in 2D and 0.5 in 3D, as
   *    hypre's manual recommends; everything else is deal.II's default. Any number of ranks.
   *  - umfpack, for accuracy: into deal.II's matrix, which UMFPACK factorises, and two steps of iterative refinement
   *    with residuals in extended precision. On systems whose condition is below 1e13 or so x is then as accurate as
   *    its digits, whatever its residual; both triangular factors are kept, which in three dimensions is for some ten
   *    thousand unknowns. In the report the steps are iterations and the factorisation is the preconditioner `lu`. One
   *    process; the path throws Error if the system is singular, or too large for memory.
   *
   * Throws Error if deal.II was built without PETSc, or PETSc without hypre, or without UMFPACK, where that is needed,
   * or if @p communicator has several processes where one is.
   */
  template <int dim>
  LinearSystemPath<dim> make_reference_path(const std::string       &name,
                                            const ProblemParameters &parameters,
                                            Progress                &progress,
                                            MPI_Comm                 communicator);

  /** Runs @p stage between two barriers and returns its seconds. */
  template <typename Function>
  double timed(const MPI_Comm communicator, Progress &progress, const std::string &name, const Function &stage)
  {
    const auto ranks = MPICommunicator::of(communicator);
    progress.stage(name);
    ranks->barrier();
    const double start = MPI_Wtime();
    stage();
    ranks->barrier();
    return MPI_Wtime() - start;
  }

  /** The same, of one process or of those of @p communicator, which go on when @p backend has finished. */
  template <typename Function>
  double timed(const Backend     &backend,
               Progress          &progress,
               const std::string &name,
               const Function    &stage,
               const MPI_Comm     communicator = MPI_COMM_SELF)
  {
    return timed(communicator, progress, name + " (" + backend.name() + ")", [&] {
      stage();
      backend.synchronize();
    });
  }

  /** The median time of @p n calls of @p assemble; empty for none. */
  template <typename Function>
  std::optional<double>
  timed_repetitions(const int n, const MPI_Comm communicator, Progress &progress, const Function &assemble)
  {
    std::vector<double> seconds;
    for (int i = 0; i < n; ++i)
      seconds.push_back(timed(communicator, progress, "assembly again", assemble));
    if (seconds.empty())
      return std::nullopt;
    std::sort(seconds.begin(), seconds.end());
    return 0.5 * (seconds[(seconds.size() - 1) / 2] + seconds[seconds.size() / 2]);
  }

  /** Takes what is out of balance out of b by @p take_out, which returns amounts; if rounding is left, b becomes 0. */
  template <typename VectorType, typename Balance>
  NullSpaceReport balance_by(VectorType &b, const unsigned int dimension, const Balance &take_out)
  {
    using Number = typename VectorType::value_type;
    VectorType          removed(b);
    const double        before  = b.l2_norm();
    std::vector<double> amounts = take_out(b);
    removed.add(Number(-1), b);
    if (b.l2_norm() <= 100. * std::numeric_limits<Number>::epsilon() * before)
      b = Number(0);
    return {dimension, before > 0. ? removed.l2_norm() / before : 0., std::move(amounts)};
  }
} // namespace PatchFEM
