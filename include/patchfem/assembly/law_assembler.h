// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/assembly/assembler.h>
#include <patchfem/assembly/face_laws.h>
#include <patchfem/kernels/point_pass.h>
#include <patchfem/lac/solver/converged.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <typeinfo>
#include <vector>

namespace PatchFEM
{
  /**
   * The residual and the tangent of a nonlinear problem, of material laws (kernels/material_law.h) on a space:
   *
   *   r_i = int P : grad phi_i + s . phi_i - int_boundary t . phi_i - f_i,
   *
   * with the flux P and the source s of the law of each point, tractions t of face laws, and forces f. Laws are called at the quadrature points on
   * the back end; the tangent is the derivative of P and s by dual numbers, exact to rounding, and is assembled like any
   * weak form, with constraints resolved.
   *
   * The State that points have belongs to steps: begin_step() opens one, any number of residuals and tangents follow,
   * all of which read the state at its begin, and commit() ends it. A step that is given up needs nothing: the next
   * begin_step() starts from the state of before.
   * @code
   *   LawAssembler solid(space);
   *   solid.add_law<NeoHookean>(CoefficientField::constant({lambda, mu}));
   *   solid.begin_step({time, size, load_factor});
   *   solid.linearise(u, K, rhs); // K du = rhs
   *   ...
   *   solid.distribute(du);
   *   ...
   *   solid.commit(u, std::move(converged));
   * @endcode
   * The k of the space, Space::update_inhomogeneities(), are what the solution of the step is to meet. Vectors of solutions
   * have all values, at constrained unknowns too. Bytes on the back
   * end for each point, with m = dim n_components: 4 m (m + 1) for a symmetric tangent, 8 m for the flux, and the state.
   * Equal bits each time, for any number of threads. Double precision only.
   */
  class LawAssembler
  {
  public:
    using AdditionalData = AssemblerBase<double>::AdditionalData;

    /** Data of a step that laws may read. */
    struct Step
    {
      double time = 0., size = 0., load_factor = 1.;
    };

    explicit LawAssembler(const Space &space, const AdditionalData &data = AdditionalData()) : domain(space), data(data)
    {}

    /**
     * @p Law for the cells of @p materials, by their ids; without any for all that have no law of their own. Its kernels
     * must be compiled (patchfem_add_law()). @p parameters, Law::n_parameters values at each point, are copied. Throws
     * Error if the law does not fit the space or breaks its promise to be symmetric. All laws have a source, or none.
     */
    template <typename Law>
    void add_law(const CoefficientField &parameters = CoefficientField(), const std::vector<int> &materials = {})
    {
      using Traits = LawTraits<Law>;
      add({law_name(typeid(Law)), Traits::dimension, Traits::n_components, Traits::n_parameters, Traits::n_fields,
           Traits::n_state_words, TangentLayout<Law>::with_value, Traits::has_source, Traits::symmetric,
           (Traits::reads & Reads::rate) != 0, (Traits::reads & Reads::old) != 0, law_traits::axisymmetric<Law>,
           run<Law>, asymmetry<Law>, parameters, materials});
    }

    /**
     * The face law @p Law (kernels/face_law.h) on the boundaries with these ids, whose faces the space lists. Several laws may
     * act on one face. Its kernels must be compiled.
     */
    template <typename Law>
    void add_face_law(const std::vector<double> &parameters, const std::vector<int> &boundary_ids)
    {
      require(!prepared, "Laws are added before the first step.");
      faces.add(domain, FaceLaws::row<Law>(law_name(typeid(Law)), parameters, boundary_ids));
    }

    /** Values at the quadrature points that laws read as PointData::fields, such as temperatures; seen as they change. */
    void set_fields(const QuadratureField<double> &values);

    /** External forces f, a value for each unknown before constraints; Step::load_factor does not multiply them. */
    void set_forces(const Vector<double> &forces);

    /** Values of the step before the first one, for laws that read old ones; later those of commit(). */
    void set_old(const Vector<double> &u);

    /** Opens a step from the committed state. */
    void begin_step(const Step &step);

    /** u' = @p shift u + @p history in this step, for laws that read rates: see time_scheme.h. 0 for a steady state. */
    void set_rate(double shift, const Vector<double> &history);

    /**
     * r at @p u, constraints condensed: C^T r, 0 at constrained unknowns. Throws StepFailure, on all ranks, where a law
     * refuses a point.
     */
    void residual(const Vector<double> &u, Vector<double> &r);

    /**
     * The linear system of Newton's method, @p K du = @p rhs with rhs = -r(u) - C^T K k, for corrections
     * du = C du_free + k that bring u to the constraints: see ConstraintLines::motion(). Returns whether k differs from
     * 0. Throws as residual().
     */
    bool linearise(const Vector<double> &u, MatrixBase<double> &K, Vector<double> &rhs);

    /** @p du at constrained unknowns, of the last linearise(). */
    void distribute(Vector<double> &du) const;

    /** r before constraints are condensed: at constrained unknowns the forces that hold them. */
    void reactions(const Vector<double> &u, Vector<double> &r);

