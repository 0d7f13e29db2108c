// SPDX-License-Identifier: LGPL-2.1-or-later
// Products, sums and conjugate gradients on several ranks: how much of the exchange of ghosts is hidden behind rows that
// read none. Q1 elasticity on a cube of equal cells in blocks of 3 x 3, whose nodes are parted in blocks.
//   mpirun -n RANKS bench_ranks [--unknowns PER_RANK] [--calls N] [--repetitions N] [--json FILE]
#include "benchmark.h"
#include "grid_system.h"
#include "in_turn.h"

#include <patchfem/lac/matrix/sliced_ellpack_matrix.h>
#include <patchfem/lac/precondition/precondition_jacobi.h>
#include <patchfem/lac/solver/conjugate_gradients.h>
#include <patchfem/mpi/mpi_communicator.h>

#include <omp.h>

#include <cstdlib>
#include <memory>
#include <set>

using namespace benchmark;
using namespace PatchFEM;

namespace
{
  using System = GridSystem<3>;

  /** The nodes of all ranks in blocks; each rank has those first that all neighbours of are its own. */
  class BlocksOfNodes
  {
  public:
    BlocksOfNodes(const int n, const int n_ranks) : n(n) { MPI_Dims_create(n_ranks, 3, n_blocks); }

    int owner(const int node) const
    {
      int rank = 0;
      for (int d = 2; d >= 0; --d)
        rank = rank * n_blocks[d] + block_of(coordinate(node, d), d);
      return rank;
    }

    /** The nodes of a rank in their order. */
    std::vector<int> nodes(int rank) const
    {
      int first[3], last[3];
      for (int d = 0; d < 3; ++d, rank /= n_blocks[d - 1])
      {
        first[d] = begin(rank % n_blocks[d], d);
        last[d]  = begin(rank % n_blocks[d] + 1, d);
      }
      std::vector<int> result, boundary;
      for (int z = first[2]; z < last[2]; ++z)
        for (int y = first[1]; y < last[1]; ++y)
          for (int x = first[0]; x < last[0]; ++x)
          {
            const int  at[3]    = {x, y, z};
            const auto is_inner = [&](const int d) {
              return (at[d] > first[d] || first[d] == 0) && (at[d] + 1 < last[d] || last[d] == n);
            };
            (is_inner(0) && is_inner(1) && is_inner(2) ? result : boundary).push_back(x + n * (y + n * z));
          }
      result.insert(result.end(), boundary.begin(), boundary.end());
      return result;
    }

    /** Calls @p use(j) for @p node and its neighbours. */
    template <typename Use>
    void for_each_neighbour(const int node, const Use &use) const
    {
      const int x = coordinate(node, 0), y = coordinate(node, 1), z = coordinate(node, 2);
      for (int dz = -(z > 0); dz <= (z + 1 < n); ++dz)
        for (int dy = -(y > 0); dy <= (y + 1 < n); ++dy)
          for (int dx = -(x > 0); dx <= (x + 1 < n); ++dx)
            use(node + dx + n * (dy + n * dz));
    }

  private:
    int n, n_blocks[3] = {};

    int coordinate(const int node, const int d) const { return (d == 0 ? node : d == 1 ? node / n : node / n / n) % n; }
    int begin(const int block, const int d) const { return static_cast<int>(std::int64_t(n) * block / n_blocks[d]); }
    int block_of(const int x, const int d) const
    {
      int block = 0;
      while (begin(block + 1, d) <= x)
        ++block;
      return block;
    }
  };

