// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "reference_assembly.h"

#include <patchfem/assembly/extraction_dealii.h>
#include <patchfem/assembly/group_tables.h>
#include <patchfem/mpi/mpi_rank_group.h>

#include <deal.II/base/mpi.h>
#include <deal.II/lac/trilinos_sparse_matrix.h>
#include <deal.II/lac/trilinos_sparsity_pattern.h>
#include <deal.II/lac/trilinos_vector.h>

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

/**
 * @file
 * What ranks extract together, assembled by a plain loop and compared, row by row, with deal.II's distributed assembly.
 * deal.II's constraints may lack lines of other ranks' unknowns, or have other ones: it is given the lines of the owners.
 */
namespace RankCheck
{
  using namespace dealii;
  using PatchFEM::CellTable;
  using PatchFEM::ElementTables;
  using PatchFEM::FaceEntry;
  using Index = types::global_dof_index;

  inline unsigned int this_rank()
  {
    return Utilities::MPI::this_mpi_process(MPI_COMM_WORLD);
  }

  inline unsigned int n_ranks()
  {
    return Utilities::MPI::n_mpi_processes(MPI_COMM_WORLD);
  }

  inline constexpr types::boundary_id loaded = 1, robin_id = 2;

  /** In [0, 1), the same for the same point whatever the ranks. */
  template <int dim>
  double random_of(const Point<dim> &x, const unsigned int seed)
  {
    double sum = 0.37 * seed;
    for (unsigned int d = 0; d < dim; ++d)
      sum += std::sin(1e3 * std::round(1e6 * x[d]) / 1e6 * (d + 1) + seed);
    sum *= 1e3;
    return sum - std::floor(sum);
  }

  inline double stiffness(const int material)
  {
    return 1. + material;
  }

  /** Rows of a matrix that a rank owns, and its right-hand side, by deal.II's indices. */
  struct Rows
  {
    std::map<Index, std::map<Index, double>> matrix;
    std::map<Index, double>                  rhs;
  };

  /** The matrices of one cell, [shape][component]. */
  struct CellSystem
  {
    FullMatrix<double>  matrix;
    std::vector<double> rhs;
  };

  template <int dim>
  Tensor<2, dim> jacobian(const ElementTables &tables, const CellTable &batch, const int cell, const double *gradients)
  {
    Tensor<2, dim> J;
    for (int g = 0; g < batch.reference.n_geometry; ++g)
      for (int i = 0; i < dim; ++i)
        for (int j = 0; j < dim; ++j)
          J[i][j] += tables.points[batch.points_of(cell)[g] * dim + i] * gradients[g * dim + j];
    return J;
  }

  template <int dim>
  Point<dim> position(const ElementTables &tables, const CellTable &batch, const int cell, const double *values)
  {
    Point<dim> x;
    for (int g = 0; g < batch.reference.n_geometry; ++g)
      for (int i = 0; i < dim; ++i)
        x[i] += tables.points[batch.points_of(cell)[g] * dim + i] * values[g];
    return x;
  }

  template <int dim>
  CellSystem integrate(const ElementTables &tables, const CellTable &batch, const int cell, const bool elastic)
  {
    const auto                 &ref = batch.reference;
    const int                   n = ref.n_shape, nc = tables.n_components;
    const double                k = stiffness(batch.material_ids[cell]);
    CellSystem                  system{FullMatrix<double>(n * nc, n * nc), std::vector<double>(n * nc)};
    std::vector<Tensor<1, dim>> gradient(n);
    for (int q = 0; q < ref.n_quadrature; ++q)
    {
      const auto       J   = jacobian<dim>(tables, batch, cell, &ref.geometry_gradients[q * ref.n_geometry * dim]);
      const Point<dim> x   = position<dim>(tables, batch, cell, &ref.geometry_values[q * ref.n_geometry]);
      const double     JxW = determinant(J) * ref.weights[q];
      for (int i = 0; i < n; ++i)
      {
        Tensor<1, dim> reference_gradient;
        for (int d = 0; d < dim; ++d)
          reference_gradient[d] = ref.shape_gradients[(q * n + i) * dim + d];
        gradient[i] = transpose(invert(J)) * reference_gradient;
      }
      for (int i = 0; i < n; ++i)
        for (int c = 0; c < nc; ++c)
        {
          system.rhs[i * nc + c] += (1 + x[0] + 2 * c) * ref.shape_values[q * n + i] * JxW;
          for (int j = 0; j < n; ++j)
            for (int d = 0; d < nc; ++d)
              system.matrix(i * nc + c, j * nc + d) +=
                  JxW * k *
                  ((c == d ? gradient[i] * gradient[j] : 0.) +
                   (elastic ? gradient[i][c] * gradient[j][d] + gradient[i][d] * gradient[j][c] : 0.));
        }
    }
    return system;
  }

