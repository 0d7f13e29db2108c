// SPDX-License-Identifier: LGPL-2.1-or-later
#include "app/mesh_geometry.h"
#include "app/mesh_triangulation.h"

#include <patchfem/app/expression.h>
#include <patchfem/app/memory_forecast.h>
#include <patchfem/app/mesh.h>
#include <patchfem/app/process.h>
#include <patchfem/base/exceptions.h>
#include <patchfem/base/one_rank.h>
#include <patchfem/base/quote.h>
#include <patchfem/base/simplex_refinement.h>
#include <patchfem/mpi/mpi_communicator.h>

#include <deal.II/base/function_parser.h>
#include <deal.II/base/utilities.h>
#include <deal.II/distributed/tria.h>
#include <deal.II/grid/grid_generator.h>
#include <deal.II/grid/grid_tools.h>
#include <deal.II/grid/manifold.h>
#include <deal.II/grid/manifold_lib.h>

#include <boost/serialization/map.hpp>
#include <boost/serialization/set.hpp>
#include <boost/serialization/string.hpp>
#include <boost/serialization/vector.hpp>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <sstream>

namespace PatchFEM
{
  using namespace internal;

  namespace
  {
    using namespace dealii;

    /** Cells that a mesh is refined to before it is cut into parts: few make uneven ones. */
    constexpr std::uint64_t cells_per_rank = 32;

    /** `clamp: x < 0; 2: y > 1` to rules; the predicate is what follows the first colon, and may contain others. */
    std::vector<MeshParameters::Rule> parse_rules(const std::string &text)
    {
      std::vector<MeshParameters::Rule> rules;
      for (const std::string &rule : split_outside(text, ';'))
      {
        if (rule.empty())
          continue;
        const auto [key, predicate]        = split_key(rule);
        const std::vector<std::string> ids = split_words(key, "Boundary ids/Rules");
        require(
            ids.size() == 1 && !predicate.empty(), "The rule ", quote(rule),
            " of Boundary ids/Rules is not of the form 'boundary: predicate', with a number or a name, in quotation "
            "marks if it has spaces; write, for example, 'clamp: x < 1e-9; 2: x > 0.999 && y < 1'.");
        rules.emplace_back(ids[0], predicate);
      }
      return rules;
    }

    /**
     * Throws Error if the memory of @p ranks has no room for @p n_cells that are refined @p n_levels times, each into
     * 2^dim, of which each rank has its @p share.
     */
    template <int dim>
    void require_memory(const std::size_t   n_cells,
                        const unsigned int  n_levels,
                        const bool          simplices,
                        const Communicator &ranks,
                        const double        share = 1.)
    {
      require_memory_of_mesh<dim>(std::ldexp(static_cast<double>(n_cells), dim * n_levels), simplices, ranks, share);
    }

    /** What a process has of the cells of @p triangulation, unless each has them all. */
    template <int dim>
    double share_of(const Triangulation<dim> &triangulation)
    {
      const auto *distributed = dynamic_cast<const parallel::DistributedTriangulationBase<dim> *>(&triangulation);
      return distributed == nullptr ? 1. : 1. / Utilities::MPI::n_mpi_processes(distributed->get_communicator());
    }

    /** Those of @p triangulation; a serial one can be made without MPI. */
    template <int dim>
    std::shared_ptr<const Communicator> ranks_of(const Triangulation<dim> &triangulation)
    {
      if (dynamic_cast<const parallel::TriangulationBase<dim> *>(&triangulation) == nullptr)
        return std::make_shared<OneRank>();
      return MPICommunicator::of(triangulation.get_communicator());
    }

    std::string generator_call(const MeshParameters &parameters)
    {
      return "Mesh/Generator = " + printable(parameters.generator) + " with arguments " +
             quote(parameters.generator_arguments);
    }

    template <int dim>
    void generate(Triangulation<dim> &triangulation, const MeshParameters &parameters)
    {
      try
      {
        GridGenerator::generate_from_name_and_arguments(triangulation, parameters.generator,
                                                        parameters.generator_arguments);
      }
      catch (const ExceptionBase &exception)
      {
        throw Error(generator_call(parameters), " gives no mesh in dimension ", dim, ": ", exception_text(exception),
                    ".");
      }
      require(triangulation.n_active_cells() > 0, generator_call(parameters), " gives a mesh without cells.");
    }

