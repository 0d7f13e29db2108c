// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/app/preconditioner_factory.h>
#include <patchfem/base/exceptions.h>
#include <patchfem/lac/mis_aggregation.h>
#include <patchfem/lac/precondition_amg.h>
#include <patchfem/lac/precondition_ic.h>
#include <patchfem/lac/precondition_jacobi.h>
#include <patchfem/lac/precondition_polynomial.h>
#include <patchfem/lac/precondition_ssor.h>

#include <type_traits>

namespace PatchFEM
{
  namespace
  {
    /** Where each node of the mesh is on every level: level by level, an aggregate is a node of the next. */
    std::vector<AMGReport::Groups> groups_of_nodes(const MISAggregation &aggregation)
    {
      std::vector<AMGReport::Groups> result;
      for (const Aggregation &level : aggregation.levels())
      {
        const std::vector<int> aggregate_of_node  = level.aggregate_of_node().to_vector();
        const std::vector<int> patch_of_aggregate = level.patch_of_aggregate().to_vector();
        AMGReport::Groups      groups;
        groups.aggregate = result.empty() ? aggregate_of_node : result.back().aggregate;
        if (!result.empty())
          for (int &aggregate : groups.aggregate)
            aggregate = aggregate < 0 ? -1 : aggregate_of_node[aggregate];
        for (const int aggregate : groups.aggregate)
          if (!patch_of_aggregate.empty())
            groups.patch.push_back(aggregate < 0 ? -1 : patch_of_aggregate[aggregate]);
        result.push_back(std::move(groups));
      }
      return result;
    }

    template <typename Number>
    std::unique_ptr<PreconditionBase<Number>> make_multigrid(const SolverParameters   &solver,
                                                             const bool                mixed,
                                                             const MatrixBase<Number> &matrix,
                                                             const NullSpace<Number>  &null_space,
                                                             const NearNullSpace      &near_null_space,
                                                             const bool                keep_aggregates,
                                                             PathReport               &report)
    {
      typename PreconditionAMG<Number>::AdditionalData data;
      static_cast<AMGParameters &>(data)     = solver.amg;
      data.single_precision                  = mixed;
      Aggregation::AdditionalData aggregates = solver.aggregation;
      aggregates.patches                     = keep_aggregates; // a smoother on patches asks for them itself
      MISAggregation aggregation(aggregates);
      report.amg.emplace();
      auto result = std::make_unique<PreconditionAMG<Number>>();
      try
      {
        result->initialize(matrix, near_null_space, aggregation, data, null_space);
      }
      catch (const NotPositiveDefinite &error)
      {
        if (!std::is_same_v<Number, float>)
          throw;
        throw NotPositiveDefinite(
            std::string(error.what()) +
            " The levels are in single precision, which may be too little: choose Precision = double.");
      }
      report.amg->condition           = result->condition();
      report.amg->fallback            = result->fallback();
      report.amg->levels              = result->statistics();
      report.amg->operator_complexity = result->operator_complexity();
      report.amg->grid_complexity     = result->grid_complexity();
      for (const Aggregation &level : aggregation.levels())
        report.amg->aggregation.push_back(level.statistics());
      if (keep_aggregates)
        report.amg->groups = groups_of_nodes(aggregation);
      return result;
    }

    /**
     * One whose AdditionalData @p set fills, with values in single precision if it is to be @p mixed; @p look sees it when
     * it is made.
     */
    template <template <typename, typename> class Precondition, typename Number, typename Set, typename Look>
    std::unique_ptr<PreconditionBase<Number>>
    make(const MatrixBase<Number> &matrix, const bool mixed, const Set &set, const Look &look)
    {
      const auto initialize = [&](auto result) -> std::unique_ptr<PreconditionBase<Number>> {
        typename std::decay_t<decltype(*result)>::AdditionalData data;
        set(data);
        result->initialize(matrix, data);
        look(*result);
        return result;
      };
      if constexpr (std::is_same_v<Number, double>)
        if (mixed)
          return initialize(std::make_unique<Precondition<double, float>>());
      return initialize(std::make_unique<Precondition<Number, Number>>());
    }
  } // namespace

  bool has_mixed_form(const std::string &preconditioner)
  {
    return preconditioner != "none";
  }

