// SPDX-License-Identifier: LGPL-2.1-or-later
#include "cell_unknowns.h"
#include "free_combinations.h"

#include <patchfem/app/near_null_space.h>
#include <patchfem/base/exceptions.h>

#include <deal.II/dofs/dof_tools.h>
#include <deal.II/grid/grid_tools.h>
#include <deal.II/lac/lapack_full_matrix.h>

#include <boost/pending/disjoint_sets.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <unordered_map>

namespace PatchFEM
{
  using dealii::Point;

  namespace
  {
    using Sets = boost::disjoint_sets_with_storage<>;

    /** Coarse cells that move as one: those that share a face, or with @p one_mode a vertex, which is enough then. */
    template <int dim>
    Sets join_coarse_cells(const dealii::Triangulation<dim> &triangulation, const bool one_mode)
    {
      Sets                                  sets(triangulation.n_cells(0));
      std::unordered_map<unsigned int, int> cell_of_vertex;
      for (const auto &cell : triangulation.cell_iterators_on_level(0))
        if (one_mode)
          for (const unsigned int v : cell->vertex_indices())
            sets.union_set(cell->index(), cell_of_vertex.emplace(cell->vertex_index(v), cell->index()).first->second);
        else
          for (const unsigned int f : cell->face_indices())
            if (!cell->at_boundary(f))
              sets.union_set(cell->index(), cell->neighbor_index(f));
      return sets;
    }

    /** The coarse cell of one cell after another, most of which have the same parent as the one before. */
    template <int dim>
    class CoarseIndex
    {
    public:
      unsigned int operator()(const CellIterator<dim> &cell)
      {
        if (cell->level() == 0)
          return cell->index();
        if (cell->level() != level || cell->parent_index() != parent)
        {
          level                                                       = cell->level();
          parent                                                      = cell->parent_index();
          typename dealii::Triangulation<dim>::cell_iterator ancestor = cell->parent();
          while (ancestor->level() > 0)
            ancestor = ancestor->parent();
          index = ancestor->index();
        }
        return index;
      }

    private:
      int          level = 0, parent = -1; ///< of the last cell, and of its parent
      unsigned int index = 0;              ///< its coarse cell
    };

    /**
     * Connected parts of the mesh, as @p sets of coarse cells tell of this rank and ghost cells of the others. A part is
     * known by the least id of its coarse cells, which ranks hand on from one to the next.
     */
    template <int dim>
    class Parts
    {
    public:
      Parts(const dealii::DoFHandler<dim> &dof_handler, Sets &sets)
      {
        const auto &triangulation = dof_handler.get_triangulation();
        for (const auto &cell : triangulation.cell_iterators_on_level(0))
          ids.push_back(cell->id().get_coarse_cell_id());
        least = ids;
        do
        {
          for (unsigned int c = 0; c < ids.size(); ++c)
            least[sets.find_set(c)] = std::min(least[sets.find_set(c)], least[c]);
          for (unsigned int c = 0; c < ids.size(); ++c)
            least[c] = least[sets.find_set(c)];
        } while (hear_of_ghosts(dof_handler));

        std::set<Id>     here;
        CoarseIndex<dim> coarse_index;
        for (const auto &cell : dof_handler.active_cell_iterators())
          if (cell->is_locally_owned())
            here.insert(least[coarse_index(cell)]);
        std::set<Id> all;
        for (const auto &ids_of_rank : dealii::Utilities::MPI::all_gather(triangulation.get_communicator(),
                                                                          std::vector<Id>(here.begin(), here.end())))
          all.insert(ids_of_rank.begin(), ids_of_rank.end());
        first_ids.assign(all.begin(), all.end());
      }

      unsigned int size() const { return first_ids.size(); }

      /** The part of a coarse cell, numbered as their first cells are; size() of one that is far from this rank. */
      unsigned int operator()(const unsigned int coarse_cell) const
      {
        const auto found = std::lower_bound(first_ids.begin(), first_ids.end(), least[coarse_cell]);
        return found != first_ids.end() && *found == least[coarse_cell] ? found - first_ids.begin() : size();
      }

