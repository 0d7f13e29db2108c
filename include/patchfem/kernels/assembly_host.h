// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef patchfem_kernels_assembly_host_h
#define patchfem_kernels_assembly_host_h

#include <patchfem/kernels/assembly_extents.h>
#include <patchfem/kernels/element_bodies.h>

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
    std::size_t cell_bytes(const ReferenceView &reference, const bool one_point)
    {
      return PatchBody<Form, Number, AnyExtents>::record_size(reference.n_shape,
                                                              one_point ? 1 : reference.n_quadrature) *
             sizeof(Number);
    }

    template <typename Form, typename Number>
    void element_matrices(Host, const AssemblyArguments<Number> &arguments)
    {
      const ElementBody<Form, Number> body{arguments};
#pragma omp parallel
      {
        std::vector<Number> scratch(body.scratch_size(arguments.batches));
#pragma omp for schedule(static)
        for (int k = 0; k < arguments.n_buffered; ++k)
        {
          const BufferedCell &cell = arguments.buffered[k];
          body.geometry(cell, 0, 1, scratch.data());
          body.integrate(cell, 0, 1, scratch.data());
          body.boundary(cell, 0, 1);
          body.resolve(cell, 0, 1);
        }
      }
    }

    template <typename Form, typename Number>
    void patch_rows(Host, const AssemblyArguments<Number> &arguments)
    {
      with_extents<Form>(arguments, [&](auto extents) {
        const PatchBody<Form, Number, decltype(extents)> body{arguments};
        require_room(body);
#pragma omp parallel
        {
          std::vector<Number> memory(body.scratch_bytes() / sizeof(Number));
          const auto          scratch = body.scratch(memory.data());
#pragma omp for schedule(static)
          for (int patch = arguments.first_patch; patch < arguments.end_patch; ++patch)
          {
            const int n_cells =
                static_cast<int>(arguments.patches.cell_offsets[patch + 1] - arguments.patches.cell_offsets[patch]);
            const int n_rows = arguments.patches.end_row(patch) - arguments.patches.first_row(patch);
            const int step   = arguments.staged ? body.capacity() : n_cells;
            body.clear(patch, 0, 1, scratch);
            for (int begin = 0; begin < n_cells; begin += step)
            {
              const int end = begin + step < n_cells ? begin + step : n_cells;
              if (arguments.staged)
                body.stage(begin, end, 0, 1, scratch);
              if (arguments.rhs != nullptr)
                for (int i = 0; i < n_rows * Form::n_components; ++i)
                  body.add_load(i / Form::n_components, i % Form::n_components, begin, end, scratch);
              for (int row = 0; row < n_rows; ++row)
                body.add_row(row, begin, end, SerialTeam(), scratch);
            }
            body.write(patch, 0, 1, scratch);
          }
        }
      });
    }
  } // namespace kernels
} // namespace PatchFEM

/** Compiles the host kernels of a weak form. */
#define PATCHFEM_INSTANTIATE_ASSEMBLY(Form)                                                                            \
  template std::size_t PatchFEM::kernels::cell_bytes<Form, double>(const PatchFEM::ReferenceView &, bool);             \
  template std::size_t PatchFEM::kernels::cell_bytes<Form, float>(const PatchFEM::ReferenceView &, bool);              \
  template void        PatchFEM::kernels::element_matrices<Form, double>(PatchFEM::Host,                               \
                                                                  const PatchFEM::AssemblyArguments<double> &); \
  template void        PatchFEM::kernels::element_matrices<Form, float>(PatchFEM::Host,                                \
                                                                 const PatchFEM::AssemblyArguments<float> &);   \
  template void        PatchFEM::kernels::patch_rows<Form, double>(PatchFEM::Host,                                     \
                                                            const PatchFEM::AssemblyArguments<double> &);       \
  template void PatchFEM::kernels::patch_rows<Form, float>(PatchFEM::Host, const PatchFEM::AssemblyArguments<float> &)

#endif
