// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/assembly/form_promises.h>
#include <patchfem/assembly/quadrature_field.h>
#include <patchfem/kernels/assembly.h>

#include <memory>

namespace PatchFEM
{
  /** An Assembler<Form> without its type, chosen at run time. All of its data is here: copy an Assembler into one. */
  template <typename Number>
  class AssemblerBase
  {
  public:
    using AdditionalData = Patches::AdditionalData;

    /** Throws Error if @p space lacks the form's dimension or components, or if the form breaks a promise. */
    void reinit(Space space, const AdditionalData &data = AdditionalData()); // a copy: it may be this one's own

    /** The space of the last reinit(); it is shared with all that was made of it. */
    const Space &space() const { return domain; }

    /** How cells come to rows: those of the batch that is summed first, which has the most cells times shapes. */
    const Patches &patches() const
    {
      require(!passes.empty(), "An assembler was used before it had a space.");
      return *passes.front().plan;
    }

    /** The same for the cells of batch @p b. */
    const Patches &patches(int b) const;

    /** How often a cell is integrated on average, over all batches; 0 if there are no cells. */
    double redundancy() const;

    /** [batch], strategy and kernel of its cells: "patches (trilinear hexahedra by matrix instructions)". */
    std::vector<std::string> kernel_names() const;

    /** [active cell of tables_of_batches()], the patch that owns the cell's first node in the plan of its batch. */
    std::vector<unsigned int> patch_of_cells() const;

    /**
     * A CoefficientField or a QuadratureField, see set_body_load(). The first that varies inside cells, or no longer
     * does, may make new patches(); if these do not fit, the assembler needs another reinit().
     */
    template <typename Field>
    void set_coefficients(const Field &field)
    {
      set(coefficients, field, form.n_coefficients, "The weak form");
      on_owner_then_members(domain.backend(), [&] { replan(); });
    }

    /**
     * Body load, n_components values; a field without values is no load. A field that is refused changes nothing. A
     * CoefficientField is copied; a QuadratureField is not: what is evaluated there later is seen by the next assembly.
     */
    template <typename Field>
    void set_body_load(const Field &field)
    {
      set(body_load, field, domain.batches().n_components(), "The body load");
    }

    /** Boundary loads and Robin coefficients on the faces of the element tables; none change if one is refused. */
    void set_face_terms(const FaceTerms &terms);

    /**
     * Tangents of tractions at the points of all faces of the element tables, [point][component][n_inputs] on the back end,
     * see FaceLawTraits: their negative is added to the matrix. A view: later values are seen, as long as the array lives.
     */
    void set_face_tangents(const Array<Number> &tangents, int n_inputs);

    /** @p matrix, a CSRMatrix or SlicedEllpackMatrix, must have been made from the space's sparsity. */
    void assemble(MatrixBase<Number> &matrix, Vector<Number> &rhs) { run(&matrix, &rhs); }

    /** With other k of constraints, for this assembly alone: see ElementBatches::make_inhomogeneities(). */
    void assemble(MatrixBase<Number> &matrix, Vector<Number> &rhs, const ElementBatches::Inhomogeneities &k)
    {
      run(&matrix, &rhs, &k);
    }

    /** The matrix alone. */
    void assemble_matrix(MatrixBase<Number> &matrix) { run(&matrix, nullptr); }

    /** The right-hand side alone, with the boundary values of the constraints. */
    void assemble_rhs(Vector<Number> &rhs) { run(nullptr, &rhs); }

    /** What the last reinit() took, apart. */
    struct StructureSeconds
    {
      double sparsity = 0.; ///< which cells feed a row, and the columns of the rows
      double plan     = 0.; ///< patches and the places of their entries
    };
    const StructureSeconds &structure_seconds() const { return seconds; }

    /** Bytes on the back end besides the space with its plans, matrix and right-hand side. */
    std::size_t memory_consumption() const;

  protected:
    struct Traits
    {
      int  dimension, n_components, n_coefficients;
      bool gradients_only;
      void (*check_promises)();
      kernels::AssemblyKernel<Number> (*find_kernel)(const Backend &, const kernels::KernelRequest &);
    };

