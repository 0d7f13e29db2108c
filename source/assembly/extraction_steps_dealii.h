// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/assembly/extraction_dealii.h>
#include <patchfem/base/exceptions.h>
#include <patchfem/mpi/mpi_communicator.h>

#include <deal.II/base/quadrature_lib.h>
#include <deal.II/dofs/dof_accessor.h>
#include <deal.II/fe/mapping_q.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

/** @file What the extraction by one process and the one by several have in common. */
namespace PatchFEM::internal
{
  using Index = dealii::types::global_dof_index;

  /** Tables of the scalar base element of @p fe, with Lagrange functions of degree @p mapping_degree as geometry. */
  template <int dim>
  ReferenceElement make_reference_element(const dealii::FiniteElement<dim>  &fe,
                                          const unsigned int                 mapping_degree,
                                          const dealii::Quadrature<dim>     &quadrature,
                                          const dealii::Quadrature<dim - 1> &face_quadrature);

  /** The rule of @p rules for element @p fe_index, or the Gauss rule with degree + 1 points per direction. */
  template <int dim_of_rule, int dim>
  dealii::Quadrature<dim_of_rule> choose_rule(const dealii::hp::QCollection<dim_of_rule> &rules,
                                              const dealii::FiniteElement<dim>           &fe,
                                              const unsigned int                          fe_index)
  {
    if (rules.size() > 0)
      return rules[rules.size() == 1 ? 0 : fe_index];
    if constexpr (dim_of_rule > 1)
      if (fe.reference_cell().is_simplex())
        return dealii::QGaussSimplex<dim_of_rule>(fe.degree + 1);
    return dealii::QGauss<dim_of_rule>(fe.degree + 1);
  }

  /** Opens the protected member that gives a cell's geometry nodes, hierarchically numbered as in FE_Q. */
  template <int dim>
  struct SupportPoints : public dealii::MappingQ<dim>
  {
    static std::vector<dealii::Point<dim>> compute(const dealii::MappingQ<dim>                              &mapping,
                                                   const typename dealii::Triangulation<dim>::cell_iterator &cell)
    {
      return (mapping.*(&SupportPoints::compute_mapping_support_points))(cell);
    }
  };

  /** What a mapping makes of cells. */
  template <int dim>
  struct CellGeometry
  {
    unsigned int                 degree   = 1;
    const dealii::MappingQ<dim> *of_cells = nullptr; ///< of one whose nodes belong to cells; null: vertices of the mesh

    explicit CellGeometry(const dealii::Mapping<dim> &mapping)
    {
      if (const auto *mapping_q = dynamic_cast<const dealii::MappingQ<dim> *>(&mapping))
      {
        degree = mapping_q->get_degree();
        if (degree > 1 || !mapping.preserves_vertex_locations())
          of_cells = mapping_q;
      }
    }
  };

  /** Throws Error unless @p line of @p constraints speaks of finite numbers and of unknowns below @p n_dofs. */
  void check_line(const dealii::AffineConstraints<double>::ConstraintLine &line,
                  const dealii::AffineConstraints<double>                 &constraints,
                  Index                                                    n_dofs);

  /** Throws Error if an id is @p missing that was asked for; @p present are those of the mesh. */
  template <typename Ids>
  void check_boundary_ids(const std::set<dealii::types::boundary_id> &missing, const Ids &present)
  {
    if (missing.empty())
      return;
    std::string names;
    for (const dealii::types::boundary_id id : present)
      names += (names.empty() ? "" : ", ") + std::to_string(id);
    throw Error("No boundary face of a cell with unknowns has the boundary id ", *missing.begin(),
                ": the mesh has the ids ", names, ".");
  }

  /** The arguments of extract_element_tables(). */
  template <int dim>
  struct ExtractionInput
  {
    const dealii::Mapping<dim>              &mapping;
    const dealii::DoFHandler<dim>           &dof_handler;
    const dealii::AffineConstraints<double> &constraints;
    const ExtractionData<dim>               &data;

    /** Throws Error unless mesh, elements, mapping and constraints are among the supported ones. */
    void check() const;
  };

  /** Tables in the making, with the elements and faces of cells. */
  template <int dim>
  class ExtractionBase : protected ExtractionInput<dim>
  {
  protected:
    using Accessor = dealii::DoFCellAccessor<dim, dim, false>;

    explicit ExtractionBase(const ExtractionInput<dim> &input) : ExtractionInput<dim>(input)
    {
      tables.dim          = dim;
      tables.n_components = n_components;
    }

    const dealii::Triangulation<dim> &triangulation = this->dof_handler.get_triangulation();
    const int                         n_components  = this->dof_handler.get_fe_collection().n_components();
    const CellGeometry<dim>           geometry{this->mapping};
    bool          points_are_nodes = geometry.of_cells == nullptr; ///< geometry nodes have the numbers of nodes
    ElementTables tables;

    /** Makes the reference tables of @p batch, of element @p i. @return deal.II's local index of [shape][component]. */
    std::vector<unsigned int> tabulate_element(const unsigned int i, CellTable &batch)
    {
      const dealii::FiniteElement<dim> &fe = this->dof_handler.get_fe(i);
      batch.reference  = make_reference_element<dim>(fe, geometry.degree, choose_rule(this->data.quadrature, fe, i),
                                                    choose_rule(this->data.face_quadrature, fe, i));
      points_are_nodes = points_are_nodes && fe.degree == 1;
      std::vector<unsigned int> local_dofs;
      for (int shape = 0; shape < batch.reference.n_shape; ++shape)
        for (int component = 0; component < n_components; ++component)
          local_dofs.push_back(fe.component_to_system_index(component, shape));
      return local_dofs;
    }

    /** Adds the boundary faces that were asked for of a cell at its @p position in @p batch. */
    void read_faces(const Accessor &cell, const int batch, const int position, std::vector<FaceEntry> &faces) const
    {
      for (int face = 0; face < tables.batches[batch].reference.n_faces; ++face)
        if (cell.at_boundary(face))
        {
          const dealii::types::boundary_id id = cell.face(face)->boundary_id();
          if (this->data.all_boundary_faces || this->data.boundary_ids.count(id) > 0)
            faces.push_back({batch, position, face, static_cast<int>(id)});
        }
    }
  };

  /** extract_element_tables() of one rank of @p communicator, with the parts of others' cells that its rows need. */
  template <int dim>
  ElementTables extract_on_ranks(const std::shared_ptr<const MPICommunicator> &communicator,
                                 const ExtractionInput<dim>                   &input);
} // namespace PatchFEM::internal
