// SPDX-License-Identifier: LGPL-2.1-or-later
#include "app/launch.h"

#include <patchfem/app/application.h>
#include <patchfem/app/cell_degrees.h>
#include <patchfem/app/evaluate_results.h>
#include <patchfem/app/memory_forecast.h>
#include <patchfem/app/near_null_space.h>
#include <patchfem/app/output.h>
#include <patchfem/app/powers_of_two.h>
#include <patchfem/app/preconditioner_factory.h>
#include <patchfem/app/region_tables.h>
#include <patchfem/assembly/edge_constraints_dealii.h>
#include <patchfem/assembly/extraction_dealii.h>
#include <patchfem/base/exceptions.h>
#include <patchfem/base/quote.h>
#include <patchfem/lac/matrix/matrix_factory.h>

#include <deal.II/base/quadrature_lib.h>
#include <deal.II/distributed/fully_distributed_tria.h>
#include <deal.II/distributed/grid_refinement.h>
#include <deal.II/distributed/tria.h>
#include <deal.II/dofs/dof_tools.h>
#include <deal.II/fe/fe_q.h>
#include <deal.II/fe/fe_simplex_p.h>
#include <deal.II/fe/fe_system.h>
#include <deal.II/fe/mapping_fe.h>
#include <deal.II/fe/mapping_q.h>
#include <deal.II/grid/grid_refinement.h>
#include <deal.II/numerics/error_estimator.h>
#include <deal.II/numerics/vector_tools.h>

#include <iostream>
#include <utility>

namespace PatchFEM
{
  using namespace dealii;

  namespace
  {
    /** Of all components; empty if there is no exact solution. */
    std::vector<std::string> exact_formulas(const std::string &text, const unsigned int n_components)
    {
      if (text.empty())
        return {};
      const std::vector<std::string> formulas = split_components(text);
      require(formulas.size() == n_components, "The entry Exact solution/Formula has ", formulas.size(),
              " components where ", n_components, " are wanted.");
      return formulas;
    }

    template <int dim>
    Quadrature<dim> gauss(const unsigned int n_points, const bool simplices)
    {
      if (simplices)
        return QGaussSimplex<dim>(n_points);
      return QGauss<dim>(n_points);
    }

    /**
     * The cycle of an application: mesh, unknowns and constraints, linear system, errors, pictures, refinement.
     * A Physics says what is solved; a LinearSystemPath, and others beside it, how.
     */
    template <int dim>
    class Problem
    {
    public:
      using Variants = std::vector<std::pair<std::string, ProblemParameters>>;

      /** @param variants Are to live as long as this, and so are the others. */
      Problem(const ProblemParameters &parameters,
              const Variants          &variants,
              Physics<dim>            &physics,
              RunReport               &report,
              const MPI_Comm           communicator)
          : parameters(parameters), physics(physics), communicator(communicator),
            first_rank(Utilities::MPI::this_mpi_process(communicator) == 0), progress(first_rank),
            cell_degrees(parameters.finite_element, parameters.general.constants),
            essential(parameters.essential,
                      physics.n_components(),
                      exact_formulas(parameters.exact_solution, physics.n_components()),
                      parameters.general.constants),
            report(report), pictures(parameters.output.folder)
      {
        std::vector<Expression<dim>> expressions;
        for (const std::string &formula : exact_formulas(parameters.exact_solution, physics.n_components()))
          expressions.emplace_back(formula, parameters.general.constants, "Exact solution/Formula");
        if (!expressions.empty())
          exact_solution.emplace(expressions);
        discretisation.communicator = communicator;
        path                        = make_path(parameters);
        for (const auto &variant : variants)
          try
          {
            variant_paths.push_back({variant.first, make_path(variant.second)});
          }
          catch (const Error &error)
          {
            throw Error("The variant ", quote(variant.first), ": ", error.what());
          }
        if (parameters.general.baseline != "none")
          baseline = make_reference_path<dim>(parameters.general.baseline, parameters, progress, communicator);
      }

