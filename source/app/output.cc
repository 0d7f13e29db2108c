// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/app/law_application.h>
#include <patchfem/app/output.h>
#include <patchfem/app/solution_values.h>
#include <patchfem/base/write_file.h>

#include <deal.II/fe/fe_dgq.h>
#include <deal.II/fe/fe_simplex_p.h>
#include <deal.II/fe/fe_system.h>
#include <deal.II/fe/fe_tools.h>
#include <deal.II/grid/grid_tools.h>
#include <deal.II/hp/fe_values.h>
#include <deal.II/numerics/data_out.h>

#include <algorithm>
#include <deque>
#include <limits>
#include <unordered_map>

namespace PatchFEM
{
  namespace
  {
    template <int dim>
    using Picture = typename Equation<dim>::Picture;

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

    /** The derived fields of a physics, each value of its law. */
    template <int dim>
    class DerivedFields : public dealii::DataPostprocessor<dim>
    {
    public:
      DerivedFields(const std::vector<Picture<dim>> &pictures,
                    const SolutionValues<dim>       &values,
                    const PointwiseEquation<dim>    &equation,
                    const dealii::DoFHandler<dim>   &dof_handler)
          : pictures(pictures), equation(equation),
            means(equation.law.needs_mean ? dof_handler.get_triangulation().n_active_cells() : 0)
      {
        for (const auto &cell : dof_handler.active_cell_iterators())
          if (!means.empty() && cell->is_locally_owned())
            means[cell->active_cell_index()] = values.mean_gradient(cell);
      }

      void evaluate_scalar_field(const dealii::DataPostprocessorInputs::Scalar<dim> &input,
                                 std::vector<dealii::Vector<double>>                &values) const override
      {
        for (std::size_t q = 0; q < values.size(); ++q)
          evaluate(input, q, dealii::Vector<double>({input.solution_values[q]}), {input.solution_gradients[q]},
                   values[q]);
      }

      void evaluate_vector_field(const dealii::DataPostprocessorInputs::Vector<dim> &input,
                                 std::vector<dealii::Vector<double>>                &values) const override
      {
        for (std::size_t q = 0; q < values.size(); ++q)
          evaluate(input, q, input.solution_values[q], input.solution_gradients[q], values[q]);
      }

      std::vector<std::string> get_names() const override
      {
        std::vector<std::string> names;
        for (const auto &picture : pictures)
          names.insert(names.end(), picture.values.size(), picture.name);
        return names;
      }

      std::vector<dealii::DataComponentInterpretation::DataComponentInterpretation>
      get_data_component_interpretation() const override
      {
        std::vector<dealii::DataComponentInterpretation::DataComponentInterpretation> kinds;
        for (const auto &picture : pictures)
          kinds.insert(kinds.end(), picture.values.size(), picture.kind);
        return kinds;
      }

      dealii::UpdateFlags get_needed_update_flags() const override { return SolutionValues<dim>::update_flags(); }

    private:
      const std::vector<Picture<dim>> &pictures;
      const PointwiseEquation<dim>    &equation;
      std::vector<std::vector<double>> means; ///< gradients, [active cell]; empty if they do not count

      template <typename Input>
      void evaluate(const Input                               &input,
                    const std::size_t                          q,
                    const dealii::Vector<double>              &u,
                    const std::vector<dealii::Tensor<1, dim>> &gradients,
                    dealii::Vector<double>                    &values) const
      {
        const auto cell = input.template get_cell<dim>();
        const auto all =
            equation.values_at(input.evaluation_points[q], cell->center(), cell->material_id(), u, gradients,
                               means.empty() ? std::vector<double>() : means[cell->active_cell_index()]);
        unsigned int c = 0;
        for (const auto &picture : pictures)
          for (const int k : picture.values)
            values[c++] = all[k];
      }
    };

