// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/app/output.h>
#include <patchfem/base/write_file.h>

#include <deal.II/numerics/data_out.h>

#include <deque>
#include <limits>

namespace PatchFEM
{
  namespace
  {
    /** What a DataOut points to. */
    template <int dim>
    struct NodeFields
    {
      dealii::DoFHandler<dim>            nodes;
      std::deque<dealii::Vector<double>> values;
    };

    /** One scalar field for the aggregates and one for the patches of each level, on the nodes of @p dof_handler. */
    template <int dim>
    void add_aggregates(const AMGReport               &amg,
                        const dealii::DoFHandler<dim> &dof_handler,
                        NodeFields<dim>               &fields,
                        dealii::DataOut<dim>          &data_out)
    {
      dealii::DoFHandler<dim>      &nodes = fields.nodes;
      dealii::hp::FECollection<dim> elements;
      for (unsigned int i = 0; i < dof_handler.get_fe_collection().size(); ++i)
        elements.push_back(dof_handler.get_fe(i).base_element(0));
      nodes.reinit(dof_handler.get_triangulation());
      if (elements.size() > 1)
      {
        auto cell = dof_handler.begin_active();
        for (const auto &same : nodes.active_cell_iterators())
          same->set_active_fe_index((cell++)->active_fe_index());
      }
      nodes.distribute_dofs(elements);

      std::vector<int> node_of_dof(dof_handler.n_dofs(), -1);
      for (std::size_t i = 0; i < amg.node_dofs.size(); ++i)
        node_of_dof[amg.node_dofs[i]] = static_cast<int>(i);
      std::vector<int>                             node_of_scalar(nodes.n_dofs(), -1);
      std::vector<dealii::types::global_dof_index> dofs, scalars;
      auto                                         cell = dof_handler.begin_active();
      for (const auto &same : nodes.active_cell_iterators())
      {
        dofs.resize(cell->get_fe().n_dofs_per_cell());
        scalars.resize(same->get_fe().n_dofs_per_cell());
        cell->get_dof_indices(dofs);
        same->get_dof_indices(scalars);
        for (unsigned int i = 0; i < dofs.size(); ++i)
        {
          const auto component = cell->get_fe().system_to_component_index(i);
          if (component.first == 0)
            node_of_scalar[scalars[component.second]] = node_of_dof[dofs[i]];
        }
        ++cell;
      }
      const auto add = [&](const std::string &name, const std::vector<int> &group) {
        fields.values.emplace_back(nodes.n_dofs());
        for (std::size_t i = 0; i < node_of_scalar.size(); ++i)
          fields.values.back()(i) = node_of_scalar[i] < 0 ? -1 : group[node_of_scalar[i]];
        data_out.add_data_vector(nodes, fields.values.back(), name);
      };
      for (std::size_t level = 0; level < amg.groups.size(); ++level)
      {
        add("aggregate_" + std::to_string(level), amg.groups[level].aggregate);
        if (!amg.groups[level].patch.empty())
          add("patch_" + std::to_string(level), amg.groups[level].patch);
      }
    }
  } // namespace

  void PictureSeries::add(const double time, const std::string &file)
  {
    pictures.emplace_back(time, file);
    write_file(folder + "/solution.pvd",
               [&](std::ostream &out) { dealii::DataOutBase::write_pvd_record(out, pictures); });
  }

  void note_range_of_pictures(const double largest, std::ostream &out)
  {
    using Limits = std::numeric_limits<float>;
    if (largest > Limits::max() || (largest > 0. && largest < Limits::min()))
      out << "Pictures are in single precision, which does not show values up to " << largest
          << "; choose other units to see them." << std::endl;
  }

  template <int dim>
  std::string write_picture(const std::string         &folder,
                            const std::string         &name,
                            const Discretisation<dim> &discretisation,
                            const Physics<dim>        &physics,
                            const SolutionVector      &solution,
                            const PathReport          &report)
  {
    using namespace dealii;
    const DoFHandler<dim>    &dof_handler   = *discretisation.dof_handler;
    const Triangulation<dim> &triangulation = dof_handler.get_triangulation();

    NodeFields<dim>       node_fields;
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
    dealii::Vector<float> patch(report.cell_patches.begin(), report.cell_patches.end());
    if (!report.cell_patches.empty())
      data_out.add_data_vector(patch, "patch");
    if (report.amg && !report.amg->groups.empty())
      add_aggregates(*report.amg, dof_handler, node_fields, data_out);
    data_out.build_patches(*discretisation.mapping, dof_handler.get_fe_collection().max_degree(),
                           DataOut<dim>::curved_inner_cells);

    if (n_ranks == 1)
    {
      write_file(folder + "/" + name + ".vtu", [&](std::ostream &out) { data_out.write_vtu(out); });
      return name + ".vtu";
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
    return name + ".pvtu";
  }

#define PATCHFEM_INSTANTIATE(dim)                                                                           \
  template std::string write_picture(const std::string &, const std::string &, const Discretisation<dim> &, \
                                     const Physics<dim> &, const SolutionVector &, const PathReport &)
  PATCHFEM_INSTANTIATE(2);
  PATCHFEM_INSTANTIATE(3);
#undef PATCHFEM_INSTANTIATE
} // namespace PatchFEM