      void run()
      {
        for (unsigned int cycle = 0; cycle < parameters.refinement.n_cycles; ++cycle)
        {
          CycleReport   result;
          StageSeconds &seconds = result.path.seconds;
          seconds.mesh          = timed(communicator, progress, "mesh", [&] {
            if (cycle > 0 && parameters.refinement.adaptive)
              refine_adaptively();
            make_mesh(cycle);
          });
          if (cycle == 0)
          {
            describe_mesh();
            path.prepare();
          }
          seconds.dofs   = timed(communicator, progress, "unknowns and constraints", [&] { setup_dofs(cycle == 0); });
          result.n_dofs  = dof_handler.n_dofs();
          result.n_cells = triangulation->n_global_active_cells();
          // With local refinement the number of unknowns is the only measure of size.
          result.resolution      = std::pow(parameters.refinement.adaptive ? result.n_dofs : result.n_cells, 1. / dim);
          result.cells_by_degree = count_cells_by_degree(dof_handler, communicator);
          result.n_open_edges    = n_open_edges;
          add_cautions(result, cycle);
          progress.stage(std::to_string(result.n_cells) + " cells, " + std::to_string(result.n_dofs) + " unknowns");

          solve(result);
          result.path.seconds.output = timed(communicator, progress, "output", [&] {
            add_caution(result, physics.caution_after(discretisation, solution));
            write_output(cycle, result.path);
          });

          if (result.path.amg)
            result.path.amg->groups.clear(); // they are in the picture
          report.add_cycle(std::move(result));
        }
        report.print_summary();
      }

    private:
      const ProblemParameters               &parameters;
      Physics<dim>                          &physics;
      const MPI_Comm                         communicator;
      const bool                             first_rank;
      Progress                               progress;
      CellDegrees<dim>                       cell_degrees;
      EssentialConditions<dim>               essential;
      std::optional<ExpressionFunction<dim>> exact_solution;

      std::unique_ptr<Triangulation<dim>> triangulation;
      MeshSummary                         summary;
      hp::FECollection<dim>               elements; ///< one for each legal degree, ascending
      std::unique_ptr<Mapping<dim>>       mapping;
      DoFHandler<dim>                     dof_handler;
      AffineConstraints<double>           constraints, continuity; ///< the latter are those that hold nothing
      RequestedResults<dim>               requested;
      std::uint64_t                       n_open_edges = 0;
      Discretisation<dim>                 discretisation;
      std::string                         caution_of_motions; ///< see refuse_singular()
      SolutionVector                      solution;

      LinearSystemPath<dim> path, baseline; ///< the latter may be empty
      struct VariantPath
      {
        std::string           name;
        LinearSystemPath<dim> path;
        bool                  prepared = false;
      };
      std::vector<VariantPath> variant_paths;
      RunReport               &report;
      PictureSeries            pictures;

      static void add_caution(CycleReport &result, const std::string &caution)
      {
        if (!caution.empty())
          result.cautions.push_back(caution);
      }

      /** Those of the mesh. */
      void add_cautions(CycleReport &result, const unsigned int cycle) const
      {
        const std::vector<std::string> of_ranks =
            Utilities::MPI::all_gather(communicator, physics.caution(dof_handler)); // empty without such cells
        add_caution(result, *std::max_element(of_ranks.begin(), of_ranks.end()));
        add_caution(result, caution_of_motions);
        const std::string first  = summary.polygons.substr(0, summary.polygons.find(','));
        const std::string quotes = first.find(' ') != std::string::npos ? "\"" : "";
        if (!first.empty() && is_refined(cycle))
          add_caution(result,
                      "boundary " + summary.polygons +
                          " looks like a curve of straight sides, which refinement keeps, with growing stresses "
                          "where they form notches; name the curve in Mesh/Manifolds, such as '" +
                          quotes + first + quotes + (dim == 2 ? ": circle 0, 0'" : ": cylinder 0, 0, 0, 0, 0, 1'"));
      }