    /** The cells of @p refined as coarse cells of @p coarse, with all ids and manifolds. */
    template <int dim>
    void flatten(const Triangulation<dim> &refined, Triangulation<dim> &coarse)
    {
      GridGenerator::flatten_triangulation(refined, coarse);
      // Transfinite manifolds interpolate between the other manifolds of one mesh, which they know by address.
      std::vector<types::manifold_id> transfinite;
      for (const types::manifold_id id : refined.get_manifold_ids())
        if (dynamic_cast<const TransfiniteInterpolationManifold<dim> *>(&refined.get_manifold(id)) != nullptr)
          transfinite.push_back(id);
        else if (id != numbers::flat_manifold_id)
          coarse.set_manifold(id, refined.get_manifold(id));
      for (const types::manifold_id id : transfinite)
      {
        TransfiniteInterpolationManifold<dim> manifold;
        manifold.initialize(coarse);
        coarse.set_manifold(id, manifold);
      }
    }

    bool moves(const MeshParameters &parameters)
    {
      return parameters.scale != 1. || parameters.rotation_angle != 0.;
    }

    /** Scales and rotates a point; two-dimensional ones have third coordinate 0. */
    std::array<double, 3> move(const MeshParameters &parameters, const std::array<double, 3> &x)
    {
      const double          angle = parameters.rotation_angle * numbers::PI / 180.;
      const unsigned int    axis = parameters.rotation_axis - 'x', a = (axis + 1) % 3, b = (axis + 2) % 3;
      std::array<double, 3> result;
      result[axis] = parameters.scale * x[axis];
      result[a]    = parameters.scale * (std::cos(angle) * x[a] - std::sin(angle) * x[b]);
      result[b]    = parameters.scale * (std::sin(angle) * x[a] + std::cos(angle) * x[b]);
      return result;
    }

    /** Gives its id to each face: that of the first rule that holds at its centre, else what it was. */
    template <int dim>
    void apply_rules(MeshLists &lists, const MeshParameters &parameters, MeshFacts &facts)
    {
      std::vector<Point<dim>> centres(lists.n_faces());
      for (std::size_t f = 0; f < centres.size(); ++f)
        std::copy_n(face_centre(lists, f).begin_raw(), dim, centres[f].begin_raw());
      std::vector<bool>                  taken(lists.n_faces(), false);
      std::map<std::string, std::string> rules; // by boundary
      if (!parameters.boundary_rules.empty())
        facts.boundaries.release_groups_of_all();
      for (const MeshParameters::Rule &rule : parameters.boundary_rules)
      {
        const std::string  name = "The rule " + quote(rule.boundary + ": " + rule.predicate) + " of Boundary ids/Rules";
        const std::string  names = FunctionParser<dim>::default_variable_names();
        const unsigned int id    = facts.boundaries.add({facts.boundaries.group_of_rule(rule.boundary)});
        rules.emplace(rule.boundary, name);
        std::size_t n_matches = 0, n_taken = 0;
        try
        {
          const SilentStandardError silence;
          FunctionParser<dim>       predicate;
          predicate.initialize(names, rule.predicate, {{"pi", numbers::PI}});
          for (std::size_t f = 0; f < lists.n_faces(); ++f)
          {
            const double value = predicate.value(centres[f]);
            require(std::isfinite(value), name, " has no value at (", centres[f], ").");
            if (value == 0.)
              continue;
            ++n_taken;
            if (taken[f])
              continue;
            lists.face_ids[f] = id;
            taken[f]          = true;
            ++n_matches;
          }
        }
        catch (const ExceptionBase &exception)
        {
          throw Error(name, " is no expression of ", names, ": ", exception_text(exception), ".");
        }
        require(n_taken > 0, name, " matches none of the ", lists.n_faces(),
                " boundary faces of the coarse mesh; check it, and Coarse refinements if faces are large.");
        require(n_matches > 0, name, " matches only faces that an earlier rule has taken; move it before that one.");
      }
      for (const auto &[word, name] : rules)
      {
        const std::set<unsigned int> ids      = facts.boundaries.find(word, "Boundary ids/Rules", "boundary");
        std::size_t                  n_others = 0;
        for (std::size_t f = 0; f < lists.n_faces(); ++f)
          n_others += ids.count(lists.face_ids[f]) > 0 && !taken[f];
        if (n_others > 0)
          facts.notes.push_back("Caution: " + name + " names a boundary that has " + counted(n_others, "face") +
                                " already; they stay in it, so choose another number or name if they should not.");
      }
    }

