// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/app/bending_stiffness.h>
#include <patchfem/app/mesh.h>

#include <deal.II/base/mpi.h>
#include <deal.II/base/quadrature_lib.h>
#include <deal.II/hp/fe_values.h>
#include <deal.II/lac/full_matrix.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <numeric>
#include <random>

namespace PatchFEM
{
  using namespace dealii;

  namespace
  {
    /** Faces and cells of a rank that are looked at. */
    constexpr std::size_t sample_size = 1000;

    /** Outward, of unit length. */
    template <int dim, typename Cell>
    Tensor<1, dim> face_normal(const Cell &cell, const unsigned int f)
    {
      const auto     face = cell->face(f);
      Tensor<1, dim> normal;
      if constexpr (dim == 2)
        normal = cross_product_2d(face->vertex(1) - face->vertex(0));
      else if (face->n_vertices() == 4)
        normal = cross_product_3d(face->vertex(3) - face->vertex(0), face->vertex(2) - face->vertex(1));
      else
        normal = cross_product_3d(face->vertex(1) - face->vertex(0), face->vertex(2) - face->vertex(0));
      normal /= normal.norm();
      return normal * (face->center() - cell->center()) < 0. ? -normal : normal;
    }

    template <int dim>
    class BendingStiffness
    {
    public:
      using Cell   = typename DoFHandler<dim>::active_cell_iterator;
      using Moduli = std::function<std::pair<double, double>(const Point<dim> &, types::material_id)>;

      BendingStiffness(const Discretisation<dim> &discretisation,
                       const SolutionVector      &solution,
                       const Moduli              &moduli,
                       const bool                 mean_dilatation)
          : dof_handler(*discretisation.dof_handler), constraints(*discretisation.constraints), solution(solution),
            moduli(moduli), mean_dilatation(mean_dilatation), largest(solution.linfty_norm()),
            simplices(!dof_handler.get_fe(0).reference_cell().is_hyper_cube()), mappings(*discretisation.mapping),
            fe_values(mappings,
                      dof_handler.get_fe_collection(),
                      hp::QCollection<dim>(simplices ? Quadrature<dim>(QGaussSimplex<dim>(1))
                                                     : Quadrature<dim>(QGauss<dim>(3))),
                      update_gradients | update_JxW_values | (simplices ? update_default : update_inverse_jacobians))
      {}

      double share()
      {
        std::vector<std::pair<Cell, unsigned int>> faces;
        for (const auto &cell : dof_handler.active_cell_iterators())
          if (cell->is_locally_owned() && cell->at_boundary() && cell->get_fe().degree == 1)
            for (const unsigned int f : cell->face_indices())
              if (cell->at_boundary(f))
                faces.emplace_back(cell, f);
        const double wasted = sum(faces, [&](const auto &face) { return wasted_behind(face.first, face.second); });
        if (!(wasted > 0.))
          return 0.;
        std::vector<Cell> cells;
        for (const auto &cell : dof_handler.active_cell_iterators())
          if (cell->is_locally_owned())
            cells.push_back(cell);
        return std::min(wasted / sum(cells, [&](const Cell &cell) { return energy(cell); }), 1.);
      }

    private:
      struct Column
      {
        std::vector<Cell>   cells;
        std::vector<double> lengths;
        unsigned int        exit = numbers::invalid_unsigned_int; ///< face of the last cell
      };

      const DoFHandler<dim>           &dof_handler;
      const AffineConstraints<double> &constraints;
      const SolutionVector            &solution;
      const Moduli                    &moduli;
      const bool                       mean_dilatation;
      const double                     largest; ///< displacement
      const bool                       simplices;
      const hp::MappingCollection<dim> mappings; // which fe_values points to
      hp::FEValues<dim>                fe_values;

      /** The sum of @p function over the items of all ranks, estimated from a random sample of many. */
      template <typename Item, typename Function>
      double sum(const std::vector<Item> &items, const Function &function) const
      {
        std::vector<Item> sample;
        std::mt19937      generator;
        std::sample(items.begin(), items.end(), std::back_inserter(sample), sample_size, generator);
        double result = 0.;
        for (const Item &item : sample)
          result += function(item) * items.size() / sample.size();
        return Utilities::MPI::sum(result, dof_handler.get_communicator());
      }