      LinearSystemPath<dim> make_path(const ProblemParameters &parameters)
      {
        const std::string &preconditioner = parameters.solver.preconditioner;
        if (parameters.general.backend == "trilinos")
        {
          const std::string chosen = preconditioner == "auto" ? "ml" : preconditioner;
          const auto        exists = [](const PreconditionerRow &row) { return row.is(PreconditionerRow::reference); };
          require(exists(preconditioner_row(chosen)), "Solver/Preconditioner ", preconditioner,
                  " does not exist with Backend = trilinos; choose ", names_of_preconditioners(exists, ", ", " or "),
                  ".");
          return make_reference_path<dim>("trilinos_" + chosen, parameters, progress, communicator);
        }
        return make_patch_path<dim>(parameters, report, progress, communicator);
      }

      /** Whether a refined mesh is another one to deal.II: simplices, and parts, which it does not refine. */
      bool is_made_anew() const
      {
        return summary.simplices ||
               dynamic_cast<const parallel::fullydistributed::Triangulation<dim> *>(triangulation.get()) != nullptr;
      }

      /** Whether cells are smaller than those of the file or of the generator's curved domain. */
      bool is_refined(const unsigned int cycle) const
      {
        return cycle > 0 || parameters.mesh.global_refinements > 0 ||
               (parameters.mesh.coarse_refinements > 0 && !parameters.mesh.file.empty());
      }

      void make_mesh(const unsigned int cycle)
      {
        if (cycle == 0)
        {
          const bool adaptive = parameters.refinement.adaptive && parameters.refinement.n_cycles > 1;
          const auto periodic = [&](Triangulation<dim> &coarse, const MeshSummary &of_coarse) {
            essential.resolve(of_coarse.boundaries);
            essential.add_periodicity(coarse);
          };
          summary = make_triangulation(triangulation, parameters.mesh, adaptive, communicator,
                                       essential.has_periodicity() ? BeforeRefinement<dim>(periodic) : nullptr);
          say_mesh(); // also where entries that follow name what is not in it
          check_support();
          if (!essential.has_periodicity())
            essential.resolve(summary.boundaries);
          physics.resolve(summary, essential.held_ids());
          cell_degrees.resolve(summary.materials);
          if (exact_solution)
          {
            // The domain's size by its bounding box: GridTools::diameter() looks at all pairs of boundary vertices.
            const auto corners = bounding_box(*triangulation).get_boundary_points();
            exact_solution->set_h(1e-5 * corners.first.distance(corners.second));
          }
          make_elements();
        }
        else if (parameters.refinement.adaptive)
        {
          double n_own = 0.;
          for (const auto &cell : triangulation->active_cell_iterators())
            if (cell->is_locally_owned())
              n_own += cell->refine_flag_set() ? 1 << dim : cell->coarsen_flag_set() ? 1. / (1 << dim) : 1.;
          const double n_cells = Utilities::MPI::sum(n_own, communicator);
          require_memory_of_mesh<dim>(n_cells, false, *MPICommunicator::of(communicator), n_own / n_cells);
          triangulation->execute_coarsening_and_refinement();
        }
        else if (is_made_anew())
        {
          dof_handler.clear();
          summary = make_triangulation(*triangulation, parameters.mesh, cycle);
        }
        else
        {
          const auto ranks = MPICommunicator::of(communicator);
          require_memory_of_mesh<dim>(static_cast<double>(1 << dim) * triangulation->n_global_active_cells(), false,
                                      *ranks, 1. / ranks->size());
          triangulation->refine_global(1);
        }
      }

      /** Prints the mesh in words, and what of a file was passed over. */
      void say_mesh() const
      {
        if (!first_rank)
          return;
        std::cout << "Mesh: " << summary.text() << '\n';
        for (const std::string &note : summary.notes)
          std::cout << note << '\n';
        std::cout << std::flush;
      }

      /** Reports boundaries and materials with what the entries say of them. */
      void describe_mesh()
      {
        const RegionTables tables  = make_region_tables(*triangulation, summary, essential, physics);
        nlohmann::json     members = tables.to_json();
        members["notes"]           = summary.notes;
        report.describe_mesh(members);
        if (first_rank)
          std::cout << tables.text() << std::flush;
      }

