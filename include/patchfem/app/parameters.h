// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/app/boundary_conditions.h>
#include <patchfem/app/mesh.h>
#include <patchfem/app/results.h>
#include <patchfem/assembly/patches.h>
#include <patchfem/lac/graph/aggregation.h>
#include <patchfem/lac/matrix/format_model.h>
#include <patchfem/lac/multigrid/amg_parameters.h>
#include <patchfem/lac/precondition/precondition_ic.h>
#include <patchfem/lac/precondition/precondition_polynomial.h>
#include <patchfem/lac/precondition/precondition_ssor.h>
#include <patchfem/lac/solver/conjugate_gradients.h>

#include <deal.II/base/parameter_handler.h>

#include <functional>
#include <string>
#include <vector>

/**
 * @file
 * What the applications read from a parameter file, one struct per topic. Each declares its entries with a pattern and
 * a sentence; their defaults are what it holds, and it is to live as long as the ParameterHandler, which writes to it
 * what it reads. Then parse_parameters() checks that, and translates what has a type of its own; nothing here depends
 * on the dimension, so that a file is read once and the dimension is one of its entries.
 */
namespace PatchFEM
{
  /** The entries at the top of a file. */
  struct GeneralParameters
  {
    int         dimension = 2;
    std::string backend   = "auto";
    std::string precision = "auto"; ///< auto, double, single or mixed
    std::string baseline  = "none";
    std::string export_system;               ///< name of a file in the folder of results, empty for none
    Constants constants, constants_of_loads; ///< the latter for formulas that may mention the time where others may not

    /** Without entries of linear systems unless @p linear. */
    void declare_parameters(dealii::ParameterHandler &prm, bool linear = true);
    void parse_parameters(dealii::ParameterHandler &prm);

    /** `export_system` with the folder of results. */
    std::string export_file(const std::string &folder) const { return folder + "/" + export_system; }

  private:
    void declare_parameters_of_linear(dealii::ParameterHandler &prm);
  };

  /** Section `Finite element`. */
  struct FiniteElementParameters
  {
    unsigned int              degree = 1;
    std::vector<unsigned int> degrees;            ///< of an hp space, ascending; empty: all cells have `degree`
    std::string               cell_degree;        ///< formulas, empty: `degree`
    unsigned int              mapping_degree = 0; ///< 0: auto
    unsigned int              n_quadrature   = 0; ///< Gauss points per direction; 0 stands for a cell's degree + 1

    void declare_parameters(dealii::ParameterHandler &prm);
    void parse_parameters(dealii::ParameterHandler &prm);

    bool is_hp() const { return !degrees.empty(); }

    /** Degrees that cells may have: `degrees`, or `degree` alone. */
    std::vector<unsigned int> legal_degrees() const { return is_hp() ? degrees : std::vector<unsigned int>{degree}; }
  };

  /** Section `Refinement`: what happens between the cycles of a run. */
  struct RefinementParameters
  {
    unsigned int n_cycles             = 1;
    bool         adaptive             = false;
    bool         hp_adaptive          = false; ///< adaptive, and degrees change as well
    double       refine_fraction      = 0.3;
    double       coarsen_fraction     = 0.03;
    double       smoothness_threshold = 1.;

    void declare_parameters(dealii::ParameterHandler &prm);
    void parse_parameters(dealii::ParameterHandler &prm);
  };

  /** All that the application layer knows of a smoother of multigrid; a new one is a row in solver_parameters.cc. */
  struct SmootherRow
  {
    std::string              name, words; ///< in a parameter file, and what it is
    AMGSmoother              smoother;
    std::vector<std::string> entries; ///< of the section `Solver/AMG` that not all smoothers have
  };

  /** In the order in which users see them. */
  const std::vector<SmootherRow> &smoothers();

  /** Section `Solver`. */
  struct SolverParameters
  {
    double       tolerance      = 1e-8; ///< relative to the right-hand side
    unsigned int max_iterations = 10000;
    std::string  preconditioner = "auto";
    CGParameters iteration;
    bool         project_null_space = false; ///< of a singular problem, which is an error else
    bool         check              = false; ///< a second system with a known solution

    PolynomialData polynomial; ///< subsection `Polynomial`, for neumann, least_squares and chebyshev; without its kind
    SSORData       ssor;       ///< subsection `SSOR`
    ICData         incomplete_cholesky; ///< subsection `Incomplete Cholesky`

    /** Subsection `AMG`, for the preconditioner of that name. */
    AMGParameters               amg;
    bool                        time_phases = false; ///< of multigrid's set-up on a device, too
    Aggregation::AdditionalData aggregation; ///< its patches are made where the smoother or the pictures want them

