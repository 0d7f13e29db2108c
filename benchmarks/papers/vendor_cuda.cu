// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lab.h"

#include "grid_matrices.cuh"

namespace papers
{
  using namespace benchmark;

  namespace
  {
    /** Scalar rows into blocks, each column by column, which is what cuSPARSE is fastest with. */
    __global__ void fill_blocks(const SparsityView pattern, const int b, const CSRView<double> A, double *values)
    {
      const std::int64_t i = std::int64_t(blockIdx.x) * 256 + threadIdx.x;
      if (i >= pattern.n_rows)
        return;
      for (std::int64_t e = pattern.row_offsets[i]; e < pattern.row_offsets[i + 1]; ++e)
        for (int a = 0; a < b; ++a)
          for (int c = 0; c < b; ++c)
            values[(e * b + c) * b + a] = A.values[A.row_offsets[i * b + a] + (e - pattern.row_offsets[i]) * b + c];
    }

    /** What a descriptor points to, and the product with it. */
    struct Data
    {
      Array<int>                       offsets;
      Array<double>                    values;
      SlicedEllpackMatrix<double>      sell;
      std::unique_ptr<CuSparseProduct> product;
    };
  } // namespace

  std::vector<VendorProduct> vendor_products(const Matrices &matrices, Vector<double> &x, Vector<double> &y)
  {
    std::vector<VendorProduct> result;
    const Backend             &backend = matrices.backend;
    if (backend.kind() != BackendKind::cuda)
      return result;
    const auto take = [&](const char *name, const std::shared_ptr<Data> &data, cusparseSpMatDescr_t descriptor) {
      data->product = std::make_unique<CuSparseProduct>(backend, descriptor, x.size(), x.data(), y.data());
      result.push_back({name, [data]() { (*data->product)(); }});
    };
    const CSRView<double> csr = matrices.csr().view();
    cusparseSpMatDescr_t  descriptor;
    {
      const auto data = std::make_shared<Data>();
      data->offsets   = shorten(backend, csr.row_offsets, csr.n_rows + 1);
      CUSPARSE_CHECK(cusparseCreateCsr(&descriptor, csr.n_rows, csr.n_columns, matrices.csr().n_nonzero_elements(),
                                       data->offsets.data(), const_cast<int *>(csr.columns), csr.values,
                                       CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_64F));
      take("cuSPARSE CSR", data, descriptor);
    }
    {
      const auto data = std::make_shared<Data>();
      matrices.sliced(data->sell, 1, 32);
      const SlicedEllpackView<double> view = data->sell.view();
      data->offsets                        = shorten(backend, view.slice_offsets, view.n_slices() + 1);
      CUSPARSE_CHECK(cusparseCreateSlicedEll(&descriptor, view.n_rows, view.n_columns, data->sell.n_nonzero_elements(),
                                             data->sell.n_stored_elements(), 32, data->offsets.data(),
                                             const_cast<int *>(view.columns), view.values, CUSPARSE_INDEX_32I,
                                             CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_64F));
      take("cuSPARSE SELL", data, descriptor);
    }
    if (matrices.block > 1)
    {
      const auto         data    = std::make_shared<Data>();
      const SparsityView pattern = matrices.pattern();
      const int          b       = matrices.block;
      data->offsets              = shorten(backend, pattern.row_offsets, pattern.n_rows + 1);
      data->values.reinit(backend, matrices.csr().n_nonzero_elements());
      fill_blocks<<<blocks_for(pattern.n_rows), 256, 0, static_cast<cudaStream_t>(backend.stream())>>>(
          pattern, b, csr, data->values.data());
      PATCHFEM_CUDA_CHECK_LAUNCH();
      CUSPARSE_CHECK(cusparseCreateBsr(&descriptor, pattern.n_rows, pattern.n_columns, data->values.size() / (b * b), b,
                                       b, data->offsets.data(), const_cast<int *>(pattern.columns), data->values.data(),
                                       CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_64F,
                                       CUSPARSE_ORDER_COL));
      take("cuSPARSE BSR", data, descriptor);
    }
    return result;
  }
} // namespace papers
