// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/app/parameters.h>
#include <patchfem/app/preconditioner_factory.h>
#include <patchfem/base/exceptions.h>
#include <patchfem/base/quote.h>
#include <patchfem/kernels/lanczos_scalars.h>

namespace PatchFEM
{
  using dealii::ParameterHandler;
  namespace Patterns = dealii::Patterns;

  const std::vector<SmootherRow> &smoothers()
  {
    static const std::vector<SmootherRow> table{
        {"chebyshev",
         "Chebyshev polynomials in D^-1 A, D the blocks of a node's unknowns, and where nodes give way together in "
         "a factorised sparse approximate inverse",
         AMGSmoother::chebyshev,
         {"Smoothing range", "Stretched sweeps", "Stretched range"}},
        {"block_jacobi", "damped Jacobi with D", AMGSmoother::block_jacobi, {}},
        {"l1_jacobi", "Jacobi with D and the sums of the rest of each row", AMGSmoother::l1_jacobi, {}},
        {"patch",
         "block Jacobi on patches of some hundred nodes, inexact by a few sweeps of Jacobi inside of them, which needs "
         "another copy of the matrix",
         AMGSmoother::patch,
         {"Smoothing range", "Inner sweeps", "Patch storage"}},
        {"factorized_inverse",
         "Chebyshev polynomials in G^T G A, G^T G an approximate inverse on the pattern of the matrix, which needs "
         "another copy of it",
         AMGSmoother::factorized_inverse,
         {"Smoothing range", "Stretched sweeps", "Stretched range"}}};
    return table;
  }

