// SPDX-License-Identifier: LGPL-2.1-or-later
// A unit cube of unstructured tetrahedra whose opposite faces match, so that 2 x 2 x 2 copies of it have the unknowns of
// P0's example "tet", and more of them any number.
SetFactory("OpenCASCADE");
Box(1) = {0, 0, 0, 1, 1, 1};
MeshSize {:} = 1 / 31.7;
Periodic Surface {2} = {1} Translate {1, 0, 0};
Periodic Surface {4} = {3} Translate {0, 1, 0};
Periodic Surface {6} = {5} Translate {0, 0, 1};