    /**
     * The coarse mesh of quads or hexes in @p triangulation, before it is moved. Made there and not copied, because
     * manifolds may know the triangulation that they were made for. Its @p lists follow, positive cells or an error
     * about the generator's arguments.
     */
    template <int dim>
    void make_coarse_hypercubes(Triangulation<dim>   &triangulation,
                                MeshLists            &lists,
                                const MeshParameters &parameters,
                                const Communicator   &ranks)
    {
      const auto make = [&](Triangulation<dim> &coarse) {
        if (parameters.file.empty())
          generate(coarse, parameters);
        else
          create(coarse, lists);
      };
      triangulation.clear();
      if (parameters.coarse_refinements == 0)
        make(triangulation);
      else
      {
        Triangulation<dim> refined(triangulation.get_mesh_smoothing());
        make(refined);
        require_memory<dim>(refined.n_active_cells(), parameters.coarse_refinements, false, ranks);
        refined.refine_global(parameters.coarse_refinements);
        flatten(refined, triangulation);
      }
      lists = to_lists(triangulation);
      require(orient_cells(lists) == 0, generator_call(parameters),
              " gives inverted cells; check the order of its arguments.");
    }

    /** Moves the coarse quads or hexes in @p triangulation, and gives their faces the ids of @p lists and @p curves. */
    template <int dim>
    void finish_coarse(Triangulation<dim>   &triangulation,
                       const MeshParameters &parameters,
                       const MeshLists      &lists,
                       const Curves         &curves)
    {
      if (moves(parameters))
      {
        require(!is_curved(triangulation),
                "Mesh/Scale and Mesh/Rotation cannot move the curved manifolds of Mesh/Generator = ",
                parameters.generator, "; give its arguments their final size, or set Mesh/Simplices.");
        GridTools::transform(
            [&](const Point<dim> &p) {
              const auto x = move(parameters, {{p[0], p[1], dim == 3 ? p[dim - 1] : 0.}});
              Point<dim> result;
              for (unsigned int d = 0; d < dim; ++d)
                result[d] = x[d];
              return result;
            },
            triangulation);
      }
      std::size_t f = 0;
      for (const auto &cell : triangulation.active_cell_iterators())
        for (const auto &face : cell->face_iterators())
          if (face->at_boundary())
            face->set_boundary_id(lists.face_ids[f++]);
      set_manifolds(triangulation, curves);
    }

    /** Quads or hexes. */
    template <int dim>
    void refine(Triangulation<dim>          &triangulation,
                const unsigned int           n_refinements,
                const MeshSummary           &summary,
                const BeforeRefinement<dim> &before_refinement)
    {
      require_memory<dim>(summary.n_coarse_cells, n_refinements, false, *ranks_of(triangulation),
                          share_of(triangulation));
      if (before_refinement)
        before_refinement(triangulation, summary);
      triangulation.refine_global(n_refinements);
    }

    std::string file_name(const MeshParameters &parameters)
    {
      return (std::filesystem::path(parameters.directory) / parameters.file).string();
    }

    template <int dim>
    MeshLists read(const MeshParameters &parameters)
    {
      return read_mesh(file_name(parameters), dim, {parameters.material_data, parameters.join});
    }

    /** The file of @p parameters, read by the first rank of @p triangulation and given to the others. */
    template <int dim>
    MeshLists read_once(const MeshParameters &parameters, const Triangulation<dim> &triangulation)
    {
      const auto ranks = ranks_of(triangulation);
      if (ranks->size() == 1)
        return read<dim>(parameters);
      MeshLists lists;
      ranks->agree_on_errors([&] {
        if (ranks->rank() == 0)
          lists = read<dim>(parameters);
      });
      share(lists, *ranks);
      lists.source = file_name(parameters);
      return lists;
    }

