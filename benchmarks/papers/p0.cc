// SPDX-License-Identifier: LGPL-2.1-or-later
#include "grid_system.h"
#include "lab.h"

#include <patchfem/lac/precondition/precondition_polynomial.h>

#include <algorithm>
#include <memory>

namespace papers
{
  namespace
  {
    /**
     * The system of table 1 that has this name, or one like it with several million unknowns. `tri sorted` and `tet sorted`
     * are the same with another order of the nodes.
     */
    System example(const std::string &name, const Settings &settings)
    {
      const auto edge = [&](const int paper, const int large) {
        return std::max(2, int((settings.large ? large : paper) / settings.shrink));
      };
      if (name == "quad")
        return elasticity(grid(CellKind::quadrilateral, edge(401, 1601)));
      if (name == "hex")
        return elasticity(grid(CellKind::hexahedron, edge(55, 90)));
      const bool triangles = name.substr(0, 3) == "tri", sorted = name.size() > 4;
      MeshLists  mesh = read_simplices(settings.meshes + (triangles ? "/triangles.msh" : "/tetrahedra.msh"),
                                      triangles ? CellKind::triangle : CellKind::tetrahedron);
      mesh            = repeat(mesh, triangles ? edge(4, 8) : edge(2, 3));
      order_along_curve(mesh, sorted ? 256 : 0);
      return elasticity(mesh);
    }

    struct Kind
    {
      const char    *name;
      PolynomialKind kind;
    };
    constexpr Kind   kinds[]   = {{"Neumann", PolynomialKind::neumann},
                                  {"least squares", PolynomialKind::least_squares},
                                  {"Chebyshev", PolynomialKind::chebyshev}};
    constexpr double reduction = 1e-7;

    /** Tables 1 and 2, figures 6 to 9: products. */
    void products(const std::string &key, const System &system, const Settings &settings, Report &report)
    {
      const std::vector<double> source   = benchmark::scattered_values(system.n_dofs()),
                                expected = system.product(source);
      const double entries               = system.n_entries();
      const int    block                 = system.block;
      const auto   note = [&](const Place &place, const std::string &what, const double seconds, const bool verified) {
        report.add(key + "/" + place.name + "/" + what, "product", seconds, "s", verified);
      };
      std::unique_ptr<Matrices> kept; // that of the host serves one core, too
      for (const Place &place : places())
      {
        place.enter();
        if (!kept || kept->backend.kind() != place.backend.kind())
        {
          kept.reset();
          kept = std::make_unique<Matrices>(place.backend, system);
        }
        Matrices  &matrices = *kept;
        bool       verified = false;
        const auto measure  = [&](const std::string &what, const auto &matrix) {
          const double seconds = product_time(place, matrix, source, expected, verified);
          note(place, what, seconds, verified);
        };
        measure("CSR", matrices.csr());
        if (place.name != places().front().name)
          continue;
        if (place.backend.kind() == BackendKind::cuda)
        {
          matrices.csr().use_kernel(CSRKernel::vector);
          measure("CSR, a warp a row", matrices.csr());
          matrices.csr().use_kernel(CSRKernel::scalar);
          measure("CSR, a thread a row", matrices.csr());
          matrices.csr().use_kernel(CSRKernel::pieces);
          Vector<double> x(place.backend, source), y(place.backend, source.size());
          for (const VendorProduct &vendor : vendor_products(matrices, x, y))
          {
            y = std::numeric_limits<double>::quiet_NaN();
            vendor.run();
            const bool right = is_product(y, expected);
            note(place, vendor.name, time_of(place, vendor.run), right);
          }
        }
        for (const int b : {1, block})
          for (const int height : {0, 32, 64, 128, 256, 512})
            if (height <= 32 || !settings.large)
            {
              SlicedEllpackMatrix<double> matrix;
              matrices.sliced(matrix, b, height);
              const std::string what = height == 0 ? (b == 1 ? "ELLPACK" : "BELL") : (b == 1 ? "SELL" : "SBELL");
              measure(height <= 32 ? what : what + " " + std::to_string(height), matrix);
              if (height <= 32)
                report.add(key + "/" + what, "entries stored over CSR's", matrix.n_stored_elements() / entries, "1",
                           verified);
              if (height != 32 || b == 1)
                continue;
              SlicedEllpackMatrix<float> single;
              single.copy_from(matrix);
              measure("SBELL fp32", single);
            }
      }
      report.add(key, "unknowns", system.n_dofs(), "1", true);
      report.add(key, "entries", entries, "1", true);
    }

