// SPDX-License-Identifier: LGPL-2.1-or-later
// From a DoFHandler to ElementBatches on the host: nanoseconds an unknown, for uniform and for adaptive hp spaces.
#include "benchmark.h"

#include <patchfem/assembly/element_batches.h>
#include <patchfem/assembly/extraction_dealii.h>

#include <deal.II/base/mpi.h>
#include <deal.II/dofs/dof_tools.h>
#include <deal.II/fe/fe_q.h>
#include <deal.II/fe/fe_system.h>
#include <deal.II/fe/mapping_q1.h>
#include <deal.II/grid/grid_generator.h>
#include <deal.II/grid/tria.h>

#include <omp.h>

using namespace PatchFEM;
using namespace benchmark;

namespace
{
  /**
   * A cube of 2^(dim refinements) cells with FE_Q(1), or, as hp space, one with cells of three levels in blobs and degrees
   * 1 to 3 in blocks.
   */
  template <int dim>
  void measure(const bool hp, const int n_components, const int refinements, const int n_repetitions, Report &report)
  {
    using namespace dealii;
    Triangulation<dim> triangulation;
    GridGenerator::hyper_cube(triangulation);
    triangulation.refine_global(refinements - (hp ? 1 : 0));
    for (int cycle = 0; hp && cycle < 2; ++cycle)
    {
      for (const auto &cell : triangulation.active_cell_iterators())
      {
        double wave = 1.;
        for (int d = 0; d < dim; ++d)
          wave *= std::sin(25. * (1 + cycle) * cell->center()[d]);
        if (wave > 0.2)
          cell->set_refine_flag();
      }
      triangulation.execute_coarsening_and_refinement();
    }
    dealii::hp::FECollection<dim> elements;
    for (int degree = 1; degree <= (hp ? 3 : 1); ++degree)
      elements.push_back(FESystem<dim>(FE_Q<dim>(degree), n_components));
    DoFHandler<dim> dof_handler(triangulation);
    if (hp)
      for (const auto &cell : dof_handler.active_cell_iterators())
      {
        int block = 0;
        for (int d = 0; d < dim; ++d)
          block += static_cast<int>(16. * cell->center()[d]);
        cell->set_active_fe_index(block % 3);
      }
    dof_handler.distribute_dofs(elements);
    AffineConstraints<double> constraints;
    DoFTools::make_hanging_node_constraints(dof_handler, constraints);
    DoFTools::make_zero_boundary_constraints(dof_handler, constraints);
    constraints.close();

    const double        n_dofs = dof_handler.n_dofs();
    std::vector<double> reading, batches_made;
    bool                complete = true;
    for (int i = 0; i < n_repetitions; ++i)
    {
      ElementTables  tables;
      ElementBatches batches;
      reading.push_back(host_times(
          1, [&]() { tables = extract_element_tables<dim>(MappingQ1<dim>(), dof_handler, constraints); })[0]);
      batches_made.push_back(host_times(1, [&]() { batches.reinit(Backend("host"), tables); })[0]);
      complete = complete && batches.n_dofs() == n_dofs && batches.n_cells() == int(triangulation.n_active_cells());
    }
    const std::string name = std::string(hp ? "hp 1 to 3, hanging nodes, " : "uniform Q1, ") + std::to_string(dim) +
                             "D, " + std::to_string(n_components) + " components";
    const std::map<std::string, double> sizes = {{"unknowns", n_dofs},
                                                 {"constrained", double(constraints.n_constraints())},
                                                 {"cells", double(triangulation.n_active_cells())}};
    // The first call is what a program sees: its memory is fresh from the system.
    report.add({name, "tables, first", 1e9 * reading[0] / n_dofs, "ns/DoF", 0., complete, sizes});
    report.add({name, "tables", 1e9 * median(reading) / n_dofs, "ns/DoF", 0., complete, sizes});
    report.add({name, "batches, first", 1e9 * batches_made[0] / n_dofs, "ns/DoF", 0., complete, sizes});
    report.add({name, "batches", 1e9 * median(batches_made) / n_dofs, "ns/DoF", 0., complete, sizes});
  }

  int main_program(const int argc, char **argv)
  {
    Options options(
        {{"refinements-2d", "9"}, {"refinements-3d", "5"}, {"refinements-elasticity", "4"}, {"repetitions", "3"}}, {});
    options.parse(argc, argv);
    const int in_2d = options.get_int("refinements-2d"), in_3d = options.get_int("refinements-3d"),
              in_elasticity = options.get_int("refinements-elasticity"), n_repetitions = options.get_int("repetitions");
    Report report("extraction", Backend("host").device_name());
    report.threads = omp_get_max_threads();
    for (const bool hp : {false, true})
    {
      measure<2>(hp, 1, in_2d, n_repetitions, report);
      measure<3>(hp, 1, in_3d, n_repetitions, report);
      measure<3>(hp, 3, in_elasticity, n_repetitions, report);
    }
    report.write(options.get("json"));
    return report.all_verified() ? 0 : 1;
  }
} // namespace

int main(int argc, char **argv)
{
  const dealii::Utilities::MPI::MPI_InitFinalize mpi(argc, argv, 1);
  return run([&]() { return main_program(argc, argv); });
}
