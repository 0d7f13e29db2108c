// SPDX-License-Identifier: LGPL-2.1-or-later
#include "precondition_cases.h"

#include <patchfem/assembly/voxel_poisson.h>
#include <patchfem/lac/precondition/precondition_jacobi.h>

#include <functional>
#include <map>
#include <queue>

using namespace PatchFEM;

class VoxelPoissonTest : public BackendTest
{};
PATCHFEM_INSTANTIATE_BACKENDS(VoxelPoissonTest);

namespace
{
  using Labels = std::vector<unsigned char>;

  constexpr unsigned char S = static_cast<unsigned char>(VoxelLabel::solid);
  constexpr unsigned char F = static_cast<unsigned char>(VoxelLabel::fluid);
  constexpr unsigned char A = static_cast<unsigned char>(VoxelLabel::air);

  /** Everything in plain loops over cells. */
  struct Reference
  {
    VoxelGrid        grid;
    Labels           labels;
    std::vector<int> row; ///< [cell], -1 unless fluid
    int              n_rows = 0;

    Reference(const VoxelGrid &grid, const Labels &labels) : grid(grid), labels(labels), row(labels.size(), -1)
    {
      for (std::size_t cell = 0; cell < labels.size(); ++cell)
        if (labels[cell] == F)
          row[cell] = n_rows++;
    }

    std::int64_t cell(const std::array<int, 3> &at) const
    {
      return (std::int64_t(at[2]) * grid.n[1] + at[1]) * grid.n[0] + at[0];
    }

    std::int64_t face(const std::array<int, 3> &at, const int d) const
    {
      return (std::int64_t(at[2]) * (grid.n[1] + (d == 1)) + at[1]) * (grid.n[0] + (d == 0)) + at[0];
    }

    /** What is at @p at, which may be outside. */
    unsigned char label(const std::array<int, 3> &at) const
    {
      for (int d = 0; d < 3; ++d)
      {
        if (at[d] < 0)
          return grid.open_sides[2 * d] ? A : S;
        if (at[d] >= grid.n[d])
          return grid.open_sides[2 * d + 1] ? A : S;
      }
      return labels[cell(at)];
    }

    /** Calls visit(place) for all cells. */
    template <typename Visitor>
    void for_each_cell(const Visitor &visit) const
    {
      std::array<int, 3> at;
      for (at[2] = 0; at[2] < grid.n[2]; ++at[2])
        for (at[1] = 0; at[1] < grid.n[1]; ++at[1])
          for (at[0] = 0; at[0] < grid.n[0]; ++at[0])
            visit(at);
    }

    /** Calls visit(place of the neighbour, direction, side) in the order of unknowns. */
    template <typename Visitor>
    static void for_each_neighbour(const std::array<int, 3> &at, const Visitor &visit)
    {
      const int order[6][2] = {{2, 0}, {1, 0}, {0, 0}, {0, 1}, {1, 1}, {2, 1}};
      for (const auto &o : order)
      {
        std::array<int, 3> other = at;
        other[o[0]] += o[1] == 0 ? -1 : 1;
        visit(other, o[0], o[1]);
      }
    }

    template <typename Number>
    HostCSR<Number> matrix() const
    {
      HostCSR<Number> result;
      result.n_rows = result.n_columns = n_rows;
      result.row_offsets.push_back(0);
      for_each_cell([&](const std::array<int, 3> &at) {
        const int i = row[cell(at)];
        if (i < 0)
          return;
        std::map<int, Number> entries;
        int                   open = 0;
        for_each_neighbour(at, [&](const std::array<int, 3> &other, int, int) {
          open += label(other) != S;
          if (label(other) == F)
            entries[row[cell(other)]] = Number(-1);
        });
        entries[i] = static_cast<Number>(open > 0 ? open : 1);
        for (const auto &entry : entries)
        {
          result.columns.push_back(entry.first);
          result.values.push_back(entry.second);
        }
        result.row_offsets.push_back(result.columns.size());
      });
      return result;
    }

