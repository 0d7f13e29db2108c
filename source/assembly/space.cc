// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/assembly/assembly_strategy.h>
#include <patchfem/assembly/space.h>

#include <algorithm>
#include <cmath>

namespace PatchFEM
{
  namespace
  {
    /** What @p part holds, made of @p arguments when it is first asked for. */
    template <typename T, typename... Arguments>
    T &made(std::unique_ptr<T> &part, const Arguments &...arguments)
    {
      if (!part)
      {
        auto fresh = std::make_unique<T>();
        fresh->reinit(arguments...);
        part = std::move(fresh);
      }
      return *part;
    }
  } // namespace

  Space::Space(const Backend &backend, ElementTables tables, const AdditionalData &data)
      : state(std::make_shared<State>())
  {
    state->tables = std::make_shared<const ElementTables>(std::move(tables));
    if (backend.group() != nullptr)
      *this = Space(backend, std::make_shared<const GroupTables>(*backend.group(), state->tables), data);
    else
      made(state->batches, backend, *state->tables, data);
  }

  Space::Space(const Backend &backend, std::shared_ptr<const GroupTables> tables, const AdditionalData &data)
      : state(std::make_shared<State>())
  {
    state->group  = std::move(tables);
    state->tables = state->group->merged();
    on_owner_then_members(backend, [&] { made(state->batches, backend, *state->tables, data); });
  }

  Space::State &Space::get() const
  {
    require(state != nullptr, "A space was used before it was made.");
    return *state;
  }

  const Sparsity &Space::sparsity() const
  {
    State &s = get();
    on_owner_then_members(backend(), [&] {
      if (!s.sparsity)
        made(s.sparsity, *s.batches, made(s.row_cells, *s.batches));
    });
    return *s.sparsity;
  }

  SparsityView Space::pattern() const
  {
    const SparsityView result = sparsity().view();
    require(!get().released, "The columns of a space were given back before all matrices and plans were made.");
    return result;
  }

  void Space::release_sparsity_columns() const
  {
    sparsity();
    get().sparsity->release_columns();
    get().row_cells.reset();
    get().released = true;
  }

  std::shared_ptr<const Patches>
  Space::plan(const int b, const std::vector<kernels::PatchRoom> &rooms, const Patches::AdditionalData &data) const
  {
    State &s = get();
    for (const Plan &known : s.plans)
      if (known.batch == b && known.rooms == rooms && known.data == data)
        if (auto patches = known.patches.lock())
          return patches;
    pattern();
    if (s.row_cells && s.row_cells->batch() != b)
      s.row_cells.reset(); // its memory first
    const auto patches = make_plan(*s.batches, made(s.row_cells, *s.batches, true, b), *s.sparsity, rooms, data);
    s.row_cells.reset();
    s.plans.erase(std::remove_if(s.plans.begin(), s.plans.end(), [](const Plan &p) { return p.patches.expired(); }),
                  s.plans.end());
    s.plans.push_back({b, rooms, data, patches});
    return patches;
  }

  namespace
  {
    /** Appends to each list, [batch] and then that of faces, the values of copies: @p widths for each cell and face. */
    void append_copies(const RankTables &ranks, const std::vector<int> &widths, std::vector<std::vector<double>> &lists)
    {
      const int                          n_batches = static_cast<int>(lists.size()) - 1;
      std::map<int, std::vector<double>> messages;
      for (const RankTables::Copies &copies : ranks.sent)
      {
        std::vector<double> &message = messages[copies.rank];
        for (int b = 0; b <= n_batches; ++b)
          for (const int i : b < n_batches ? copies.cells[b] : copies.faces)
            message.insert(message.end(), lists[b].begin() + std::int64_t(i) * widths[b],
                           lists[b].begin() + std::int64_t(i + 1) * widths[b]);
      }
      messages = ranks.communicator->exchange(messages);
      for (const RankTables::Received &received : ranks.received)
      {
        auto next = messages.at(received.rank).begin();
        for (int b = 0; b <= n_batches; ++b)
        {
          const std::int64_t n = std::int64_t(b < n_batches ? received.n_cells[b] : received.n_faces) * widths[b];
          lists[b].insert(lists[b].end(), next, next + n);
          next += n;
        }
      }
    }
  } // namespace

  template <typename Number>
  std::vector<double> Space::by_tables(const Vector<Number> &vector) const
  {
    return on_owner_then_members(backend(), [&] {
      require(vector.size() == std::size_t(n_dofs()), "A vector does not have an entry for each unknown of its space.");
      const std::vector<Number> values = vector.copy_to_host();
      const std::vector<int>   &node   = batches().new_of_old();
      const int                 n_comp = batches().n_components();
      std::vector<double>       result(values.size());
#pragma omp parallel for schedule(static)
      for (int i = 0; i < batches().n_rows(); ++i)
        for (int c = 0; c < n_comp; ++c)
          result[std::size_t(i) * n_comp + c] = values[std::size_t(node[i]) * n_comp + c];
      return result;
    });
  }

