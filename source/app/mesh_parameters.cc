// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/app/expression.h>
#include <patchfem/app/mesh.h>
#include <patchfem/base/exceptions.h>
#include <patchfem/base/quote.h>

#include <deal.II/base/utilities.h>

#include <limits>
#include <sstream>

namespace PatchFEM
{
  namespace
  {
    /** `1: x < 0; 2: y > 1` to pairs; the predicate is what follows the first colon, and may contain others. */
    std::vector<std::pair<dealii::types::boundary_id, std::string>> parse_rules(const std::string &text)
    {
      std::vector<std::pair<dealii::types::boundary_id, std::string>> rules;
      for (const std::string &rule : dealii::Utilities::split_string_list(text, ';'))
      {
        if (rule.empty())
          continue;
        const std::size_t colon     = rule.find(':');
        const std::string id        = dealii::Utilities::trim(rule.substr(0, colon));
        const std::string predicate = colon == std::string::npos ? "" : dealii::Utilities::trim(rule.substr(colon + 1));
        require(!id.empty() && id.find_first_not_of("0123456789") == std::string::npos && !predicate.empty(),
                "The rule ", quote(rule),
                " of Boundary ids/Rules is not of the form 'id: predicate'; write, for example, '1: x < 1e-9; 2: x > "
                "0.999 && y < 1'.");
        rules.emplace_back(parse_id(id, "Boundary ids/Rules"), predicate);
      }
      return rules;
    }

    /** `z 30` to axis and degrees; nothing if empty. */
    void parse_rotation(const std::string &text, char &axis, double &degrees)
    {
      std::istringstream stream(text);
      std::string        name;
      axis    = 'z';
      degrees = 0;
      if (!(stream >> name))
        return;
      require((name == "x" || name == "y" || name == "z") && stream >> degrees && (stream >> std::ws).eof(),
              "Mesh/Rotation = ", quote(text), " is not an axis x, y or z and an angle in degrees, such as 'z 30'.");
      axis = name[0];
    }
  } // namespace

  void MeshParameters::declare_parameters(dealii::ParameterHandler &prm)
  {
    namespace Patterns = dealii::Patterns;
    prm.enter_subsection("Mesh");
    prm.add_parameter("Generator", generator,
                      "Name of a function of dealii::GridGenerator, such as hyper_cube; "
                      "exactly one of Generator and File is to be set.",
                      Patterns::Anything());
    prm.add_parameter("Generator arguments", generator_arguments,
                      "Its arguments after the triangulation, all of them, separated by colons: 0 : 1 : false.",
                      Patterns::Anything());
    prm.add_parameter(
        "File", file,
        "A mesh file (.msh, .vtk, .ucd, .inp, or one of these with .gz behind it), relative to the folder of "
        "the parameter file.",
        Patterns::Anything());
    prm.add_parameter("Coarse refinements", coarse_refinements,
                      "Refinements that give the coarse mesh: new vertices lie on the domain's manifolds.",
                      Patterns::Integer(0, 20));
    prm.declare_entry("Simplices", "none", Patterns::Selection("none|kuhn|dealii"),
                      "Cut quads and hexes: kuhn into 2 triangles or 6 tetrahedra, dealii into 8 or 24.");
    prm.add_parameter("Scale", scale, "Factor that all coordinates are multiplied by.",
                      Patterns::Double(1e-100, 1e100));
    prm.declare_entry("Rotation", "", Patterns::Anything(),
                      "Axis through the origin and degrees counter-clockwise, such as 'z 30'; in 2D only z.");
    prm.add_parameter("Global refinements", global_refinements, "Refinements of all cells.", Patterns::Integer(0, 20));
    prm.declare_entry("Simplex refinement", "red", Patterns::Selection("red|dealii"),
                      "How simplices are refined globally: red keeps their shapes (Bey), dealii is refine_global(), "
                      "which degrades tetrahedra and is there for comparison.");
    prm.leave_subsection();
    prm.enter_subsection("Boundary ids");
    prm.declare_entry(
        "Rules", "", Patterns::Anything(),
        "'id: predicate' separated by semicolons; predicates are muParser expressions of x, y, z and pi at "
        "the centre of a boundary face of the coarse mesh, the first that is not 0 gives the id.");
    prm.leave_subsection();
  }

  void MeshParameters::parse_parameters(dealii::ParameterHandler &prm)
  {
    const std::string cut    = prm.get({"Mesh"}, "Simplices");
    simplices                = cut == "kuhn" ? Simplices::kuhn : cut == "dealii" ? Simplices::dealii : Simplices::none;
    dealii_refines_simplices = prm.get({"Mesh"}, "Simplex refinement") == "dealii";
    parse_rotation(prm.get({"Mesh"}, "Rotation"), rotation_axis, rotation_angle);
    boundary_rules = parse_rules(prm.get({"Boundary ids"}, "Rules"));
    require(!generator.empty() || !file.empty(), "Neither Mesh/Generator nor Mesh/File is set; set one of them.");
    require(generator.empty() || file.empty(), "Both Mesh/Generator and Mesh/File are set; set one of them.");
    require(!generator.empty() || generator_arguments.empty(),
            "Mesh/Generator arguments are set, but the domain comes from Mesh/File; remove them.");
  }
} // namespace PatchFEM
