// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/assembly/law_assembler.h>
#include <patchfem/kernels/geometry.h>
#include <patchfem/kernels/tangent_form.h>

#include <algorithm>
#include <cstdlib>
#include <cxxabi.h>

namespace PatchFEM
{
  namespace
  {
    using Base = AssemblerBase<double>;

    /** The assembler of the tangents of laws, of those that are compiled (tangent_forms.h). */
    std::unique_ptr<Base> make_assembler(const int dim, const int n_comp, const bool with_value, const bool symmetric)
    {
      std::unique_ptr<Base> result;
      const auto            try_form = [&](auto form) {
        using Form = decltype(form);
        if (dim == Form::dimension && n_comp == Form::n_components && with_value == !Form::gradients_only &&
            symmetric == Form::symmetric)
          result = std::make_unique<Base>(Assembler<Form>());
      };
      std::apply([&](auto... form) { (try_form(form), ...); }, TangentForms());
      require(result != nullptr, "Laws with ", n_comp, " components",
              with_value ? " that read values or have a source" : "", " in ", dim,
              "D are not assembled; there are scalars and displacements.");
      return result;
    }

    /** Values of @p field somewhere. */
    std::vector<double> first_values(const CoefficientField &field)
    {
      if (field.kind() == CoefficientView<double>::material)
        return field.material_values().begin()->second;
      for (const std::vector<double> &values : field.values())
        if (!values.empty())
          return {values.begin(), values.begin() + field.n_values()};
      return std::vector<double>(field.n_values(), 1.);
    }

    /** In cells and on faces. */
    const std::vector<std::int64_t> no_failures(2, PointPass::failure_none);

    const char *reason(const Refusal refusal)
    {
      switch (refusal)
      {
      case Refusal::inverted:
        return "the material is turned inside out (det F is not positive)";
      case Refusal::no_convergence:
        return "its iteration does not converge";
      default:
        return "its flux or its tangent is not finite";
      }
    }
  } // namespace

  std::string LawAssembler::law_name(const std::type_info &type)
  {
    int                                           status = 0;
    const std::unique_ptr<char, void (*)(void *)> name(abi::__cxa_demangle(type.name(), nullptr, nullptr, &status),
                                                       std::free);
    const std::string                             all = status == 0 ? name.get() : type.name();
    return all.rfind("PatchFEM::", 0) == 0 ? all.substr(10) : all;
  }

  void LawAssembler::add(const Row &law)
  {
    const ElementTables &tables = domain.tables();
    require(!prepared, "Laws are added before the first step.");
    require(tables.dim == law.dimension, "The law ", law.name, " is of ", law.dimension, "D, but the mesh of ",
            tables.dim, "D.");
    require(tables.n_components == law.n_components, "The law ", law.name, " is of ", law.n_components,
            " components, but the space has ", tables.n_components, ".");
    require(law.parameters.n_values() == law.n_parameters, "The law ", law.name, " needs ", law.n_parameters,
            " parameters, not ", law.parameters.n_values(), ".");
    const std::vector<double> values = first_values(law.parameters);
    require(!(law.asymmetry(values.data()) > 1e-8), "The law ", law.name,
            " says that it is symmetric, but its tangent is not; take `symmetric = true` out of it.");
    for (const Row &other : rows)
    {
      require(other.with_value == law.with_value, "The laws ", other.name, " and ", law.name,
              " cannot share a mesh: only one of them reads values or has a source.");
      require(!other.materials.empty() || !law.materials.empty(), "Both ", other.name, " and ", law.name,
              " are for all materials that have no law of their own; say which are whose.");
      for (const int id : law.materials)
        require(std::count(other.materials.begin(), other.materials.end(), id) == 0, "Material ", id, " has two laws, ",
                other.name, " and ", law.name, ".");
    }
    make_assembler(law.dimension, law.n_components, law.with_value, law.symmetric); // throws where there is none
    rows.push_back(law);
  }

  bool LawAssembler::packed() const
  {
    return std::all_of(rows.begin(), rows.end(), [](const Row &law) { return law.symmetric; });
  }

  int LawAssembler::n_state_words() const
  {
    int most = 0;
    for (const Row &law : rows)
      most = std::max(most, law.n_words);
    return most;
  }

