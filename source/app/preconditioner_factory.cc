// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/app/preconditioner_factory.h>
#include <patchfem/base/exceptions.h>
#include <patchfem/base/rank_group.h>
#include <patchfem/lac/graph/mis_aggregation.h>
#include <patchfem/lac/matrix/matrix_factory.h>
#include <patchfem/lac/multigrid/precondition_amg.h>
#include <patchfem/lac/precondition/precondition_jacobi.h>
#include <patchfem/mpi/mpi_rank_group.h>

#include <deal.II/base/timer.h>

#include <algorithm>
#include <functional>
#include <map>
#include <type_traits>

namespace PatchFEM
{
  namespace
  {
    /**
     * Where each node of the mesh is on every level: level by level, an aggregate is a node of the next. Of an embedding
     * the nodes that are vertices are nodes of the next level, and it has no groups.
     */
    std::vector<AMGReport::Groups> groups_of_nodes(const MISAggregation &aggregation, const LinearEmbedding *embedding)
    {
      std::vector<AMGReport::Groups> result;
      if (embedding != nullptr)
      {
        std::vector<int> &vertex_of_node = result.emplace_back().aggregate;
        int               n_vertices     = 0;
        vertex_of_node.assign(embedding->pattern.n_rows, -1);
        for (const int node : embedding->nodes.to_vector())
          vertex_of_node[node] = n_vertices++;
      }
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
      if (embedding != nullptr)
        result.front().aggregate.clear();
      return result;
    }

    template <typename Number>
    void say_inside_ranks(const PreconditionerInput<Number> &input, const char *what)
    {
      if (input.matrix.partitioner() != nullptr)
        input.report.inside_ranks = what;
    }

    /** Sums up the seconds of each phase of each level, from the end of the phase before, with all work on a back end done. */
    class PhaseTimes
    {
    public:
      explicit PhaseTimes(const Backend &backend) : backend(backend) {}

      void operator()(const unsigned int level, const std::string &phase)
      {
        backend.synchronize();
        if (level >= seconds.size())
          seconds.resize(level + 1);
        seconds[level][phase] += clock.wall_time();
        clock.restart();
      }

      std::vector<std::map<std::string, double>> seconds; ///< [level]

    private:
      const Backend backend;
      dealii::Timer clock;
    };

    template <typename Number>
    std::unique_ptr<PreconditionBase<Number>> make_multigrid(const PreconditionerInput<Number> &input)
    {
      typename PreconditionAMG<Number>::AdditionalData data;
      static_cast<AMGParameters &>(data)     = input.choice.parameters.amg;
      data.single_precision                  = input.choice.precision == "mixed";
      Aggregation::AdditionalData aggregates = input.choice.parameters.aggregation;
      aggregates.patches                     = input.keep_aggregates; // a smoother on patches asks for them itself
      MISAggregation      aggregation(aggregates);
      AMGReport          &report    = input.report.amg.emplace();
      auto                result    = std::make_unique<PreconditionAMG<Number>>();
      const NearNullSpace near_null = input.near_null_space();
      PhaseTimes          times(input.matrix.backend());
      if (input.matrix.backend().kind() != BackendKind::cuda || input.choice.parameters.time_phases)
        result->monitor(std::ref(times));
      try
      {
        result->initialize(input.matrix, near_null, aggregation, data, input.null_space);
      }
      catch (const NotPositiveDefinite &error)
      {
        if (!std::is_same_v<Number, float>)
          throw;
        throw NotPositiveDefinite(
            error.what(), " The levels are in single precision, which may be too little: choose Precision = double.");
      }
      say_inside_ranks(input, data.smoother == AMGSmoother::patch ? "aggregates and patches" : "aggregates");
      report.condition = result->condition();
      report.fallback  = result->fallback();
      report.levels    = result->statistics();
      result->monitor({});
      for (std::size_t l = 0; l < std::min(times.seconds.size(), report.levels.size()); ++l)
        report.levels[l].seconds = std::move(times.seconds[l]);
      report.operator_complexity = result->operator_complexity();
      report.grid_complexity     = result->grid_complexity();
      const bool embedded        = report.levels[0].embedded_degree > 0;
      if (embedded)
        report.aggregation.emplace_back();
      for (const Aggregation &level : aggregation.levels())
        if (input.matrix.partitioner() == nullptr) // a rank's own say little of all
          report.aggregation.push_back(level.statistics());
      if (input.keep_aggregates)
        report.groups = groups_of_nodes(aggregation, embedded ? near_null.embedding().get() : nullptr);
      return result;
    }