  template <typename Number>
  void Space::from_tables(const std::vector<double> &values, Vector<Number> &vector) const
  {
    on_owner_then_members(backend(), [&] {
      require(values.size() == std::size_t(n_dofs()), "A vector does not have an entry for each unknown of its space.");
      const std::vector<int> &node   = batches().new_of_old();
      const int               n_comp = batches().n_components();
      std::vector<Number>     result(values.size());
#pragma omp parallel for schedule(static)
      for (int i = 0; i < batches().n_rows(); ++i)
        for (int c = 0; c < n_comp; ++c)
          result[std::size_t(node[i]) * n_comp + c] = static_cast<Number>(values[std::size_t(i) * n_comp + c]);
      initialize_dof_vector(vector, true);
      vector.copy_from_host(result);
    });
  }

  template std::vector<double> Space::by_tables(const Vector<float> &) const;
  template std::vector<double> Space::by_tables(const Vector<double> &) const;
  template void                Space::from_tables(const std::vector<double> &, Vector<float> &) const;
  template void                Space::from_tables(const std::vector<double> &, Vector<double> &) const;

  CoefficientField Space::with_copies(const CoefficientField &of_rank) const
  {
    using View                       = CoefficientView<double>;
    const bool              gathers  = group() != nullptr && !backend().group()->runs_alone();
    const CoefficientField  gathered = gathers ? group()->gather(of_rank) : CoefficientField();
    const CoefficientField &field    = gathers ? gathered : of_rank;
    const ElementTables    &tables   = tables_of_batches();
    const RankTables       &ranks    = tables.ranks;
    if (!ranks.several() || (field.kind() != View::cell && field.kind() != View::quadrature_point))
      return field;
    std::vector<int>                 widths;
    std::vector<std::vector<double>> lists = field.values();
    ranks.communicator->agree_on_errors([&] {
      require(lists.size() == ranks.n_own_cells.size(), "A field needs values for every batch of cells.");
      for (std::size_t b = 0; b < lists.size(); ++b)
      {
        widths.push_back(field.n_values() *
                         (field.kind() == View::cell ? 1 : tables.batches[b].reference.n_quadrature));
        const std::size_t own = std::size_t(widths[b]) * ranks.n_own_cells[b];
        require(lists[b].size() == own || lists[b].size() == std::size_t(widths[b]) * tables.batches[b].n_cells,
                "A field has another number of values than this rank's own cells of batch ", b, " need.");
        lists[b].resize(own);
      }
    });
    widths.push_back(0);
    lists.emplace_back(); // no faces
    append_copies(ranks, widths, lists);
    lists.pop_back();
    return field.kind() == View::cell ? CoefficientField::by_cell(field.n_values(), std::move(lists))
                                      : CoefficientField::at_quadrature_points(field.n_values(), std::move(lists));
  }

  FaceTerms Space::with_copies(const FaceTerms &of_rank) const
  {
    const bool           gathers  = group() != nullptr && !backend().group()->runs_alone();
    const FaceTerms      gathered = gathers ? group()->gather(of_rank) : FaceTerms();
    const FaceTerms     &terms    = gathers ? gathered : of_rank;
    const ElementTables &tables   = tables_of_batches();
    const RankTables    &ranks    = tables.ranks;
    if (!ranks.several())
      return terms;
    // All values of a face side by side, with room for the points of the largest one; which terms there are, all know.
    const int n_comp = tables.n_components;
    int       n_q    = 0;
    for (const CellTable &batch : tables.batches)
      n_q = std::max(n_q, batch.reference.n_face_quadrature);
    const auto points_of = [&](const std::size_t face) {
      return tables.batches[tables.faces[face].batch].reference.n_face_quadrature;
    };
    std::int64_t n_own = 0, n_all = 0, there[2] = {terms.load.empty() ? 0 : 1, terms.robin.empty() ? 0 : 1};
    for (std::size_t face = 0; face < tables.faces.size(); ++face)
    {
      n_all += points_of(face);
      n_own += face < std::size_t(ranks.n_own_faces) ? points_of(face) : 0;
    }
    ranks.communicator->maximum(there, 2);
    ranks.communicator->agree_on_errors([&] {
      const auto fits = [&](const std::vector<double> &values, const int n) {
        const auto size = static_cast<std::int64_t>(values.size());
        return size == 0 || size == n_own * n || size == n_all * n;
      };
      require(fits(terms.load, n_comp) && fits(terms.robin, 1),
              "Boundary terms need a value at every quadrature point of every face of the element tables.");
    });
    FaceTerms  result;
    const auto complete = [&](const std::vector<double> &own, const int n, std::vector<double> &all) {
      const int                        width = n_q * n;
      std::vector<std::vector<double>> lists(ranks.n_own_cells.size() + 1);
      std::vector<int>                 widths(ranks.n_own_cells.size(), 0);
      widths.push_back(width);
      lists.back().assign(std::size_t(ranks.n_own_faces) * width, 0.);
      std::int64_t next = 0;
      for (int face = 0; !own.empty() && face < ranks.n_own_faces; next += points_of(face++) * n)
        std::copy_n(own.begin() + next, points_of(face) * n, lists.back().begin() + std::int64_t(face) * width);
      append_copies(ranks, widths, lists);
      for (std::size_t face = 0; face < tables.faces.size(); ++face)
        all.insert(all.end(), lists.back().begin() + face * width,
                   lists.back().begin() + face * width + points_of(face) * n);
    };
    if (there[0] != 0)
      complete(terms.load, n_comp, result.load);
    if (there[1] != 0)
      complete(terms.robin, 1, result.robin);
    return result;
  }