  /** Which law each material has, and room for all that is kept at points. */
  void LawAssembler::prepare()
  {
    require(!rows.empty(), "A LawAssembler has no laws; call add_law() first.");
    check_fields();
    std::vector<CoefficientField> fields_of_laws;
    for (const Row &law : rows)
      require(!law.axisymmetric || faces.empty(), "The law ", law.name,
              " is of a body of revolution, for which there are no face laws.");
    for (const Row &law : rows)
      fields_of_laws.push_back(domain.tables().ranks.several() ? domain.with_copies(law.parameters) : law.parameters);
    const int  dim = domain.tables().dim, n_comp = domain.tables().n_components;
    const auto has_source = [](const Row &law) { return law.has_source; };
    on_owner_then_members(domain.backend(), [&] {
      agree_on_errors(domain.batches().partitioner(), [&] {
        prepare_laws(fields_of_laws);
        fluxes = QuadratureField<double>(domain, dim * n_comp);
        if (std::any_of(rows.begin(), rows.end(), has_source))
          sources = QuadratureField<double>(domain, n_comp);
        std::int64_t n_points = 0;
        for (int b = 0; b < domain.batches().n_batches(); ++b)
          n_points += std::int64_t(domain.batches().n_cells(b)) * domain.batches().reference(b).n_quadrature;
        state.reinit(domain.backend(), std::size_t(n_points + 31) / 32 * 32 * n_state_words());
        state.set_zero();
        if (!has_old)
          domain.initialize_dof_vector(old_u);
      });
      pass(Work::initialise, old_u);
    });
    prepared = true;
  }

  /** Laws by material, and their parameters on the back end. */
  void LawAssembler::prepare_laws(const std::vector<CoefficientField> &fields_of_laws)
  {
    const ElementBatches   &batches = domain.batches();
    const std::vector<int> &ids     = batches.materials();
    std::vector<int>        laws;
    for (const int id : ids)
      laws.push_back(static_cast<int>(&law_of(id) - rows.data()));
    parameters.resize(rows.size());
    for (std::size_t law = 0; law < rows.size(); ++law)
    {
      CoefficientField field = fields_of_laws[law];
      if (field.kind() == CoefficientView<double>::material)
      {
        // Where another law rules the values are never read.
        std::map<int, std::vector<double>> values = field.material_values();
        for (std::size_t i = 0; i < ids.size(); ++i)
          if (laws[i] != static_cast<int>(law))
            values[ids[i]].resize(rows[law].n_parameters);
        field = CoefficientField::by_material(values);
      }
      parameters[law].reinit(batches, field, rows[law].n_parameters, rows[law].name.c_str());
    }
    if (rows.size() > 1)
      law_of_material.copy_from(domain.backend(), laws);
    failure.copy_from(domain.backend(), no_failures);
    if (!faces.empty())
      faces.prepare(domain);
  }

  void LawAssembler::set_fields(const QuadratureField<double> &values)
  {
    n_fields = values.n_values();
    if (prepared)
      check_fields();
    on_owner_then_members(domain.backend(),
                          [&] { fields.reinit(values.view(domain, n_fields, "A law"), values.keeper()); });
  }

  void LawAssembler::check_fields() const
  {
    for (const Row &law : rows)
      require(n_fields >= law.n_fields, "The law ", law.name, " reads ", law.n_fields,
              " fields; give them by set_fields().");
  }

  void LawAssembler::set_old(const Vector<double> &u)
  {
    on_owner_then_members(domain.backend(), [&] {
      check(u);
      old_u = u;
    });
    has_old = true;
  }

  void LawAssembler::set_forces(const Vector<double> &given)
  {
    on_owner_then_members(domain.backend(), [&] {
      check(given);
      forces         = given;
      size_of_forces = forces.l2_norm();
    });
  }

  void LawAssembler::set_rate(const double factor, const Vector<double> &rest)
  {
    on_owner_then_members(domain.backend(), [&] {
      check(rest);
      history = rest;
    });
    shift    = factor;
    has_rate = true;
  }

  double LawAssembler::force_scale() const
  {
    return broadcast(domain.backend(), scale);
  }

  void LawAssembler::begin_step(const Step &next)
  {
    for (const Row &law : rows)
      require(has_old || !law.reads_old, "The law ", law.name,
              " reads values of the step before; give those at the begin by set_old().");
    if (!prepared)
      prepare();
    step     = next;
    has_rate = false;
    open     = true;
  }

  void LawAssembler::check(const Vector<double> &u) const
  {
    require(std::int64_t(u.size()) == domain.n_dofs(),
            "A vector does not have an entry for each unknown of its space.");
    require(u.backend() == domain.backend(), "A vector lives on another back end than its space.");
    require(u.partitioner() == domain.batches().partitioner(), "A vector is not of the ranks of its space.");
  }

