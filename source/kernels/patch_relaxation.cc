// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/instantiate.h"
#include <patchfem/base/threads.h>
#include <patchfem/kernels/jacobi.h>
#include <patchfem/kernels/patch_relaxation.h>

#include <algorithm>
#include <vector>

namespace PatchFEM::kernels
{
  namespace
  {
    constexpr int max_slice_height = 32;

    /**
     * use(a, r, sum) for the rows of a slice of one part of A, whose @p columns and @p values begin at the slice, times z;
     * of half storage the sums of kept blocks, and before them mirror(c, k, columns, products) for the k-th kept blocks of
     * the rows, but the diagonal: component c of their transposes times z of the rows, which begins at @p own. Component c
     * of node j of z is z[c * pitch + j * stride]. The innermost loop runs over rows, which stand side by side.
     */
    template <int  static_size,
              bool half,
              typename Sum,
              typename Column,
              typename Number,
              typename Stride,
              typename Use,
              typename Mirror>
    inline void slice_product(const PatchMatrixView<Number> &A,
                              const int                      width,
                              const Column *__restrict__ columns,
                              const Number *__restrict__ values,
                              const Number *__restrict__ z,
                              const std::int64_t             pitch,
                              const Stride                   stride,
                              [[maybe_unused]] const int     own,
                              const Use                     &use,
                              [[maybe_unused]] const Mirror &mirror)
    {
      constexpr int           storage = static_size > 0 ? static_size : max_block_size;
      const int               b = static_size > 0 ? static_size : A.block_size, h = A.slice_height;
      Sum                     sums[storage][max_slice_height];
      Number                  gathered[max_slice_height];
      [[maybe_unused]] Number transposed[max_slice_height];
      for (int a = 0; a < b; ++a)
        for (int r = 0; r < h; ++r)
          sums[a][r] = 0;
      for (int k = 0; k < width; ++k, columns += h, values += std::int64_t(b) * b * h)
        for (int c = 0; c < b; ++c)
        {
          const Number *__restrict__ z_c = z + c * pitch;
#pragma omp simd
          for (int r = 0; r < h; ++r)
          {
            gathered[r] = z_c[std::int64_t(columns[r]) * stride];
            if constexpr (half)
              transposed[r] = 0;
          }
          for (int a = 0; a < b; ++a)
          {
            const Number *__restrict__ entry                = values + (a * b + c) * h;
            [[maybe_unused]] const Number *__restrict__ z_a = z + a * pitch + own;
#pragma omp simd
            for (int r = 0; r < h; ++r)
            {
              sums[a][r] += static_cast<Sum>(entry[r]) * static_cast<Sum>(gathered[r]);
              if constexpr (half)
                transposed[r] += entry[r] * z_a[r];
            }
          }
          if constexpr (half)
            if (k > 0)
              mirror(c, k, columns, transposed);
        }
      for (int a = 0; a < b; ++a)
        for (int r = 0; r < h; ++r)
          use(a, r, sums[a][r]);
    }

    /** One patch: its vectors, [component][slot], and the steps of the relaxation on them. */
    template <int static_size, typename Number>
    struct PatchWork
    {
      const PatchMatrixView<Number> &A;
      std::vector<Number>            rhs, z, t, sums;
      std::vector<Number>            mirrored; ///< products of kept blocks for the other row, [component][block]
      int                            first_slice = 0, last_slice = 0, n_slots = 0;

      explicit PatchWork(const PatchMatrixView<Number> &A) : A(A)
      {
        const std::size_t n = std::size_t(A.largest_patch) * A.block_size;
        rhs.resize(n);
        z.resize(n);
        t.resize(n);
        if (A.storage != PatchStorage::both)
          sums.resize(n);
        if (A.storage == PatchStorage::half)
          mirrored.resize(A.largest_inner * A.block_size);
      }

      int size() const { return static_size > 0 ? static_size : A.block_size; }

      void start(const int patch)
      {
        first_slice = A.patch_slices[patch];
        last_slice  = A.patch_slices[patch + 1];
        n_slots     = (last_slice - first_slice) * A.slice_height;
      }

