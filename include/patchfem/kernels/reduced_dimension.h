// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/kernels/material_law.h>

/** @file Laws of plane and axisymmetric solids made of a law in three dimensions that reads grad u alone. */
namespace PatchFEM
{
  namespace reduced_dimension
  {
    /** grad u of three dimensions where that in the plane is @p H and u_3,3 is @p h33. */
    template <typename T, typename S>
    PATCHFEM_INLINE auto solid_input(const SmallMatrix<2, 2, T> &H, const S &h33)
    {
      using Number = std::common_type_t<T, S>;
      PointInput<3, 3, Number> u{{}, {}, matrix_of<3, 3>([](int, int) { return Number(0.); })};
      PATCHFEM_UNROLL
      for (int e = 0; e < 4; ++e)
        u.gradient(e / 2, e % 2) = H(e / 2, e % 2);
      u.gradient(2, 2) = h33;
      return u;
    }

    template <typename T>
    PATCHFEM_INLINE SmallMatrix<2, 2, T> in_plane(const SmallMatrix<3, 3, T> &P)
    {
      return {{{P(0, 0), P(0, 1)}, {P(1, 0), P(1, 1)}}};
    }

    template <typename Law, typename Traits = LawTraits<Law>>
    constexpr bool is_solid =
        Traits::dimension == 3 && Traits::n_components == 3 && Traits::reads == 0 && !Traits::has_source;
  } // namespace reduced_dimension

  /** @p Law in a body that is held along direction 3, and along which nothing varies. */
  template <typename Law>
  struct PlaneStrain : Law
  {
    static_assert(reduced_dimension::is_solid<Law>);

    template <typename T>
    static PATCHFEM_INLINE auto
    flux(const PointInput<2, 2, T> &u, const PointData &data, const LawState<Law> &old, LawState<Law> &now)
    {
      return reduced_dimension::in_plane(Law::flux(reduced_dimension::solid_input(u.gradient, 0.), data, old, now));
    }
  };

  /**
   * @p Law in a thin sheet across which no stress acts, per undeformed thickness: u_3,3 such that P_33 = 0 by an
   * iteration at the point, whose tangent is exact. The law has to be symmetric about the sheet, as all isotropic ones
   * are, since u_1,3 and the like are zero.
   */
  template <typename Law>
  struct PlaneStress : Law
  {
    static_assert(reduced_dimension::is_solid<Law>);

    struct State : LawState<Law>
    {
      double thickness; ///< u_3,3, where the next iteration begins; has no other effect
    };
    static PATCHFEM_INLINE State initial(const PointData &data) { return {initial_state<Law>(data), 0.}; }

    template <typename T>
    static PATCHFEM_INLINE auto flux(const PointInput<2, 2, T> &u, const PointData &data, const State &old, State &now)
    {
      LawState<Law> &of_law = now;
      const auto     stress = [&](const auto &h33, const auto &H) {
        of_law = old;
        return Law::flux(reduced_dimension::solid_input(H, h33), data, static_cast<const LawState<Law> &>(old), of_law);
      };
      // F_33 P_33, which grows with F_33 also where P_33 does not.
      const auto across = [&](const auto &h33, const auto &H) { return (1. + h33) * stress(h33, H)(2, 2); };
      const auto H      = value_of(u.gradient);
      now.thickness     = implicit_root(across, old.thickness, H, 1e-13, data);
      const auto P      = stress(now.thickness, u.gradient);
      if constexpr (std::is_same_v<T, double>)
        return reduced_dimension::in_plane(P);
      else
      {
        // d u_3,3 = -d P_33 / (d P_33 / d u_3,3)
        const auto along = stress(Dual<1>(now.thickness, 0), H);
        const T    shift = P(2, 2) * (1. / along(2, 2).d[0]);
        return matrix_of<2, 2>([&](const int i, const int j) { return P(i, j) - along(i, j).d[0] * shift; });
      }
    }
  };

  /**
   * @p Law in a body of revolution without torsion, u = (u_r, u_z) on a mesh of (r, z) with r > 0: F_33 = 1 + u_r / r,
   * and flux and source times r, so that integrals over the mesh are those of one radian of the body. Loads of its
   * boundary are to be times r as well: LawAssembler refuses face laws beside it, which are not.
   */
  template <typename Law>
  struct Axisymmetric : Law
  {
    static constexpr bool axisymmetric = true;
    static_assert(reduced_dimension::is_solid<Law>);

    template <typename T>
    static PATCHFEM_INLINE Fluxes<2, 2, T> flux(const PointInput<2, 2, T, Reads::value> &u,
                                                const PointData                         &data,
                                                const LawState<Law>                     &old,
                                                LawState<Law>                           &now)
    {
      const double r = data.position[0];
      const auto   P = Law::flux(reduced_dimension::solid_input(u.gradient, u.value[0] * (1. / r)), data, old, now);
      return {r * reduced_dimension::in_plane(P), {{P(2, 2), T(0.)}}};
    }
  };
} // namespace PatchFEM
