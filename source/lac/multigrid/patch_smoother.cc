// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lac/graph/graph_tools.h"

#include "kernels/ordering.h"
#include "kernels/patch_matrix_bodies.h"
#include "kernels/smoother_bodies.h"
#include <patchfem/lac/multigrid/amg_parameters.h>
#include <patchfem/lac/multigrid/patch_smoother.h>

namespace PatchFEM
{
  using graph_tools::maximum;
  using graph_tools::scan;

  PatchStorage patch_storage(const std::string &name)
  {
    if (name == "automatic")
      return PatchStorage::automatic;
    if (name == "both")
      return PatchStorage::both;
    if (name == "half")
      return PatchStorage::half;
    require(name == "half_atomic", "There is no storage of patches called " + name + ".");
    return PatchStorage::half_atomic;
  }

  template <typename Number>
  void PatchMatrix<Number>::reinit(const SlicedEllpackMatrix<Number> &A,
                                   const AggregateLists              &aggregates,
                                   const PatchStorage                 patch_storage)
  {
    const Backend &place = A.backend();
    storage              = kernels::chosen_storage(patch_storage, A.block_rows());
    const bool half      = storage != PatchStorage::both;
    block_size           = A.block_rows();
    slice_height         = kernels::patch_slice_height(block_size);
    const int n_nodes    = A.n_rows() / block_size;
    require(aggregates.has_patches(), "The smoother works on patches, but the aggregation makes none.");
    require(static_cast<int>(aggregates.patch_nodes().size()) == n_nodes && A.block_columns() == block_size &&
                aggregates.patch_nodes().backend() == place,
            "The patches of a smoother do not fit its matrix.");

    constexpr int size_of_others = 256;
    const int     n_given        = static_cast<int>(aggregates.patch_offsets().size()) - 1;
    const int     n_others       = n_nodes - aggregates.patch_offsets().read(n_given);
    const int     n_patches      = n_given + (n_others + size_of_others - 1) / size_of_others;
    Array<int>    offsets(place, std::size_t(n_patches) + 1), inner(place, n_nodes), kept(place, n_nodes);
    patch_of_node.reinit(place, n_nodes);
    run(place, std::int64_t(n_patches) + 1,
        kernels::AllPatchOffsetsBody{aggregates.patch_offsets().data(), n_given, size_of_others, n_nodes,
                                     offsets.data()});
    run(place, n_patches,
        kernels::PatchOfNodeBody{offsets.data(), aggregates.patch_nodes().data(), patch_of_node.data()});
    run(place, n_nodes,
        kernels::CountInnerBody<Number>{A.view(), A.row_lengths(), patch_of_node.data(), half, inner.data(),
                                        kept.data()});

    Array<int> sorted;
    sorted.copy_from(place, aggregates.patch_nodes());
    {
      const int            longest = maximum(inner), bits = bits_for(std::int64_t(longest) + 1);
      Array<std::uint64_t> keys(place, n_nodes);
      run(place, n_nodes,
          kernels::PatchRowKeyBody{sorted.data(), patch_of_node.data(), inner.data(), kept.data(), bits, longest, half,
                                   keys.data()});
      dispatch(place, [&](auto where) {
        kernels::stable_sort_by_key(where, n_nodes, keys.data(), sorted.data(),
                                    (half ? 2 : 1) * bits + bits_for(n_patches));
      });
    }

    std::int64_t n_slices;
    {
      Array<int>          counts(place, n_patches);
      Array<std::int64_t> scanned;
      run(place, n_patches, kernels::PatchSlicesBody{offsets.data(), slice_height, counts.data()});
      n_slices      = scan(counts, scanned);
      largest_patch = maximum(counts) * slice_height;
      require(largest_patch <= 65536, "A patch of " + std::to_string(largest_patch) +
                                          " nodes is too large for the smoother, which numbers them by 16 bits.");
      patch_slices.reinit(place, std::size_t(n_patches) + 1);
      run(place, std::int64_t(n_patches) + 1, kernels::NarrowBody{scanned.data(), patch_slices.data()});
    }
    const std::int64_t n_slots = n_slices * slice_height;
    nodes.reinit(place, n_slots);
    slot_of_node.reinit(place, n_nodes);
    run(place, n_slots, kernels::FillBody{nodes.data(), -1});
    run(place, n_nodes,
        kernels::SlotBody{sorted.data(), patch_of_node.data(), offsets.data(), patch_slices.data(), slice_height,
                          nodes.data(), slot_of_node.data()});

    Array<int> inner_sizes(place, n_slices), mirror_sizes(place, n_slices), outer_sizes(place, n_slices);
    run(place, n_slices,
        kernels::PatchSliceSizesBody{nodes.data(), A.row_lengths(), inner.data(), kept.data(), slice_height,
                                     inner_sizes.data(), mirror_sizes.data(), outer_sizes.data()});
    const std::int64_t n_inner = scan(inner_sizes, inner_offsets), n_outer = scan(outer_sizes, outer_offsets);
    const std::int64_t entries = std::int64_t(block_size) * block_size;
    Array<int>         n_blocks(place, n_patches);
    run(place, n_patches, kernels::PatchBlocksBody{patch_slices.data(), inner_offsets.data(), n_blocks.data()});
    largest_inner = maximum(n_blocks);
    inner_columns.reinit(place, n_inner);
    outer_columns.reinit(place, n_outer);
    inner_values.reinit(place, n_inner * entries);
    outer_values.reinit(place, n_outer * entries);
    diagonal.reinit(place, n_slots * (block_size * (block_size + 1) / 2));
    fill(A, nullptr, nullptr, inner_columns.data(), outer_columns.data());

    mirrors.reinit(place, 0);
    largest_mirror = 0;
    if (storage != PatchStorage::half)
      return;
    require(largest_inner <= 65536, "A patch of " + std::to_string(largest_inner) +
                                        " blocks is too large for half storage, which numbers them by 16 bits; store "
                                        "both halves.");
    mirrors.reinit(place, scan(mirror_sizes, mirror_offsets));
    run(place, n_patches, kernels::PatchBlocksBody{patch_slices.data(), mirror_offsets.data(), n_blocks.data()});
    largest_mirror = maximum(n_blocks);
    run(place, n_slots,
        kernels::MirrorsBody<Number>{A.view(), A.row_lengths(), nodes.data(), patch_of_node.data(), slot_of_node.data(),
                                     patch_slices.data(), inner_offsets.data(), mirror_offsets.data(),
                                     inner_columns.data(), slice_height, mirrors.data()});
  }