      void check_support() const
      {
        const FiniteElementParameters &p = parameters.finite_element;
        if (summary.simplices)
        {
          const auto refuse = [&](const bool asked, const std::string &what, const std::string &remedy) {
            require(!asked, what, " is not supported on ", summary.cell_kind, "; ", remedy);
          };
          refuse(p.is_hp(), "Finite element/Degrees (an hp space)",
                 "give one Degree, or use quadrilaterals or hexahedra.");
          refuse(p.degree > 2, "Finite element/Degree " + std::to_string(p.degree),
                 "use 1 or 2, or quadrilaterals and hexahedra for degrees to 4.");
          require(p.mapping_degree <= 1, "Finite element/Mapping degree must be 1 on ", summary.cell_kind,
                  "; their edges are straight.");
          refuse(parameters.refinement.adaptive, "Refinement/Strategy adaptive", "use global.");
          refuse(essential.has_periodicity(), "Boundary conditions/Periodic", "use quadrilaterals or hexahedra.");
          refuse(essential.has_no_normal_flux(), "Boundary conditions/No normal flux",
                 "hold the component with Dirichlet '... free; 0 ...'.");
        }
      }

      void make_elements()
      {
        const FiniteElementParameters &p = parameters.finite_element;
        if (summary.simplices)
        {
          mapping = std::make_unique<MappingFE<dim>>(FE_SimplexP<dim>(1));
          require(p.n_quadrature <= 4, "Finite element/Quadrature points must be at most 4 on ", summary.cell_kind,
                  ".");
        }
        else
        {
          require(p.mapping_degree <= 1 || is_curved(*triangulation),
                  "Finite element/Mapping degree = ", p.mapping_degree,
                  " would be without effect, since the mesh has no curved boundary; remove it, or name the curves in "
                  "Mesh/Manifolds.");
          const unsigned int automatic = parameters.mesh.manifolds.empty() ? 1 : p.legal_degrees().back();
          mapping = std::make_unique<MappingQ<dim>>(p.mapping_degree > 0 ? p.mapping_degree : std::min(automatic, 3u));
        }

        // On quadrilaterals and hexahedra of degree k, with B' the Legendre polynomial of degree k - 1 and B(+-1) = 0,
        // the gradient of B(x) B(y) vanishes in k - 1 Gauss points per direction, in every cell by itself. Of vector
        // fields of degree 1, ((1 + x) y, -(1 + x)) has no strain in a cell's centre and is 0 on one of its sides. On
        // simplices of degree k the rule of k points determines gradients, of degree k - 1.
        const unsigned int highest      = p.legal_degrees().back();
        const unsigned int least_points = std::max(highest, !summary.simplices && physics.n_components() > 1 ? 2u : 1u);
        require(p.n_quadrature == 0 || p.n_quadrature >= least_points,
                "Finite element/Quadrature points = ", p.n_quadrature, " makes a singular matrix with degree ", highest,
                " on ", summary.cell_kind, "; at least ", least_points, " are needed.");

        for (const unsigned int degree : p.legal_degrees())
        {
          const unsigned int n_points = p.n_quadrature > 0 ? p.n_quadrature : degree + 1;
          discretisation.quadrature.push_back(gauss<dim>(n_points, summary.simplices));
          discretisation.face_quadrature.push_back(gauss<dim - 1>(n_points, summary.simplices));
          std::unique_ptr<FiniteElement<dim>> scalar;
          if (summary.simplices)
            scalar = std::make_unique<FE_SimplexP<dim>>(degree);
          else
            scalar = std::make_unique<FE_Q<dim>>(degree);
          if (physics.n_components() == 1)
            elements.push_back(*scalar);
          else
            elements.push_back(FESystem<dim>(*scalar, physics.n_components()));
        }
        physics.check_elements(elements);
        discretisation.mapping     = mapping.get();
        discretisation.dof_handler = &dof_handler;
        discretisation.constraints = &constraints;
      }