  SolverChoice choose_solver(const SolverParameters   &solver,
                             const AssemblyParameters &assembly,
                             const std::string        &precision,
                             const unsigned int        n_components,
                             const std::uint64_t       n_unknowns)
  {
    constexpr std::uint64_t worth_levels = 100;
    using Kind                           = MatrixFormat::Kind;
    SolverChoice result{solver, precision};
    std::string &name = result.parameters.preconditioner;
    if (name == "auto")
    {
      const Kind kind   = assembly.format == "auto" ? Kind::csr : assembly.matrix_format().kind;
      const bool copied = kind != Kind::coordinate && kind != Kind::hybrid;
      const bool rows   = copied && kind != Kind::symmetric;
      if (!rows || (n_components > 1 && (kind == Kind::sliced_scalar || kind == Kind::mdia)))
        name = precision != "mixed" || copied ? "least_squares" : "jacobi";
      else
        name = n_unknowns < worth_levels ? "block_jacobi" : "amg";
    }
    if (precision == "auto")
      result.precision = name == "amg" ? "mixed" : "double";
    return result;
  }

  Backend choose_backend(const std::string &name, const SolverParameters &solver, const std::string &precision)
  {
    const std::string &preconditioner = solver.preconditioner;
    require(preconditioner != "ml",
            "Solver/Preconditioner ml is Trilinos'; choose another, such as amg, or Backend = trilinos.");
    require(precision != "mixed" || has_mixed_form(preconditioner),
            "Precision = mixed keeps values of the preconditioner in single precision, which there are not of " +
                preconditioner + "; choose double or single.");
    const bool natural = preconditioner == "ssor" && !solver.ssor.multicolour;
    const auto refuse  = [&](const bool on_a_device) {
      require(
           !natural || !on_a_device,
           "Solver/SSOR/Ordering = natural goes from row to row, which is for the host; choose multicolour, or Backend "
            "= host.");
    };
    refuse(name == "cuda"); // also where there is no device
    const Backend place(name);
    refuse(place.kind() == BackendKind::cuda);
    return place;
  }

  template <typename Number>
  std::unique_ptr<PreconditionBase<Number>> make_preconditioner(const SolverParameters               &solver,
                                                                const bool                            mixed,
                                                                const MatrixBase<Number>             &matrix,
                                                                const NullSpace<Number>              &null_space,
                                                                const std::function<NearNullSpace()> &near_null_space,
                                                                const bool                            keep_aggregates,
                                                                PathReport                           &report)
  {
    const std::string &name = solver.preconditioner;
    if (name == "amg")
      return make_multigrid<Number>(solver, mixed, matrix, null_space, near_null_space(), keep_aggregates, report);
    const auto nothing = [](const auto &) {};
    if (name == "neumann" || name == "least_squares" || name == "chebyshev")
      return make<PreconditionPolynomial>(
          matrix, mixed,
          [&](auto &data) {
            data.kind             = name == "neumann"         ? PolynomialKind::neumann
                                    : name == "least_squares" ? PolynomialKind::least_squares
                                                              : PolynomialKind::chebyshev;
            data.order            = solver.polynomial.order;
            data.lanczos_steps    = solver.polynomial.lanczos_steps;
            data.eigenvalue_ratio = solver.polynomial.eigenvalue_ratio;
          },
          nothing);
    if (name == "ssor")
      return make<PreconditionSSOR>(
          matrix, mixed,
          [&](auto &data) {
            using Ordering  = decltype(data.ordering);
            data.ordering   = solver.ssor.multicolour ? Ordering::multicolour : Ordering::natural;
            data.relaxation = solver.ssor.relaxation;
          },
          nothing);
    if (name == "incomplete_cholesky")
      return make<PreconditionIC>(
          matrix, mixed,
          [&](auto &data) {
            data.n_sweeps = solver.incomplete_cholesky.n_sweeps;
            data.shift    = solver.incomplete_cholesky.shift;
          },
          [&](const auto &factors) { report.factorisation_shift = factors.shift(); });
    const auto defaults = [](auto &) {};
    if (name == "block_jacobi")
      return make<PreconditionBlockJacobi>(matrix, mixed, defaults, nothing);
    if (name == "jacobi")
      return make<PreconditionJacobi>(matrix, mixed, defaults, nothing);
    return std::make_unique<PreconditionIdentity<Number>>();
  }

#define PATCHFEM_INSTANTIATE(Number)                                                         \
  template std::unique_ptr<PreconditionBase<Number>> make_preconditioner(                    \
      const SolverParameters &, bool, const MatrixBase<Number> &, const NullSpace<Number> &, \
      const std::function<NearNullSpace()> &, bool, PathReport &)
  PATCHFEM_INSTANTIATE(double);
  PATCHFEM_INSTANTIATE(float);
#undef PATCHFEM_INSTANTIATE
} // namespace PatchFEM
