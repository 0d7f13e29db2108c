// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef patchfem_kernels_assembly_host_h
#define patchfem_kernels_assembly_host_h

#include <patchfem/base/threads.h>
#include <patchfem/kernels/assembly_extents.h>
#include <patchfem/kernels/element_bodies.h>
#include <patchfem/kernels/patch_bodies.h>
#include <patchfem/kernels/team.h>

#include <vector>

/**
 * @file
 * Host definitions of the assembly kernels: threads over cells and patches, one worker each. Included where a weak form
 * is instantiated; see PATCHFEM_INSTANTIATE_ASSEMBLY.
 */
namespace PatchFEM
{
  namespace kernels
  {
    template <typename Form, typename Number>
    PatchRoom needs_patchfem_add_weak_form::patch_room(
        Host, const ReferenceView &reference, const bool, const std::size_t total, const int concurrent)
    {
      const int n = CellRecords<Form, Number, AnyExtents>::record_size(reference.n_shape, reference.n_quadrature);
      return {total / (concurrent > 0 ? concurrent : 1), n * sizeof(Number), 3.5};
    }

    template <typename Form, typename Number>
    void needs_patchfem_add_weak_form::element_matrices(Host, const AssemblyArguments<Number> &arguments)
    {
      const ElementBody<Form, Number> body{arguments};
      for_shares(body.n_cells(), [&](const std::int64_t begin, const std::int64_t end) {
        std::vector<Number> scratch(body.scratch_size(arguments.batches));
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

    template <typename Form, typename Number>
    void needs_patchfem_add_weak_form::patch_rows(Host, const AssemblyArguments<Number> &arguments)
    {
      with_extents<Form>(arguments, [&](auto extents) {
        const PatchBody<Form::n_components, Number>        body{arguments};
        const CellRecords<Form, Number, decltype(extents)> cells{arguments};
        const PatchesView                                 &p = arguments.patches;
        const std::size_t                                  bytes =
            body.row_bytes() + patch_room<Form, Number>(Host(), cells.batch().reference, false, 0, 0).worker_bytes;
        // One of several batches may have its cells in a few threads' shares of the patches.
        const int n_patches = arguments.end_patch - arguments.first_patch;
        const int piece     = arguments.batches.n_batches > 1 ? 16 : n_patches / max_threads() + 1;
        for_pieces(n_patches, piece, [&](const auto &next) {
          std::vector<double> memory(bytes / sizeof(double) + 1);
          const auto          scratch = body.scratch(memory.data());
          next([&](const std::int64_t number) {
            const int patch = arguments.first_patch + static_cast<int>(number);
            if (body.idle(patch))
              return body.pass_over(patch, 0, 1);
            body.clear(patch, 0, 1, scratch);
            for (std::int64_t entry = p.cell_offsets[patch]; entry < p.cell_offsets[patch + 1]; ++entry)
              add_cell(body, cells, patch, entry, scratch);
            if (body.with_matrix() && p.places.upper())
              body.mirror(patch, 0, 1, scratch);
            if (p.staged_offsets != nullptr)
              for (int row = 0; row < p.end_row(patch) - p.first_row(patch); ++row)
                body.add_staged(patch, row, SerialTeam(), scratch);
            if (p.fed_offsets != nullptr)
              for (std::int64_t fed = p.fed_offsets[patch]; fed < p.fed_offsets[patch + 1]; ++fed)
                body.add_buffered(patch, fed, SerialTeam(), scratch);
            body.write(patch, 0, 1, scratch, arguments.add);
          });
        });
      });
    }
  } // namespace kernels
} // namespace PatchFEM

/** Compiles the host kernels of a weak form. */
#define PATCHFEM_INSTANTIATE_ASSEMBLY(Form)                                                                     \
  template PatchFEM::kernels::PatchRoom PatchFEM::kernels::patch_room<Form, double>(                            \
      PatchFEM::Host, const PatchFEM::ReferenceView &, bool, std::size_t, int);                                 \
  template PatchFEM::kernels::PatchRoom PatchFEM::kernels::patch_room<Form, float>(                             \
      PatchFEM::Host, const PatchFEM::ReferenceView &, bool, std::size_t, int);                                 \
  template void PatchFEM::kernels::element_matrices<Form, double>(PatchFEM::Host,                               \
                                                                  const PatchFEM::AssemblyArguments<double> &); \
  template void PatchFEM::kernels::element_matrices<Form, float>(PatchFEM::Host,                                \
                                                                 const PatchFEM::AssemblyArguments<float> &);   \
  template void PatchFEM::kernels::patch_rows<Form, double>(PatchFEM::Host,                                     \
                                                            const PatchFEM::AssemblyArguments<double> &);       \
  template void PatchFEM::kernels::patch_rows<Form, float>(PatchFEM::Host, const PatchFEM::AssemblyArguments<float> &)

#endif