    /** Net flow out of each fluid cell through faces that are not solid. */
    std::vector<double> flows(const std::vector<double> velocity[3]) const
    {
      std::vector<double> result(n_rows, 0.);
      for_each_cell([&](const std::array<int, 3> &at) {
        const int i = row[cell(at)];
        if (i < 0)
          return;
        for_each_neighbour(at, [&](const std::array<int, 3> &other, const int d, const int side) {
          if (label(other) == S)
            return;
          std::array<int, 3> upper = at;
          upper[d] += side;
          result[i] += (side == 0 ? -1. : 1.) * velocity[d][face(upper, d)];
        });
      });
      return result;
    }

    /** The projection, face by face. */
    void project(const std::vector<double> &p, const double scale, std::vector<double> velocity[3]) const
    {
      for (int d = 0; d < 3; ++d)
      {
        std::array<int, 3> at;
        for (at[2] = 0; at[2] < grid.n[2] + (d == 2); ++at[2])
          for (at[1] = 0; at[1] < grid.n[1] + (d == 1); ++at[1])
            for (at[0] = 0; at[0] < grid.n[0] + (d == 0); ++at[0])
            {
              std::array<int, 3> below = at;
              --below[d];
              const unsigned char a = label(below), b = label(at);
              double             &u = velocity[d][face(at, d)];
              if (a == S || b == S)
                u = 0.;
              else if (a == F || b == F)
                u -= scale * ((b == F ? p[row[cell(at)]] : 0.) - (a == F ? p[row[cell(below)]] : 0.));
            }
      }
    }

    /** For each row the lowest row of its part, and for roots whether the part is closed. */
    std::vector<int> roots(std::vector<bool> &closed) const
    {
      std::vector<int>                root(n_rows, -1);
      std::vector<std::array<int, 3>> place(n_rows);
      for_each_cell([&](const std::array<int, 3> &at) {
        if (row[cell(at)] >= 0)
          place[row[cell(at)]] = at;
      });
      closed.assign(n_rows, false);
      for (int i = 0; i < n_rows; ++i)
      {
        if (root[i] >= 0)
          continue;
        std::queue<int> front;
        front.push(i);
        root[i]  = i;
        bool air = false, open = false;
        while (!front.empty())
        {
          const std::array<int, 3> at = place[front.front()];
          front.pop();
          for_each_neighbour(at, [&](const std::array<int, 3> &other, int, int) {
            air  = air || label(other) == A;
            open = open || label(other) != S;
            if (label(other) == F && root[row[cell(other)]] < 0)
            {
              root[row[cell(other)]] = i;
              front.push(row[cell(other)]);
            }
          });
        }
        closed[i] = !air && open;
      }
      return root;
    }
  };

  /** Labels without order: of ten cells @p fluid are fluid, @p air air, on average. */
  Labels random_labels(const VoxelGrid &grid, const int fluid, const int air, const unsigned int seed)
  {
    std::mt19937 engine(seed);
    Labels       result(grid.n_cells());
    for (unsigned char &label : result)
    {
      const int die = engine() % 10;
      label         = die < fluid ? F : (die < fluid + air ? A : S);
    }
    return result;
  }

  VoxelGrid make_grid(const int nx, const int ny, const int nz, const unsigned int open = 0)
  {
    VoxelGrid grid;
    grid.n = {{nx, ny, nz}};
    grid.h = 0.25;
    for (int s = 0; s < 6; ++s)
      grid.open_sides[s] = (open >> s & 1) != 0;
    return grid;
  }

  FaceVelocities upload(const Backend &backend, const std::vector<double> velocity[3])
  {
    FaceVelocities result;
    for (int d = 0; d < 3; ++d)
      result.component[d].copy_from(backend, velocity[d]);
    return result;
  }

