// SPDX-License-Identifier: LGPL-2.1-or-later
#include "assembly_problems.h"

#include "../core/strategies.h"

using namespace AssemblyProblems;

namespace
{
  struct Variant
  {
    Problem     problem;
    std::string backend  = "host";
    std::string strategy = "auto";
    bool        csr      = false;
  };

  std::string run_name(const ::testing::TestParamInfo<Variant> &info)
  {
    return info.param.problem.name() + (info.param.strategy == "auto" ? "" : "_" + info.param.strategy) +
           (info.param.csr ? "_csr_" : "_sliced_") + info.param.backend;
  }

  template <typename Form>
  void check(const Variant           &variant,
             const std::string       &strategy,
             const bool               in_rows,
             const ElementTables     &tables,
             const Reference::System &reference)
  {
    constexpr int  dim     = Form::dimension;
    const Problem &problem = variant.problem;
    const Space    space(Backend(variant.backend), tables, Space::AdditionalData(64));

    Assembler<Form>                          assembler;
    typename Assembler<Form>::AdditionalData data;
    data.strategy = strategy;
    assembler.reinit(space, data);
    assembler.set_coefficients(coefficient_field<dim>(problem, tables));
    assembler.set_body_load(load_field<dim>(tables));
    if (problem.boundary_terms)
    {
      FaceTerms terms = face_terms<dim>(tables);
      assembler.set_face_terms(terms);
      // Of terms that are refused for the second part, the first part must not arrive either.
      terms.load.assign(terms.load.size(), 7.);
      terms.robin.back() = std::nan("");
      EXPECT_THROW(assembler.set_face_terms(terms), Error);
    }

    CSRMatrix<double>           csr;
    SlicedEllpackMatrix<double> sliced;
    Vector<double>              rhs, rhs_alone;
    if (in_rows)
    {
      space.initialize_matrix(csr);
      csr = std::nan("");
      assembler.assemble(csr, rhs);
    }
    else
    {
      space.initialize_matrix(sliced);
      assembler.assemble(sliced, rhs);
    }
    const MatrixBase<double> &matrix = in_rows ? static_cast<const MatrixBase<double> &>(csr) : sliced;
    const auto [worst, worst_rhs]    = differences(space.batches(), matrix, rhs, reference);
    EXPECT_LE(worst, 1e-12);
    EXPECT_LE(worst_rhs, 1e-12);

    assembler.assemble_rhs(rhs_alone);
    EXPECT_LE(differences(space.batches(), matrix, rhs_alone, reference).second, 1e-12);
  }

  template <int dim, typename Form>
  void compare(const Variant &variant)
  {
    const Problem    &problem = variant.problem;
    const Setup<dim>  setup(problem);
    Reference::System reference;
    Reference::assemble<dim>(*setup.mapping, setup.dof_handler, setup.constraints, reference_form<dim>(problem),
                             reference_loads(setup, problem), reference);

    ExtractionData<dim> extraction;
    if (problem.boundary_terms)
      extraction.boundary_ids = {setup.triangulation.get_boundary_ids().front()};
    const ElementTables tables =
        extract_element_tables<dim>(*setup.mapping, setup.dof_handler, setup.constraints, extraction);
    if (variant.strategy != "every")
      return check<Form>(variant, variant.strategy, variant.csr, tables, reference);
    find_strategy("colour"); // loads those of papers, if they are built
    for (const StrategyRow &row : assembly_strategies())
      for (const bool csr : {false, true})
      {
        SCOPED_TRACE(row.name + (csr ? ", csr" : ", sliced"));
        if (tables.batches.size() > 1 || takes<Form>(row, tables))
          check<Form>(variant, row.name, csr, tables, reference);
        else
          EXPECT_THROW(check<Form>(variant, row.name, csr, tables, reference), Error);
      }
  }
} // namespace

class Assembly : public ::testing::TestWithParam<Variant>
{};

TEST_P(Assembly, EqualsDistributeLocalToGlobal)
{
  const Variant &variant = GetParam();
  if (variant.backend == "cuda" && !Backend::cuda_available())
    GTEST_SKIP() << "no CUDA device";
  const std::string form = variant.problem.form;
  if (variant.problem.dim == 2)
    form == "laplace"           ? compare<2, Laplace<2>>(variant)
    : form == "elasticity"      ? compare<2, Elasticity<2>>(variant)
    : form == "mean_dilatation" ? compare<2, ElasticityMeanDilatation<2>>(variant)
                                : compare<2, Diffusion<2>>(variant);
  else
    form == "laplace"           ? compare<3, Laplace<3>>(variant)
    : form == "elasticity"      ? compare<3, Elasticity<3>>(variant)
    : form == "mean_dilatation" ? compare<3, ElasticityMeanDilatation<3>>(variant)
                                : compare<3, Diffusion<3>>(variant);
}

