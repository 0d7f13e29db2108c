// SPDX-License-Identifier: LGPL-2.1-or-later
// A unit square of unstructured triangles whose opposite sides match, so that 4 x 4 copies of it have the unknowns of P0's
// example "tri", and more of them any number.
lc = 1 / 168.2;
Point(1) = {0, 0, 0, lc};
Point(2) = {1, 0, 0, lc};
Point(3) = {1, 1, 0, lc};
Point(4) = {0, 1, 0, lc};
Line(1) = {1, 2};
Line(2) = {2, 3};
Line(3) = {4, 3};
Line(4) = {1, 4};
Periodic Curve {3} = {1} Translate {0, 1, 0};
Periodic Curve {2} = {4} Translate {1, 0, 0};
Curve Loop(1) = {1, 2, -3, -4};
Plane Surface(1) = {1};
Mesh.Algorithm = 6; // frontal Delaunay