  template <int dim>
  void add_face(const ElementTables &tables, const FaceEntry &face, CellSystem &system)
  {
    const CellTable &batch = tables.batches[face.batch];
    const auto      &ref   = batch.reference;
    const int        n = ref.n_shape, nc = tables.n_components;
    for (int q = 0; q < ref.n_face_quadrature; ++q)
    {
      const int  at = face.face * ref.n_face_quadrature + q;
      const auto J  = jacobian<dim>(tables, batch, face.cell, &ref.face_geometry_gradients[at * ref.n_geometry * dim]);
      std::vector<Tensor<1, dim>> tangents(dim - 1);
      for (int t = 0; t < dim - 1; ++t)
        for (int i = 0; i < dim; ++i)
          for (int d = 0; d < dim; ++d)
            tangents[t][i] += J[i][d] * ref.face_tangents[(at * dim + d) * (dim - 1) + t];
      double area = tangents[0].norm();
      if constexpr (dim == 3)
        area = cross_product_3d(tangents[0], tangents[1]).norm();
      const double JxW = area * ref.face_weights[q];
      for (int i = 0; i < n; ++i)
        for (int c = 0; c < nc; ++c)
        {
          const double v = ref.face_shape_values[at * n + i] * JxW;
          if (face.boundary_id == loaded)
            system.rhs[i * nc + c] += (3. + c) * v;
          else if (face.boundary_id == robin_id)
            for (int j = 0; j < n; ++j)
              system.matrix(i * nc + c, j * nc + c) += 2. * v * ref.face_shape_values[at * n + j];
        }
    }
  }

  /** The owned rows of @p tables: A_e -> C^T A_e C, f_e -> C^T (f_e - A_e k), cell after cell. */
  template <int dim>
  Rows assemble(const ElementTables &tables, const bool elastic)
  {
    const auto                                           &table = tables.constraints;
    const int                                             nc    = tables.n_components;
    std::map<std::pair<int, int>, std::vector<FaceEntry>> faces;
    for (const FaceEntry &face : tables.faces)
      faces[{face.batch, face.cell}].push_back(face);

    Rows       rows;
    const auto is_owned = [&](const int unknown) { return unknown / nc < tables.n_owned_nodes(); };
    for (int unknown = 0; unknown < tables.n_owned_nodes() * nc; ++unknown)
      rows.rhs[tables.dof_index(unknown)] = 0;
    for (unsigned int b = 0; b < tables.batches.size(); ++b)
      for (int cell = 0; cell < tables.batches[b].n_cells; ++cell)
      {
        const CellTable &batch  = tables.batches[b];
        CellSystem       system = integrate<dim>(tables, batch, cell, elastic);
        for (const FaceEntry &face : faces[{int(b), cell}])
          add_face<dim>(tables, face, system);

        const int n = batch.reference.n_shape * nc;
        struct Term
        {
          int    unknown, local;
          double weight;
        };
        std::vector<Term>   terms;
        std::vector<double> k(n, 0.);
        for (int i = 0; i < n; ++i)
        {
          const int  unknown = batch.nodes[cell * batch.reference.n_shape + i / nc] * nc + i % nc;
          const auto found   = std::lower_bound(table.constrained.begin(), table.constrained.end(), unknown);
          if (found == table.constrained.end() || *found != unknown)
          {
            terms.push_back({unknown, i, 1.});
            continue;
          }
          const auto line = found - table.constrained.begin();
          k[i]            = table.inhomogeneity[line];
          for (auto m = table.offsets[line]; m < table.offsets[line + 1]; ++m)
            terms.push_back({table.masters[m], i, table.weights[m]});
          if (is_owned(unknown))
            rows.matrix[tables.dof_index(unknown)][tables.dof_index(unknown)] += std::abs(system.matrix(i, i));
        }
        for (const Term &row : terms)
          if (is_owned(row.unknown))
          {
            double rhs = system.rhs[row.local];
            for (int j = 0; j < n; ++j)
              rhs -= system.matrix(row.local, j) * k[j];
            rows.rhs[tables.dof_index(row.unknown)] += row.weight * rhs;
            for (const Term &column : terms)
              rows.matrix[tables.dof_index(row.unknown)][tables.dof_index(column.unknown)] +=
                  row.weight * column.weight * system.matrix(row.local, column.local);
          }
      }
    return rows;
  }