      void setup_dofs(const bool first_cycle)
      {
        // Degrees that hp adaptivity chose come through refinement with the DoFHandler, which is kept where it can be.
        if (first_cycle || is_made_anew())
          dof_handler.reinit(*triangulation);
        if (parameters.finite_element.is_hp() && (first_cycle || !parameters.refinement.hp_adaptive))
          cell_degrees.assign(dof_handler);
        // A DoFHandler keeps the indices of each cell, beside those of its parts; of the lowest degree they are fewest.
        require_host_memory(static_cast<double>(triangulation->n_active_cells()) * elements[0].n_dofs_per_cell() *
                                sizeof(types::global_dof_index),
                            "The numbering of unknowns takes", *MPICommunicator::of(communicator));
        dof_handler.distribute_dofs(elements);
        check_degrees_of_periodic_cells(dof_handler);
        IndexSet relevant;
        DoFTools::extract_locally_relevant_dofs(dof_handler, relevant);

        constraints.clear();
        constraints.reinit(relevant);
        make_edge_constraints(dof_handler, constraints); // before these, which leave its lines as they are
        DoFTools::make_hanging_node_constraints(dof_handler, constraints);
        continuity.copy_from(constraints);
        essential.make_periodicity_constraints(dof_handler, continuity);
        check_for_cycles(continuity);
        continuity.close();
        essential.make_constraints(*mapping, dof_handler, constraints);
        check_for_cycles(constraints);
        constraints.close();
        n_open_edges = count_open_edges(dof_handler, constraints);
        require(!physics.has_unit_rhs() || constraints.n_constraints() == 0,
                "Loads/Right-hand side = ones is for problems without Dirichlet values, periodicity and hanging nodes; "
                "choose loads.");

        // Refinement adds unknowns to the parts of the boundary, never conditions: the first mesh decides.
        discretisation.free_modes.clear();
        discretisation.inertia.clear();
        if (first_cycle)
          requested = RequestedResults<dim>(parameters.results, parameters.general.constants, summary, *mapping,
                                            *triangulation);
        if (first_cycle || parameters.solver.project_null_space)
        {
          AffineConstraints<double> essential_lines(relevant);
          essential.make_constraints(*mapping, dof_handler, essential_lines);
          essential_lines.close();
          std::vector<FreeModes> free = find_free_modes(discretisation, physics, essential_lines, essential.ids());
          caution_of_motions = refuse_singular(free, physics.n_components(), parameters.solver.project_null_space);
          for (FreeModes &part : free)
          {
            progress.stage("without " + part.names + " of the " + part.part);
            for (std::vector<double> &mode : part.modes)
            {
              discretisation.free_modes.push_back(std::move(mode));
              discretisation.inertia.push_back({part.body, {}, {}, {}});
            }
          }
          find_inertia(discretisation);
        }
      }

      std::optional<Errors> compute_errors(const SolutionVector &vector) const
      {
        if (!exact_solution)
          return {};
        const hp::MappingCollection<dim> mappings(*mapping);
        hp::QCollection<dim>             quadrature;
        for (unsigned int i = 0; i < elements.size(); ++i)
        {
          // More than 4 points there are not on simplices.
          const unsigned int n = elements[i].degree + 2;
          quadrature.push_back(gauss<dim>(summary.simplices ? std::min(n, 4u) : n, summary.simplices));
        }
        const auto scaled_solution = [&](const int exponent) {
          std::vector<std::function<double(const Point<dim> &)>>         values;
          std::vector<std::function<Tensor<1, dim>(const Point<dim> &)>> gradients;
          for (unsigned int c = 0; c < exact_solution->n_components; ++c)
          {
            values.push_back([&, exponent, c](const Point<dim> &point) {
              return std::ldexp(exact_solution->value(point, c), exponent);
            });
            gradients.push_back([&, exponent, c](const Point<dim> &point) {
              Tensor<1, dim> result = exact_solution->gradient(point, c);
              multiply_by_power_of_two(result, exponent);
              return result;
            });
          }
          return FunctionFromFunctionObjects<dim>(values, gradients);
        };
        // Of 2^exponent times both.
        const auto norm = [&](const SolutionVector &u, const int exponent, const VectorTools::NormType type) {
          dealii::Vector<double> cellwise(triangulation->n_active_cells());
          VectorTools::integrate_difference(mappings, dof_handler, u, scaled_solution(exponent), cellwise, quadrature,
                                            type);
          return VectorTools::compute_global_error(*triangulation, cellwise, type);
        };
        Errors errors{norm(vector, 0, VectorTools::L2_norm), norm(vector, 0, VectorTools::H1_norm)};
        // The squares of all but what does not count beside the others are numbers.
        const auto is_safe = [](const double value) { return value > 1e-140 && value < 1e140; };
        if (is_safe(errors.L2) && is_safe(errors.H1))
          return errors;
        const int exponent = binary_exponent(std::max(vector.linfty_norm(), norm(vector, 0, VectorTools::Linfty_norm)));
        SolutionVector scaled(vector);
        multiply_by_power_of_two(scaled, -exponent);
        scaled.update_ghost_values();
        errors = Errors{norm(scaled, -exponent, VectorTools::L2_norm), norm(scaled, -exponent, VectorTools::H1_norm)};
        multiply_by_power_of_two(errors.L2, exponent);
        multiply_by_power_of_two(errors.H1, exponent);
        return errors;
      }