  template <typename Number>
  void check(const Backend &backend, const VoxelGrid &grid, const Labels &labels)
  {
    SCOPED_TRACE(std::to_string(grid.n[0]) + " x " + std::to_string(grid.n[1]) + " x " + std::to_string(grid.n[2]));
    const Reference reference(grid, labels);
    FluidCells      cells;
    cells.reinit(backend, grid, Array<unsigned char>(backend, labels));
    ASSERT_EQ(cells.n_unknowns(), reference.n_rows);
    VoxelPoisson<Number> system;
    system.reinit(cells);

    const HostCSR<Number> expected = reference.matrix<Number>(), found = system.matrix().to_csr_host();
    EXPECT_EQ(found.row_offsets, expected.row_offsets);
    EXPECT_EQ(found.columns, expected.columns);
    EXPECT_EQ(found.values, expected.values);
    EXPECT_EQ(system.matrix().n_nonzero_elements(), std::int64_t(expected.values.size()));
    // The same slices as from compressed rows, padding included.
    const MDIAMatrix<Number> converted(backend, expected);
    EXPECT_EQ(system.matrix().memory_consumption(), converted.memory_consumption());
    Vector<Number> y(backend, cases::not_a_number<Number>(reference.n_rows));
    const auto     x = cases::random_values(reference.n_rows, 3);
    system.matrix().vmult(y, Vector<Number>(backend, cases::to<Number>(x)));
    EXPECT_LT(cases::difference(cases::widened(y.copy_to_host()), cases::product(expected, x)),
              100 * std::sqrt(reference.n_rows + 1.) * std::numeric_limits<Number>::epsilon());

    std::vector<double> velocity[3];
    for (int d = 0; d < 3; ++d)
      velocity[d] = cases::random_values(grid.n_faces(d), 5 + d);
    FaceVelocities      velocities = upload(backend, velocity);
    const auto          divergence = cases::random_values(grid.n_cells(), 8);
    const Array<double> wanted(backend, divergence);
    Vector<Number>      rhs;
    system.assemble_rhs(cells, velocities, &wanted, 3., rhs);
    std::vector<double> load = reference.flows(velocity);
    reference.for_each_cell([&](const std::array<int, 3> &at) {
      const std::int64_t cell = reference.cell(at);
      bool               open = false;
      Reference::for_each_neighbour(
          at, [&](const std::array<int, 3> &other, int, int) { open = open || reference.label(other) != S; });
      if (reference.row[cell] >= 0)
        load[reference.row[cell]] = open ? 3. * (grid.h * divergence[cell] - load[reference.row[cell]]) : 0.;
    });
    const double tolerance = 100 * std::sqrt(reference.n_rows + 1.) * std::numeric_limits<Number>::epsilon();
    EXPECT_LT(cases::difference(cases::widened(rhs.copy_to_host()), load), tolerance);

    const auto     p = cases::random_values(reference.n_rows, 9);
    Vector<Number> pressure(backend, cases::to<Number>(p));
    system.project(cells, pressure, 0.5, velocities);
    reference.project(p, 0.5, velocity);
    for (int d = 0; d < 3; ++d)
      EXPECT_LT(cases::difference(velocities.component[d].to_vector(), velocity[d]),
                100 * std::sqrt(velocity[d].size() + 1.) * std::numeric_limits<Number>::epsilon());

    Array<double> on_cells(backend, std::vector<double>(grid.n_cells(), std::nan("")));
    cells.to_cells(pressure, on_cells);
    const std::vector<double> values = on_cells.to_vector();
    for (std::size_t cell = 0; cell < values.size(); ++cell)
      ASSERT_EQ(values[cell],
                reference.row[cell] < 0 ? 0. : static_cast<double>(static_cast<Number>(p[reference.row[cell]])));
    Vector<Number> back;
    cells.from_cells(on_cells, back);
    EXPECT_EQ(back.copy_to_host(), pressure.copy_to_host());

    std::vector<bool>      closed;
    const std::vector<int> root    = reference.roots(closed);
    const int              n_parts = std::count(closed.begin(), closed.end(), true);
    ASSERT_EQ(cells.find_closed_parts(), n_parts);
    if (n_parts > 5)
      return;
    const NullSpace<Number> null_space = cells.null_space<Number>();
    ASSERT_EQ(static_cast<int>(null_space.n_vectors()), n_parts);
    int part = 0;
    for (int i = 0; i < reference.n_rows; ++i)
      if (root[i] == i && closed[i])
      {
        const double              size = std::count(root.begin(), root.end(), i);
        const std::vector<Number> mode = null_space.vectors()[part++].copy_to_host();
        for (int j = 0; j < reference.n_rows; ++j)
          ASSERT_NEAR(mode[j], root[j] == i ? 1. / std::sqrt(size) : 0., 1e-7);
      }
    null_space.check(system.matrix());
  }

