// SPDX-License-Identifier: LGPL-2.1-or-later
// Functions at quadrature points of cells and faces against the same functions at deal.II's points.
#include "extraction_cases.h"

#include <patchfem/assembly/extraction_dealii.h>
#include <patchfem/assembly/face_quadrature.h>
#include <patchfem/assembly/fe_space_dealii.h>
#include <patchfem/base/exceptions.h>

#include <deal.II/base/function_parser.h>
#include <deal.II/base/quadrature_lib.h>
#include <deal.II/fe/fe_values.h>

#include <gtest/gtest.h>

#include <cmath>

namespace
{
  using namespace dealii;
  using PatchFEM::ElementTables;

  class Evaluation : public testing::Test
  {
  protected:
    Evaluation() : dof_handler(triangulation)
    {
      Cases::make_mesh("adaptive_cube", triangulation);
      dof_handler.distribute_dofs(FE_Q<2>(2));
      AffineConstraints<double> constraints;
      constraints.close();
      PatchFEM::ExtractionData<2> data;
      data.all_boundary_faces = true;
      tables                  = PatchFEM::extract_element_tables<2>(MappingQ<2>(1), dof_handler, constraints, data);
    }

    Triangulation<2> triangulation;
    DoFHandler<2>    dof_handler;
    ElementTables    tables;
  };

  TEST_F(Evaluation, OfOneComponentOnCells)
  {
    FunctionParser<2> function(1);
    function.initialize("x,y", "sin(3*x) + y*y", {});
    const auto        values = PatchFEM::evaluate_at_quadrature_points(function, tables);
    const MappingQ<2> mapping(1);
    const QGauss<2>   rule(3);
    FEValues<2>       fe_values(mapping, dof_handler.get_fe(), rule, update_quadrature_points);
    unsigned int      i = 0;
    ASSERT_EQ(values.size(), 1u);
    ASSERT_EQ(values[0].size(), triangulation.n_active_cells() * 9);
    for (const auto &cell : dof_handler.active_cell_iterators())
    {
      fe_values.reinit(cell);
      for (const Point<2> &x : fe_values.get_quadrature_points())
        ASSERT_NEAR(values[0][i++], std::sin(3 * x[0]) + x[1] * x[1], 1e-12);
    }
  }

  TEST_F(Evaluation, OfThreeComponentsOnCells)
  {
    FunctionParser<2> function(3);
    function.initialize("x,y", "x; y; 2*x*y", {});
    const auto                 values = PatchFEM::evaluate_at_quadrature_points(function, tables);
    const PatchFEM::CellTable &batch  = tables.batches[0];
    const int                  n_q    = batch.reference.n_quadrature;
    ASSERT_EQ(int(values[0].size()), 3 * batch.n_cells * n_q);
    std::vector<double> points(2 * n_q);
    for (int i = 0; i < batch.n_cells * n_q; ++i)
    {
      PatchFEM::cell_quadrature_points(tables, batch, i / n_q, points.data());
      const double *x = &points[2 * (i % n_q)];
      EXPECT_NEAR(values[0][3 * i], x[0], 1e-14);
      EXPECT_NEAR(values[0][3 * i + 1], x[1], 1e-14);
      EXPECT_NEAR(values[0][3 * i + 2], 2 * x[0] * x[1], 1e-14);
    }
  }

  /** The divergence theorem: the flux of (x, y) through the boundary is twice the area. */
  TEST_F(Evaluation, OnFaces)
  {
    const PatchFEM::FaceQuadrature faces = PatchFEM::compute_face_quadrature(tables);
    double                         flux  = 0;
    for (std::size_t q = 0; q < faces.n_points(); ++q)
      flux += (faces.points[2 * q] * faces.normals[2 * q] + faces.points[2 * q + 1] * faces.normals[2 * q + 1]) *
              faces.weights[q];
    EXPECT_NEAR(flux, 8, 1e-12);
  }

  TEST_F(Evaluation, NamesThePointWhereAValueIsNotFinite)
  {
    FunctionParser<2> function(1);
    function.initialize("x,y", "sqrt(x + 0.5)", {});
    try
    {
      PatchFEM::evaluate_at_quadrature_points(function, tables);
      FAIL() << "a value that is not a number was accepted";
    }
    catch (const PatchFEM::Error &error)
    {
      EXPECT_NE(std::string(error.what()).find("not finite at (-"), std::string::npos) << error.what();
    }
  }

  /** A cell whose two vertices at the boundary coincide. */
  TEST_F(Evaluation, FaceWithoutAreaIsRefused)
  {
    const PatchFEM::FaceEntry &face      = tables.faces[0];
    const auto                &batch     = tables.batches[face.batch];
    const auto                &reference = batch.reference;
    ASSERT_EQ(reference.n_geometry, 4);
    const int *geometry = batch.points_of(face.cell);
    for (unsigned int d = 0; d < 2; ++d)
      tables.points[geometry[GeometryInfo<2>::face_to_cell_vertices(face.face, 1)] * 2 + d] =
          tables.points[geometry[GeometryInfo<2>::face_to_cell_vertices(face.face, 0)] * 2 + d];
    try
    {
      PatchFEM::compute_face_quadrature(tables);
      FAIL() << "a face without area was accepted";
    }
    catch (const PatchFEM::Error &error)
    {
      EXPECT_NE(std::string(error.what()).find("has no area"), std::string::npos) << error.what();
    }
  }
} // namespace
