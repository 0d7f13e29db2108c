// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/app/boundary_conditions.h>
#include <patchfem/app/mesh.h>
#include <patchfem/app/physics.h>

#include <nlohmann/json.hpp>

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace PatchFEM
{
  /** The boundaries and materials of a mesh with their sizes, and what the entries put there. */
  struct RegionTables
  {
    struct Row
    {
      std::string           name;
      unsigned int          id      = 0;  ///< in pictures and for deal.II
      std::uint64_t         n       = 0;  ///< faces or cells
      double                measure = 0.; ///< their area or volume, of straight ones
      std::array<double, 3> centre{};
      std::string           title{}; ///< the name with others for the same faces or cells, `STEEL = EL`
      /// Of a boundary the names of entries, of a material entries and values.
      std::vector<std::pair<std::string, std::string>> contents{};
    };

    unsigned int     dim = 0, n_components = 0;
    std::vector<Row> boundaries, materials;

    /** Two tables for the terminal, of 40 rows at most. */
    std::string text() const;

    /** `boundaries` and `materials`, all rows. */
    nlohmann::json to_json() const;
  };

  /** Of a mesh that is not refined locally, on all ranks, with conditions and coefficients that are resolved. Collective. */
  template <int dim>
  RegionTables make_region_tables(const dealii::Triangulation<dim> &triangulation,
                                  const MeshSummary                &mesh,
                                  const EssentialConditions<dim>   &essential,
                                  Equation<dim>                    &equation);
} // namespace PatchFEM