    /** One that @p initialize makes of the matrix, its values in single precision if that is asked for. */
    template <template <typename, typename> class Precondition, typename Number, typename Initialize>
    std::unique_ptr<PreconditionBase<Number>> make(const PreconditionerInput<Number> &input,
                                                   const Initialize                  &initialize)
    {
      const auto made = [&](auto result) -> std::unique_ptr<PreconditionBase<Number>> {
        initialize(*result);
        return result;
      };
      if constexpr (std::is_same_v<Number, double>)
        if (input.choice.precision == "mixed")
          return made(std::make_unique<Precondition<double, float>>());
      return made(std::make_unique<Precondition<Number, Number>>());
    }

    template <typename Number>
    std::unique_ptr<PreconditionBase<Number>> make_identity(const PreconditionerInput<Number> &)
    {
      return std::make_unique<PreconditionIdentity<Number>>();
    }

    template <template <typename, typename> class Precondition>
    constexpr auto plain = [](const auto &input) {
      return make<Precondition>(input, [&](auto &result) { result.initialize(input.matrix); });
    };

    template <PolynomialKind kind>
    constexpr auto polynomial = [](const auto &input) {
      PolynomialData data = input.choice.parameters.polynomial;
      data.kind           = kind;
      return make<PreconditionPolynomial>(input, [&](auto &result) { result.initialize(input.matrix, data); });
    };

    constexpr auto ssor = [](const auto &input) {
      say_inside_ranks(input, "sweeps");
      return make<PreconditionSSOR>(
          input, [&](auto &result) { result.initialize(input.matrix, input.choice.parameters.ssor); });
    };

    constexpr auto incomplete_cholesky = [](const auto &input) {
      say_inside_ranks(input, "factors");
      return make<PreconditionIC>(input, [&](auto &result) {
        result.initialize(input.matrix, input.choice.parameters.incomplete_cholesky);
        input.report.factorisation_shift = result.shift();
      });
    };

    template <template <typename, typename> class Precondition>
    double peak_of(const PreconditionerExtents &e)
    {
      return e.choice.precision == "single"  ? Precondition<float, float>::peak_bytes(e.pattern, e.format)
             : e.choice.precision == "mixed" ? Precondition<double, float>::peak_bytes(e.pattern, e.format)
                                             : Precondition<double, double>::peak_bytes(e.pattern, e.format);
    }

    /** Of several ranks factors are of a copy of the columns of own rows, made of compressed rows on the host. */
    template <template <typename, typename> class Precondition>
    double peak_of_factors(const PreconditionerExtents &e)
    {
      if (!e.several)
        return peak_of<Precondition>(e);
      PreconditionerExtents copied = e;
      copied.format                = {formats::csr}; // not used in place
      return std::max(peak_of<Precondition>(copied),
                      FormatCase{MatrixFormat(), e.pattern, sizeof(double)}.storage_bytes() +
                          24. * double(e.pattern.n_entries()));
    }

    /** At most half of the blocks of the nodes' unknowns. */
    double peak_of_diagonal(const PreconditionerExtents &e)
    {
      return double(e.pattern.scalar_rows()) * (e.pattern.block_rows + 1) / 2. *
             (e.choice.precision == "single" ? 4. : 8.);
    }

    double peak_of_multigrid(const PreconditionerExtents &e)
    {
      const auto peak_of_levels = [&](const auto number) {
        using AMG = PreconditionAMG<std::remove_const_t<decltype(number)>>;
        typename AMG::AdditionalData data;
        static_cast<AMGParameters &>(data) = e.choice.parameters.amg;
        data.single_precision              = e.choice.precision == "mixed";
        return AMG::peak_bytes(e.backend, e.pattern, e.format, e.n_modes,
                               e.choice.parameters.aggregation.aggregate_distance, data, e.fallback);
      };
      return e.choice.precision == "single" ? peak_of_levels(0.f) : peak_of_levels(0.);
    }
  } // namespace

