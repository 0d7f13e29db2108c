// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/assembly/space.h>
#include <patchfem/kernels/face_pass.h>

#include <memory>
#include <string>
#include <vector>

namespace PatchFEM
{
  /**
   * The face laws of a LawAssembler (kernels/face_law.h): tractions t at the quadrature points of boundary faces, their
   * tangents, and r_i -= int t . phi_i. Each unknown sums its faces in their order: the same bits each time. Bytes on the
   * back end for each point of a face: 8 n (1 + n dim), n components, the latter where a law reads tangents of faces.
   */
  class FaceLaws
  {
  public:
    struct Row
    {
      std::string name;
      int         dimension, n_components, n_parameters, n_inputs;
      bool        symmetric;
      void (*run)(const Backend &, const FacePass &);
      std::vector<double> parameters;
      std::vector<int>    boundary_ids;
    };

    /** The row of @p Law. */
    template <typename Law>
    static Row row(std::string name, const std::vector<double> &parameters, const std::vector<int> &boundary_ids)
    {
      using Traits = FaceLawTraits<Law>;
      return {std::move(name),   Traits::dimension, Traits::n_components, Traits::n_parameters, Traits::n_inputs,
              Traits::symmetric, run<Law>,          parameters,           boundary_ids};
    }

    /** Throws Error if the law does not fit @p space, or where none of its faces is in the tables of any rank. */
    void add(const Space &space, const Row &law);

    bool empty() const { return laws.empty(); }
    bool symmetric() const;

    /** Lists of faces and room on the back end, once all laws are added. */
    void prepare(const Space &space);

    /** Tractions at @p u, and tangents if @p with_tangents; see FacePass for the rest. */
    void evaluate(const Space          &space,
                  const Vector<double> &u,
                  double                time,
                  double                step,
                  double                load_factor,
                  bool                  with_tangents,
                  std::int64_t         *failure);

    /** @p r -= int t . phi_i of the last tractions. */
    void subtract_from(const Space &space, Vector<double> &r) const;

    const Array<double> &tangents() const { return tangent; } ///< [point][component][n_inputs()]
    int                  n_inputs() const;

    /** Which face of the tables a point of evaluate()'s failure is of. */
    int face_of(std::int64_t point) const;

    std::size_t memory_consumption() const;

  private:
    /** The faces of one law of one batch. */
    struct Part
    {
      int                 law, batch, n_faces;
      Array<int>          cells, faces;
      Array<std::int64_t> points;
    };

    template <typename Law>
    static void run(const Backend &backend, const FacePass &pass)
    {
      launch(backend, [&](auto where) { kernels::LawKernels<decltype(where), Law>::evaluate(where, pass); });
    }

    std::vector<Row>           laws;
    std::vector<Array<double>> parameters; ///< [law]
    std::vector<Part>          parts;
    std::vector<std::int64_t>  first_points; ///< [face of the tables]
    Array<double>              traction, tangent;
    Array<int>                 nodes, entry_cell, entry_face, entry_shape; ///< nodes of faces; faces of each
    Array<std::int64_t>        offsets, entry_point;
  };
} // namespace PatchFEM
