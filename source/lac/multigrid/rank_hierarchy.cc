// SPDX-License-Identifier: LGPL-2.1-or-later
#include "multigrid_tools.h"

#include <patchfem/lac/multigrid/rank_hierarchy.h>

#include <algorithm>
#include <type_traits>

namespace PatchFEM
{
  namespace
  {
    /** omega lambda_max of the prolongator's smoothing, as in SmoothedAggregation. */
    constexpr double omega_factor = 1.5;

    /** Aggregates of all ranks are at most this share of the nodes, or the level is gathered. */
    constexpr double most_aggregates = 0.5;

    /** Rows of dense blocks; columns are global numbers of blocks, ascending in each row. */
    struct BlockRows
    {
      int                       block_rows, block_columns;
      std::vector<std::int64_t> offsets = {0}, columns = {};
      std::vector<double>       values = {}; ///< [block][block_rows][block_columns]

      int           block_size() const { return block_rows * block_columns; }
      const double *block(const std::int64_t e) const { return values.data() + e * block_size(); }
    };

    /** Sums blocks by column, one row after another. */
    class RowSum
    {
    public:
      /** @p columns: all that may come, ascending; a column is known by its place there. */
      RowSum(const std::vector<std::int64_t> &columns, BlockRows &rows)
          : known(columns), rows(rows), slot(known.size(), -1)
      {}

      /** The sum so far. */
      double *at(const int place)
      {
        if (slot[place] < 0)
        {
          slot[place] = static_cast<int>(touched.size());
          touched.push_back(place);
          sums.resize(touched.size() * rows.block_size(), 0.);
        }
        return sums.data() + std::int64_t(slot[place]) * rows.block_size();
      }

      void finish_row()
      {
        std::sort(touched.begin(), touched.end());
        for (const int place : touched)
        {
          const double *from = sums.data() + std::int64_t(slot[place]) * rows.block_size();
          rows.columns.push_back(known[place]);
          rows.values.insert(rows.values.end(), from, from + rows.block_size());
          slot[place] = -1;
        }
        rows.offsets.push_back(static_cast<std::int64_t>(rows.columns.size()));
        touched.clear();
        sums.clear();
      }

    private:
      const std::vector<std::int64_t> &known;
      BlockRows                       &rows;
      std::vector<int>                 slot, touched;
      std::vector<double>              sums;
    };

    std::vector<std::int64_t> unique(std::vector<std::int64_t> values)
    {
      std::sort(values.begin(), values.end());
      values.erase(std::unique(values.begin(), values.end()), values.end());
      return values;
    }

    /** The places of @p columns among @p known; -1 of those below 0. */
    std::vector<int> places(const std::vector<std::int64_t> &columns, const std::vector<std::int64_t> &known)
    {
      std::vector<int> result;
      result.reserve(columns.size());
      for (const std::int64_t column : columns)
        result.push_back(column < 0 ? -1 : int(std::lower_bound(known.begin(), known.end(), column) - known.begin()));
      return result;
    }

    /** Behind the rows of owned nodes come those of ghosts, as their owners have them. */
    void fetch_rows(const Partitioner &partitioner, BlockRows &rows)
    {
      std::map<int, std::vector<int>>          lengths;
      std::map<int, std::vector<std::int64_t>> columns;
      std::map<int, std::vector<double>>       values;
      for (const Partitioner::Destination &to : partitioner.destinations())
        for (const int i : to.indices)
        {
          const std::int64_t begin = rows.offsets[i], end = rows.offsets[i + 1];
          lengths[to.rank].push_back(static_cast<int>(end - begin));
          columns[to.rank].insert(columns[to.rank].end(), rows.columns.begin() + begin, rows.columns.begin() + end);
          values[to.rank].insert(values[to.rank].end(), rows.block(begin), rows.block(end));
        }
      lengths = partitioner.communicator().exchange(lengths);
      columns = partitioner.communicator().exchange(columns);
      values  = partitioner.communicator().exchange(values);
      for (const auto &[rank, list] : lengths) // ascending, as the ghosts
      {
        for (const int n : list)
          rows.offsets.push_back(rows.offsets.back() + n);
        rows.columns.insert(rows.columns.end(), columns[rank].begin(), columns[rank].end());
        rows.values.insert(rows.values.end(), values[rank].begin(), values[rank].end());
      }
    }