      /** The centre of the first coarse cell of each part. */
      std::vector<Point<dim>> places(const dealii::Triangulation<dim> &triangulation) const
      {
        std::vector<double> coordinates(size() * dim, std::numeric_limits<double>::lowest());
        for (const auto &cell : triangulation.cell_iterators_on_level(0))
          if (ids[cell->index()] == least[cell->index()] && (*this)(cell->index()) < size())
            for (unsigned int d = 0; d < dim; ++d)
              coordinates[(*this)(cell->index()) * dim + d] = cell->center()[d];
        dealii::Utilities::MPI::max(coordinates, triangulation.get_communicator(), coordinates);
        std::vector<Point<dim>> result(size());
        for (unsigned int i = 0; i < coordinates.size(); ++i)
          result[i / dim][i % dim] = coordinates[i];
        return result;
      }

    private:
      using Id = dealii::types::coarse_cell_id;

      std::vector<Id> ids, least; ///< [coarse cell]
      std::vector<Id> first_ids;  ///< [part], ascending

      /** Whether a rank heard of a lower id. */
      bool hear_of_ghosts(const dealii::DoFHandler<dim> &dof_handler)
      {
        const auto *distributed =
            dynamic_cast<const dealii::parallel::DistributedTriangulationBase<dim> *>(&dof_handler.get_triangulation());
        if (distributed == nullptr) // each rank has all cells
          return false;
        int              lower = 0;
        CoarseIndex<dim> sent, received;
        dealii::GridTools::exchange_cell_data_to_ghosts<Id, dealii::DoFHandler<dim>>(
            dof_handler, [&](const auto &cell) { return least[sent(cell)]; },
            [&](const auto &cell, const Id id) {
              Id &here = least[received(cell)];
              lower    = std::max(lower, int(id < here));
              here     = std::min(id, here);
            });
        return dealii::Utilities::MPI::max(lower, distributed->get_communicator()) != 0;
      }
    };

    /** About which the modes of a part are taken, and the size by which they are scaled, so that they are of order one. */
    template <int dim>
    struct Frame
    {
      Point<dim> centre;
      double     size;
    };

    template <int dim>
    std::vector<Frame<dim>> frames_of(const dealii::Triangulation<dim> &triangulation, const Parts<dim> &parts)
    {
      constexpr double    most = std::numeric_limits<double>::max();
      std::vector<double> lower(parts.size() * dim, most), upper(parts.size() * dim, -most);
      for (const auto &cell : triangulation.cell_iterators_on_level(0))
        if (const unsigned int part = parts(cell->index()); part < parts.size())
          for (const unsigned int v : cell->vertex_indices())
            for (unsigned int d = 0; d < dim; ++d)
            {
              lower[part * dim + d] = std::min(lower[part * dim + d], cell->vertex(v)[d]);
              upper[part * dim + d] = std::max(upper[part * dim + d], cell->vertex(v)[d]);
            }
      dealii::Utilities::MPI::min(lower, triangulation.get_communicator(), lower);
      dealii::Utilities::MPI::max(upper, triangulation.get_communicator(), upper);
      std::vector<Frame<dim>> result(parts.size());
      for (unsigned int part = 0; part < parts.size(); ++part)
      {
        Point<dim> first, last;
        for (unsigned int d = 0; d < dim; ++d)
        {
          first[d] = lower[part * dim + d];
          last[d]  = upper[part * dim + d];
        }
        result[part] = {Point<dim>(0.5 * (first + last)), 0.5 * first.distance(last)};
      }
      return result;
    }

    /** A component of the displacement at a point of a part of the mesh. */
    template <int dim>
    struct Place
    {
      unsigned int part;
      Point<dim>   point;
      unsigned int component;
    };

    /** A motion of a part that is held at small angles alone, @p sine the largest. */
    struct AlmostFree
    {
      unsigned int        part;
      std::vector<double> motion; ///< [mode]
      double              sine;
    };

    /** Conditions on displacements, as conditions on the modes of parts. */
    template <int dim>
    class Conditions
    {
    public:
      Conditions(const Discretisation<dim> &discretisation, const Equation<dim> &equation, const Parts<dim> &parts)
          : communicator(discretisation.communicator), equation(equation),
            frames(frames_of(discretisation.dof_handler->get_triangulation(), parts)),
            n_modes(equation.mode_names().size())
      {}

