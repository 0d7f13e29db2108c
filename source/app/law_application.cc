// SPDX-License-Identifier: LGPL-2.1-or-later
#include "app/launch.h"
#include "app/transient_problem.h"

#include <patchfem/base/quote.h>

#include <algorithm>
#include <cctype>

namespace PatchFEM
{
  using dealii::ParameterHandler;
  namespace Patterns = dealii::Patterns;

  void StepParameters::declare_parameters(ParameterHandler &prm)
  {
    prm.enter_subsection("Steps");
    prm.declare_entry(
        "Variable", "load factor", Patterns::Selection("load factor|time"),
        "What steps go along, t in formulas. load factor: loads and boundary values that mention neither t nor an "
        "amplitude grow in proportion to it, from 0 to what is written at the end. time: they are there from the first "
        "step on.");
    prm.add_parameter("End", end, "Where steps end; they begin at 0.", Patterns::Double(0.));
    prm.add_parameter("First", first, "Size of the first step; 0 stands for a tenth of End.", Patterns::Double(0.));
    prm.add_parameter("Largest", largest,
                      "Steps after easy ones grow up to this size; 0: up to the first, so that steps are equal unless "
                      "one fails.",
                      Patterns::Double(0.));
    prm.add_parameter("Least", least, "Steps are not cut back to less than this size.", Patterns::Double(0.));
    prm.add_parameter("Cut backs", max_cut_backs,
                      "How often a step that fails is tried again with a quarter of its size.",
                      Patterns::Integer(0, 50));
    prm.leave_subsection();
    prm.enter_subsection("Loads");
    prm.declare_entry("Amplitudes", "", Patterns::Anything(),
                      "Functions of t for the formulas of loads and boundary values, by name, with times and values "
                      "between which they are linear: 'pull: 0 0, 1 1, 3 -1; dead: 0 1'. Steps meet all times.");
    prm.leave_subsection();
  }

  void StepParameters::parse_parameters(ParameterHandler &prm, GeneralParameters &general)
  {
    of_load = prm.get({"Steps"}, "Variable") == "load factor";
    require(end > 0., "The entry Steps/End must be above 0.");
    make_control(); // throws for sizes that do not fit
    amplitudes                            = Amplitudes(prm.get({"Loads"}, "Amplitudes"), "Loads/Amplitudes");
    general.constants_of_loads            = general.constants;
    general.constants_of_loads.clock      = std::make_shared<Clock>();
    general.constants_of_loads.amplitudes = amplitudes.formulas();
    require(general.constants.count("t") == 0,
            "The entry Constants cannot define 't', which is the variable of steps; choose another name.");
    for (const auto &amplitude : general.constants_of_loads.amplitudes)
    {
      const std::string &name = amplitude.first;
      const bool         is_word =
          std::all_of(name.begin(), name.end(), [](const unsigned char c) { return std::isalnum(c) || c == '_'; });
      require(is_word && !std::isdigit(static_cast<unsigned char>(name[0])) && name != "x" && name != "y" &&
                  name != "z" && name != "t" && general.constants.count(name) == 0,
              "The entry Loads/Amplitudes cannot define ", quote(name),
              "; choose a name of letters, digits and _ that is no coordinate and not in Constants.");
    }
  }

  StepControl StepParameters::make_control() const
  {
    StepControl::AdditionalData data;
    data.first         = first > 0. ? first : 0.1 * end;
    data.largest       = largest;
    data.least         = least;
    data.max_cut_backs = max_cut_backs;
    return StepControl(data);
  }

  void LawApplication::declare_parameters(ParameterHandler &prm)
  {
    parameters.general.declare_parameters(prm, false);
    parameters.mesh.declare_parameters(prm);
    parameters.essential.declare_parameters(prm, vector_valued());
    declare_physics(prm);
    steps.declare_parameters(prm);
    parameters.finite_element.declare_parameters(prm);
    parameters.results.declare_parameters(prm, false);
    parameters.output.declare_parameters(prm, false);
    prm.enter_subsection("Newton");
    newton.add_parameters(prm);
    prm.leave_subsection();
  }

  ParametersInUse LawApplication::parse_parameters(ParameterHandler &prm)
  {
    parameters.general.parse_parameters(prm);
    parameters.mesh.parse_parameters(prm);
    parameters.finite_element.parse_parameters(prm);
    steps.parse_parameters(prm, parameters.general);
    return {parameters.output, {}, "", parameters.mesh.file};
  }

  double LawApplication::n_cells_on_ranks(const std::string &directory)
  {
    if (parameters.general.backend != "host") // ranks would share a device
      return 0.;
    parameters.mesh.directory = directory;
    return internal::estimate_n_cells(parameters.mesh, parameters.general.dimension, 0);
  }

  void LawApplication::run(const std::string &directory, RunReport &report, const MPI_Comm communicator)
  {
    parameters.mesh.directory = directory;
    if (parameters.general.dimension == 2)
      run_transient_problem({parameters, steps, newton}, *make_physics_2d(), report, communicator);
    else
      run_transient_problem({parameters, steps, newton}, *make_physics_3d(), report, communicator);
  }
} // namespace PatchFEM