      /** The cells on the way from a boundary face to the opposite one, none if it is far or not on this rank. */
      Column column_behind(Cell cell, const unsigned int face, const Tensor<1, dim> &direction) const
      {
        // Across so many times the length of a cell three of degree 1, or eight simplices, are too stiff by less than a
        // tenth.
        double     far = (simplices ? 8. : 3.5) * cell->face(face)->diameter() / std::sqrt(dim - 1.);
        Point<dim> x   = cell->face(face)->center();
        Column     column;
        for (;;)
        {
          unsigned int exit   = numbers::invalid_unsigned_int;
          double       length = 0., cosine = 0.;
          for (const unsigned int f : cell->face_indices())
          {
            const Tensor<1, dim> normal   = face_normal<dim>(cell, f);
            const double         c        = normal * direction;
            const double         distance = c > 1e-6 ? std::max(0., (cell->face(f)->center() - x) * normal / c) : far;
            if (c > 1e-6 && (exit == numbers::invalid_unsigned_int || distance < length))
              exit = f, length = distance, cosine = c;
          }
          far -= length;
          if (exit == numbers::invalid_unsigned_int || far < 0. || column.cells.size() > 100)
            return {};
          column.cells.push_back(cell);
          column.lengths.push_back(length);
          x += length * direction;
          if (cell->at_boundary(exit))
          {
            column.exit = exit;
            return cosine > 0.7 && cell->face(exit)->boundary_id() != cut_face_id ? column : Column();
          }
          cell = neighbour(cell, exit, x);
          if (cell->is_artificial())
            return {};
        }
      }

      /** Behind @p face of @p cell, where there are several the one nearest to @p x. */
      static Cell neighbour(const Cell &cell, const unsigned int face, const Point<dim> &x)
      {
        if (!cell->neighbor(face)->has_children())
          return cell->neighbor(face);
        const auto   child   = [&](const unsigned int i) { return cell->neighbor_child_on_subface(face, i); };
        unsigned int nearest = 0;
        for (unsigned int i = 1; i < cell->face(face)->n_children(); ++i)
          if (child(i)->center().distance_square(x) < child(nearest)->center().distance_square(x))
            nearest = i;
        return child(nearest);
      }

      /** Half of what is wasted in the column of cells behind a boundary face, as the face at its other end has the rest. */
      double wasted_behind(const Cell &cell, const unsigned int face)
      {
        const Tensor<1, dim> normal = face_normal<dim>(cell, face);
        const Column         column = column_behind(cell, face, -normal);
        double               sum    = 0.;
        if (column.cells.empty())
          return 0.;
        if (!simplices)
        {
          for (unsigned int i = 0; i < column.cells.size(); ++i)
            if (column.cells[i]->get_fe().degree == 1)
              sum += column.lengths[i] * wasted_in_cube(column.cells[i], normal);
        }
        else if (!is_held(cell, face) && !is_held(column.cells.back(), column.exit))
          sum = wasted_in_simplices(column, normal, cell->face(face)->center());
        return 0.5 * cell->face(face)->measure() * sum;
      }

      /** Whether each vertex of the face has a value or hangs on others. */
      bool is_held(const Cell &cell, const unsigned int face) const
      {
        const auto vertices = cell->face(face)->vertex_indices();
        return std::all_of(vertices.begin(), vertices.end(), [&](const unsigned int v) {
          for (unsigned int c = 0; c < dim; ++c)
            if (constraints.is_constrained(cell->face(face)->vertex_dof_index(v, c, cell->active_fe_index())))
              return true;
          return false;
        });
      }

      const FEValues<dim> &reinit(const Cell &cell)
      {
        fe_values.reinit(cell, 0, 0);
        return fe_values.get_present_fe_values();
      }

      std::vector<SymmetricTensor<2, dim>> strains(const FEValues<dim> &values) const
      {
        std::vector<SymmetricTensor<2, dim>> result(values.n_quadrature_points);
        values[FEValuesExtractors::Vector(0)].get_function_symmetric_gradients(solution, result);
        for (SymmetricTensor<2, dim> &strain : result)
          strain /= largest; // since energies are squares
        return result;
      }

      /** lambda tr(a) tr(b) + 2 mu a : b. */
      static double
      product(const std::pair<double, double> &lame, const SymmetricTensor<2, dim> &a, const SymmetricTensor<2, dim> &b)
      {
        return lame.first * trace(a) * trace(b) + 2. * lame.second * (a * b);
      }

