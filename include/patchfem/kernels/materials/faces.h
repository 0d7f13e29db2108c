// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/kernels/face_law.h>

/**
 * @file Face laws: loads that follow, springs, exchange of heat, rigid obstacles. Stiffnesses are stresses by length.
 */
namespace PatchFEM::Materials
{
  /** The cross product of the tangents @p t(k, direction), in the plane the tangent turned by a right angle. */
  template <int dim, typename Tangents>
  PATCHFEM_INLINE auto area_vector(const Tangents &t)
  {
    using Vector = SmallVector<dim, std::decay_t<decltype(t(0, 0))>>;
    if constexpr (dim == 2)
      return Vector{{t(0, 1), -t(0, 0)}};
    else
      return Vector{{t(0, 1) * t(1, 2) - t(0, 2) * t(1, 1), t(0, 2) * t(1, 0) - t(0, 0) * t(1, 2),
                     t(0, 0) * t(1, 1) - t(0, 1) * t(1, 0)}};
  }

  /** The outward normal of length 1 of the undeformed face. */
  template <int dim>
  PATCHFEM_INLINE SmallVector<dim, double> undeformed_normal(const FaceData &data)
  {
    return vector_of<dim>([&](const int d) { return data.normal[d]; });
  }

  /** t = -p n da/dA on the deformed face, p times the load factor. Parameter: the pressure p. */
  template <int dim>
  struct FollowingPressure
  {
    static constexpr int n_parameters = 1;

    template <typename T>
    static PATCHFEM_INLINE SmallVector<dim, T>
    traction(const FaceInput<dim, dim, T, Reads::tangents> &u, const FaceData &data, const NoState &, NoState &)
    {
      const auto undeformed = area_vector<dim>([&](const int k, const int d) { return data.tangents[k][d]; });
      const auto deformed   = area_vector<dim>([&](const int k, const int d) { return u.tangents[k][d]; });
      // Of either sign, so that the coordinates of the face may turn either way.
      const double area = undeformed * undeformed_normal<dim>(data);
      return (-data.load_factor * data.parameters[0] / area) * deformed;
    }
  };

  /** t_c = -k_c u_c. Parameters: dim stiffnesses. */
  template <int dim>
  struct Springs
  {
    static constexpr int  n_parameters = dim;
    static constexpr bool symmetric    = true;

    template <typename T>
    static PATCHFEM_INLINE SmallVector<dim, T>
                           traction(const FaceInput<dim, dim, T> &u, const FaceData &data, const NoState &, NoState &)
    {
      return vector_of<dim>([&](const int c) { return -data.parameters[c] * u.value[c]; });
    }
  };

  /** t = -k (u . N) N with the normal N of the undeformed face. Parameter: the stiffness k. */
  template <int dim>
  struct NormalSprings
  {
    static constexpr int  n_parameters = 1;
    static constexpr bool symmetric    = true;

    template <typename T>
    static PATCHFEM_INLINE SmallVector<dim, T>
                           traction(const FaceInput<dim, dim, T> &u, const FaceData &data, const NoState &, NoState &)
    {
      const auto normal = undeformed_normal<dim>(data);
      return (-data.parameters[0] * (normal * u.value)) * normal;
    }
  };

  /** A heat flow of h (T_s - T) into the body. Parameters: h, the temperature T_s of the surroundings. */
  template <int dim>
  struct Convection
  {
    static constexpr int  n_parameters = 2;
    static constexpr bool symmetric    = true;

    template <typename T>
    static PATCHFEM_INLINE SmallVector<1, T>
                           traction(const FaceInput<dim, 1, T> &u, const FaceData &data, const NoState &, NoState &)
    {
      return {{data.parameters[0] * (data.parameters[1] - u.value[0])}};
    }
  };

