// SPDX-License-Identifier: LGPL-2.1-or-later
#include "law_cases.h"

#include <patchfem/kernels/materials/faces.h>

using namespace PatchFEM;
using namespace PatchFEM::Materials;
using namespace PatchFEM::law_cases;

namespace
{
  /** A point of an inclined face whose coordinates are neither of unit length nor at right angles. */
  FaceData face(const std::vector<double> &parameters)
  {
    FaceData data;
    data.parameters  = parameters.data();
    data.load_factor = 0.5;
    const double n[] = {2. / 3, 1. / 3, 2. / 3}, t[2][3] = {{-1., 2., 0.}, {2., 0., -2.}};
    std::copy(n, n + 3, data.normal);
    std::copy(t[0], t[0] + 6, data.tangents[0]);
    return data;
  }

  /** A point of an inclined edge in the plane. */
  FaceData plane_face(const std::vector<double> &parameters)
  {
    FaceData     data = face(parameters);
    const double n[] = {0.6, -0.8}, t[] = {4., 3.};
    std::copy(n, n + 2, data.normal);
    std::copy(t, t + 2, data.tangents[0]);
    return data;
  }

  template <typename Law>
  auto traction(const SmallVector<FaceLawTraits<Law>::n_inputs, double> &in, const FaceData &data)
  {
    FaceLawState<Law> now;
    return FaceLawAtPoint<Law>{data, {}}(in, now);
  }

  template <typename Law>
  void expect_tangents_of_face(const std::vector<double> &parameters, const double size)
  {
    using Traits        = FaceLawTraits<Law>;
    const FaceData data = Traits::dimension == 3 ? face(parameters) : plane_face(parameters);
    ASSERT_EQ(parameters.size(), static_cast<std::size_t>(Traits::n_parameters));
    for (const auto &in : random_inputs<Traits::n_inputs>(20, size))
    {
      const TangentCheck check = check_traction_tangent<Law>(in, data);
      EXPECT_TRUE(check.passes(Traits::symmetric)) << check.difference << ' ' << check.asymmetry << ' ' << check.chunks;
      const auto t = traction<Law>(in, data);
      EXPECT_GT(t * t, 0.); // in contact
    }
  }

  TEST(FaceLaw, TangentsAreDerivatives)
  {
    expect_tangents_of_face<FollowingPressure<2>>({7.}, 0.5);
    expect_tangents_of_face<FollowingPressure<3>>({7.}, 0.5);
    expect_tangents_of_face<Springs<3>>({1., 2., 3.}, 1.);
    expect_tangents_of_face<NormalSprings<2>>({5.}, 1.);
    expect_tangents_of_face<NormalSprings<3>>({5.}, 1.);
    expect_tangents_of_face<Convection<3>>({10., 400.}, 300.);
    expect_tangents_of_face<Radiation<3>>({5e-8, 400.}, 300.);
    // The point is at the origin, half a unit below the plane and half a radius deep.
    expect_tangents_of_face<ContactPlane<3>>({1e3, 0., 0., 0.5, 0., 0.6, 0.8, 0., 0.1, 1.}, 0.1);
    expect_tangents_of_face<ContactPlane<2>>({1e3, 0., 0.5, 0.6, 0.8, 0.1, 1.}, 0.1);
    expect_tangents_of_face<ContactSphere<3>>({1e3, 2., 1., 0., 0., 0.1, 0., 0.}, 0.1);
    expect_tangents_of_face<ContactSphere<2>>({1e3, 2., 1., 0., 0.1, 0.}, 0.1);
    expect_tangents_of_face<ContactCylinder>({1e3, 2., 1., 6., 8., 0., 0.6, 0.8, 0.1, 0., 0.}, 0.1);
  }

