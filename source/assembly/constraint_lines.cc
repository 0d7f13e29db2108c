// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/constraint_bodies.h"

#include <patchfem/assembly/constraint_lines.h>
#include <patchfem/base/rank_group.h>
#include <patchfem/kernels/blas1.h>
#include <patchfem/kernels/parallel_for.h>

#include <algorithm>
#include <numeric>

namespace PatchFEM
{
  void ConstraintLines::reinit(const ElementBatches &batches, const ConstraintTable &table)
  {
    place                            = batches.backend();
    n_unknowns                       = batches.n_dofs();
    ranks                            = batches.partitioner();
    const std::vector<int> &node     = batches.new_of_old();
    const int               n        = batches.n_components();
    const auto              renumber = [&](const int unknown) { return node[unknown / n] * n + unknown % n; };

    std::vector<int> lines(table.constrained.size()), sources(table.masters.size());
    std::transform(table.constrained.begin(), table.constrained.end(), lines.begin(), renumber);
    std::transform(table.masters.begin(), table.masters.end(), sources.begin(), renumber);
    std::vector<std::int64_t> starts = table.offsets;
    if (starts.empty())
      starts.push_back(0);

    // By master, in the order of the lines, so that sums are the same each time.
    std::vector<int>          line_of(sources.size());
    std::vector<std::int64_t> order(sources.size());
    for (std::size_t l = 0; l < lines.size(); ++l)
      std::fill(line_of.begin() + starts[l], line_of.begin() + starts[l + 1], static_cast<int>(l));
    std::iota(order.begin(), order.end(), std::int64_t(0));
    std::stable_sort(order.begin(), order.end(),
                     [&](const std::int64_t a, const std::int64_t b) { return sources[a] < sources[b]; });
    std::vector<int>          fed, from;
    std::vector<std::int64_t> fed_starts;
    std::vector<double>       fed_weights;
    for (const std::int64_t m : order)
    {
      if (fed.empty() || fed.back() != sources[m])
      {
        fed.push_back(sources[m]);
        fed_starts.push_back(static_cast<std::int64_t>(from.size()));
      }
      from.push_back(lines[line_of[m]]);
      fed_weights.push_back(table.weights[m]);
    }
    fed_starts.push_back(static_cast<std::int64_t>(from.size()));

    constrained.copy_from(place, lines);
    offsets.copy_from(place, starts);
    masters.copy_from(place, sources);
    weights.copy_from(place, table.weights);
    inhomogeneity.copy_from(place, table.inhomogeneity);
    receivers.copy_from(place, fed);
    feeding_offsets.copy_from(place, fed_starts);
    feeding.copy_from(place, from);
    feeding_weights.copy_from(place, fed_weights);
  }

  void ConstraintLines::set_inhomogeneities(const std::vector<double> &values)
  {
    inhomogeneity.copy_from(values.data(), values.size());
  }

  bool ConstraintLines::motion(const Vector<double> &u, Array<double> &k) const
  {
    check(u);
    u.update_ghosts();
    const auto    n = static_cast<std::int64_t>(n_lines());
    Array<double> largest(place, 2);
    k.reinit(place, n);
    launch(place, [&](auto where) {
      kernels::parallel_for(where, n, kernels::MotionBody{view(), u.data(), k.data()});
      kernels::linfty_norm(where, n, inhomogeneity.data(), largest.data());
      kernels::linfty_norm(where, n, k.data(), largest.data() + 1);
    });
    const std::vector<double> of_rank = largest.to_vector();
    const auto of_all = [&](const double x) { return ranks != nullptr ? ranks->communicator().maximum(x) : x; };
    const bool moves  = !(of_all(of_rank[1]) <= 1e-14 * std::max(of_all(of_rank[0]), u.linfty_norm()));
    if (!moves)
      k.set_zero();
    return moves;
  }

  template <typename Number>
  void ConstraintLines::check(const Vector<Number> &x) const
  {
    require(x.size() == n_unknowns, "A vector does not have an entry for each unknown of its space.");
    require(x.backend() == place, "A vector lives on another back end than its space.");
    require(x.partitioner() == ranks, "A vector is not of the ranks of its space; Space::initialize_dof_vector() makes "
                                      "one that is.");
  }

  template <typename Number>
  void ConstraintLines::distribute(Vector<Number> &x, const Array<double> &k) const
  {
    on_owner_then_members(place, [&] {
      check(x);
      x.update_ghosts(); // which are masters, and have lines of their own behind the elements
      launch(place, [&](auto where) {
        kernels::parallel_for(where, n_lines(), kernels::DistributeBody<Number>{view(), k.data(), x.data()});
      });
    });
  }

  template <typename Number>
  void ConstraintLines::set_zero(Vector<Number> &x) const
  {
    on_owner_then_members(place, [&] {
      check(x);
      launch(place, [&](auto where) {
        kernels::parallel_for(where, n_lines(), kernels::SetConstrainedZeroBody<Number>{view(), x.data()});
      });
    });
  }

  template <typename Number>
  void ConstraintLines::condense(Vector<Number> &b) const
  {
    on_owner_then_members(place, [&] {
      check(b);
      b.update_ghosts();
      launch(place, [&](auto where) {
        kernels::parallel_for(where, receivers.size(), kernels::CondenseBody<Number>{view(), b.data()});
      });
      set_zero(b);
    });
  }

  template <typename Number>
  void ConstraintLines::condense(const Operator<Number> &A, Vector<Number> &b) const
  {
    on_owner_then_members(place, [&] {
      check(b);
      require(std::size_t(A.n_rows()) == n_unknowns && A.partitioner() == ranks &&
                  (ranks != nullptr || A.n_columns() == A.n_rows()),
              "A matrix does not have a row and a column for each unknown of its space.");
      Vector<Number> k, product;
      k.reinit(b);
      product.reinit(b);
      distribute(k); // of 0: k itself
      A.residual(product, k, b);
      b.swap(product);
      condense(b);
    });
  }

  ConstraintLinesView ConstraintLines::view() const
  {
    return {constrained.data(), offsets.data(),         masters.data(), weights.data(),        inhomogeneity.data(),
            receivers.data(),   feeding_offsets.data(), feeding.data(), feeding_weights.data()};
  }

  std::size_t ConstraintLines::memory_consumption() const
  {
    return memory_consumption_of(constrained, offsets, masters, weights, inhomogeneity, receivers, feeding_offsets,
                                 feeding, feeding_weights);
  }

#define PATCHFEM_INSTANTIATE(Number)                                                        \
  template void ConstraintLines::distribute(Vector<Number> &, const Array<double> &) const; \
  template void ConstraintLines::set_zero(Vector<Number> &) const;                          \
  template void ConstraintLines::condense(Vector<Number> &) const;                          \
  template void ConstraintLines::condense(const Operator<Number> &, Vector<Number> &) const
  PATCHFEM_INSTANTIATE(float);
  PATCHFEM_INSTANTIATE(double);
#undef PATCHFEM_INSTANTIATE
} // namespace PatchFEM
