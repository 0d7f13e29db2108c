// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "laws.h"

#include <patchfem/app/expression.h>
#include <patchfem/assembly/law_assembler.h>

#include <functional>
#include <string>
#include <vector>

namespace PatchFEM
{
  /** A number of a material, an entry of the section `Material`. */
  struct MaterialEntry
  {
    std::string                name, initial;
    MaterialFunction<3>::Range range;
    std::string                words;
  };

  /** In the order in which users see them. */
  inline const std::vector<MaterialEntry> &material_entries()
  {
    const MaterialFunction<3>::Range        positive{0.}, not_negative{0., true};
    static const std::vector<MaterialEntry> entries{
        {"Young's modulus", "1", positive, "E > 0, of small strains."},
        {"Poisson's ratio", "0.3", {-1., false, 0.5}, "-1 < nu < 0.5, of small strains."},
        {"Yield stress", "1", positive, "The stress at which plastic flow begins."},
        {"Saturation stress", "0", not_negative, "r of the yield stress y_0 + r (1 - exp(-b a)) + H a (Voce)."},
        {"Saturation rate", "0", not_negative, "b of it, a the accumulated plastic strain."},
        {"Hardening modulus", "0", not_negative, "H of it: linear isotropic hardening."},
        {"Kinematic hardening modulus", "0", not_negative,
         "By which the yield surface moves with the plastic strain."}};
    return entries;
  }

  /** A law that a parameter file can name; a new one is a row of solid_laws(), and a struct in CMakeLists.txt. */
  struct SolidLaw
  {
    enum class Plane
    {
      none, ///< in three dimensions
      strain,
      stress
    };

    std::string              name, words;
    std::vector<std::string> entries;       ///< that it reads, in the order of values
    bool                     small_strains; ///< so that its flux is the stress
    int                      n_parameters;
    void (*find_parameters)(const double *values, double *parameters);
    void (*add)(LawAssembler &, Plane, const CoefficientField &, const std::vector<int> &materials);

    template <typename Law>
    static SolidLaw of(const std::string              &name,
                       const std::string              &words,
                       const std::vector<std::string> &entries,
                       const bool                      small_strains,
                       void (*find_parameters)(const double *, double *))
    {
      return {name,
              words,
              entries,
              small_strains,
              LawTraits<Law>::n_parameters,
              find_parameters,
              [](LawAssembler &laws, const Plane plane, const CoefficientField &values, const std::vector<int> &ids) {
                if (plane == Plane::none)
                  laws.add_law<Law>(values, ids);
                else if (plane == Plane::strain)
                  laws.add_law<PlaneStrain<Law>>(values, ids);
                else
                  laws.add_law<PlaneStress<Law>>(values, ids);
              }};
    }
  };

  /** lambda and mu of E and nu. */
  inline void lame_parameters(const double *const values, double *const parameters)
  {
    const double E = values[0], nu = values[1];
    parameters[0] = E * nu / ((1. + nu) * (1. - 2. * nu));
    parameters[1] = E / (2. * (1. + nu));
  }

  /** In the order in which users see them. */
  inline const std::vector<SolidLaw> &solid_laws()
  {
    const std::vector<std::string>     elastic{"Young's modulus", "Poisson's ratio"};
    static const std::vector<SolidLaw> rows{
        SolidLaw::of<Materials::NeoHookean>("neo_hookean", "rubber and foam at large strains", elastic, false,
                                            lame_parameters),
        SolidLaw::of<Materials::SaintVenantKirchhoff>("saint_venant_kirchhoff", "large rotations with small strains",
                                                      elastic, false, lame_parameters),
        SolidLaw::of<Materials::J2Plasticity>("j2", "metals at small strains",
                                              {"Young's modulus", "Poisson's ratio", "Yield stress",
                                               "Saturation stress", "Saturation rate", "Hardening modulus",
                                               "Kinematic hardening modulus"},
                                              true, [](const double *const values, double *const parameters) {
                                                double lame[2];
                                                lame_parameters(values, lame);
                                                parameters[0] = lame[0] + 2. / 3. * lame[1];
                                                parameters[1] = lame[1];
                                                std::copy_n(values + 2, 5, parameters + 2);
                                              })};
    return rows;
  }

  /** `neo_hookean (rubber ...), ...` */
  inline std::string names_of_solid_laws(const bool with_words)
  {
    std::string result;
    for (const SolidLaw &row : solid_laws())
      result += (result.empty() ? "" : ", ") + row.name + (with_words ? " (" + row.words + ")" : "");
    return result;
  }
} // namespace PatchFEM
