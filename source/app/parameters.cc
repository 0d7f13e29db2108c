// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/app/parameters.h>
#include <patchfem/app/preconditioner_factory.h>
#include <patchfem/app/process.h>
#include <patchfem/assembly/assembly_strategy.h>
#include <patchfem/assembly/element_batches.h>
#include <patchfem/base/exceptions.h>
#include <patchfem/base/quote.h>
#include <patchfem/lac/matrix/matrix_factory.h>

#include <deal.II/base/utilities.h>

#include <boost/algorithm/string/join.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>

namespace PatchFEM
{
  using dealii::ParameterHandler;
  namespace Patterns = dealii::Patterns;

  void GeneralParameters::declare_parameters(ParameterHandler &prm, const bool linear)
  {
    prm.add_parameter("Dimension", dimension, "Space dimension.", Patterns::Integer(2, 3));
    prm.add_parameter("Backend", backend,
                      "Where matrices are assembled and solved: on the GPU (cuda), on the threads of this process "
                      "(host), on a GPU if there is one (auto)" +
                          std::string(linear ? ", which all MPI ranks share" : "") +
                          ", on guarded host memory for tests (emulated_device)" +
                          (linear ? ", or by deal.II and Trilinos (trilinos)." : "."),
                      Patterns::Selection(std::string("auto|host|cuda|emulated_device") + (linear ? "|trilinos" : "")));
    if (linear)
      declare_parameters_of_linear(prm);
    prm.declare_entry("Constants", "", Patterns::Anything(),
                      "Names that formulas may use, such as 'a = 1.5, b = 2*a'; pi is one already.");
  }

  void GeneralParameters::declare_parameters_of_linear(ParameterHandler &prm)
  {
    prm.add_parameter(
        "Precision", precision,
        "Of assembly, matrix, vectors and preconditioner. mixed is double for all but the values that the "
        "preconditioner keeps, and with amg its vectors: these are in single precision, so that less is moved, and the "
        "solution is as accurate as with double. auto is mixed with amg and double with everything else. single halves "
        "the memory of all values, but not every Solver/Tolerance is in its reach, and one that is not is an error: "
        "about 1e-7 is the least for Poisson's equation on a coarse mesh, and slender elastic bodies do not get to "
        "1e-2. Not with Backend = trilinos; a baseline computes in double.",
        Patterns::Selection("auto|double|single|mixed"));
    prm.add_parameter("Baseline", baseline,
                      "Solve every system a second time with deal.II and Trilinos, or deal.II, PETSc and hypre's "
                      "BoomerAMG, and compare times and solutions. deal.II's wrapper of BoomerAMG is a scalar one: it "
                      "does not know which unknowns share a node. umfpack factorises the matrix and refines the "
                      "solution, to the last digits, for some ten thousand unknowns in one process.",
                      Patterns::Selection("none|trilinos_jacobi|trilinos_ml|petsc_boomeramg|umfpack"));
    prm.add_parameter(
        "Export system", export_system,
        "Name of a file in the output folder, which gets the linear system of the last cycle, for other solvers: int64 "
        "n_rows, nnz; int32 block_size, n_near_null; int64 row_offsets; int32 columns; float64 values, rhs, near_null. "
        "It replaces no file but one that an earlier run exported. Empty writes none; not with Backend = trilinos.");
  }

  void GeneralParameters::parse_parameters(ParameterHandler &prm)
  {
    require(export_system.empty() || backend != "trilinos",
            "The entry Export system writes systems of PatchFEM's own back ends; choose Backend = host, cuda or auto.");
    require(precision == "auto" || precision == "double" || backend != "trilinos", "Precision = ", precision,
            " does not exist with Backend = trilinos, which computes in double precision; choose Backend = host, "
            "cuda or auto.");
    constants          = parse_constants(prm.get("Constants"));
    constants_of_loads = constants;
  }