    /** c += a b or, if @p transposed, a^T b; c has n_rows x n_columns entries and n is summed over; 0: see BlockProduct. */
    template <int fixed_rows, int fixed_n, int fixed_columns, bool transposed>
    void add_product(const double *a, const double *b, double *c, const int rows, const int sum, const int columns)
    {
      const int n_rows = fixed_rows > 0 ? fixed_rows : rows, n = fixed_n > 0 ? fixed_n : sum,
                n_columns = fixed_columns > 0 ? fixed_columns : columns;
      for (int i = 0; i < n_rows; ++i)
        for (int k = 0; k < n; ++k)
        {
          const double factor = transposed ? a[k * n_rows + i] : a[i * n + k];
          for (int j = 0; j < n_columns; ++j)
            c[i * n_columns + j] += factor * b[k * n_columns + j];
        }
    }

    /** The same with sizes of @p m modes and @p b components that compilers know where they are usual. */
    template <bool transposed>
    struct BlockProduct
    {
      int rows, n, columns;
      void (*kernel)(const double *, const double *, double *, int, int, int);

      BlockProduct(const int b, const int m)
          : rows(transposed ? m : b), n(b), columns(m), kernel(b == 1 && m == 1   ? choose<1, 1>()
                                                               : b == 3 && m == 6 ? choose<3, 6>()
                                                               : b == 6 && m == 6 ? choose<6, 6>()
                                                               : b == 2 && m == 3 ? choose<2, 3>()
                                                               : b == 3 && m == 3 ? choose<3, 3>()
                                                                                  : choose<0, 0>())
      {}

      void operator()(const double *a, const double *b, double *c) const { kernel(a, b, c, rows, n, columns); }

    private:
      template <int b, int m>
      static auto choose()
      {
        return &add_product<(transposed ? m : b), b, m, transposed>;
      }
    };

    /** Scalar rows of the first @p n_rows, in whose columns @p local(column) are numbers. */
    template <typename Number, typename LocalNumber>
    HostCSR<Number> scalar_rows(const BlockRows &rows, const int n_rows, const int n_columns, const LocalNumber &local)
    {
      const int                                 br = rows.block_rows, bc = rows.block_columns;
      HostCSR<Number>                           result{n_rows * br, n_columns * bc, {0}, {}, {}};
      std::vector<std::pair<int, std::int64_t>> row; // column, block
      for (int i = 0; i < n_rows; ++i)
      {
        row.clear();
        for (std::int64_t e = rows.offsets[i]; e < rows.offsets[i + 1]; ++e)
          row.emplace_back(local(rows.columns[e]), e);
        std::sort(row.begin(), row.end());
        for (int a = 0; a < br; ++a)
        {
          for (const auto &[column, e] : row)
            for (int b = 0; b < bc; ++b)
            {
              result.columns.push_back(column * bc + b);
              result.values.push_back(static_cast<Number>(rows.block(e)[a * bc + b]));
            }
          result.row_offsets.push_back(static_cast<std::int64_t>(result.columns.size()));
        }
      }
      return result;
    }

    /** Those of all ranks, one behind the other. */
    template <typename T>
    std::vector<T> all_of(const Communicator &ranks, const std::vector<T> &values)
    {
      std::vector<T> result;
      for (const Communicator::Bytes &bytes : ranks.all_gather(Communicator::pack(values)))
      {
        const std::vector<T> of_rank = Communicator::unpack<T>(bytes);
        result.insert(result.end(), of_rank.begin(), of_rank.end());
      }
      return result;
    }

