// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/assembly/assembler.h>
#include <patchfem/assembly/assembly_strategy.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>

namespace PatchFEM
{
  template <typename Number>
  void AssemblerBase<Number>::reinit(const Space space, const AdditionalData &data)
  {
    on_owner_then_members(space.backend(), [&] { reinit_here(space, data); });
  }

  template <typename Number>
  void AssemblerBase<Number>::reinit_here(const Space &space, const AdditionalData &data)
  {
    form.check_promises();
    const ElementBatches &elements = space.batches();
    require(elements.dimension() == form.dimension, "The weak form and the mesh have different dimensions.");
    require(elements.n_components() == form.n_components,
            "The weak form and the finite element have different numbers of components.");
    require(data.concurrent >= 0 && data.concurrent <= 32, "At most 32 patches share a multiprocessor.");
    const std::size_t there = space.backend().patch_memory(), least = 2048 * std::max(4, data.concurrent);
    require(data.fast_memory == 0 || (data.fast_memory >= least && data.fast_memory <= there) ||
                !is_owner(space.backend()),
            "Fast memory must be 0, or between ", least, " and the ", there, " bytes that there are, not ",
            data.fast_memory, ".");
    domain = Space(); // until all of the new one is there
    passes.clear();
    const auto now = [&] {
      space.backend().synchronize();
      return std::chrono::steady_clock::now();
    };
    const auto start = now();
    space.sparsity();
    const auto middle = now();
    coefficients      = DeviceCoefficients<Number>();
    body_load         = DeviceCoefficients<Number>();
    face_load.release();
    face_robin.release();
    face_tangents = nullptr;
    plan_passes(space, data, false);
    seconds.sparsity = std::chrono::duration<double>(middle - start).count();
    seconds.plan     = std::chrono::duration<double>(now() - middle).count();
    domain           = space;
  }

  template <typename Number>
  void AssemblerBase<Number>::plan_passes(const Space &space, const AdditionalData &data, const bool varying)
  {
    const ElementBatches &elements = space.batches();
    const Backend        &backend  = space.backend();
    // The batch with the most pairs of cells and rows is first and begins all rows.
    std::vector<int> order(elements.n_batches());
    std::iota(order.begin(), order.end(), 0);
    const auto n_pairs = [&](const int b) { return std::int64_t(elements.n_cells(b)) * elements.reference(b).n_shape; };
    std::stable_sort(order.begin(), order.end(), [&](const int a, const int b) { return n_pairs(a) > n_pairs(b); });
    require_strategy(data.strategy);
    // Who names the size of the patches may need all of the memory.
    const int         concurrent = data.concurrent > 0 || data.rows_per_patch == 0 ? data.concurrent : 1;
    const int         n_comp     = elements.n_components();
    std::int64_t      n_matrix = 0, n_vector = 0;
    std::vector<Pass> made;
    for (const int b : order)
    {
      const ReferenceElement         &r     = elements.reference(b);
      const BatchView                &cells = elements.view().batch[b];
      std::vector<kernels::PatchRoom> rooms;
      kernels::KernelRequest          request{};
      request.reference        = cells.reference;
      request.isoparametric    = r.n_geometry == r.n_shape && r.geometry_gradients == r.shape_gradients;
      request.points_are_nodes = cells.geometry == cells.nodes;
      request.one_point        = form.gradients_only && r.constant_jacobian && r.degree == 1 && !varying;
      request.fast_memory      = data.fast_memory > 0 ? data.fast_memory : backend.patch_memory();
      request.concurrent       = concurrent;
      request.varying          = varying;
      for (const StrategyRow &row : assembly_strategies())
      {
        request.strategy = row.name;
        request.stages   = row.stages();
        rooms.push_back(may_take(row, data) ? form.find_kernel(backend, request).room : kernels::PatchRoom{});
      }
      const auto plan = space.plan(b, rooms, data);
      request.stages  = find_strategy(plan->strategy())->stages();
      made.push_back({plan, request});
      for (const Patches::Chunk &chunk : made.back().plan->chunks())
      {
        const std::int64_t n_staged = chunk.end_staged - chunk.first_staged, n_rows = r.n_shape * n_comp;
        n_matrix =
            std::max(n_matrix, chunk.n_matrix_entries + n_staged * plan->room().staged_numbers(r.n_shape, n_comp));
        n_vector = std::max(n_vector, chunk.n_vector_entries + n_staged * n_rows);
      }
    }
    buffer_matrix.reinit(backend, n_matrix);
    buffer_vector.reinit(backend, n_vector);
    passes          = std::move(made);
    asked           = data;
    planned_varying = varying;
  }

  template <typename Number>
  void AssemblerBase<Number>::replan()
  {
    if (coefficients.view().varies_inside_cells() == planned_varying)
      return;
    try
    {
      plan_passes(domain, asked, !planned_varying);
    }
    catch (...)
    {
      passes.clear(); // they are of other coefficients
      domain = Space();
      throw;
    }
  }

