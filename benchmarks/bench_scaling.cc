// SPDX-License-Identifier: LGPL-2.1-or-later
// Ranks that have devices, one each or several together: exchanges and sums alone, products with their exchange hidden and
// not, conjugate gradients with Jacobi and with multigrid, set-up and assembly, for Q1 elasticity on a bar of a layer of
// cells after the other, held along a side, of which each rank has as many layers.
//   mpirun -n RANKS bench_scaling [--backend NAME] [--cells ACROSS] [--layers OF_A_RANK] [--repetitions N] [--json FILE]
#include "benchmark.h"
#include "in_turn.h"
#include "synthetic_tables.h"

#include <patchfem/assembly/assembler.h>
#include <patchfem/assembly/space.h>
#include <patchfem/base/graph.h>
#include <patchfem/base/rank_group.h>
#include <patchfem/kernels/weak_forms.h>
#include <patchfem/lac/graph/mis_aggregation.h>
#include <patchfem/lac/multigrid/precondition_amg.h>
#include <patchfem/lac/precondition/precondition_jacobi.h>
#include <patchfem/lac/solver/conjugate_gradients.h>
#include <patchfem/mpi/mpi_communicator.h>
#include <patchfem/mpi/mpi_rank_group.h>

#include <omp.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

using namespace benchmark;
using namespace PatchFEM;

namespace
{
  struct Settings
  {
    int  n_cells, n_layers, n_repetitions;
    char backend[32];
  };

  /**
   * What a rank has of a bar of n x n cells across, layer upon layer. Rank r has the planes of nodes above its layers, the
   * first rank also the one below, and a copy of the layer that feeds its last plane from above.
   */
  ElementTables slab(const std::shared_ptr<const Communicator> &ranks, const int n, const int n_layers)
  {
    const int          rank = ranks->rank(), n_ranks = ranks->size(), n_all = n_layers * n_ranks;
    const bool         is_first = rank == 0, is_last = rank + 1 == n_ranks;
    const std::int64_t m = n + 1, plane = m * m, first = std::int64_t(rank) * n_layers;
    const std::int64_t first_owned = is_first ? 0 : first + 1, end_owned = first + n_layers + 1;

    ElementTables tables;
    tables.dim          = 3;
    tables.n_components = 3;
    RankTables &of_rank = tables.ranks;
    if (n_ranks > 1)
      of_rank.communicator = ranks;
    of_rank.n_owned_nodes = static_cast<int>((end_owned - first_owned) * plane);
    for (std::int64_t i = 0; i < plane && !is_first; ++i) // the last plane of the rank below
      of_rank.ghosts.push_back({rank - 1, static_cast<int>((n_layers - (rank - 1 > 0)) * plane + i)});
    for (std::int64_t i = 0; i < plane && !is_last; ++i)
      of_rank.ghosts.push_back({rank + 1, static_cast<int>(i)});
    tables.n_nodes = of_rank.n_owned_nodes + static_cast<int>(of_rank.ghosts.size());

    std::vector<std::int64_t> planes;
    for (std::int64_t p = first_owned; p < end_owned; ++p)
      planes.push_back(p);
    if (!is_first)
      planes.push_back(first);
    if (!is_last)
      planes.push_back(end_owned);
    const auto place_of = [&](const std::int64_t p) {
      return static_cast<std::int64_t>(std::find(planes.begin(), planes.end(), p) - planes.begin());
    };
    tables.constraints.offsets.push_back(0);
    for (const std::int64_t p : planes)
      for (std::int64_t i = 0; i < plane; ++i)
      {
        const std::int64_t at[3] = {i % m, i / m, p}, all[3] = {n, n, n_all};
        bool               inner = true;
        for (int d = 0; d < 3; ++d)
          inner = inner && at[d] > 0 && at[d] < all[d];
        for (int d = 0; d < 3; ++d)
        {
          const double moved = inner ? 0.4 * (synthetic::hashed(3 * (i + plane * p) + d) - 0.5) : 0.;
          tables.points.push_back((static_cast<double>(at[d]) + moved) / n);
          const auto unknown = static_cast<unsigned int>(3 * (i + plane * p) + d);
          if (at[1] == 0)
          {
            tables.constraints.constrained.push_back(static_cast<int>(tables.dof_indices.size()));
            tables.constraints.offsets.push_back(0);
            tables.constraints.inhomogeneity.push_back(0.);
          }
          tables.dof_indices.push_back(unknown);
        }
      }

    CellTable batch;
    batch.reference = synthetic::hexahedron();
    const int n_own = n * n * n_layers, n_copies = is_last ? 0 : n * n;
    batch.n_cells = n_own + n_copies;
    for (std::int64_t layer = first; layer < first + n_layers + !is_last; ++layer)
    {
      const std::int64_t below = place_of(layer) * plane, above = place_of(layer + 1) * plane;
      for (int c = 0; c < n * n; ++c)
        for (int v = 0; v < 8; ++v)
          batch.nodes.push_back(
              static_cast<int>((v >> 2 ? above : below) + c % n + (v & 1) + m * (c / n + (v >> 1 & 1))));
    }
    batch.material_ids.assign(batch.n_cells, 0);
    for (int c = 0; c < batch.n_cells; ++c)
      batch.active_index.push_back(c);
    tables.batches.push_back(std::move(batch));
    of_rank.n_own_cells = {n_own};
    if (!is_first)
    {
      of_rank.sent.push_back({rank - 1, {{}}, {}});
      for (int c = 0; c < n * n; ++c)
        of_rank.sent.back().cells[0].push_back(c);
    }
    if (!is_last)
      of_rank.received.push_back({rank + 1, {n_copies}, 0});
    return tables;
  }

