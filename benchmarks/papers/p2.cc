// SPDX-License-Identifier: LGPL-2.1-or-later
#include "grid_system.h"
#include "lab.h"
#include "voxel_system.h"

#include <patchfem/lac/matrix/mdia_matrix.h>
#include <patchfem/lac/precondition/precondition_ic.h>

#include <algorithm>

namespace papers
{
  namespace
  {
    constexpr double reduction = 1e-6;

    /** Tables 1 to 4 and figure 11 for one pressure equation. */
    void pressure(const std::string &key, const benchmark::VoxelSystem &voxels, const bool large, Report &report)
    {
      const HostCSR<double>     A        = voxels.matrix();
      const std::vector<double> source   = benchmark::scattered_values(voxels.n_unknowns),
                                expected = voxels.product(source);
      System system                      = scalar_system(A, source);
      system.load                        = benchmark::scattered_values(voxels.n_unknowns);
      report.add(key, "unknowns", voxels.n_unknowns, "1", true);
      report.add(key, "entries", A.values.size(), "1", true);

      double n_exact = 0.; // iterations with IC(0) solved exactly
      for (const Place &place : places())
      {
        place.enter();
        const std::string        title = key + "/" + place.name + "/";
        Matrices                 matrices(place.backend, system);
        CSRMatrix<double>       &csr = matrices.csr();
        const MDIAMatrix<double> mdia(place.backend, A);
        bool                     verified = false;
        const auto               measure  = [&](const std::string &what, const MatrixBase<double> &matrix) {
          const double seconds = product_time(place, matrix, source, expected, verified);
          report.add(title + what, "product", seconds, "s", verified);
        };
        measure("CSR", csr);
        measure("mDIA", mdia);
        const bool is_fastest = place.name == places().front().name;
        if (!is_fastest && (large || place.name == "host")) // the paper's solutions are on one core
          continue;
        PreconditionIC<double> exact;
        exact.initialize(csr, {0});
        Vector<double> r(place.backend, source), z(place.backend, source.size());
        const auto     application = [&](const std::string &what, const PreconditionBase<double> &M) {
          report.add(title + what, "application", time_of(place, [&]() { M.vmult(z, r); }), "s", true);
        };
        if (!is_fastest)
        {
          add_solution_time(report, title + "CSR/IC(0), exact", place, csr, exact, system, reduction, n_exact);
          continue;
        }
        if (place.backend.kind() == BackendKind::cuda)
        {
          csr.use_kernel(CSRKernel::scalar);
          measure("CSR, a thread a row", csr);
          csr.use_kernel(CSRKernel::pieces);
          Vector<double> x(place.backend, source), y(place.backend, source.size());
          for (const VendorProduct &vendor : vendor_products(matrices, x, y))
          {
            y = std::numeric_limits<double>::quiet_NaN();
            vendor.run();
            const bool right = is_product(y, expected);
            report.add(title + vendor.name, "product", time_of(place, vendor.run), "s", right);
          }
        }
        const std::pair<const char *, const MatrixBase<double> *> formats[] = {{"CSR", &csr}, {"mDIA", &mdia}};
        application("IC(0), exact", exact);
        const auto note = [&](const std::string &name, const MatrixBase<double> &matrix,
                              const PreconditionBase<double> &M) {
          const Solution solution = solve(matrix, M, system, reduction);
          report.add(name, "iterations", solution.iterations, "1", solution.verified);
          report.add(name, "solution", solution.seconds, "s", solution.verified);
          return solution.iterations;
        };
        const PreconditionIdentity<double> identity;
        for (const auto &format : formats)
        {
          const std::string name = title + format.first + "/";
          note(name + "none", *format.second, identity);
          if (!large || format.second == &mdia)
            n_exact = note(name + "IC(0), exact", *format.second, exact);
        }
        for (const unsigned int n_sweeps : {2u, 3u, 4u, 5u, 6u})
        {
          PreconditionIC<double> sweeps;
          sweeps.initialize(csr, {n_sweeps});
          const std::string what = "IC(0), " + std::to_string(n_sweeps) + " sweeps";
          application(what, sweeps);
          note(title + "mDIA/" + what, mdia, sweeps);
        }
      }
      places().front().enter();
    }
  } // namespace

  void reproduce_p2(const Settings &settings, Report &report)
  {
    // Edges whose tanks have the unknowns of table 1 within a few per cent.
    const std::vector<int> edges =
        settings.large ? std::vector<int>{192, 256} : std::vector<int>{21, 29, 42, 55, 62, 68, 70};
    for (std::size_t i = 0; i < edges.size(); ++i)
    {
      const std::string key =
          settings.large ? "P2 large/" + std::to_string(edges[i]) + "^3" : "P2/" + std::to_string(i + 1);
      report.begin(key);
      pressure(key, benchmark::VoxelSystem(std::max(12, int(edges[i] / settings.shrink))), settings.large, report);
    }
  }
} // namespace papers