      /** use(unknown of A, place in the vectors of the patch) */
      template <typename Use>
      void for_each_unknown(const Use &use) const
      {
        const int  b     = size();
        const int *nodes = A.nodes + std::int64_t(first_slice) * A.slice_height;
        for (int i = 0; i < n_slots; ++i)
          if (nodes[i] >= 0)
            for (int a = 0; a < b; ++a)
              use(std::int64_t(nodes[i]) * b + a, std::int64_t(a) * n_slots + i);
      }

      void gather(const Number *from, std::vector<Number> &to)
      {
        const std::int64_t n = std::int64_t(n_slots) * size();
        for (std::int64_t i = 0; i < n; ++i)
          to[i] = 0;
        for_each_unknown([&](const std::int64_t i, const std::int64_t place) { to[place] = from[i]; });
      }

      /** use(place, sum) for the rows of a slice, see slice_product(). */
      template <bool half, typename Use, typename Mirror>
      void inner_product(const int slice, const Use &use, const Mirror &mirror) const
      {
        const std::int64_t begin = A.inner_offsets[slice];
        const int          slot  = (slice - first_slice) * A.slice_height;
        slice_product<static_size, half, Number>(
            A, A.width(A.inner_offsets, slice), A.inner_columns + begin, A.inner_values + begin * size() * size(),
            z.data(), n_slots, std::integral_constant<int, 1>(), slot,
            [&](const int a, const int r, const Number sum) { use(std::int64_t(a) * n_slots + slot + r, sum); },
            mirror);
      }

      /** to = rhs - A_P z */
      void residual(std::vector<Number> &to)
      {
        const auto use = [&](const std::int64_t place, const Number sum) { to[place] = rhs[place] - sum; };
        if (A.storage == PatchStorage::half)
          return mirrored_product(use);
        if (A.storage == PatchStorage::half_atomic)
          return scattered_product(use);
        for (int slice = first_slice; slice < last_slice; ++slice)
          inner_product<false>(slice, use, nullptr);
      }

      /** use(place, sum) for A_P z */
      template <typename Use>
      void mirrored_product(const Use &use)
      {
        const int          b = size(), h = A.slice_height;
        const std::int64_t begin = A.inner_offsets[first_slice], n_blocks = A.inner_offsets[last_slice] - begin;
        for (int slice = first_slice; slice < last_slice; ++slice)
        {
          Number *const place = mirrored.data() + (A.inner_offsets[slice] - begin);
          for (int c = 0; c < b; ++c)
            std::fill_n(place + c * n_blocks, A.width(A.inner_offsets, slice) > 0 ? h : 0, Number(0));
          inner_product<true>(
              slice, [&](const std::int64_t place, const Number sum) { sums[place] = sum; },
              [&](int c, int k, const std::uint16_t *, const Number *product) {
                std::copy_n(product, h, place + c * n_blocks + std::int64_t(k) * h);
              });
        }
        for (int slice = first_slice; slice < last_slice; ++slice)
        {
          const std::uint16_t *const mirrors = A.mirrors + A.mirror_offsets[slice];
          const int                  width   = A.width(A.mirror_offsets, slice);
          for (int c = 0; c < b; ++c)
          {
            const std::int64_t  place  = std::int64_t(c) * n_slots + (slice - first_slice) * h;
            const Number *const source = mirrored.data() + c * n_blocks;
            Number             *sum    = sums.data() + place;
            for (int k = 0; k < width; ++k)
#pragma omp simd
              for (int r = 0; r < h; ++r)
                sum[r] += source[mirrors[k * h + r]];
            for (int r = 0; r < h; ++r)
              use(place + r, sum[r]);
          }
        }
      }

      /** On the host a patch belongs to one thread, which needs no atomics and repeats its results. */
      template <typename Use>
      void scattered_product(const Use &use)
      {
        const std::int64_t n = std::int64_t(n_slots) * size();
        std::fill_n(sums.begin(), n, Number(0));
        for (int slice = first_slice; slice < last_slice; ++slice)
          inner_product<true>(
              slice, [&](const std::int64_t place, const Number sum) { sums[place] += sum; },
              [&](int c, int, const std::uint16_t *columns, const Number *product) {
                for (int r = 0; r < A.slice_height; ++r)
                  sums[std::int64_t(c) * n_slots + columns[r]] += product[r];
              });
        for (std::int64_t place = 0; place < n; ++place)
          use(place, sums[place]);
      }

