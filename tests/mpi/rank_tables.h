// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "../../benchmarks/synthetic_tables.h"

#include <patchfem/lac/solver/conjugate_gradients.h>
#include <patchfem/mpi/mpi_communicator.h>
#include <patchfem/mpi/mpi_rank_group.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <set>
#include <vector>

namespace rank_tables
{
  using namespace PatchFEM;

  inline std::shared_ptr<const Communicator> world()
  {
    static const auto communicator = std::make_shared<const MPICommunicator>(MPI_COMM_WORLD);
    return communicator;
  }

  /**
   * Where systems of ranks are tested: each rank by itself, or where PATCHFEM_EMULATED_DEVICES says how ranks share, or on
   * real devices where PATCHFEM_TRANSPORT says how these exchange.
   */
  inline const std::vector<Backend> &backends()
  {
    static const std::vector<Backend> all = [] {
      if (std::getenv("PATCHFEM_TRANSPORT") != nullptr)
        return std::vector<Backend>{backend_of_ranks("cuda", MPI_COMM_WORLD)};
      const Backend shared = backend_of_ranks("emulated_device", MPI_COMM_WORLD);
      return shared.group() != nullptr ? std::vector<Backend>{shared}
                                       : std::vector<Backend>{Backend(BackendKind::host), shared};
    }();
    return all;
  }

  /** Solves A x = b from 0 until |b - A x| <= @p reduction |b|, which is expected; returns the steps. */
  inline unsigned int solve(const Operator<double>         &A,
                            const Vector<double>           &b,
                            const PreconditionBase<double> &preconditioner,
                            const double                    reduction,
                            Vector<double>                 &x)
  {
    A.initialize_vector(x);
    IterationControl control;
    control.tolerance = 0.;
    control.reduction = reduction;
    const auto result = ConjugateGradients<double>().solve(A, x, b, preconditioner, control);
    EXPECT_TRUE(result.success()) << result.message(preconditioner.name());
    return result.n_iterations;
  }

  /** Nodes by slabs of x and y, so that some ranks meet in edges; cells by the owner of their first node. */
  inline std::vector<int> owners(const ElementTables &tables, const int n_ranks)
  {
    std::vector<int> result(tables.n_nodes);
    for (int i = 0; i < tables.n_nodes; ++i)
    {
      const double *x = tables.points.data() + std::size_t(i) * tables.dim;
      result[i]       = std::clamp(static_cast<int>((0.8 * x[0] + 0.2 * x[1]) * n_ranks), 0, n_ranks - 1);
    }
    return result;
  }

