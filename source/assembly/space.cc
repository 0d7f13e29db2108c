// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/assembly/assembly_strategy.h>
#include <patchfem/assembly/space.h>

#include <algorithm>
#include <cmath>

namespace PatchFEM
{
  Space::Space(const Backend &backend, ElementTables tables, const AdditionalData &data)
      : state(std::make_shared<State>())
  {
    state->tables  = std::make_shared<const ElementTables>(std::move(tables));
    state->batches = std::make_unique<ElementBatches>();
    state->batches->reinit(backend, *state->tables, data);
  }

  Space::State &Space::get() const
  {
    require(state != nullptr, "A space was used before it was made.");
    return *state;
  }

  const Sparsity &Space::sparsity() const
  {
    State &s = get();
    if (!s.sparsity)
    {
      auto row_cells = std::make_unique<RowCells>();
      auto sparsity  = std::make_unique<Sparsity>();
      row_cells->reinit(*s.batches);
      sparsity->reinit(*s.batches, *row_cells);
      s.row_cells = std::move(row_cells);
      s.sparsity  = std::move(sparsity);
    }
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
    if (!s.row_cells || s.row_cells->batch() != b)
    {
      s.row_cells.reset(); // its memory first
      auto row_cells = std::make_unique<RowCells>();
      row_cells->reinit(*s.batches, true, b);
      s.row_cells = std::move(row_cells);
    }
    const auto patches = make_plan(*s.batches, *s.row_cells, *s.sparsity, rooms, data);
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
    State &s = get();
    if (!s.node_cells)
    {
      auto cells = std::make_unique<RowCells>();
      cells->reinit(*s.batches, false);
      s.node_cells = std::move(cells);
    }
    return *s.node_cells;
  }

  const ConstraintLines &Space::constraints() const
  {
    State &s = get();
    if (!s.lines)
    {
      static const ConstraintTable none;
      auto                         lines = std::make_unique<ConstraintLines>();
      lines->reinit(*s.batches, s.is_constrained ? s.tables->constraints : none);
      s.lines = std::move(lines);
    }
    return *s.lines;
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
    std::size_t  bytes = s.batches->memory_consumption();
    if (s.sparsity)
      bytes += s.sparsity->memory_consumption();
    if (s.row_cells)
      bytes += s.row_cells->memory_consumption();
    if (s.node_cells)
      bytes += s.node_cells->memory_consumption();
    if (s.lines)
      bytes += s.lines->memory_consumption();
    for (const Plan &known : s.plans)
      if (const auto patches = known.patches.lock())
        bytes += patches->memory_consumption();
    if (s.unconstrained)
      bytes += unconstrained().memory_consumption();
    return bytes;
  }
} // namespace PatchFEM