    /** Runs @p function with what deal.II throws in our words. */
    template <typename Function>
    void in_words(const MeshParameters &parameters, const Function &function)
    {
      try
      {
        function();
      }
      catch (const ExceptionBase &exception)
      {
        throw Error("The mesh of ",
                    parameters.file.empty() ? "Mesh/Generator = " + printable(parameters.generator)
                                            : quote_file(file_name(parameters)),
                    " is none that deal.II can use: ", exception_text(exception), ".");
      }
    }

    /**
     * The coarse mesh in @p lists, which hold what the file of @p parameters has if there is one. Quads and hexes are in
     * @p triangulation, too, not yet moved and without the ids of rules. Each of @p ranks makes it.
     */
    template <int dim>
    MeshSummary make_coarse(Triangulation<dim>   &triangulation,
                            MeshLists            &lists,
                            const MeshParameters &parameters,
                            const Communicator   &ranks)
    {
      using Simplices = MeshParameters::Simplices;
      require(dim == 3 || parameters.rotation_angle == 0. || parameters.rotation_axis == 'z', "Mesh/Rotation about ",
              parameters.rotation_axis, " leaves the plane; in two dimensions only z is possible.");
      const bool simplices_in_file = !parameters.file.empty() && is_simplex(lists.kind);
      require(!simplices_in_file || parameters.simplices == Simplices::none, "The mesh file ", quote_file(lists.source),
              " consists of ", plural_name(lists.kind), " already; set Mesh/Simplices = none.");
      MeshSummary summary;
      static_cast<MeshFacts &>(summary) = std::move(lists.facts);
      summary.simplices                 = simplices_in_file || parameters.simplices != Simplices::none;
      require(summary.simplices || !parameters.dealii_refines_simplices,
              "Mesh/Simplex refinement = dealii is for simplices, and the mesh has none; remove it, or set "
              "Mesh/Simplices.");
      require(!summary.simplices ||
                  dynamic_cast<const parallel::distributed::Triangulation<dim> *>(&triangulation) == nullptr,
              "A parallel::distributed::Triangulation holds quadrilaterals and hexahedra alone; use a "
              "parallel::fullydistributed::Triangulation for simplices.");
      if (simplices_in_file)
      {
        choose_shortest_diagonals(lists);
        require_memory<dim>(lists.n_cells(), parameters.coarse_refinements, true, ranks);
        for (unsigned int level = 0; level < parameters.coarse_refinements; ++level)
          PatchFEM::red_refine(lists);
      }
      else if (!summary.simplices)
        make_coarse_hypercubes(triangulation, lists, parameters, ranks);
      else
      {
        Triangulation<dim> coarse, cut;
        make_coarse_hypercubes(coarse, lists, parameters, ranks);
        if (parameters.simplices == Simplices::dealii)
        {
          GridGenerator::convert_hypercube_to_simplex_mesh(coarse, cut);
          lists = to_lists(cut);
          orient_cells(lists);
          choose_shortest_diagonals(lists);
        }
        else
          cut_into_simplices(lists, parameters.dealii_refines_simplices ? MirroredPaths::exchange_last
                                                                        : MirroredPaths::exchange_first_and_third);
      }
      if (moves(parameters))
        for (std::array<double, 3> &x : lists.vertices)
          x = move(parameters, x);
      for (const std::uint32_t id : lists.face_ids) // of a generator, too
        summary.boundaries.add(id);
      apply_rules<dim>(lists, parameters, summary);
      summary.curved         = !summary.simplices && (is_curved(triangulation) || !parameters.manifolds.empty());
      summary.cell_kind      = plural_name(lists.kind);
      summary.n_coarse_cells = lists.n_cells();
      summary.boundaries.restrict_to(std::set<unsigned int>(lists.face_ids.begin(), lists.face_ids.end()));
      summary.materials.restrict_to(std::set<unsigned int>(lists.material_ids.begin(), lists.material_ids.end()));
      require(
          parameters.manifolds.empty() || (parameters.coarse_refinements == 0 && !parameters.dealii_refines_simplices),
          "Mesh/Manifolds are those of the coarse mesh, so that ",
          parameters.dealii_refines_simplices ? "Simplex refinement = dealii" : "Coarse refinements",
          " would not follow them; use Global refinements", parameters.dealii_refines_simplices ? " and red." : ".");
      if (summary.simplices || !is_curved(triangulation))
        summary.polygons =
            find_polygons(lists, summary.boundaries, find_curves(lists, summary.boundaries, parameters.manifolds));
      return summary;
    }