    /** The mean position of the nodes of each aggregate. */
    std::vector<double> centroids(const AggregateLists &aggregates, const std::vector<double> &points, const int dim)
    {
      const std::vector<int> offsets = aggregates.aggregate_offsets().to_vector(),
                             nodes   = aggregates.aggregate_nodes().to_vector();
      std::vector<double> result(std::size_t(aggregates.n_aggregates()) * dim, 0.);
      for (int g = 0; g < aggregates.n_aggregates(); ++g)
        for (int k = offsets[g]; k < offsets[g + 1]; ++k)
          for (int d = 0; d < dim; ++d)
            result[g * dim + d] += points[std::size_t(nodes[k]) * dim + d] / (offsets[g + 1] - offsets[g]);
      return result;
    }
  } // namespace

  template <typename Number>
  void RankHierarchy<Number>::initialize(const SlicedEllpackMatrix<Number> &A,
                                         const NearNullSpace               &near_null,
                                         AMGAggregation                    &aggregation,
                                         const AMGParameters               &amg_parameters)
  {
    require(A.partitioner() != nullptr, "A matrix of one rank has an AMGHierarchy.");
    require(near_null.n_unknowns() == A.n_rows() || A.n_rows() == 0, "A near-null space of ", near_null.n_unknowns(),
            " unknowns does not fit a matrix of ", A.n_rows(), " rows.");
    require(amg_parameters.smoother != AMGSmoother::patch,
            "The smoother patch is for one rank; choose chebyshev, which is the default.");
    const Communicator &ranks = A.partitioner()->communicator();
    const Backend      &place = A.backend();
    parameters                = amg_parameters;
    finest                    = &A;
    levels.clear();
    aggregation.know_points(near_null.dim(), near_null.points());

    // Where a level is as large as a quarter of a rank's share of the finest one, all can have it.
    const std::int64_t  n_finest = A.partitioner()->n_global() * A.block_rows();
    const std::int64_t  few      = std::max<std::int64_t>(parameters.coarse_size_for(ranks.sum(A.n_nonzero_elements())),
                                                    n_finest / ranks.size() / 4);
    const int           n_modes  = static_cast<int>(ranks.maximum(std::int64_t(near_null.n_modes())));
    const int           dim      = static_cast<int>(ranks.maximum(std::int64_t(near_null.dim())));
    Array<double>       modes;
    std::vector<double> points = near_null.points().to_vector();
    modes.copy_from(place, near_null.array());

    while (last().partitioner()->n_global() * last().block_rows() > few &&
           levels.size() + 1 < std::size_t(parameters.max_levels))
    {
      const SlicedEllpackMatrix<Number> &matrix = last();
      auto                               level  = std::make_unique<Level>();
      level->A                                  = &matrix;
      ranks.together([&] {
        SlicedEllpackMatrix<Number> own;
        own.reinit(place, square_block(matrix.to_csr_host()), matrix.block_rows(), matrix.block_columns());
        if (matrix.n_rows() > 0)
          level->aggregates = aggregation.aggregate(static_cast<unsigned int>(levels.size()), own);
      });
      const std::int64_t n_aggregates = ranks.sum(std::int64_t(level->aggregates.n_aggregates()));
      const auto         n_nodes      = static_cast<double>(matrix.partitioner()->n_global());
      if (n_aggregates == 0 || static_cast<double>(n_aggregates) > most_aggregates * n_nodes)
        break;
      compute_smoother(*level);
      ranks.together([&] {
        choose(place, [&](auto where) { multigrid::mask_decoupled(where, matrix, n_modes, modes); });
        if (matrix.n_rows() > 0)
          level->tentative.compute(level->aggregates, modes, matrix.block_rows(), n_modes);
      });
      points = centroids(level->aggregates, points, dim);
      modes.copy_from(place, level->tentative.coarse_modes());
      compute_coarse(*level, n_modes);
      levels.push_back(std::move(level));
    }

    gather_matrix(last());
    const NearNullSpace all_modes =
        NearNullSpace::at_nodes(n_modes, Array<double>(place, all_of(ranks, modes.to_vector())), dim,
                                Array<double>(place, all_of(ranks, points)));
    const std::unique_ptr<AMGAggregation> again = aggregation.restart();
    require(again != nullptr, "These aggregates are for one rank.");
    gathered.initialize(whole, all_modes, *again, parameters);
    if (!levels.empty())
    {
      last().initialize_vector(last_x);
      last().initialize_vector(last_b);
    }
    for (std::size_t l = 0; l < levels.size(); ++l)
    {
      levels[l]->A->initialize_vector(levels[l]->r, true);
      if (l > 0)
      {
        levels[l]->A->initialize_vector(levels[l]->x);
        levels[l]->A->initialize_vector(levels[l]->b);
      }
    }
  }

