// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/base/threads.h>
#include <patchfem/kernels/cell_records.h>
#include <patchfem/kernels/element_bodies.h>
#include <patchfem/kernels/patch_bodies.h>
#include <patchfem/kernels/team.h>

#include <algorithm>
#include <vector>

/** @file Host definitions of the assembly kernels: threads over cells and patches, one worker each. */
namespace PatchFEM::kernels
{
  /** Cells of a chunk's buffer, resolved or staged. */
  template <typename Form, typename Number>
  struct HostElements : public AnyKernel
  {
    static void launch(Host, const AssemblyArguments<Number> &a)
    {
      const ElementBody<Form, Number> body{a};
      for_shares(body.n_cells(), [&](const std::int64_t begin, const std::int64_t end) {
        std::vector<typename ElementBody<Form, Number>::Point> scratch(body.n_points(a.batches));
        for (std::int64_t k = begin; k < end; ++k)
        {
          const BufferedCell cell = body.cell(static_cast<int>(k));
          body.geometry(cell, 0, 1, scratch.data());
          body.integrate(cell, 0, 1, scratch.data());
          body.boundary(cell, 0, 1);
          body.resolve(cell, 0, 1);
        }
      });
    }
  };

  /** Adds computed cell number @p position of a patch to the patch's rows. */
  template <typename Form, typename Number, typename Extents>
  PATCHFEM_INLINE void add_cell(const PatchBody<Form::n_components, Number>                   &body,
                                const CellRecords<Form, Number, Extents>                      &cells,
                                const int                                                      patch,
                                const std::int64_t                                             entry,
                                const typename PatchBody<Form::n_components, Number>::Scratch &s)
  {
    const AssemblyArguments<Number> &a     = cells.a;
    const PatchesView               &p     = a.patches;
    const int                        first = p.first_row(patch), n_rows = p.end_row(patch) - first;
    const int                        n      = cells.n_shape();
    const int                        local  = p.cells[entry] - cells.batch().first_cell;
    const int                       *nodes  = cells.batch().nodes + std::int64_t(local) * n;
    Number                          *record = static_cast<Number *>(s.workers);
    const bool                       upper  = p.places.upper();
    const std::uint64_t              word   = upper ? p.places.upper_word(entry) : 0;
    std::int64_t                     pair   = upper ? 0 : p.pair_offsets[patch] + p.cell_pairs[entry];
    for (int q = 0; q < cells.n_quadrature(); ++q)
      cells.stage(local, q, record + q * cells.point_size(n));
    for (int i = 0; i < n; ++i)
    {
      const int row = nodes[i] - first;
      if (row < 0 || row >= n_rows)
        continue;
      if (body.with_matrix())
        for (int j = 0; j < n; ++j)
        {
          const int place = !upper   ? p.places(pair, n, nodes[i], i, j)
                            : i == j ? s.diagonal[row]
                                     : p.places.upper_place(word, n, row, nodes[j] - first, i, j);
          if (place >= 0)
            body.add(row, place, cells.block(record, local, i, j), s);
        }
      if (body.loaded())
        for (int c = 0; c < Form::n_components; ++c)
          s.rhs[row * Form::n_components + c] += cells.load(record, local, i, c);
      ++pair;
    }
  }

  /** Sums of patches: @p add_cells(patch, scratch) adds the cells that are not buffered, with @p worker_bytes. */
  template <typename Body, typename Function>
  void sum_patches(const Body &body, const std::size_t worker_bytes, const Function &add_cells)
  {
    const auto        &a = body.a;
    const PatchesView &p = a.patches;
    // One of several batches may have its cells in a few threads' shares of the patches.
    const int n_patches = a.end_patch - a.first_patch;
    const int piece     = a.batches.n_batches > 1 ? 16 : n_patches / max_threads() + 1;
    for_pieces(n_patches, piece, [&](const auto &next) {
      std::vector<double> memory((body.row_bytes() + worker_bytes) / sizeof(double) + 1);
      const auto          scratch = body.scratch(memory.data());
      next([&](const std::int64_t number) {
        const int patch = a.first_patch + static_cast<int>(number);
        if (body.idle(patch))
          return body.pass_over(patch, 0, 1);
        body.clear(patch, 0, 1, scratch);
        add_cells(patch, scratch);
        if (p.fed_offsets != nullptr)
          for (std::int64_t fed = p.fed_offsets[patch]; fed < p.fed_offsets[patch + 1]; ++fed)
            body.add_buffered(patch, fed, SerialTeam(), scratch);
        body.write(patch, 0, 1, scratch, a.add);
      });
    });
  }

  /** Patches compute cells of such extents. */
  template <typename Form, typename Number, typename Extents>
  struct HostCells : public AnyKernel
  {
    static constexpr const char *name = name_of_cells<Extents>();

    static bool serves(const KernelRequest &r) { return r.strategy == "patches" && fits<Extents>(r); }

    static std::size_t worker_bytes(const ReferenceView &r)
    {
      return CellRecords<Form, Number, Extents>::record_size(r.n_shape, r.n_quadrature) * sizeof(Number);
    }

    static PatchRoom room(const KernelRequest &r)
    {
      return {r.fast_memory / std::max(1, r.concurrent), worker_bytes(r.reference)};
    }

    static void launch(Host, const AssemblyArguments<Number> &a)
    {
      const PatchBody<Form::n_components, Number> body{a};
      const CellRecords<Form, Number, Extents>    cells{a};
      const PatchesView                          &p = a.patches;
      sum_patches(body, worker_bytes(cells.batch().reference), [&](const int patch, const auto &scratch) {
        for (std::int64_t entry = p.cell_offsets[patch]; entry < p.cell_offsets[patch + 1]; ++entry)
          add_cell(body, cells, patch, entry, scratch);
        if (body.with_matrix() && p.places.upper())
          body.mirror(patch, 0, 1, scratch);
      });
    }
  };

  /** Rows gather staged cells. */
  template <typename Form, typename Number>
  struct HostGather : public AnyKernel
  {
    static constexpr const char *name = "row after row";

    static bool      serves(const KernelRequest &r) { return r.strategy == "gather"; }
    static PatchRoom room(const KernelRequest &r) { return {r.fast_memory / 4}; }

    static void launch(Host, const AssemblyArguments<Number> &a)
    {
      const PatchBody<Form::n_components, Number> body{a};
      sum_patches(body, 0, [&](const int patch, const auto &scratch) {
        for (int row = 0; row < a.patches.end_row(patch) - a.patches.first_row(patch); ++row)
          body.add_staged(patch, row, SerialTeam(), scratch);
      });
    }
  };

  template <typename Form, typename Number>
  AssemblyKernel<Number> needs_patchfem_add_weak_form::assembly_kernel(const Host where, const KernelRequest &request)
  {
    constexpr int dim = Form::dimension;
    using Summing     = std::tuple<HostGather<Form, Number>, HostCells<Form, Number, LinearSimplex<dim>>,
                               HostCells<Form, Number, MultilinearCube<dim>>, HostCells<Form, Number, AnyExtents>>;
    return find_kernel<Form, Number, std::tuple<HostElements<Form, Number>>, Summing>(where, request);
  }
} // namespace PatchFEM::kernels

/** Compiles the host kernels of a weak form. */
#define PATCHFEM_INSTANTIATE_ASSEMBLY(Form) PATCHFEM_INSTANTIATE_ASSEMBLY_ON(Host, Form)