    /** The coarse mesh on the first rank, and what all know of it. */
    template <int dim>
    struct CoarseMesh
    {
      MeshLists   lists;
      MeshSummary summary;

      CoarseMesh(const MeshParameters &parameters, const Communicator &ranks)
      {
        Communicator::Bytes bytes;
        ranks.agree_on_errors([&] {
          if (ranks.rank() != 0)
            return;
          in_words(parameters, [&] {
            if (!parameters.file.empty())
              lists = read<dim>(parameters);
            Triangulation<dim> hypercubes;
            summary = make_coarse(hypercubes, lists, parameters, OneRank());
          });
          bytes = Utilities::pack(summary, false);
        });
        summary = Utilities::unpack<MeshSummary>(ranks.all_gather(bytes)[0], false);
      }
    };

    /** Gives each rank its part of @p coarse, refined @p n_refinements times; the coarse mesh is used up. */
    template <int dim>
    MeshSummary make_parts(parallel::fullydistributed::Triangulation<dim> &triangulation,
                           CoarseMesh<dim>                                &coarse,
                           const MeshParameters                           &parameters,
                           unsigned int                                    n_refinements,
                           const Communicator                             &ranks)
    {
      MeshSummary  &summary = coarse.summary;
      std::uint64_t n_cells = summary.n_coarse_cells;
      require(!coarse.summary.curved,
              "A parallel::fullydistributed::Triangulation has straight cells here, and the manifolds of ",
              parameters.manifolds.empty() ? "Mesh/Generator = " + parameters.generator : "Mesh/Manifolds",
              " are curved; use a parallel::distributed::Triangulation.");
      require(std::ldexp(static_cast<double>(n_cells), dim * n_refinements) < numbers::invalid_unsigned_int,
              "Mesh/Global refinements make more than 4.2e9 cells; refine less.");
      require_memory<dim>(n_cells, n_refinements, summary.simplices, ranks, 1. / ranks.size());
      const bool red = summary.simplices && !parameters.dealii_refines_simplices;
      ranks.agree_on_errors([&] {
        // A part does not have all boundary faces around the edges of its neighbours' cells, which curves would move.
        const bool   whole    = !parameters.manifolds.empty();
        unsigned int n_before = 0;
        for (; n_refinements > 0 && (whole || n_cells < cells_per_rank * ranks.size()); --n_refinements, ++n_before)
          n_cells <<= dim;
        if (ranks.rank() != 0)
          return;
        const Curves curves = find_curves(coarse.lists, summary.boundaries, parameters.manifolds);
        for (unsigned int level = 0; red && level < n_before; ++level)
          PatchFEM::red_refine(coarse.lists, curves);
        if (!red && n_before > 0)
          in_words(parameters, [&] { refine_by_dealii<dim>(coarse.lists, n_before); });
      });
      MeshPart part = distribute(coarse.lists, ranks);
      coarse.lists  = MeshLists();
      TriangulationDescription::Description<dim, dim> description;
      ranks.agree_on_errors([&] {
        for (unsigned int level = 0; red && level < n_refinements; ++level)
          internal::red_refine(part);
        if (red && n_refinements > 0)
          trim(part, ranks.rank());
        description = describe(part, triangulation);
      });
      const auto create = [&](parallel::fullydistributed::Triangulation<dim> &parts) {
        // Ranks wait for each other by MPI in it, where agree_on_errors() could not tell them of an error of one.
        in_words(parameters, [&] { parts.create_triangulation(description); });
        ranks.agree_on_errors([&] { set_boundary_ids(parts, part.lists); });
      };
      const auto refine = [&](RefinableParts<dim> &parts) {
        create(parts);
        ranks.agree_on_errors([&] { in_words(parameters, [&] { parts.refine(n_refinements); }); });
        parts.update_number_cache();
      };
      triangulation.clear();
      if (red || n_refinements == 0)
        create(triangulation);
      else if (auto *parts = dynamic_cast<RefinableParts<dim> *>(&triangulation))
        refine(*parts);
      else
      {
        const MPI_Comm      communicator = triangulation.get_communicator();
        RefinableParts<dim> refined(communicator);
        refine(refined);
        in_words(parameters, [&] {
          triangulation.create_triangulation(
              TriangulationDescription::Utilities::create_description_from_triangulation(refined, communicator));
        });
      }
      summary.n_cells = triangulation.n_global_active_cells();
      return summary;
    }

