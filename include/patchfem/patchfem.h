// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

/** @file All that a program with deal.II uses. */
#include <patchfem/app/mesh.h>
#include <patchfem/app/solution_values.h>
#include <patchfem/assembly/assembler.h>
#include <patchfem/assembly/edge_constraints_dealii.h>
#include <patchfem/assembly/fe_space_dealii.h>
#include <patchfem/assembly/quadrature_field.h>
#include <patchfem/assembly/voxel_poisson.h>
#include <patchfem/kernels/laws.h>
#include <patchfem/kernels/weak_forms.h>
#include <patchfem/lac/matrix/coordinate_matrix.h>
#include <patchfem/lac/matrix/csr_matrix.h>
#include <patchfem/lac/matrix/matrix_factory.h>
#include <patchfem/lac/matrix/matrix_io.h>
#include <patchfem/lac/matrix/mdia_matrix.h>
#include <patchfem/lac/matrix/sliced_ellpack_matrix.h>
#include <patchfem/lac/matrix/symmetric_ellpack_matrix.h>
#include <patchfem/lac/multigrid/precondition_amg.h>
#include <patchfem/lac/precondition/precondition_ic.h>
#include <patchfem/lac/precondition/precondition_jacobi.h>
#include <patchfem/lac/precondition/precondition_polynomial.h>
#include <patchfem/lac/precondition/precondition_ssor.h>
#include <patchfem/lac/solver/backward_error.h>
#include <patchfem/lac/solver/largest_eigenvalue.h>
#include <patchfem/lac/solver/null_space.h>
#include <patchfem/lac/solver/solver_cg_dealii.h>
#include <patchfem/lac/vector_dealii.h>
#include <patchfem/mpi/mpi_communicator.h>
#include <patchfem/mpi/mpi_rank_group.h>