      std::vector<double> modes_at(const Place<dim> &place) const
      {
        const Frame<dim>   &frame = frames[place.part];
        std::vector<double> values(n_modes);
        for (unsigned int m = 0; m < n_modes; ++m)
          values[m] = equation.mode(m, Point<dim>((place.point - frame.centre) / frame.size), place.component);
        return values;
      }

      /** A sum of displacements times factors vanishes. */
      void add(const std::vector<std::pair<Place<dim>, double>> &sum)
      {
        const Place<dim>                           &first  = sum[0].first;
        double                                      square = 0.;
        bool                                        at_one = true;
        std::map<unsigned int, std::vector<double>> row; // [part][mode]
        for (const auto &term : sum)
          square += term.second * term.second;
        for (const auto &term : sum)
        {
          const std::vector<double> values  = modes_at(term.first);
          std::vector<double>      &of_part = row.emplace(term.first.part, std::vector<double>(n_modes)).first->second;
          for (unsigned int m = 0; m < n_modes; ++m)
            of_part[m] += term.second * values[m] / std::sqrt(square);
          at_one &= term.first.point.distance(first.point) <= 1e-10 * frames[first.part].size;
        }
        for (auto a = row.begin(); a != row.end(); ++a)
          for (auto b = a; b != row.end(); ++b)
            add_product({a->first, b->first}, a->second, b->second, gram);
        if (row.size() > 1 || n_modes == 1)
          return;
        singles.push_back({first, at_one, std::move(row.begin()->second)});
        for (const std::vector<double> &values : displacement(singles.back()))
          add_product({first.part, first.part}, values, values, whole);
      }

      /** Every mode of @p part is held. */
      void hold(const unsigned int part)
      {
        for (unsigned int m = 0; m < n_modes; ++m)
        {
          std::vector<double> unit(n_modes, 0.);
          unit[m] = 1.;
          add_product({part, part}, unit, unit, gram);
          add_product({part, part}, unit, unit, whole);
        }
      }

      /** Of all ranks. */
      Blocks sum() const { return sum_over_ranks(gram, n_modes, communicator); }

      /** Combinations of modes without conditions in a @p sum. */
      std::vector<FreeCombination> free(const Blocks &sum) const
      {
        std::set<unsigned int> held;
        for (const auto &block : sum_over_ranks(whole, n_modes, communicator))
          held.insert(block.first.first);
        return Elimination(sum, frames.size(), n_modes, held).combinations();
      }

      /**
       * The motion c of each part in a @p sum of one block that its conditions hold least: (c . G c) / (c . N c) is
       * smallest, with N as G, but of whole displacements at the points of conditions. It is held by its angle to what
       * they leave free, which is small nowhere unless it is here.
       */
      std::vector<AlmostFree> almost_free(const Blocks &sum, const std::set<unsigned int> &passed_over) const
      {
        std::vector<AlmostFree> result;
        const Blocks            all = sum_over_ranks(whole, n_modes, communicator);
        for (const auto &block : all)
          if (const unsigned int part = block.first.first; passed_over.count(part) == 0)
          {
            dealii::LAPACKFullMatrix<double>    G(n_modes), N(n_modes);
            std::vector<dealii::Vector<double>> vectors(1);
            G = sum.at({part, part});
            N = block.second;
            for (unsigned int m = 0; m < n_modes; ++m)
              N(m, m) += 1e-12 * block.second.trace();
            G.compute_generalized_eigenvalues_symmetric(N, vectors);
            if (G.eigenvalue(0).real() < largest_sine * largest_sine)
              result.push_back({part, std::vector<double>(vectors[0].begin(), vectors[0].end()), 0.});
          }
        for (AlmostFree &candidate : result)
        {
          const auto length = [&](const std::vector<std::vector<double>> &rows) {
            double square = 0.;
            for (const auto &row : rows)
              square += std::pow(std::inner_product(row.begin(), row.end(), candidate.motion.begin(), 0.), 2);
            return std::sqrt(square);
          };
          double largest = 0.;
          for (const Single &single : singles)
            if (single.place.part == candidate.part)
              largest = std::max(largest, length(displacement(single)));
          largest = dealii::Utilities::MPI::max(largest, communicator);
          for (const Single &single : singles)
            if (single.place.part == candidate.part)
              if (const double whole = length(displacement(single)); whole > 0.01 * largest)
                candidate.sine = std::max(candidate.sine, length({single.row}) / whole);
          candidate.sine = dealii::Utilities::MPI::max(candidate.sine, communicator);
        }
        result.erase(std::remove_if(result.begin(), result.end(), [](const auto &c) { return c.sine > largest_sine; }),
                     result.end());
        return result;
      }

