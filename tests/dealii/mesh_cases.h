// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/app/mesh.h>
#include <patchfem/base/exceptions.h>

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <fstream>
#include <map>
#include <string>

namespace mesh_cases
{
  /** A file of the repository's parameter_files/meshes. */
  inline std::string real_mesh(const std::string &name)
  {
    return PATCHFEM_TEST_MESHES "/" + name;
  }

  /** A file of tests/cases. */
  inline std::string case_mesh(const std::string &name)
  {
    return real_mesh("../../tests/cases/" + name);
  }

  /** A file that lives as long as the object. */
  class TemporaryFile
  {
  public:
    TemporaryFile(const std::string &suffix, const std::string &content)
        : name(testing::TempDir() + "patchfem_mesh_" + std::to_string(getpid()) + suffix)
    {
      std::ofstream(name) << content;
    }
    ~TemporaryFile() { unlink(name.c_str()); }
    TemporaryFile(const TemporaryFile &)            = delete;
    TemporaryFile &operator=(const TemporaryFile &) = delete;

    const std::string name;
  };

  /** Coordinates as integers, so that those of two computations can be compared. */
  using Place = std::array<long, 3>;

  template <int dim>
  Place place(const dealii::Point<dim> &x)
  {
    Place result{};
    for (unsigned int d = 0; d < dim; ++d)
      result[d] = std::lround(1e6 * x[d]);
    return result;
  }

  /** Ids by the centres of cells and boundary faces. */
  struct Ids
  {
    std::map<Place, unsigned int> materials, boundaries;

    bool operator==(const Ids &other) const { return materials == other.materials && boundaries == other.boundaries; }
  };

  template <int dim>
  Ids ids_of(const dealii::Triangulation<dim> &triangulation)
  {
    Ids ids;
    for (const auto &cell : triangulation.active_cell_iterators())
      if (!cell->is_artificial())
      {
        ids.materials[place(cell->center())] = cell->material_id();
        for (const unsigned int f : cell->face_indices())
          if (cell->at_boundary(f))
            ids.boundaries[place(cell->face(f)->center())] = cell->face(f)->boundary_id();
      }
    return ids;
  }

  template <int dim>
  double measure(const dealii::Triangulation<dim> &triangulation)
  {
    double sum = 0;
    for (const auto &cell : triangulation.active_cell_iterators())
      sum += cell->measure();
    return sum;
  }

  inline PatchFEM::MeshParameters generated(const std::string &name, const std::string &arguments)
  {
    PatchFEM::MeshParameters parameters;
    parameters.generator           = name;
    parameters.generator_arguments = arguments;
    return parameters;
  }

  inline PatchFEM::MeshParameters from_file(const std::string &name)
  {
    PatchFEM::MeshParameters parameters;
    parameters.file = name;
    return parameters;
  }

  /** Runs @p function, which must throw an Error whose one line contains each of @p parts. */
  template <typename Function>
  void expect_error(const Function &function, const std::vector<std::string> &parts)
  {
    try
    {
      function();
      ADD_FAILURE() << "nothing was refused; expected: " << parts[0];
    }
    catch (const PatchFEM::Error &error)
    {
      const std::string message = error.what();
      for (const std::string &part : parts)
        EXPECT_NE(message.find(part), std::string::npos) << "'" << part << "' is not in: " << message;
      EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    }
  }
} // namespace mesh_cases
