// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/assembly/coefficients.h>
#include <patchfem/assembly/space.h>
#include <patchfem/kernels/laws.h>

#include <memory>

namespace PatchFEM
{
  /**
   * Numbers at the quadrature points of a space, on its back end, 0 at first: what laws make of a solution, for
   * Assembler and for integrate(). A handle: copies and components() denote the same numbers, so that those who have
   * taken it see what is evaluated later. Instantiated for float and double.
   *
   * @code
   *   QuadratureField<double> field(space, 7 + 3);          // tangent and flux
   *   assembler.set_coefficients(field.components(0, 7));   // once
   *   ...
   *   space.constraints().distribute(u);                    // vectors are taken as they are
   *   field.evaluate<MyLaw>(u);
   *   assembler.assemble_matrix(tangent);
   *   integrate(space, {}, field.components(7, 3), residual);
   * @endcode
   */
  template <typename Number>
  class QuadratureField
  {
  public:
    /** No values; in place of a load or a flux: 0. */
    QuadratureField() = default;

    /** @p n_values zeros at each point; also for space.unconstrained(). */
    QuadratureField(const Space &space, int n_values);

    int n_values() const { return n; }

    /** A handle on the values first, ..., first + n_values - 1 of each point. */
    QuadratureField components(int first, int n_values) const;

    /**
     * Law::evaluate() of @p u at all points, see kernels/laws.h; all n_values() are written. The law's kernels must be
     * compiled (patchfem_add_law()). @p u is taken as it is: call space.constraints().distribute(u) first. Values that
     * are not finite are not looked for.
     */
    template <typename Law>
    void evaluate(const Vector<Number> &u, const CoefficientField &parameters = CoefficientField())
    {
      on_owner_then_members(get().space.backend(), [&] {
        DeviceCoefficients<Number> values;
        values.reinit(get().space.batches(), parameters, Law::n_parameters, "The law");
        run<Law>(u, values.view());
      });
    }

    /**
     * With parameters on the back end, of any field but this one's own values: Newton's method would change what it
     * reads. The states of materials are kept by LawAssembler.
     */
    template <typename Law>
    void evaluate(const Vector<Number> &u, const QuadratureField &parameters)
    {
      require(parameters.data != data || parameters.offset >= offset + n || offset >= parameters.offset + parameters.n,
              "A law cannot write the values that it reads as parameters; give it another field.");
      on_owner_then_members(get().space.backend(),
                            [&] { run<Law>(u, parameters.view(get().space, Law::n_parameters, "The law")); });
    }

    /** [batch][cell of the tables][q][n_values], as CoefficientField::at_quadrature_points() has them. */
    std::vector<std::vector<double>> copy_to_host() const;

    /**
     * For those on @p space who need @p n_values; kind none if there are no values. Throws Error if they do not fit: on one
     * rank it may be another space of the same cells and points.
     * @param name what messages call who takes them, such as "The weak form".
     */
    CoefficientView<Number> view(const Space &space, int n_values, const char *name) const;

    /** The values of batch @p b on the back end, from one point to the next those of all components(); or null. */
    Number *data_of(const int b) const { return data ? data->values.data() + data->first[b] + offset : nullptr; }

    /** Keeps what view() points to. */
    std::shared_ptr<const void> keeper() const { return data; }

    /** Of all values that are shared, on the back end. */
    std::size_t memory_consumption() const { return data ? data->values.memory_consumption() : 0; }

  private:
    struct Data
    {
      Space         space;
      int           stride;
      std::int64_t  first[BatchesView::max_batches]; ///< of each batch
      Array<Number> values;                          ///< [batch][cell of the tables][q][stride]
    };

    Data &get() const;

    template <typename Law>
    void run(const Vector<Number> &u, const CoefficientView<Number> &parameters)
    {
      Data                 &d       = get();
      const ElementBatches &batches = d.space.batches();
      require(batches.dimension() == Law::dimension, "The law and the mesh have different dimensions.");
      require(batches.n_components() == Law::n_components,
              "The law and the finite element have different numbers of components.");
      require(n == Law::n_values, "The law writes ", Law::n_values, " values at each point, but the field has ", n,
              ".");
      require(parameters.kind != CoefficientView<Number>::none || Law::n_parameters == 0, "The law needs ",
              Law::n_parameters, " parameters.");
      require(std::int64_t(u.size()) == batches.n_dofs(),
              "A vector does not have an entry for each unknown of its space.");
      require(u.backend() == batches.backend(), "A vector lives on another back end than its space.");
      require(u.partitioner() == batches.partitioner(), "A vector is not of the ranks of its space.");
      u.update_ghosts();
      LawArguments<Number> arguments{batches.view(), u.data(), parameters, {}, d.stride};
      for (int b = 0; b < batches.n_batches(); ++b)
        arguments.values[b] = d.values.data() + d.first[b] + offset;
      launch(batches.backend(),
             [&](auto where) { kernels::LawKernels<decltype(where), Law>::evaluate(where, arguments); });
    }

    std::shared_ptr<Data> data;
    int                   offset = 0, n = 0;
  };

  /**
   * rhs_i = int f_c phi_i + F_cd d_d phi_i for each unknown i, c its component, with @p load f, a value for each
   * component, and @p flux F, [component][dim]; either may be empty. Constraints are condensed, C^T rhs with 0 at
   * constrained unknowns, unless @p condense is false. The same bits each time, for any number of threads.
   */
  template <typename Number>
  void integrate(const Space                   &space,
                 const QuadratureField<Number> &load,
                 const QuadratureField<Number> &flux,
                 Vector<Number>                &rhs,
                 bool                           condense = true);
} // namespace PatchFEM
