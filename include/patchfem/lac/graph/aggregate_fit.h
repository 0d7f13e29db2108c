// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/lac/graph/aggregate_lists.h>
#include <patchfem/lac/matrix/sliced_ellpack_matrix.h>

namespace PatchFEM
{
  /**
   * Whether aggregates fit new values of the matrix that they were made for, from a sample of some 500 of them.
   *
   * Node i strongly depends on node j where w_ij >= 0.05 m_i, with the weights of CouplingAggregation and m_i the largest
   * one at i: soft nodes depend on stiff ones beside them, and stiff ones do not depend on soft ones. An aggregate holds
   * together if dependences inside it, or over one node outside, lead from all of its nodes but one to a common node. Else
   * there are two stiff parts with soft material between, and the coarse space has no mode for their motion against each
   * other. Soft nodes that hang on stiff ones do little harm: with aggregates of uniform material, halves of a body 1 : 1000
   * take 1.5 times as many steps as with those made anew, a band that has lost its stiffness four, stiff inclusions eleven
   * times as many.
   *
   * In the other direction aggregates that follow couplings are smaller than they have to be, and prolongators shorter, where
   * one strong dependence in ten is new: those of layers 1 : 1e6 take twice as many steps on uniform material.
   */
  class AggregateFit
  {
  public:
    /**
     * Looks at @p aggregates of the nodes of @p A with its values. Those of the first call are what those of later calls,
     * which wait for the back end, are compared with. Collective if @p A is of several ranks.
     */
    template <typename Number>
    void look(const SlicedEllpackMatrix<Number> &A, const AggregateLists &aggregates);

    /** True until a later call of look() finds that they do not. */
    bool fits() const { return is_fit; }

  private:
    Array<int> counts; ///< graph_tools::count_dependences() of the first and of the latest call
    bool       is_fit = true;
  };
} // namespace PatchFEM