  class Bench
  {
  public:
    Bench(const Settings &settings, const std::shared_ptr<const MPICommunicator> &ranks, Report *report)
        : settings(settings), ranks(ranks), report(report)
    {}

    void measure(const Backend &backend)
    {
      const bool   owns = is_owner(backend);
      const Space  space(backend, slab(ranks, settings.n_cells, settings.n_layers));
      const double m = settings.n_cells + 1., n_all = 3. * m * m * (double(settings.n_layers) * ranks->size() + 1.);
      char         text[96];
      std::snprintf(text, sizeof(text), "Q1 elasticity, %d ranks, %d x %.2f M DoF", ranks->size(), n_owners(backend),
                    1e-6 * n_all / n_owners(backend));
      name = text;

      SlicedEllpackMatrix<double> A;
      Vector<double>              b, x;
      Assembler<Elasticity<3>>    assembler(space);
      assembler.set_coefficients(CoefficientField::constant({1.5, 0.8}));
      assembler.set_body_load(CoefficientField::constant({0., 0., -1.}));
      space.initialize_matrix(A);
      add(backend, "assembly", 3, [&] { assembler.assemble(A, b); });

      A.initialize_vector(x);
      Vector<double> y, y_in_turn;
      A.initialize_vector(y);
      A.initialize_vector(y_in_turn);
      const InTurn in_turn(A);
      in_turn.vmult(y_in_turn, b);
      A.vmult(y, b);
      verified = !owns || y.copy_to_host() == y_in_turn.copy_to_host();

      if (n_owners(backend) > 1)
      {
        pieces(backend);
        repeat(backend, "exchange of ghosts", [&] { b.update_ghosts(); });
        repeat(backend, "product after the exchange", [&] { in_turn.vmult(y, b); });
      }
      repeat(backend, "product without an exchange",
             [&] { A.product(b.data(), kernels::Overwrite<double>{y.data()}); });
      repeat(backend, "product", [&] { A.vmult(y, b); });

      PreconditionJacobi<double> jacobi(A);
      ConjugateGradients<double> cg;
      IterationControl           control;
      control.tolerance      = 0.;
      control.max_iterations = 200;
      const double steps     = add(backend, "200 steps of CG with Jacobi", settings.n_repetitions, [&] {
        x = 0.;
        cg.solve(A, x, b, jacobi, control);
      });
      line("step of CG with Jacobi", steps / 200., {});

      PreconditionAMG<double>                          amg;
      const NearNullSpace                              modes = space.rigid_body_modes();
      typename PreconditionAMG<double>::AdditionalData data;
      data.single_precision = true;
      const auto set_up     = [&] {
        MISAggregation aggregation;
        amg.initialize(A, modes, aggregation, data);
      };
      add(backend, "set-up of multigrid, the first", 1, set_up);
      add(backend, "set-up of multigrid", settings.n_repetitions, set_up);
      control.max_iterations = 1000;
      control.reduction      = 1e-8;
      IterationResult result;
      const auto      solve = [&] {
        x      = 0.;
        result = cg.solve(A, x, b, amg, control);
      };
      const double seconds = add(backend, "solution with multigrid", settings.n_repetitions, solve);
      A.residual(y, x, b);
      const double residual = y.l2_norm() / b.l2_norm();
      verified              = verified && result.success() && residual <= 1.001e-8;
      const double n_steps  = ranks->maximum(double(result.n_iterations));
      line("step of CG with multigrid", seconds / std::max(n_steps, 1.),
           {{"iterations", n_steps}, {"true residual", residual}, {"levels", double(amg.n_levels())}});
      add(backend, "set-up of multigrid again", settings.n_repetitions, [&] { amg.update(A); });
      phases(backend, amg, "set-up", set_up);
      phases(backend, amg, "set-up again", [&] { amg.update(A); });
      phases(backend, amg, "cycle", [&] { amg.vmult(x, b); });
    }