    /** Notes what a preconditioner needs at @p place: iterations and seconds of a solution, and of its set-up. */
    void note_solution(Report                         &report,
                       const std::string              &name,
                       const MatrixBase<double>       &matrix,
                       const PreconditionBase<double> &preconditioner,
                       const System                   &system)
    {
      const Solution solution = solve(matrix, preconditioner, system, reduction);
      report.add(name, "iterations", solution.iterations, "1", solution.verified);
      report.add(name, "solution", solution.seconds, "s", solution.verified);
    }

    /** One iteration of Jacobi's and of polynomials on one core and on the host. */
    void host_iterations(const std::string &key, const System &system, const bool all_orders, Report &report)
    {
      const Backend  host("host");
      const Matrices matrices(host, system);
      const auto     note = [&](const std::string &what, const PreconditionBase<double> &preconditioner) {
        for (const Place &place : places())
          if (place.backend.kind() == BackendKind::host)
            report.add(key + "/" + place.name + "/CSR/" + what, "iteration",
                           iteration_time(place, matrices.csr(), preconditioner, system), "s", true);
        places().front().enter();
      };
      PreconditionJacobi<double> jacobi;
      jacobi.initialize(matrices.csr());
      note("Jacobi", jacobi);
      for (const Kind &kind : kinds)
        for (unsigned int order = 2; order <= 6; ++order)
          if (all_orders || (order == 6 && kind.kind == PolynomialKind::least_squares))
          {
            // Few steps of Lanczos': the interval does not change the time of an iteration.
            PreconditionPolynomial<double> polynomial;
            polynomial.initialize(matrices.csr(), {kind.kind, order, 5});
            note(std::string(kind.name) + " " + std::to_string(order), polynomial);
          }
    }

    /** Tables 3 to 5, figure 10: solutions at the fastest place. */
    void solutions(const std::string &key, const System &system, const bool all_orders, Report &report)
    {
      const Place place = places().front();
      place.enter();
      const Matrices              matrices(place.backend, system);
      SlicedEllpackMatrix<double> sbell;
      matrices.sliced(sbell, system.block, 32);
      const std::pair<const char *, const MatrixBase<double> *> formats[] = {{"CSR", &matrices.csr()},
                                                                             {"SBELL", &sbell}};
      for (const auto &format : formats)
      {
        const std::string          title = key + "/" + place.name + "/" + format.first + "/";
        PreconditionJacobi<double> jacobi;
        jacobi.initialize(*format.second);
        note_solution(report, title + "Jacobi", *format.second, jacobi, system);
        {
          PreconditionPolynomial<double, float> mixed;
          mixed.initialize(*format.second, {PolynomialKind::least_squares, 6});
          note_solution(report, title + "least squares 6, mixed", *format.second, mixed, system);
        }
        for (const Kind &kind : kinds)
          for (unsigned int order = 2; order <= 6; ++order)
            if ((all_orders && format.second == &sbell) || (order == 6 && kind.kind == PolynomialKind::least_squares))
            {
              PreconditionPolynomial<double> polynomial;
              polynomial.initialize(*format.second, {kind.kind, order});
              note_solution(report, title + kind.name + " " + std::to_string(order), *format.second, polynomial,
                            system);
            }
      }
    }
  } // namespace

  void reproduce_p0(const Settings &settings, Report &report)
  {
    for (const std::string name : {"quad", "hex", "tri", "tri sorted", "tet", "tet sorted"})
    {
      const bool        is_quad = name == "quad";
      const std::string key     = (settings.large ? "P0 large/" : "P0/") + name;
      places().front().enter();
      report.begin(key);
      const System system = example(name, settings);
      products(key, system, settings, report);
      if (!settings.large && name.size() <= 4)
      {
        solutions(key, system, is_quad, report);
        host_iterations(key, system, is_quad, report);
      }
    }
  }
} // namespace papers
