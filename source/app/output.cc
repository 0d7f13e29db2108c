// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/app/output.h>
#include <patchfem/app/report.h>

#include <deal.II/numerics/data_out.h>

#include <functional>

namespace PatchFEM
{
  template <int dim>
  void write_picture(const std::string               &folder,
                     const std::string               &name,
                     const Discretisation<dim>       &discretisation,
                     const Physics<dim>              &physics,
                     const SolutionVector            &solution,
                     const std::vector<unsigned int> &patches)
  {
    using namespace dealii;
    const DoFHandler<dim>    &dof_handler   = *discretisation.dof_handler;
    const Triangulation<dim> &triangulation = dof_handler.get_triangulation();

    DataOut<dim>          data_out;
    DataOutBase::VtkFlags flags;
    flags.compression_level = DataOutBase::VtkFlags::ZlibCompressionLevel::best_speed;
    data_out.set_flags(flags);
    data_out.attach_dof_handler(dof_handler);
    const std::vector<DataComponentInterpretation::DataComponentInterpretation> interpretation(
        physics.n_components(), physics.n_components() > 1 ? DataComponentInterpretation::component_is_part_of_vector
                                                           : DataComponentInterpretation::component_is_scalar);
    data_out.add_data_vector(solution, physics.solution_names(), DataOut<dim>::type_dof_data, interpretation);
    if (physics.postprocessor() != nullptr)
      data_out.add_data_vector(solution, *physics.postprocessor());

    dealii::Vector<float> material(triangulation.n_active_cells());
    dealii::Vector<float> rank(triangulation.n_active_cells());
    dealii::Vector<float> degree(triangulation.n_active_cells());
    for (const auto &cell : dof_handler.active_cell_iterators())
      if (cell->is_locally_owned())
      {
        material(cell->active_cell_index()) = cell->material_id();
        rank(cell->active_cell_index())     = cell->subdomain_id();
        degree(cell->active_cell_index())   = cell->get_fe().degree;
      }
    data_out.add_data_vector(material, "material");
    if (dof_handler.get_fe_collection().size() > 1)
      data_out.add_data_vector(degree, "degree");
    const unsigned int n_ranks = Utilities::MPI::n_mpi_processes(discretisation.communicator);
    if (n_ranks > 1)
      data_out.add_data_vector(rank, "rank");
    dealii::Vector<float> patch(patches.begin(), patches.end());
    if (!patches.empty())
      data_out.add_data_vector(patch, "patch");
    data_out.build_patches(*discretisation.mapping, dof_handler.get_fe_collection().max_degree(),
                           DataOut<dim>::curved_inner_cells);

    if (n_ranks == 1)
    {
      write_file(folder + "/" + name + ".vtu", [&](std::ostream &out) { data_out.write_vtu(out); });
      return;
    }
    const auto piece      = [&](const unsigned int r) { return name + "." + Utilities::int_to_string(r, 4) + ".vtu"; };
    const unsigned int me = Utilities::MPI::this_mpi_process(discretisation.communicator);
    write_file(folder + "/" + piece(me), [&](std::ostream &out) { data_out.write_vtu(out); });
    MPI_Barrier(discretisation.communicator);
    if (me == 0)
    {
      std::vector<std::string> pieces;
      for (unsigned int r = 0; r < n_ranks; ++r)
        pieces.push_back(piece(r));
      write_file(folder + "/" + name + ".pvtu", [&](std::ostream &out) { data_out.write_pvtu_record(out, pieces); });
    }
  }

  template void write_picture(const std::string &,
                              const std::string &,
                              const Discretisation<2> &,
                              const Physics<2> &,
                              const SolutionVector &,
                              const std::vector<unsigned int> &);
  template void write_picture(const std::string &,
                              const std::string &,
                              const Discretisation<3> &,
                              const Physics<3> &,
                              const SolutionVector &,
                              const std::vector<unsigned int> &);
} // namespace PatchFEM