  template <typename Number>
  void RankHierarchy<Number>::update(const SlicedEllpackMatrix<Number> &A)
  {
    require(finest != nullptr, "A multigrid hierarchy was updated before it was initialized.");
    require(A.n_rows() == finest->n_rows() && A.n_stored_elements() == finest->n_stored_elements() &&
                A.partitioner() == finest->partitioner(),
            "A multigrid hierarchy was updated with a matrix of another pattern.");
    finest = &A;
    for (std::size_t l = 0; l < levels.size(); ++l)
    {
      levels[l]->A = l == 0 ? &A : &levels[l - 1]->coarse;
      compute_smoother(*levels[l]);
      compute_coarse(*levels[l], levels[l]->P.block_columns());
    }
    gather_matrix(last());
    gathered.update(whole);
  }

  template <typename Number>
  void RankHierarchy<Number>::compute_smoother(Level &level) const
  {
    const Communicator &ranks     = level.A->partitioner()->communicator();
    const bool          stretched = ranks.maximum(std::int64_t(level.aggregates.stretched())) != 0;
    const bool          below     = level.A != finest;
    ranks.together([&] { level.diagonal.initialize(*level.A); });
    level.lambda.compute(*level.A, level.diagonal, parameters.eigenvalue_steps);
    if (level.smoother == nullptr)
      level.smoother = std::make_unique<PolynomialSmoother<Number>>(
          parameters.smoother, parameters.sweeps_on(below, stretched), parameters.range_on(stretched));
    ranks.together([&] { level.smoother->initialize(*level.A, level.diagonal, level.lambda); });
  }

