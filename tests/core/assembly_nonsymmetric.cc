// SPDX-License-Identifier: LGPL-2.1-or-later
#include "../../benchmarks/synthetic_tables.h"

#include <patchfem/assembly/assembler.h>
#include <patchfem/kernels/assembly_host.h>

#include <gtest/gtest.h>

#include <cmath>

using namespace PatchFEM;

/** c du/dx: a form that is summed by moments and is not symmetric. */
struct Advection
{
  static constexpr int dimension      = 3;
  static constexpr int n_components   = 1;
  static constexpr int n_coefficients = 1;

  template <typename Number>
  static PATCHFEM_INLINE SmallMatrix<1, 1, Number>
  matrix(const Number *c, const ShapeFunction<3, Number> &test, const ShapeFunction<3, Number> &trial)
  {
    return {{{c[0] * test.value * trial.gradient[0]}}};
  }

  template <typename Number>
  using Moments = SmallMatrix<1, 1, Number>;

  template <typename Number>
  static PATCHFEM_INLINE void add(SmallMatrix<1, 1, Number>      &sum,
                                  const Number                    weight,
                                  const ShapeFunction<3, Number> &test,
                                  const ShapeFunction<3, Number> &trial)
  {
    sum(0, 0) += weight * test.value * trial.gradient[0];
  }

  template <typename Number>
  static PATCHFEM_INLINE SmallMatrix<1, 1, Number> finish(const Number *c, const SmallMatrix<1, 1, Number> &sum)
  {
    return {{{c[0] * sum(0, 0)}}};
  }
};

/** -div(grad u) of each component of a vector: inner products whose blocks are no numbers. */
struct VectorLaplace : public Laplace<3>
{
  static constexpr int n_components = 3;

  template <typename Number>
  static PATCHFEM_INLINE SmallMatrix<3, 3, Number>
  matrix(const Number *k, const ShapeFunction<3, Number> &test, const ShapeFunction<3, Number> &trial)
  {
    return finish(k, SmallMatrix<1, 1, Number>{{{dot(test.gradient, trial.gradient)}}});
  }

  template <typename Number>
  static PATCHFEM_INLINE SmallMatrix<3, 3, Number> finish(const Number *k, const SmallMatrix<1, 1, Number> &sum)
  {
    SmallMatrix<3, 3, Number> block{};
    for (int c = 0; c < 3; ++c)
      block(c, c) = k[0] * sum(0, 0);
    return block;
  }
};

PATCHFEM_INSTANTIATE_ASSEMBLY(Advection);
PATCHFEM_INSTANTIATE_ASSEMBLY(VectorLaplace);

#ifdef PATCHFEM_WITH_CUDA
namespace PatchFEM::kernels
{
  // This file is compiled for the host alone.
  template <>
  AssemblyKernel<double> assembly_kernel<Advection, double>(Cuda, const KernelRequest &)
  {
    throw Error("not compiled for the device");
  }
  template <>
  AssemblyKernel<double> assembly_kernel<VectorLaplace, double>(Cuda, const KernelRequest &)
  {
    throw Error("not compiled for the device");
  }
} // namespace PatchFEM::kernels
#endif

namespace
{
  HostCSR<double> assemble(const ElementTables &tables, const std::string &strategy)
  {
    const Space                          space(Backend("host"), tables);
    Assembler<Advection>                 assembler;
    Assembler<Advection>::AdditionalData data;
    data.strategy = strategy;
    assembler.reinit(space, data);
    assembler.set_coefficients(CoefficientField::constant({1.5}));
    CSRMatrix<double> matrix;
    space.initialize_matrix(matrix);
    assembler.assemble_matrix(matrix);
    return matrix.to_csr_host();
  }
} // namespace

/** Patches keep a cell's matrix, of which half is enough only if the form says that it is symmetric. */
TEST(Assembly, FormsWithMomentsNeedNotBeSymmetric)
{
  for (const bool hexahedra : {true, false})
  {
    const ElementTables tables =
        hexahedra ? synthetic::cube_of_hexahedra(3, 1) : synthetic::cube_of_tetrahedra(3, 1, true);
    const HostCSR<double> patches = assemble(tables, "patches"), gather = assemble(tables, "gather");
    ASSERT_EQ(patches.columns, gather.columns);
    for (std::size_t e = 0; e < patches.values.size(); ++e)
      EXPECT_NEAR(patches.values[e], gather.values[e], 1e-14) << e;
    for (int row = 0; row < patches.n_rows; ++row)
    {
      double sum = 0.;
      for (std::int64_t e = patches.row_offsets[row]; e < patches.row_offsets[row + 1]; ++e)
        sum += patches.values[e];
      EXPECT_NEAR(sum, 0., 1e-14) << "a constant has no derivative, row " << row;
    }
  }
}

