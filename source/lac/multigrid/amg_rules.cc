// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/base/exceptions.h>
#include <patchfem/base/quote.h>
#include <patchfem/lac/multigrid/amg_parameters.h>

#include <sstream>

namespace PatchFEM
{
  const std::vector<AMGRuleRow> &amg_rules()
  {
    static const std::vector<AMGRuleRow> table{
        {"mesh distances", "edges longer than Distance factor times the local mesh size are weak"},
        {"chain weights", "nodes of one-dimensional chains of short edges weigh more, so that a few make an aggregate"},
        {"small aggregates", "aggregates of neighbours alone where nodes make a line or a surface"},
        {"tensor metric", "distances are measured in the metric of anisotropic tensors"},
        {"couplings at discontinuities",
         "where coefficients jump, couplings tell strong edges on all levels, not distances"},
        {"factorised inverse", "chebyshev may be a polynomial in a factorised sparse approximate inverse"},
        {"Rayleigh bound",
         "a deflection of slender bodies shows that single precision is too short before there are levels"},
        {"precision by condition", "levels are in double precision where the softest mode is too soft for single"},
        {"partial W-cycle", "levels of thin bodies are visited twice as far as that costs little"},
        {"adapted smoothing",
         "degree and range of chebyshev rise on coarse levels, with aspect ratio and degree of elements"},
        {"quantised matrix",
         "inner residuals of chebyshev on a large finest level in single precision are of 8-bit entries"},
        {"mode-preserving dropping", "prolongators are smoothed along short edges alone, and keep the modes"},
        {"second Lanczos start", "eigenvalues of levels with weak couplings are bounded from two start vectors"},
        {"coarse size by work", "the last level of large systems has up to 1000 unknowns, not 500"},
        {"p-coarsening", "the level below elements of higher degree is that of degree 1"},
        {"decoupled kernel", "null vectors are held where a part of the mesh has become a single node"}};
    return table;
  }

  AMGRules amg_rules_of(const std::string &names)
  {
    AMGRules           result;
    std::istringstream in(names);
    for (std::string name; std::getline(in, name, ',');)
    {
      const std::size_t begin = name.find_first_not_of(' '), end = name.find_last_not_of(' ');
      if (begin == std::string::npos)
        continue;
      name              = name.substr(begin, end - begin + 1);
      bool        found = name == "all";
      std::string known = "all";
      for (std::size_t r = 0; r < result.size(); ++r)
      {
        known += ", " + amg_rules()[r].name;
        if (name != "all" && name != amg_rules()[r].name)
          continue;
        result.set(r);
        found = true;
      }
      require(found, "No rule of multigrid that Solver/AMG/Disabled rules may name is called ", quote(name),
              "; there are: ", known, ".");
    }
    return result;
  }
} // namespace PatchFEM