  template <typename Number>
  void PatchMatrix<Number>::fill(const SlicedEllpackMatrix<Number> &A,
                                 Number                            *to_inner,
                                 Number                            *to_outer,
                                 std::uint16_t                     *to_inner_columns,
                                 int                               *to_outer_columns)
  {
    run(A.backend(), static_cast<std::int64_t>(nodes.size()),
        kernels::FillPatchMatrixBody<Number>{A.view(), A.row_lengths(), nodes.data(), patch_of_node.data(),
                                             slot_of_node.data(), inner_offsets.data(), outer_offsets.data(),
                                             slice_height, storage != PatchStorage::both, to_inner_columns,
                                             to_outer_columns, to_inner, to_outer});
  }

  template <typename Number>
  void PatchMatrix<Number>::compute(const SlicedEllpackMatrix<Number>     &A,
                                    const PreconditionBlockJacobi<Number> &D_inverse,
                                    const int                              sweeps,
                                    const double                          *all_weights)
  {
    n_sweeps = sweeps;
    weights  = all_weights;
    fill(A, inner_values.data(), outer_values.data(), nullptr, nullptr);
    run(A.backend(), static_cast<std::int64_t>(nodes.size()),
        kernels::PatchDiagonalBody<Number>{*D_inverse.block_diagonal(), nodes.data(), slice_height, diagonal.data()});
  }

  template <typename Number>
  void PatchMatrix<Number>::vmult(Vector<Number> &dst, const Vector<Number> &src) const
  {
    dispatch(nodes.backend(), [&](auto where) { kernels::patch_inverse(where, view(), src.data(), dst.data()); });
  }

  template <typename Number>
  PatchMatrixView<Number> PatchMatrix<Number>::view() const
  {
    return {n_patches(),
            block_size,
            slice_height,
            largest_patch,
            static_cast<std::size_t>(largest_inner),
            patch_slices.data(),
            nodes.data(),
            inner_offsets.data(),
            inner_columns.data(),
            inner_values.data(),
            outer_offsets.data(),
            outer_columns.data(),
            outer_values.data(),
            diagonal.data(),
            static_cast<int>(nodes.size()) / slice_height,
            n_sweeps,
            weights,
            storage,
            static_cast<std::size_t>(largest_mirror),
            mirror_offsets.data(),
            mirrors.data()};
  }