  const std::vector<PreconditionerRow> &preconditioners()
  {
    using Row  = PreconditionerRow;
    using Kind = PolynomialKind;
    static const std::vector<Row> table{
        {"none", "", "", Row::reference, peak_of_diagonal, [](const auto &input) { return make_identity(input); }},
        {"jacobi", "", "", Row::values | Row::automatic | Row::reference, peak_of_diagonal, plain<PreconditionJacobi>},
        {"block_jacobi", "blocks of a node's unknowns", "", Row::values | Row::blocks | Row::automatic,
         peak_of_diagonal, plain<PreconditionBlockJacobi>},
        {"neumann", "a polynomial of the matrix", "Polynomial", Row::values | Row::copy,
         peak_of<PreconditionPolynomial>, polynomial<Kind::neumann>},
        {"least_squares", "a polynomial of the matrix", "Polynomial", Row::values | Row::copy | Row::automatic,
         peak_of<PreconditionPolynomial>, polynomial<Kind::least_squares>},
        {"chebyshev", "a polynomial of the matrix", "Polynomial", Row::values | Row::copy,
         peak_of<PreconditionPolynomial>, polynomial<Kind::chebyshev>},
        {"ssor", "", "SSOR", Row::values | Row::rows | Row::blocks | Row::copy, peak_of_factors<PreconditionSSOR>,
         ssor},
        {"incomplete_cholesky", "", "Incomplete Cholesky", Row::values | Row::rows | Row::copy,
         peak_of_factors<PreconditionIC>, incomplete_cholesky},
        {"amg", "multigrid by smoothed aggregation, whose number of iterations hardly depends on the mesh", "AMG",
         Row::values | Row::rows | Row::blocks | Row::copy | Row::automatic | Row::levels, peak_of_multigrid,
         [](const auto &input) { return make_multigrid(input); }},
        {"ml", "smoothed aggregation of Trilinos, of the back end trilinos alone", "", Row::reference, peak_of_diagonal,
         nullptr}};
    return table;
  }

  const PreconditionerRow &preconditioner_row(const std::string &name)
  {
    for (const PreconditionerRow &row : preconditioners())
      if (row.name == name)
        return row;
    throw Error("There is no Solver/Preconditioner ", name, ".");
  }

  std::string names_of_preconditioners(const std::function<bool(const PreconditionerRow &)> &chosen,
                                       const std::string                                    &separator,
                                       const std::string                                    &last_separator)
  {
    std::vector<std::string> names;
    for (const PreconditionerRow &row : preconditioners())
      if (chosen(row))
        names.push_back(row.name);
    std::string result;
    for (std::size_t i = 0; i < names.size(); ++i)
      result += (i == 0 ? "" : i + 1 == names.size() ? last_separator : separator) + names[i];
    return result;
  }

  SolverChoice choose_solver(const SolverParameters   &solver,
                             const AssemblyParameters &assembly,
                             const std::string        &precision,
                             const unsigned int        n_components,
                             const std::uint64_t       n_unknowns)
  {
    constexpr std::uint64_t worth_levels = 100;
    SolverChoice            result{solver, precision};
    std::string            &name = result.parameters.preconditioner;
    if (name == "auto")
    {
      const FormatRow &row = assembly.format == "auto" ? format_row(MatrixFormat()) : format_row(assembly.format);
      if (!row.is(FormatRow::rows) || (n_components > 1 && !row.is(FormatRow::blocks)))
        name = precision != "mixed" || row.is(FormatRow::copy) ? "least_squares" : "jacobi";
      else
        name = n_unknowns < worth_levels ? "block_jacobi" : "amg";
    }
    if (precision == "auto")
      result.precision = name == "amg" ? "mixed" : "double";
    return result;
  }

  std::function<Backend()> choose_backend(const std::string      &name,
                                          const SolverParameters &solver,
                                          const std::string      &precision,
                                          const MPI_Comm          communicator)
  {
    const std::string &chosen  = solver.preconditioner;
    bool               natural = false;
    if (chosen != "auto")
    {
      const PreconditionerRow &row = preconditioner_row(chosen);
      require(row.make.in_double != nullptr, "Solver/Preconditioner ", chosen,
              " is Trilinos'; choose another, such as amg, or Backend = trilinos.");
      require(precision != "mixed" || row.is(PreconditionerRow::values),
              "Precision = mixed keeps values of the preconditioner in single precision, which there are not of ",
              chosen, "; choose double or single.");
      natural = row.section == "SSOR" && solver.ssor.ordering == SSORData::Ordering::natural;
    }
    const auto refuse_natural = [] {
      throw Error("Solver/SSOR/Ordering = natural goes from row to row, which is for the host; choose multicolour, or "
                  "Backend = host.");
    };
    if (natural && name == "cuda") // also where there is no device
      refuse_natural();
    return [natural, refuse_natural, found = look_for_backend(name, communicator)] {
      const Backend backend = found();
      on_owner(backend, [&] {
        if (natural && backend.kind() == BackendKind::cuda)
          refuse_natural();
      });
      return backend;
    };
  }
} // namespace PatchFEM