      double energy(const Cell &cell)
      {
        auto                                       lame   = moduli(cell->center(), cell->material_id());
        const FEValues<dim>                       &values = reinit(cell);
        const std::vector<SymmetricTensor<2, dim>> strain = strains(values);
        double                                     sum = 0., volume = 0., dilatation = 0.;
        for (const unsigned int q : values.quadrature_point_indices())
        {
          volume += values.JxW(q);
          dilatation += values.JxW(q) * trace(strain[q]);
        }
        if (mean_dilatation)
          sum = 0.5 * std::exchange(lame.first, 0.) * dilatation * dilatation / volume;
        for (const unsigned int q : values.quadrature_point_indices())
          sum += 0.5 * values.JxW(q) * product(lame, strain[q], strain[q]);
        return sum;
      }

      /**
       * Per area: of the energy that bends or shears the column the part that the linear interpolant of the bending
       * u = -z s + n (s.s + c z^2) / 2 has too much, z being the height along n above the middle, s the place along the
       * surface, and c such that the surface is free.
       */
      double wasted_in_simplices(const Column &column, const Tensor<1, dim> &normal, const Point<dim> &surface)
      {
        const unsigned int                   n  = column.cells.size();
        const SymmetricTensor<2, dim>        nn = symmetrize(outer_product(normal, normal));
        std::vector<SymmetricTensor<2, dim>> strain;
        SymmetricTensor<2, dim>              mean;
        const double                         height = std::accumulate(column.lengths.begin(), column.lengths.end(), 0.);
        for (unsigned int i = 0; i < n; ++i)
        {
          strain.push_back(strains(reinit(column.cells[i]))[0]);
          mean += column.lengths[i] / height * strain.back();
        }
        const auto shear = [&](const SymmetricTensor<2, dim> &e) { // n sym (e n - n (n.e n))
          const Tensor<1, dim> traction = e * normal;
          return 2. * symmetrize(outer_product(normal, traction - (traction * normal) * normal));
        };
        const auto along = [&](const SymmetricTensor<2, dim> &e) {
          return e - shear(e) - (normal * (e * normal)) * nn;
        };
        // Loads along the surface strain both sides nearly alike.
        const auto &first = strain.front(), &last = strain.back();
        const bool  bends = along(first - last).norm() > 0.3 * along(first + last).norm();

        double bent = 0., interpolated = 0., exact = 0.;
        for (unsigned int i = 0; i < n; ++i)
        {
          const Cell &cell = column.cells[i];
          const auto  lame = moduli(cell->center(), cell->material_id());
          const auto  e    = bends ? strain[i] - mean + shear(mean) : shear(mean);
          bent += column.lengths[i] * product(lame, e, e);

          const double                        c = (dim - 1) * lame.first / (lame.first + 2. * lame.second);
          std::array<Point<dim>, dim + 1>     x;
          std::array<Tensor<1, dim>, dim + 1> u;
          for (unsigned int v = 0; v <= dim; ++v)
          {
            const Tensor<1, dim> r = cell->vertex(v) - surface + 0.5 * height * normal;
            const double         z = r * normal;
            const Tensor<1, dim> s = r - z * normal;
            x[v]                   = cell->vertex(v);
            u[v]                   = -z * s + 0.5 * (s * s + c * z * z) * normal;
          }
          Tensor<2, dim> edges, differences;
          for (unsigned int v = 0; v < dim; ++v)
          {
            edges[v]       = x[v + 1] - x[0];
            differences[v] = u[v + 1] - u[0];
          }
          const SymmetricTensor<2, dim> linear = symmetrize(invert(edges) * differences);
          const SymmetricTensor<2, dim> at_one = (1. + c) * nn - unit_symmetric_tensor<dim>();
          interpolated += column.lengths[i] * product(lame, linear, linear);
          exact += column.lengths[i] * product(lame, at_one, at_one) * height * height / 12.;
        }
        return 0.5 * bent * std::max(0., 1. - exact / interpolated);
      }

      /** Per volume: sup_c b.c - c.D c / 2 = b.D^-1 b / 2 for c of the modes, b and D their products with the strain. */
      double wasted_in_cube(const Cell &cell, const Tensor<1, dim> &normal)
      {
        auto lame = moduli(cell->center(), cell->material_id());
        if (mean_dilatation)
          lame.first = 0.;
        const FEValues<dim>                       &values = reinit(cell);
        const std::vector<SymmetricTensor<2, dim>> strain = strains(values);
        const auto                                 modes  = mode_strains(cell, values, normal);
        const unsigned int                         n      = modes.size();
        FullMatrix<double>                         D(n, n);
        dealii::Vector<double>                     b(n), c(n);
        double                                     volume = 0.;
        for (const unsigned int q : values.quadrature_point_indices())
        {
          volume += values.JxW(q);
          for (unsigned int i = 0; i < n; ++i)
          {
            b(i) += values.JxW(q) * product(lame, strain[q], modes[i][q]);
            for (unsigned int j = 0; j < n; ++j)
              D(i, j) += values.JxW(q) * product(lame, modes[i][q], modes[j][q]);
          }
        }
        D.gauss_jordan();
        D.vmult(c, b);
        return 0.5 * (b * c) / volume;
      }