  void FiniteElementParameters::declare_parameters(ParameterHandler &prm)
  {
    prm.enter_subsection("Finite element");
    prm.add_parameter("Degree", degree,
                      "Polynomial degree: 1 to 4 on quadrilaterals and hexahedra, 1 to 2 on triangles and tetrahedra.",
                      Patterns::Integer(1, 4));
    prm.add_parameter("Degrees", degrees,
                      "For an hp space: all degrees that cells may have, such as '1, 2, 3'; only on quadrilaterals and "
                      "hexahedra. Empty: all cells have Degree.",
                      Patterns::List(Patterns::Integer(1, 4), 0, 4));
    prm.add_parameter(
        "Cell degree", cell_degree,
        "With Degrees, the degree of a cell: a formula that is evaluated at its centre ('x^2+y^2 < 0.1 ? 1 : 3'), or "
        "one per material ('1: 3, 2 4: x > 0 ? 1 : 2'); where it says nothing cells have Degree. It holds on the "
        "mesh of every cycle, with Refinement/Strategy hp_adaptive on the first.");
    prm.declare_entry(
        "Mapping degree", "auto", Patterns::Selection("auto|1|2|3"),
        "Polynomial degree of the cells' shape; more than 1 only on quadrilaterals and hexahedra with curved "
        "boundaries. auto: with Mesh/Manifolds the highest degree of cells, at most 3, else 1.");
    prm.add_parameter("Quadrature points", n_quadrature,
                      "Gauss points per direction on cells and faces; 0 stands for a cell's degree + 1.",
                      Patterns::Integer(0, 10));
    prm.leave_subsection();
  }

  void FiniteElementParameters::parse_parameters(ParameterHandler &prm)
  {
    const std::string mapping = prm.get({"Finite element"}, "Mapping degree");
    mapping_degree            = mapping == "auto" ? 0 : mapping[0] - '0';
    std::sort(degrees.begin(), degrees.end());
    const auto twice = std::adjacent_find(degrees.begin(), degrees.end());
    if (twice != degrees.end())
      throw Error("The entry Finite element/Degrees names degree ", *twice, " twice.");
    require(cell_degree.empty() || is_hp(),
            "The entry Finite element/Cell degree chooses among Finite element/Degrees, which is empty; list there all "
            "degrees that cells may have.");
    require(!is_hp() || !cell_degree.empty() || std::binary_search(degrees.begin(), degrees.end(), degree),
            "The entry Finite element/Degree is ", degree,
            ", which is not in the list Finite element/Degrees; correct one of them or give Cell degree.");
  }

  void RefinementParameters::declare_parameters(ParameterHandler &prm)
  {
    prm.enter_subsection("Refinement");
    prm.add_parameter("Cycles", n_cycles, "How often to solve, refining in between.", Patterns::Integer(1, 50));
    prm.declare_entry("Strategy", "global", Patterns::Selection("global|adaptive|hp_adaptive"),
                      "Between cycles refine every cell, or those with the largest error by Kelly's estimate. "
                      "hp_adaptive needs Finite element/Degrees: where the solution is smooth a cell to be refined "
                      "gets the next higher degree instead.");
    prm.add_parameter("Refine fraction", refine_fraction, "Share of the cells that is refined.",
                      Patterns::Double(0., 1.));
    prm.add_parameter("Coarsen fraction", coarsen_fraction, "Share of the cells that is coarsened.",
                      Patterns::Double(0., 1.));
    prm.add_parameter("Smoothness threshold", smoothness_threshold,
                      "With hp_adaptive: the solution is smooth in a cell if its Legendre coefficients decay as exp(-s "
                      "k), k the sum of the orders in all directions, with s above this.",
                      Patterns::Double(0.));
    prm.leave_subsection();
  }

  void RefinementParameters::parse_parameters(ParameterHandler &prm)
  {
    const std::string strategy = prm.get({"Refinement"}, "Strategy");
    hp_adaptive                = strategy == "hp_adaptive";
    adaptive                   = hp_adaptive || strategy == "adaptive";
    require(refine_fraction + coarsen_fraction <= 1.,
            "The entries Refinement/Refine fraction = ", quote(prm.get({"Refinement"}, "Refine fraction")),
            " and Refinement/Coarsen fraction = ", quote(prm.get({"Refinement"}, "Coarsen fraction")),
            " add up to more than 1, which is all cells; lower one of them.");
  }