    void declare_parameters(dealii::ParameterHandler &prm);
    void parse_parameters(dealii::ParameterHandler &prm);
  };

  /** Sections `Matrix` and `Assembly`; all but the repetitions are for PatchFEM's own back ends. */
  struct AssemblyParameters
  {
    std::string format                   = "auto"; ///< auto, or what matrix_format() knows
    bool        calibrate                = false;
    int         slice_height             = 32;     ///< of sliced_ellpack and sell
    std::string column_indices           = "auto"; ///< auto, 32 bit or 16 bit
    CSRKernel   csr_kernel               = CSRKernel::pieces;
    int         sorting_window           = 256; ///< as ElementBatches takes it
    bool        keep_constrained_entries = false;
    int         n_repetitions            = 0; ///< further assemblies that are only timed, of every path

    Patches::AdditionalData patches;

    void declare_parameters(dealii::ParameterHandler &prm);
    void parse_parameters(dealii::ParameterHandler &prm);

    /** The format that `format` names, which is not auto; its columns have 16 bits if `column_indices` says so. */
    MatrixFormat matrix_format() const;

    /** Throws Error if `format` cannot serve @p solver in @p precision. @p vector_valued: several unknowns a node. */
    void check_solver(const SolverParameters &solver, const std::string &precision, bool vector_valued) const;
  };

  /** Section `Output`. */
  struct OutputParameters
  {
    std::string folder;
    std::string pictures   = "all"; ///< none, last or all
    bool        aggregates = false; ///< of multigrid, in pictures

    /** Without entries of linear systems unless @p linear. */
    void declare_parameters(dealii::ParameterHandler &prm, bool linear = true);

    /** Of a cycle or step, which may be the last one. */
    bool wants_picture(const bool last) const { return pictures == "all" || (pictures == "last" && last); }
  };

  struct ObservedSystem;

  /** All parameters of a run, apart from those of the physics. */
  struct ProblemParameters
  {
    GeneralParameters            general;
    MeshParameters               mesh;
    FiniteElementParameters      finite_element;
    RefinementParameters         refinement;
    SolverParameters             solver;
    AssemblyParameters           assembly;
    ResultParameters             results;
    OutputParameters             output;
    EssentialConditionParameters essential;
    std::string                  exact_solution; ///< formulas of all components; empty if unknown

    /// For programs that measure, and no entry: sees each system in double precision before it is solved.
    std::function<void(const ObservedSystem &)> observer;

    /** Declares all but `general`, `mesh` and `essential`, which stand before the physics'. */
    void declare_parameters(dealii::ParameterHandler &prm);
    void parse_parameters(dealii::ParameterHandler &prm, bool vector_valued);
  };

  using Settings = std::vector<std::pair<std::string, std::string>>; ///< "Section/Entry", value

  /** What the command line says. */
  struct CommandLine
  {
    std::string parameter_file;
    Settings    settings;
    std::string output_folder;
    std::string variants_file;   ///< empty for none
    std::string ranks;           ///< a number of processes to start, `auto`, or empty for none
    bool        verbose = false; ///< levels of multigrid, kernels, traffic

    /** Throws Error for anything it does not know. */
    CommandLine(int argc, char **argv);

    static std::string usage(const std::string &program);
  };

  /**
   * Reads the file and the settings of @p command_line into @p prm. deal.II's exceptions about the file become
   * one sentence that names the line.
   * @return the file and those that it includes.
   */
  std::vector<std::string> read_parameters(const CommandLine &command_line, dealii::ParameterHandler &prm);

  /** Sets entries of @p prm. Sentences of errors begin with @p who. @return the settings that take them back */
  Settings set_entries(const Settings &settings, dealii::ParameterHandler &prm, const std::string &who);

  /** Another way to solve the system of a run: a line `NAME: Section/Entry = value; ...` of the file of --variants. */
  struct Variant
  {
    std::string name, place; ///< the latter for sentences
    Settings    settings;    ///< of `Backend`, `Precision` and the sections `Solver`, `Matrix` and `Assembly`
  };

  /** Throws Error for lines of another form, names that are there twice, and entries that all variants share. */
  std::vector<Variant> read_variants(const std::string &file);

  /** All that read_parameters() would read, or why it cannot: the same text, the same parameters. */
  std::string text_of_parameters(const CommandLine &command_line);

  /**
   * Where the results go: what the option --output says, else the entry Output/Folder, else output/NAME. Does not look
   * at other entries, which may have mistakes; empty if those of the file keep it from being read so far.
   */
  std::string find_output_folder(const CommandLine &command_line);
} // namespace PatchFEM
