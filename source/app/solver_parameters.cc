// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/smoother_bodies.h"
#include <patchfem/app/parameters.h>
#include <patchfem/app/preconditioner_factory.h>
#include <patchfem/base/exceptions.h>
#include <patchfem/base/quote.h>

namespace PatchFEM
{
  using dealii::ParameterHandler;
  namespace Patterns = dealii::Patterns;

  const std::vector<SmootherRow> &smoothers()
  {
    static const std::vector<SmootherRow> table{
        {"chebyshev",
         "Chebyshev polynomials in D^-1 A, D the blocks of a node's unknowns",
         AMGSmoother::chebyshev,
         {"Smoothing range", "Stretched sweeps", "Stretched range"}},
        {"block_jacobi", "damped Jacobi with D", AMGSmoother::block_jacobi, {}},
        {"l1_jacobi", "Jacobi with D and the sums of the rest of each row", AMGSmoother::l1_jacobi, {}},
        {"patch",
         "block Jacobi on patches of some hundred nodes, inexact by a few sweeps of Jacobi inside of them, which needs "
         "another copy of the matrix",
         AMGSmoother::patch,
         {"Smoothing range", "Inner sweeps", "Patch storage"}}};
    return table;
  }

  void SolverParameters::declare_parameters(ParameterHandler &prm)
  {
    prm.enter_subsection("Solver");
    prm.declare_entry("Tolerance", "1e-8", Patterns::Double(1e-15, 1.),
                      "Stop when |b - A x| is at most this times |b|.");
    prm.declare_entry("Maximum iterations", "10000", Patterns::Integer(1),
                      "Give up with an error after so many steps.");
    std::string rows;
    for (const PreconditionerRow &row : preconditioners())
      rows += (rows.empty() ? "" : ", ") + row.name + (row.words.empty() ? "" : " (" + row.words + ")");
    const auto all = [](const PreconditionerRow &) { return true; };
    prm.declare_entry(
        "Preconditioner", "auto", Patterns::Selection("auto|" + names_of_preconditioners(all, "|", "|")),
        "Of the conjugate gradient method: " + rows +
            ". auto is amg, or ml with Backend = trilinos; block_jacobi where there are fewer than 100 unknowns, and "
            "least_squares with a Matrix/Format whose rows multigrid cannot read.");
    prm.declare_entry(
        "Residual interval", std::to_string(SolverParameters().residual_interval), Patterns::Integer(0),
        "Recompute the residual as b - A x every so many steps, so that rounding does not let it drift, as long as it "
        "is "
        "well above what rounding leaves; 0 only at the end. Often costs steps. Of PatchFEM's own back ends.");
    prm.declare_entry("Solution update", "fused", Patterns::Selection("fused|streams"),
                      "x = x + alpha p in the kernel that makes the next p, or on a stream of its own beside "
                      "the preconditioner. The results are equal. Of PatchFEM's own back ends.");
    prm.declare_entry(
        "Null space", "refuse", Patterns::Selection("refuse|project"),
        "Of a singular problem, such as one with natural boundary conditions alone or a body that nothing holds: "
        "refuse ends with an error that names the motion; project takes from the loads what has no solution, and of "
        "all solutions finds the one that is orthogonal to the motion in L2.");

    prm.declare_entry(
        "Check", "false", Patterns::Bool(),
        "Solve a second system with the same matrix A, whose solution x is known because its right-hand side "
        "is A x, and write iterations and the relative error of x to report.json. Of PatchFEM's own back "
        "ends.");
    prm.enter_subsection("Polynomial");
    const Polynomial polynomial;
    prm.declare_entry("Order", std::to_string(polynomial.order), Patterns::Integer(1, 12),
                      "Of neumann, least_squares and chebyshev: products with the matrix in each application.");
    prm.declare_entry("Lanczos steps", std::to_string(polynomial.lanczos_steps), Patterns::Integer(2, 64),
                      "Products with the matrix that find the ends of its spectrum.");
    prm.declare_entry(
        "Eigenvalue ratio", "0", Patterns::Double(0.),
        "Upper over lower end of the interval in which the polynomial approximates the inverse, above 1; with "
        "0 the lower end is the smallest eigenvalue that was found.");
    prm.leave_subsection();

    prm.enter_subsection("SSOR");
    prm.declare_entry(
        "Ordering", "multicolour", Patterns::Selection("multicolour|natural"),
        "multicolour relaxes unknowns that do not depend on each other at the same time, in the same colours "
        "on every back end; natural goes through them in their order, which is not for a GPU.");
    prm.declare_entry("Relaxation", "1", Patterns::Double(0., 2.), "Above 0 and below 2.");
    prm.leave_subsection();

    prm.enter_subsection("Incomplete Cholesky");
    const IncompleteCholesky incomplete_cholesky;
    prm.declare_entry(
        "Solution", "sweeps", Patterns::Selection("sweeps|exact"),
        "Of the triangular systems: a few sweeps of Jacobi, or exact, level by level, which is slow on a GPU.");
    prm.declare_entry("Sweeps", std::to_string(incomplete_cholesky.n_sweeps), Patterns::Integer(1, 100),
                      "Of each triangular system.");
    prm.declare_entry(
        "Shift", "0", Patterns::Double(0., 1000.),
        "Part of the diagonal that is added to it at first. Where the factorisation breaks down, more is, and "
        "report.json says how much.");
    prm.leave_subsection();

    // One sentence each; what an entry means for the method is with AMGParameters.
    prm.enter_subsection("AMG");
    const AMGParameters amg;
    std::string         names, words;
    for (const SmootherRow &row : smoothers())
    {
      names += (names.empty() ? "" : "|") + row.name;
      words += (words.empty() ? "" : "; ") + row.name + ": " + row.words;
    }
    prm.declare_entry("Smoother", "chebyshev", Patterns::Selection(names),
                      "On all levels but the coarsest. " + words + ".");
    prm.declare_entry("Sweeps", std::to_string(amg.smoother_sweeps), Patterns::Integer(1, 20),
                      "Sweeps of Jacobi and on patches or degree of the polynomial, before and again after each coarse "
                      "correction.");
    prm.declare_entry(
        "Coarse sweeps", std::to_string(amg.coarse_sweeps), Patterns::Integer(0, 20),
        "The same on the levels below the finest; 0 is one more than Sweeps with chebyshev, else as many.");
    prm.declare_entry("Inner sweeps", std::to_string(amg.inner_sweeps), Patterns::Integer(1, 20),
                      "Sweeps inside of the patches in each sweep of the smoother patch.");
    prm.declare_entry(
        "Patch storage", "automatic", Patterns::Selection("automatic|both|half|half_atomic"),
        "Of the symmetric matrices of patches: both halves; one half, applied in a fixed order; one half, "
        "applied by atomic additions, with which results of the back end cuda do not repeat bit by bit "
        "and which is slower; or automatic, which is half for vector fields and both for scalar "
        "problems.");
    prm.declare_entry(
        "Smoothing range", "7", Patterns::Double(1.),
        "Chebyshev polynomials and sweeps on patches smooth the eigenvalues between the largest and that over "
        "this, more than 1.");
    prm.declare_entry("Stretched sweeps", std::to_string(amg.stretched_sweeps), Patterns::Integer(1, 20),
                      "Degree of the polynomial of chebyshev, at least, on levels with stretched cells.");
    prm.declare_entry("Stretched range", "20", Patterns::Double(1.),
                      "Smoothing range of chebyshev, at least, on levels with stretched cells.");
    prm.declare_entry(
        "Cycle", "auto", Patterns::Selection("auto|v|w"),
        "How often the next level is visited per visit of a level, once (v) or twice (w); auto: w where a "
        "body is so slender, or its materials so different, that coarse problems are hard themselves.");
    prm.declare_entry("Coarse size", "0", Patterns::Integer(0, AMGParameters::largest_inverse),
                      "A level of at most so many unknowns is the last one; it is solved by its dense inverse, which "
                      "takes n^3 operations whenever the matrix is new: a second on a CPU for n = 2000. 0: 500, up "
                      "to 1000 in large systems.");
    prm.declare_entry(
        "Maximum levels", std::to_string(amg.max_levels), Patterns::Integer(1, 100),
        "Levels at most; the last of them is solved by its dense inverse whatever Coarse size is, up to " +
            std::to_string(AMGParameters::largest_inverse) + " unknowns.");
    prm.declare_entry(
        "Strength threshold", "0", Patterns::Double(0., 1.),
        "Nodes i and j of the finest level may share an aggregate if |A_ij| > this sqrt(|A_ii| |A_jj|), in "
        "Frobenius norms of blocks; with 0 all that share a cell may. Flat cells want about 0.4, so that aggregates "
        "lie across them; cells of good shape have no couplings so strong, and with too large a threshold there are no "
        "aggregates, which is an error.");
    const Aggregation::AdditionalData aggregation;
    prm.declare_entry(
        "Aggregate distance", std::to_string(aggregation.aggregate_distance), Patterns::Integer(1, 8),
        "Aggregates grow around nodes that are more than so many edges apart, 1 on levels where nodes make a line, or "
        "of "
        "solids a surface. With 1 and a Minimum aggregate size of "
        "3 they have half as many: of elasticity's iterations a third is saved, each of which moves half as much "
        "again.");
    prm.declare_entry(
        "Distance factor", "2", Patterns::Double(0., 1000.),
        "Nodes may share an aggregate if their distance is at most this times that of either to its nearest neighbour "
        "(or to that of a neighbour, of nodes at the ends of lines), "
        "so that stretched cells are coarsened along their short edges until they are round; 0: all that share a cell "
        "may. Not of the finest level with a Strength threshold.");
    prm.declare_entry(
        "Minimum aggregate size", std::to_string(aggregation.min_aggregate_size), Patterns::Integer(1, 1000),
        "Aggregates of fewer nodes are dissolved into their neighbours, if they have any along short "
        "edges; 3 or 4 are enough on levels where nodes make a line, or of solids a surface, and in lines "
        "of cells that are stretched little.");
    prm.declare_entry(
        "Patch distance", std::to_string(aggregation.patch_distance), Patterns::Integer(1, 8),
        "Patches grow around aggregates that are more than so many edges of the aggregates' graph apart.");
    prm.declare_entry(
        "Patch bytes", std::to_string(aggregation.patch_bytes), Patterns::Integer(1, 1048576),
        "What the matrix of a patch takes at most, unless it is one aggregate. On a GPU two patches and their vectors "
        "should fit the fast memory of a multiprocessor; larger ones are read from memory in each inner sweep.");
    prm.declare_entry(
        "Eigenvalue steps", std::to_string(amg.eigenvalue_steps),
        Patterns::Integer(1, kernels::LanczosScalars::max_steps),
        "Products with the matrix of each level that bound its largest eigenvalue, which the smoothers and the "
        "prolongator are scaled by.");
    prm.leave_subsection();
    prm.leave_subsection();
  }

