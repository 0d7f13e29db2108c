// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/app/system_matrix.h>
#include <patchfem/lac/matrix/format_calibration.h>

#include <algorithm>

namespace PatchFEM
{
  using Kind = MatrixFormat::Kind;

  std::vector<MatrixFormat> candidate_formats(const AssemblyParameters &assembly,
                                              const PatternStatistics  &pattern,
                                              const MemoryModel        &memory,
                                              const FormatNeeds        &needs)
  {
    const bool                automatic = assembly.format == "auto";
    std::vector<MatrixFormat> formats;
    if (automatic)
      formats = needs.rows || !needs.conversion ? assembled_formats(pattern) : product_formats(pattern, memory);
    else
    {
      formats.push_back(assembly.matrix_format());
      const MatrixFormat &named = formats[0];
      if (assembly.column_indices == "auto" && named.slice_height == 32 &&
          (named.kind == Kind::sliced_scalar || (named.kind == Kind::sliced_ellpack && pattern.block_rows == 1)))
      {
        formats.push_back(named);
        formats.back().short_columns = true;
      }
    }
    formats.erase(std::remove_if(formats.begin(), formats.end(),
                                 [&](const MatrixFormat &format) {
                                   return (automatic && needs.rows && format.kind == Kind::csr) ||
                                          (assembly.column_indices == "32 bit" && format.short_columns);
                                 }),
                  formats.end());
    return formats;
  }

  template <typename Number>
  FormatPrediction choose_format(const Backend            &backend,
                                 const AssemblyParameters &assembly,
                                 const SparsityView       &pattern,
                                 const int                 block_size,
                                 const FormatNeeds        &needs)
  {
    const MemoryModel             memory    = MemoryModel::of(backend);
    const PatternStatistics       counted   = pattern_statistics(backend, pattern, block_size, block_size);
    const bool                    automatic = assembly.format == "auto";
    std::vector<FormatPrediction> predictions =
        predict_formats(candidate_formats(assembly, counted, memory, needs), counted, sizeof(Number), memory);
    if (automatic && assembly.calibrate)
      calibrate_formats<Number>(backend, pattern, counted, predictions, format_rates_file());
    return automatic ? best_format(predictions) : predictions[0];
  }

  template <typename Number>
  SystemMatrix<Number>::SystemMatrix(SystemAssembler<Number> &system, const MatrixFormat &format)
      : system(system), format(format), block_size(system.assembler().space().batches().n_components()),
        converts(is_converted(format, block_size))
  {}

  template <typename Number>
  void SystemMatrix<Number>::reinit()
  {
    assembled = make_matrix<Number>(system.assembler().space().backend(), system.assembler().space().sparsity().view(),
                                    block_size, block_size, assembled_format(format, block_size));
  }

  template <typename Number>
  void SystemMatrix<Number>::assemble(Vector<Number> &rhs)
  {
    converted.reset(); // gives memory back first
    if (auto *csr = dynamic_cast<CSRMatrix<Number> *>(assembled.get()))
      system.assemble(*csr, rhs);
    else
      system.assemble(dynamic_cast<SlicedEllpackMatrix<Number> &>(*assembled), rhs);
    if (converts)
      converted = convert(*assembled, format);
  }

  template <typename Number>
  void SystemMatrix<Number>::release_assembled()
  {
    if (converts)
      assembled.reset();
  }

#define PATCHFEM_INSTANTIATE(Number)                                                                                 \
  template FormatPrediction choose_format<Number>(const Backend &, const AssemblyParameters &, const SparsityView &, \
                                                  int, const FormatNeeds &);                                         \
  template class SystemMatrix<Number>
  PATCHFEM_INSTANTIATE(float);
  PATCHFEM_INSTANTIATE(double);
#undef PATCHFEM_INSTANTIATE
} // namespace PatchFEM