  /** Solves, by conjugate gradients without a preconditioner but the diagonal. */
  Vector<double> solve(const MDIAMatrix<double> &matrix, const Vector<double> &b, const NullSpace<double> &null_space)
  {
    PreconditionJacobi<double> jacobi;
    jacobi.initialize(matrix);
    Vector<double>   x(b.backend(), b.size());
    IterationControl control;
    control.tolerance = 1e-12 * b.l2_norm();
    ConjugateGradients<double> cg;
    const auto                 run = [&](const PreconditionBase<double> &M) {
      const IterationResult result = cg.solve(matrix, x, b, M, control);
      EXPECT_TRUE(result.success()) << result.message("jacobi");
    };
    if (null_space.n_vectors() == 0)
      run(jacobi);
    else
      run(PreconditionProjected<double>(jacobi, null_space));
    null_space.project(x);
    return x;
  }
} // namespace

TEST_P(VoxelPoissonTest, SixCellsByEye)
{
  // Upper row fluid, air, fluid; lower row fluid, fluid, solid. Walls all around.
  const VoxelGrid      grid = make_grid(3, 2, 1);
  const Labels         labels{F, F, S, F, A, F};
  FluidCells           cells;
  VoxelPoisson<double> system;
  cells.reinit(backend(), grid, Array<unsigned char>(backend(), labels));
  system.reinit(cells);
  const HostCSR<double> matrix = system.matrix().to_csr_host();
  EXPECT_EQ(matrix.row_offsets, (std::vector<std::int64_t>{0, 3, 5, 7, 8}));
  EXPECT_EQ(matrix.columns, (std::vector<int>{0, 1, 2, 0, 1, 0, 2, 3}));
  EXPECT_EQ(matrix.values, (std::vector<double>{2., -1., -1., -1., 2., -1., 2., 1.}));
  EXPECT_EQ(cells.find_closed_parts(), 0);

  // Through the face of cells 0 and 1 flows 5, from cell 1 into the air above it 7.
  FaceVelocities velocities;
  velocities.reinit(backend(), grid);
  std::vector<double> u(grid.n_faces(0), 0.), v(grid.n_faces(1), 0.);
  u[1] = 5.;
  v[4] = 7.;
  velocities.component[0].copy_from(u.data(), u.size());
  velocities.component[1].copy_from(v.data(), v.size());
  Vector<double> rhs;
  system.assemble_rhs(cells, velocities, nullptr, 1., rhs);
  EXPECT_EQ(rhs.copy_to_host(), (std::vector<double>{-5., -2., 0., 0.}));

  // Pressure 1 in cell 0 alone drives it out on both sides.
  system.project(cells, Vector<double>(backend(), {1., 0., 0., 0.}), 1., velocities);
  EXPECT_EQ(velocities.component[0].to_vector(), (std::vector<double>{0., 6., 0., 0., 0., 0., 0., 0.}));
  EXPECT_EQ(velocities.component[1].to_vector(), (std::vector<double>{0., 0., 0., 1., 7., 0., 0., 0., 0.}));
}

