// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/kernels/patch_relaxation.h>

#include <algorithm>
#include <bitset>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace PatchFEM
{
  /** Smoothers of a multigrid level: see PolynomialSmoother, PatchSmoother and FactorizedInverseSmoother. */
  enum class AMGSmoother
  {
    block_jacobi,
    l1_jacobi,
    chebyshev,
    patch,
    factorized_inverse
  };

  enum class AMGCycle
  {
    automatic, ///< v with second visits of some levels: see AMGParameters::thin_limit
    v,
    w
  };

  /** What the smoother patch stores, by its name: automatic, both, half or half_atomic. */
  PatchStorage patch_storage(const std::string &name);

  /** Rules of a hierarchy that can be disabled one by one, to see what each is worth: see amg_rules(). */
  enum class AMGRule
  {
    mesh_distances,
    chain_weights,
    small_aggregates,
    tensor_metric,
    couplings_at_discontinuities,
    factorised_inverse,
    rayleigh_bound,
    precision_by_condition,
    partial_w,
    adapted_smoothing,
    quantised_matrix,
    mode_preserving_dropping,
    second_lanczos,
    coarse_size_by_work,
    p_coarsening,
    decoupled_kernel,
    n_rules ///< no rule, but their number
  };

  /** A set of rules. */
  using AMGRules = std::bitset<static_cast<std::size_t>(AMGRule::n_rules)>;

  /** A rule as users see it. */
  struct AMGRuleRow
  {
    std::string name, words; ///< in parameter files, and what it does
  };

  /** [AMGRule] */
  const std::vector<AMGRuleRow> &amg_rules();

  /** The rules that @p names, separated by commas, or `all`; throws Error for other names. */
  AMGRules amg_rules_of(const std::string &names);

  /** What can be chosen about a hierarchy. */
  struct AMGParameters
  {
    AMGSmoother smoother = AMGSmoother::chebyshev;
    /// Sweeps of Jacobi, degree of the polynomial or steps on patches, before and again after each coarse correction.
    int smoother_sweeps = 2;
    /// The same on the levels below the finest. 0 is one more than there with chebyshev, a variable V-cycle, which
    /// takes elasticity on tetrahedra with 0.82 M unknowns from 18 steps to 17; else as many.
    int coarse_sweeps = 0;
    /// The interval of chebyshev, and of the weights of patch's steps, is [lambda_max / range, lambda_max]. Aggregates
    /// of 27 nodes leave little to the smoother: with degree 2 a range of 20 takes a third more steps than one of 6.
    /// Laplace takes 2 % fewer steps with 6 than with 7, elasticity 2 % more.
    double smoothing_range = 7.;
    /// What chebyshev has at least of both on levels with stretched cells (AggregateLists::stretched()), where
    /// aggregates are lines or planes and longer for their width than those of cubes. Laplace in cells of 10 : 1 and
    /// 100 : 1 takes 17 and 29 steps for 26 and 36. A degree of 4 takes 14 and 26, which costs as much.
    int    stretched_sweeps = 3;
    double stretched_range  = 20.;
    /// Sweeps inside of the patches in each step of the smoother patch (P3: more than 3 hardly help).
    int inner_sweeps = 3;
    /// What the smoother patch stores of the matrices of patches. On an H200 a relaxation of elasticity in fp32 takes
    /// 418 us for a million nodes with both halves, 307 with half and 901 with half_atomic; in fp64 1004, 635 and 2801.
    /// For scalars both and half are even if three patches share a multiprocessor, and half is 15 % slower if only two
    /// do.
    PatchStorage patch_storage = PatchStorage::automatic;
    AMGCycle     cycle         = AMGCycle::automatic;
    /// Where AMGHierarchy::condition() is above this times n^(2/3), n the nodes of the finest level, coarse levels are
    /// visited twice as long as that takes no more than such a share of a V-cycle, the finer ones first. Of bodies of one
    /// shape that ratio hardly depends on the mesh: it is 1.5e3 for beams of 10 : 1 and 5e4 for 25 : 1, which V-cycles
    /// solve as well, and 4e5 to 2e7 for plates of 0.01 to 0.0001. Plates of 1 x 1 x 0.002 with 335 k unknowns take 43
    /// steps for 49. Stiff balls gain a step for a fifth.
    double thin_limit         = 1e5;
    double second_visit_share = 0.13;
    /// A level of so many rows at most is solved by its dense inverse, which takes n^3 operations in each set-up and
    /// n^2 values in each cycle. 0: up to 1000 if that takes at most 60 operations for each entry of the finest matrix,
    /// and 500 in any case. Slender bodies are coarsened slowly and not well: cells of 50 : 1 with 205,275 unknowns
    /// take 43 steps with 1000 and 92 with 500. At most largest_inverse, with which two busy cores of a server take a
    /// few seconds.
    int                  coarse_size     = 0;
    static constexpr int largest_inverse = 3000;
    /// Where the finest matrix has at least so many entries, steps of chebyshev there in fp32 are followed by products with
    /// its ByteMatrix but for the last one: 64 MB in fp32, which caches do not hold. That takes a quarter of that memory
    /// and as many iterations. Not of matrices that are in fp32 themselves.
    std::int64_t least_in_bytes = std::int64_t(1) << 24;
    /// Whether there are so many, on all ranks together, which initialize() finds.
    bool in_bytes = false;
    /// Levels at most, the finest and the coarsest included; the last one is solved by its dense inverse.
    int max_levels = 20;
    /// Steps of Lanczos' iteration for lambda_max on each level, each of which costs one product.
    int eigenvalue_steps = 10;
    /// Rules that this hierarchy does without; none by default.
    AMGRules disabled_rules;

    bool has(const AMGRule rule) const { return !disabled_rules[static_cast<std::size_t>(rule)]; }

    /** Of Chebyshev, whatever it is a polynomial in. */
    bool is_polynomial() const
    {
      return smoother == AMGSmoother::chebyshev || smoother == AMGSmoother::factorized_inverse;
    }

    /** Rows of a level that is inverted, for a finest matrix of @p n_nonzeros entries. */
    int coarse_size_for(const std::int64_t n_nonzeros) const
    {
      const int n = static_cast<int>(std::cbrt(60. * static_cast<double>(n_nonzeros)));
      return coarse_size > 0 ? coarse_size : has(AMGRule::coarse_size_by_work) ? std::clamp(n, 500, 1000) : 500;
    }

    /**
     * Sweeps on the finest level, or on those below it, with what 0 stands for there. Where the next level has degree 1,
     * they are at least as many as the @p degree p of the space and the range of chebyshev is 2 p^2, since the functions
     * between are the more and the stiffer the higher it is: a cantilever of degree 2, 3, 4 takes 13, 14, 15 steps, and
     * with 2 sweeps and a range of 7 13, 20, 30, which are as many products.
     */
    int sweeps_on(const bool below_finest, const bool stretched = false, const int degree = 1) const
    {
      if (!has(AMGRule::adapted_smoothing))
        return below_finest && coarse_sweeps > 0 ? coarse_sweeps : smoother_sweeps;
      const int one_more = smoother == AMGSmoother::chebyshev ? 1 : 0;
      const int sweeps   = !below_finest       ? smoother_sweeps
                           : coarse_sweeps > 0 ? coarse_sweeps
                                               : smoother_sweeps + one_more;
      return std::max({sweeps, degree > 1 ? degree : 0, is_polynomial() && stretched ? stretched_sweeps : 0});
    }

    /** The range of smoothing. */
    double range_on(const bool stretched, const int degree = 1) const
    {
      if (!is_polynomial() || !has(AMGRule::adapted_smoothing))
        return smoothing_range;
      return std::max({smoothing_range, degree > 1 ? 2. * degree * degree : 0., stretched ? stretched_range : 0.});
    }
  };

  /** How the nodes of a level were put together, of all ranks but for couplings between them, for reports. */
  struct AggregationFacts
  {
    /// The measure of strong couplings: `pattern`, where all are, `entries` of the matrix, `distances` of nodes, in the
    /// metric of tensors `tensors`, and `couplings`.
    std::string  strength;
    std::int64_t n_couplings = 0, n_weak = 0;  ///< between nodes, and those along which no aggregate grows
    int          distance = 0, least_size = 0; ///< roots are more edges apart, aggregates have so many nodes
  };

  /** Of one level, for reports. */
  struct AMGLevelStatistics
  {
    int          n_rows          = 0; ///< scalar
    int          block_size      = 1;
    std::int64_t n_nonzeros      = 0; ///< scalar entries of the matrix
    int          n_aggregates    = 0; ///< nodes of the next level; 0 on the coarsest one
    int          embedded_degree = 0; ///< of the space, where the next level has its functions of degree 1; else 0
    int          n_dropped_modes = 0;
    double       lambda_max      = 0.;    ///< bound for D^-1 A; 0 where the matrix is inverted
    double       relative_cost   = 1.;    ///< of a step of the smoother, see LevelSmoother
    bool         single          = false; ///< values that the cycle reads are in fp32
    std::size_t  memory          = 0;     ///< bytes of the level, without the finest matrix if that is the user's

    AggregationFacts aggregation;  ///< of the next level
    int              n_modes  = 0; ///< columns of an aggregate, which are the unknowns of a node of the next level
    int              n_visits = 1; ///< in a cycle
    std::string      smoother;     ///< or `dense inverse`
    int              sweeps = 0;   ///< of Jacobi or on patches, or the degree of the polynomial
    double           range  = 0.; ///< lambda_max over the least eigenvalue that is smoothed; 0 if the smoother has none

    std::map<std::string, double> seconds; ///< of the phases of set-up, see AMGHierarchy::monitor(); empty unless timed
  };
} // namespace PatchFEM