      /** z = omega D^-1 from or z = z + omega D^-1 from. */
      void apply_diagonal(const double omega, const std::vector<Number> &from, const bool add)
      {
        const int    b = size(), h = A.slice_height, packed = A.packed();
        const Number weight = static_cast<Number>(omega);
        for (int slice = first_slice; slice < last_slice; ++slice)
        {
          const Number *D    = A.diagonal + std::int64_t(slice) * packed * h;
          const int     slot = (slice - first_slice) * h;
          for (int a = 0; a < b; ++a)
          {
            Number *z_a                    = z.data() + std::int64_t(a) * n_slots + slot;
            Number  sums[max_slice_height] = {};
            for (int c = 0; c < b; ++c)
            {
              const Number *entry  = D + (a > c ? a * (a + 1) / 2 + c : c * (c + 1) / 2 + a) * h;
              const Number *from_c = from.data() + std::int64_t(c) * n_slots + slot;
#pragma omp simd
              for (int r = 0; r < h; ++r)
                sums[r] += entry[r] * from_c[r];
            }
#pragma omp simd
            for (int r = 0; r < h; ++r)
              z_a[r] = (add ? z_a[r] : Number(0)) + weight * sums[r];
          }
        }
      }

      /** z = M^-1 rhs */
      void relax()
      {
        apply_diagonal(A.weights[0], rhs, false);
        for (int sweep = 1; sweep < A.n_sweeps; ++sweep)
        {
          residual(t);
          apply_diagonal(A.weights[sweep], t, true);
        }
      }
    };

    template <typename Number, typename Work>
    void for_each_patch(const PatchMatrixView<Number> &A, const Work &work)
    {
      with_block_size(A.block_size, [&](auto size) {
        for_pieces(A.n_patches, 1, [&](const auto &next) {
          PatchWork<decltype(size)::value, Number> patch(A);
          next([&](const std::int64_t p) {
            patch.start(static_cast<int>(p));
            work(patch);
          });
        });
      });
    }
  } // namespace

  template <typename Number, typename Where>
  void patch_relaxation(Where,
                        const PatchMatrixView<Number> &A,
                        const double                  *weight,
                        const Number                  *b,
                        const Number                  *r,
                        Number                        *x,
                        Number                        *r_out)
  {
    const Number omega = weight != nullptr ? static_cast<Number>(*weight) : Number(1);
    for_each_patch(A, [=](auto &patch) {
      patch.gather(r != nullptr ? r : b, patch.rhs);
      if (r != nullptr)
      {
        patch.gather(x, patch.z);
        patch.residual(patch.rhs);
      }
      patch.relax();
      patch.for_each_unknown([&](const std::int64_t i, const std::int64_t place) {
        patch.z[place] = (r != nullptr ? x[i] : Number(0)) + omega * patch.z[place];
        x[i]           = patch.z[place];
      });
      if (r_out == nullptr)
        return;
      patch.gather(b, patch.rhs);
      patch.residual(patch.t);
      patch.for_each_unknown([&](const std::int64_t i, const std::int64_t place) { r_out[i] = patch.t[place]; });
    });
  }

  template <typename Number, typename Where>
  void patch_outer_residual(Where, const PatchMatrixView<Number> &A, const Number *x, const Number *b, Number *r)
  {
    const int n_slices = A.n_slices;
    with_block_size(A.block_size, [&](auto static_size) {
      constexpr int size = decltype(static_size)::value;
      const int     nc = size > 0 ? size : A.block_size, h = A.slice_height;
#pragma omp parallel for schedule(static)
      for (int slice = 0; slice < n_slices; ++slice)
      {
        const std::int64_t begin = A.outer_offsets[slice];
        const int          width = A.width(A.outer_offsets, slice);
        if (width == 0 && b == r)
          continue;
        slice_product<size, false, double>(
            A, width, A.outer_columns + begin, A.outer_values + begin * nc * nc, x, 1, nc, 0,
            [&](const int a, const int i, const double sum) {
              const int node = A.nodes[std::int64_t(slice) * h + i];
              if (node < 0)
                return;
              const std::int64_t row = std::int64_t(node) * nc + a;
              r[row]                 = static_cast<Number>(static_cast<double>(b[row]) - sum);
            },
            nullptr);
      }
    });
  }

  PATCHFEM_INSTANTIATE_PATCH_RELAXATION(Host)
} // namespace PatchFEM::kernels