      /// Motions that are held at larger angles are held; see find_free_modes().
      static constexpr double largest_sine = 1e-2;

    private:
      /** A condition on one part. */
      struct Single
      {
        Place<dim>          place;
        bool                at_one; ///< it is on the displacement there alone
        std::vector<double> row;
      };

      /** [component][mode] of what a condition has a component of. */
      std::vector<std::vector<double>> displacement(const Single &single) const
      {
        if (!single.at_one)
          return {single.row};
        std::vector<std::vector<double>> result;
        for (unsigned int c = 0; c < equation.n_components(); ++c)
          result.push_back(modes_at({single.place.part, single.place.point, c}));
        return result;
      }

      const MPI_Comm                communicator;
      const Equation<dim>          &equation;
      const std::vector<Frame<dim>> frames;
      const unsigned int            n_modes;
      std::vector<Single>           singles;
      Blocks                        gram, whole;
    };

    /** Decimal digits after which @p x ends; 17 if it does not. */
    int significant_digits(const double x)
    {
      char text[32];
      for (int digits = 1; digits < 17; ++digits)
      {
        std::snprintf(text, sizeof(text), "%.*e", digits - 1, x);
        if (std::abs(std::strtod(text, nullptr) - x) <= 4. * std::numeric_limits<double>::epsilon() * std::abs(x))
          return digits;
      }
      return 17;
    }

    /** The sine by which normals of faces of @p ids may err where points of the mesh have few digits. */
    template <int dim>
    double rounding_of_normals(const dealii::Triangulation<dim>           &triangulation,
                               const std::set<dealii::types::boundary_id> &ids)
    {
      double largest = 0., digits = 0., shortest = std::numeric_limits<double>::max();
      for (const auto &cell : triangulation.cell_iterators_on_level(0))
        for (const auto &face : cell->face_iterators())
          if (face->at_boundary() && ids.count(face->boundary_id()) != 0)
            for (const unsigned int v : face->vertex_indices())
            {
              for (unsigned int d = 0; d < dim; ++d)
              {
                largest = std::max(largest, std::abs(face->vertex(v)[d]));
                digits  = std::max(digits, double(significant_digits(face->vertex(v)[d])));
              }
              for (unsigned int w = 0; w < v; ++w)
                shortest = std::min(shortest, face->vertex(v).distance(face->vertex(w)));
            }
      const MPI_Comm communicator = triangulation.get_communicator();
      largest                     = dealii::Utilities::MPI::max(largest, communicator);
      digits                      = dealii::Utilities::MPI::max(digits, communicator);
      shortest                    = dealii::Utilities::MPI::min(shortest, communicator);
      const double of_points      = 0.5 * std::pow(10., std::floor(std::log10(largest)) + 1. - digits);
      return 4. * of_points / shortest;
    }

    /** The mode that a motion is called by: the largest rotation, unless translations are ten times as large. */
    unsigned int most_of(const std::vector<double> &motion, const unsigned int n_translations)
    {
      const auto smaller  = [](const double a, const double b) { return std::abs(a) < std::abs(b); };
      const auto rotation = std::max_element(motion.begin() + n_translations, motion.end(), smaller);
      const auto all      = std::max_element(motion.begin(), motion.end(), smaller);
      return (std::abs(*rotation) > 0.1 * std::abs(*all) ? rotation : all) - motion.begin();
    }

    /** In the order of x, then y, then z. */
    template <int dim>
    bool before(const Point<dim> &a, const Point<dim> &b)
    {
      return std::lexicographical_compare(a.begin_raw(), a.end_raw(), b.begin_raw(), b.end_raw());
    }

    /** A node at which the parts of a pair meet. */
    template <int dim>
    struct Joint
    {
      Pair       parts;
      Point<dim> point;
    };

