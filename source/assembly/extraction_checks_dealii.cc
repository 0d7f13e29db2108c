// SPDX-License-Identifier: LGPL-2.1-or-later
#include "assembly/extraction_steps_dealii.h"

#include <deal.II/base/mpi.h>
#include <deal.II/fe/fe_q.h>
#include <deal.II/fe/fe_simplex_p.h>
#include <deal.II/fe/fe_system.h>
#include <deal.II/fe/mapping_fe.h>
#include <deal.II/fe/mapping_q_cache.h>
#include <deal.II/grid/tria.h>

#include <algorithm>
#include <limits>
#include <string>
#include <typeinfo>
#include <unordered_map>

namespace PatchFEM::internal
{
  namespace
  {
    constexpr unsigned int max_cube_degree    = 4;
    constexpr unsigned int max_simplex_degree = 2;
    constexpr unsigned int max_mapping_degree = 3;
    constexpr unsigned int max_n_components   = 6;

    template <int dim>
    std::string dim_string()
    {
      return "<" + std::to_string(dim) + ">";
    }

    /** Active cells of this rank on a level: artificial ones can be coarser than they are where they belong. */
    template <int dim>
    unsigned int n_own_cells(const dealii::Triangulation<dim> &triangulation, const unsigned int level)
    {
      if (level >= triangulation.n_levels())
        return 0;
      unsigned int n = triangulation.n_active_cells(level);
      if (n > 0 && n_processes(triangulation) > 1)
      {
        n = 0;
        for (const auto &cell : triangulation.active_cell_iterators_on_level(level))
          n += cell->is_locally_owned();
      }
      return n;
    }

    template <int dim>
    void check_mesh(const dealii::Triangulation<dim> &triangulation)
    {
      require(triangulation.n_global_active_cells() > 0,
              "The triangulation has no cells: create or read a mesh first.");

      const std::vector<dealii::ReferenceCell> kinds = triangulation.get_reference_cells();
      std::string                              names;
      for (const dealii::ReferenceCell &kind : kinds)
        names += (names.empty() ? "" : ", ") + kind.to_string();
      require(kinds.size() == 1, "The mesh mixes cells of different kinds (" + names +
                                     "): use a mesh of one kind, or cut all cells into simplices.");
      require(kinds[0].is_hyper_cube() || kinds[0].is_simplex(),
              "The mesh consists of cells of kind " + names +
                  ", which are not supported: use quadrilaterals, hexahedra, triangles or tetrahedra.");

      if (kinds[0].is_simplex())
        for (unsigned int level = 0; level + 1 < triangulation.n_global_levels(); ++level)
        {
          const unsigned int n = n_own_cells(triangulation, level);
          require(n == 0, "The simplex mesh is refined adaptively: ", n, " active cells are on level ", level,
                  ", the finest is ", triangulation.n_global_levels() - 1,
                  "; refine simplices globally, or use quadrilaterals or hexahedra.");
        }
    }

    template <int dim>
    void check_element(const dealii::FiniteElement<dim> &fe, const std::string &place)
    {
      const bool         simplex    = fe.reference_cell().is_simplex();
      const unsigned int max_degree = simplex ? max_simplex_degree : max_cube_degree;
      const std::string  family     = (simplex ? "FE_SimplexP" : "FE_Q") + dim_string<dim>();
      const std::string  remedy     = ": use " + family + "(1) to " + family + "(" + std::to_string(max_degree) +
                                 "), or an FESystem of one of them.";

      const std::string subject = "The element " + fe.get_name() + place;
      require(fe.n_base_elements() == 1,
              subject + " combines different base elements, which is not supported" + remedy);

      const dealii::FiniteElement<dim> &base = fe.base_element(0);
      const std::type_info             &type = typeid(base);
      require(simplex ? type == typeid(dealii::FE_SimplexP<dim>) : type == typeid(dealii::FE_Q<dim>),
              subject + " is not supported" + remedy);
      require(base.degree >= 1 && base.degree <= max_degree, subject, " has degree ", base.degree,
              ", which is not supported", remedy);
      require(fe.n_components() <= max_n_components, subject, " has ", fe.n_components(), " components, at most ",
              max_n_components, " are supported: solve for fewer fields at once.");
    }