      /** Strains of the modes at the quadrature points, [mode][q], with mean 0 so that constant stresses excite none. */
      std::vector<std::vector<SymmetricTensor<2, dim>>>
      mode_strains(const Cell &cell, const FEValues<dim> &values, const Tensor<1, dim> &normal) const
      {
        const Point<dim>                                  middle = cell->reference_cell().template barycenter<dim>();
        std::vector<std::vector<SymmetricTensor<2, dim>>> modes;
        // By its direction and the derivatives of its function by the reference coordinates xi in [-1, 1]^dim.
        const auto add = [&](const Tensor<1, dim> &direction, const auto &derivatives) {
          std::vector<SymmetricTensor<2, dim>> strain;
          SymmetricTensor<2, dim>              mean;
          double                               volume = 0.;
          for (const unsigned int q : values.quadrature_point_indices())
          {
            Tensor<1, dim>       gradient;
            const Tensor<1, dim> by_xi = derivatives(2. * (values.get_quadrature().point(q) - middle));
            for (unsigned int i = 0; i < dim; ++i)
              for (unsigned int d = 0; d < dim; ++d)
                gradient[d] += by_xi[i] * values.inverse_jacobian(q)[i][d];
            strain.push_back(symmetrize(outer_product(direction, gradient)));
            mean += values.JxW(q) * strain.back();
            volume += values.JxW(q);
          }
          for (SymmetricTensor<2, dim> &value : strain)
            value -= mean / volume;
          modes.push_back(strain);
        };
        for (unsigned int i = 0; i < dim; ++i)
          add(normal, [i](const Tensor<1, dim> &xi) {
            Tensor<1, dim> result;
            result[i] = -2. * xi[i];
            return result;
          });
        if constexpr (dim == 3)
          for (unsigned int s = 0; s < dim; ++s)
          {
            const unsigned int a = (s + 1) % 3, b = (s + 2) % 3;
            const auto         axis = [&](const unsigned int i) {
              return cell->face(2 * i + 1)->center() - cell->face(2 * i)->center();
            };
            // Once for the four faces around the bar.
            if (!cell->at_boundary(2 * a) || !cell->at_boundary(2 * a + 1) || !cell->at_boundary(2 * b) ||
                !cell->at_boundary(2 * b + 1) || std::abs(axis(a) * normal) < 0.7 * axis(a).norm())
              continue;
            for (const auto &[first, second] : {std::make_pair(a, b), std::make_pair(b, a)})
              add(axis(s) / axis(s).norm(), [first = first, second = second](const Tensor<1, dim> &xi) {
                Tensor<1, dim> result;
                result[first]  = xi[second] * (1. - 3. * xi[first] * xi[first]);
                result[second] = xi[first] * (1. - xi[first] * xi[first]);
                return result;
              });
          }
        return modes;
      }
    };
  } // namespace

  template <int dim>
  double bending_stiffness_share(
      const Discretisation<dim>                                                              &discretisation,
      const SolutionVector                                                                   &solution,
      const std::function<std::pair<double, double>(const Point<dim> &, types::material_id)> &moduli,
      const bool                                                                              mean_dilatation)
  {
    if (discretisation.dof_handler->get_fe(0).degree > 1 ||
        solution.linfty_norm() == 0.) // of several degrees the lowest
      return 0.;
    return BendingStiffness<dim>(discretisation, solution, moduli, mean_dilatation).share();
  }

#define PATCHFEM_INSTANTIATE(dim)                          \
  template double bending_stiffness_share(                 \
      const Discretisation<dim> &, const SolutionVector &, \
      const std::function<std::pair<double, double>(const Point<dim> &, types::material_id)> &, bool);
  PATCHFEM_INSTANTIATE(2)
  PATCHFEM_INSTANTIATE(3)
#undef PATCHFEM_INSTANTIATE
} // namespace PatchFEM
