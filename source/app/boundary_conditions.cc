// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/app/boundary_conditions.h>
#include <patchfem/app/mesh.h>
#include <patchfem/base/exceptions.h>
#include <patchfem/base/quote.h>

#include <deal.II/dofs/dof_tools.h>
#include <deal.II/grid/grid_tools.h>
#include <deal.II/numerics/vector_tools.h>

#include <algorithm>

namespace PatchFEM
{
  using dealii::types::boundary_id;

  namespace
  {
    /** The ids of boundary @p word; throws Error if all of them are @p held. */
    std::set<boundary_id> find_ids(const std::string           &word,
                                   const MeshRegions           &present,
                                   const std::set<boundary_id> &held,
                                   const std::string           &entry)
    {
      const std::set<boundary_id> ids = present.find(word, entry, "boundary");
      require(!std::includes(held.begin(), held.end(), ids.begin(), ids.end()), "The entry ", entry,
              " would be without effect on ", present.describe(word, "boundary"),
              ", where Boundary conditions/Dirichlet gives the whole solution; take it out of one of them.");
      return ids;
    }
  } // namespace

  template <int dim>
  BoundaryFormulas<dim>::BoundaryFormulas(const std::string              &text,
                                          const unsigned int              n_formulas,
                                          const bool                      allow_free,
                                          const std::vector<std::string> &exact,
                                          const Constants                &constants,
                                          const std::string              &entry)
      : name(entry)
  {
    for (const KeyedFormulas &item : split_keyed_formulas(text, false, entry))
    {
      std::vector<std::string> texts = item.formulas;
      if (texts.size() == 1 && texts[0] == "exact" && n_formulas > 1)
        texts.assign(n_formulas, "exact");
      require(texts.size() == n_formulas, "The entry ", entry, " has an item with ", texts.size(),
              " formulas (separated by ';') where ", n_formulas, " are wanted: ", quote(item.text), ".");
      Formulas formulas(n_formulas);
      for (unsigned int c = 0; c < n_formulas; ++c)
      {
        if (texts[c] == "free" && allow_free)
          continue;
        const bool is_exact = texts[c] == "exact";
        require(!is_exact || c < exact.size(), "The entry ", entry,
                " says 'exact', but there is no exact solution for it; fill Exact solution/Formula, which is for "
                "Dirichlet alone.");
        formulas[c].push_back(is_exact ? Expression<dim>(exact[c], constants, "Exact solution/Formula")
                                       : Expression<dim>(texts[c], constants, entry));
      }
      if (item.all)
      {
        require(!on_all, "The entry ", entry, " says 'all' twice.");
        on_all   = formulas;
        all_word = split_key(item.text).first;
      }
      for (const std::string &word : item.words)
        items.push_back({word, formulas});
    }
  }

  template <int dim>
  void
  BoundaryFormulas<dim>::resolve(const MeshRegions &present, const std::set<boundary_id> &held, const Overlap overlap)
  {
    by_id.clear();
    present.require_no_name(all_word, name, "boundary");
    std::map<std::string, std::string>                          names; // of groups, with their words
    std::map<std::pair<boundary_id, unsigned int>, std::string> givers;
    for (const Item &item : items)
    {
      const std::set<boundary_id> ids   = find_ids(item.word, present, held, name);
      const auto                  first = names.emplace(present.name_of(item.word), item.word);
      require(first.second, "The entry ", name, " names ", present.describe(item.word, "boundary"), " twice",
              first.first->second == item.word ? std::string()
                                               : ", as " + quote(first.first->second) + " and " + quote(item.word),
              ".");
      for (const boundary_id id : ids)
      {
        Formulas &formulas = by_id[id];
        formulas.resize(item.formulas.size());
        for (unsigned int c = 0; c < formulas.size(); ++c)
          if (formulas[c].empty() || overlap == Overlap::sum)
          {
            formulas[c].insert(formulas[c].end(), item.formulas[c].begin(), item.formulas[c].end());
            givers[{id, c}] = item.word;
          }
          else
            require(item.formulas[c].empty() || item.formulas[c] == formulas[c], "The entry ", name,
                    " gives different values",
                    formulas.size() > 1 ? " of component " + std::to_string(c + 1) : std::string(),
                    " to faces that are in ", quote(givers[{id, c}]), " and in ", quote(item.word),
                    "; write them alike, or give faces to one of both alone, for example by Boundary ids/Rules.");
      }
    }
    if (on_all)
      for (const boundary_id id : present.ids())
        by_id.emplace(id, *on_all);
    id_set.clear();
    for (const auto &item : by_id)
      id_set.insert(item.first);
  }