  void AssemblyParameters::declare_parameters(ParameterHandler &prm)
  {
    prm.enter_subsection("Matrix");
    std::string formats, words;
    for (const FormatRow &row : matrix_formats())
    {
      formats += "|" + row.name;
      words += row.name + ", " + row.words + "; ";
    }
    prm.add_parameter("Format", format,
                      "How the matrix is stored: " + words + "or auto. Matrices are assembled into " +
                          format_names(FormatRow::assembled, 0, "and") + ", those of scalar problems into " +
                          format_names(FormatRow::assembled_scalars, 0, "and") +
                          " as well, and converted to the others, which takes memory for two. auto: whichever of those "
                          "that are often the fastest, with slices of whatever height and columns of 32 or 16 bits, a "
                          "product is expected to be fastest in by the bytes that it moves; others than assembled ones "
                          "only on a GPU with preconditioners that need products alone. Trilinos has rows of its own.",
                      Patterns::Selection("auto" + formats));
    prm.add_parameter("Column indices", column_indices,
                      "Of scalar entries in slices of 32, that is with Format = " +
                          format_names(FormatRow::slices, FormatRow::blocks) + ", or " +
                          format_names(FormatRow::slices | FormatRow::blocks) +
                          " for one unknown a node: 16 bit keeps steps from one column to the next where they fit, "
                          "beside the columns of 32 bits; auto takes what is expected to be faster.",
                      Patterns::Selection("auto|32 bit|16 bit"));
    prm.declare_entry(
        "CSR kernel", "pieces", Patterns::Selection("pieces|scalar|vector"),
        "Of products with Format = " + format_row(formats::csr).name +
            " on a GPU: pieces of equal length, whatever rows they are of, or a thread or a warp for each row.");
    prm.add_parameter("Calibrate", calibrate,
                      "With Format = auto: time a few products in each format on this mesh instead of expecting; rates "
                      "are kept for this device in $XDG_CACHE_HOME/patchfem/format_rates, or in ~/.cache/patchfem.");
    prm.add_parameter("Slice height", slice_height,
                      "With Format = " + format_names(FormatRow::slices) +
                          ": (block) rows in a slice; they are padded to the longest of them.",
                      Patterns::Integer(1, 1024));
    prm.declare_entry(
        "Sorting window", "auto", Patterns::Anything(),
        "Nodes among which rows are sorted by length, so that slices need little padding; 1 sorts none. auto: 256, or "
        "of 16384 nodes or more 1, 64 or 1024 where products are expected to move at least 5 % less so, with Format = "
        "auto, " +
            format_names(FormatRow::sorted) +
            "; the others do not pad, pad alike in every order or sort rows themselves, so that these have 256.");
    prm.add_parameter(
        "Keep constrained entries", keep_constrained_entries,
        "Rows and columns of constrained unknowns stay in the pattern, with zeros, so that entries can be compared "
        "with those of codes that keep them. Costs memory and time; Trilinos never keeps them.");
    prm.leave_subsection();
    prm.enter_subsection("Assembly");
    prm.declare_entry("Strategy", "auto", Patterns::Selection(names_of_strategies()), words_of_strategies());
    prm.add_parameter("Rows per patch", patches.rows_per_patch, "Nodes in a patch; 0 takes as many as fit.",
                      Patterns::Integer(0, 1 << 20));
    prm.add_parameter("Repetitions", n_repetitions,
                      "Further assemblies of the same system, as a time step or Newton step on this mesh would do; "
                      "their median time goes to report.json. Of all back ends.",
                      Patterns::Integer(0));
    prm.leave_subsection();
  }

