// SPDX-License-Identifier: LGPL-2.1-or-later
#include "grid_system.h"
#include "lab.h"

#include <patchfem/lac/matrix/matrix_io.h>
#include <patchfem/lac/precondition/precondition_ic.h>
#include <patchfem/lac/precondition/precondition_ssor.h>

#include <algorithm>
#include <cmath>

namespace papers
{
  namespace
  {
    constexpr double reduction = 1e-8;

    /** Conjugate gradients without and with preconditioners on every place; b = A x_sol, as the thesis checks itself. */
    void compare(const std::string         &key,
                 const System              &system,
                 const std::vector<double> &x_sol,
                 const bool                 all_preconditioners,
                 Report                    &report)
    {
      report.add(key, "unknowns", system.n_dofs(), "1", true);
      report.add(key, "entries", system.n_entries(), "1", true);
      std::vector<double> n_iterations; // of the fastest place, by preconditioner
      for (const Place &place : places())
      {
        place.enter();
        const std::string title      = key + "/" + place.name + "/";
        const bool        is_fastest = place.name == places().front().name;
        if (is_fastest)
        {
          const auto start = benchmark::host_times(3, [&]() {
            const Matrices matrices(place.backend, system);
            place.backend.synchronize();
          });
          report.add(title + "matrix", "transfer", benchmark::median(start), "s", true);
        }
        const Matrices               matrices(place.backend, system);
        const CSRMatrix<double>     &A = matrices.csr();
        PreconditionIdentity<double> identity;
        PreconditionJacobi<double>   jacobi;
        PreconditionSSOR<double>     ssor;
        PreconditionIC<double>       ic;
        jacobi.initialize(A);
        std::vector<std::pair<const char *, const PreconditionBase<double> *>> all = {{"none", &identity},
                                                                                      {"Jacobi", &jacobi}};
        if (all_preconditioners)
        {
          ssor.initialize(A);
          ic.initialize(A, {3});
          all.emplace_back("SSOR", &ssor);
          all.emplace_back("IC(0), 3 sweeps", &ic);
        }
        for (std::size_t i = 0; i < all.size(); ++i)
        {
          const std::string name = title + all[i].first;
          if (!is_fastest)
          {
            add_solution_time(report, name, place, A, *all[i].second, system, reduction, n_iterations[i]);
            continue;
          }
          const Solution solution   = solve(A, *all[i].second, system, reduction);
          double         difference = 0., magnitude = 0.;
          for (std::size_t k = 0; k < x_sol.size(); ++k)
          {
            difference = std::max(difference, std::abs(solution.x[k] - x_sol[k]));
            magnitude  = std::max(magnitude, std::abs(x_sol[k]));
          }
          n_iterations.push_back(solution.iterations);
          report.add(name, "iterations", solution.iterations, "1", solution.verified);
          report.add(name, "solution", solution.seconds, "s", solution.verified);
          report.add(name, "difference from x_sol", difference / magnitude, "1", solution.verified);
        }
      }
      places().front().enter();
    }
  } // namespace

  void reproduce_p1(const Settings &settings, Report &report)
  {
    std::vector<double> x_sol;
    if (!settings.large)
    {
      for (const int n : {32, 100, 200})
      {
        report.begin("P1/" + std::to_string(n) + "^2");
        const System system = laplacian(grid(CellKind::quadrilateral, std::max(3, int(n / settings.shrink))), x_sol);
        compare("P1/" + std::to_string(n) + "^2", system, x_sol, true, report);
      }
      if (settings.system.empty())
        return;
      report.begin("P1/hp");
      LinearSystem file = read_linear_system(settings.system);
      x_sol             = benchmark::scattered_values(file.matrix.n_rows);
      compare("P1/hp", scalar_system(std::move(file.matrix), x_sol), x_sol, true, report);
      return;
    }
    report.begin("P1 large/128^3");
    const System system = laplacian(grid(CellKind::hexahedron, std::max(3, int(128 / settings.shrink))), x_sol);
    compare("P1 large/128^3", system, x_sol, false, report);
  }
} // namespace papers