  /** Where this rank's nodes lie. */
  Array<double> Space::owned_points() const
  {
    Array<double> all = batches().node_points();
    if (batches().n_rows() == batches().n_nodes())
      return all;
    Array<double> points(backend(), std::size_t(batches().n_rows()) * batches().dimension()); // ghosts are behind
    if (!points.empty())
      memory::copy(backend(), points.data(), backend(), all.data(), points.memory_consumption());
    return points;
  }

  NearNullSpace Space::constants() const
  {
    return on_owner_then_members(backend(), [&] {
      NearNullSpace result = NearNullSpace::constants(batches().n_components(), batches().dimension(), owned_points());
      result.set_embedding(linear_embedding());
      return result;
    });
  }

  NearNullSpace Space::rigid_body_modes() const
  {
    return on_owner_then_members(backend(), [&] { return rigid_body_modes_here(); });
  }

  NearNullSpace Space::rigid_body_modes_here() const
  {
    require(batches().n_components() == batches().dimension(),
            "Rigid-body modes are of displacements, with a component for each dimension.");
    const std::shared_ptr<const Partitioner> &nodes = batches().partitioner();
    NearNullSpace                             result;
    agree_on_errors(nodes, [&] {
      result = NearNullSpace::rigid_body_modes(batches().dimension(), owned_points(),
                                               nodes != nullptr ? &nodes->communicator() : nullptr);
      result.set_embedding(linear_embedding());
    });
    return result;
  }

  const RowCells &Space::node_cells() const
  {
    on_owner_then_members(backend(), [&] { made(get().node_cells, batches(), false); });
    return *get().node_cells;
  }

  const ConstraintLines &Space::constraints() const
  {
    static const ConstraintTable none;
    State                       &s = get();
    on_owner_then_members(backend(),
                          [&] { made(s.lines, *s.batches, s.is_constrained ? s.tables->constraints : none); });
    return *s.lines;
  }

  /** @p values, [line], where lines of ghosts have those of their owners. */
  std::vector<double> Space::values_of_owners(std::vector<double> values) const
  {
    const std::vector<int> &lines = tables_of_batches().constraints.constrained, &node = batches().new_of_old();
    const int               n_comp = batches().n_components();
    const auto              place  = [&](const int unknown) {
      return std::size_t(node[unknown / n_comp]) * n_comp + unknown % n_comp;
    };
    std::vector<double> all(node.size() * n_comp, 0.);
    for (std::size_t l = 0; l < lines.size(); ++l)
      all[place(lines[l])] = values[l];
    batches().partitioner()->update_ghosts(all.data(), n_comp);
    for (std::size_t l = 0; l < lines.size(); ++l)
      values[l] = all[place(lines[l])];
    return values;
  }

  void Space::update_inhomogeneities(const std::vector<double> &of_rank)
  {
    const auto check = [&] {
      require(of_rank.size() == tables().constraints.n_lines(),
              "There must be one inhomogeneity for each constraint of the space.");
      for (const double value : of_rank)
        require(std::isfinite(value), "The inhomogeneity of a constraint is not finite.");
    };
    State                    &s        = get();
    const std::vector<double> gathered = s.group ? s.group->gather_lines(of_rank, check) : std::vector<double>();
    if (!s.group)
      check();
    const std::vector<double> &values = s.group ? gathered : of_rank;
    const ConstraintLines     &lines  = constraints();
    s.lines->set_inhomogeneities(s.tables->ranks.several() ? values_of_owners(values) : values);
    s.batches->set_inhomogeneities(lines.constrained_unknowns(), lines.inhomogeneities());
  }

  Space Space::unconstrained() const
  {
    State &s = get();
    if (!s.unconstrained)
    {
      auto free            = std::make_shared<State>();
      free->group          = s.group;
      free->tables         = s.tables;
      free->is_constrained = false;
      free->batches        = std::make_unique<ElementBatches>();
      on_owner_then_members(backend(), [&] { free->batches->reinit_unconstrained(*s.batches, *s.tables); });
      s.unconstrained = std::move(free);
    }
    Space result;
    result.state = s.unconstrained;
    return result;
  }

  std::size_t Space::memory_consumption() const
  {
    const State &s     = get();
    const auto   of    = [](const auto &part) { return part ? part->memory_consumption() : 0; };
    std::size_t  bytes = of(s.batches) + of(s.sparsity) + of(s.row_cells) + of(s.node_cells) + of(s.lines);
    for (const Plan &known : s.plans)
      bytes += of(known.patches.lock());
    if (s.unconstrained)
      bytes += unconstrained().memory_consumption();
    return bytes;
  }
} // namespace PatchFEM