  void AssemblyParameters::parse_parameters(ParameterHandler &prm)
  {
    using Data                    = ElementBatches::AdditionalData;
    const std::string     &csr    = format_row(formats::csr).name;
    const FormatRow *const row    = format == "auto" ? nullptr : &format_row(format);
    const bool             slices = row != nullptr && row->is(FormatRow::slices);
    const std::string      window = prm.get({"Matrix"}, "Sorting window"), kernel = prm.get({"Matrix"}, "CSR kernel");
    const bool             is_number = !window.empty() && window.size() < 10 &&
                           window.find_first_not_of("0123456789") == std::string::npos && std::stoi(window) > 0;
    require(window == "auto" || is_number, "Matrix/Sorting window is a number of nodes, at least 1, or auto, not ",
            quote(window), ".");
    sorting_window = is_number                                      ? std::stoi(window)
                     : row == nullptr || row->is(FormatRow::sorted) ? Data::best_window
                                                                    : Data().sorting_window;
    csr_kernel = kernel == "scalar" ? CSRKernel::scalar : kernel == "vector" ? CSRKernel::vector : CSRKernel::pieces;
    patches.strategy = prm.get({"Assembly"}, "Strategy");
    require_strategy(patches.strategy);
    require(!calibrate || format == "auto",
            "Matrix/Calibrate chooses among formats and needs Matrix/Format = auto, not ", format, ".");
    require(csr_kernel == CSRKernel::pieces || format == csr, "Matrix/CSR kernel = ", kernel,
            " needs Matrix/Format = ", csr, ", not ", format, ".");
    require(slice_height == 32 || slices, "Matrix/Slice height needs Matrix/Format = ", format_names(FormatRow::slices),
            ", not ", format, ".");
    require(column_indices != "16 bit" || (slices && slice_height == 32),
            "Matrix/Column indices = 16 bit needs Matrix/Format = ", format_names(FormatRow::slices),
            " with slices of 32.");
  }

  MatrixFormat AssemblyParameters::matrix_format() const
  {
    const FormatRow &row    = format_row(format);
    MatrixFormat     result = row.format;
    result.csr_kernel       = csr_kernel;
    result.short_columns    = column_indices == "16 bit";
    if (row.is(FormatRow::slices))
      result.slice_height = slice_height;
    return result;
  }

  void AssemblyParameters::check_solver(const SolverParameters &solver,
                                        const std::string      &precision,
                                        const bool              vector_valued) const
  {
    if (format == "auto")
      return;
    const FormatRow   &row            = format_row(format);
    const std::string  proposed       = format_names(FormatRow::assembled | FormatRow::rows | FormatRow::copy);
    const std::string &preconditioner = solver.preconditioner;
    const std::string  asked          = "Solver/Preconditioner = " + preconditioner;
    const std::string  given          = "Matrix/Format = " + format;
    require(!vector_valued || column_indices != "16 bit" || !row.is(FormatRow::blocks),
            "Matrix/Column indices = 16 bit is for scalar entries, but ", given,
            " has blocks of a node's unknowns here; choose ", format_names(FormatRow::slices, FormatRow::blocks), ".");
    using Row         = PreconditionerRow;
    const auto chosen = [&](const Row::Trait trait) {
      return preconditioner != "auto" && preconditioner_row(preconditioner).is(trait);
    };
    require(!chosen(Row::rows) || row.is(FormatRow::rows), asked, " works on the rows of a matrix, which ", given,
            " does not have; choose ", proposed, ".");
    require(!vector_valued || !chosen(Row::blocks) || row.is(FormatRow::blocks), asked,
            " works on the blocks of a node's unknowns, which ", given, " does not keep; choose ", proposed, ".");
    require(precision != "mixed" || !chosen(Row::copy) || row.is(FormatRow::copy),
            "Precision = mixed needs a copy of the matrix in single precision, which there is not of ", given,
            "; choose double, or ", proposed, ".");
  }

  void OutputParameters::declare_parameters(ParameterHandler &prm, const bool linear)
  {
    prm.enter_subsection("Output");
    prm.add_parameter("Folder", folder,
                      "Where results go; empty stands for output/NAME with the parameter file's name. --output wins.");
    prm.add_parameter("Pictures", pictures, "Of which cycles or steps to write the solution as VTU.",
                      Patterns::Selection("none|last|all"));
    if (linear)
      prm.add_parameter("Aggregates", aggregates,
                        "With Solver/Preconditioner = amg, pictures show the aggregate and the patch of every level "
                        "that a node is in, -1 where it is in none.");
    prm.leave_subsection();
  }

  void ProblemParameters::declare_parameters(ParameterHandler &prm)
  {
    finite_element.declare_parameters(prm);
    refinement.declare_parameters(prm);
    results.declare_parameters(prm);
    prm.enter_subsection("Exact solution");
    prm.add_parameter("Formula", exact_solution,
                      "If known, the exact solution, components separated by semicolons, for tables of errors.");
    prm.leave_subsection();
    output.declare_parameters(prm);
    solver.declare_parameters(prm);
    assembly.declare_parameters(prm);
  }

