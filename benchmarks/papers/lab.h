// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "benchmark.h"
#include "system.h"

#include <patchfem/lac/matrix/csr_matrix.h>
#include <patchfem/lac/matrix/sliced_ellpack_matrix.h>
#include <patchfem/lac/precondition/precondition_jacobi.h>
#include <patchfem/lac/solver/conjugate_gradients.h>

#include <functional>

/** Where the papers' examples run, what they become there, and how they are timed. */
namespace papers
{
  using namespace PatchFEM;

  /** Results, which a run that is stopped leaves in its file, and when it came to what. */
  class Report : public benchmark::Report
  {
  public:
    Report(const std::string &device, std::string json);

    /** Says that @p example begins, and after how many seconds. */
    void begin(const std::string &example) const;

    /** Adds a result that the tables of doc/papers.md are made from; README's table leaves it out. */
    void add(const std::string &what, const std::string &metric, double value, const std::string &unit, bool verified);

  private:
    const std::string json;
    const double      start;
  };

  /** A back end; the host with a number of threads. */
  struct Place
  {
    std::string name; ///< cuda, host, or core: one thread of the host
    Backend     backend;
    int         n_threads;

    /** Threads of everything that follows. */
    void enter() const;
  };

  /** The fastest first: cuda if there is a device, host, core. */
  std::vector<Place> places();

  /**
   * Seconds of one call of @p work: as many calls as take some 10 ms, then wait for the back end; the median over some
   * repetitions, fewer of what takes long. Caches hold what the call before has left.
   */
  double time_of(const Place &place, const std::function<void()> &work);

  /** A system's matrix on a back end, in compressed rows, and the other formats made of it. */
  class Matrices
  {
  public:
    Matrices(const Backend &backend, const System &system);

    const CSRMatrix<double> &csr() const { return compressed; }
    CSRMatrix<double>       &csr() { return compressed; }

    /** ELLPACK or SELL for @p block 1, else BELL or SBELL; all rows in one slice if @p slice_height is 0. */
    void sliced(SlicedEllpackMatrix<double> &matrix, int block, int slice_height) const;

    /** The pattern of blocks, on the back end. */
    SparsityView pattern() const;

    const Backend backend;
    const int     block;

  private:
    Array<std::int64_t> offsets;
    Array<int>          columns;
    CSRMatrix<double>   compressed;
  };

  /** Whether @p result is A x to rounding. */
  template <typename Number>
  bool is_product(const Vector<Number> &result, const std::vector<double> &expected);

  /** Verifies y = A x and times it. */
  template <typename Number>
  double product_time(const Place               &place,
                      const MatrixBase<Number>  &matrix,
                      const std::vector<double> &source,
                      const std::vector<double> &expected,
                      bool                      &verified);

  /** One solution by conjugate gradients. */
  struct Solution
  {
    double              iterations, seconds;
    bool                verified; ///< |b - A x| in plain loops is as small as it should be
    std::vector<double> x;
  };

  /** Solves to |b - A x| <= @p reduction |b| from 0. */
  Solution solve(const MatrixBase<double>       &matrix,
                 const PreconditionBase<double> &preconditioner,
                 const System                   &system,
                 double                          reduction);

  /** Seconds of one iteration: the difference of a short run and one of some further ones, three if they take long. */
  double iteration_time(const Place                    &place,
                        const MatrixBase<double>       &matrix,
                        const PreconditionBase<double> &preconditioner,
                        const System                   &system);

  /**
   * Adds the seconds of a solution at a place that may be slow: measured where @p n_iterations, those of the fastest
   * place, are expected to take some seconds at most, else the time of one iteration times @p n_iterations, which the
   * result "estimated" beside it tells.
   */
  void add_solution_time(Report                         &report,
                         const std::string              &name,
                         const Place                    &place,
                         const MatrixBase<double>       &matrix,
                         const PreconditionBase<double> &preconditioner,
                         const System                   &system,
                         double                          reduction,
                         double                          n_iterations);

  /** Products of the vendor's library with the matrix of @p matrices, by name; empty where there is none. */
  struct VendorProduct
  {
    std::string           name; ///< such as cuSPARSE CSR
    std::function<void()> run;
  };
  std::vector<VendorProduct> vendor_products(const Matrices &matrices, Vector<double> &x, Vector<double> &y);

  /** What to run; see main.cc. */
  struct Settings
  {
    std::string meshes, system;
    bool        large;  ///< sizes that fill a GPU, in place of the papers'
    double      shrink; ///< of the edges of all examples
  };

  void reproduce_p0(const Settings &settings, Report &report);
  void reproduce_p1(const Settings &settings, Report &report);
  void reproduce_p2(const Settings &settings, Report &report);
} // namespace papers