/** Each component has its own load, and the matrix of a scalar. */
TEST(Assembly, InnerProductsOfVectors)
{
  ElementTables tables = synthetic::cube_of_hexahedra(4, 1);
  const auto    rhs_of = [&](auto assembler, const std::vector<double> &load, HostCSR<double> &result) {
    const Space space(Backend("host"), tables);
    assembler.reinit(space, {});
    assembler.set_coefficients(CoefficientField::constant({1.5}));
    assembler.set_body_load(CoefficientField::constant(load));
    CSRMatrix<double> matrix;
    Vector<double>    rhs;
    space.initialize_matrix(matrix);
    assembler.assemble(matrix, rhs);
    result = matrix.to_csr_host();
    return rhs.copy_to_host();
  };
  HostCSR<double>           scalar, vector;
  const std::vector<double> of_scalar = rhs_of(Assembler<Laplace<3>>(), {1.}, scalar);
  tables.n_components                 = 3;
  const std::vector<double> of_vector = rhs_of(Assembler<VectorLaplace>(), {1., 2., -3.}, vector);
  for (std::size_t i = 0; i < of_scalar.size(); ++i)
  {
    EXPECT_NEAR(of_vector[3 * i], of_scalar[i], 1e-15);
    EXPECT_NEAR(of_vector[3 * i + 1], 2. * of_scalar[i], 1e-15);
    EXPECT_NEAR(of_vector[3 * i + 2], -3. * of_scalar[i], 1e-15);
  }
  for (std::int64_t row = 0; row < scalar.n_rows; ++row)
    for (std::int64_t e = scalar.row_offsets[row]; e < scalar.row_offsets[row + 1]; ++e)
      for (int c = 0; c < 3; ++c)
      {
        const std::int64_t in_row = 3 * (e - scalar.row_offsets[row]) + c;
        EXPECT_NEAR(vector.values[vector.row_offsets[3 * row + c] + in_row], scalar.values[e], 1e-14);
      }
}

namespace
{
  struct SaysSymmetric : public Advection
  {
    static constexpr bool symmetric = true;
  };

  struct SaysGradientsOnly : public Advection
  {
    static constexpr bool gradients_only = true;
  };

  /** Moments of the transposed form. */
  struct OtherMoments : public Advection
  {
    template <typename Number>
    static void add(SmallMatrix<1, 1, Number>      &sum,
                    const Number                    weight,
                    const ShapeFunction<3, Number> &test,
                    const ShapeFunction<3, Number> &trial)
    {
      Advection::add(sum, weight, trial, test);
    }
  };

  struct SaysInnerProduct : public Advection
  {
    static constexpr auto moment_kind = MomentKind::inner_product;
  };

  /** The sums of test and trial function exchanged, or the whole volume forgotten. */
  struct ExchangedMeans : public ElasticityMeanDilatation<3>
  {
    template <typename Number>
    static void add(CellMoments<Number>            &sum,
                    const Number                    weight,
                    const Number                   *coefficients,
                    const ShapeFunction<3, Number> &test,
                    const ShapeFunction<3, Number> &trial)
    {
      ElasticityMeanDilatation<3>::add(sum, weight, coefficients, trial, test);
    }
  };
  struct ForgottenVolume : public ElasticityMeanDilatation<3>
  {
    template <typename Number>
    static SmallMatrix<3, 3, Number> finish(const CellMoments<Number> &sum)
    {
      return ElasticityMeanDilatation<3>::finish(sum);
    }
    template <typename Number>
    static auto finish(const Number                    *coefficients,
                       const SmallMatrix<3, 3, Number> &product,
                       const SmallVector<3, Number>    &test,
                       const SmallVector<3, Number>    &trial,
                       const Number)
    {
      return ElasticityMeanDilatation<3>::finish(coefficients, product, test, trial, Number(1));
    }
  };
} // namespace

TEST(Assembly, PromisesOfFormsAreTried)
{
  EXPECT_NO_THROW(check_promises<Advection>());
  EXPECT_NO_THROW(check_promises<Laplace<2>>());
  EXPECT_NO_THROW(check_promises<Diffusion<3>>());
  EXPECT_NO_THROW(check_promises<Elasticity<3>>());
  EXPECT_NO_THROW(check_promises<ElasticityMeanDilatation<3>>());
  EXPECT_THROW(check_promises<SaysSymmetric>(), Error);
  EXPECT_THROW(check_promises<SaysGradientsOnly>(), Error);
  EXPECT_THROW(check_promises<OtherMoments>(), Error);
  EXPECT_THROW(check_promises<SaysInnerProduct>(), Error);
  EXPECT_THROW(check_promises<ExchangedMeans>(), Error);
  EXPECT_THROW(check_promises<ForgottenVolume>(), Error);
}

/** Two points with half of the volume each: 5 (2, 1) (x) (0, 3) of means, and 5 (0, 7; 0, 4) of products at points. */
TEST(Assembly, MeanDilatationOfTwoPoints)
{
  const ShapeFunction<2, double> test[]                     = {{0., {{1., 0.}}}, {0., {{3., 2.}}}},
                                 trial[]                    = {{0., {{0., 2.}}}, {0., {{0., 4.}}}};
  const double                                     moduli[] = {5., 0.};
  ElasticityMeanDilatation<2>::CellMoments<double> sum{};
  SmallMatrix<2, 2, double>                        product{};
  for (int q = 0; q < 2; ++q)
  {
    ElasticityMeanDilatation<2>::add(sum, 0.5, moduli, test[q], trial[q]);
    Elasticity<2>::add(product, 0.5, test[q], trial[q]);
  }
  const auto   means = ElasticityMeanDilatation<2>::finish(sum), points = Elasticity<2>::finish(moduli, product);
  const double of_means[] = {0., 30., 0., 15.}, of_points[] = {0., 35., 0., 20.};
  for (int e = 0; e < 4; ++e)
  {
    EXPECT_DOUBLE_EQ(means(e / 2, e % 2), of_means[e]);
    EXPECT_DOUBLE_EQ(points(e / 2, e % 2), of_points[e]);
  }
}