    template <int dim>
    void check_elements(const dealii::DoFHandler<dim> &dof_handler)
    {
      const auto                 &elements = dof_handler.get_fe_collection();
      const dealii::ReferenceCell cell     = dof_handler.get_triangulation().get_reference_cells()[0];
      require(elements.size() > 0 && dof_handler.has_active_dofs(),
              "The DoFHandler has no degrees of freedom: call distribute_dofs() before the extraction, with another "
              "element than FE_Nothing on some cells.");
      unsigned int n_supported = 0;
      for (unsigned int i = 0; i < elements.size(); ++i)
      {
        const std::string place =
            elements.size() > 1 ? " (number " + std::to_string(i) + " of the collection)" : std::string();
        require(elements[i].reference_cell() == cell, "The element ", elements[i].get_name(), place,
                " does not fit the mesh, whose cells are of kind ", cell.to_string(),
                ": choose an element of that kind.");
        if (elements[i].n_dofs_per_cell() > 0) // not FE_Nothing, or a system of it
        {
          check_element(elements[i], place);
          ++n_supported;
        }
      }
      require(!cell.is_simplex() || n_supported <= 1, "The DoFHandler has a collection of ", n_supported,
              " elements on a simplex mesh, where only one is supported: use one FE_SimplexP", dim_string<dim>(),
              " on all cells.");
      const unsigned long long n_dofs = dof_handler.n_locally_owned_dofs();
      require(n_dofs < static_cast<unsigned long long>(std::numeric_limits<int>::max()), "The DoFHandler has ", n_dofs,
              " degrees of freedom on one process, more than 32-bit indices can count: use a coarser mesh, or more "
              "processes.");
    }

    template <int dim>
    void check_mapping(const dealii::Mapping<dim> &mapping, const bool simplex)
    {
      if (simplex)
      {
        const std::string remedy = ": use MappingFE" + dim_string<dim>() + "(FE_SimplexP" + dim_string<dim>() + "(1)).";
        const auto       *mapping_fe = dynamic_cast<const dealii::MappingFE<dim> *>(&mapping);
        require(mapping_fe != nullptr && typeid(mapping) == typeid(dealii::MappingFE<dim>) &&
                    mapping.is_compatible_with(dim == 2 ? dealii::ReferenceCells::Triangle
                                                        : dealii::ReferenceCells::Tetrahedron),
                "The mapping of a simplex mesh is not a MappingFE of simplices" + remedy);
        require(mapping_fe->get_degree() == 1, "The mapping of a simplex mesh has degree ", mapping_fe->get_degree(),
                ", but simplices must be straight", remedy);
      }
      else
      {
        const auto *mapping_q = dynamic_cast<const dealii::MappingQ<dim> *>(&mapping);
        require(mapping_q != nullptr,
                "The mapping of a mesh of quadrilaterals or hexahedra is neither MappingQ nor made of one, as "
                "MappingQEulerian and MappingQCache are: use MappingQ",
                dim_string<dim>(), " of degree 1 to ", max_mapping_degree, ".");
        require(mapping_q->get_degree() <= max_mapping_degree, "The mapping MappingQ", dim_string<dim>(), "(",
                mapping_q->get_degree(), ") is not supported: use degree 1 to ", max_mapping_degree, ".");
        const auto *cache = dynamic_cast<const dealii::MappingQCache<dim> *>(&mapping);
        require(cache == nullptr || cache->memory_consumption() > sizeof(*cache),
                "The MappingQCache holds no points of this mesh: call its initialize() after each change of the mesh.");
      }
    }