  template <int dim>
  const Expression<dim> *BoundaryFormulas<dim>::formula(const boundary_id id, const unsigned int c) const
  {
    const auto found = by_id.find(id);
    return found != by_id.end() && !found->second[c].empty() ? &found->second[c].front() : nullptr;
  }

  template <int dim>
  double BoundaryFormulas<dim>::value(const boundary_id id, const unsigned int c, const dealii::Point<dim> &point) const
  {
    const auto found  = by_id.find(id);
    double     result = 0.;
    if (found != by_id.end())
      for (const Expression<dim> &expression : found->second[c])
        result += expression.value(point);
    return result;
  }

  template <int dim>
  bool BoundaryFormulas<dim>::depends_on_time() const
  {
    for (const auto &item : by_id)
      for (const std::vector<Expression<dim>> &of_component : item.second)
        for (const Expression<dim> &expression : of_component)
          if (expression.depends_on_time())
            return true;
    return false;
  }

  void EssentialConditionParameters::declare_parameters(dealii::ParameterHandler &prm, const bool vector_valued)
  {
    prm.enter_subsection("Boundary conditions");
    prm.add_parameter(
        "Dirichlet", dirichlet,
        vector_valued
            ? "Displacements by boundary, a number or a name: '0: 0; 0; 0, clamp 2: free; free; 0.1*x'. A component "
              "that is 'free' has no condition, 'exact' is that of the exact solution, and 'all' stands for all "
              "boundaries "
              "not named."
            : "Values by boundary, a number or a name: '0: 0, inlet 2: x*y'. 'exact' is the exact solution, and 'all' "
              "stands for all boundaries not named.");
    if (vector_valued)
      prm.add_parameter("No normal flux", no_normal_flux,
                        "Boundaries on which the displacement has no normal component, such as '1, wall'.");
    prm.add_parameter(
        "Periodic", periodic,
        "Pairs of boundaries on which the solution is the same and the axis between them: '0 1 x, front back y'.");
    prm.leave_subsection();
  }

  template <int dim>
  EssentialConditions<dim>::EssentialConditions(const EssentialConditionParameters &parameters,
                                                const unsigned int                  n_components,
                                                const std::vector<std::string>     &exact,
                                                const Constants                    &constants)
      : n_components(n_components),
        dirichlet(
            parameters.dirichlet, n_components, n_components > 1, exact, constants, "Boundary conditions/Dirichlet")
  {
    for (const std::string &item : split_outside(parameters.no_normal_flux, ','))
      for (const std::string &word : split_words(item, "Boundary conditions/No normal flux"))
        no_normal_flux_words.push_back(word);
    for (const std::string &item : split_outside(parameters.periodic, ','))
    {
      const std::string              name  = "Boundary conditions/Periodic";
      const std::vector<std::string> words = split_words(item, name);
      if (words.empty())
        continue;
      require(words.size() == 3 && words[2].size() == 1 && words[2][0] >= 'x' && words[2][0] < 'x' + dim, "The entry ",
              name, " wants pairs of boundaries and the axis between them, x", dim == 3 ? ", y or z" : " or y",
              ", such as '0 1 x', but has ", quote(item), ".");
      require(words[0] != words[1], "The entry ", name, " joins ", MeshRegions().describe(words[0], "boundary"),
              " to itself; each part of the boundary needs a number or name of its own.");
      periodic_pairs.push_back({{{words[0], words[1]}}, static_cast<unsigned int>(words[2][0] - 'x'), {}});
    }
  }

  template <int dim>
  std::set<boundary_id> EssentialConditions<dim>::held_ids() const
  {
    std::set<boundary_id> result = dirichlet.ids();
    for (const boundary_id id : dirichlet.ids())
      for (unsigned int c = 0; c < n_components; ++c)
        if (dirichlet.formula(id, c) == nullptr)
          result.erase(id);
    return result;
  }