    /** The part of each vertex, parts.size() of one that several share; empty where none can turn about one. */
    template <int dim>
    std::vector<unsigned int>
    parts_of_vertices(const dealii::DoFHandler<dim> &dof_handler, const Parts<dim> &parts, const unsigned int n_modes)
    {
      if (parts.size() == 1 || n_modes == 1)
        return {};
      constexpr unsigned int    none = dealii::numbers::invalid_unsigned_int;
      CoarseIndex<dim>          coarse_index;
      std::vector<unsigned int> result(dof_handler.get_triangulation().n_vertices(), none);
      for (const auto &cell : dof_handler.active_cell_iterators())
        if (!cell->is_artificial())
        {
          const unsigned int part = parts(coarse_index(cell));
          for (const unsigned int v : cell->vertex_indices())
          {
            unsigned int &known = result[cell->vertex_index(v)];
            known               = known == none || known == part ? part : parts.size();
          }
        }
      return result;
    }

    /** Adds Dirichlet values, elastic support, reactions, and nodes that parts share, which are returned. */
    template <int dim>
    std::vector<Joint<dim>> collect_conditions(const Discretisation<dim>                  &discretisation,
                                               const Equation<dim>                        &equation,
                                               const dealii::AffineConstraints<double>    &essential_lines,
                                               const std::set<dealii::types::boundary_id> &essential_ids,
                                               const Parts<dim>                           &parts,
                                               Conditions<dim>                            &conditions)
    {
      const dealii::DoFHandler<dim>                                  &dof_handler = *discretisation.dof_handler;
      std::unordered_map<dealii::types::global_dof_index, Place<dim>> places;
      std::vector<Joint<dim>>                                         joints;
      std::set<unsigned int>                                          definite;
      CellUnknowns<dim>                                               unknowns(discretisation);
      CoarseIndex<dim>                                                coarse_index;

      const std::vector<unsigned int> part_of_vertex =
          parts_of_vertices(dof_handler, parts, equation.mode_names().size());
      const auto meets_another = [&](const CellIterator<dim> &cell) {
        if (part_of_vertex.empty())
          return false;
        const auto vertices = cell->vertex_indices();
        return std::any_of(vertices.begin(), vertices.end(),
                           [&](const unsigned int v) { return part_of_vertex[cell->vertex_index(v)] == parts.size(); });
      };

      for (const auto &cell : dof_handler.active_cell_iterators())
      {
        if (cell->is_artificial())
          continue;
        bool visited = meets_another(cell);
        if (!visited && !cell->is_locally_owned())
          continue;
        const unsigned int part = parts(coarse_index(cell));
        if (cell->is_locally_owned() && definite.count(part) == 0 &&
            equation.is_definite_inside(cell->center(), cell->material_id()))
        {
          conditions.hold(part);
          definite.insert(part);
        }
        if (cell->is_locally_owned() && cell->at_boundary()) // which it knows of its neighbours, without its faces
          for (const auto &face : cell->face_iterators())
            if (face->at_boundary())
            {
              visited |= essential_ids.count(face->boundary_id()) != 0;
              for (const unsigned int v : face->vertex_indices())
                if (equation.natural_conditions().robin_coefficient(face->boundary_id(), face->vertex(v)) > 0.)
                  for (unsigned int c = 0; c < equation.n_components(); ++c)
                    conditions.add({{{part, face->vertex(v), c}, 1.}});
            }
        if (visited)
          unknowns.visit(cell, [&](const auto index, const Point<dim> &point, const unsigned int component) {
            const Place<dim>  place{part, point, component};
            const Place<dim> &known = places.emplace(index, place).first->second;
            if (known.part == part)
              return;
            conditions.add({{known, 1.}, {place, -1.}});
            if (component == 0)
              joints.push_back({{known.part, part}, point});
          });
      }

      for (const auto &place : places)
        if (essential_lines.is_constrained(place.first))
        {
          std::vector<std::pair<Place<dim>, double>> sum{{place.second, 1.}};
          for (const auto &entry : *essential_lines.get_constraint_entries(place.first))
            if (const auto master = places.find(entry.first); master != places.end())
              sum.emplace_back(master->second, -entry.second);
          if (sum.size() == essential_lines.get_constraint_entries(place.first)->size() + 1)
            conditions.add(sum);
        }
      return joints;
    }

