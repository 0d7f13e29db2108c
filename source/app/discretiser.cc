// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/app/discretiser.h>
#include <patchfem/app/memory_forecast.h>
#include <patchfem/app/near_null_space.h>
#include <patchfem/app/powers_of_two.h>
#include <patchfem/app/region_tables.h>
#include <patchfem/app/report.h>
#include <patchfem/assembly/edge_constraints_dealii.h>
#include <patchfem/assembly/extraction_dealii.h>
#include <patchfem/base/exceptions.h>

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
  } // namespace

  template <int dim>
  Discretiser<dim>::Discretiser(const ProblemParameters &parameters,
                                Equation<dim>           &equation,
                                Progress                &progress,
                                const MPI_Comm           communicator)
      : parameters(parameters), equation(equation), progress(progress), communicator(communicator),
        first_rank(Utilities::MPI::this_mpi_process(communicator) == 0),
        cell_degrees(parameters.finite_element, parameters.general.constants),
        essential(parameters.essential,
                  equation.n_components(),
                  exact_formulas(parameters.exact_solution, equation.n_components()),
                  parameters.general.constants_of_loads)
  {
    std::vector<Expression<dim>> expressions;
    for (const std::string &formula : exact_formulas(parameters.exact_solution, equation.n_components()))
      expressions.emplace_back(formula, parameters.general.constants, "Exact solution/Formula");
    if (!expressions.empty())
      exact_solution.emplace(expressions);
    result.communicator = communicator;
  }

  template <int dim>
  bool Discretiser<dim>::is_made_anew() const
  {
    return summary.simplices ||
           dynamic_cast<const parallel::fullydistributed::Triangulation<dim> *>(triangulation.get()) != nullptr;
  }

  template <int dim>
  bool Discretiser<dim>::is_refined(const unsigned int cycle) const
  {
    return cycle > 0 || parameters.mesh.global_refinements > 0 ||
           (parameters.mesh.coarse_refinements > 0 && !parameters.mesh.file.empty());
  }

  template <int dim>
  void Discretiser<dim>::make_mesh(const unsigned int cycle)
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
      equation.resolve(summary, essential.held_ids());
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
      require_memory_of_mesh<dim>(static_cast<double>(1 << dim) * triangulation->n_global_active_cells(), false, *ranks,
                                  1. / ranks->size());
      triangulation->refine_global(1);
    }
  }

  template <int dim>
  void Discretiser<dim>::say_mesh() const
  {
    if (!first_rank)
      return;
    std::cout << "Mesh: " << summary.text() << '\n';
    for (const std::string &note : summary.notes)
      std::cout << note << '\n';
    std::cout << std::flush;
  }

  template <int dim>
  void Discretiser<dim>::describe_mesh(RunReport &report)
  {
    const RegionTables tables  = make_region_tables(*triangulation, summary, essential, equation);
    nlohmann::json     members = tables.to_json();
    members["notes"]           = summary.notes;
    report.describe_mesh(members);
    if (first_rank)
      std::cout << tables.text() << std::flush;
  }

  template <int dim>
  void Discretiser<dim>::check_support() const
  {
    const FiniteElementParameters &p = parameters.finite_element;
    if (summary.simplices)
    {
      const auto refuse = [&](const bool asked, const std::string &what, const std::string &remedy) {
        require(!asked, what, " is not supported on ", summary.cell_kind, "; ", remedy);
      };
      refuse(p.is_hp(), "Finite element/Degrees (an hp space)", "give one Degree, or use quadrilaterals or hexahedra.");
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

  template <int dim>
  void Discretiser<dim>::make_elements()
  {
    const FiniteElementParameters &p = parameters.finite_element;
    if (summary.simplices)
    {
      mapping = std::make_unique<MappingFE<dim>>(FE_SimplexP<dim>(1));
      require(p.n_quadrature <= 4, "Finite element/Quadrature points must be at most 4 on ", summary.cell_kind, ".");
    }
    else
    {
      require(p.mapping_degree <= 1 || is_curved(*triangulation), "Finite element/Mapping degree = ", p.mapping_degree,
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
    const unsigned int least_points = std::max(highest, !summary.simplices && equation.n_components() > 1 ? 2u : 1u);
    require(p.n_quadrature == 0 || p.n_quadrature >= least_points,
            "Finite element/Quadrature points = ", p.n_quadrature, " makes a singular matrix with degree ", highest,
            " on ", summary.cell_kind, "; at least ", least_points, " are needed.");

    for (const unsigned int degree : p.legal_degrees())
    {
      const unsigned int n_points = p.n_quadrature > 0 ? p.n_quadrature : degree + 1;
      result.quadrature.push_back(gauss<dim>(n_points, summary.simplices));
      result.face_quadrature.push_back(gauss<dim - 1>(n_points, summary.simplices));
      std::unique_ptr<FiniteElement<dim>> scalar;
      if (summary.simplices)
        scalar = std::make_unique<FE_SimplexP<dim>>(degree);
      else
        scalar = std::make_unique<FE_Q<dim>>(degree);
      if (equation.n_components() == 1)
        elements.push_back(*scalar);
      else
        elements.push_back(FESystem<dim>(*scalar, equation.n_components()));
    }
    equation.check_elements(elements);
    result.mapping     = mapping.get();
    result.dof_handler = &dof_handler;
    result.constraints = &constraints;
  }

  template <int dim>
  void Discretiser<dim>::setup_dofs(const bool first_cycle)
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
    make_constraints();
    n_open_edges = count_open_edges(dof_handler, constraints);
  }

  template <int dim>
  void Discretiser<dim>::make_constraints()
  {
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
  }

  template <int dim>
  void Discretiser<dim>::find_free_motions(const bool first_cycle)
  {
    result.free_modes.clear();
    result.inertia.clear();
    // Refinement adds unknowns to the parts of the boundary, never conditions: the first mesh decides.
    if (!first_cycle && !parameters.solver.project_null_space)
      return;
    AffineConstraints<double> essential_lines(constraints.get_local_lines());
    essential.make_constraints(*mapping, dof_handler, essential_lines);
    essential_lines.close();
    std::vector<FreeModes> free = find_free_modes(result, equation, essential_lines, essential.ids());
    caution_of_motions          = refuse_singular(free, equation.remedies(), parameters.solver.project_null_space);
    for (FreeModes &part : free)
    {
      progress.stage("without " + part.names + " of the " + part.part);
      for (std::vector<double> &mode : part.modes)
      {
        result.free_modes.push_back(std::move(mode));
        result.inertia.push_back({part.body, {}, {}, {}});
      }
    }
    find_inertia(result);
  }

  template <int dim>
  std::optional<Errors> Discretiser<dim>::compute_errors(const SolutionVector &vector) const
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

  template <int dim>
  void Discretiser<dim>::mark_cells(SolutionVector &solution)
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
      parallel::distributed::GridRefinement::refine_and_coarsen_fixed_number(*distributed, estimate, p.refine_fraction,
                                                                             p.coarsen_fraction);
    else
      GridRefinement::refine_and_coarsen_fixed_number(*triangulation, estimate, p.refine_fraction, p.coarsen_fraction);
    if (p.hp_adaptive)
      choose_between_h_and_p(*triangulation, dof_handler, solution, p.smoothness_threshold);
    else
      triangulation->prepare_coarsening_and_refinement();
  }

  template <int dim>
  void Discretiser<dim>::describe(CycleReport &report, const unsigned int cycle) const
  {
    report.n_dofs  = dof_handler.n_dofs();
    report.n_cells = triangulation->n_global_active_cells();
    // With local refinement the number of unknowns is the only measure of size.
    report.resolution      = std::pow(parameters.refinement.adaptive ? report.n_dofs : report.n_cells, 1. / dim);
    report.cells_by_degree = count_cells_by_degree(dof_handler, communicator);
    report.n_open_edges    = n_open_edges;
    const std::vector<std::string> of_ranks =
        Utilities::MPI::all_gather(communicator, equation.caution(dof_handler)); // empty without such cells
    report.add_caution(*std::max_element(of_ranks.begin(), of_ranks.end()));
    report.add_caution(caution_of_motions);
    const std::string first  = summary.polygons.substr(0, summary.polygons.find(','));
    const std::string quotes = first.find(' ') != std::string::npos ? "\"" : "";
    if (!first.empty() && is_refined(cycle))
      report.add_caution("boundary " + summary.polygons +
                         " looks like a curve of straight sides, which refinement keeps, with growing stresses "
                         "where they form notches; name the curve in Mesh/Manifolds, such as '" +
                         quotes + first + quotes + (dim == 2 ? ": circle 0, 0'" : ": cylinder 0, 0, 0, 0, 0, 1'"));
    progress.stage(std::to_string(report.n_cells) + " cells, " + std::to_string(report.n_dofs) + " unknowns");
  }

  template class Discretiser<2>;
  template class Discretiser<3>;
} // namespace PatchFEM