  template <int dim>
  void EssentialConditions<dim>::resolve(const MeshRegions &present)
  {
    dirichlet.resolve(present);
    const std::set<boundary_id> held = held_ids();
    no_normal_flux_ids.clear();
    for (const std::string &word : no_normal_flux_words)
      for (const boundary_id id : find_ids(word, present, held, "Boundary conditions/No normal flux"))
        if (held.count(id) == 0)
          no_normal_flux_ids.insert(id);
    for (PeriodicPair &pair : periodic_pairs)
    {
      for (unsigned int side = 0; side < 2; ++side)
        pair.ids[side] = find_ids(pair.words[side], present, {}, "Boundary conditions/Periodic");
      for (unsigned int side = 0; side < 2; ++side)
        for (const boundary_id id : pair.ids[side])
        {
          require(!dirichlet.contains(id), "Faces of ", present.describe(id, "boundary"),
                  " have both a periodic and a Dirichlet condition; choose one.");
          require(pair.ids[1 - side].count(id) == 0, "The entry Boundary conditions/Periodic joins ",
                  quote(pair.words[0]), " to ", quote(pair.words[1]), ", and faces of ",
                  present.describe(id, "boundary"), " are in both.");
        }
    }
  }

  template <int dim>
  void EssentialConditions<dim>::add_periodicity(dealii::Triangulation<dim> &triangulation)
  {
    // For deal.II each side has one id.
    constexpr boundary_id side_ids[2] = {cut_face_id - 1, cut_face_id - 2};
    using Iterator                    = typename dealii::Triangulation<dim>::cell_iterator;
    std::vector<dealii::GridTools::PeriodicFacePair<Iterator>> faces;
    for (const PeriodicPair &pair : periodic_pairs)
    {
      std::vector<std::pair<typename dealii::Triangulation<dim>::face_iterator, boundary_id>> changed;
      for (const auto &cell : triangulation.cell_iterators_on_level(0))
        for (const auto &face : cell->face_iterators())
          for (unsigned int side = 0; face->at_boundary() && side < 2; ++side)
            if (pair.ids[side].count(face->boundary_id()) > 0)
            {
              changed.emplace_back(face, face->boundary_id());
              face->set_boundary_id(side_ids[side]);
            }
      const auto restore = [&] {
        for (const auto &item : changed)
          item.first->set_boundary_id(item.second);
      };
      try
      {
        dealii::GridTools::collect_periodic_faces(triangulation, side_ids[0], side_ids[1], pair.direction, faces);
      }
      catch (const dealii::ExceptionBase &)
      {
        restore();
        throw Error("The faces of boundaries ", quote(pair.words[0]), " and ", quote(pair.words[1]),
                    " do not match along ", char('x' + pair.direction),
                    "; periodic parts of the boundary must be copies of each other.");
      }
      restore();
    }
    if (!faces.empty())
      triangulation.add_periodicity(faces);
    periodic_faces.clear();
    for (const auto &pair : faces)
      periodic_faces.push_back(
          {{pair.cell[0]->index(), pair.cell[1]->index()}, {pair.face_idx[0], pair.face_idx[1]}, pair.orientation});
  }

  template <int dim>
  void EssentialConditions<dim>::make_constraints(const dealii::Mapping<dim>        &mapping,
                                                  const dealii::DoFHandler<dim>     &dof_handler,
                                                  dealii::AffineConstraints<double> &constraints) const
  {
    make_periodicity_constraints(dof_handler, constraints);
    for (const boundary_id id : dirichlet.ids())
    {
      std::vector<bool>            mask(n_components, false);
      std::vector<Expression<dim>> values(n_components);
      for (unsigned int c = 0; c < n_components; ++c)
        if (const Expression<dim> *formula = dirichlet.formula(id, c))
        {
          mask[c]   = true;
          values[c] = *formula;
        }
      dealii::VectorTools::interpolate_boundary_values(mapping, dof_handler, id, ExpressionFunction<dim>(values),
                                                       constraints, dealii::ComponentMask(mask));
    }

    if (!no_normal_flux_ids.empty())
      dealii::VectorTools::compute_no_normal_flux_constraints(dof_handler, 0, no_normal_flux_ids, constraints, mapping);
  }