  void ProblemParameters::parse_parameters(ParameterHandler &prm, const bool vector_valued)
  {
    general.parse_parameters(prm);
    mesh.parse_parameters(prm);
    finite_element.parse_parameters(prm);
    refinement.parse_parameters(prm);
    solver.parse_parameters(prm);
    assembly.parse_parameters(prm);
    if (general.backend != "trilinos")
      assembly.check_solver(solver, general.precision, vector_valued);
    require(!refinement.hp_adaptive || finite_element.degrees.size() > 1,
            "Refinement/Strategy hp_adaptive needs several Finite element/Degrees to choose from; give a list such as "
            "'1, 2, 3'.");
    require(!refinement.hp_adaptive || essential.periodic.empty(),
            "Refinement/Strategy hp_adaptive is not supported with Boundary conditions/Periodic, which needs equal "
            "degrees on both sides; use adaptive.");
  }

  CommandLine::CommandLine(const int argc, char **argv)
  {
    for (int i = 1; i < argc; ++i)
    {
      const std::string                          argument = argv[i];
      const std::map<std::string, std::string *> values   = {
            {"--set", nullptr}, {"--output", &output_folder}, {"--ranks", &ranks}, {"--variants", &variants_file}};
      if (const auto option = values.find(argument); option != values.end())
      {
        require(i + 1 < argc, "The option ", argument, " wants a value after it.");
        const std::string value = argv[++i];
        if (option->second != nullptr)
        {
          *option->second = value;
          continue;
        }
        const std::size_t equals = value.find('=');
        require(equals != std::string::npos && equals > 0,
                "The option --set wants 'Section/Entry=value', but was given ", quote(value), ".");
        settings.emplace_back(dealii::Utilities::trim(value.substr(0, equals)),
                              dealii::Utilities::trim(value.substr(equals + 1)));
      }
      else if (argument == "--verbose")
        verbose = true;
      else if (!argument.empty() && argument[0] == '-')
        throw Error(
            "The option ", quote(argument),
            " is not known; there are --set \"Section/Entry=value\", --output DIR, --variants FILE, --ranks N and "
            "--verbose.");
      else
      {
        require(parameter_file.empty(), "Two parameter files were given, ", quote_file(parameter_file), " and ",
                quote_file(argument), "; a run reads one.");
        parameter_file = argument;
      }
    }
    require(!parameter_file.empty(), "No parameter file was given.");
    static const std::regex number("[1-9][0-9]{0,5}");
    require(ranks.empty() || ranks == "auto" || std::regex_match(ranks, number),
            "The option --ranks wants a number of processes, or auto, not ", quote(ranks), ".");
  }

  std::string CommandLine::usage(const std::string &program)
  {
    return "Usage: " + program +
           " FILE.prm [--set \"Section/Entry=value\"]... [--output DIR] [--variants FILE] [--ranks N | auto] "
           "[--verbose]\n       " +
           program + " --help [SECTION]   lists all parameters, or those of a section such as Solver/AMG\n       " +
           program + " --version\n";
  }

  namespace
  {
    /**
     * Adds @p file and what it includes to @p files. Throws Error if one cannot be opened, starts with a byte order
     * mark, which would be taken for a part of the first word, or includes one of @p includers, the first of which is
     * the outermost: deal.II would follow without end.
     */
    void
    find_parameter_files(const std::string &file, std::vector<std::string> includers, std::vector<std::string> &files)
    {
      const std::string shown = printable(file, 400);
      const std::string name  = includers.empty() ? "The parameter file " + shown
                                                  : "The file " + shown + ", which " + includers.back() + " includes,";
      std::error_code   failure;
      for (const std::string &includer : includers)
        if (std::filesystem::equivalent(file, includer, failure))
          throw Error("The parameter file ", file, " includes itself",
                      includer == includers.back() ? "" : " by way of " + includers.back(),
                      "; take the include out of ", includers.back(), ".");
      require(!std::filesystem::is_directory(file, failure), name, " is a folder.");
      std::ifstream in(file);
      require(in.good(), name, " cannot be opened.");
      files.push_back(file);
      includers.push_back(file);
      bool first = true;
      for (std::string line; std::getline(in, line); first = false)
      {
        const std::string start = line.substr(0, 3);
        require(!first ||
                    (start != "\xef\xbb\xbf" && start.substr(0, 2) != "\xff\xfe" && start.substr(0, 2) != "\xfe\xff"),
                name, " starts with a byte order mark; save it as UTF-8 without one, or as plain text.");
        for (std::string rest; !line.empty() && line.back() == '\\' && std::getline(in, rest);)
          line.replace(line.size() - 1, 1, rest);
        std::replace(line.begin(), line.end(), '\t', ' ');
        line = dealii::Utilities::trim(line.substr(0, line.find('#')));
        if (line.rfind("include ", 0) == 0 || line.rfind("INCLUDE ", 0) == 0)
          find_parameter_files(dealii::Utilities::trim(line.substr(8)), includers, files);
      }
    }