  /** The lines of all unknowns, each as its owner has it, or else the first rank that has one with masters. */
  template <int dim>
  AffineConstraints<double> gather(const DoFHandler<dim> &dof_handler, const AffineConstraints<double> &constraints)
  {
    using Line = std::pair<std::pair<Index, double>, std::vector<std::pair<Index, double>>>;
    std::set<Index>    of_cells;
    std::vector<Index> dofs;
    for (const auto &cell : dof_handler.active_cell_iterators())
      if (cell->is_locally_owned())
      {
        dofs.resize(cell->get_fe().n_dofs_per_cell());
        cell->get_dof_indices(dofs);
        of_cells.insert(dofs.begin(), dofs.end());
      }
    std::vector<Line> own, others;
    for (const auto &line : constraints.get_lines())
    {
      const Line copy{{line.index, line.inhomogeneity}, {line.entries.begin(), line.entries.end()}};
      if (dof_handler.locally_owned_dofs().is_element(line.index))
        own.push_back(copy);
      else if (!line.entries.empty() && of_cells.count(line.index) > 0)
        others.push_back(copy);
    }
    AffineConstraints<double> result;
    for (const std::vector<Line> *list : {&own, &others})
      for (const std::vector<Line> &lines : Utilities::MPI::all_gather(dof_handler.get_communicator(), *list))
        for (const auto &[index, entries] : lines)
          if (!result.is_constrained(index.first))
          {
            result.add_line(index.first);
            result.add_entries(index.first, entries);
            result.set_inhomogeneity(index.first, index.second);
          }
    result.close();
    return result;
  }

  template <int dim>
  Rows assemble_by_dealii(const Mapping<dim>              &mapping,
                          const DoFHandler<dim>           &dof_handler,
                          const AffineConstraints<double> &constraints,
                          const bool                       elastic)
  {
    const IndexSet                   &owned = dof_handler.locally_owned_dofs();
    TrilinosWrappers::SparsityPattern pattern(owned, MPI_COMM_WORLD);
    std::vector<Index>                dofs;
    for (const auto &cell : dof_handler.active_cell_iterators())
      if (cell->is_locally_owned())
      {
        dofs.resize(cell->get_fe().n_dofs_per_cell());
        cell->get_dof_indices(dofs);
        constraints.add_entries_local_to_global(dofs, pattern, true);
      }
    pattern.compress();
    TrilinosWrappers::SparseMatrix matrix;
    TrilinosWrappers::MPI::Vector  rhs(owned, MPI_COMM_WORLD);
    matrix.reinit(pattern);

    const Reference::Coefficient<dim> k = [](const auto &cell, unsigned int, const auto &) {
      return stiffness(cell->material_id());
    };
    Reference::Loads<dim> loads;
    loads.body             = [](const Point<dim> &x, const unsigned int c) { return 1 + x[0] + 2 * c; };
    loads.boundary[loaded] = [](const Point<dim> &, const Tensor<1, dim> &, const unsigned int c) { return 3. + c; };
    loads.robin[robin_id]  = [](const Point<dim> &) { return 2.; };
    Reference::for_cells(mapping, dof_handler, elastic ? Reference::elasticity<dim>(k, k) : Reference::laplace<dim>(k),
                         loads, Reference::Rules<dim>(),
                         [&](const auto &cell_matrix, const auto &cell_rhs, const auto &indices) {
                           constraints.distribute_local_to_global(cell_matrix, cell_rhs, indices, matrix, rhs);
                         });
    matrix.compress(VectorOperation::add);
    rhs.compress(VectorOperation::add);

    Rows                rows;
    std::vector<int>    columns(matrix.trilinos_matrix().MaxNumEntries());
    std::vector<double> values(columns.size());
    for (const Index row : owned)
    {
      int n = 0;
      matrix.trilinos_matrix().ExtractGlobalRowCopy(static_cast<int>(row), static_cast<int>(columns.size()), n,
                                                    values.data(), columns.data());
      rows.rhs[row] = rhs(row);
      for (int i = 0; i < n; ++i)
        if (values[i] != 0)
          rows.matrix[row][columns[i]] = values[i];
    }
    return rows;
  }