  /** @p work at all points; throws where a law refuses one. */
  void LawAssembler::pass(const Work work, const Vector<double> &u)
  {
    check(u);
    for (const Row &law : rows)
      require(has_rate || !law.reads_rate || work == Work::initialise, "The law ", law.name,
              " reads rates; call set_rate() in each step, with 0 for a steady state.");
    u.update_ghosts();
    if (!old_u.empty())
      old_u.update_ghosts();
    if (!history.empty())
      history.update_ghosts();
    const ElementBatches &batches = domain.batches();
    PointPass             a{};
    a.batches         = batches.view();
    a.u               = u.data();
    a.old_u           = old_u.data();
    a.history         = history.empty() ? nullptr : history.data();
    a.time            = step.time;
    a.step            = step.size;
    a.load_factor     = step.load_factor;
    a.shift           = shift;
    a.law_of_material = law_of_material.empty() ? nullptr : law_of_material.data();
    a.state           = state.data();
    a.n_words         = n_state_words();
    a.packed          = packed();
    a.n_tangent       = tangents.n_values();
    a.failure         = failure.data();
    a.fields          = fields.view();
    for (a.b = 0; a.b < batches.n_batches(); ++a.b)
    {
      a.flux    = fluxes.data_of(a.b);
      a.source  = sources.data_of(a.b);
      a.tangent = tangents.data_of(a.b);
      for (std::size_t k = 0; k < rows.size(); ++k)
      {
        a.law        = static_cast<int>(k);
        a.parameters = parameters[k].view();
        rows[k].run(domain.backend(), work, a);
      }
      a.first_point += std::int64_t(batches.n_cells(a.b)) * batches.reference(a.b).n_quadrature;
    }
    if (work != Work::residual && work != Work::tangent)
      return;
    if (!faces.empty())
      faces.evaluate(domain, u, step.time, step.size, step.load_factor, work == Work::tangent, failure.data() + 1);
    agree_on_errors(batches.partitioner(), [&] { throw_refusal(); });
  }

  /** The first point that a law, or a face law, has refused, as an exception. */
  void LawAssembler::throw_refusal()
  {
    const std::vector<std::int64_t> of_both = failure.to_vector();
    if (of_both.empty() || of_both == no_failures)
      return;
    failure.copy_from(domain.backend(), no_failures);
    const bool           of_face = of_both[0] == PointPass::failure_none;
    const std::int64_t   found   = of_both[of_face];
    const ElementTables &tables  = domain.tables_of_batches();
    std::int64_t         point   = found / 8;
    const char          *why     = reason(static_cast<Refusal>(found % 8));
    if (of_face)
      throw StepFailure("A law of the faces of boundary ", tables.faces[faces.face_of(point)].boundary_id,
                        " fails: ", why, "; take shorter steps.");
    for (const CellTable &cells : tables.batches)
    {
      const ReferenceElement &r    = cells.reference;
      const std::int64_t      cell = point / r.n_quadrature, q = point % r.n_quadrature;
      if (cell >= cells.n_cells)
      {
        point -= std::int64_t(cells.n_cells) * r.n_quadrature;
        continue;
      }
      std::ostringstream where;
      for (int d = 0; d < tables.dim; ++d)
        where << (d > 0 ? ", " : "")
              << coordinate(tables.points.data(), tables.dim, d, cells.points_of(cell), r.n_geometry,
                            r.geometry_values.data() + q * r.n_geometry);
      const int material = cells.material_ids.empty() ? 0 : cells.material_ids[cell];
      throw StepFailure("The law ", law_of(material).name, " fails at (", where.str(), ") in cell ",
                        cells.active_index.empty() ? int(cell) : cells.active_index[cell], " of material ", material,
                        ": ", why, "; take shorter steps.");
    }
  }

  /** For @p material the law that names it, else the one for all others. */
  const LawAssembler::Row &LawAssembler::law_of(const int material) const
  {
    const Row *result = nullptr;
    for (const Row &law : rows)
      if (std::count(law.materials.begin(), law.materials.end(), material) > 0 ||
          (law.materials.empty() && result == nullptr))
        result = &law;
    require(result != nullptr, "Material ", material, " has no law.");
    return *result;
  }

  void LawAssembler::residual(const Vector<double> &u, Vector<double> &r)
  {
    require(open, "A residual was asked for outside of a step; call begin_step() first.");
    on_owner_then_members(domain.backend(), [&] {
      pass(Work::residual, u);
      sum(r, true);
    });
  }

  void LawAssembler::reactions(const Vector<double> &u, Vector<double> &r)
  {
    require(open, "Reactions were asked for outside of a step; call begin_step() first.");
    on_owner_then_members(domain.backend(), [&] {
      pass(Work::residual, u);
      sum(r, false);
    });
  }

  /** @p r of the fluxes and sources that are there. */
  void LawAssembler::sum(Vector<double> &r, const bool condensed)
  {
    integrate(domain, sources, fluxes, r, false);
    if (!faces.empty())
      faces.subtract_from(domain, r);
    if (!forces.empty())
      r.add(-1., forces);
    scale = std::max(size_of_forces, r.l2_norm());
    if (condensed)
      domain.constraints().condense(r);
  }