  template <int dim>
  std::vector<typename EssentialConditions<dim>::GivenValue>
  EssentialConditions<dim>::given_values(const dealii::Mapping<dim>              &mapping,
                                         const dealii::DoFHandler<dim>           &dof_handler,
                                         const dealii::AffineConstraints<double> &others) const
  {
    // Of several boundaries the first gives the value.
    std::map<dealii::types::global_dof_index, std::pair<boundary_id, GivenValue>> found;
    std::vector<dealii::types::global_dof_index>                                  of_face, of_cell;
    for (const auto &cell : dof_handler.active_cell_iterators())
      if (!cell->is_artificial() && cell->at_boundary())
        for (const auto &face : cell->face_iterators())
        {
          const boundary_id id = face->boundary_id();
          if (!face->at_boundary() || !dirichlet.contains(id))
            continue;
          const dealii::FiniteElement<dim> &fe = cell->get_fe();
          of_cell.resize(fe.n_dofs_per_cell());
          cell->get_dof_indices(of_cell);
          of_face.resize(fe.n_dofs_per_face());
          face->get_dof_indices(of_face, cell->active_fe_index());
          for (const dealii::types::global_dof_index unknown : of_face)
          {
            const unsigned int     i       = std::find(of_cell.begin(), of_cell.end(), unknown) - of_cell.begin();
            const Expression<dim> *formula = dirichlet.formula(id, fe.system_to_component_index(i).first);
            const auto             before  = found.find(unknown);
            if (formula == nullptr || others.is_constrained(unknown) ||
                (before != found.end() && before->second.first <= id))
              continue;
            found[unknown] = {id,
                              {unknown, formula, mapping.transform_unit_to_real_cell(cell, fe.unit_support_point(i))}};
          }
        }
    std::vector<GivenValue> result;
    for (const auto &item : found)
      result.push_back(item.second.second);
    return result;
  }

  template <int dim>
  void EssentialConditions<dim>::make_periodicity_constraints(const dealii::DoFHandler<dim>     &dof_handler,
                                                              dealii::AffineConstraints<double> &constraints) const
  {
    using Iterator = typename dealii::DoFHandler<dim>::cell_iterator;
    std::vector<dealii::GridTools::PeriodicFacePair<Iterator>> pairs;
    for (const PeriodicFaces &faces : periodic_faces)
    {
      const auto cell = [&](const int index) {
        return Iterator(&dof_handler.get_triangulation(), 0, index, &dof_handler);
      };
      pairs.push_back({{cell(faces.cells[0]), cell(faces.cells[1])},
                       {faces.faces[0], faces.faces[1]},
                       faces.orientation,
                       dealii::FullMatrix<double>()});
    }
    dealii::DoFTools::make_periodicity_constraints<dim, dim, double>(pairs, constraints);
  }

  template <int dim>
  std::map<boundary_id, dealii::ComponentMask> EssentialConditions<dim>::held() const
  {
    std::map<boundary_id, dealii::ComponentMask> result;
    for (const boundary_id id : dirichlet.ids())
    {
      std::vector<bool> mask(n_components);
      for (unsigned int c = 0; c < n_components; ++c)
        mask[c] = dirichlet.formula(id, c) != nullptr;
      result[id] = dealii::ComponentMask(mask);
    }
    for (const boundary_id id : no_normal_flux_ids)
      result[id] = dealii::ComponentMask(std::vector<bool>(n_components, true));
    return result;
  }

  template <int dim>
  std::set<boundary_id> EssentialConditions<dim>::ids() const
  {
    std::set<boundary_id> result = dirichlet.ids();
    result.insert(no_normal_flux_ids.begin(), no_normal_flux_ids.end());
    for (const PeriodicPair &pair : periodic_pairs)
      for (const std::set<boundary_id> &side : pair.ids)
        result.insert(side.begin(), side.end());
    return result;
  }