    bool verified = true;

  private:
    int n_owners(const Backend &backend) const
    {
      return backend.group() == nullptr ? ranks->size() : static_cast<int>(backend.group()->groups().size());
    }

    /** Null of one owner, and of members. */
    std::shared_ptr<const Communicator> owners_of(const Backend &backend) const
    {
      return backend.group() == nullptr ? ranks : backend.group()->owners();
    }

    void line(const std::string &what, const double seconds, const std::map<std::string, double> &further)
    {
      const bool all = ranks->maximum(std::int64_t(!verified)) == 0;
      if (report != nullptr)
        report->add({name + ", " + what, "time", seconds, "s", 0., all, further});
    }

    /** The slowest rank counts. */
    double seconds_of(const Backend &backend, const std::function<void()> &work) const
    {
      backend.synchronize();
      ranks->barrier();
      return ranks->maximum(host_times(1, [&] {
        work();
        backend.synchronize();
      })[0]);
    }

    double
    add(const Backend &backend, const std::string &what, const int n_repetitions, const std::function<void()> &work)
    {
      std::vector<double> seconds;
      for (int i = 0; i < n_repetitions; ++i)
        seconds.push_back(seconds_of(backend, work));
      line(what, median(seconds), {{"minimum", *std::min_element(seconds.begin(), seconds.end())}});
      return median(seconds);
    }

    /** The first rank's seconds of each phase of @p work by level. */
    void phases(const Backend               &backend,
                PreconditionAMG<double>     &amg,
                const std::string           &what,
                const std::function<void()> &work)
    {
      struct Entry
      {
        unsigned int level;
        std::string  phase;
        double       seconds;
      };
      std::vector<Entry> entries;
      backend.synchronize();
      auto last = std::chrono::steady_clock::now();
      amg.monitor([&](const unsigned int level, const std::string &phase) {
        backend.synchronize();
        const auto now = std::chrono::steady_clock::now();
        entries.push_back({level, phase, std::chrono::duration<double>(now - last).count()});
        last = now;
      });
      work();
      amg.monitor({});
      if (report == nullptr)
        return;
      for (const Entry &entry : entries)
      {
        Result result{name,
                      what + ", level " + std::to_string(entry.level) + ": " + entry.phase,
                      entry.seconds,
                      "s",
                      0.,
                      verified,
                      {}};
        result.detail = true;
        report->add(result);
      }
    }

    /** Exchanges with the owner before and the one behind, at once and in two parts, and sums; of hosts see bench_ranks. */
    void pieces(const Backend &backend)
    {
      const auto        owners  = owners_of(backend);
      const std::string by      = owners != nullptr ? " by " + transport_of(*owners, backend)->name() : "";
      const bool        devices = backend.group() != nullptr || backend.kind() == BackendKind::cuda;
      for (const int kilobytes : {1, 16, 64, 256, 1024, 4096})
      {
        if (kilobytes > 1 && !devices)
          break;
        const int                          n = kilobytes * 1000 / static_cast<int>(sizeof(double));
        Array<double>                      values(backend, 3 * std::size_t(n));
        std::shared_ptr<const Partitioner> things;
        if (owners != nullptr)
        {
          std::vector<Partitioner::Ghost> ghosts;
          for (const int rank : {owners->rank() - 1, owners->rank() + 1})
            for (int i = 0; i < n && rank >= 0 && rank < owners->size(); ++i)
              ghosts.push_back({rank, i});
          values.set_zero();
          things = std::make_shared<const Partitioner>(owners, n, std::move(ghosts));
        }
        const std::string what = std::to_string(kilobytes) + " kB to each neighbour" + by;
        repeat(backend, what, [&] {
          if (things != nullptr)
            things->start_and_finish(backend, values.data(), sizeof(double));
        });
        repeat(backend, what + " in two parts", [&] {
          if (things == nullptr)
            return;
          things->start(backend, values.data(), sizeof(double));
          things->finish(backend, values.data(), sizeof(double));
        });
      }
      Array<double> numbers(backend, std::vector<double>{1., 1.});
      for (const int n : {1, 2})
        repeat(backend, (n == 1 ? "sum of a number" : "sum of two numbers") + by, [&] {
          if (owners != nullptr)
            transport_of(*owners, backend)->sum(numbers.data(), n);
        });
    }