    /**
     * The derived fields at the nodes of each cell, averaged over the cells of its material that meet there, weighted by
     * their volumes: names with `_nodal` behind them. Or those of the cell itself.
     */
    template <int dim>
    class NodalFields
    {
    public:
      using Cell = typename dealii::DoFHandler<dim>::active_cell_iterator;
      /** All values at the nodes of a cell of the solution, for which it gets FEValues: [node][value]. */
      using AtNodes = std::function<std::vector<std::vector<double>>(const dealii::FEValues<dim> &, const Cell &)>;

      NodalFields(const std::vector<Picture<dim>> &pictures,
                  const AtNodes                   &at_nodes,
                  const dealii::Mapping<dim>      &mapping,
                  const dealii::DoFHandler<dim>   &solution,
                  const bool                       averages = true)
          : pictures(pictures), at_nodes(at_nodes), mapping(mapping), solution(solution),
            dof_handler(solution.get_triangulation()), averages(averages)
      {
        for (const auto &picture : pictures)
          n += picture.values.size();
        dealii::hp::FECollection<dim> elements;
        for (unsigned int i = 0; i < solution.get_fe_collection().size(); ++i)
        {
          const unsigned int degree = solution.get_fe(i).degree;
          if (solution.get_fe(i).reference_cell().is_simplex())
            elements.push_back(dealii::FESystem<dim>(dealii::FE_SimplexDGP<dim>(degree), n));
          else
            elements.push_back(dealii::FESystem<dim>(dealii::FE_DGQ<dim>(degree), n));
        }
        for (const auto &cell : dof_handler.active_cell_iterators())
          if (cell->is_locally_owned())
            cell->set_active_fe_index(solution_cell(cell)->active_fe_index());
        dof_handler.distribute_dofs(elements);
        field.reinit(dof_handler.locally_owned_dofs(), solution.get_communicator());
        fill();
      }

      void add_to(dealii::DataOut<dim> &data_out) const
      {
        std::vector<std::string>                                                      names;
        std::vector<dealii::DataComponentInterpretation::DataComponentInterpretation> kinds;
        for (const auto &picture : pictures)
        {
          names.insert(names.end(), picture.values.size(), picture.name + (averages ? "_nodal" : ""));
          kinds.insert(kinds.end(), picture.values.size(), picture.kind);
        }
        data_out.add_data_vector(dof_handler, field, names, kinds);
      }

    private:
      const std::vector<Picture<dim>> &pictures;
      const AtNodes                    at_nodes;
      const dealii::Mapping<dim>      &mapping;
      const dealii::DoFHandler<dim>   &solution;
      dealii::DoFHandler<dim>          dof_handler;
      const bool                       averages; ///< over cells, else each cell has its own values
      unsigned int                     n = 0;    ///< numbers at a node
      SolutionVector                   field;

      Cell solution_cell(const Cell &cell) const
      {
        return Cell(&solution.get_triangulation(), cell->level(), cell->index(), &solution);
      }

      std::vector<std::vector<unsigned int>>         first_dof; ///< of the solution at each node, [element][node]
      std::unordered_map<std::uint64_t, std::size_t> places;    ///< in sums, by node and material
      std::vector<double>                            sums;      ///< of a node: weight, and the numbers times weights

      /** The nodes of each element. */
      dealii::hp::QCollection<dim> find_nodes()
      {
        dealii::hp::QCollection<dim> nodes;
        for (unsigned int i = 0; i < solution.get_fe_collection().size(); ++i)
        {
          const auto &here = dof_handler.get_fe(i).base_element(0).get_unit_support_points(),
                     &fe   = solution.get_fe(i).get_unit_support_points();
          nodes.push_back(dealii::Quadrature<dim>(here));
          first_dof.emplace_back();
          for (const dealii::Point<dim> &node : here)
            first_dof.back().push_back(
                std::find_if(fe.begin(), fe.end(), [&](const auto &x) { return x.distance(node) < 1e-10; }) -
                fe.begin());
        }
        return nodes;
      }