TEST_P(VoxelPoissonTest, AgreesWithLoopsOverCells)
{
  unsigned int seed = 1;
  for (const VoxelGrid &grid :
       {make_grid(1, 1, 1), make_grid(1, 1, 1, 63), make_grid(32, 1, 1, 2), make_grid(31, 2, 1), make_grid(33, 5, 7, 9),
        make_grid(64, 3, 2, 20), make_grid(65, 1, 9, 33), make_grid(5, 4, 67, 42), make_grid(100, 37, 11)})
    for (const auto &mix : {std::make_pair(10, 0), std::make_pair(9, 0), std::make_pair(5, 2), std::make_pair(1, 1),
                            std::make_pair(0, 5)})
    {
      const Labels labels = random_labels(grid, mix.first, mix.second, ++seed);
      check<double>(backend(), grid, labels);
      check<float>(backend(), grid, labels);
    }
}

TEST_P(VoxelPoissonTest, EachSideMayBeOpen)
{
  // Rows that end with a word, before its end and behind it: what is behind a row is in the word in front of the next.
  unsigned int seed = 1000;
  for (const int n : {31, 32, 33, 64})
    for (unsigned int open = 0; open < 64; ++open)
    {
      SCOPED_TRACE("open sides " + std::to_string(open));
      const VoxelGrid grid = make_grid(n, 2, 2, open);
      check<double>(backend(), grid, open % 2 == 0 ? Labels(grid.n_cells(), F) : random_labels(grid, 9, 0, ++seed));
    }
}

TEST_P(VoxelPoissonTest, MovesWithTheFluid)
{
  // The same objects, step by step, against new ones.
  const VoxelGrid      grid = make_grid(45, 20, 6);
  FluidCells           cells;
  VoxelPoisson<double> system;
  for (int step = 0; step < 4; ++step)
  {
    Labels labels(grid.n_cells(), A);
    for (std::size_t i = 0; i < labels.size(); ++i)
      if (static_cast<int>(i % 45) < 10 + 8 * step)
        labels[i] = F;
    cells.reinit(backend(), grid, Array<unsigned char>(backend(), labels));
    EXPECT_EQ(cells.find_closed_parts(), 0);
    system.reinit(cells);
    const HostCSR<double> expected = Reference(grid, labels).matrix<double>(), found = system.matrix().to_csr_host();
    EXPECT_EQ(found.columns, expected.columns);
    EXPECT_EQ(found.values, expected.values);
  }
}

TEST_P(VoxelPoissonTest, CountsItsMemory)
{
  const VoxelGrid            grid = make_grid(45, 20, 6);
  const Array<unsigned char> labels(backend(), random_labels(grid, 9, 1, 5));
  const std::size_t          before = memory::in_use(backend().kind());
  FluidCells                 cells;
  VoxelPoisson<double>       system;
  cells.reinit(backend(), grid, labels);
  EXPECT_EQ(cells.n_bits(), 32 * grid.n_words());
  EXPECT_EQ(cells.memory_consumption(), memory::in_use(backend().kind()) - before);
  cells.find_closed_parts();
  system.reinit(cells);
  EXPECT_EQ(cells.memory_consumption() + system.memory_consumption(), memory::in_use(backend().kind()) - before);
}

TEST_P(VoxelPoissonTest, LooksForClosedPartsItself)
{
  // Two pairs of cells between walls, with a solid cell or one of air between them.
  FluidCells cells;
  EXPECT_EQ(cells.null_space<double>().n_vectors(), 0u);
  for (const int n_parts : {2, 0})
  {
    const Labels labels = n_parts == 2 ? Labels{F, F, S, F, F} : Labels{F, F, A, F, F};
    cells.reinit(backend(), make_grid(5, 1, 1), Array<unsigned char>(backend(), labels));
    const NullSpace<double> null_space = cells.null_space<double>();
    ASSERT_EQ(static_cast<int>(null_space.n_vectors()), n_parts);
    for (int part = 0; part < n_parts; ++part)
    {
      const std::vector<double> mode = null_space.vectors()[part].copy_to_host();
      for (int i = 0; i < 4; ++i)
        EXPECT_NEAR(mode[i], i / 2 == part ? std::sqrt(0.5) : 0., 1e-15);
    }
  }
}

