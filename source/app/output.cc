// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/app/output.h>
#include <patchfem/base/write_file.h>

#include <deal.II/numerics/data_out.h>

#include <algorithm>

#include <deque>
#include <limits>

namespace PatchFEM
{
  namespace
  {
    /** The first component of a field. */
    template <int dim>
    class FirstComponent : public dealii::DataPostprocessorScalar<dim>
    {
    public:
      explicit FirstComponent(const std::string &name)
          : dealii::DataPostprocessorScalar<dim>(name, dealii::update_values)
      {}

      void evaluate_scalar_field(const dealii::DataPostprocessorInputs::Scalar<dim> &input,
                                 std::vector<dealii::Vector<double>>                &values) const override
      {
        for (std::size_t q = 0; q < values.size(); ++q)
          values[q](0) = input.solution_values[q];
      }

      void evaluate_vector_field(const dealii::DataPostprocessorInputs::Vector<dim> &input,
                                 std::vector<dealii::Vector<double>>                &values) const override
      {
        for (std::size_t q = 0; q < values.size(); ++q)
          values[q](0) = input.solution_values[q](0);
      }
    };

    /** Fields on nodes, which a DataOut points to. */
    template <int dim>
    struct NodeFields
    {
      std::deque<dealii::Vector<double>> values; ///< of the first unknown of each node
      std::deque<FirstComponent<dim>>    components;

      /** One for the aggregates and one for the patches of each level. */
      void add(const AMGReport &amg, const dealii::DoFHandler<dim> &dof_handler, dealii::DataOut<dim> &data_out)
      {
        const auto add_field = [&](const std::string &name, const std::vector<int> &group) {
          dealii::Vector<double> &field = values.emplace_back(dof_handler.n_dofs());
          field                         = -1.;
          for (std::size_t node = 0; node < amg.node_dofs.size(); ++node)
            field(amg.node_dofs[node]) = group[node];
          data_out.add_data_vector(field, components.emplace_back(name));
        };
        for (std::size_t level = 0; level < amg.groups.size(); ++level)
        {
          if (!amg.groups[level].aggregate.empty())
            add_field("aggregate_" + std::to_string(level), amg.groups[level].aggregate);
          if (!amg.groups[level].patch.empty())
            add_field("patch_" + std::to_string(level), amg.groups[level].patch);
        }
      }
    };
    /** Pictures that know the names of materials: field data `materials`, such as `2: steel`, in front of the pieces. */
    template <int dim>
    class NamedDataOut : public dealii::DataOut<dim>
    {
    public:
      NamedDataOut(const MeshRegions &materials, const dealii::DataOutBase::VtkFlags &flags)
          : materials(materials), flags(flags)
      {
        this->set_flags(flags);
      }

      void write_named_vtu(std::ostream &out) const
      {
        dealii::DataOutBase::write_vtu_header(out, flags);
        out << "<FieldData>\n<Array type=\"String\" Name=\"materials\" NumberOfTuples=\"" << materials.ids().size()
            << "\" format=\"ascii\">\n";
        for (const unsigned int id : materials.ids())
        {
          for (const unsigned char c : std::to_string(id) + ": " + materials.text(id))
            out << static_cast<int>(c) << ' ';
          out << "0\n";
        }
        out << "</Array>\n</FieldData>\n";
        dealii::DataOutBase::write_vtu_main(this->get_patches(), this->get_dataset_names(),
                                            this->get_nonscalar_data_ranges(), flags, out);
        dealii::DataOutBase::write_vtu_footer(out);
      }

    private:
      const MeshRegions                   &materials;
      const dealii::DataOutBase::VtkFlags &flags;
    };
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
                            const PathReport          &report,
                            const MeshRegions         &materials)
  {
    using namespace dealii;
    const DoFHandler<dim> &dof_handler = *discretisation.dof_handler;
    NodeFields<dim>        node_fields;
    DataOutBase::VtkFlags  flags;
    flags.compression_level = DataOutBase::VtkFlags::ZlibCompressionLevel::best_speed;
    NamedDataOut<dim> data_out(materials, flags);
    data_out.attach_dof_handler(dof_handler);
    const std::vector<DataComponentInterpretation::DataComponentInterpretation> interpretation(
        physics.n_components(), physics.n_components() > 1 ? DataComponentInterpretation::component_is_part_of_vector
                                                           : DataComponentInterpretation::component_is_scalar);
    data_out.add_data_vector(solution, physics.solution_names(), DataOut<dim>::type_dof_data, interpretation);
    if (physics.postprocessor() != nullptr)
      data_out.add_data_vector(solution, *physics.postprocessor());

    const unsigned int    n_cells = dof_handler.get_triangulation().n_active_cells();
    dealii::Vector<float> material(n_cells), rank(n_cells), degree(n_cells);
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
    // The list ends with the last cell of this rank, behind which there may be cells of others.
    dealii::Vector<float> patch(n_cells);
    std::copy_n(report.cell_patches.begin(), std::min<std::size_t>(report.cell_patches.size(), n_cells), patch.begin());
    const bool with_patches = Utilities::MPI::max(int(!report.cell_patches.empty()), discretisation.communicator) != 0;
    if (with_patches)
      data_out.add_data_vector(patch, "patch");
    if (report.amg && !report.amg->groups.empty())
      node_fields.add(*report.amg, dof_handler, data_out);
    data_out.build_patches(*discretisation.mapping, dof_handler.get_fe_collection().max_degree(),
                           DataOut<dim>::curved_inner_cells);

    if (n_ranks == 1)
    {
      write_file(folder + "/" + name + ".vtu", [&](std::ostream &out) { data_out.write_named_vtu(out); });
      return name + ".vtu";
    }
    const auto piece      = [&](const unsigned int r) { return name + "." + Utilities::int_to_string(r, 4) + ".vtu"; };
    const unsigned int me = Utilities::MPI::this_mpi_process(discretisation.communicator);
    write_file(folder + "/" + piece(me), [&](std::ostream &out) { data_out.write_named_vtu(out); });
    MPICommunicator::of(discretisation.communicator)->barrier();
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
                                     const Physics<dim> &, const SolutionVector &, const PathReport &,      \
                                     const MeshRegions &)
  PATCHFEM_INSTANTIATE(2);
  PATCHFEM_INSTANTIATE(3);
#undef PATCHFEM_INSTANTIATE
} // namespace PatchFEM