    /** After one of these: the larger of |f| and |r| before constraints, of which the condensed r is the balance. */
    double force_scale() const;

    /**
     * Ends the step at its solution @p u: the state becomes what the laws make of it. The laws are called anew, so that
     * no residual or tangent writes a state. Throws StepFailure, and changes nothing, where a law refuses a point.
     */
    void commit(const Vector<double> &u, Converged &&converged);

    const Space &space() const { return domain; }

    /** Whether all laws promise symmetric tangents; else K takes GMRES or BiCGStab. */
    bool symmetric() const { return packed() && faces.symmetric(); }

    /** The fluxes of the last residual, [component][dim] at each point. */
    const QuadratureField<double> &flux() const { return fluxes; }

    /** The committed state in words of 8 bytes, [batch][cell of Space::tables_of_batches()][q][n_state_words()]. */
    std::vector<std::vector<double>> copy_state_to_host();
    void                             copy_state_from_host(const std::vector<std::vector<double>> &words);
    int                              n_state_words() const;

    /** Bytes on the back end besides the space. */
    std::size_t memory_consumption() const;

  private:
    enum class Work
    {
      residual,
      tangent,
      commit,
      initialise
    };
    struct Row
    {
      std::string name;
      int         dimension, n_components, n_parameters, n_fields, n_words;
      bool        with_value, has_source, symmetric, reads_rate, reads_old, axisymmetric;
      void (*run)(const Backend &, Work, const PointPass &);
      double (*asymmetry)(const double *parameters);
      CoefficientField parameters;
      std::vector<int> materials;
    };

    template <typename Law>
    static void run(const Backend &backend, const Work work, const PointPass &pass)
    {
      launch(backend, [&](auto where) {
        using Kernels = kernels::LawKernels<decltype(where), Law>;
        work == Work::residual  ? Kernels::residual(where, pass)
        : work == Work::tangent ? Kernels::tangent(where, pass)
        : work == Work::commit  ? Kernels::commit(where, pass)
                                : Kernels::initialise(where, pass);
      });
    }

    /**
     * The asymmetry of the tangent with @p parameters at some arbitrary field of each size, beside its largest entry; 0
     * where the law refuses it. Laws that promise nothing are not looked at.
     */
    template <typename Law>
    static double asymmetry(const double *const parameters)
    {
      constexpr int m     = LawTraits<Law>::n_inputs;
      double        worst = 0.;
      if constexpr (LawTraits<Law>::symmetric)
        for (const double size : {1e-3, 1e-2, 1e-1})
        {
          const double zeros[64] = {};
          PointData    data;
          data.parameters = parameters;
          data.fields = data.old_gradient = data.old_value = zeros;
          const auto old                                   = initial_state<Law>(data);
          auto       now                                   = old;
          double     in[m], out[m], tangent[m][m], largest = 0., difference = 0.;
          for (int e = 0; e < m; ++e)
            in[e] = size * (e % 3 - 0.8 + 0.1 * e);
          for_tangent<Law, m>(in, 1., zeros, data, old, now, out,
                              [&](const int r, const int c, const double value) { tangent[r][c] = value; });
          for (int r = 0; r < m; ++r)
            for (int c = 0; c < m; ++c)
            {
              largest    = std::max(largest, std::abs(tangent[r][c]));
              difference = std::max(difference, std::abs(tangent[r][c] - tangent[c][r]));
            }
          if (data.refusal == 0 && largest > 0.)
            worst = std::max(worst, difference / largest);
        }
      return worst;
    }

    static std::string law_name(const std::type_info &);

    void       add(const Row &law);
    const Row &law_of(int material) const;
    bool       packed() const; ///< whether tangents are stored as upper triangles
    void       prepare();
    void       prepare_laws(const std::vector<CoefficientField> &fields_of_laws);
    void       prepare_tangents();
    void       check_fields() const;
    void       pass(Work work, const Vector<double> &u);
    void       sum(Vector<double> &r, bool condensed);
    void       check(const Vector<double> &u) const;
    void       throw_refusal();
    template <typename Function>
    void for_words(const Function &function) const;

    Space                                   domain;
    AdditionalData                          data;
    std::vector<Row>                        rows;
    std::vector<DeviceCoefficients<double>> parameters; ///< [row]
    std::unique_ptr<AssemblerBase<double>>  assembler;
    QuadratureField<double>                 fluxes, sources, tangents;
    DeviceCoefficients<double>              fields;
    int                                     n_fields = 0;
    FaceLaws                                faces;
    Vector<double>                          forces, old_u, history, r;
    double                                  shift = 0., size_of_forces = 0., scale = 0.;
    Array<double>                           state, k; ///< k of corrections
    ElementBatches::Inhomogeneities         cell_k;
    bool                                    has_cell_k = false, has_rate = false, has_old = false;
    Array<int>                              law_of_material;
    Array<std::int64_t>                     failure;
    Step                                    step;
    bool                                    prepared = false, open = false;
  };
} // namespace PatchFEM