  /** P, R and the coarse matrix of a level with aggregates. */
  template <typename Number>
  void RankHierarchy<Number>::compute_coarse(Level &level, const int n_modes) const
  {
    const Partitioner  &fine  = *level.A->partitioner();
    const Communicator &ranks = fine.communicator();
    const Backend      &place = level.A->backend();
    const int           b = level.A->block_rows(), m = n_modes, n = fine.n_owned(), n_local = fine.n_local();

    // Where aggregates are numbered by rank, those of all nodes here, and their parts of the tentative prolongator.
    const int                 n_coarse = level.aggregates.n_aggregates();
    std::vector<std::int64_t> first(1, 0), aggregate(n_local, -1);
    for (const int of_rank : ranks.all_gather(int(n_coarse)))
      first.push_back(first.back() + of_rank);
    const std::int64_t     begin = first[ranks.rank()], end = begin + n_coarse;
    const std::vector<int> own_aggregate = level.aggregates.aggregate_of_node().to_vector();
    std::vector<double>    Q             = level.tentative.values().to_vector();
    Q.resize(std::size_t(n_local) * b * m, 0.);
    for (std::size_t i = 0; i < own_aggregate.size(); ++i)
      aggregate[i] = own_aggregate[i] < 0 ? -1 : begin + own_aggregate[i];
    fine.update_ghosts(aggregate.data());
    fine.update_ghosts(Q.data(), b * m);

    const HostCSR<Number> A          = level.A->to_csr_host();
    const auto            for_blocks = [&](const int i, const auto &use) { // use(column, block [b][b])
      std::vector<double> block(b * b);
      const std::int64_t  row = std::int64_t(i) * b, length = A.row_offsets[row + 1] - A.row_offsets[row];
      for (std::int64_t k = 0; k < length; k += b)
      {
                   for (int a = 0; a < b; ++a)
          for (int c = 0; c < b; ++c)
            block[a * b + c] = static_cast<double>(A.values[A.row_offsets[row + a] + k + c]);
        use(A.columns[A.row_offsets[row] + k] / b, block.data());
      }
    };

    // P = (I - omega D^-1 A) Q on owned rows, and then those of ghosts.
    const double        omega  = omega_factor / level.lambda.value();
    const auto          D      = *level.diagonal.block_diagonal();
    const std::size_t   D_size = std::size_t(D.n_blocks) * (b * (b + 1) / 2);
    std::vector<Number> D_values(D_size);
    if (D_size > 0)
      memory::copy(Backend(), D_values.data(), place, D.values, D_size * sizeof(Number));
    const BlockDiagonalView<Number> D_here{D.n_blocks, b, D.stride, D_values.data()};
    const BlockProduct<false>       product(b, m);
    BlockRows                       P{b, m};
    {
      std::vector<std::int64_t> known = unique(aggregate);
      if (!known.empty() && known.front() < 0)
        known.erase(known.begin());
      const std::vector<int> place = places(aggregate, known);
      RowSum                 sum(known, P);
      std::vector<Number>    in(b), out(b);
      for (int i = 0; i < n; ++i)
      {
        for_blocks(i, [&](const int j, const double *block) {
          if (place[j] >= 0)
            product(block, Q.data() + std::size_t(j) * b * m, sum.at(place[j]));
        });
        if (place[i] >= 0)
          sum.at(place[i]);
        sum.finish_row();
        for (std::int64_t e = P.offsets[i]; e < P.offsets[i + 1]; ++e)
        {
          double *const values = P.values.data() + e * b * m;
          for (int c = 0; c < m; ++c)
          {
            for (int a = 0; a < b; ++a)
              in[a] = static_cast<Number>(values[a * m + c]);
            kernels::apply_block<0>(D_here, i, in.data(), out.data());
            for (int a = 0; a < b; ++a)
              values[a * m + c] = (P.columns[e] == aggregate[i] ? Q[(std::size_t(i) * b + a) * m + c] : 0.) -
                                  omega * static_cast<double>(out[a]);
          }
        }
      }
    }
    fetch_rows(fine, P);

    BlockRows AP{b, m};
    {
      const std::vector<std::int64_t> known = unique(P.columns);
      const std::vector<int>          place = places(P.columns, known);
      RowSum                          sum(known, AP);
      for (int i = 0; i < n; ++i)
      {
        for_blocks(i, [&](const int j, const double *block) {
          for (std::int64_t e = P.offsets[j]; e < P.offsets[j + 1]; ++e)
            product(block, P.block(e), sum.at(place[e]));
        });
        sum.finish_row();
      }
    }
    fetch_rows(fine, AP);

    // R = P^T on the coarse rows of this rank, of all fine nodes here in their order, and R A P.
    BlockRows                                              R{m, b}, C{m, m};
    std::vector<std::vector<std::pair<int, std::int64_t>>> fed(n_coarse); // (fine node, its block of P)
    for (int i = 0; i < n_local; ++i)
      for (std::int64_t e = P.offsets[i]; e < P.offsets[i + 1]; ++e)
        if (P.columns[e] >= begin && P.columns[e] < end)
          fed[P.columns[e] - begin].emplace_back(i, e);
    {
      const std::vector<std::int64_t> known = unique(AP.columns);
      const std::vector<int>          place = places(AP.columns, known);
      const BlockProduct<true>        product_of_transposed(b, m);
      RowSum                          sum(known, C);
      for (int row = 0; row < n_coarse; ++row)
      {
        for (const auto &[i, e] : fed[row])
        {
          R.columns.push_back(i);
          for (int c = 0; c < m; ++c)
            for (int a = 0; a < b; ++a)
              R.values.push_back(P.block(e)[a * m + c]);
          for (std::int64_t k = AP.offsets[i]; k < AP.offsets[i + 1]; ++k)
            product_of_transposed(P.block(e), AP.block(k), sum.at(place[k]));
        }
        R.offsets.push_back(static_cast<std::int64_t>(R.columns.size()));
        sum.finish_row();
      }
    }

    // Coarse nodes of other ranks in these rows and in those of P.
    std::vector<std::int64_t> others(P.columns.begin(), P.columns.begin() + P.offsets[n]);
    others.insert(others.end(), C.columns.begin(), C.columns.end());
    others = unique(std::move(others));
    others.erase(std::remove_if(others.begin(), others.end(),
                                [=](const std::int64_t column) { return column >= begin && column < end; }),
                 others.end());
    if (level.coarse_partitioner == nullptr)
    {
      std::vector<Partitioner::Ghost> ghosts;
      for (const std::int64_t column : others)
      {
        const int rank = static_cast<int>(std::upper_bound(first.begin(), first.end(), column) - first.begin()) - 1;
        ghosts.push_back({rank, static_cast<int>(column - first[rank])});
      }
      level.coarse_partitioner =
          std::make_shared<const Partitioner>(fine.shared_communicator(), n_coarse, std::move(ghosts));
    }
    const auto local = [&](const std::int64_t column) {
      return column >= begin && column < end
                 ? static_cast<int>(column - begin)
                 : n_coarse + static_cast<int>(std::lower_bound(others.begin(), others.end(), column) - others.begin());
    };
    const int n_columns = level.coarse_partitioner->n_local();
    level.P.reinit(place, scalar_rows<Number>(P, n, n_columns, local), b, m);
    level.P.set_partitioner(level.coarse_partitioner);
    level.R.reinit(place, scalar_rows<Number>(R, n_coarse, n_local, [](const std::int64_t i) { return int(i); }), m, b);
    level.R.set_partitioner(level.A->partitioner());
    level.coarse.reinit(place, scalar_rows<Number>(C, n_coarse, n_columns, local), m, m);
    level.coarse.set_partitioner(level.coarse_partitioner);
  }