    std::vector<std::string> find_parameter_files(const std::string &file)
    {
      require(file.size() > 4 && file.substr(file.size() - 4) == ".prm", "The parameter file ", printable(file, 400),
              " must have a name that ends in .prm.");
      std::vector<std::string> files;
      find_parameter_files(file, {}, files);
      return files;
    }

    /** What deal.II says about a parameter file. */
    std::string mistake_in_file(const std::string &file, const dealii::ExceptionBase &exception)
    {
      // The file may be one that is included. Of a section that is unknown its bracket is not closed.
      static const std::regex place("Line <(\\d+)> of file <([^>]*?)>?: (.*)"),
          value("The entry value ?(.*) for the entry named (.*) does not match the given pattern: (.*)"),
          entry("No entry with name <(.*)> was declared in the current subsection"),
          section("(?:There is no such subsection to be entered: (.*)|You are trying to enter a subsection '(.*)', but "
                  ".*)");
      const std::string text = exception_text(exception);
      std::smatch       m;
      if (!std::regex_match(text, m, place))
        return "The parameter file " + printable(file, 400) + " has a mistake: " + text + ".";
      const std::string where = "Line " + m.str(1) + " of the parameter file " + m.str(2), what = m[3];
      if (std::regex_match(what, m, value))
        return where + " gives " + printable(m.str(2)) + " the value " + quote(m.str(1)) +
               ", which is not legal there; it must be " + m.str(3) + ".";
      if (std::regex_match(what, m, entry))
        return where + " sets " + printable(m.str(1)) + ", which is not a parameter there; --help lists all.";
      if (std::regex_match(what, m, section))
        return where + " opens the section " + printable(m.str(1) + m.str(2)) +
               ", which there is not; --help lists all.";
      return where + " has a mistake: " + what + ".";
    }
  } // namespace

  std::string text_of_parameters(const CommandLine &command_line)
  {
    std::string text;
    try
    {
      for (const std::string &file : find_parameter_files(command_line.parameter_file))
      {
        std::ifstream in(file);
        text.append(std::istreambuf_iterator<char>(in), {}) += '\0';
      }
    }
    catch (const Error &error)
    {
      text += error.what();
    }
    for (const auto &[entry, value] : command_line.settings)
      text += '\0' + entry + '=' + value;
    std::ifstream variants(command_line.variants_file);
    text.append(std::istreambuf_iterator<char>(variants), {});
    return text + '\0' + command_line.output_folder;
  }

  std::vector<std::string> read_parameters(const CommandLine &command_line, ParameterHandler &prm)
  {
    const std::string             &file  = command_line.parameter_file;
    const std::vector<std::string> files = find_parameter_files(file);
    try
    {
      prm.parse_input(file);
    }
    catch (const dealii::ExceptionBase &exception)
    {
      throw Error(mistake_in_file(file, exception));
    }

    set_entries(command_line.settings, prm, "The option --set");
    return files;
  }