    /** Of work that is done many times, in a Graph where it can be. */
    void repeat(const Backend &backend, const std::string &what, const std::function<void()> &work)
    {
      constexpr int n       = 50;
      const auto    n_times = [&] {
        for (int i = 0; i < n; ++i)
          work();
      };
      n_times();
      const auto owners   = owners_of(backend);
      const bool recorded = backend.kind() == BackendKind::cuda && (owners == nullptr || owners->size() == 1 ||
                                                                    transport_of(*owners, backend)->can_be_recorded());
      std::unique_ptr<Graph> graph;
      if (recorded)
        graph = std::make_unique<Graph>(backend, n_times);
      std::vector<double> seconds;
      for (int i = 0; i < settings.n_repetitions + 2; ++i)
        seconds.push_back(seconds_of(backend, [&] { recorded ? graph->launch() : n_times(); }) / n);
      line(what, median(seconds), {{"minimum", *std::min_element(seconds.begin(), seconds.end())}});
    }

    const Settings                               &settings;
    const std::shared_ptr<const MPICommunicator> &ranks;
    Report *const                                 report;
    std::string                                   name;
  };

  int main_program(const int argc, char **argv)
  {
    const auto ranks = MPICommunicator::of(MPI_COMM_WORLD);
    if (std::getenv("OMP_NUM_THREADS") == nullptr) // ranks of a machine have its cores in equal shares
    {
      const std::vector<int> machines = ranks->all_gather(ranks->machine());
      const auto             n_here   = std::count(machines.begin(), machines.end(), ranks->machine());
      omp_set_num_threads(
          std::clamp<int>(sysconf(_SC_NPROCESSORS_ONLN) / n_here, 1, omp_get_num_procs())); // where it may run
    }
    // The first rank reads the options, so that it alone says what is wrong with them.
    Options  options({{"backend", "auto"}, {"cells", "40"}, {"layers", "40"}, {"repetitions", "5"}}, {});
    Settings settings{};
    if (ranks->rank() == 0)
      run([&]() {
        options.parse(argc, argv);
        Settings given{options.get_int("cells"), options.get_int("layers"), options.get_int("repetitions"), {}};
        std::snprintf(given.backend, sizeof(given.backend), "%s", options.get("backend").c_str());
        settings = given;
        return 0;
      });
    settings = ranks->all_gather(settings)[0];
    if (settings.n_cells == 0)
      return 1;
    std::unique_ptr<Report> report;
    bool                    verified = false;
    const int               failed   = run([&]() {
      const Backend backend = backend_of_ranks(settings.backend, MPI_COMM_WORLD);
      if (backend.group() != nullptr)
        backend.group()->connect();
      if (ranks->rank() == 0)
      {
        report = std::make_unique<Report>("scaling", backend.device_name());
        if (backend.group() != nullptr)
          std::printf("%s\n", backend.group()->description().c_str());
      }
      Bench bench(settings, ranks, report.get());
      bench.measure(backend);
      verified = bench.verified;
      if (report != nullptr)
        report->write(options.get("json"));
      return 0;
    });
    if (failed != 0) // perhaps here alone
      MPI_Abort(MPI_COMM_WORLD, 1);
    return ranks->maximum(std::int64_t(!verified)) == 0 ? 0 : 1;
  }
} // namespace

int main(int argc, char **argv)
{
  MPI_Init(&argc, &argv);
  const int status = main_program(argc, argv);
  MPI_Finalize();
  return status;
}
