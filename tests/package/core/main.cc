// SPDX-License-Identifier: LGPL-2.1-or-later
// core_consumer BACKEND: an array there and back again, with installed headers and libraries only.
#include <patchfem/base/array.h>
#include <patchfem/base/commit.h>

#include <iostream>

int main(int argc, char **argv)
{
  try
  {
    const PatchFEM::Backend       backend(argc > 1 ? argv[1] : "auto");
    const std::vector<double>     values{1., 2., 3.};
    const PatchFEM::Array<double> array(backend, values);
    std::cout << "PatchFEM " << PatchFEM::commit() << " on " << backend.name() << std::endl;
    return array.to_vector() == values ? 0 : 1;
  }
  catch (const PatchFEM::Error &error)
  {
    std::cerr << error.what() << std::endl;
    return 1;
  }
}
