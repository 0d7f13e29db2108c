// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lab.h"

#include "cusparse_product.cuh"

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

    /** The arrays of a product, and the product with them. */
    struct Data
    {
      Array<double>                            values;
      SlicedEllpackMatrix<double>              sell;
      std::unique_ptr<CuSparseProduct<double>> product;
    };
  } // namespace

  std::vector<VendorProduct> vendor_products(const Matrices &matrices, Vector<double> &x, Vector<double> &y)
  {
    std::vector<VendorProduct> result;
    const Backend             &backend = matrices.backend;
    if (backend.kind() != BackendKind::cuda)
      return result;
    const auto take = [&](const char *name, const std::shared_ptr<Data> &data) {
      result.push_back({name, [data]() { (*data->product)(); }});
    };
    {
      const auto data = std::make_shared<Data>();
      data->product   = std::make_unique<CuSparseProduct<double>>(matrices.csr(), x, y);
      take("cuSPARSE CSR", data);
    }
    {
      const auto data = std::make_shared<Data>();
      matrices.sliced(data->sell, 1, 32);
      data->product = std::make_unique<CuSparseProduct<double>>(data->sell, x, y);
      take("cuSPARSE SELL", data);
    }
    if (matrices.block > 1)
    {
      const auto         data    = std::make_shared<Data>();
      const SparsityView pattern = matrices.pattern();
      data->values.reinit(backend, matrices.csr().n_nonzero_elements());
      fill_blocks<<<blocks_for(pattern.n_rows), 256, 0, static_cast<cudaStream_t>(backend.stream())>>>(
          pattern, matrices.block, matrices.csr().view(), data->values.data());
      PATCHFEM_CUDA_CHECK_LAUNCH();
      data->product = std::make_unique<CuSparseProduct<double>>(backend, pattern, matrices.block, data->values, x, y);
      take("cuSPARSE BSR", data);
    }
    return result;
  }
} // namespace papers