  inline void expect_equal(Rows &rows, Rows &expected, const Index n_dofs)
  {
    std::vector<double> diagonal(n_dofs, 0.);
    double              largest = 0;
    for (const auto &[row, value] : expected.rhs)
    {
      diagonal[row] = expected.matrix[row][row];
      largest       = std::max(largest, std::abs(value));
    }
    Utilities::MPI::sum(diagonal, MPI_COMM_WORLD, diagonal);
    largest = Utilities::MPI::max(largest, MPI_COMM_WORLD);

    ASSERT_EQ(rows.rhs.size(), expected.rhs.size());
    double worst = 0, worst_rhs = 0;
    for (auto &[row, value] : expected.rhs)
    {
      ASSERT_EQ(rows.rhs.count(row), 1u) << "row " << row << " is missing";
      worst_rhs = std::max(worst_rhs, std::abs(rows.rhs[row] - value) / largest);
      std::set<Index> columns;
      for (const auto &[column, entry] : rows.matrix[row])
        columns.insert(column);
      for (const auto &[column, entry] : expected.matrix[row])
        columns.insert(column);
      EXPECT_GT(diagonal[row], 0.);
      for (const Index column : columns)
      {
        const double a = rows.matrix[row].count(column) ? rows.matrix[row][column] : 0.;
        const double b = expected.matrix[row].count(column) ? expected.matrix[row][column] : 0.;
        worst          = std::max(worst, std::abs(a - b) / std::sqrt(diagonal[row] * diagonal[column]));
      }
    }
    EXPECT_LE(worst, 1e-12);
    EXPECT_LE(worst_rhs, 1e-12);
  }

  /** What RankTables promise. No failure returns early, which others would wait for. */
  inline void check_ranks(const ElementTables &tables, const Index n_owned_dofs)
  {
    const auto &ranks = tables.ranks;
    const int   nc    = tables.n_components;
    EXPECT_EQ(tables.dof_indices.size(), std::size_t(tables.n_nodes) * nc);
    EXPECT_EQ(std::size_t(tables.n_nodes), ranks.n_owned_nodes + ranks.ghosts.size());
    EXPECT_EQ(Index(ranks.n_owned_nodes) * nc, n_owned_dofs);
    for (int node = 0; node + 1 < ranks.n_owned_nodes; ++node)
      EXPECT_LT(tables.dof_index(node * nc), tables.dof_index((node + 1) * nc));
    for (std::size_t g = 0; g + 1 < ranks.ghosts.size(); ++g)
      EXPECT_TRUE(ranks.ghosts[g] < ranks.ghosts[g + 1]);
    // Owners have the same indices for their nodes as those who see them, and the same positions.
    const PatchFEM::Partitioner partitioner(ranks.communicator, ranks.n_owned_nodes, ranks.ghosts);
    auto                        indices = tables.dof_indices;
    partitioner.update_ghosts(indices.data(), nc);
    EXPECT_EQ(indices, tables.dof_indices);
    const auto &lines = tables.constraints;
    EXPECT_TRUE(std::is_sorted(lines.constrained.begin(), lines.constrained.end()));
    for (const int master : lines.masters)
    {
      EXPECT_TRUE(master >= 0 && master < tables.n_nodes * nc);
      EXPECT_FALSE(std::binary_search(lines.constrained.begin(), lines.constrained.end(), master));
    }
    // Copies are in the order that both sides know: seen by materials, active indices and faces.
    std::map<int, std::vector<int>> sent;
    for (const auto &copies : ranks.sent)
    {
      EXPECT_NE(copies.rank, ranks.communicator->rank());
      for (std::size_t b = 0; b < tables.batches.size(); ++b)
        for (const int cell : copies.cells[b])
        {
          EXPECT_LT(cell, ranks.n_own_cells[b]);
          sent[copies.rank].push_back(tables.batches[b].material_ids[cell]);
          sent[copies.rank].push_back(tables.batches[b].active_index[cell]);
        }
      for (const int face : copies.faces)
      {
        EXPECT_LT(face, ranks.n_own_faces);
        sent[copies.rank].push_back(tables.faces[face].face);
        sent[copies.rank].push_back(tables.faces[face].boundary_id);
      }
    }
    const auto       expected = ranks.communicator->exchange(sent);
    std::vector<int> next     = ranks.n_own_cells;
    int              face     = ranks.n_own_faces;
    EXPECT_EQ(ranks.received.size(), expected.size());
    for (const auto &received : ranks.received)
    {
      std::vector<int> here;
      std::vector<int> first = next;
      for (std::size_t b = 0; b < tables.batches.size(); ++b)
        for (int i = 0; i < received.n_cells[b]; ++i, ++next[b])
        {
          here.push_back(tables.batches[b].material_ids[next[b]]);
          here.push_back(tables.batches[b].active_index[next[b]]);
        }
      for (int f = 0; f < received.n_faces; ++f, ++face)
      {
        EXPECT_GE(tables.faces[face].cell, first[tables.faces[face].batch]);
        EXPECT_LT(tables.faces[face].cell, next[tables.faces[face].batch]);
        here.push_back(tables.faces[face].face);
        here.push_back(tables.faces[face].boundary_id);
      }
      EXPECT_TRUE(expected.count(received.rank) == 1 && here == expected.at(received.rank));
    }
    EXPECT_EQ(std::size_t(face), tables.faces.size());
    for (std::size_t b = 0; b < tables.batches.size(); ++b)
      EXPECT_EQ(next[b], tables.batches[b].n_cells);
  }

