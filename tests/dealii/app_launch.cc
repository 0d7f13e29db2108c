// SPDX-License-Identifier: LGPL-2.1-or-later
#include "app/launch.h"

#include <gtest/gtest.h>

using namespace PatchFEM;
using namespace PatchFEM::internal;

TEST(AppLaunch, CellsAreEstimated)
{
  MeshParameters box;
  box.generator           = "subdivided_hyper_rectangle";
  box.generator_arguments = "20, 2, 3 : 0, 0, 0 : 2, 0.2, 0.3 : true";
  EXPECT_EQ(estimate_n_cells(box, 3, 0), 120.);
  box.coarse_refinements = 1;
  box.global_refinements = 2;
  EXPECT_EQ(estimate_n_cells(box, 3, 1), 120. * 4096);
  box.simplices = MeshParameters::Simplices::kuhn;
  EXPECT_EQ(estimate_n_cells(box, 3, 1), 6. * 120. * 4096);

  MeshParameters shell;
  shell.generator           = "hyper_shell";
  shell.generator_arguments = "0, 0 : 0.5 : 1 : 8 : true";
  EXPECT_EQ(estimate_n_cells(shell, 2, 1), 32.);
  shell.generator_arguments = "nonsense";
  EXPECT_EQ(estimate_n_cells(shell, 2, 1), 0.);

  // 21,934 tetrahedra and triangles
  MeshParameters wheelset;
  wheelset.directory = PATCHFEM_TEST_MESHES;
  wheelset.file      = "wheelset.msh";
  EXPECT_GT(estimate_n_cells(wheelset, 3, 0), 10e3);
  EXPECT_LT(estimate_n_cells(wheelset, 3, 0), 40e3);
  wheelset.file = "absent.msh";
  EXPECT_EQ(estimate_n_cells(wheelset, 3, 0), 0.);
}

TEST(AppLaunch, RanksAreForLargeMeshesOnSeveralCores)
{
  EXPECT_EQ(choose_n_ranks(0., 16), 1U);
  EXPECT_EQ(choose_n_ranks(200e3, 16), 1U);
  EXPECT_EQ(choose_n_ranks(400e3, 64), 20U);
  EXPECT_EQ(choose_n_ranks(4e6, 16), 16U);
  EXPECT_EQ(choose_n_ranks(4e6, 2), 1U);
}