  /** What one rank has of the matrix. */
  struct Part
  {
    Part(const System &system, const std::shared_ptr<const Communicator> &ranks)
    {
      const BlocksOfNodes blocks(system.n, ranks->size());
      nodes             = blocks.nodes(ranks->rank());
      const int n_owned = static_cast<int>(nodes.size());

      std::map<int, std::set<int>> others; // by rank
      for (const int node : nodes)
        blocks.for_each_neighbour(node, [&](const int j) {
          if (blocks.owner(j) != ranks->rank())
            others[blocks.owner(j)].insert(j);
        });
      std::vector<Partitioner::Ghost> ghosts;
      for (const auto &[rank, wanted] : others)
      {
        const std::vector<int> there = blocks.nodes(rank);
        for (int i = 0; i < static_cast<int>(there.size()); ++i)
          if (wanted.count(there[i]) > 0)
          {
            ghosts.push_back({rank, i});
            nodes.push_back(there[i]);
          }
      }
      partitioner = std::make_shared<const Partitioner>(ranks, n_owned, std::move(ghosts));

      std::vector<int> local(system.n_nodes(), -1);
      for (std::size_t i = 0; i < nodes.size(); ++i)
        local[nodes[i]] = static_cast<int>(i);
      std::vector<std::int64_t> offsets{0};
      std::vector<int>          columns;
      for (int i = 0; i < n_owned; ++i)
      {
        blocks.for_each_neighbour(nodes[i], [&](const int j) { columns.push_back(local[j]); });
        std::sort(columns.begin() + offsets.back(), columns.end());
        offsets.push_back(static_cast<std::int64_t>(columns.size()));
      }
      matrix.reinit(Backend(), {n_owned, static_cast<int>(nodes.size()), offsets.data(), columns.data()}, 3, 3);
      matrix.set_partitioner(partitioner);
      const SlicedEllpackView<double> view = matrix.view();
      double                          block[9];
      matrix.initialize_vector(x);
      std::vector<double> source(n_owned * 3), product(n_owned * 3, 0.);
      for (int i = 0; i < n_owned; ++i)
        for (int k = 0; k < view.row_lengths[i]; ++k)
        {
          const int j = view.column(i, k);
          system.block(nodes[i], nodes[j], block);
          for (int a = 0; a < 3; ++a)
            for (int b = 0; b < 3; ++b)
            {
              view.values[view.value_index(i, k, a, b)] = block[a * 3 + b];
              product[i * 3 + a] += block[a * 3 + b] * value(nodes[j] * 3 + b);
            }
        }
      for (int i = 0; i < n_owned * 3; ++i)
        source[i] = value(nodes[i / 3] * 3 + i % 3);
      x.copy_from_host(source);
      expected = product;
    }

    static double value(const int unknown) { return std::sin(double(unknown)); }

    std::vector<int>                   nodes; ///< with ghosts
    std::shared_ptr<const Partitioner> partitioner;
    SlicedEllpackMatrix<double>        matrix;
    Vector<double>                     x;
    std::vector<double>                expected; ///< A x
  };

  struct Settings
  {
    int n_unknowns, n_calls, n_repetitions;
  };