  TEST(FaceLaw, PressureFollowsTheDeformedFace)
  {
    // Nanson: n da = J F^-T N dA, for coordinates of the face that turn either way.
    const std::vector<double>       p = {7.};
    const SmallMatrix<3, 3, double> F{{{1.2, 0.3, -0.1}, {0.2, 0.9, 0.4}, {0., -0.3, 1.1}}};
    const SmallMatrix<2, 2, double> plane_F{{{1.2, 0.3}, {0.2, 0.9}}};
    for (const double turn : {1., -1.})
    {
      auto data = face(p), plane = plane_face(p);
      for (int d = 0; d < 3; ++d)
      {
        data.tangents[1][d] *= turn;
        plane.tangents[0][d] *= turn;
      }
      SmallVector<9, double> in{};
      SmallVector<4, double> plane_in{};
      for (int k = 0; k < 2; ++k)
        for (int i = 0; i < 3; ++i)
          for (int j = 0; j < 3; ++j)
            in[3 + 3 * k + i] += (F(i, j) - (i == j)) * data.tangents[k][j];
      for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 2; ++j)
          plane_in[2 + i] += (plane_F(i, j) - (i == j)) * plane.tangents[0][j];
      const auto t       = traction<FollowingPressure<3>>(in, data);
      const auto s       = traction<FollowingPressure<2>>(plane_in, plane);
      const auto G       = adjugate(F);
      const auto plane_G = adjugate(plane_F);
      for (int i = 0; i < 3; ++i)
        EXPECT_NEAR(t[i], -3.5 * (G(0, i) * data.normal[0] + G(1, i) * data.normal[1] + G(2, i) * data.normal[2]),
                    1e-13);
      for (int i = 0; i < 2; ++i)
        EXPECT_NEAR(s[i], -3.5 * (plane_G(0, i) * plane.normal[0] + plane_G(1, i) * plane.normal[1]), 1e-13);
    }
  }

  template <typename Vector>
  void expect_vector(const Vector &t, const std::vector<double> &expected)
  {
    for (unsigned int d = 0; d < expected.size(); ++d)
      EXPECT_NEAR(t[d], expected[d], 1e-12) << d;
  }

  TEST(FaceLaw, TractionsHaveTheirValues)
  {
    const std::vector<double> k = {1., 2., 3.}, h = {10., 400.}, s = {1e-8, 400.};
    expect_vector(traction<Springs<3>>({1., 1., -1.}, face(k)), {-1., -2., 3.});
    expect_vector(traction<NormalSprings<3>>({3., 0., 3.}, face(k)), {-8. / 3, -4. / 3, -8. / 3});
    expect_vector(traction<Convection<3>>({300.}, face(h)), {1000.});
    expect_vector(traction<Radiation<3>>({300.}, face(s)), {256. - 81.});
  }

  TEST(FaceLaw, ObstaclesPushOutWhatIsInside)
  {
    // A plane that moves up to z = 0.75, and points below and above it.
    const std::vector<double> plane = {100., 0., 0., 0.5, 0., 0., 1., 0., 0., 0.5};
    expect_vector(traction<ContactPlane<3>>({5., 6., 0.5}, face(plane)), {0., 0., 25.});
    expect_vector(traction<ContactPlane<3>>({5., 6., 0.8}, face(plane)), {0., 0., 0.});
    // A sphere of radius 2 about (1, 0, 0), and a cylinder of radius 2 about the line x = 1, z = 0.
    const std::vector<double> sphere   = {100., 2., 0., 0., 0., 2., 0., 0.},
                              cylinder = {100., 2., 0., 9., 0., 0., 1., 0., 2., 0., 0.};
    expect_vector(traction<ContactSphere<3>>({1., 0.9, 1.2}, face(sphere)), {0., 30., 40.});
    expect_vector(traction<ContactSphere<3>>({1., 2., 0.1}, face(sphere)), {0., 0., 0.});
    expect_vector(traction<ContactCylinder>({1.9, 3., 1.2}, face(cylinder)), {30., 0., 40.});
    expect_vector(traction<ContactCylinder>({1., 3., -2.1}, face(cylinder)), {0., 0., 0.});
  }
} // namespace