  void SolverParameters::declare_parameters(ParameterHandler &prm)
  {
    prm.enter_subsection("Solver");
    prm.add_parameter(
        "Tolerance", tolerance,
        "Stop when |b - A x| is at most this times |b| and, with each row divided by its diagonal entry, at most this "
        "times |x| + |b|.",
        Patterns::Double(1e-15, 1.));
    prm.add_parameter("Maximum iterations", max_iterations, "Give up with an error after so many steps.",
                      Patterns::Integer(1));
    std::string rows;
    for (const PreconditionerRow &row : preconditioners())
      rows += (rows.empty() ? "" : ", ") + row.name + (row.words.empty() ? "" : " (" + row.words + ")");
    const auto all = [](const PreconditionerRow &) { return true; };
    prm.add_parameter("Preconditioner", preconditioner,
                      "Of the conjugate gradient method: " + rows +
                          ". auto is amg, or ml with Backend = trilinos; block_jacobi where there are fewer than 100 "
                          "unknowns, and least_squares with a Matrix/Format whose rows multigrid cannot read.",
                      Patterns::Selection("auto|" + names_of_preconditioners(all, "|", "|")));
    prm.add_parameter(
        "Residual interval", iteration.residual_interval,
        "Recompute the residual as b - A x every so many steps, so that rounding does not let it drift, as long as it "
        "is well above what rounding leaves; 0 only at the end. Often costs steps. Of PatchFEM's own back ends.",
        Patterns::Integer(0));
    prm.declare_entry("Solution update", "fused", Patterns::Selection("fused|streams"),
                      "x = x + alpha p in the kernel that makes the next p, or on a stream of its own beside the "
                      "preconditioner. The results are equal. Of PatchFEM's own back ends.");
    prm.declare_entry(
        "Null space", "refuse", Patterns::Selection("refuse|project"),
        "Of a singular problem, such as one with natural boundary conditions alone or a body that nothing holds: "
        "refuse ends with an error that names the motion; project takes what is out of balance out of the loads, "
        "as a uniform sink or as inertia, and of all solutions finds the one that is orthogonal to the motion in L2.");

    prm.add_parameter(
        "Check", check,
        "Solve a second system with the same matrix A, whose solution x is known because its right-hand side is A x, "
        "and write iterations and the relative error of x to report.json. Of PatchFEM's own back ends.");
    prm.enter_subsection("Polynomial");
    prm.add_parameter("Order", polynomial.order,
                      "Of neumann, least_squares and chebyshev: products with the matrix in each application.",
                      Patterns::Integer(1, 12));
    prm.add_parameter("Lanczos steps", polynomial.lanczos_steps,
                      "Products with the matrix that find the ends of its spectrum.", Patterns::Integer(2, 64));
    prm.add_parameter("Eigenvalue ratio", polynomial.eigenvalue_ratio,
                      "Upper over lower end of the interval in which the polynomial approximates the inverse, above 1; "
                      "with 0 the lower end is the smallest eigenvalue that was found.",
                      Patterns::Double(0.));
    prm.leave_subsection();

    prm.enter_subsection("SSOR");
    prm.declare_entry("Ordering", "multicolour", Patterns::Selection("multicolour|natural"),
                      "multicolour relaxes unknowns that do not depend on each other at the same time, in the same "
                      "colours on every back end; natural goes through them in their order, which is not for a GPU.");
    prm.add_parameter("Relaxation", ssor.relaxation, "Above 0 and below 2.", Patterns::Double(0., 2.));
    prm.leave_subsection();

    prm.enter_subsection("Incomplete Cholesky");
    prm.declare_entry(
        "Solution", "sweeps", Patterns::Selection("sweeps|exact"),
        "Of the triangular systems: a few sweeps of Jacobi, or exact, level by level, which is slow on a GPU.");
    prm.add_parameter("Sweeps", incomplete_cholesky.n_sweeps, "Of each triangular system.", Patterns::Integer(1, 100));
    prm.add_parameter("Shift", incomplete_cholesky.shift,
                      "Part of the diagonal that is added to it at first. Where the factorisation breaks down, more "
                      "is, and report.json says how much.",
                      Patterns::Double(0., 1000.));
    prm.leave_subsection();

    // One sentence each; what an entry means for the method is with AMGParameters.
    prm.enter_subsection("AMG");
    std::string names, words;
    for (const SmootherRow &row : smoothers())
    {
      names += (names.empty() ? "" : "|") + row.name;
      words += (words.empty() ? "" : "; ") + row.name + ": " + row.words;
    }
    prm.declare_entry("Smoother", "chebyshev", Patterns::Selection(names),
                      "On all levels but the coarsest. " + words + ".");
    prm.add_parameter("Sweeps", amg.smoother_sweeps,
                      "Sweeps of Jacobi and on patches or degree of the polynomial, before and again after each coarse "
                      "correction; of "
                      "elements of degree p at least p on the finest level, but on patches.",
                      Patterns::Integer(1, 20));
    prm.add_parameter(
        "Coarse sweeps", amg.coarse_sweeps,
        "The same on the levels below the finest; 0 is one more than Sweeps with chebyshev, else as many.",
        Patterns::Integer(0, 20));
    prm.add_parameter("Inner sweeps", amg.inner_sweeps,
                      "Sweeps inside of the patches in each sweep of the smoother patch.", Patterns::Integer(1, 20));
    prm.declare_entry(
        "Patch storage", "automatic", Patterns::Selection("automatic|both|half|half_atomic"),
        "Of the symmetric matrices of patches: both halves; one half, applied in a fixed order; one half, applied by "
        "atomic additions, with which results of the back end cuda do not repeat bit by bit and which is slower; or "
        "automatic, which is half for vector fields and both for scalar problems.");
    prm.add_parameter(
        "Smoothing range", amg.smoothing_range,
        "Chebyshev polynomials and sweeps on patches smooth the eigenvalues between the largest and that "
        "over this, more than 1; of elements of degree p chebyshev has at least 2 p^2 on the finest level.",
        Patterns::Double(1.));
    prm.add_parameter("Stretched sweeps", amg.stretched_sweeps,
                      "Degree of the polynomial of chebyshev, at least, on levels with stretched cells.",
                      Patterns::Integer(1, 20));
    prm.add_parameter("Stretched range", amg.stretched_range,
                      "Smoothing range of chebyshev, at least, on levels with stretched cells.", Patterns::Double(1.));
    prm.declare_entry(
        "Cycle", "auto", Patterns::Selection("auto|v|w"),
        "How often the next level is visited per visit of a level, once (v) or twice (w); auto: once, and "
        "of thin bodies twice on levels that take little.");
    prm.add_parameter(
        "Coarse size", amg.coarse_size,
        "A level of at most so many unknowns is the last one; it is solved by its dense inverse, which takes n^3 "
        "operations whenever the matrix is new: a second on a CPU for n = 2000. 0: 500, up to 1000 in large systems.",
        Patterns::Integer(0, AMGParameters::largest_inverse));
    prm.add_parameter(
        "Maximum levels", amg.max_levels,
        "Levels at most; the last of them is solved by its dense inverse whatever Coarse size is, up to " +
            std::to_string(AMGParameters::largest_inverse) + " unknowns.",
        Patterns::Integer(1, 100));
    prm.add_parameter("Strength threshold", aggregation.strength_threshold,
                      "Nodes i and j of the finest level may share an aggregate if |A_ij| > this sqrt(|A_ii| |A_jj|), "
                      "in Frobenius norms of blocks; with 0 all that share a cell may. Flat cells want about 0.4, so "
                      "that aggregates lie across them; cells of good shape have no couplings so strong, and with too "
                      "large a threshold there are no aggregates, which is an error.",
                      Patterns::Double(0., 1.));
    prm.declare_entry(
        "Strength", "auto", Patterns::Selection("auto|distances|couplings"),
        "Which nodes are strongly connected, on all levels: those near each other (distances), those whose "
        "blocks of the matrix have large traces (couplings), or couplings where coefficients jump, else "
        "distances (auto). Not with a Strength threshold or the smoother patch.");
    prm.add_parameter(
        "Coupling threshold", aggregation.coupling_threshold,
        "Nodes are strongly connected by couplings if theirs is at least this times the geometric mean of "
        "the largest ones of both.",
        Patterns::Double(0., 0.99));
    prm.add_parameter("Aggregate distance", aggregation.aggregate_distance,
                      "Aggregates grow around nodes that are more than so many edges apart, 1 on levels where nodes "
                      "make a line, or of solids a surface. With 1 and a Minimum aggregate size of 3 they have half as "
                      "many: of elasticity's iterations a third is saved, each of which moves half as much again.",
                      Patterns::Integer(1, 8));
    prm.add_parameter("Distance factor", aggregation.distance_factor,
                      "Nodes may share an aggregate if their distance is at most this times that of either to its "
                      "nearest neighbour (or to that of a neighbour, of nodes at the ends of lines), so that stretched "
                      "cells are coarsened along their short edges until they are round; 0: all that share a cell may. "
                      "Not of the finest level with a Strength threshold.",
                      Patterns::Double(0., 1000.));
    prm.add_parameter("Minimum aggregate size", aggregation.min_aggregate_size,
                      "Aggregates of fewer nodes are dissolved into their neighbours, if they have any along short "
                      "edges; 3 or 4 are enough on levels where nodes make a line, or of solids a surface, and in "
                      "lines of cells that are stretched little.",
                      Patterns::Integer(1, 1000));
    prm.add_parameter("Patch distance", aggregation.patch_distance,
                      "Patches grow around aggregates that are more than so many edges of the aggregates' graph apart.",
                      Patterns::Integer(1, 8));
    prm.add_parameter(
        "Patch bytes", aggregation.patch_bytes,
        "What the matrix of a patch takes at most, unless it is one aggregate. On a GPU two patches and their vectors "
        "should fit the fast memory of a multiprocessor; larger ones are read from memory in each inner sweep.",
        Patterns::Integer(1, 1048576));
    std::string rules;
    for (const AMGRuleRow &row : amg_rules())
      rules += (rules.empty() ? "" : "; ") + row.name + ": " + row.words;
    prm.declare_entry("Disabled rules", "", Patterns::Anything(),
                      "To see what rules of multigrid are worth, all or names with commas between them: " + rules +
                          ". The forecast of memory is that with all rules.");
    prm.add_parameter("Time phases", time_phases,
                      "Write the seconds of each phase of the set-up to report.json also where a GPU has to be waited "
                      "for after each of them, which takes time itself.");
    prm.add_parameter("Eigenvalue steps", amg.eigenvalue_steps,
                      "Products with the matrix of each level that bound its largest eigenvalue, which the smoothers "
                      "and the prolongator are scaled by.",
                      Patterns::Integer(1, kernels::LanczosScalars::max_steps));
    prm.leave_subsection();
    prm.leave_subsection();
  }