  void SolverParameters::parse_parameters(ParameterHandler &prm)
  {
    prm.enter_subsection("Solver");
    tolerance          = prm.get_double("Tolerance");
    max_iterations     = prm.get_integer("Maximum iterations");
    preconditioner     = prm.get("Preconditioner");
    residual_interval  = prm.get_integer("Residual interval");
    update_on_a_stream = prm.get("Solution update") == "streams";
    project_null_space = prm.get("Null space") == "project";
    check              = prm.get_bool("Check");
    prm.enter_subsection("Polynomial");
    polynomial.order            = prm.get_integer("Order");
    polynomial.lanczos_steps    = prm.get_integer("Lanczos steps");
    polynomial.eigenvalue_ratio = prm.get_double("Eigenvalue ratio");
    require(polynomial.eigenvalue_ratio == 0. || polynomial.eigenvalue_ratio > 1.,
            "The entry Solver/Polynomial/Eigenvalue ratio must be 0 or more than 1, not " +
                quote(prm.get("Eigenvalue ratio")) + ".");
    prm.leave_subsection();

    prm.enter_subsection("SSOR");
    ssor.multicolour = prm.get("Ordering") == "multicolour";
    ssor.relaxation  = prm.get_double("Relaxation");
    require(ssor.relaxation > 0. && ssor.relaxation < 2.,
            "The entry Solver/SSOR/Relaxation must be above 0 and below 2, not " + quote(prm.get("Relaxation")) + ".");
    prm.leave_subsection();

    prm.enter_subsection("Incomplete Cholesky");
    incomplete_cholesky.n_sweeps = prm.get("Solution") == "exact" ? 0 : prm.get_integer("Sweeps");
    incomplete_cholesky.shift    = prm.get_double("Shift");
    prm.leave_subsection();

    prm.enter_subsection("AMG");
    for (const SmootherRow &row : smoothers())
      if (row.name == prm.get("Smoother"))
        amg.smoother = row.smoother;
    amg.smoother_sweeps     = prm.get_integer("Sweeps");
    amg.coarse_sweeps       = prm.get_integer("Coarse sweeps");
    amg.inner_sweeps        = prm.get_integer("Inner sweeps");
    amg.patch_storage       = patch_storage(prm.get("Patch storage"));
    amg.smoothing_range     = prm.get_double("Smoothing range");
    amg.stretched_sweeps    = prm.get_integer("Stretched sweeps");
    amg.stretched_range     = prm.get_double("Stretched range");
    const std::string cycle = prm.get("Cycle");
    amg.cycle               = cycle == "w" ? AMGCycle::w : cycle == "v" ? AMGCycle::v : AMGCycle::automatic;
    amg.coarse_size         = prm.get_integer("Coarse size");
    amg.max_levels          = prm.get_integer("Maximum levels");
    amg.eigenvalue_steps    = prm.get_integer("Eigenvalue steps");

    aggregation.strength_threshold = prm.get_double("Strength threshold");
    aggregation.aggregate_distance = prm.get_integer("Aggregate distance");
    aggregation.distance_factor    = prm.get_double("Distance factor");
    aggregation.min_aggregate_size = prm.get_integer("Minimum aggregate size");
    aggregation.patch_distance     = prm.get_integer("Patch distance");
    aggregation.patch_bytes        = prm.get_integer("Patch bytes");
    require(amg.smoothing_range > 1.,
            "The entry Solver/AMG/Smoothing range must be more than 1, not " + quote(prm.get("Smoothing range")) + ".");
    prm.leave_subsection();
    prm.leave_subsection();
  }
} // namespace PatchFEM