  template <typename Number>
  std::size_t PatchMatrix<Number>::memory_consumption() const
  {
    std::size_t bytes = inner_columns.memory_consumption() + mirrors.memory_consumption();
    for (const Array<std::int64_t> *array : {&inner_offsets, &mirror_offsets, &outer_offsets})
      bytes += array->memory_consumption();
    for (const Array<int> *array : {&patch_slices, &nodes, &patch_of_node, &slot_of_node, &outer_columns})
      bytes += array->memory_consumption();
    for (const Array<Number> *array : {&inner_values, &outer_values, &diagonal})
      bytes += array->memory_consumption();
    return bytes;
  }

  template <typename Number>
  PatchSmoother<Number>::PatchSmoother(const AggregateLists &aggregates,
                                       const int             n_steps,
                                       const double          eigenvalue_ratio,
                                       const int             n_sweeps,
                                       const int             eigenvalue_steps,
                                       const PatchStorage    storage)
      : aggregates(&aggregates), n_steps(n_steps), eigenvalue_ratio(eigenvalue_ratio), n_sweeps(n_sweeps),
        eigenvalue_steps(eigenvalue_steps), storage(storage)
  {
    require(n_steps >= 1, "A smoother needs at least one sweep, not " + std::to_string(n_steps) + ".");
    require(eigenvalue_ratio > 1., "The interval of a patch smoother is empty: its ratio must be above 1.");
    require(n_sweeps >= 1, "A smoother needs at least one inner sweep, not " + std::to_string(n_sweeps) + ".");
  }

  template <typename Number>
  void PatchSmoother<Number>::initialize(const SlicedEllpackMatrix<Number>     &A,
                                         const PreconditionBlockJacobi<Number> &D_inverse,
                                         const LargestEigenvalue<Number>       &lambda_of_diagonal)
  {
    const Backend &place = A.backend();
    if (weights.empty())
    {
      patches.reinit(A, *aggregates, storage);
      weights.reinit(place, std::size_t(n_sweeps) + n_steps);
    }
    run(place, n_sweeps, kernels::OmegaBody{lambda_of_diagonal.scalars(), 4. / 3., weights.data()});
    patches.compute(A, D_inverse, n_sweeps, weights.data());
    lambda.compute(A, patches, eigenvalue_steps);
    run(place, n_steps,
        kernels::ChebyshevWeightBody{lambda.scalars(), eigenvalue_ratio, n_steps, weights.data() + n_sweeps});
  }

  template <typename Number>
  void PatchSmoother<Number>::pre_smooth(Vector<Number> &x, Vector<Number> &r, const Vector<Number> &b) const
  {
    const PatchMatrixView<Number> A      = patches.view();
    const double *const           weight = weights.data() + n_sweeps;
    dispatch(weights.backend(), [&](auto where) {
      for (int step = 0; step < n_steps; ++step)
      {
        if (step > 0)
          kernels::patch_outer_residual(where, A, x.data(), b.data(), r.data());
        kernels::patch_relaxation(where, A, weight + step, b.data(), step > 0 ? r.data() : nullptr, x.data(),
                                  step == n_steps - 1 ? r.data() : nullptr);
      }
      kernels::patch_outer_residual(where, A, x.data(), r.data(), r.data());
    });
  }

  template <typename Number>
  void PatchSmoother<Number>::post_smooth(Vector<Number> &x, Vector<Number> &r, const Vector<Number> &b) const
  {
    const PatchMatrixView<Number> A      = patches.view();
    const double *const           weight = weights.data() + n_sweeps;
    dispatch(weights.backend(), [&](auto where) {
      for (int step = n_steps - 1; step >= 0; --step)
      {
        kernels::patch_outer_residual(where, A, x.data(), b.data(), r.data());
        kernels::patch_relaxation(where, A, weight + step, b.data(), r.data(), x.data(),
                                  static_cast<Number *>(nullptr));
      }
    });
  }

  template <typename Number>
  std::size_t PatchSmoother<Number>::memory_consumption() const
  {
    return patches.memory_consumption() + weights.memory_consumption();
  }

  template class PatchMatrix<float>;
  template class PatchMatrix<double>;
  template class PatchSmoother<float>;
  template class PatchSmoother<double>;
} // namespace PatchFEM