  /** What rank @p rank of @p communicator has of @p all, nodes being points. Dof indices are the unknowns of @p all. */
  inline ElementTables
  part(const ElementTables &all, const std::vector<int> &owner, const std::shared_ptr<const Communicator> &communicator)
  {
    const int          n_comp = all.n_components, n_ranks = communicator->size(), me = communicator->rank();
    std::map<int, int> line_of;
    for (std::size_t l = 0; l < all.constraints.n_lines(); ++l)
      line_of[all.constraints.constrained[l]] = static_cast<int>(l);

    // Of each cell, all nodes that it feeds, and those who need it.
    const auto resolved = [&](const CellTable &batch, const int cell) {
      std::set<int> nodes;
      for (int i = 0; i < batch.reference.n_shape; ++i)
      {
        const int node = batch.nodes[std::size_t(cell) * batch.reference.n_shape + i];
        nodes.insert(node);
        for (int c = 0; c < n_comp; ++c)
          if (const auto line = line_of.find(node * n_comp + c); line != line_of.end())
            for (std::int64_t m = all.constraints.offsets[line->second]; m < all.constraints.offsets[line->second + 1];
                 ++m)
              nodes.insert(all.constraints.masters[m] / n_comp);
      }
      return nodes;
    };
    const auto owner_of_cell = [&](const CellTable &batch, const int cell) {
      return owner[batch.nodes[std::size_t(cell) * batch.reference.n_shape]];
    };

    ElementTables result;
    result.dim                = all.dim;
    result.n_components       = n_comp;
    result.ranks.communicator = communicator;
    std::vector<int> number(all.n_nodes), n_owned(n_ranks, 0); // of each node in its owner's tables
    for (int i = 0; i < all.n_nodes; ++i)
      number[i] = n_owned[owner[i]]++;

    std::set<int>                                      needed; // nodes
    std::map<int, RankTables::Copies>                  sent;
    std::map<int, RankTables::Received>                received;
    std::vector<std::vector<int>>                      cells; // [batch], of all
    std::map<std::pair<int, int>, std::pair<int, int>> place; // (batch, cell of all) -> here
    for (std::size_t b = 0; b < all.batches.size(); ++b)
    {
      std::vector<int>                own;
      std::map<int, std::vector<int>> copies;
      for (int cell = 0; cell < all.batches[b].n_cells; ++cell)
      {
        const int     from = owner_of_cell(all.batches[b], cell);
        std::set<int> ranks;
        for (const int node : resolved(all.batches[b], cell))
          ranks.insert(owner[node]);
        if (from == me)
        {
          for (const int to : ranks)
            if (to != me)
            {
              auto &copy = sent[to];
              copy.rank  = to;
              copy.cells.resize(all.batches.size());
              copy.cells[b].push_back(static_cast<int>(own.size()));
            }
          own.push_back(cell);
        }
        else if (ranks.count(me) > 0)
          copies[from].push_back(cell);
      }
      result.ranks.n_own_cells.push_back(static_cast<int>(own.size()));
      for (const auto &[from, list] : copies)
      {
        auto &entry = received[from];
        entry       = {from, entry.n_cells, 0};
        entry.n_cells.resize(all.batches.size(), 0);
        entry.n_cells[b] = static_cast<int>(list.size());
        own.insert(own.end(), list.begin(), list.end());
      }
      for (std::size_t i = 0; i < own.size(); ++i)
      {
        place[{static_cast<int>(b), own[i]}] = {static_cast<int>(b), static_cast<int>(i)};
        needed.merge(resolved(all.batches[b], own[i]));
      }
      cells.push_back(std::move(own));
    }
    for (auto &[rank, copy] : sent)
      result.ranks.sent.push_back(std::move(copy));
    for (auto &[rank, entry] : received)
      result.ranks.received.push_back(std::move(entry));

    std::vector<std::pair<Partitioner::Ghost, int>> ghosts;
    std::vector<int>                                nodes; // of all
    for (int i = 0; i < all.n_nodes; ++i)
      if (owner[i] == me)
        nodes.push_back(i);
    result.ranks.n_owned_nodes = static_cast<int>(nodes.size());
    for (const int node : needed)
      if (owner[node] != me)
        ghosts.push_back({{owner[node], number[node]}, node});
    std::sort(ghosts.begin(), ghosts.end());
    for (const auto &[ghost, node] : ghosts)
    {
      result.ranks.ghosts.push_back(ghost);
      nodes.push_back(node);
    }
    result.n_nodes = static_cast<int>(nodes.size());
    std::vector<int> local(all.n_nodes, -1);
    for (int i = 0; i < result.n_nodes; ++i)
    {
      local[nodes[i]] = i;
      for (int c = 0; c < n_comp; ++c)
        result.dof_indices.push_back(nodes[i] * n_comp + c);
      result.points.insert(result.points.end(), all.points.begin() + std::size_t(nodes[i]) * all.dim,
                           all.points.begin() + std::size_t(nodes[i] + 1) * all.dim);
    }
    for (std::size_t b = 0; b < all.batches.size(); ++b)
    {
      const CellTable &from = all.batches[b];
      CellTable       &to   = result.batches.emplace_back();
      to.reference          = from.reference;
      to.n_cells            = static_cast<int>(cells[b].size());
      for (const int cell : cells[b])
      {
        for (int i = 0; i < from.reference.n_shape; ++i)
          to.nodes.push_back(local[from.nodes[std::size_t(cell) * from.reference.n_shape + i]]);
        to.material_ids.push_back(from.material_ids.empty() ? 0 : from.material_ids[cell]);
        to.active_index.push_back(cell);
      }
    }
    // Faces: own ones first, then those of copies by their rank and there in the order of all.
    std::map<int, std::vector<FaceEntry>> of_copies;
    for (const FaceEntry &face : all.faces)
    {
      const int  from = owner_of_cell(all.batches[face.batch], face.cell);
      const auto at   = place.find({face.batch, face.cell});
      if (at == place.end())
        continue;
      const FaceEntry here{at->second.first, at->second.second, face.face, face.boundary_id};
      if (from != me)
      {
        of_copies[from].push_back(here);
        continue;
      }
      for (RankTables::Copies &copy : result.ranks.sent)
        if (const auto &list = copy.cells[here.batch]; std::find(list.begin(), list.end(), here.cell) != list.end())
          copy.faces.push_back(static_cast<int>(result.faces.size()));
      result.faces.push_back(here);
    }
    result.ranks.n_own_faces = static_cast<int>(result.faces.size());
    for (RankTables::Received &entry : result.ranks.received)
    {
      entry.n_faces = static_cast<int>(of_copies[entry.rank].size());
      result.faces.insert(result.faces.end(), of_copies[entry.rank].begin(), of_copies[entry.rank].end());
    }

    std::vector<std::pair<int, int>> lines; // (unknown here, line of all)
    for (const auto &[unknown, line] : line_of)
      if (local[unknown / n_comp] >= 0)
        lines.emplace_back(local[unknown / n_comp] * n_comp + unknown % n_comp, line);
    std::sort(lines.begin(), lines.end());
    // A line of a node that no cell here has may speak of masters that are not here.
    ConstraintTable &table = result.constraints;
    table.offsets.push_back(0);
    for (const auto &[unknown, line] : lines)
    {
      bool known = true;
      for (std::int64_t m = all.constraints.offsets[line]; m < all.constraints.offsets[line + 1]; ++m)
        known = known && local[all.constraints.masters[m] / n_comp] >= 0;
      if (!known)
        continue;
      table.constrained.push_back(unknown);
      table.inhomogeneity.push_back(all.constraints.inhomogeneity[line]);
      for (std::int64_t m = all.constraints.offsets[line]; m < all.constraints.offsets[line + 1]; ++m)
      {
        const int master = all.constraints.masters[m];
        table.masters.push_back(local[master / n_comp] * n_comp + master % n_comp);
        table.weights.push_back(all.constraints.weights[m]);
      }
      table.offsets.push_back(static_cast<std::int64_t>(table.masters.size()));
    }
    return result;
  }
} // namespace rank_tables