    /** Gives each rank all of @p coarse, which has no manifolds, in p4est's @p triangulation, and refines it. */
    template <int dim>
    MeshSummary share_coarse(Triangulation<dim>          &triangulation,
                             CoarseMesh<dim>             &coarse,
                             const MeshParameters        &parameters,
                             const BeforeRefinement<dim> &before_refinement,
                             const Communicator          &ranks)
    {
      require_memory<dim>(coarse.summary.n_coarse_cells, 0, false, ranks); // all are on each rank
      share(coarse.lists, ranks);
      in_words(parameters, [&] {
        create_in_order(triangulation, coarse.lists, ranks);
        coarse.lists = MeshLists();
        refine(triangulation, parameters.global_refinements, coarse.summary, before_refinement);
      });
      coarse.summary.n_cells = triangulation.n_global_active_cells();
      return coarse.summary;
    }
  } // namespace

  void MeshParameters::declare_parameters(ParameterHandler &prm)
  {
    prm.enter_subsection("Mesh");
    prm.add_parameter("Generator", generator,
                      "Name of a function of dealii::GridGenerator, such as hyper_cube; exactly one of Generator and "
                      "File is to be set.");
    prm.add_parameter("Generator arguments", generator_arguments,
                      "Its arguments after the triangulation, all of them, separated by colons: 0 : 1 : false.");
    prm.add_parameter("File", file,
                      "A mesh file (.msh, .vtk, .ucd, .inp, or one of these with .gz behind it), relative to the "
                      "folder of the parameter file.");
    prm.add_parameter("Material data", material_data,
                      "Name of the cell data of a .vtk file that are material and boundary ids; empty: MaterialID, "
                      "mat_id, material, attribute, gmsh:physical, CellEntityIds or medit:ref, whichever is there.");
    prm.declare_entry("Join", "", Patterns::Anything(),
                      "Nodes of the file that are at most this far from each other, in the units of the file, become "
                      "one, which joins bodies that touch; 0: those at the same place. Empty: none.");
    prm.add_parameter("Coarse refinements", coarse_refinements,
                      "Refinements that give the coarse mesh: new vertices lie on the domain's manifolds.",
                      Patterns::Integer(0, 20));
    prm.declare_entry("Simplices", "none", Patterns::Selection("none|kuhn|dealii"),
                      "Cut quads and hexes: kuhn into 2 triangles or 6 tetrahedra, dealii into 8 or 24.");
    prm.add_parameter("Scale", scale, "Factor that all coordinates are multiplied by.",
                      Patterns::Double(1e-100, 1e100));
    prm.declare_entry("Rotation", "", Patterns::Anything(),
                      "Axis through the origin and degrees counter-clockwise, such as 'z 30'; in 2D only z.");
    prm.declare_entry(
        "Manifolds", "", Patterns::Anything(),
        "Curves that boundaries lie on, by number or name and separated by semicolons: 'hole: circle 0, 0; "
        "shaft: cylinder 0, 0, 0, 0, 0, 1; ball: sphere 0, 0, 0', with the centre, or a point and the "
        "direction of the axis. Refinement puts new vertices on them.");
    prm.add_parameter("Global refinements", global_refinements, "Refinements of all cells.", Patterns::Integer(0, 20));
    prm.declare_entry("Simplex refinement", "red", Patterns::Selection("red|dealii"),
                      "How simplices are refined globally: red keeps their shapes (Bey), dealii is refine_global(), "
                      "which degrades tetrahedra and is there for comparison.");
    prm.leave_subsection();
    prm.enter_subsection("Boundary ids");
    prm.declare_entry(
        "Rules", "", Patterns::Anything(),
        "'boundary: predicate' separated by semicolons, such as 'clamp: x < 1e-9; 2: y > 1'; a boundary is "
        "a number or a name, in quotation marks if it has spaces. Predicates are muParser expressions of x, "
        "y, z and pi at the centre of a boundary face of the coarse mesh; the first that is not 0 takes it.");
    prm.leave_subsection();
  }