  template <typename Number>
  void RankHierarchy<Number>::gather_matrix(const SlicedEllpackMatrix<Number> &A)
  {
    const Partitioner        &nodes = *A.partitioner();
    const Communicator       &ranks = nodes.communicator();
    const int                 b     = A.block_rows();
    const HostCSR<Number>     own   = A.to_csr_host();
    std::vector<std::int64_t> lengths(own.n_rows);
    std::vector<int>          columns(own.columns.size());
    require(nodes.n_global() * b < std::int64_t(1) << 31, "A level of ", nodes.n_global() * b,
            " rows is too large to be gathered.");
    for (int i = 0; i < own.n_rows; ++i)
      lengths[i] = own.row_offsets[i + 1] - own.row_offsets[i];
    for (std::size_t e = 0; e < columns.size(); ++e)
      columns[e] = static_cast<int>(nodes.global(own.columns[e] / b)) * b + own.columns[e] % b;
    lengths                                    = all_of(ranks, lengths);
    columns                                    = all_of(ranks, columns);
    const std::vector<Number>           values = all_of(ranks, own.values);
    const int                           n      = static_cast<int>(lengths.size());
    HostCSR<Number>                     all{n, n, {0}, {}, {}};
    std::vector<std::pair<int, Number>> row;
    std::int64_t                        e = 0;
    for (const std::int64_t length : lengths)
    {
      row.clear();
      for (const std::int64_t row_end = e + length; e < row_end; ++e)
        row.emplace_back(columns[e], values[e]);
      all.append_row(row);
    }
    whole.reinit(A.backend(), all, b, b);

    if (everything == nullptr || everything->n_owned() != nodes.n_owned() || everything->n_global() != nodes.n_global())
    {
      std::vector<Partitioner::Ghost> others;
      const std::vector<int>          sizes = ranks.all_gather(int(nodes.n_owned()));
      for (int rank = 0; rank < ranks.size(); ++rank)
        for (int i = 0; rank != ranks.rank() && i < sizes[rank]; ++i)
          others.push_back({rank, i});
      everything = std::make_shared<const Partitioner>(nodes.shared_communicator(), nodes.n_owned(), std::move(others));
    }
    own_and_others.reinit(A.backend(), everything, b);
    whole_x.reinit(A.backend(), n);
    whole_b.reinit(A.backend(), n);
  }

