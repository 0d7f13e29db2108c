// SPDX-License-Identifier: LGPL-2.1-or-later
#include "assembly/extraction_steps_dealii.h"

#include <patchfem/app/evaluate_results.h>
#include <patchfem/app/field_evaluation.h>
#include <patchfem/app/near_null_space.h>
#include <patchfem/app/solution_values.h>

#include <deal.II/base/quadrature_lib.h>
#include <deal.II/fe/fe_simplex_p.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace PatchFEM
{
  using dealii::Point;
  using dealii::types::boundary_id;

  template <int dim>
  RequestedResults<dim>::RequestedResults(const ResultParameters           &parameters,
                                          const Constants                  &constants,
                                          const MeshSummary                &mesh,
                                          const dealii::Mapping<dim>       &mapping,
                                          const dealii::Triangulation<dim> &triangulation)
      : points(parse_points<dim>(parameters.points, constants))
  {
    for (const std::string &name : parse_names(parameters.boundaries))
      boundaries.emplace_back(name, mesh.boundaries.find(name, "Results/Boundaries", "boundary"));
    for (const std::string &name : parse_names(parameters.materials))
      materials.emplace_back(name, mesh.materials.find(name, "Results/Materials", "material"));
    if (!points.empty())
      require_inside(mapping, triangulation, points);
  }

  template <int dim>
  dealii::Quadrature<dim> picture_points(const dealii::ReferenceCell &cell, const unsigned int n_subdivisions)
  {
    const std::vector<Point<dim>> points =
        cell.is_simplex() ? dealii::FE_SimplexP<dim>(n_subdivisions).get_unit_support_points()
                          : dealii::QIterated<dim>(dealii::QTrapezoid<1>(), n_subdivisions).get_points();
    return dealii::Quadrature<dim>(points, std::vector<double>(points.size(), cell.volume() / points.size()));
  }

  namespace
  {
    template <int dim>
    std::shared_ptr<SolvedSpace> solved_on_host(const SolvedProblem<dim> &problem)
    {
      const Discretisation<dim> &d = problem.discretisation;
      ExtractionData<dim>        extraction;
      extraction.quadrature      = d.quadrature;
      extraction.face_quadrature = d.face_quadrature;
      extraction.boundary_ids    = problem.physics.natural_conditions().ids();
      ElementTables tables       = extract_element_tables(*d.mapping, *d.dof_handler, *d.constraints, extraction);
      auto          result       = std::make_shared<SolvedSpace>();
      result->fields             = problem.physics.evaluate_fields(tables);
      result->space              = Space(Backend(BackendKind::host), std::move(tables));
      return result;
    }

    template <int dim>
    class Evaluation
    {
    public:
      Evaluation(const SolvedProblem<dim> &problem, SolvedSpace &solved)
          : problem(problem), solved(solved), tables(solved.space.tables()), physics(problem.physics),
            names(physics.value_names()), n_comp(physics.n_components()), equation(make_equation(physics)),
            values(*problem.discretisation.mapping,
                   *problem.discretisation.dof_handler,
                   problem.discretisation.quadrature,
                   equation,
                   problem.solution)
      {
        equation.face_terms = solved.fields.face_terms;
      }

      void add_extremes()
      {
        const std::vector<ReferenceElement> points = reference_points();
        const FieldExtremes found = equation.law.extremes(solved.space, solved.u, coefficients_at(points), points);
        const auto          add   = [&](const int k, const std::string &name, const FieldExtreme &extreme) {
          results.push_back({{"extremes", names[k]},
                             name,
                             extreme.value,
                             std::vector<double>(extreme.place.begin(), extreme.place.begin() + dim)});
        };
        for (int k = 0; k < equation.law.n_fields; ++k)
        {
          add(k, "minimum", found.least[k]);
          add(k, "maximum", found.most[k]);
        }
      }

      /** Loads, reactions and the energy. */
      void add_balance()
      {
        const std::vector<double> integrals =
            equation.law.integrate(solved.space, solved.u, solved.fields.coefficients, all_materials);
        Resultant body(n_comp, dim), absorbed(n_comp, dim), loads(n_comp, dim), holding(n_comp, dim);
        for (int k = equation.law.n_fields; k < equation.law.n_values; ++k)
          if (names[k] == "energy")
            add({}, names[k], integrals[k]);
          else if (names[k] == "absorbed")
          {
            absorbed.force[0]      = -integrals[k];
            absorbed.magnitudes[0] = std::abs(integrals[k]);
          }
        if (physics.has_unit_rhs())
          return;
        if (equation.body_load)
          body = body_resultant();
        auto by_faces =
            face_resultants<dim>(tables, physics.natural_conditions().ids(), equation.face_terms, problem.solution);
        Resultant      inertia(n_comp, dim);
        SolutionVector inertia_density;
        if (problem.null_space && !problem.null_space->out_of_balance.empty())
        {
          const auto subtract = [](const std::vector<double> &values, std::vector<double> &from) {
            std::transform(from.begin(), from.end(), values.begin(), from.begin(), std::minus<>());
          };
          for (const auto &part : problem.null_space->out_of_balance)
          {
            subtract(part.force, inertia.force);
            subtract(part.moment, inertia.moment);
          }
          inertia_density = find_inertia_density(problem.discretisation, *problem.null_space);
        }
        auto held = reactions(*problem.discretisation.dof_handler, tables, problem.continuity, problem.essential.held(),
                              equation, problem.solution, inertia_density);
        loads += body;
        holding += absorbed;
        for (auto &[id, faces] : by_faces)
        {
          if (n_comp == 1 && faces.spring.magnitudes[0] > 0.) // the flow through a film, g - alpha u
          {
            faces.spring += faces.load;
            faces.load = Resultant(n_comp, dim);
          }
          loads += faces.load;
          holding += faces.spring;
        }
        for (auto &item : held)
          holding += item.second;
        Resultant all_loads = loads;
        all_loads += inertia;
        const std::pair<double, double> imbalance = share_imbalance(all_loads, holding, held);

        add_by_boundary(by_faces, held);
        if (equation.body_load)
          add({"body_loads"}, body);
        if (absorbed.is_there())
          add({"absorbed"}, absorbed);
        add({"total_loads"}, loads);
        add({"total_reactions"}, holding);
        if (inertia.is_there())
          add({n_comp == 1 ? "sink" : "inertia"}, inertia);
        add({"imbalance"}, n_comp == 1 ? "flow" : "force", imbalance.first);
        if (n_comp > 1 && !problem.essential.has_periodicity())
          add({"imbalance"}, "moment", imbalance.second);
      }

      void add_requested(const RequestedResults<dim> &requested)
      {
        const int  n_fields = equation.law.n_fields;
        const auto at       = values.at(requested.points);
        for (std::size_t p = 0; p < at.size(); ++p)
          for (int k = 0; k < n_fields; ++k)
            add({"points", requested.points[p].name}, names[k], at[p][k]);
        for (const auto &[name, ids] : requested.boundaries)
        {
          auto there =
              values.on_boundary(std::set<boundary_id>(ids.begin(), ids.end()), problem.discretisation.face_quadrature);
          add({"boundaries", name}, dim == 2 ? "length" : "area", there.area);
          for (int k = 0; k < n_fields; ++k)
            add({"boundaries", name}, "mean_" + names[k], there.integrals[k] / there.area);
          add({"boundaries", name}, there.traction);
        }
        for (const auto &[name, ids] : requested.materials)
        {
          std::vector<double> sums(equation.law.n_values, 0.);
          double              volume = 0.;
          for (const unsigned int id : ids)
          {
            const int  material = static_cast<int>(id);
            const auto of_id    = equation.law.integrate(solved.space, solved.u, solved.fields.coefficients, material);
            for (std::size_t k = 0; k < sums.size(); ++k)
              sums[k] += of_id[k];
            volume += load_moments(CoefficientField::constant(std::vector<double>(n_comp, 1.)), material)[0];
          }
          add({"materials", name}, dim == 2 ? "area" : "volume", volume);
          for (std::size_t k = 0; k < sums.size(); ++k)
            if (names[k] == "energy" || names[k] == "absorbed")
              add({"materials", name}, names[k], sums[k]);
            else
              add({"materials", name}, "mean_" + names[k], sums[k] / volume);
        }
      }

      Results results;

    private:
      const SolvedProblem<dim>      &problem;
      SolvedSpace                   &solved;
      const ElementTables           &tables;
      const Physics<dim>            &physics;
      const std::vector<std::string> names;
      const int                      n_comp;
      PointwiseEquation<dim>         equation;
      const SolutionValues<dim>      values;

      void add(const std::vector<std::string> &of, const std::string &name, const double value)
      {
        results.push_back({of, name, value, {}});
      }
      void add(const std::vector<std::string> &of, Resultant &resultant)
      {
        for (const auto &[name, value] : resultant.numbers())
          add(of, name, *value);
      }

      void add_by_boundary(std::map<boundary_id, FaceResultants> &by_faces, std::map<boundary_id, Reaction> &held)
      {
        for (auto &[id, faces] : by_faces)
          if (faces.load.is_there())
            add({"loads", problem.mesh.boundaries.text(id)}, faces.load);
        std::map<boundary_id, Resultant> by_boundary;
        for (auto &[id, reaction] : held)
          by_boundary[id] = reaction;
        for (auto &[id, faces] : by_faces)
          if (faces.spring.magnitudes[0] > 0.)
            by_boundary.emplace(id, Resultant(n_comp, dim)).first->second += faces.spring;
        for (auto &[id, reaction] : by_boundary)
          add({"reactions", problem.mesh.boundaries.text(id)}, reaction);
      }

      /** The elements of the batches at the points of pictures. */
      std::vector<ReferenceElement> reference_points() const
      {
        const auto                   &elements = problem.discretisation.dof_handler->get_fe_collection();
        const unsigned int            degree   = internal::CellGeometry<dim>(*problem.discretisation.mapping).degree;
        std::vector<ReferenceElement> result;
        for (const CellTable &batch : tables.batches)
          for (unsigned int i = 0; i < elements.size(); ++i)
            if (elements[i].degree == static_cast<unsigned int>(batch.reference.degree))
            {
              result.push_back(internal::make_reference_element(
                  elements[i], degree, picture_points<dim>(elements[i].reference_cell(), elements.max_degree()),
                  problem.discretisation.face_quadrature[i]));
              break;
            }
        return result;
      }

      /** The law's parameters there, of formulas from a little inside of cells. */
      CoefficientField coefficients_at(const std::vector<ReferenceElement> &points) const
      {
        if (physics.has_constant_coefficients())
          return solved.fields.coefficients;
        ElementTables inside = tables;
        for (std::size_t b = 0; b < points.size(); ++b)
        {
          ReferenceElement &reference = inside.batches[b].reference;
          reference                   = points[b];
          for (int g = 0; g < reference.n_geometry; ++g)
          {
            double mean = 0.;
            for (int q = 0; q < reference.n_quadrature; ++q)
              mean += reference.geometry_values[q * reference.n_geometry + g] / reference.n_quadrature;
            for (int q = 0; q < reference.n_quadrature; ++q)
            {
              double &value = reference.geometry_values[q * reference.n_geometry + g];
              value += inside_of_cell * (mean - value);
            }
          }
        }
        CoefficientField result; // of ranks that throw alike: formulas may have no value at new points
        MPICommunicator::of(problem.discretisation.communicator)->agree_on_errors([&] {
          result = make_field<dim>(inside, equation.law.n_parameters, false, equation.coefficients);
        });
        return result;
      }

      std::vector<double> load_moments(const CoefficientField &load, const int material) const
      {
        if (n_comp == 1)
          return integrate_fields<LoadMoments<dim, 1>>(solved.space, solved.u, load, material);
        return integrate_fields<LoadMoments<dim, dim>>(solved.space, solved.u, load, material);
      }

      Resultant body_resultant() const
      {
        const std::vector<double> sums = load_moments(solved.fields.body_load, all_materials);
        Resultant                 result(n_comp, dim);
        std::copy_n(sums.begin(), n_comp, result.force.begin());
        const auto first = [&](const int c, const int d) { return sums[n_comp + c * dim + d]; };
        if (n_comp > 1)
          for (std::size_t k = 0; k < result.moment.size(); ++k)
          {
            const int d = dim == 2 ? 0 : (k + 1) % 3, e = dim == 2 ? 1 : (k + 2) % 3;
            result.moment[k] = first(e, d) - first(d, e);
          }
        std::copy_n(sums.end() - 2, 2, result.magnitudes.begin());
        return result;
      }

      /**
       * How far @p loads and @p holding are from balance in forces and in moments, relative to the sum of all magnitudes.
       * The reactions absorb as much as the solver's tolerance explains, in proportion to the unknowns that hold a
       * component. Moments are left alone where periodic pairs carry some.
       */
      std::pair<double, double>
      share_imbalance(const Resultant &loads, Resultant &holding, std::map<boundary_id, Reaction> &held) const
      {
        const auto share = [&](std::vector<double> Resultant::*part, const int i, const std::vector<int> &components) {
          const int    kind  = part == &Resultant::force ? 0 : 1;
          const double scale = loads.magnitudes[kind] + holding.magnitudes[kind];
          const double sum   = (loads.*part)[i] + (holding.*part)[i];
          const auto   n_of  = [&](const Reaction &reaction) {
            std::int64_t n = 0;
            for (const int c : components)
              n += reaction.n_held[c];
            return static_cast<double>(n);
          };
          double n = 0.;
          for (const auto &item : held)
            n += n_of(item.second);
          if (n > 0. && std::abs(sum) <= 100. * problem.tolerance * scale)
          {
            for (auto &item : held)
              (item.second.*part)[i] -= sum * n_of(item.second) / n;
            (holding.*part)[i] -= sum;
          }
          return scale > 0. ? std::abs(sum) / scale : 0.;
        };
        std::pair<double, double> result;
        for (int c = 0; c < n_comp; ++c)
          result.first = std::max(result.first, share(&Resultant::force, c, {c}));
        for (int k = 0; k < static_cast<int>(loads.moment.size()) && !problem.essential.has_periodicity(); ++k)
          result.second = std::max(result.second, dim == 2 ? share(&Resultant::moment, k, {0, 1})
                                                           : share(&Resultant::moment, k, {(k + 1) % 3, (k + 2) % 3}));
        return result;
      }
    };
  } // namespace

  template <int dim>
  Results evaluate_results(const SolvedProblem<dim>    &problem,
                           const RequestedResults<dim> &requested,
                           std::shared_ptr<SolvedSpace> solved)
  {
    const bool found_elsewhere = solved == nullptr;
    if (found_elsewhere)
      solved = solved_on_host(problem);
    if (found_elsewhere || !problem.discretisation.free_modes.empty()) // which were taken out later
    {
      const ElementTables &tables = solved->space.tables();
      std::vector<double>  values(std::size_t(tables.n_owned_nodes()) * tables.n_components);
      for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = problem.solution(tables.dof_index(i));
      solved->space.from_rank(values, solved->u);
    }
    Evaluation<dim> evaluation(problem, *solved);
    evaluation.add_extremes();
    evaluation.add_balance();
    evaluation.add_requested(requested);
    return evaluation.results;
  }

#define PATCHFEM_INSTANTIATE(dim)                                                                              \
  template struct RequestedResults<dim>;                                                                       \
  template Results                 evaluate_results(const SolvedProblem<dim> &, const RequestedResults<dim> &, \
                                                    std::shared_ptr<SolvedSpace>);                             \
  template dealii::Quadrature<dim> picture_points(const dealii::ReferenceCell &, unsigned int)
  PATCHFEM_INSTANTIATE(2);
  PATCHFEM_INSTANTIATE(3);
#undef PATCHFEM_INSTANTIATE
} // namespace PatchFEM