  void MeshParameters::parse_parameters(ParameterHandler &prm)
  {
    const std::string cut    = prm.get({"Mesh"}, "Simplices");
    simplices                = cut == "kuhn" ? Simplices::kuhn : cut == "dealii" ? Simplices::dealii : Simplices::none;
    dealii_refines_simplices = prm.get({"Mesh"}, "Simplex refinement") == "dealii";
    rotation_axis            = 'z';
    rotation_angle           = 0.;
    std::istringstream rotation(prm.get({"Mesh"}, "Rotation"));
    std::string        axis;
    require(!(rotation >> axis) || ((axis == "x" || axis == "y" || axis == "z") && rotation >> rotation_angle &&
                                    (rotation >> std::ws).eof()),
            "Mesh/Rotation = ", quote(rotation.str()),
            " is not an axis x, y or z and an angle in degrees, such as 'z 30'.");
    if (!axis.empty())
      rotation_axis = axis[0];
    boundary_rules = parse_rules(prm.get({"Boundary ids"}, "Rules"));
    join.reset();
    if (const std::string distance = prm.get({"Mesh"}, "Join"); !distance.empty())
      join = constant_value(distance, {}, "Mesh/Join");
    require(!join || *join >= 0., "Mesh/Join = ", prm.get({"Mesh"}, "Join"), " is negative; it is a distance.");
    manifolds = parse_manifolds(prm.get({"Mesh"}, "Manifolds"));
    require(!generator.empty() || !file.empty(), "Neither Mesh/Generator nor Mesh/File is set; set one of them.");
    require(generator.empty() || file.empty(), "Both Mesh/Generator and Mesh/File are set; set one of them.");
    require(!generator.empty() || generator_arguments.empty(),
            "Mesh/Generator arguments are set, but the domain comes from Mesh/File; remove them.");
    require(!file.empty() || (!join && material_data.empty()), "Mesh/", join ? "Join" : "Material data",
            " is set, which is for Mesh/File, and the domain comes from Mesh/Generator; remove it.");
  }

  std::string MeshSummary::text() const
  {
    const auto named = [](const MeshRegions &regions, const char *ids, const char *names) {
      return (regions.has_names() ? names : ids) + (" " + regions.list());
    };
    std::string contact;
    if (n_coinciding > 0)
    {
      std::ostringstream join;
      join.precision(2);
      join << 1.1 * gap;
      contact =
          text_of(n_coinciding, " of ", n_parts > 1 ? "their" : "its",
                  " faces coincide with others without being joined: Mesh/Join = ", join.str(), " joins their nodes");
    }
    if (n_touching > 0)
      contact += text_of(contact.empty() ? "" : "; ", n_touching, " touch others with other nodes, and are not joined");
    return text_of(n_cells, " ", cell_kind, n_parts > 1 ? text_of(" in ", n_parts, " parts") : "",
                   contact.empty() ? "" : " (" + contact + ")", ", ", named(materials, "materials", "materials"), ", ",
                   named(boundaries, "boundary ids", "boundaries"));
  }

