# SPDX-License-Identifier: LGPL-2.1-or-later
# After project(): deal.II's flags ask for debug information, two thirds of the time to compile and link. The last -g counts.
string(APPEND CMAKE_CXX_COMPILE_OBJECT " -g0")