  void measure(const Settings &settings, const std::shared_ptr<const Communicator> &ranks, Report *const report)
  {
    const int    n_ranks = ranks->size();
    const System system(static_cast<int>(std::lround(std::cbrt(settings.n_unknowns / 3. * n_ranks))));
    const Part   part(system, ranks);
    const SlicedEllpackMatrix<double> &A = part.matrix;
    const InTurn                       in_turn(A);
    const RowRange                     interior{0, A.extents().n_interior};
    const Vector<double>              &x = part.x;
    Vector<double>                     y;
    A.initialize_vector(y);
    const kernels::Overwrite<double> to_y{y.data()};

    // Both products against plain loops, and against each other bit by bit.
    y = std::numeric_limits<double>::quiet_NaN();
    in_turn.vmult(y, x);
    const std::vector<double> product = y.copy_to_host();
    y                                 = std::numeric_limits<double>::quiet_NaN();
    A.vmult(y, x);
    const double difference = ranks->maximum(relative_difference(y.copy_to_host(), part.expected));
    const bool   right      = ranks->maximum(std::int64_t(product != y.copy_to_host())) == 0 && difference < 1e-13;

    const PreconditionJacobi<double> jacobi(A);
    ConjugateGradients<double>       solver;
    Vector<double>                   solution;
    const auto                       solve = [&](const Operator<double> &matrix, const int n_steps) {
      IterationControl control;
      control.tolerance      = 0.;
      control.max_iterations = n_steps;
      matrix.initialize_vector(solution);
      solver.solve(matrix, solution, x, jacobi, control);
    };
    solve(in_turn, 20);
    const std::vector<double> iterate = solution.copy_to_host();
    solve(A, 20);
    const bool same = ranks->maximum(std::int64_t(iterate != solution.copy_to_host())) == 0;

    struct Case
    {
      std::string              name;
      std::function<void(int)> run; ///< so many calls
      int                      n_calls;
      bool                     verified;
      std::vector<double>      seconds = {}; ///< of a call
    };
    const auto repeated = [](const auto &call) {
      return [call](const int n) {
        for (int i = 0; i < n; ++i)
          call();
      };
    };
    double            sum = 1.;
    const int         n = settings.n_calls, steps = 10 * n; // with the residuals before the first and after the last
    std::vector<Case> cases{
        {"interior rows", repeated([&] { A.product(x.data(), to_y, interior); }), n, right},
        {"all rows without exchange", repeated([&] { A.product(x.data(), to_y); }), n, right},
        {"exchange", repeated([&] { x.update_ghosts(); }), n, right},
        {"exchange, then all rows", repeated([&] { in_turn.vmult(y, x); }), n, right},
        {"product, exchange hidden", repeated([&] { A.vmult(y, x); }), n, right},
        {"dot product", repeated([&] { x.dot(x); }), n, std::abs(x.dot(x) / x.l2_norm() / x.l2_norm() - 1.) < 1e-14},
        {"sum of a number of all ranks", repeated([&] { sum = 1., ranks->sum(&sum, 1); }), n, true},
        {"step of CG with Jacobi, exchange first", [&](const int k) { solve(in_turn, k); }, steps, same},
        {"step of CG with Jacobi, exchange hidden", [&](const int k) { solve(A, k); }, steps, same}};
    // Of a product the time that its exchange takes or keeps waiting, with so many pieces of interior rows in between.
    struct Exposed
    {
      const char         *name;
      int                 n_pieces;
      std::vector<double> seconds = {}; ///< the mean of all ranks
    };
    std::vector<Exposed> all_exposed{
        {"before all rows", 0}, {"around interior rows", 1}, {"around four pieces of them", 4}};
    const auto exposed_in_product = [&](const int n_pieces) {
      using Clock = std::chrono::steady_clock;
      Clock::duration exposed{};
      const auto      timed = [&](const auto &call) {
        const auto begin = Clock::now();
        call();
        exposed += Clock::now() - begin;
      };
      for (int call = 0; call < n; ++call)
      {
        timed([&] { x.start_ghosts(); });
        int begin = 0;
        for (int k = 1; k <= n_pieces; ++k)
        {
          const int end = static_cast<int>(std::int64_t(interior.last) * k / n_pieces);
          A.product(x.data(), to_y, RowRange{begin, end});
          if (k < n_pieces)
            timed([&] { x.progress_ghosts(); });
          begin = end;
        }
        timed([&] { x.finish_ghosts(); });
        A.product(x.data(), to_y, RowRange{begin});
      }
      double seconds = std::chrono::duration<double>(exposed).count() / n / n_ranks;
      ranks->sum(&seconds, 1);
      return seconds;
    };
    // In turn, so that whatever else the machine does meets all. The slowest rank counts.
    for (int repetition = 0; repetition < settings.n_repetitions; ++repetition)
    {
      for (Case &c : cases)
      {
        ranks->maximum(0.); // begin together
        c.seconds.push_back(ranks->maximum(host_times(1, [&] { c.run(c.n_calls); })[0]) / c.n_calls);
      }
      for (Exposed &exposed : all_exposed)
        exposed.seconds.push_back(exposed_in_product(exposed.n_pieces));
    }
    cases[6].verified = sum == n_ranks;

    const auto   largest = [&](const int of_rank) { return double(ranks->maximum(std::int64_t(of_rank))); };
    const double n_rows = largest(A.n_rows()), n_ghosts = largest(part.partitioner->n_ghosts());
    if (report == nullptr)
      return;
    char text[96];
    std::snprintf(text, sizeof(text), "Q1 elasticity 3D, %d ranks of %.0f k DoF, ", n_ranks,
                  1e-3 * double(system.n_dofs()) / n_ranks);
    for (const Case &c : cases)
    {
      const auto [least, most] = std::minmax_element(c.seconds.begin(), c.seconds.end());
      report->add(
          {text + c.name, "time", median(c.seconds), "s", 0., c.verified, {{"minimum", *least}, {"maximum", *most}}});
    }
    if (n_ranks == 1)
      return;
    // Differences of neighbours in time, in units of the exchange alone; their spread says what a share is worth.
    std::vector<double> shares;
    for (int i = 0; i < settings.n_repetitions; ++i)
      shares.push_back((cases[3].seconds[i] - cases[4].seconds[i]) / median(cases[2].seconds));
    std::sort(shares.begin(), shares.end());
    report->add({std::string(text) + "exchange",
                 "hidden share",
                 median(shares),
                 "1",
                 0.,
                 right,
                 {{"lower quartile", shares[shares.size() / 4]},
                  {"upper quartile", shares[shares.size() - 1 - shares.size() / 4]},
                  {"DoF of a rank", n_rows},
                  {"ghost nodes of a rank", n_ghosts},
                  {"interior share of rows", 3. * interior.last / A.n_rows()},
                  {"difference", difference}}});
    for (const Exposed &exposed : all_exposed)
      report->add({std::string(text) + "exchange " + exposed.name,
                   "exposed",
                   median(exposed.seconds),
                   "s",
                   0.,
                   right,
                   {{"minimum", *std::min_element(exposed.seconds.begin(), exposed.seconds.end())}}});
  }