  template <int dim>
  MeshSummary make_triangulation(Triangulation<dim>          &triangulation,
                                 const MeshParameters        &parameters,
                                 const unsigned int           additional_refinements,
                                 const BeforeRefinement<dim> &before_refinement)
  {
    const unsigned int n_refinements = parameters.global_refinements + additional_refinements;
    if (auto *parts = dynamic_cast<parallel::fullydistributed::Triangulation<dim> *>(&triangulation))
    {
      require(!before_refinement,
              "A parallel::fullydistributed::Triangulation is refined while it is made, so that nothing "
              "can be done to the coarse mesh before; make it of p4est.");
      const auto      ranks = MPICommunicator::of(parts->get_communicator());
      CoarseMesh<dim> coarse(parameters, *ranks);
      return make_parts(*parts, coarse, parameters, n_refinements, *ranks);
    }
    const auto  ranks = ranks_of(triangulation);
    MeshSummary summary;
    in_words(parameters, [&] {
      MeshLists lists;
      if (!parameters.file.empty())
        lists = read_once(parameters, triangulation);
      summary             = make_coarse(triangulation, lists, parameters, *ranks);
      const Curves curves = find_curves(lists, summary.boundaries, parameters.manifolds);
      if (!summary.simplices)
      {
        finish_coarse(triangulation, parameters, lists, curves);
        refine(triangulation, n_refinements, summary, before_refinement);
      }
      else
      {
        require_memory<dim>(lists.n_cells(), n_refinements, true, *ranks);
        if (!parameters.dealii_refines_simplices)
          for (unsigned int level = 0; level < n_refinements; ++level)
            PatchFEM::red_refine(lists, curves);
        triangulation.clear();
        internal::create(triangulation, lists);
        if (parameters.dealii_refines_simplices)
          triangulation.refine_global(n_refinements);
      }
    });
    summary.n_cells = triangulation.n_global_active_cells();
    return summary;
  }

  template <int dim>
  MeshSummary make_triangulation(std::unique_ptr<Triangulation<dim>> &triangulation,
                                 const MeshParameters                &parameters,
                                 const bool                           of_p4est,
                                 const MPI_Comm                       communicator,
                                 const BeforeRefinement<dim>         &before_refinement)
  {
    triangulation.reset();
    if (Utilities::MPI::n_mpi_processes(communicator) > 1)
    {
      const auto      ranks = MPICommunicator::of(communicator);
      CoarseMesh<dim> coarse(parameters, *ranks);
      if (coarse.summary.simplices || (!of_p4est && !before_refinement && !coarse.summary.curved))
      {
        auto  parts   = std::make_unique<RefinableParts<dim>>(communicator);
        auto &target  = *parts;
        triangulation = std::move(parts);
        return make_parts(target, coarse, parameters, parameters.global_refinements, *ranks);
      }
      triangulation = std::make_unique<parallel::distributed::Triangulation<dim>>(communicator);
      if (!coarse.summary.curved)
        return share_coarse(*triangulation, coarse, parameters, before_refinement, *ranks);
    }
    else
      triangulation = std::make_unique<Triangulation<dim>>();
    return make_triangulation(*triangulation, parameters, 0, before_refinement);
  }

  template <int dim>
  BoundingBox<dim> bounding_box(const Triangulation<dim> &triangulation)
  {
    auto corners = GridTools::compute_bounding_box(triangulation).get_boundary_points();
    for (unsigned int d = 0; d < dim; ++d)
    {
      corners.first[d]  = Utilities::MPI::min(corners.first[d], triangulation.get_communicator());
      corners.second[d] = Utilities::MPI::max(corners.second[d], triangulation.get_communicator());
    }
    return BoundingBox<dim>(corners);
  }

#define PATCHFEM_INSTANTIATE(dim)                                                                                   \
  template MeshSummary      make_triangulation(Triangulation<dim> &, const MeshParameters &, unsigned int,          \
                                               const BeforeRefinement<dim> &);                                      \
  template MeshSummary      make_triangulation(std::unique_ptr<Triangulation<dim>> &, const MeshParameters &, bool, \
                                               MPI_Comm, const BeforeRefinement<dim> &);                            \
  template BoundingBox<dim> bounding_box(const Triangulation<dim> &);
  PATCHFEM_INSTANTIATE(2)
  PATCHFEM_INSTANTIATE(3)
#undef PATCHFEM_INSTANTIATE
} // namespace PatchFEM