TEST_P(VoxelPoissonTest, FindsWindingParts)
{
  // A snake through all of the box: two columns in three, joined at alternating ends.
  const VoxelGrid grid = make_grid(90, 40, 3);
  Labels          labels(grid.n_cells(), S);
  for (int z = 0; z < 3; z += 2)
    for (int y = 0; y < 40; ++y)
      for (int x = 0; x < 90; ++x)
        if (x % 3 != 2 || y == (x / 3 % 2 == 0 ? 39 : 0))
          labels[(z * 40 + y) * 90 + x] = F;
  check<double>(backend(), grid, labels); // two closed parts
  FluidCells cells;
  cells.reinit(backend(), grid, Array<unsigned char>(backend(), labels));
  EXPECT_EQ(cells.find_closed_parts(), 2);
  labels[0] = A;
  cells.reinit(backend(), grid, Array<unsigned char>(backend(), labels));
  EXPECT_EQ(cells.find_closed_parts(), 1);
  EXPECT_THROW(cells.null_space<double>(0), Error);
}

TEST_P(VoxelPoissonTest, StepLeavesNoDivergence)
{
  // Fluid with bubbles of air, and two parts that touch none.
  const VoxelGrid grid   = make_grid(37, 20, 12, 1u << 5);
  Labels          labels = random_labels(grid, 8, 1, 77);
  for (int y = 0; y < 20; ++y)
    for (int z = 0; z < 12; ++z)
      for (int x = 20; x < 30; ++x)
      {
        const bool wall               = x == 20 || x == 25 || x == 29 || y == 0 || y == 19 || z == 0 || z == 11;
        labels[(z * 20 + y) * 37 + x] = wall ? S : F;
      }
  const Reference     reference(grid, labels);
  std::vector<double> velocity[3];
  for (int d = 0; d < 3; ++d)
    velocity[d] = cases::random_values(grid.n_faces(d), 50 + d);
  FaceVelocities       velocities = upload(backend(), velocity);
  FluidCells           cells;
  VoxelPoisson<double> system;
  cells.reinit(backend(), grid, Array<unsigned char>(backend(), labels));
  ASSERT_EQ(cells.find_closed_parts(), 2);
  system.reinit(cells);
  const double   rho = 2., dt = 0.1;
  Vector<double> rhs;
  system.assemble_rhs(cells, velocities, nullptr, rho * grid.h / dt, rhs);
  const Vector<double> p = solve(system.matrix(), rhs, cells.null_space<double>());
  system.project(cells, p, dt / (rho * grid.h), velocities);
  for (int d = 0; d < 3; ++d)
    velocity[d] = velocities.component[d].to_vector();
  double largest = 0., total = 0.;
  for (const double flow : reference.flows(velocity))
  {
    largest = std::max(largest, std::abs(flow));
    total += flow;
  }
  EXPECT_LT(largest, 1e-10);
  EXPECT_LT(std::abs(total), 1e-9); // what leaves through the surface is what enters
}