    /** The first of the parts that each one meets, directly or by others, by the conditions in @p sum. */
    std::vector<unsigned int> bodies_of(const unsigned int n_parts, const Blocks &sum)
    {
      Sets                      sets(n_parts);
      std::vector<unsigned int> first(n_parts), result(n_parts);
      for (const auto &block : sum)
        sets.union_set(block.first.first, block.first.second);
      for (unsigned int part = n_parts; part-- > 0;)
        first[sets.find_set(part)] = part;
      for (unsigned int part = 0; part < n_parts; ++part)
        result[part] = first[sets.find_set(part)];
      return result;
    }

    /** By part, the modes that move it, [locally owned unknown], and its coefficients there. */
    using Moving = std::map<unsigned int, std::vector<std::pair<std::vector<double> *, std::vector<double>>>>;

    template <int dim>
    void fill_modes(const Discretisation<dim> &discretisation,
                    const Parts<dim>          &parts,
                    const Conditions<dim>     &conditions,
                    const Moving              &moving)
    {
      const dealii::DoFHandler<dim> &dof_handler = *discretisation.dof_handler;
      const dealii::IndexSet        &owned       = dof_handler.locally_owned_dofs();
      CellUnknowns<dim>              unknowns(discretisation);
      CoarseIndex<dim>               coarse_index;
      for (const auto &cell : dof_handler.active_cell_iterators())
        if (!cell->is_artificial())
        {
          const unsigned int part = parts(coarse_index(cell));
          const auto         list = moving.find(part);
          if (list == moving.end())
            continue;
          unknowns.visit(cell, [&](const auto index, const Point<dim> &point, const unsigned int component) {
            if (!owned.is_element(index))
              return;
            const std::vector<double> values = conditions.modes_at({part, point, component});
            for (const auto &item : list->second)
              (*item.first)[owned.index_within_set(index)] =
                  std::inner_product(values.begin(), values.end(), item.second.begin(), 0.);
          });
        }
    }

    /** Where @p part meets others, if that is a node or nodes on a line: how it may turn. */
    template <int dim>
    std::string
    place_of_joint(const unsigned int part, const std::vector<Joint<dim>> &joints, const MPI_Comm communicator)
    {
      std::vector<double> own;
      for (const Joint<dim> &joint : joints)
        if (joint.parts.first == part || joint.parts.second == part)
          own.insert(own.end(), joint.point.begin_raw(), joint.point.end_raw());
      std::vector<Point<dim>> points;
      for (const auto &of_rank : dealii::Utilities::MPI::all_gather(communicator, own))
        for (std::size_t i = 0; i < of_rank.size(); i += dim)
        {
          Point<dim> point;
          std::copy_n(&of_rank[i], dim, point.begin_raw());
          points.push_back(point);
        }
      if (points.empty())
        return "";
      const auto farthest = [&](const Point<dim> &from) {
        return *std::max_element(points.begin(), points.end(), [&](const Point<dim> &a, const Point<dim> &b) {
          return a.distance_square(from) < b.distance_square(from);
        });
      };
      const Point<dim> first = farthest(points[0]), last = farthest(first);
      const double     length = first.distance(last);
      for (const Point<dim> &point : points)
        if (first.distance(point) + last.distance(point) > (1. + 1e-6) * length)
          return ""; // not on a line
      return length == 0. ? text_of(", which meets the rest at the node (", first, ") alone")
                          : text_of(", which meets the rest along the line from (", std::min(first, last, before<dim>),
                                    ") to (", std::max(first, last, before<dim>), ") alone");
    }
  } // namespace