  template <typename Number>
  void AssemblerBase<Number>::set_face_terms(const FaceTerms &given)
  {
    FaceTerms  completed;
    const bool several = domain.tables().ranks.several();
    if (several)
      completed = domain.with_copies(given);
    const FaceTerms          &terms    = several ? completed : given;
    const ElementBatches     &elements = domain.batches();
    std::vector<std::int64_t> offsets{0};
    for (const FaceEntry &face : domain.tables_of_batches().faces)
      offsets.push_back(offsets.back() + elements.reference(face.batch).n_face_quadrature);
    const auto n_points = static_cast<std::size_t>(offsets.back());
    const auto check    = [&](const std::vector<double> &values, const std::size_t n) {
      require(values.empty() || values.size() == n,
                 "Boundary terms need a value at every quadrature point of every face of the element tables.");
      for (const double value : values)
        require(std::isfinite(value), "A boundary term is not finite; correct its expression.");
    };
    on_owner_then_members(elements.backend(), [&] {
      check(terms.load, n_points * elements.n_components());
      check(terms.robin, n_points);
      face_load.copy_from(elements.backend(), std::vector<Number>(terms.load.begin(), terms.load.end()));
      face_robin.copy_from(elements.backend(), std::vector<Number>(terms.robin.begin(), terms.robin.end()));
      face_points.copy_from(elements.backend(), offsets);
    });
  }

  template <typename Number>
  void AssemblerBase<Number>::set_face_tangents(const Array<Number> &tangents, const int n_inputs)
  {
    set_face_terms(FaceTerms()); // where the points of faces lie
    face_tangents = tangents.empty() ? nullptr : tangents.data();
    n_face_inputs = n_inputs;
  }

  template <typename Number>
  const Patches &AssemblerBase<Number>::patches(const int b) const
  {
    for (const Pass &pass : passes)
      if (pass.plan->batch() == b)
        return *pass.plan;
    throw Error("An assembler was asked for the plan of a batch that its space does not have.");
  }

  template <typename Number>
  double AssemblerBase<Number>::redundancy() const
  {
    double sum = 0.;
    for (const Pass &pass : passes)
      sum += pass.plan->redundancy() * domain.batches().n_cells(pass.plan->batch());
    return sum / std::max(1, domain.batches().n_cells());
  }

  template <typename Number>
  std::vector<unsigned int> AssemblerBase<Number>::patch_of_cells() const
  {
    const ElementTables      &tables = domain.tables_of_batches();
    std::vector<unsigned int> result(tables.n_cells());
    const std::vector<int>   &node = domain.batches().new_of_old();
    for (const Pass &pass : passes)
    {
      const int        b       = pass.plan->batch();
      const CellTable &batch   = tables.batches[b];
      const int        n_shape = batch.reference.n_shape;
      const int        n_own   = tables.ranks.several() ? tables.ranks.n_own_cells[b] : batch.n_cells;
      for (int cell = 0; cell < n_own; ++cell)
      {
        int first = domain.batches().n_nodes();
        for (int i = 0; i < n_shape; ++i)
          first = std::min(first, node[batch.nodes[std::size_t(cell) * n_shape + i]]);
        const std::size_t active = batch.active_index[cell];
        if (active >= result.size()) // of several ranks each counts cells of others as well
          result.resize(active + 1);
        result[active] = first / pass.plan->rows_per_patch();
      }
    }
    return result;
  }

  template <typename Number>
  std::vector<std::string> AssemblerBase<Number>::kernel_names() const
  {
    return on_owner_then_members(domain.backend(), [&] {
      std::vector<std::string>  result(passes.size());
      AssemblyArguments<Number> a = data_arguments();
      for (const Pass &pass : passes)
        result[pass.plan->batch()] = pass.plan->strategy() + " (" + begin_pass(pass, a).name + ")";
      return result;
    });
  }

  template <typename Number>
  std::size_t AssemblerBase<Number>::memory_consumption() const
  {
    return memory_consumption_of(coefficients, body_load, face_load, face_robin, face_points, buffer_matrix,
                                 buffer_vector);
  }

  template <typename Number>
  MatrixTarget<Number> AssemblerBase<Number>::target(const MatrixBase<Number> &matrix) const
  {
    const int          n_components = domain.batches().n_components();
    const std::int64_t entries      = domain.sparsity().n_blocks() * n_components * n_components;
    require(matrix.backend() == domain.backend(), "The matrix lives on another back end than the assembler.");
    require(matrix.block_rows() == n_components && matrix.block_columns() == n_components, "The matrix has blocks of ",
            matrix.block_rows(), " x ", matrix.block_columns(), ", but the weak form has ", n_components,
            " components; Space::initialize_matrix() makes the blocks that fit.");
    require(matrix.n_rows() == domain.n_dofs() && matrix.n_nonzero_elements() == entries,
            "The matrix was not made from the sparsity of the assembler's space.");
    if (const auto *csr = dynamic_cast<const CSRMatrix<Number> *>(&matrix))
      return {MatrixTarget<Number>::csr, csr->view(), {}, csr->n_nonzero_elements()};
    const auto *sliced = dynamic_cast<const SlicedEllpackMatrix<Number> *>(&matrix);
    require(sliced != nullptr, "Matrices in the format ", matrix.format(), " are not assembled; see convert().");
    return {MatrixTarget<Number>::sliced_ellpack, {}, sliced->view(), sliced->n_stored_elements()};
  }