  /**
   * A heat flow of s (T_s^4 - T^4) into the body. Parameters: s, the emissivity times Stefan and Boltzmann's constant
   * (5.670374e-8 W/(m^2 K^4)), and T_s; temperatures are absolute.
   */
  template <int dim>
  struct Radiation
  {
    static constexpr int  n_parameters = 2;
    static constexpr bool symmetric    = true;

    template <typename T>
    static PATCHFEM_INLINE SmallVector<1, T>
                           traction(const FaceInput<dim, 1, T> &u, const FaceData &data, const NoState &, NoState &)
    {
      const double surroundings = data.parameters[1] * data.parameters[1];
      const T      squared      = u.value[0] * u.value[0];
      return {{data.parameters[0] * (surroundings * surroundings - squared * squared)}};
    }
  };

  /** The offset of a deformed point from an obstacle's point @p p, which the load factor moves along @p travel. */
  template <int dim, typename T>
  PATCHFEM_INLINE SmallVector<dim, T>
  offset_from(const FaceInput<dim, dim, T> &u, const FaceData &data, const double *p, const double *travel)
  {
    return vector_of<dim>([&](const int d) { return u.position[d] - (p[d] + data.load_factor * travel[d]); });
  }

  /**
   * Contact without friction with a rigid half-space: t = k max(-gap, 0) n. Parameters: the penalty k, a point of its
   * plane, the unit normal n out of it, its travel at a load factor of 1.
   */
  template <int dim>
  struct ContactPlane
  {
    static constexpr int  n_parameters = 1 + 3 * dim;
    static constexpr bool symmetric    = true;

    template <typename T>
    static PATCHFEM_INLINE SmallVector<dim, T>
                           traction(const FaceInput<dim, dim, T> &u, const FaceData &data, const NoState &, NoState &)
    {
      const double *c      = data.parameters;
      const auto    normal = vector_of<dim>([&](const int d) { return c[1 + dim + d]; });
      const T       gap    = normal * offset_from(u, data, c + 1, c + 1 + 2 * dim);
      return (c[0] * max(-gap, T(0.))) * normal;
    }
  };

  /** The traction of a round obstacle of radius @p radius, @p offset away from its centre or axis. */
  template <int dim, typename T>
  PATCHFEM_INLINE SmallVector<dim, T>
                  round_contact(const double penalty, const double radius, const SmallVector<dim, T> &offset)
  {
    const T distance = sqrt(offset * offset);
    return (penalty * max(radius - distance, T(0.)) / distance) * offset;
  }

  /**
   * Contact without friction with a rigid sphere, in the plane a disc: t = k max(-gap, 0) away from its centre.
   * Parameters: the penalty k, the radius, the centre, its travel at a load factor of 1.
   */
  template <int dim>
  struct ContactSphere
  {
    static constexpr int  n_parameters = 2 + 2 * dim;
    static constexpr bool symmetric    = true;

    template <typename T>
    static PATCHFEM_INLINE SmallVector<dim, T>
                           traction(const FaceInput<dim, dim, T> &u, const FaceData &data, const NoState &, NoState &)
    {
      const double *c = data.parameters;
      return round_contact(c[0], c[1], offset_from(u, data, c + 2, c + 2 + dim));
    }
  };

  /**
   * As ContactSphere, a long cylinder. Parameters: k, the radius, a point of the axis, its unit direction, its travel.
   */
  struct ContactCylinder
  {
    static constexpr int  n_parameters = 11;
    static constexpr bool symmetric    = true;

    template <typename T>
    static PATCHFEM_INLINE SmallVector<3, T>
                           traction(const FaceInput<3, 3, T> &u, const FaceData &data, const NoState &, NoState &)
    {
      const double *c      = data.parameters;
      const auto    axis   = vector_of<3>([&](const int d) { return c[5 + d]; });
      const auto    offset = offset_from(u, data, c + 2, c + 8);
      const T       along  = axis * offset;
      return round_contact(c[0], c[1], offset - along * axis);
    }
  };
} // namespace PatchFEM::Materials