  template <int dim>
  std::vector<std::string> EssentialConditions<dim>::entries_on(const boundary_id id) const
  {
    std::vector<std::string> result;
    if (dirichlet.contains(id))
      result.push_back("Dirichlet");
    if (no_normal_flux_ids.count(id) > 0)
      result.push_back("No normal flux");
    for (const PeriodicPair &pair : periodic_pairs)
      for (unsigned int side = 0; side < 2; ++side)
        if (pair.ids[side].count(id) > 0)
          result.push_back("Periodic");
    return result;
  }

  template <int dim>
  NaturalConditions<dim>::NaturalConditions(const NaturalConditionParameters &parameters,
                                            const unsigned int                n_components,
                                            const Constants                  &constants)
      : n(n_components),
        loads(parameters.loads, n, false, {}, constants, "Boundary conditions/" + parameters.loads_entry),
        pressure(parameters.pressure, 1, false, {}, constants, "Boundary conditions/Pressure"),
        robin(parameters.robin, 1 + n, false, {}, constants, "Boundary conditions/Robin")
  {}

  template <int dim>
  void NaturalConditions<dim>::resolve(const MeshRegions &present, const std::set<boundary_id> &held)
  {
    boundaries = present;
    for (BoundaryFormulas<dim> *formulas : {&loads, &pressure, &robin})
      formulas->resolve(present, held, BoundaryFormulas<dim>::Overlap::sum);
  }

  template <int dim>
  std::vector<std::string> NaturalConditions<dim>::entries_on(const boundary_id id) const
  {
    std::vector<std::string> result;
    for (const BoundaryFormulas<dim> *formulas : {&loads, &pressure, &robin})
      if (formulas->contains(id))
        result.push_back(formulas->short_name());
    return result;
  }

  template <int dim>
  std::set<boundary_id> NaturalConditions<dim>::ids() const
  {
    std::set<boundary_id> result;
    for (const BoundaryFormulas<dim> *formulas : {&loads, &pressure, &robin})
      result.insert(formulas->ids().begin(), formulas->ids().end());
    return result;
  }

  template <int dim>
  void NaturalConditions<dim>::load(const boundary_id             id,
                                    const dealii::Point<dim>     &point,
                                    const dealii::Tensor<1, dim> &normal,
                                    double                       *g) const
  {
    const double p = pressure.value(id, 0, point);
    for (unsigned int c = 0; c < n; ++c)
      g[c] = -p * normal[c] + loads.value(id, c, point) + robin.value(id, 1 + c, point);
  }

  template <int dim>
  double NaturalConditions<dim>::robin_coefficient(const boundary_id id, const dealii::Point<dim> &point) const
  {
    const double value = robin.value(id, 0, point);
    require(value >= 0., [&] {
      return text_of("The coefficient alpha of Boundary conditions/Robin is negative on ",
                     boundaries.describe(id, "boundary"), "; it must be at least 0.");
    });
    return value;
  }

  template <int dim>
  void NaturalConditions<dim>::add_face(const dealii::FEFaceValues<dim> &values,
                                        const boundary_id                id,
                                        dealii::FullMatrix<double>      &matrix,
                                        dealii::Vector<double>          &rhs) const
  {
    const dealii::FiniteElement<dim> &fe = values.get_fe();
    std::vector<double>               g(n);
    for (const unsigned int q : values.quadrature_point_indices())
    {
      const dealii::Point<dim> &point = values.quadrature_point(q);
      const double              alpha = robin_coefficient(id, point);
      load(id, point, values.normal_vector(q), g.data());
      for (unsigned int i = 0; i < values.dofs_per_cell; ++i)
      {
        const unsigned int c       = fe.system_to_component_index(i).first;
        const double       value_i = values.shape_value(i, q) * values.JxW(q);
        if (alpha > 0.)
          for (unsigned int j = 0; j < values.dofs_per_cell; ++j)
            if (fe.system_to_component_index(j).first == c)
              matrix(i, j) += alpha * value_i * values.shape_value(j, q);
        rhs(i) += g[c] * value_i;
      }
    }
  }

  template class BoundaryFormulas<2>;
  template class BoundaryFormulas<3>;
  template class EssentialConditions<2>;
  template class EssentialConditions<3>;
  template class NaturalConditions<2>;
  template class NaturalConditions<3>;
} // namespace PatchFEM