  Settings set_entries(const Settings &settings, ParameterHandler &prm, const std::string &who)
  {
    Settings before;
    for (const auto &setting : settings)
    {
      std::vector<std::string> path = dealii::Utilities::split_string_list(setting.first, '/');
      require(!path.empty(), who, " wants an entry's name in front of '='.");
      const std::string entry = path.back();
      path.pop_back();
      for (const std::string &section : path)
        prm.enter_subsection(section);
      try
      {
        before.emplace(before.begin(), setting.first, prm.get(entry));
        prm.set(entry, setting.second);
      }
      catch (const ParameterHandler::ExcEntryUndeclared &)
      {
        throw Error(who, " names ", printable(setting.first), ", which is not a parameter; --help lists all.");
      }
      catch (const dealii::ExceptionBase &exception)
      {
        // "The string <...> does not match the given pattern <...>"
        const std::string text = exception_text(exception), before = "the given pattern <";
        const std::size_t begin = text.rfind(before);
        std::string       legal;
        if (begin != std::string::npos && text.back() == '>')
          legal = "; it must be " + text.substr(begin + before.size(), text.size() - begin - before.size() - 1);
        throw Error(who, " gives ", printable(setting.first), " the value ", quote(setting.second),
                    ", which is not legal there", legal, ".");
      }
      for (std::size_t i = 0; i < path.size(); ++i)
        prm.leave_subsection();
    }
    return before;
  }

  std::vector<Variant> read_variants(const std::string &file)
  {
    using dealii::Utilities::trim;
    std::ifstream in(file);
    require(in.good() && !std::filesystem::is_directory(file), "The file ", quote_file(file),
            ", which --variants names, cannot be opened.");
    const auto may_vary = [](const std::string &entry) {
      for (const char *section : {"Solver/", "Matrix/", "Assembly/"})
        if (entry.rfind(section, 0) == 0)
          return entry != "Solver/Null space";
      return entry == "Backend" || entry == "Precision";
    };
    std::vector<Variant> result;
    std::string          line;
    for (int number = 1; std::getline(in, line); ++number)
    {
      line = trim(line.substr(0, line.find('#')));
      if (line.empty())
        continue;
      const std::size_t colon = std::min(line.find(':'), line.size());
      Variant variant{trim(line.substr(0, colon)), "Line " + std::to_string(number) + " of " + quote_file(file), {}};
      for (const std::string &item : dealii::Utilities::split_string_list(line.substr(colon).erase(0, 1), ';'))
      {
        const std::size_t equals = std::min(item.find('='), item.size());
        const std::string entry =
            boost::algorithm::join(dealii::Utilities::split_string_list(item.substr(0, equals), '/'), "/");
        require(equals < item.size(), variant.place, " has ", quote(item), " where 'Section/Entry = value' is wanted.");
        require(may_vary(entry), variant.place, " sets ", printable(entry),
                ", which all variants share; they may set Backend, Precision and entries of Solver, Matrix and "
                "Assembly, but for Solver/Null space.");
        variant.settings.emplace_back(entry, trim(item.substr(equals + 1)));
      }
      require(!variant.name.empty() && !variant.settings.empty(), variant.place,
              " is no variant; write 'NAME: Section/Entry = value; ...', not ", quote(line), ".");
      for (const Variant &other : result)
        require(other.name != variant.name, variant.place, " has the name ", quote(variant.name),
                ", which another line has; each variant needs its own.");
      result.push_back(variant);
    }
    require(!result.empty(), "The file ", quote_file(file),
            ", which --variants names, has none; write lines 'NAME: Section/Entry = value; ...'.");
    return result;
  }

  std::string find_output_folder(const CommandLine &command_line)
  {
    if (!command_line.output_folder.empty())
      return command_line.output_folder;
    ParameterHandler prm;
    prm.enter_subsection("Output");
    prm.declare_entry("Folder", "", Patterns::Anything());
    prm.leave_subsection();
    try
    {
      find_parameter_files(command_line.parameter_file);
      prm.parse_input(command_line.parameter_file, "", true);
    }
    catch (const std::exception &)
    {
      return ""; // read_parameters() says why
    }
    std::string folder = prm.get({"Output"}, "Folder");
    for (const auto &setting : command_line.settings)
      if (dealii::Utilities::split_string_list(setting.first, '/') == std::vector<std::string>{"Output", "Folder"})
        folder = setting.second;
    if (folder.empty())
      folder = (std::filesystem::path("output") / std::filesystem::path(command_line.parameter_file).stem()).string();
    return folder;
  }
} // namespace PatchFEM