TEST_P(VoxelPoissonTest, ConvergesWithOrderTwo)
{
  // u = grad p, so that p solves the equation. In y air on both sides, whose cells have their centres where p = 0; walls
  // where grad p has no normal component. Then walls all around, and p without its mean.
  using Function  = std::function<double(double, double, double)>;
  const double pi = std::acos(-1.);
  for (const bool closed : {false, true})
  {
    std::vector<double> errors;
    for (const int n : {8, 16, 32})
    {
      const double h    = 1. / n;
      VoxelGrid    grid = make_grid(n, closed ? n : n + 1, n);
      grid.h            = h;
      Labels labels(grid.n_cells(), F);
      for (std::size_t i = 0; i < labels.size() && !closed; ++i)
        if (i / n % (n + 1) == 0 || static_cast<int>(i / n % (n + 1)) == n)
          labels[i] = A;
      const double   y0 = closed ? 0. : -0.5 * h;
      const Function p  = [&](const double x, const double y, const double z) {
        return std::cos(pi * x) * (closed ? std::cos(pi * y) : std::sin(pi * y)) * std::cos(pi * z);
      };
      const Function gradient[3] = {
          [&](const double x, const double y, const double z) {
            return -pi * std::sin(pi * x) * (closed ? std::cos(pi * y) : std::sin(pi * y)) * std::cos(pi * z);
          },
          [&](const double x, const double y, const double z) {
            return pi * std::cos(pi * x) * (closed ? -std::sin(pi * y) : std::cos(pi * y)) * std::cos(pi * z);
          },
          [&](const double x, const double y, const double z) {
            return -pi * std::cos(pi * x) * (closed ? std::cos(pi * y) : std::sin(pi * y)) * std::sin(pi * z);
          }};
      const Reference     reference(grid, labels);
      std::vector<double> velocity[3];
      for (int d = 0; d < 3; ++d)
      {
        velocity[d].resize(grid.n_faces(d));
        std::array<int, 3> at;
        for (at[2] = 0; at[2] < grid.n[2] + (d == 2); ++at[2])
          for (at[1] = 0; at[1] < grid.n[1] + (d == 1); ++at[1])
            for (at[0] = 0; at[0] < grid.n[0] + (d == 0); ++at[0])
              velocity[d][reference.face(at, d)] =
                  gradient[d]((at[0] + (d == 0 ? 0. : 0.5)) * h, y0 + (at[1] + (d == 1 ? 0. : 0.5)) * h,
                              (at[2] + (d == 2 ? 0. : 0.5)) * h);
      }
      FluidCells           cells;
      VoxelPoisson<double> system;
      cells.reinit(backend(), grid, Array<unsigned char>(backend(), labels));
      EXPECT_EQ(cells.find_closed_parts(), closed ? 1 : 0);
      system.reinit(cells);
      Vector<double> rhs;
      system.assemble_rhs(cells, upload(backend(), velocity), nullptr, h, rhs);
      const std::vector<double> found = solve(system.matrix(), rhs, cells.null_space<double>()).copy_to_host();
      double                    sum   = 0.;
      reference.for_each_cell([&](const std::array<int, 3> &at) {
        const int i = reference.row[reference.cell(at)];
        if (i >= 0)
          sum += std::pow(found[i] - p((at[0] + 0.5) * h, y0 + (at[1] + 0.5) * h, (at[2] + 0.5) * h), 2) * h * h * h;
      });
      errors.push_back(std::sqrt(sum));
    }
    EXPECT_GT(std::log2(errors[0] / errors[1]), 1.9) << errors[0];
    EXPECT_GT(std::log2(errors[1] / errors[2]), 1.95) << errors[1];
  }
}

TEST_P(VoxelPoissonTest, RefusesWhatDoesNotFit)
{
  FluidCells cells;
  EXPECT_THROW(cells.reinit(backend(), make_grid(3, 2, 1), Array<unsigned char>(backend(), Labels(5, F))), Error);
  EXPECT_THROW(cells.reinit(backend(), make_grid(0, 2, 1), Array<unsigned char>(backend(), Labels())), Error);
  cells.reinit(backend(), make_grid(3, 2, 1), Array<unsigned char>(backend(), Labels(6, F)));
  VoxelPoisson<double> system;
  system.reinit(cells);
  FaceVelocities velocities;
  velocities.reinit(backend(), make_grid(3, 3, 1));
  Vector<double> rhs;
  EXPECT_THROW(system.assemble_rhs(cells, velocities, nullptr, 1., rhs), Error);
  EXPECT_THROW(system.project(cells, Vector<double>(backend(), 5), 1., velocities), Error);
}