  template <int dim>
  std::vector<FreeModes> find_free_modes(const Discretisation<dim>                  &discretisation,
                                         const Equation<dim>                        &equation,
                                         const dealii::AffineConstraints<double>    &essential_lines,
                                         const std::set<dealii::types::boundary_id> &essential_ids)
  {
    const dealii::DoFHandler<dim>    &dof_handler   = *discretisation.dof_handler;
    const dealii::Triangulation<dim> &triangulation = dof_handler.get_triangulation();
    const std::vector<std::string>    mode_names    = equation.mode_names();
    const unsigned int                n_modes       = mode_names.size();

    Sets             sets = join_coarse_cells(triangulation, n_modes == 1);
    const Parts<dim> parts(dof_handler, sets);
    Conditions<dim>  conditions(discretisation, equation, parts);
    const auto joints = collect_conditions(discretisation, equation, essential_lines, essential_ids, parts, conditions);

    const Blocks                       sum  = conditions.sum();
    const std::vector<FreeCombination> free = conditions.free(sum);

    std::vector<FreeModes>        result;
    const std::vector<Point<dim>> places  = parts.places(triangulation);
    const auto                    name_of = [&](const unsigned int part, const bool all) {
      return all ? std::string("mesh") : text_of("part of the mesh around (", places[part], ")");
    };
    if (n_modes > 1)
    {
      std::set<unsigned int> passed_over;
      for (const FreeCombination &combination : free)
        passed_over.insert(combination.part);
      for (const auto &block : sum)
        if (block.first.first != block.first.second)
          passed_over.insert({block.first.first, block.first.second});
      for (const AlmostFree &motion : conditions.almost_free(sum, passed_over))
        result.push_back({name_of(motion.part, parts.size() == 1),
                          mode_names[most_of(motion.motion, dim)],
                          "",
                          {},
                          motion.sine,
                          rounding_of_normals(triangulation, essential_ids)});
    }
    const std::size_t n_almost = result.size();

    const std::vector<unsigned int> bodies = bodies_of(parts.size(), sum);
    const bool   one_body = std::all_of(bodies.begin(), bodies.end(), [](const auto b) { return b == 0; });
    unsigned int last     = 0;
    for (const FreeCombination &combination : free)
    {
      if (result.size() == n_almost || combination.part != last)
      {
        result.push_back({name_of(combination.part, combination.coefficients.size() == parts.size()), "",
                          place_of_joint(combination.part, joints, discretisation.communicator)});
        result.back().body = name_of(bodies[combination.part], one_body);
      }
      last = combination.part;
      result.back().names += (result.back().names.empty() ? "" : ", ") + mode_names[combination.mode];
      result.back().modes.emplace_back(dof_handler.n_locally_owned_dofs(), 0.);
    }
    Moving moving;
    auto   combination = free.begin();
    for (auto motion = result.begin() + n_almost; motion != result.end(); ++motion)
      for (std::vector<double> &mode : motion->modes)
      {
        for (const auto &item : combination->coefficients)
          moving[item.first].emplace_back(&mode, item.second);
        ++combination;
      }
    if (!free.empty())
      fill_modes(discretisation, parts, conditions, moving);
    return result;
  }

  std::string refuse_singular(const std::vector<FreeModes>              &motions,
                              const std::pair<std::string, std::string> &remedies,
                              const bool                                 project)
  {
    const std::string give = "; give " + remedies.first + " that do";
    std::string       caution;
    for (const FreeModes &motion : motions)
    {
      const std::string what = motion.names + " of the " + motion.part + motion.joint;
      if (!motion.modes.empty())
      {
        if (!project)
          throw Error("The problem is singular: no boundary condition holds ", what, give, remedies.second, ".");
        continue;
      }
      if (motion.sine <= motion.rounding)
        throw Error("The problem is singular: nothing holds ", what, " but normals that are off by ", motion.sine,
                    ", which the rounding of the points in the mesh explains", give, ".");
      if (motion.sine <= 1e-3 && caution.empty())
        caution = text_of("nothing holds ", what, " but conditions at an angle of ", motion.sine,
                          " to it, so that its stiffness is some ", motion.sine * motion.sine, " of the body's", give,
                          ", unless this is meant");
    }
    return caution;
  }

#define PATCHFEM_INSTANTIATE(dim)                                                                     \
  template std::vector<FreeModes> find_free_modes(const Discretisation<dim> &, const Equation<dim> &, \
                                                  const dealii::AffineConstraints<double> &,          \
                                                  const std::set<dealii::types::boundary_id> &)
  PATCHFEM_INSTANTIATE(2);
  PATCHFEM_INSTANTIATE(3);
#undef PATCHFEM_INSTANTIATE
} // namespace PatchFEM
