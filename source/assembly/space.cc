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
    made(state->batches, backend, *state->tables, data);
  }

  Space::State &Space::get() const
  {
    require(state != nullptr, "A space was used before it was made.");
    return *state;
  }

  const Sparsity &Space::sparsity() const
  {
    State &s = get();
    return s.sparsity ? *s.sparsity : made(s.sparsity, *s.batches, made(s.row_cells, *s.batches));
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

  NearNullSpace Space::constants() const
  {
    return NearNullSpace::constants(batches().n_components(), batches().dimension(), batches().node_points());
  }

  NearNullSpace Space::rigid_body_modes() const
  {
    require(batches().n_components() == batches().dimension(),
            "Rigid-body modes are of displacements, with a component for each dimension.");
    return NearNullSpace::rigid_body_modes(batches().dimension(), batches().node_points());
  }

  const RowCells &Space::node_cells() const
  {
    return made(get().node_cells, batches(), false);
  }

  const ConstraintLines &Space::constraints() const
  {
    static const ConstraintTable none;
    State                       &s = get();
    return made(s.lines, *s.batches, s.is_constrained ? s.tables->constraints : none);
  }

  void Space::update_inhomogeneities(const std::vector<double> &values)
  {
    const ConstraintLines &lines = constraints();
    require(values.size() == lines.n_lines(), "There must be one inhomogeneity for each constraint of the space.");
    for (const double value : values)
      require(std::isfinite(value), "The inhomogeneity of a constraint is not finite.");
    State &s = get();
    s.lines->set_inhomogeneities(values);
    s.batches->set_inhomogeneities(lines.constrained_unknowns(), lines.inhomogeneities());
  }

  Space Space::unconstrained() const
  {
    State &s = get();
    if (!s.unconstrained)
    {
      auto free            = std::make_shared<State>();
      free->tables         = s.tables;
      free->is_constrained = false;
      free->batches        = std::make_unique<ElementBatches>();
      free->batches->reinit_unconstrained(*s.batches, *s.tables);
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