  /** The back end that ranks share where PATCHFEM_EMULATED_DEVICES says so. */
  inline const PatchFEM::Backend &shared_backend()
  {
    static const PatchFEM::Backend backend = PatchFEM::backend_of_ranks("emulated_device", MPI_COMM_WORLD);
    return backend;
  }

  /** What the owner of a group has of it; null if there are no groups. */
  inline std::unique_ptr<const PatchFEM::GroupTables> merge(const ElementTables &tables)
  {
    if (shared_backend().group() == nullptr)
      return nullptr;
    return std::make_unique<PatchFEM::GroupTables>(*shared_backend().group(),
                                                   std::make_shared<const ElementTables>(tables));
  }

  /** On an owner, the rows of all of its group. */
  inline Rows collect(const Rows &rows)
  {
    struct Entry
    {
      Index  row, column;
      double value;
    };
    constexpr Index    rhs = numbers::invalid_dof_index;
    std::vector<Entry> entries;
    for (const auto &[row, value] : rows.rhs)
      entries.push_back({row, rhs, value});
    for (const auto &[row, columns] : rows.matrix)
      for (const auto &[column, value] : columns)
        entries.push_back({row, column, value});
    Rows result;
    for (const Entry &entry : shared_backend().group()->gather(entries))
      (entry.column == rhs ? result.rhs[entry.row] : result.matrix[entry.row][entry.column]) = entry.value;
    return result;
  }

  /** The tables that the owner has of its group, which assemble the rows of all of its ranks. */
  template <int dim>
  void check_group(const PatchFEM::GroupTables &group, const bool elastic, Rows expected, const Index n_dofs)
  {
    const ElementTables &merged = *group.merged();
    Rows                 rows;
    if (shared_backend().group()->is_owner())
      rows = assemble<dim>(merged, elastic);
    else
      EXPECT_EQ(merged.n_cells(), 0u);
    EXPECT_EQ(merged.ranks.several(), shared_backend().group()->owners() != nullptr);
    if (merged.ranks.several())
      check_ranks(merged, expected.rhs.size());
    expect_equal(rows, expected, n_dofs);
  }

  template <int dim>
  ElementTables
  check(const Mapping<dim> &mapping, const DoFHandler<dim> &dof_handler, const AffineConstraints<double> &constraints)
  {
    PatchFEM::ExtractionData<dim> data;
    data.boundary_ids          = {loaded, robin_id};
    const ElementTables tables = PatchFEM::extract_element_tables<dim>(mapping, dof_handler, constraints, data);
    EXPECT_EQ(tables.ranks.several(), n_ranks() > 1);
    if (tables.ranks.several())
      check_ranks(tables, dof_handler.n_locally_owned_dofs());
    const std::unique_ptr<const PatchFEM::GroupTables> group = merge(tables);
    const AffineConstraints<double>                    all   = gather(dof_handler, constraints);
    for (const bool elastic : {false, true})
      if (!elastic || tables.n_components == dim)
      {
        Rows rows     = assemble<dim>(tables, elastic);
        Rows expected = assemble_by_dealii<dim>(mapping, dof_handler, all, elastic);
        expect_equal(rows, expected, dof_handler.n_dofs());
        if (group)
          check_group<dim>(*group, elastic, collect(expected), dof_handler.n_dofs());
      }
    return tables;
  }

} // namespace RankCheck