  template <typename Number>
  AssemblyArguments<Number> AssemblerBase<Number>::data_arguments() const
  {
    AssemblyArguments<Number> a{};
    a.coefficients = coefficients.view();
    a.load         = body_load.view();
    return a;
  }

  template <typename Number>
  kernels::AssemblyKernel<Number> AssemblerBase<Number>::begin_pass(const Pass                &pass,
                                                                    AssemblyArguments<Number> &a) const
  {
    const Patches         &plan    = *pass.plan;
    kernels::KernelRequest request = pass.request;
    a.patches                      = plan.view(domain.sparsity());
    a.fast_memory                  = plan.room().available;
    a.multiprocessor_memory        = plan.room().total;
    a.most_blocks                  = plan.most_blocks();
    a.most_levels                  = plan.most_levels();
    a.computed_batch               = plan.batch();
    a.own_lists                    = plan.own_lists();
    a.phases                       = plan.phases().data();
    a.n_phases                     = std::max(0, static_cast<int>(plan.phases().size()) - 1);
    // A load that varies inside cells, and coefficients that do, need all points.
    a.one_point = request.one_point && !a.coefficients.varies_inside_cells() && !a.load.varies_inside_cells();
    a.add       = &pass != &passes.front();

    request.strategy     = plan.strategy();
    request.one_point    = a.one_point;
    request.computes     = request.stages || a.n_phases > 0 || a.most_levels > 0;
    request.varying      = a.coefficients.varies_inside_cells();
    request.short_places = a.patches.places.diagonal != nullptr || a.patches.places.view.width == 1;
    const kernels::AssemblyKernel<Number> kernel = form.find_kernel(domain.backend(), request);
    require(bool(kernel.sum), "The strategy ", plan.strategy(),
            " has no kernel for these cells and data on this back end.");
    return kernel;
  }

  template <typename Number>
  void AssemblerBase<Number>::run(MatrixBase<Number> *const                    matrix,
                                  Vector<Number> *const                        rhs,
                                  const ElementBatches::Inhomogeneities *const k)
  {
    on_owner_then_members(domain.backend(), [&] {
      const MatrixTarget<Number> to = matrix != nullptr ? target(*matrix) : MatrixTarget<Number>();
      if (rhs != nullptr)
        domain.initialize_dof_vector(*rhs, true);
      run_here(to, rhs != nullptr ? rhs->data() : nullptr, k);
    });
  }

  template <typename Number>
  void AssemblerBase<Number>::run_here(const MatrixTarget<Number>                  &target,
                                       Number                                      *rhs,
                                       const ElementBatches::Inhomogeneities *const k)
  {
    const ElementBatches     &elements = domain.batches();
    AssemblyArguments<Number> a        = data_arguments();
    a.batches                          = elements.view();
    a.constrained                      = elements.constrained_cells();
    if (k != nullptr)
    {
      a.constrained.inhomogeneity_offset = k->offset.data();
      a.constrained.inhomogeneity        = k->values.data();
    }
    a.faces              = elements.faces_view();
    const bool has_faces = !face_load.empty() || !face_robin.empty() || face_tangents != nullptr;
    a.face_terms         = {has_faces ? face_points.data() : nullptr, face_load.empty() ? nullptr : face_load.data(),
                    face_robin.empty() ? nullptr : face_robin.data(), face_tangents, n_face_inputs};
    a.matrix        = target;
    a.rhs           = rhs;
    a.buffer_matrix = buffer_matrix.data();
    a.buffer_vector = buffer_vector.data();
    require(form.n_coefficients == 0 || a.coefficients.kind != CoefficientView<Number>::none,
            "The weak form has no coefficients; call set_coefficients() before assembling.");
    for (const Pass &pass : passes)
    {
      const kernels::AssemblyKernel<Number> kernel = begin_pass(pass, a);
      for (const Patches::Chunk &chunk : pass.plan->chunks())
      {
        a.first_patch   = chunk.first_patch;
        a.end_patch     = chunk.end_patch;
        a.buffered      = pass.plan->buffered().data() + chunk.first_buffered;
        a.n_buffered    = static_cast<int>(chunk.end_buffered - chunk.first_buffered);
        a.staged        = pass.plan->staged().data() + chunk.first_staged;
        a.n_staged      = static_cast<int>(chunk.end_staged - chunk.first_staged);
        a.staged_matrix = chunk.n_matrix_entries;
        a.staged_vector = chunk.n_vector_entries;
        launch(domain.backend(), [&](auto) {
          if (a.n_buffered + a.n_staged > 0)
            kernel.stage(a);
          kernel.sum(a);
        });
      }
    }
  }

  template class AssemblerBase<double>;
  template class AssemblerBase<float>;
} // namespace PatchFEM
