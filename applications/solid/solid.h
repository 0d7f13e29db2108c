// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "solid_laws.h"

#include <patchfem/app/field_evaluation.h>
#include <patchfem/app/law_application.h>
#include <patchfem/base/exceptions.h>
#include <patchfem/base/quote.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace PatchFEM
{
  using dealii::Point;
  using dealii::types::material_id;

  /**
   * The equilibrium of solids, Div P(F) + f = 0 in the coordinates of the undeformed body, F = I + grad u, with a law of
   * materials for the first Piola-Kirchhoff stress P. On the boundary displacement components are given, or forces per
   * undeformed area.
   */
  struct SolidApplication : public LawApplication
  {
    std::string                        law = "neo_hookean", body_force;
    std::map<std::string, std::string> values; ///< formulas of material_entries(), by name
    bool                               plane_stress = false;
    NaturalConditionParameters         natural{"Traction", "", "", ""};

    SolidApplication()
    {
      for (const MaterialEntry &entry : material_entries())
        values[entry.name] = entry.initial;
    }

    std::string name() const override { return "solid"; }

    void declare_physics(dealii::ParameterHandler &prm) override
    {
      prm.enter_subsection("Boundary conditions");
      prm.add_parameter("Traction", natural.loads,
                        "Force per undeformed area by boundary, whose direction stays: '2: 0; -1e6, 3 4: x; y*t'.");
      prm.leave_subsection();
      prm.enter_subsection("Material");
      prm.add_parameter("Law", law,
                        "The law of all materials, or one by material such as 'core: j2, default: neo_hookean': " +
                            names_of_solid_laws(true) + ".");
      for (const MaterialEntry &entry : material_entries())
        prm.add_parameter(entry.name, values[entry.name],
                          entry.words + " A formula, or one per material ('1: 70e9, default: 1e9').");
      prm.declare_entry("Plane state", "plane strain", dealii::Patterns::Selection("plane strain|plane stress"),
                        "What two dimensions mean.");
      prm.leave_subsection();
      prm.enter_subsection("Loads");
      prm.add_parameter("Body force", body_force,
                        "Force per undeformed volume, by components '0; 0; -9.81*7850', or such a list per material; "
                        "empty is none.");
      prm.leave_subsection();
    }

    ParametersInUse parse_parameters(dealii::ParameterHandler &prm) override
    {
      ParametersInUse result = LawApplication::parse_parameters(prm);
      plane_stress           = prm.get({"Material"}, "Plane state") == "plane stress";
      require(!plane_stress || prm.get_integer("Dimension") == 2,
              "The entry Material/Plane state = plane stress would be without effect, as it is for Dimension = 2; "
              "remove it.");
      for (const MaterialEntry &entry : material_entries())
      {
        EntryCondition condition{{"Material/" + entry.name}, false, ""};
        for (const SolidLaw &row : solid_laws())
          if (std::count(row.entries.begin(), row.entries.end(), entry.name) > 0)
          {
            condition.needs += (condition.needs.empty() ? "Material/Law = " : " or ") + row.name;
            for (const KeyedFormulas &item : split_keyed_formulas(law, true, "Material/Law"))
              condition.holds = condition.holds || item.formulas == std::vector<std::string>{row.name};
          }
        result.conditions.push_back(condition);
      }
      return result;
    }

  protected:
    bool                           vector_valued() const override { return true; }
    std::unique_ptr<LawPhysics<2>> make_physics_2d() const override;
    std::unique_ptr<LawPhysics<3>> make_physics_3d() const override;
  };

  template <int dim>
  class SolidPhysics : public LawPhysics<dim>
  {
  public:
    explicit SolidPhysics(const SolidApplication &application)
        : LawPhysics<dim>(NaturalConditions<dim>(application.natural, dim, application.constants_of_loads())),
          plane(dim == 3                   ? SolidLaw::Plane::none
                : application.plane_stress ? SolidLaw::Plane::stress
                                           : SolidLaw::Plane::strain),
          body_force(application.body_force.empty() ? std::string("0; 0; 0").substr(0, 3 * dim - 2)
                                                    : application.body_force,
                     {dim},
                     {},
                     application.constants_of_loads(),
                     "Loads/Body force"),
          items(split_keyed_formulas(application.law, true, entry_of_law))
    {
      std::set<std::string> read;
      for (const KeyedFormulas &item : items)
        read.insert(find_law(item).entries.begin(), find_law(item).entries.end());
      for (const MaterialEntry &entry : material_entries())
        if (read.count(entry.name) > 0)
          values.emplace_back(
              application.values.at(entry.name), std::vector<unsigned int>{1},
              typename MaterialFunction<dim>::Range{entry.range.above, entry.range.closed_below, entry.range.below},
              application.constants(), "Material/" + entry.name);
    }

    void resolve(const MeshFacts &mesh, const std::set<dealii::types::boundary_id> &held) override
    {
      LawPhysics<dim>::resolve(mesh, held);
      for (const KeyedFormulas &item : items)
        for (const std::string &word : item.words)
          for (const unsigned int id : mesh.materials.find(word, entry_of_law, "material"))
            require(laws.emplace(id, &find_law(item)).first->second == &find_law(item), "The entry ", entry_of_law,
                    " gives two laws to ", mesh.materials.describe(id, "material"), "; take one of them out.");
      for (const unsigned int id : mesh.materials.ids())
      {
        for (const KeyedFormulas &item : items)
          if (item.all)
            laws.emplace(id, &find_law(item));
        require(laws.count(id) > 0, "The entry ", entry_of_law, " says nothing about ",
                mesh.materials.describe(id, "material"), ", which the mesh has; add it or 'default: ...'.");
      }
    }

    void add_laws(LawAssembler &assembler) const override
    {
      for (const SolidLaw &row : solid_laws())
      {
        std::vector<int> materials;
        for (const auto &[id, law] : laws)
          if (law == &row)
            materials.push_back(static_cast<int>(id));
        if (materials.empty())
          continue;
        std::vector<const MaterialFunction<dim> *> functions;
        for (const std::string &name : row.entries)
          for (const MaterialFunction<dim> &function : values)
            if (function.name() == "Material/" + name)
              functions.push_back(&function);
        const bool is_constant =
            std::all_of(functions.begin(), functions.end(), [](const auto *f) { return f->is_piecewise_constant(); });
        const auto evaluate = [&](const Point<dim> &point, const material_id material, double *parameters) {
          std::vector<double> of_entries;
          for (const MaterialFunction<dim> *function : functions)
            of_entries.push_back(function->value(point, material));
          row.find_parameters(of_entries.data(), parameters);
        };
        row.add(assembler, plane, make_field<dim>(assembler.space().tables(), row.n_parameters, is_constant, evaluate),
                materials);
      }
    }

    const MaterialFunction<dim> &body_load() const override { return body_force; }

    std::vector<std::string> mode_names() const override { return names_of_rigid_body_modes(dim); }

    double mode(const unsigned int m, const Point<dim> &point, const unsigned int c) const override
    {
      return rigid_body_mode(m, point, c);
    }

    bool is_definite_inside(const Point<dim> &, material_id) const override { return false; }

    std::vector<typename LawPhysics<dim>::Picture> pictures() const override
    {
      namespace Interpretation = dealii::DataComponentInterpretation;
      std::vector<int> stress(dim * dim);
      for (int k = 0; k < dim * dim; ++k)
        stress[k] = k;
      std::vector<typename LawPhysics<dim>::Picture> result{
          {"stress", stress, Interpretation::component_is_part_of_tensor}};
      if (dim == 3)
        result.push_back({"von_mises", {dim * dim}, Interpretation::component_is_scalar});
      return result;
    }

    /** The stress per deformed area, P F^T / det F. */
    void picture_values(const material_id   material,
                        const double *const gradient,
                        const double *const flux,
                        double *const       stress) const override
    {
      dealii::Tensor<2, dim> F = dealii::unit_symmetric_tensor<dim>(), P;
      for (int e = 0; e < dim * dim; ++e)
      {
        F[e / dim][e % dim] += gradient[e];
        P[e / dim][e % dim] = flux[e];
      }
      const dealii::Tensor<2, dim> sigma =
          laws.at(material)->small_strains ? P : dealii::Tensor<2, dim>(P * transpose(F) / determinant(F));
      for (int e = 0; e < dim * dim; ++e)
        stress[e] = sigma[e / dim][e % dim];
      if (dim == 3)
      {
        const auto deviator = dealii::deviator(dealii::symmetrize(sigma));
        stress[dim * dim]   = std::sqrt(1.5) * deviator.norm();
      }
    }

    std::vector<MaterialFunction<dim> *> material_functions() override
    {
      std::vector<MaterialFunction<dim> *> result{&body_force};
      for (MaterialFunction<dim> &function : values)
        result.push_back(&function);
      return result;
    }

  private:
    static constexpr const char *entry_of_law = "Material/Law";

    const SolidLaw::Plane                   plane;
    MaterialFunction<dim>                   body_force;
    std::vector<MaterialFunction<dim>>      values; ///< of material_entries() that laws read
    const std::vector<KeyedFormulas>        items;  ///< of the entry Law
    std::map<material_id, const SolidLaw *> laws;   ///< of the materials of the mesh

    static const SolidLaw &find_law(const KeyedFormulas &item)
    {
      for (const SolidLaw &row : solid_laws())
        if (item.formulas == std::vector<std::string>{row.name})
          return row;
      throw Error("The entry ", entry_of_law, " names a law that there is not: ", quote(item.text), "; there are ",
                  names_of_solid_laws(false), ".");
    }
  };

  inline std::unique_ptr<LawPhysics<2>> SolidApplication::make_physics_2d() const
  {
    return std::make_unique<SolidPhysics<2>>(*this);
  }

  inline std::unique_ptr<LawPhysics<3>> SolidApplication::make_physics_3d() const
  {
    return std::make_unique<SolidPhysics<3>>(*this);
  }
} // namespace PatchFEM