      /** By @p way, whose solution has @p name in sentences; @p shared is what all ways have. */
      PathReport
      solve_by(const LinearSystemPath<dim> &way, const std::string &name, const StageSeconds &shared, SolutionVector &x)
      {
        PathReport result   = way.solve(discretisation, physics, x);
        result.seconds.mesh = shared.mesh;
        result.seconds.dofs = shared.dofs;
        describe_imbalance(discretisation, result.null_space);
        remove_free_modes(discretisation, x);
        const bool finite = std::all_of(x.begin(), x.end(), [](const double v) { return std::isfinite(v); });
        require(Utilities::MPI::min(int(finite), communicator) == 1, name,
                " is not finite; choose other units for loads and coefficients.");
        result.errors = compute_errors(x);
        return result;
      }

      /** One that fails is a row that says why; of several ranks not all may know, and the run ends. */
      VariantReport solve_variant(VariantPath &variant, const StageSeconds &shared, const SolutionVector &reference)
      {
        VariantReport result{variant.name, {}, {}, ""};
        progress.stage("variant " + variant.name);
        try
        {
          if (!std::exchange(variant.prepared, true))
            variant.path.prepare();
          SolutionVector x;
          result.path = solve_by(variant.path, "The solution", shared, x);
          result.path.solved.reset();
          result.difference = Difference(x, reference);
        }
        catch (const Error &error)
        {
          result.error = error.what();
          if (Utilities::MPI::n_mpi_processes(communicator) > 1)
            throw Error("The variant ", quote(variant.name), ": ", error.what());
        }
        return result;
      }

      void solve(CycleReport &cycle)
      {
        const StageSeconds shared  = cycle.path.seconds;
        cycle.path                 = solve_by(path, "The solution", shared, solution);
        cycle.path.seconds.results = timed(communicator, progress, "results", [&] {
          cycle.results = evaluate_results<dim>({discretisation, physics, essential, continuity, summary, solution,
                                                 cycle.path.null_space, parameters.solver.tolerance},
                                                requested, std::move(cycle.path.solved));
        });
        SolutionVector other;
        if (baseline.solve)
        {
          cycle.baseline   = solve_by(baseline, "The baseline's solution", shared, other);
          cycle.difference = Difference(solution, other);
        }
        for (VariantPath &variant : variant_paths)
          cycle.variants.push_back(solve_variant(variant, shared, baseline.solve ? other : solution));
      }

      void write_output(const unsigned int cycle, const PathReport &path_report)
      {
        report.begin();
        if (!parameters.output.wants_picture(cycle + 1 == parameters.refinement.n_cycles))
          return;
        const double largest = solution.linfty_norm();
        if (first_rank)
          note_range_of_pictures(largest, std::cout);
        const std::string file = write_picture(parameters.output.folder, "solution-" + std::to_string(cycle),
                                               discretisation, physics, solution, path_report, summary.materials);
        if (first_rank)
          pictures.add(cycle, file);
      }