    template <int dim>
    void check_data(const dealii::DoFHandler<dim> &dof_handler, const ExtractionData<dim> &data)
    {
      const unsigned int n_elements = dof_handler.get_fe_collection().size();
      const auto         check_size = [&](const unsigned int n_rules, const std::string &what) {
        require(n_rules <= 1 || n_rules == n_elements, "There are ", n_rules, " ", what, " rules for ", n_elements,
                        " elements: give one for all or one for each.");
      };
      check_size(data.quadrature.size(), "quadrature");
      check_size(data.face_quadrature.size(), "face quadrature");
    }
  } // namespace

  template <int dim>
  unsigned int n_processes(const dealii::Triangulation<dim> &triangulation)
  {
    // A program that never starts MPI is one process.
    return dealii::Utilities::MPI::job_supports_mpi()
               ? dealii::Utilities::MPI::n_mpi_processes(triangulation.get_communicator())
               : 1;
  }

  template unsigned int n_processes<2>(const dealii::Triangulation<2> &);
  template unsigned int n_processes<3>(const dealii::Triangulation<3> &);

  template <int dim>
  void ExtractionInput<dim>::check() const
  {
    const dealii::Triangulation<dim> &triangulation = dof_handler.get_triangulation();
    check_mesh(triangulation);
    check_elements(dof_handler);
    const bool simplex = triangulation.get_reference_cells()[0].is_simplex();
    check_mapping(mapping, simplex);
    check_data(dof_handler, data);

    require(constraints.n_constraints() == 0 || constraints.is_closed(), "The constraints (",
            constraints.n_constraints(),
            " lines) are not closed: call AffineConstraints::close() before the extraction.");
    if (simplex)
      for (const auto &line : constraints.get_lines())
        if (!line.entries.empty())
          throw Error("Degree of freedom ", line.index, " of the simplex mesh is constrained to ", line.entries.size(),
                      " others, as periodicity or hanging nodes do, but only prescribed values are supported there: "
                      "use quadrilaterals or hexahedra.");
  }

  template struct ExtractionInput<2>;
  template struct ExtractionInput<3>;
} // namespace PatchFEM::internal

namespace PatchFEM
{
  void check_for_cycles(const dealii::AffineConstraints<double> &constraints)
  {
    using Index = dealii::types::global_dof_index;

    const auto                             lines = constraints.get_lines();
    std::unordered_map<Index, std::size_t> line_of;
    for (std::size_t i = 0; i < lines.size(); ++i)
      line_of.emplace(lines[i].index, i);

    // Depth-first search along "is constrained to". A line that is met again while it is on the path closes a cycle.
    enum class State : char
    {
      unseen,
      on_path,
      done
    };
    struct Step
    {
      std::size_t line;
      std::size_t next_entry;
    };
    std::vector<State> state(lines.size(), State::unseen);
    std::vector<Step>  path;
    for (std::size_t start = 0; start < lines.size(); ++start)
    {
      if (state[start] != State::unseen)
        continue;
      path.push_back({start, 0});
      state[start] = State::on_path;
      while (!path.empty())
      {
        const auto &entries = lines[path.back().line].entries;
        if (path.back().next_entry == entries.size())
        {
          state[path.back().line] = State::done;
          path.pop_back();
          continue;
        }
        const auto found = line_of.find(entries[path.back().next_entry++].first);
        if (found == line_of.end() || state[found->second] == State::done)
          continue;
        const std::size_t next = found->second;
        if (state[next] == State::on_path)
        {
          const auto  is_next = [next](const Step &step) { return step.line == next; };
          std::string cycle;
          for (auto step = std::find_if(path.begin(), path.end(), is_next); step != path.end(); ++step)
            cycle += std::to_string(lines[step->line].index) + " -> ";
          throw Error("The constraints close a cycle of degrees of freedom, ", cycle, lines[next].index,
                      ": remove one of these lines before AffineConstraints::close().");
        }
        state[next] = State::on_path;
        path.push_back({next, 0});
      }
    }
  }
} // namespace PatchFEM