      /** Calls @p function(node, sums there) for the nodes of a cell of the solution. */
      template <typename Function>
      void for_nodes(const Cell &cell, const Function &function)
      {
        std::vector<dealii::types::global_dof_index> dofs(cell->get_fe().n_dofs_per_cell());
        cell->get_dof_indices(dofs);
        const std::vector<unsigned int> &nodes = first_dof[cell->active_fe_index()];
        for (unsigned int node = 0; node < nodes.size(); ++node)
        {
          const std::uint64_t dof   = dofs[nodes[node]];
          const auto          place = places.emplace((dof << 32) | cell->material_id(), sums.size());
          if (place.second)
            sums.resize(sums.size() + n + 1);
          function(node, &sums[place.first->second]);
        }
      }

      /** All cells that meet at nodes of this rank's are its own or ghosts. */
      void fill()
      {
        const dealii::hp::MappingCollection<dim> mappings(mapping);
        dealii::hp::FEValues<dim>                hp_values(mappings, solution.get_fe_collection(), find_nodes(),
                                                           SolutionValues<dim>::update_flags());
        for (const auto &cell : solution.active_cell_iterators())
          if (averages && !cell->is_artificial())
          {
            hp_values.reinit(cell);
            const double weight = cell->measure();
            const auto   there  = at_nodes(hp_values.get_present_fe_values(), cell);
            for_nodes(cell, [&](const unsigned int node, double *sum) {
              *sum++ += weight;
              for (const auto &picture : pictures)
                for (const int k : picture.values)
                  *sum++ += weight * there[node][k];
            });
          }
        std::vector<dealii::types::global_dof_index> dofs;
        for (const auto &cell : dof_handler.active_cell_iterators())
          if (cell->is_locally_owned())
          {
            const dealii::FiniteElement<dim> &fe = cell->get_fe();
            dofs.resize(fe.n_dofs_per_cell());
            cell->get_dof_indices(dofs);
            const auto set = [&](const unsigned int node, const unsigned int c, const double value) {
              field(dofs[fe.component_to_system_index(c, node)]) = value;
            };
            if (averages)
            {
              for_nodes(solution_cell(cell), [&](const unsigned int node, const double *sum) {
                for (unsigned int c = 0; c < n; ++c)
                  set(node, c, sum[1 + c] / sum[0]);
              });
              continue;
            }
            hp_values.reinit(solution_cell(cell));
            const auto there = at_nodes(hp_values.get_present_fe_values(), solution_cell(cell));
            for (unsigned int node = 0; node < there.size(); ++node)
            {
              unsigned int c = 0;
              for (const auto &picture : pictures)
                for (const int k : picture.values)
                  set(node, c++, there[node][k]);
            }
          }
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

  namespace
  {
    /** Adds what all pictures have to @p data_out, and writes it. */
    template <int dim>
    std::string complete_and_write(NamedDataOut<dim>               &data_out,
                                   const std::string               &folder,
                                   const std::string               &name,
                                   const Discretisation<dim>       &discretisation,
                                   const std::vector<unsigned int> &cell_patches)
    {
      using namespace dealii;
      const DoFHandler<dim> &dof_handler = *discretisation.dof_handler;
      const unsigned int     n_cells     = dof_handler.get_triangulation().n_active_cells();
      dealii::Vector<float>  material(n_cells), rank(n_cells), degree(n_cells);
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
      std::copy_n(cell_patches.begin(), std::min<std::size_t>(cell_patches.size(), n_cells), patch.begin());
      const bool with_patches = Utilities::MPI::max(int(!cell_patches.empty()), discretisation.communicator) != 0;
      if (with_patches)
        data_out.add_data_vector(patch, "patch");
      data_out.build_patches(*discretisation.mapping, dof_handler.get_fe_collection().max_degree(),
                             DataOut<dim>::curved_inner_cells);

      if (n_ranks == 1)
      {
        write_file(folder + "/" + name + ".vtu", [&](std::ostream &out) { data_out.write_named_vtu(out); });
        return name + ".vtu";
      }
      const auto piece = [&](const unsigned int r) { return name + "." + Utilities::int_to_string(r, 4) + ".vtu"; };
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

    template <int dim>
    void add_solution(NamedDataOut<dim> &data_out, const Equation<dim> &equation, const SolutionVector &solution)
    {
      using namespace dealii;
      const std::vector<DataComponentInterpretation::DataComponentInterpretation> interpretation(
          equation.n_components(), equation.n_components() > 1
                                       ? DataComponentInterpretation::component_is_part_of_vector
                                       : DataComponentInterpretation::component_is_scalar);
      data_out.add_data_vector(solution, equation.solution_names(), DataOut<dim>::type_dof_data, interpretation);
    }

    dealii::DataOutBase::VtkFlags quick_flags()
    {
      dealii::DataOutBase::VtkFlags flags;
      flags.compression_level = dealii::DataOutBase::VtkFlags::ZlibCompressionLevel::best_speed;
      return flags;
    }
  } // namespace

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
    const DoFHandler<dim>      &dof_handler = *discretisation.dof_handler;
    NodeFields<dim>             node_fields;
    const DataOutBase::VtkFlags flags = quick_flags();
    NamedDataOut<dim>           data_out(materials, flags);
    data_out.attach_dof_handler(dof_handler);
    add_solution(data_out, physics, solution);
    const PointwiseEquation<dim>    equation         = make_equation(physics);
    const std::vector<Picture<dim>> derived_pictures = physics.pictures();
    const SolutionValues<dim>       values(*discretisation.mapping, dof_handler, discretisation.quadrature, equation,
                                           solution);
    const DerivedFields<dim>        derived(derived_pictures, values, equation, dof_handler);
    const NodalFields<dim>          nodal(
                 derived_pictures, [&](const FEValues<dim> &at, const auto &cell) { return values.at(at, cell); },
                 *discretisation.mapping, dof_handler);
    nodal.add_to(data_out);
    data_out.add_data_vector(solution, derived);
    if (report.amg && !report.amg->groups.empty())
      node_fields.add(*report.amg, dof_handler, data_out);
    return complete_and_write(data_out, folder, name, discretisation, report.cell_patches);
  }

  namespace
  {
    /** The values of pictures at the nodes of cells, [active cell][node][value] by those at quadrature points. */
    template <int dim>
    std::vector<std::vector<double>> extrapolate(const Discretisation<dim>              &discretisation,
                                                 const LawPhysics<dim>                  &physics,
                                                 const SolutionVector                   &solution,
                                                 const std::vector<std::vector<double>> &fluxes,
                                                 const unsigned int                      n_values)
    {
      using namespace dealii;
      const DoFHandler<dim>           &dof_handler = *discretisation.dof_handler;
      const hp::FECollection<dim>     &elements    = dof_handler.get_fe_collection();
      const hp::MappingCollection<dim> mappings(*discretisation.mapping);
      hp::FEValues<dim>                hp_values(mappings, elements, discretisation.quadrature, update_gradients);
      std::vector<dealii::FullMatrix<double>> to_nodes; // [element]
      for (unsigned int i = 0; i < elements.size(); ++i)
      {
        const Quadrature<dim> &rule   = discretisation.quadrature[i];
        const unsigned int     degree = elements[i].degree;
        const auto             fill   = [&](const FiniteElement<dim> &fe) {
          to_nodes.emplace_back(fe.n_dofs_per_cell(), rule.size());
          FETools::compute_projection_from_quadrature_points_matrix(fe, rule, rule, to_nodes.back());
        };
        if (elements[i].reference_cell().is_simplex())
          fill(FE_SimplexDGP<dim>(degree));
        else
          fill(FE_DGQ<dim>(degree));
      }
      const unsigned int               n_flux = physics.n_components() * dim;
      std::vector<std::vector<double>> result(dof_handler.get_triangulation().n_active_cells());
      std::vector<double>              gradient(n_flux), values(n_values);
      for (const auto &cell : dof_handler.active_cell_iterators())
        if (cell->is_locally_owned())
        {
          hp_values.reinit(cell);
          const dealii::FEValues<dim>             &at = hp_values.get_present_fe_values();
          std::vector<std::vector<Tensor<1, dim>>> gradients(at.n_quadrature_points,
                                                             std::vector<Tensor<1, dim>>(physics.n_components()));
          at.get_function_gradients(solution, gradients);
          const dealii::FullMatrix<double> &matrix = to_nodes[cell->active_fe_index()];
          std::vector<double>              &there  = result[cell->active_cell_index()];
          there.assign(matrix.m() * n_values, 0.);
          for (const unsigned int q : at.quadrature_point_indices())
          {
            for (unsigned int e = 0; e < n_flux; ++e)
              gradient[e] = gradients[q][e / dim][e % dim];
            physics.picture_values(cell->material_id(), gradient.data(), &fluxes[cell->active_cell_index()][q * n_flux],
                                   values.data());
            for (unsigned int node = 0; node < matrix.m(); ++node)
              for (unsigned int k = 0; k < n_values; ++k)
                there[node * n_values + k] += matrix(node, q) * values[k];
          }
        }
      if (Utilities::MPI::n_mpi_processes(discretisation.communicator) > 1)
        GridTools::exchange_cell_data_to_ghosts<std::vector<double>>(
            dof_handler, [&](const auto &cell) { return result[cell->active_cell_index()]; },
            [&](const auto &cell, const std::vector<double> &there) { result[cell->active_cell_index()] = there; });
      return result;
    }
  } // namespace

  template <int dim>
  std::string write_picture(const std::string                      &folder,
                            const std::string                      &name,
                            const Discretisation<dim>              &discretisation,
                            const LawPhysics<dim>                  &physics,
                            const SolutionVector                   &solution,
                            const std::vector<std::vector<double>> &fluxes,
                            const MeshRegions                      &materials)
  {
    const std::vector<Picture<dim>> pictures = physics.pictures();
    unsigned int                    n_values = 0;
    for (const Picture<dim> &picture : pictures)
      for (const int k : picture.values)
        n_values = std::max<unsigned int>(n_values, k + 1);
    const auto nodes    = extrapolate(discretisation, physics, solution, fluxes, n_values);
    const auto at_nodes = [&](const dealii::FEValues<dim> &, const auto &cell) {
      const std::vector<double>       &there = nodes[cell->active_cell_index()];
      std::vector<std::vector<double>> result;
      for (auto value = there.begin(); value != there.end(); value += n_values)
        result.emplace_back(value, value + n_values);
      return result;
    };
    const dealii::DataOutBase::VtkFlags flags = quick_flags();
    NamedDataOut<dim>                   data_out(materials, flags);
    data_out.attach_dof_handler(*discretisation.dof_handler);
    add_solution(data_out, physics, solution);
    const NodalFields<dim> nodal(pictures, at_nodes, *discretisation.mapping, *discretisation.dof_handler),
        of_cells(pictures, at_nodes, *discretisation.mapping, *discretisation.dof_handler, false);
    nodal.add_to(data_out);
    of_cells.add_to(data_out);
    return complete_and_write(data_out, folder, name, discretisation, {});
  }

#define PATCHFEM_INSTANTIATE(dim)                                                                           \
  template std::string write_picture(const std::string &, const std::string &, const Discretisation<dim> &, \
                                     const Physics<dim> &, const SolutionVector &, const PathReport &,      \
                                     const MeshRegions &);                                                  \
  template std::string write_picture(const std::string &, const std::string &, const Discretisation<dim> &, \
                                     const LawPhysics<dim> &, const SolutionVector &,                       \
                                     const std::vector<std::vector<double>> &, const MeshRegions &)
  PATCHFEM_INSTANTIATE(2);
  PATCHFEM_INSTANTIATE(3);
#undef PATCHFEM_INSTANTIATE
} // namespace PatchFEM
