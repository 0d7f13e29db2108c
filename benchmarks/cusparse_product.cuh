// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "benchmark_cuda.h"

#include <patchfem/lac/matrix/csr_matrix.h>
#include <patchfem/lac/matrix/sliced_ellpack_matrix.h>

#include <cusparse.h>

/** cuSPARSE's products with our arrays, to be compared with. */
namespace benchmark
{
  using namespace PatchFEM;

  inline void check(const cusparseStatus_t status, const char *what)
  {
    require(status == CUSPARSE_STATUS_SUCCESS, std::string(what) + " failed: " + cusparseGetErrorString(status));
  }

#define CUSPARSE_CHECK(call) ::benchmark::check((call), #call)

  inline unsigned int blocks_for(const std::int64_t n)
  {
    return static_cast<unsigned int>((n + 255) / 256);
  }

  inline __global__ void shorten_kernel(const std::int64_t *from, int *to, const std::int64_t n)
  {
    const std::int64_t i = std::int64_t(blockIdx.x) * 256 + threadIdx.x;
    if (i < n)
      to[i] = static_cast<int>(from[i]);
  }

  /**
   * y = A x by cuSPARSE. Values and columns stay where they are and must outlive this; offsets are copied to 32 bits,
   * which is what cuSPARSE is fastest with.
   */
  template <typename Number>
  class CuSparseProduct
  {
  public:
    CuSparseProduct(const CSRMatrix<Number> &A, const Vector<Number> &x, Vector<Number> &y) : backend(A.backend())
    {
      const CSRView<Number> view = A.view();
      shorten(view.row_offsets, view.n_rows);
      CUSPARSE_CHECK(cusparseCreateCsr(&matrix, view.n_rows, view.n_columns, A.n_nonzero_elements(), offsets.data(),
                                       const_cast<int *>(view.columns), const_cast<Number *>(view.values), index, index,
                                       CUSPARSE_INDEX_BASE_ZERO, type));
      prepare(x, y);
    }

    /** Of a matrix in 1 x 1 blocks without 16-bit columns. */
    CuSparseProduct(const SlicedEllpackMatrix<Number> &A, const Vector<Number> &x, Vector<Number> &y)
        : backend(A.backend())
    {
      const SlicedEllpackView<Number> view = A.view();
      shorten(view.slice_offsets, view.n_slices());
      CUSPARSE_CHECK(cusparseCreateSlicedEll(&matrix, view.n_rows, view.n_columns, A.n_nonzero_elements(),
                                             A.n_stored_elements(), view.slice_height, offsets.data(),
                                             const_cast<int *>(view.columns), const_cast<Number *>(view.values), index,
                                             index, CUSPARSE_INDEX_BASE_ZERO, type));
      prepare(x, y);
    }

    /** Of @p values in blocks of @p block x @p block, one after the other along @p pattern, each column by column. */
    CuSparseProduct(const Backend        &backend,
                    const SparsityView   &pattern,
                    const int             block,
                    Array<Number>        &values,
                    const Vector<Number> &x,
                    Vector<Number>       &y)
        : backend(backend)
    {
      shorten(pattern.row_offsets, pattern.n_rows);
      CUSPARSE_CHECK(cusparseCreateBsr(&matrix, pattern.n_rows, pattern.n_columns, values.size() / (block * block),
                                       block, block, offsets.data(), const_cast<int *>(pattern.columns), values.data(),
                                       index, index, CUSPARSE_INDEX_BASE_ZERO, type, CUSPARSE_ORDER_COL));
      prepare(x, y);
    }

    ~CuSparseProduct()
    {
      cusparseDestroyDnVec(source);
      cusparseDestroyDnVec(destination);
      cusparseDestroySpMat(matrix);
      cusparseDestroy(handle);
    }

    CuSparseProduct(const CuSparseProduct &)            = delete;
    CuSparseProduct &operator=(const CuSparseProduct &) = delete;

    void operator()()
    {
      CUSPARSE_CHECK(
          cusparseSpMV(handle, operation, &one, matrix, source, &zero, destination, type, algorithm, buffer.data()));
    }

  private:
    static constexpr cudaDataType        type      = sizeof(Number) == 8 ? CUDA_R_64F : CUDA_R_32F;
    static constexpr cusparseIndexType_t index     = CUSPARSE_INDEX_32I;
    static constexpr cusparseOperation_t operation = CUSPARSE_OPERATION_NON_TRANSPOSE;
    static constexpr cusparseSpMVAlg_t   algorithm = CUSPARSE_SPMV_ALG_DEFAULT;

    void shorten(const std::int64_t *const from, const std::int64_t n)
    {
      offsets.reinit(backend, n + 1);
      shorten_kernel<<<blocks_for(n + 1), 256, 0, static_cast<cudaStream_t>(backend.stream())>>>(from, offsets.data(),
                                                                                                 n + 1);
      PATCHFEM_CUDA_CHECK_LAUNCH();
    }

    void prepare(const Vector<Number> &x, Vector<Number> &y)
    {
      CUSPARSE_CHECK(cusparseCreate(&handle));
      CUSPARSE_CHECK(cusparseSetStream(handle, static_cast<cudaStream_t>(backend.stream())));
      CUSPARSE_CHECK(cusparseCreateDnVec(&source, x.size(), const_cast<Number *>(x.data()), type));
      CUSPARSE_CHECK(cusparseCreateDnVec(&destination, y.size(), y.data(), type));
      std::size_t bytes = 0;
      CUSPARSE_CHECK(cusparseSpMV_bufferSize(handle, operation, &one, matrix, source, &zero, destination, type,
                                             algorithm, &bytes));
      buffer.reinit(backend, std::max<std::size_t>(bytes, 1));
      CUSPARSE_CHECK(cusparseSpMV_preprocess(handle, operation, &one, matrix, source, &zero, destination, type,
                                             algorithm, buffer.data()));
    }

    Backend              backend;
    Array<int>           offsets;
    cusparseHandle_t     handle = nullptr;
    cusparseSpMatDescr_t matrix;
    cusparseDnVecDescr_t source, destination;
    Number               one = 1, zero = 0;
    Array<char>          buffer;
  };
} // namespace benchmark