namespace
{
  const char *const forms[] = {"laplace", "diffusion", "elasticity", "mean_dilatation"};

  /** Every strategy with elements of all kinds, hanging nodes, boundary terms and several degrees, in both formats. */
  void append_every_strategy(std::vector<Variant> &runs, const std::string &backend)
  {
    for (const char *form : forms)
      for (const int dim : {2, 3})
        for (const Problem &problem : {Problem{form, dim, "adaptive_cube", 1, 1, "dirichlet", "random", "cell", true},
                                       Problem{form, dim, "simplices", 1, 1, "dirichlet", "random", "constant", true},
                                       Problem{form, dim, "simplices", 2, 1, "dirichlet", "random", "points"},
                                       Problem{form, dim, "shell", 2, 2, "dirichlet", "random", "material"},
                                       Problem{form, dim, "adaptive_cube", -1, 1, "one_component", "random", "points"}})
          runs.push_back({problem, backend, "every"});
  }

  /** Every element, mapping, constraint kind, numbering and coefficient kind on the host. */
  std::vector<Variant> host_runs()
  {
    std::vector<Variant> runs;
    for (const char *form : forms)
      for (const int dim : {2, 3})
      {
        const bool vector = Problem::is_vector(form);
        for (int degree = 1; degree <= (dim == 2 ? 4 : 3); ++degree)
        {
          runs.push_back({{form, dim, "adaptive_cube", degree, 1, "dirichlet"}});
          runs.push_back({{form, dim, "shell", degree, std::min(degree, 3), "dirichlet", "random", "material", true},
                          "host",
                          "auto",
                          true});
        }
        for (const int degree : {1, 2})
        {
          runs.push_back({{form, dim, "simplices", degree, 1, "dirichlet", "random", "constant", true}});
          runs.push_back({{form, dim, "cut_simplices", degree, 1, "none", "natural", "points"}});
        }
        runs.push_back({{form, dim, "cube", 2, 2, "periodic", "random", "cell"}});
        runs.push_back({{form, dim, "adaptive_cube", 0, 1, "one_component", "random", "points", true}});
        runs.push_back({{form, dim, "adaptive_cube", -1, 1, "dirichlet", "random", "cell", true}});
        runs.push_back({{form, dim, "adaptive_cube", 1, -1, "dirichlet", "natural", "points", true}});
        runs.push_back({{form, dim, "adaptive_cube", 0, -2, "one_component", "random", "material", true}});
        runs.push_back({{form, dim, "ball", 1, 1, "dirichlet", "natural", "points"}});
        for (const char *numbering : {"natural", "component_wise", "random"})
          for (const bool csr : {false, true})
            for (const std::string strategy : {"patches", "gather"})
              runs.push_back({{form, dim, "adaptive_cube", 1, 0, "one_component", numbering, "material", true},
                              "host",
                              strategy,
                              csr});
        if (vector)
        {
          runs.push_back({{form, dim, "shell", 1, 1, "normal_flux"}});
          runs.push_back({{form, dim, "shell", 2, 2, "normal_flux", "random", "material", true}});
        }
      }
    runs.push_back({{"elasticity", 3, "cube", 4, 1, "dirichlet"}});
    append_every_strategy(runs, "host");
    return runs;
  }

  std::vector<Variant> other_runs()
  {
    std::vector<Variant> runs;
    for (const char *backend : {"emulated_device", "cuda"})
      for (const char *form : forms)
        for (const int dim : {2, 3})
        {
          for (const std::string strategy : {"patches", "gather"})
            runs.push_back(
                {{form, dim, "adaptive_cube", 1, 1, "one_component", "random", "material", true}, backend, strategy});
          runs.push_back({{form, dim, "simplices", 1, 1, "dirichlet"}, backend});
          runs.push_back({{form, dim, "simplices", 2, 1, "dirichlet"}, backend, "auto", true});
          runs.push_back({{form, dim, "shell", 2, 2, "dirichlet"}, backend});
          runs.push_back({{form, dim, "adaptive_cube", 0, 1, "dirichlet", "random", "points", true}, backend});
          runs.push_back({{form, dim, "adaptive_cube", -1, 1, "dirichlet", "random", "cell", true}, backend});
          runs.push_back({{form, dim, "adaptive_cube", 1, -1, "dirichlet", "natural", "points", true}, backend});
        }
    for (const char *backend : {"emulated_device", "cuda"})
      append_every_strategy(runs, backend);
    return runs;
  }
} // namespace

INSTANTIATE_TEST_SUITE_P(host, Assembly, ::testing::ValuesIn(host_runs()), run_name);
INSTANTIATE_TEST_SUITE_P(other, Assembly, ::testing::ValuesIn(other_runs()), run_name);
