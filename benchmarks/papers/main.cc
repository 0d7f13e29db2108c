// SPDX-License-Identifier: LGPL-2.1-or-later
// The tables and figures of P0, P1 and P2 (see doc/papers.md) on this machine, on the device where there is one and on
// the host. ./patchfem bench papers makes the meshes and calls this:
//   papers --meshes DIR [--system FILE] [--part P0|P1|P2] [--large] [--shrink N] [--json FILE]
// DIR has triangles.msh and tetrahedra.msh, FILE a system of P1 as Export system writes it.
#include "lab.h"

#include <omp.h>

int main(const int argc, char **argv)
{
  return benchmark::run([&]() {
    benchmark::Options options({{"meshes", "."}, {"system", ""}, {"part", ""}, {"shrink", "1"}}, {"large"});
    options.parse(argc, argv);
    const std::string part = options.get("part");
    PatchFEM::require(part.empty() || part == "P0" || part == "P1" || part == "P2", "--part is P0, P1 or P2.");
    papers::Report report(papers::places().front().backend.device_name(), options.get("json"));
    report.threads   = omp_get_max_threads();
    report.processor = PatchFEM::Backend("host").device_name();
    const papers::Settings settings{options.get("meshes"), options.get("system"), options.flag("large"),
                                    double(options.get_int("shrink"))};
    if (part.empty() || part == "P2")
      papers::reproduce_p2(settings, report);
    if (part.empty() || part == "P1")
      papers::reproduce_p1(settings, report);
    if (part.empty() || part == "P0")
      papers::reproduce_p0(settings, report);
    return report.all_verified() ? 0 : 1;
  });
}