  template <typename Number>
  void RankHierarchy<Number>::cycle(const unsigned int index, Vector<Number> &x, const Vector<Number> &b) const
  {
    if (index == levels.size())
      return solve_gathered(x, b);
    const Level &level = *levels[index];
    level.smoother->pre_smooth(x, level.r, b);
    const bool      is_last  = index + 1 == levels.size();
    Vector<Number> &coarse_x = is_last ? last_x : levels[index + 1]->x;
    Vector<Number> &coarse_b = is_last ? last_b : levels[index + 1]->b;
    level.R.vmult(coarse_b, level.r);
    cycle(index + 1, coarse_x, coarse_b);
    level.P.vmult_add(x, coarse_x);
    level.smoother->post_smooth(x, level.r, b);
  }

  template <typename Number>
  void RankHierarchy<Number>::solve_gathered(Vector<Number> &x, const Vector<Number> &b) const
  {
    // Nodes of ranks before this one, its own, and those of ranks behind it are three stretches of all.
    const Backend    &place = b.backend();
    const std::size_t n = b.size(), before = everything->first() * whole.block_rows(),
                      behind = whole_b.size() - before - n;
    const auto copy          = [&](Number *to, const Number *from, const std::size_t size) {
      if (size > 0)
        memory::copy(place, to, place, from, size * sizeof(Number));
    };
    copy(own_and_others.data(), b.data(), n);
    own_and_others.update_ghosts();
    copy(whole_b.data(), own_and_others.data() + n, before);
    copy(whole_b.data() + before, own_and_others.data(), n);
    copy(whole_b.data() + before + n, own_and_others.data() + n + before, behind);
    gathered.cycle(whole_x, whole_b);
    copy(x.data(), whole_x.data() + before, n);
  }

  template <typename Number>
  std::vector<AMGLevelStatistics> RankHierarchy<Number>::statistics() const
  {
    std::vector<AMGLevelStatistics> result;
    for (const std::unique_ptr<Level> &level : levels)
    {
      const Communicator &ranks = level->A->partitioner()->communicator();
      AMGLevelStatistics  s;
      s.n_rows          = static_cast<int>(ranks.sum(std::int64_t(level->A->n_rows())));
      s.block_size      = level->A->block_rows();
      s.n_nonzeros      = ranks.sum(level->A->n_nonzero_elements());
      s.n_aggregates    = static_cast<int>(ranks.sum(std::int64_t(level->aggregates.n_aggregates())));
      s.n_dropped_modes = static_cast<int>(ranks.sum(std::int64_t(level->tentative.n_dropped())));
      s.lambda_max      = level->lambda.value();
      s.single          = std::is_same<Number, float>::value;
      s.memory = memory_consumption_of(level->tentative, level->diagonal, *level->smoother, level->aggregates, level->P,
                                       level->R, level->coarse, level->x, level->b, level->r);
      result.push_back(s);
    }
    for (const AMGLevelStatistics &s : gathered.statistics())
      result.push_back(s);
    return result;
  }

  template <typename Number>
  std::size_t RankHierarchy<Number>::memory_consumption() const
  {
    std::size_t bytes = memory_consumption_of(whole, gathered, own_and_others, whole_x, whole_b, last_x, last_b);
    for (const std::unique_ptr<Level> &level : levels)
      bytes += memory_consumption_of(level->tentative, level->diagonal, *level->smoother, level->aggregates, level->P,
                                     level->R, level->coarse, level->x, level->b, level->r);
    return bytes;
  }

  template class RankHierarchy<float>;
  template class RankHierarchy<double>;
} // namespace PatchFEM