      void refine_adaptively()
      {
        progress.stage("error estimate");
        // The estimate squares jumps and has single precision; what is refined does not depend on units.
        multiply_by_power_of_two(solution, -binary_exponent(solution.linfty_norm()));
        solution.update_ghost_values();
        dealii::Vector<float>    estimate(triangulation->n_active_cells());
        hp::QCollection<dim - 1> quadrature;
        for (unsigned int i = 0; i < elements.size(); ++i)
          quadrature.push_back(QGauss<dim - 1>(elements[i].degree + 1));
        // Between different degrees the jump on a face has to be weighted by them.
        using Estimator = KellyErrorEstimator<dim>;
        Estimator::estimate(
            *mapping, dof_handler, quadrature, {}, solution, estimate, {}, nullptr, numbers::invalid_unsigned_int,
            triangulation->locally_owned_subdomain(), numbers::invalid_material_id,
            elements.size() > 1 ? Estimator::face_diameter_over_twice_max_degree : Estimator::cell_diameter_over_24);
        const RefinementParameters &p = parameters.refinement;
        if (auto *distributed = dynamic_cast<parallel::distributed::Triangulation<dim> *>(triangulation.get()))
          parallel::distributed::GridRefinement::refine_and_coarsen_fixed_number(*distributed, estimate,
                                                                                 p.refine_fraction, p.coarsen_fraction);
        else
          GridRefinement::refine_and_coarsen_fixed_number(*triangulation, estimate, p.refine_fraction,
                                                          p.coarsen_fraction);
        if (p.hp_adaptive)
          choose_between_h_and_p(*triangulation, dof_handler, solution, p.smoothness_threshold);
        else
          triangulation->prepare_coarsening_and_refinement();
      }
    };
  } // namespace

  void FiniteElementApplication::declare_parameters(ParameterHandler &prm)
  {
    variants.clear();
    // In the order in which a user asks: the domain, what acts on it, how fine, what comes out, and how it is solved.
    parameters.general.declare_parameters(prm);
    parameters.mesh.declare_parameters(prm);
    parameters.essential.declare_parameters(prm, vector_valued());
    declare_physics(prm);
    parameters.declare_parameters(prm);
  }

  double FiniteElementApplication::n_cells_on_ranks(const std::string &directory)
  {
    parameters.mesh.directory                = directory;
    const RefinementParameters &refinement   = parameters.refinement;
    const auto                  is_for_ranks = [](const ProblemParameters &p) {
      return p.general.backend == "trilinos" || p.assembly.format == "auto" ||
             format_row(p.assembly.format).is(FormatRow::assembled);
    };
    const bool one_process =
        parameters.general.baseline == "umfpack" || !parameters.general.export_system.empty() ||
        parameters.output.aggregates || !is_for_ranks(parameters) ||
        !std::all_of(variants.begin(), variants.end(), [&](const auto &item) { return is_for_ranks(item.second); });
    if (one_process)
      return 0.;
    return internal::estimate_n_cells(parameters.mesh, parameters.general.dimension,
                                      refinement.adaptive ? 0 : refinement.n_cycles - 1);
  }

  ParametersInUse FiniteElementApplication::parse_parameters(ParameterHandler &prm)
  {
    parameters.parse_parameters(prm, vector_valued());
    return {parameters.output, problem_conditions(parameters), parameters.general.export_system, parameters.mesh.file};
  }

  ParametersInUse FiniteElementApplication::add_variant(const std::string &name, ParameterHandler &prm)
  {
    const ParametersInUse result = parse_parameters(prm);
    // Files are those of the run itself.
    ProblemParameters variant = parameters;
    variant.general.export_system.clear();
    variant.output.pictures   = "none";
    variant.output.aggregates = false;
    variants.emplace_back(name, variant);
    return result;
  }

  void FiniteElementApplication::run(const std::string &directory, RunReport &report, const MPI_Comm communicator)
  {
    parameters.mesh.directory = directory;
    if (parameters.general.dimension == 2)
      Problem<2>(parameters, variants, *make_physics_2d(), report, communicator).run();
    else
      Problem<3>(parameters, variants, *make_physics_3d(), report, communicator).run();
  }
} // namespace PatchFEM
