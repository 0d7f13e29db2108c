// SPDX-License-Identifier: LGPL-2.1-or-later
#include "backend_names.h"
#include "lac_cases.h"

#include <patchfem/base/side_stream.h>
#include <patchfem/kernels/blas1.h>
#include <patchfem/kernels/runtime.h>
#include <patchfem/lac/matrix/csr_matrix.h>

#include <thread>

using namespace PatchFEM;

class StreamTest : public BackendTest
{};
PATCHFEM_INSTANTIATE_BACKENDS(StreamTest);

TEST_P(StreamTest, BranchesJoinWhenAnExceptionEndsThem)
{
  const Backend        where = backend();
  const int            n = 1 << 20, n_steps = 50;
  Vector<double>       x(where, n), y(where, n);
  const Vector<double> one(where, std::vector<double>(n, 1.));
  const SideStream     side(where);
  for (const bool fails : {false, true})
  {
    const auto work = [&] {
      SideStream::Branch branch(side);
      for (int step = 0; step < n_steps; ++step)
        branch.launch([&](auto tag) { kernels::sadd(tag, n, 1., 1., one.data(), x.data()); });
      if (fails)
        throw Error("between fork and join");
      branch.join();
    };
    x = 0.;
    if (fails)
    {
      EXPECT_THROW(work(), Error);
    }
    else
      work();
    y.equ(1., x);
    EXPECT_EQ(y.copy_to_host(), std::vector<double>(n, n_steps));
  }
}

TEST_P(StreamTest, ServesOtherThreadsAfterEachOther)
{
  const CSRMatrix<double>   A(backend(), cases::laplacian<double>(20, 20));
  const std::vector<double> values = cases::random_values(400, 1);
  Vector<double>            x(backend(), values), y(backend(), 400);
  A.vmult(y, x);
  const double here = y.norm_sqr();
  std::thread([&] {
#ifdef PATCHFEM_WITH_CUDA
    // The device of the back end need not be that of the thread.
    if (backend().kind() == BackendKind::cuda)
      cuda_runtime::use_device(cuda_runtime::n_devices() - 1);
#endif
    Vector<double> z(backend(), 400);
    A.vmult(z, x);
    EXPECT_EQ(z.norm_sqr(), here);
    const SideStream   side(backend());
    SideStream::Branch branch(side);
    branch.launch([&](auto tag) { kernels::equ(tag, 400, 2., y.data(), z.data()); });
    branch.join();
    EXPECT_EQ(z.norm_sqr(), 4. * here);
    EXPECT_GT(backend().free_memory(), 0u);
  }).join();
}