  int main_program(const int argc, char **argv)
  {
    const auto ranks = std::make_shared<const MPICommunicator>(MPI_COMM_WORLD);
    if (std::getenv("OMP_NUM_THREADS") == nullptr && ranks->size() > 1)
      omp_set_num_threads(1);
    // The first rank reads the options, so that it alone says what is wrong with them.
    Options  options({{"unknowns", "100000"}, {"calls", "10"}, {"repetitions", "20"}}, {});
    Settings settings{};
    if (ranks->rank() == 0)
      run([&]() {
        options.parse(argc, argv);
        const Settings given{options.get_int("unknowns"), options.get_int("calls"), options.get_int("repetitions")};
        require(given.n_unknowns >= 300 && given.n_unknowns <= 10000000,
                "A rank has from 300 to 10 million unknowns, not ", given.n_unknowns, ".");
        settings = given;
        return 0;
      });
    settings = ranks->all_gather(settings)[0];
    if (settings.n_unknowns == 0)
      return 1;
    std::unique_ptr<Report> report;
    if (ranks->rank() == 0)
    {
      report          = std::make_unique<Report>("ranks", Backend("host").device_name());
      report->threads = omp_get_max_threads();
    }
    const int failed = run([&]() {
      measure(settings, ranks, report.get());
      if (report != nullptr)
        report->write(options.get("json"));
      return 0;
    });
    if (failed != 0) // perhaps here alone
      MPI_Abort(MPI_COMM_WORLD, 1);
    return report == nullptr || report->all_verified() ? 0 : 1;
  }
} // namespace

int main(int argc, char **argv)
{
  MPI_Init(&argc, &argv);
  const int status = main_program(argc, argv);
  MPI_Finalize();
  return status;
}
