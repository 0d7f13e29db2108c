// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/face_bodies.h"

#include <patchfem/assembly/face_laws.h>
#include <patchfem/kernels/parallel_for.h>

#include <algorithm>
#include <array>

namespace PatchFEM
{
  void FaceLaws::add(const Space &space, const Row &law)
  {
    const ElementTables &tables = space.tables();
    require(tables.dim == law.dimension && tables.n_components == law.n_components, "The face law ", law.name,
            " is of ", law.n_components, " components in ", law.dimension, "D, but the space has ", tables.n_components,
            " in ", tables.dim, "D.");
    require(static_cast<int>(law.parameters.size()) == law.n_parameters, "The face law ", law.name, " needs ",
            law.n_parameters, " parameters, not ", law.parameters.size(), ".");
    for (const int id : law.boundary_ids)
    {
      std::int64_t n = std::count_if(tables.faces.begin(), tables.faces.end(),
                                     [&](const FaceEntry &face) { return face.boundary_id == id; });
      if (tables.ranks.several())
        n = tables.ranks.communicator->sum(n);
      require(n > 0, "The face law ", law.name, " is for boundary ", id,
              ", of which the space lists no face; name it in ExtractionData::boundary_ids.");
    }
    laws.push_back(law);
  }

  bool FaceLaws::symmetric() const
  {
    return std::all_of(laws.begin(), laws.end(), [](const Row &law) { return law.symmetric; });
  }

  int FaceLaws::n_inputs() const
  {
    int most = 0;
    for (const Row &law : laws)
      most = std::max(most, law.n_inputs);
    return most;
  }

  void FaceLaws::prepare(const Space &space)
  {
    const Backend        &backend  = space.backend();
    const ElementTables  &tables   = space.tables_of_batches();
    const ElementBatches &elements = space.batches();
    const int             n_comp   = tables.n_components;
    first_points.assign(1, 0);
    for (const FaceEntry &face : tables.faces)
      first_points.push_back(first_points.back() + tables.batches[face.batch].reference.n_face_quadrature);
    const auto has_law = [&](const FaceEntry &face, const Row &law) {
      return std::count(law.boundary_ids.begin(), law.boundary_ids.end(), face.boundary_id) > 0;
    };
    parts.clear();
    parameters.clear();
    for (const Row &law : laws)
    {
      parameters.emplace_back(backend, law.parameters);
      for (int b = 0; b < elements.n_batches(); ++b)
      {
        std::vector<int>          cells, faces;
        std::vector<std::int64_t> points;
        for (std::size_t f = 0; f < tables.faces.size(); ++f)
          if (tables.faces[f].batch == b && has_law(tables.faces[f], law))
          {
            cells.push_back(elements.position_of_cell(b, tables.faces[f].cell));
            faces.push_back(tables.faces[f].face);
            points.push_back(first_points[f]);
          }
        if (!cells.empty())
          parts.push_back({static_cast<int>(&law - laws.data()), b, static_cast<int>(cells.size()),
                           Array<int>(backend, cells), Array<int>(backend, faces),
                           Array<std::int64_t>(backend, points)});
      }
    }
    // The faces of each node that this rank owns: (node, face of the tables, shape).
    std::vector<std::array<int, 3>> entries;
    for (std::size_t f = 0; f < tables.faces.size(); ++f)
    {
      const FaceEntry &face = tables.faces[f];
      const CellTable &cell = tables.batches[face.batch];
      const auto      &r    = cell.reference;
      if (std::none_of(laws.begin(), laws.end(), [&](const Row &law) { return has_law(face, law); }))
        continue;
      for (int s = 0; s < r.n_shape; ++s)
      {
        bool touches = false; // all shapes that are not zero on the face
        for (int q = 0; q < r.n_face_quadrature; ++q)
          touches =
              touches ||
              std::abs(r.face_shape_values[(std::size_t(face.face) * r.n_face_quadrature + q) * r.n_shape + s]) > 1e-14;
        const int node = elements.new_of_old()[cell.nodes[std::size_t(face.cell) * r.n_shape + s]];
        if (touches && node < elements.n_rows())
          entries.push_back({node, static_cast<int>(f), s});
      }
    }
    std::sort(entries.begin(), entries.end());
    std::vector<int>          list, cells, faces, shapes;
    std::vector<std::int64_t> starts, points;
    for (const auto &[node, f, s] : entries)
    {
      const FaceEntry &face = tables.faces[f];
      if (list.empty() || list.back() != node)
      {
        list.push_back(node);
        starts.push_back(static_cast<std::int64_t>(cells.size()));
      }
      cells.push_back(elements.view().batch[face.batch].first_cell + elements.position_of_cell(face.batch, face.cell));
      faces.push_back(face.face);
      shapes.push_back(s);
      points.push_back(first_points[f]);
    }
    starts.push_back(static_cast<std::int64_t>(cells.size()));
    nodes.copy_from(backend, list);
    offsets.copy_from(backend, starts);
    entry_cell.copy_from(backend, cells);
    entry_face.copy_from(backend, faces);
    entry_shape.copy_from(backend, shapes);
    entry_point.copy_from(backend, points);
    traction.reinit(backend, first_points.back() * n_comp);
    tangent.reinit(backend, first_points.back() * n_comp * n_inputs());
  }

  void FaceLaws::evaluate(const Space          &space,
                          const Vector<double> &u,
                          const double          time,
                          const double          step,
                          const double          load_factor,
                          const bool            with_tangents,
                          std::int64_t         *failure)
  {
    traction.set_zero();
    if (with_tangents)
      tangent.set_zero();
    for (const Part &part : parts)
    {
      const FacePass pass{space.batches().view(),
                          part.batch,
                          u.data(),
                          parameters[part.law].data(),
                          time,
                          step,
                          load_factor,
                          part.n_faces,
                          part.cells.data(),
                          part.faces.data(),
                          part.points.data(),
                          traction.data(),
                          with_tangents ? tangent.data() : nullptr,
                          n_inputs(),
                          failure};
      laws[part.law].run(space.backend(), pass);
    }
  }

  void FaceLaws::subtract_from(const Space &space, Vector<double> &r) const
  {
    const auto subtract = [&](auto dim) {
      const int n = space.batches().n_components();
      launch(space.backend(), [&](auto where) {
        kernels::parallel_for(where, std::int64_t(nodes.size()) * n,
                              kernels::SubtractTractionBody<decltype(dim)::value>{
                                  space.batches().view(), n, nodes.data(), offsets.data(), entry_cell.data(),
                                  entry_face.data(), entry_shape.data(), entry_point.data(), traction.data(),
                                  r.data()});
      });
    };
    if (space.batches().dimension() == 2)
      subtract(std::integral_constant<int, 2>());
    else
      subtract(std::integral_constant<int, 3>());
  }

  int FaceLaws::face_of(const std::int64_t point) const
  {
    return static_cast<int>(std::upper_bound(first_points.begin(), first_points.end(), point) - first_points.begin()) -
           1;
  }

  std::size_t FaceLaws::memory_consumption() const
  {
    std::size_t bytes =
        memory_consumption_of(traction, tangent, nodes, entry_cell, entry_face, entry_shape, offsets, entry_point);
    for (const Part &part : parts)
      bytes += memory_consumption_of(part.cells, part.faces, part.points);
    return bytes;
  }
} // namespace PatchFEM