  bool LawAssembler::linearise(const Vector<double> &u, MatrixBase<double> &K, Vector<double> &rhs)
  {
    require(open, "A tangent was asked for outside of a step; call begin_step() first.");
    bool moves = false;
    on_owner_then_members(domain.backend(), [&] {
      if (assembler == nullptr)
        prepare_tangents();
      moves = domain.constraints().motion(u, k);
      if (moves || has_cell_k || cell_k.offset.empty())
        agree_on_errors(domain.batches().partitioner(), [&] {
          domain.batches().make_inhomogeneities(domain.constraints().constrained_unknowns(), k, cell_k);
        });
      has_cell_k = moves;
      pass(Work::tangent, u);
      sum(r, true);
      assembler->assemble(K, rhs, cell_k); // -C^T K k
      rhs.add(-1., r);
    });
    return broadcast(domain.backend(), moves);
  }

  void LawAssembler::prepare_tangents()
  {
    const int  dim = domain.tables().dim, n_comp = domain.tables().n_components;
    const bool with_value = rows.front().with_value;
    const int  m          = n_comp * (dim + with_value);
    auto       made       = make_assembler(dim, n_comp, with_value, packed());
    agree_on_errors(domain.batches().partitioner(),
                    [&] { tangents = QuadratureField<double>(domain, packed() ? m * (m + 1) / 2 : m * m); });
    made->reinit(domain, data);
    made->set_coefficients(tangents);
    if (!faces.empty())
      made->set_face_tangents(faces.tangents(), faces.n_inputs());
    assembler = std::move(made);
  }

  void LawAssembler::distribute(Vector<double> &du) const
  {
    on_owner_then_members(domain.backend(), [&] { domain.constraints().distribute(du, k); });
  }

  void LawAssembler::commit(const Vector<double> &u, Converged &&)
  {
    require(open, "A step was committed that was not begun; call begin_step() first.");
    on_owner_then_members(domain.backend(), [&] {
      pass(Work::residual, u); // throws before a state is written
      pass(Work::commit, u);
      old_u = u;
    });
    has_old = true;
    open    = false;
  }

  /** Calls @p function(batch, position of a word there, position in the array) for all words of states. */
  template <typename Function>
  void LawAssembler::for_words(const Function &function) const
  {
    const int    n     = n_state_words();
    std::int64_t point = 0;
    for (int b = 0; b < domain.batches().n_batches(); ++b)
    {
      const std::int64_t n_points =
          std::int64_t(domain.batches().n_cells(b)) * domain.batches().reference(b).n_quadrature;
      for (std::int64_t i = 0; i < n_points; ++i, ++point)
        for (int w = 0; w < n; ++w)
          function(b, i * n + w, (point / 32 * n + w) * 32 + point % 32);
    }
  }

  std::vector<std::vector<double>> LawAssembler::copy_state_to_host()
  {
    if (!prepared)
      prepare();
    std::vector<std::vector<double>> result(domain.batches().n_batches());
    const std::vector<double>        words = state.to_vector();
    for_words(
        [&](const int batch, const std::int64_t, const std::int64_t place) { result[batch].push_back(words[place]); });
    return result;
  }

  void LawAssembler::copy_state_from_host(const std::vector<std::vector<double>> &given)
  {
    if (!prepared)
      prepare();
    std::vector<double>      words = state.to_vector();
    std::vector<std::size_t> sizes(domain.batches().n_batches());
    for_words([&](const int batch, const std::int64_t, std::int64_t) { ++sizes[batch]; });
    on_owner_then_members(domain.backend(), [&] {
      agree_on_errors(domain.batches().partitioner(), [&] {
        require(given.size() == sizes.size(), "A state has ", given.size(), " batches of cells, but the space ",
                sizes.size(), ".");
        for (std::size_t b = 0; b < given.size(); ++b)
          require(given[b].size() == sizes[b], "A state has ", given[b].size(), " words in batch ", b, ", not ",
                  sizes[b], ".");
        for_words(
            [&](const int batch, const std::int64_t i, const std::int64_t place) { words[place] = given[batch][i]; });
        state.copy_from(domain.backend(), words);
      });
    });
  }

  std::size_t LawAssembler::memory_consumption() const
  {
    std::size_t bytes =
        faces.memory_consumption() + memory_consumption_of(state, k, cell_k.offset, cell_k.values, law_of_material,
                                                           failure, forces, old_u, history, r);
    for (const auto *field : {&fluxes, &sources, &tangents})
      bytes += field->memory_consumption();
    for (const DeviceCoefficients<double> &values : parameters)
      bytes += values.memory_consumption();
    return bytes + (assembler != nullptr ? assembler->memory_consumption() : 0);
  }
} // namespace PatchFEM
