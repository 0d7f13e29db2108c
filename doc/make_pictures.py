#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Draws the pictures of README.md from the output of two runs; needs pyvista (pip install pyvista).

  ./patchfem run parameter_files/elasticity/wheelset.prm --output output/wheelset
  ./patchfem run parameter_files/laplace/l_shape.prm --output output/l_shape --set "Refinement/Cycles=7"
  python3 doc/make_pictures.py output/wheelset output/l_shape doc/images"""
import pathlib
import sys

import pyvista

BAR = {"vertical": False, "position_x": 0.25, "position_y": 0.03, "width": 0.5, "height": 0.07, "n_labels": 3, "fmt": "%.3g",
       "title_font_size": 22, "label_font_size": 20, "color": "black"}


def last_solution(folder):
    files = sorted(pathlib.Path(folder).glob("solution-*.vtu"), key=lambda path: int(path.stem.split("-")[1]))
    if not files:
        sys.exit(f"there is no solution-*.vtu in {folder}")
    return pyvista.read(files[-1])


def plotter():
    pyvista.global_theme.background = "white"
    pyvista.global_theme.font.family = "arial"
    return pyvista.Plotter(off_screen=True, window_size=(760, 560))


def draw_wheelset(folder, file):
    mesh = last_solution(folder)
    mesh.point_data["von Mises stress [MPa]"] = mesh.point_data["von_mises"] * 1e-6
    displacement = abs(mesh.point_data["displacement"]).max()
    warped = mesh.warp_by_vector("displacement", factor=0.03 * mesh.length / displacement)
    p = plotter()
    stress = mesh.point_data["von Mises stress [MPa]"]
    p.add_mesh(warped.extract_surface(algorithm="dataset_surface"), scalars="von Mises stress [MPa]", cmap="turbo",
               clim=(0, sorted(stress)[int(0.995 * len(stress))]), show_edges=True, edge_color="#505050", line_width=0.3,
               ambient=0.35, scalar_bar_args=BAR)
    p.camera_position = [(2.2, -3.0, 1.3), (0.0, 0.0, -0.14), (0, 0, 1)]
    p.camera.zoom(1.3)
    p.screenshot(file)


def draw_l_shape(folder, file):
    mesh = last_solution(folder)
    p = plotter()
    p.add_mesh(mesh, scalars="solution", cmap="turbo", show_edges=True, edge_color="#404040", line_width=0.5,
               scalar_bar_args=BAR | {"title": "solution"})
    p.camera_position = [(0, -0.2, 5), (0, -0.2, 0), (0, 1, 0)]
    p.enable_parallel_projection()
    p.camera.parallel_scale = 1.3
    p.screenshot(file)


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    images = pathlib.Path(sys.argv[3])
    images.mkdir(parents=True, exist_ok=True)
    draw_wheelset(sys.argv[1], images / "wheelset.png")
    draw_l_shape(sys.argv[2], images / "l_shape.png")