  void SolverParameters::parse_parameters(ParameterHandler &prm)
  {
    const auto get = [&](const std::string &entry, const std::string &section = "") {
      return prm.get(section.empty() ? std::vector<std::string>{"Solver"} : std::vector<std::string>{"Solver", section},
                     entry);
    };
    iteration.update   = get("Solution update") == "streams" ? SolutionUpdate::streams : SolutionUpdate::fused;
    project_null_space = get("Null space") == "project";
    require(polynomial.eigenvalue_ratio == 0. || polynomial.eigenvalue_ratio > 1.,
            "The entry Solver/Polynomial/Eigenvalue ratio must be 0 or more than 1, not ",
            quote(get("Eigenvalue ratio", "Polynomial")), ".");
    ssor.ordering =
        get("Ordering", "SSOR") == "natural" ? SSORData::Ordering::natural : SSORData::Ordering::multicolour;
    require(ssor.relaxation > 0. && ssor.relaxation < 2.,
            "The entry Solver/SSOR/Relaxation must be above 0 and below 2, not ", quote(get("Relaxation", "SSOR")),
            ".");
    if (get("Solution", "Incomplete Cholesky") == "exact")
      incomplete_cholesky.n_sweeps = 0;
    const std::string strength = get("Strength", "AMG");
    aggregation.strength       = strength == "couplings"   ? Aggregation::Strength::couplings
                                 : strength == "distances" ? Aggregation::Strength::distances
                                                           : Aggregation::Strength::automatic;
    for (const SmootherRow &row : smoothers())
      if (row.name == get("Smoother", "AMG"))
        amg.smoother = row.smoother;
    amg.disabled_rules      = amg_rules_of(get("Disabled rules", "AMG"));
    amg.patch_storage       = patch_storage(get("Patch storage", "AMG"));
    const std::string cycle = get("Cycle", "AMG");
    amg.cycle               = cycle == "w" ? AMGCycle::w : cycle == "v" ? AMGCycle::v : AMGCycle::automatic;
    require(amg.smoothing_range > 1., "The entry Solver/AMG/Smoothing range must be more than 1, not ",
            quote(get("Smoothing range", "AMG")), ".");
  }
} // namespace PatchFEM
