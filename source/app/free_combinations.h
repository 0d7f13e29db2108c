// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <deal.II/base/mpi.h>
#include <deal.II/lac/full_matrix.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace PatchFEM
{
  /** Blocks on and above the diagonal of a symmetric matrix. */
  using Pair   = std::pair<unsigned int, unsigned int>;
  using Blocks = std::map<Pair, dealii::FullMatrix<double>>;

  /** Adds u v^T to a block. */
  inline void add_product(const Pair &place, const std::vector<double> &u, const std::vector<double> &v, Blocks &blocks)
  {
    auto found = blocks.find(place);
    if (found == blocks.end())
      found = blocks.emplace(place, dealii::FullMatrix<double>(u.size(), u.size())).first;
    for (unsigned int i = 0; i < u.size(); ++i)
      for (unsigned int j = 0; j < u.size(); ++j)
        found->second(i, j) += u[i] * v[j];
  }

  inline Blocks sum_over_ranks(const Blocks &blocks, const unsigned int n_modes, const MPI_Comm communicator)
  {
    if (dealii::Utilities::MPI::n_mpi_processes(communicator) == 1)
      return blocks;
    std::vector<double> packed;
    for (const auto &item : blocks)
    {
      packed.push_back(item.first.first);
      packed.push_back(item.first.second);
      for (unsigned int i = 0; i < n_modes * n_modes; ++i)
        packed.push_back(item.second(i / n_modes, i % n_modes));
    }
    Blocks result;
    for (const auto &of_rank : dealii::Utilities::MPI::all_gather(communicator, packed))
      for (std::size_t i = 0; i < of_rank.size(); i += 2 + n_modes * n_modes)
        result.emplace(Pair(of_rank[i], of_rank[i + 1]), dealii::FullMatrix<double>(n_modes, n_modes))
            .first->second.add(1., dealii::FullMatrix<double>(n_modes, n_modes, &of_rank[i + 2]));
    return result;
  }

  /** A mode that no condition holds, and what else moves with it. */
  struct FreeCombination
  {
    unsigned int                                part, mode;
    std::map<unsigned int, std::vector<double>> coefficients; ///< by part, of those that move
  };

  /**
   * The null space of the semidefinite matrix G = sum r r^T of conditions r on the modes of all parts. Parts are
   * eliminated one by one, those of @p held last and those with fewest neighbours first, and in a part its modes in their
   * order: what is left of a mode's diagonal entry is its distance from those before it. Translations come first, so
   * that a hinge is called a rotation.
   */
  class Elimination
  {
  public:
    Elimination(Blocks                        blocks,
                const unsigned int            n_parts,
                const unsigned int            n_modes,
                const std::set<unsigned int> &held = {})
        : n_modes(n_modes), neighbors(n_parts), traces(n_parts)
    {
      for (const auto &block : blocks)
        if (block.first.first != block.first.second)
        {
          neighbors[block.first.first].insert(block.first.second);
          neighbors[block.first.second].insert(block.first.first);
        }
      std::set<Pair> queue; // neighbours, part
      const auto     place_of = [&](const unsigned int part) {
        return Pair(neighbors[part].size() + (held.count(part) != 0 ? n_parts : 0), part);
      };
      for (unsigned int part = 0; part < n_parts; ++part)
      {
        queue.insert(place_of(part));
        const auto diagonal = blocks.find({part, part});
        traces[part]        = diagonal != blocks.end() ? diagonal->second.trace() : 0.;
      }
      while (!queue.empty())
      {
        const unsigned int part = queue.begin()->second;
        queue.erase(queue.begin());
        for (const unsigned int other : neighbors[part])
          queue.erase(place_of(other));
        eliminate(part, blocks);
        for (const unsigned int other : neighbors[part])
        {
          neighbors[other].erase(part);
          for (const unsigned int third : neighbors[part])
            if (third != other)
              neighbors[other].insert(third);
        }
        for (const unsigned int other : neighbors[part])
          queue.insert(place_of(other));
      }
    }

    std::vector<FreeCombination> combinations() const
    {
      std::vector<FreeCombination> result;
      for (std::size_t s = 0; s < steps.size(); ++s)
        for (unsigned int m = 0; m < n_modes; ++m)
          if (!steps[s].held[m])
            result.push_back(combination(s, m));
      return result;
    }

  private:
    /** The rows of a part, divided by their pivots, over itself and its neighbours of then. */
    struct Step
    {
      std::vector<unsigned int>  parts;
      std::vector<char>          held; ///< [mode]
      dealii::FullMatrix<double> rows;
    };

    const unsigned int                  n_modes;
    std::vector<std::set<unsigned int>> neighbors;
    std::vector<double>                 traces;
    std::vector<Step>                   steps;

    dealii::FullMatrix<double> &block(Blocks &blocks, const unsigned int i, const unsigned int j) const
    {
      const auto found = blocks.find(Pair(i, j));
      return found != blocks.end()
                 ? found->second
                 : blocks.emplace(Pair(i, j), dealii::FullMatrix<double>(n_modes, n_modes)).first->second;
    }

    void eliminate(const unsigned int part, Blocks &blocks)
    {
      Step step{{part}, std::vector<char>(n_modes), dealii::FullMatrix<double>()};
      step.parts.insert(step.parts.end(), neighbors[part].begin(), neighbors[part].end());
      step.rows.reinit(n_modes, step.parts.size() * n_modes);
      for (unsigned int k = 0; k < step.parts.size(); ++k)
      {
        const bool transposed = step.parts[k] < part;
        const auto found      = blocks.find({std::min(part, step.parts[k]), std::max(part, step.parts[k])});
        for (unsigned int i = 0; i < n_modes && found != blocks.end(); ++i)
          for (unsigned int j = 0; j < n_modes; ++j)
            step.rows(i, k * n_modes + j) = transposed ? found->second(j, i) : found->second(i, j);
        if (found != blocks.end())
          blocks.erase(found);
      }
      std::vector<double> pivots(n_modes, 0.); // 0 of a free mode
      for (unsigned int m = 0; m < n_modes; ++m)
      {
        const double pivot = step.rows(m, m);
        step.held[m]       = pivot > 1e-12 * traces[part];
        if (!step.held[m])
          continue;
        pivots[m] = pivot;
        for (unsigned int j = 0; j < step.rows.n(); ++j)
          step.rows(m, j) /= pivot;
        for (unsigned int i = m + 1; i < n_modes; ++i)
          step.rows.add_row(i, -step.rows(i, m), m);
      }
      for (unsigned int k = 1; k < step.parts.size(); ++k)
        for (unsigned int l = k; l < step.parts.size(); ++l) // parts behind the first ascend
        {
          dealii::FullMatrix<double> &rest = block(blocks, step.parts[k], step.parts[l]);
          for (unsigned int m = 0; m < n_modes; ++m)
            for (unsigned int i = 0; i < n_modes && pivots[m] > 0.; ++i)
              for (unsigned int j = 0; j < n_modes; ++j)
                rest(i, j) -= step.rows(m, k * n_modes + i) * pivots[m] * step.rows(m, l * n_modes + j);
        }
      steps.push_back(std::move(step));
    }

    /** By substitution from the step of the free mode back to the first. */
    FreeCombination combination(const std::size_t last, const unsigned int mode) const
    {
      FreeCombination result{steps[last].parts[0], mode, {}};
      for (std::size_t s = last + 1; s-- > 0;)
      {
        const Step         &step = steps[s];
        std::vector<double> own(n_modes, 0.);
        bool                moves = s == last;
        if (s == last)
          own[mode] = 1.;
        for (unsigned int m = n_modes; m-- > 0;)
        {
          if (!step.held[m])
            continue;
          for (unsigned int j = m + 1; j < n_modes; ++j)
            own[m] -= step.rows(m, j) * own[j];
          for (unsigned int k = 1; k < step.parts.size(); ++k)
            if (const auto other = result.coefficients.find(step.parts[k]); other != result.coefficients.end())
              for (unsigned int j = 0; j < n_modes; ++j)
                own[m] -= step.rows(m, k * n_modes + j) * other->second[j];
          moves |= std::abs(own[m]) > 1e-9;
        }
        if (moves)
          result.coefficients.emplace(step.parts[0], own);
      }
      return result;
    }
  };
} // namespace PatchFEM