    explicit AssemblerBase(const Traits &form) : form(form) {}

  private:
    void set(DeviceCoefficients<Number> &to, const CoefficientField &field, int n_values, const char *name)
    {
      const bool             several   = domain.tables().ranks.several();
      const CoefficientField completed = several ? domain.with_copies(field) : CoefficientField();
      on_owner_then_members(domain.backend(),
                            [&] { to.reinit(domain.batches(), several ? completed : field, n_values, name); });
    }
    void set(DeviceCoefficients<Number> &to, const QuadratureField<Number> &field, int n_values, const char *name)
    {
      on_owner_then_members(domain.backend(), [&] { to.reinit(field.view(domain, n_values, name), field.keeper()); });
    }

    /** Throws Error for one that cannot be assembled. */
    MatrixTarget<Number> target(const MatrixBase<Number> &matrix) const;

    void reinit_here(const Space &space, const AdditionalData &data);

    /** Assembles. Both may be null. */
    void run(MatrixBase<Number> *matrix, Vector<Number> *rhs, const ElementBatches::Inhomogeneities *k = nullptr);
    void run_here(const MatrixTarget<Number> &target, Number *rhs, const ElementBatches::Inhomogeneities *k);

    /** The cells of one batch. */
    struct Pass
    {
      std::shared_ptr<const Patches> plan;
      kernels::KernelRequest         request; ///< for loads that do not vary inside cells
    };

    /** Makes the passes of @p space, and room for them, for coefficients that are @p varying inside cells or not. */
    void plan_passes(const Space &space, const AdditionalData &data, bool varying);

    /** Again, if the coefficients have become other than planned. */
    void replan();

    AssemblyArguments<Number>       data_arguments() const;
    kernels::AssemblyKernel<Number> begin_pass(const Pass &pass, AssemblyArguments<Number> &arguments) const;

    Traits                     form;
    Space                      domain;
    std::vector<Pass>          passes;
    AdditionalData             asked; ///< for which, and for what coefficients, the passes were planned
    bool                       planned_varying = false;
    DeviceCoefficients<Number> coefficients, body_load;
    Array<Number>              face_load, face_robin, buffer_matrix, buffer_vector;
    Array<std::int64_t>        face_points;
    const Number              *face_tangents = nullptr;
    int                        n_face_inputs = 0;
    StructureSeconds           seconds;
  };

  /**
   * Assembles a weak form: owner computes on patches (see Patches), with constraints resolved on the way. The result
   * equals what AffineConstraints::distribute_local_to_global() makes of the same cell matrices, on every row. Repeated
   * assemblies write values only, and give the same bits each time, for any number of threads and, with one strategy,
   * any size of patches.
   *
   * @code
   *   Assembler<Elasticity<3>> assembler(space);                          // structure, once per mesh
   *   assembler.set_coefficients(CoefficientField::constant({lambda, mu}));
   *   space.initialize_matrix(matrix);
   *   assembler.assemble(matrix, rhs);                                    // values, often
   * @endcode
   *
   * @tparam Form   a weak form, see kernels/weak_forms.h; its kernels must be compiled (patchfem_add_weak_form()).
   * @tparam Number double or float: the arithmetic and the values.
   */
  template <typename Form, typename Number = double>
  class Assembler : public AssemblerBase<Number>
  {
  public:
    using typename AssemblerBase<Number>::AdditionalData;

    Assembler()
        : AssemblerBase<Number>({Form::dimension, Form::n_components, Form::n_coefficients,
                                 depends_on_gradients_only<Form>, check_promises<Form>, find_kernel})
    {}

    explicit Assembler(const Space &space, const AdditionalData &data = AdditionalData()) : Assembler()
    {
      this->reinit(space, data);
    }

  private:
    static kernels::AssemblyKernel<Number> find_kernel(const Backend &backend, const kernels::KernelRequest &request)
    {
      return dispatch(backend, [&](auto where) { return kernels::assembly_kernel<Form, Number>(where, request); });
    }
  };
} // namespace PatchFEM
