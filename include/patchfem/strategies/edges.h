// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/kernels/patches_host.h>

#include <tuple>

namespace PatchFEM
{
  /**
   * Pairs of neighbouring nodes of linear simplices, and the cells around the edge between them. A patch has those of which a
   * node is its own. Nodes are numbered in the patch: its rows, then its halo, the other nodes of its cells.
   *
   * In 3D the cells around an edge (lo, hi) follow each other: one with the nodes (lo, hi, u, v) is left through v,
   * which is u of the next. So a chain of m cells is a list of m + 1 nodes, of which the first is marked. In 2D a list has the third
   * node of each cell, marked where (lo, hi, node) turns the other way than the reference cell.
   */
  struct EdgesView
  {
    static constexpr int lanes = 32; ///< edges whose lists lie side by side, the longest first

    static constexpr std::uint16_t none = 65535, end = 32767, mark = 32768;

    struct Edge
    {
      std::uint16_t lo, hi;       ///< nodes of the patch, the first with the smaller global number; none: no edge
      std::uint16_t to_lo, to_hi; ///< blocks (lo, hi) and (hi, lo) among those of the patch's rows; none: not its own
    };

    const std::int64_t *halo_offsets; ///< [patch + 1]
    const int          *halo;         ///< nodes
    const std::int64_t *edge_offsets; ///< [patch + 1], multiples of lanes
    const Edge         *edges;
    const std::int64_t *list_offsets; ///< [edge / lanes + 1]
    const std::uint16_t *
        nodes; ///< [list_offsets + step * lanes + edge % lanes]; end: behind a list; readable for two steps behind the last
    const std::uint16_t *cells;                  ///< likewise, the cell that the node closes, among those of the patch
    int                  most_nodes, most_edges; ///< of a patch
  };

  namespace kernels
  {
    struct NoMoments
    {};
    template <typename Form, typename Number, typename = void>
    struct MomentsOrNone
    {
      using Type = NoMoments;
    };
    template <typename Form, typename Number>
    struct MomentsOrNone<Form, Number, std::void_t<typename Form::template Moments<Number>>>
    {
      using Type = typename Form::template Moments<Number>;
    };

    /**
     * Entries of linear simplices whose form depends on gradients alone, edge by edge: one worker sums the integrals of
     * all cells around an edge in registers. With e = x_hi - x_lo, u and v likewise, the gradients of the two shape functions
     * times det = e . (u x v) are
     *   N_hi = u x v,   N_lo = -N_hi - (v - u) x e,
     * and an entry is the sum of the form of (N_lo, N_hi) times volume / det. Since gradients add up to zero, diagonal blocks
     * are minus the sum of the others in the row. A node has dim edges in each of its cells, so that its load is the sum over its
     * edges of the loads of their cells, over dim. Sums follow edges and columns: no bit depends on the cut.
     *
     * In 3D a cell has 6 edges, each 1 + 1 / m steps of 2 bytes and 3 numbers of fast memory, and some 36 operations.
     */
    template <typename Form, typename Number>
    struct EdgeBody : public PatchBody<Form::n_components, Number>
    {
      static constexpr int dim = Form::dimension, n_comp = Form::n_components, n_block = n_comp * n_comp;

      using Block  = SmallMatrix<n_comp, n_comp, Number>;
      using Vector = SmallVector<dim, Number>;

      EdgesView edges;

      /** What the cells around an edge add to block (lo, hi) and, dim times, to the loads of its nodes. */
      struct Sums
      {
        Block  block{};
        Number load[2][n_comp] = {};
      };

      PATCHFEM_HOST_DEVICE std::size_t point_bytes() const
      {
        return (sizeof(double) * dim * edges.most_nodes + 15) / 16 * 16;
      }
      std::size_t worker_bytes() const
      {
        return point_bytes() + (this->loaded() ? sizeof(Number) * n_block * edges.most_edges : 0);
      }

      /** Whether coefficients and load are the same everywhere. */
      PATCHFEM_HOST_DEVICE bool constant() const
      {
        return this->a.coefficients.kind <= CoefficientView<Number>::constant &&
               this->a.load.kind <= CoefficientView<Number>::constant;
      }

      /** Coordinate number @p i of the patch's nodes. */
      PATCHFEM_INLINE double coordinate(const int patch, const int i) const
      {
        const PatchesView &p     = this->a.patches;
        const int          first = p.first_row(patch), own = (p.end_row(patch) - first) * dim;
        const int          halo = i < own ? 0 : edges.halo[edges.halo_offsets[patch] + (i - own) / dim];
        return this->a.batches.points[i < own ? std::int64_t(first) * dim + i : std::int64_t(halo) * dim + i % dim];
      }
      PATCHFEM_INLINE int n_coordinates(const int patch) const
      {
        return (this->a.patches.end_row(patch) - this->a.patches.first_row(patch) +
                static_cast<int>(edges.halo_offsets[patch + 1] - edges.halo_offsets[patch])) *
               dim;
      }

      static PATCHFEM_INLINE Vector cross(const Vector &a, const Vector &b)
      {
        Vector result{};
        if constexpr (dim == 3)
          result = {{a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]}};
        return result;
      }

      /** A cell: gradients of lo and hi times the determinant, and that. */
      struct Cell
      {
        ShapeFunction<dim, Number> lo, hi;
        Number                     det;
      };

      /** With the nodes at @p u and @p v from lo; in 2D there is no u. */
      static PATCHFEM_INLINE Cell cell(const Vector &e, const Vector &u, const Vector &v, const bool other_way)
      {
        Cell result;
        result.lo.value = result.hi.value = Number(1) / Number(dim + 1);
        Vector third;
        if constexpr (dim == 3)
        {
          result.hi.gradient = cross(u, v);
          third              = cross({{v[0] - u[0], v[1] - u[1], v[2] - u[2]}}, e);
        }
        else
        {
          const Number sign  = other_way ? Number(-1) : Number(1);
          result.hi.gradient = {{sign * v[1], -sign * v[0]}};
          third              = {{-sign * e[1], sign * e[0]}};
        }
        result.det = dot(e, result.hi.gradient);
        PATCHFEM_UNROLL
        for (int d = 0; d < dim; ++d)
          result.lo.gradient[d] = -result.hi.gradient[d] - third[d];
        return result;
      }

      static PATCHFEM_INLINE Number volume() { return Number(1) / Number(dim == 2 ? 2 : 6); }

      /** Adds the integral over cell @p local of the batch to block (lo, hi). */
      PATCHFEM_INLINE void add_form(const Cell &cell, const int local, Block &sum) const
      {
        const AssemblyArguments<Number> &a   = this->a;
        const ReferenceView             &r   = a.batches.batch[a.computed_batch].reference;
        const int                        n_q = a.coefficients.varies_inside_cells() ? r.n_quadrature : 1;
        for (int q = 0; q < n_q; ++q)
        {
          const Number weight = (n_q > 1 ? static_cast<Number>(r.weights[q]) : volume()) / cell.det;
          const Block  block = Form::matrix(a.coefficients.at(a.batches, a.computed_batch, local, q), cell.lo, cell.hi);
          PATCHFEM_UNROLL
          for (int c = 0; c < n_comp; ++c)
            PATCHFEM_UNROLL
          for (int d = 0; d < n_comp; ++d)
            sum(c, d) += weight * block(c, d);
        }
      }

      /** Adds the load of cell @p local to @p sum, for the shape function of node @p node. */
      PATCHFEM_INLINE void add_load(const Number det, const int local, const int node, Number (&sum)[n_comp]) const
      {
        const AssemblyArguments<Number> &a     = this->a;
        const BatchView                 &batch = a.batches.batch[a.computed_batch];
        const ReferenceView             &r     = batch.reference;
        const int                       *nodes = batch.nodes + std::int64_t(local) * (dim + 1);
        int                              i     = 0;
        while (nodes[i] != node)
          ++i;
        const int n_q = a.load.varies_inside_cells() ? r.n_quadrature : 1;
        for (int q = 0; q < n_q; ++q)
        {
          const Number  weight = n_q > 1 ? static_cast<Number>(r.weights[q] * r.shape_values[q * (dim + 1) + i])
                                         : volume() / Number(dim + 1);
          const Number *f      = a.load.at(a.batches, a.computed_batch, local, q);
          for (int c = 0; c < n_comp; ++c)
            sum[c] += weight * det * f[c];
        }
      }

      /** An edge, where its list is, and the first two steps. */
      struct List
      {
        EdgesView::Edge edge{EdgesView::none, EdgesView::none, EdgesView::none, EdgesView::none};
        std::int64_t    begin   = 0;
        int             n_steps = 0; ///< of the longest list beside it
        unsigned int    node = EdgesView::end, next = EdgesView::end;
      };

      PATCHFEM_INLINE List list_of(const std::int64_t number) const
      {
        List               list;
        const std::int64_t slice = number / EdgesView::lanes, begin = edges.list_offsets[slice];
        list.edge    = edges.edges[number];
        list.begin   = begin + number % EdgesView::lanes;
        list.n_steps = static_cast<int>(edges.list_offsets[slice + 1] - begin) / EdgesView::lanes;
        list.node    = edges.nodes[list.begin];
        list.next    = list.n_steps > 1 ? edges.nodes[list.begin + EdgesView::lanes] : EdgesView::end;
        return list;
      }

      /** Sums of an edge of @p patch, whose nodes are at @p points; @p constant is constant(). */
      template <bool constant>
      PATCHFEM_INLINE Sums sum(const int patch, const List &list, const double *points) const
      {
        const AssemblyArguments<Number> &a  = this->a;
        const int                        lo = list.edge.lo, hi = list.edge.hi;
        double                           origin[dim];
        PATCHFEM_UNROLL
        for (int d = 0; d < dim; ++d)
          origin[d] = points[lo * dim + d];
        const auto from_lo = [&](const unsigned int node) {
          // Behind the end of a list there is no node.
          const double *point =
              points + (node == EdgesView::end ? lo : static_cast<int>(node & (EdgesView::mark - 1))) * dim;
          Vector result;
          PATCHFEM_UNROLL
          for (int d = 0; d < dim; ++d)
            result[d] = static_cast<Number>(point[d] - origin[d]);
          return result;
        };
        unsigned int                               node = list.node, next = list.next;
        const std::uint16_t                       *further = edges.nodes + list.begin + 2 * EdgesView::lanes;
        const Vector                               e       = from_lo(static_cast<unsigned int>(hi));
        Vector                                     u{}, v = from_lo(node);
        Sums                                       sums;
        Number                                     det = Number(0);
        typename MomentsOrNone<Form, Number>::Type moments{};
        for (int step = 0; step < list.n_steps && node != EdgesView::end; ++step, further += EdgesView::lanes)
        {
          // What comes is on its way while this step computes; there is memory behind the last list.
          const unsigned int after   = *further;
          const Vector       v_after = from_lo(next);
          const bool         marked  = node & EdgesView::mark;
          if (dim == 2 || !marked)
          {
            const Cell one   = cell(e, u, v, marked);
            int        local = 0;
            if (!constant)
              local =
                  a.patches.cells[a.patches.cell_offsets[patch] + edges.cells[list.begin + step * EdgesView::lanes]] -
                  a.batches.batch[a.computed_batch].first_cell;
            if constexpr (constant && has_moments<Form>)
              Form::add(moments, Number(1) / one.det, one.lo, one.hi);
            else if (this->with_matrix())
              add_form(one, local, sums.block);
            if (constant)
              det += one.det;
            else if (this->loaded())
            {
              add_load(one.det, local, node_of(patch, lo), sums.load[0]);
              add_load(one.det, local, node_of(patch, hi), sums.load[1]);
            }
          }
          u    = v;
          v    = v_after;
          node = next;
          next = step + 2 < list.n_steps ? after : EdgesView::end;
        }
        if constexpr (constant && has_moments<Form>)
        {
          sums.block = Form::finish(a.coefficients.at(a.batches, a.computed_batch, 0, 0), moments);
          PATCHFEM_UNROLL
          for (int c = 0; c < n_comp; ++c)
            PATCHFEM_UNROLL
          for (int d = 0; d < n_comp; ++d)
            sums.block(c, d) *= volume();
        }
        if (constant && this->loaded())
          for (int c = 0; c < n_comp; ++c)
            sums.load[0][c] = sums.load[1][c] =
                det * (volume() / Number(dim + 1)) * a.load.at(a.batches, a.computed_batch, 0, 0)[c];
        return sums;
      }

      /** The number in the mesh of a node of the patch. */
      PATCHFEM_INLINE int node_of(const int patch, const int node) const
      {
        const PatchesView &p     = this->a.patches;
        const int          first = p.first_row(patch), n_rows = p.end_row(patch) - first;
        return node < n_rows ? first + node : edges.halo[edges.halo_offsets[patch] + node - n_rows];
      }

      // Phases of a patch, which share out their items over @p size workers, with a barrier between them.

      using Scratch = typename PatchBody<n_comp, Number>::Scratch;

      PATCHFEM_INLINE double *points(const Scratch &s) const { return static_cast<double *>(s.workers); }
      PATCHFEM_INLINE Number *values(const Scratch &s) const
      {
        return reinterpret_cast<Number *>(static_cast<char *>(s.workers) + point_bytes());
      }

      PATCHFEM_INLINE void load_points(const int patch, const int rank, const int size, const Scratch &s) const
      {
        for (int i = rank; i < n_coordinates(patch); i += size)
          points(s)[i] = coordinate(patch, i);
      }

      /** Blocks of all edges; if there is a load their values are kept aside and their loads are in the blocks' place. */
      template <bool constant>
      PATCHFEM_INLINE void sum_edges(const int patch, const int rank, const int size, const Scratch &s) const
      {
        const std::int64_t first = edges.edge_offsets[patch];
        const int          n     = static_cast<int>(edges.edge_offsets[patch + 1] - first);
        List               next  = rank < n ? list_of(first + rank) : List();
        for (int number = rank; number < n; number += size)
        {
          const List            list = next;
          const EdgesView::Edge edge = list.edge;
          if (number + size < n)
            next = list_of(first + number + size);
          if (edge.lo == EdgesView::none)
            continue;
          const Sums sums = sum<constant>(patch, list, points(s));
          if (!this->loaded())
          {
            put(edge, sums.block, s);
            continue;
          }
          for (int e = 0; e < n_block; ++e)
            values(s)[number * n_block + e] = sums.block(e / n_comp, e % n_comp);
          for (int c = 0; c < n_comp; ++c)
          {
            if (edge.to_lo != EdgesView::none)
              s.blocks[edge.to_lo * n_block + c] = sums.load[0][c];
            if (edge.to_hi != EdgesView::none)
              s.blocks[edge.to_hi * n_block + c] = sums.load[1][c];
          }
        }
      }

      PATCHFEM_INLINE void put(const EdgesView::Edge &edge, const Block &block, const Scratch &s) const
      {
        for (int c = 0; c < n_comp; ++c)
          for (int d = 0; d < n_comp; ++d)
          {
            if (edge.to_lo != EdgesView::none)
              s.blocks[edge.to_lo * n_block + c * n_comp + d] = block(c, d);
            if (edge.to_hi != EdgesView::none)
              s.blocks[edge.to_hi * n_block + d * n_comp + c] = block(c, d);
          }
      }

      PATCHFEM_INLINE int n_rows(const int patch) const
      {
        return this->a.patches.end_row(patch) - this->a.patches.first_row(patch);
      }

      /** Loads of rows from the places of their blocks, which become 0 again. */
      PATCHFEM_INLINE void sum_loads(const int patch, const int rank, const int size, const Scratch &s) const
      {
        for (int i = rank; i < n_rows(patch) * n_comp; i += size)
        {
          Number sum = Number(0);
          for (int k = s.start[i / n_comp]; k < s.start[i / n_comp + 1]; ++k)
          {
            sum += s.blocks[k * n_block + i % n_comp];
            s.blocks[k * n_block + i % n_comp] = Number(0);
          }
          s.rhs[i] = sum / Number(dim);
        }
      }

      PATCHFEM_INLINE void put_values(const int patch, const int rank, const int size, const Scratch &s) const
      {
        const std::int64_t first = edges.edge_offsets[patch], n = edges.edge_offsets[patch + 1] - first;
        for (std::int64_t k = rank; k < n; k += size)
          if (edges.edges[first + k].lo != EdgesView::none)
          {
            Block block;
            for (int e = 0; e < n_block; ++e)
              block(e / n_comp, e % n_comp) = values(s)[k * n_block + e];
            put(edges.edges[first + k], block, s);
          }
      }

      PATCHFEM_INLINE void sum_diagonals(const int patch, const int rank, const int size, const Scratch &s) const
      {
        for (int i = rank; i < n_rows(patch) * n_block; i += size)
        {
          const int row = i / n_block, e = i % n_block;
          Number    sum = Number(0);
          for (int k = s.start[row]; k < s.start[row + 1]; ++k)
            sum += s.blocks[k * n_block + e];
          s.blocks[(s.start[row] + s.diagonal[row]) * n_block + e] = Number(0) - sum;
        }
      }
    };

    template <typename Form, typename Number>
    struct HostEdges : public AnyKernel
    {
      static constexpr bool        possible = is_symmetric<Form> && depends_on_gradients_only<Form>;
      static constexpr const char *name     = "linear simplices, edge by edge";

      static bool serves(const KernelRequest &r)
      {
        return r.strategy == "edges" && r.reference.barycentric && r.points_are_nodes;
      }

      /** Rows and halo, and for each row some eight edges with their values. */
      static constexpr std::size_t bytes_per_row =
          2 * Form::dimension * sizeof(double) +
          (Form::dimension == 3 ? 10 : 4) * Form::n_components * Form::n_components * sizeof(Number);

      static PatchRoom room(const KernelRequest &r)
      {
        PatchRoom room{r.fast_memory / std::max(1, r.concurrent), 0, bytes_per_row};
        room.most_redundant = 1.; // only if named
        return room;
      }

      static void launch(Host, const AssemblyArguments<Number> &a)
      {
        const EdgeBody<Form, Number> body{{a}, *static_cast<const EdgesView *>(a.own_lists)};
        sum_patches(body, body.worker_bytes(), [&](const int patch, const auto &scratch) {
          body.load_points(patch, 0, 1, scratch);
          if (body.constant())
            body.template sum_edges<true>(patch, 0, 1, scratch);
          else
            body.template sum_edges<false>(patch, 0, 1, scratch);
          if (body.loaded())
          {
            body.sum_loads(patch, 0, 1, scratch);
            body.put_values(patch, 0, 1, scratch);
          }
          body.sum_diagonals(patch, 0, 1, scratch);
        });
      }
    };
  } // namespace kernels

  struct StrategyRow;

  namespace strategies
  {
    /** Entries of linear simplices are summed over the cells around their edge (P4, section 4.4, for all cells of an edge at once). */
    struct Edges
    {
      static StrategyRow row();

      template <typename Form, typename Number>
      static auto kernels(Host)
      {
        return std::tuple<PatchFEM::kernels::HostEdges<Form, Number>>();
      }

      template <typename Form, typename Number>
      static auto kernels(Cuda);
    };
  } // namespace strategies
} // namespace PatchFEM

#ifdef __CUDACC__
#include "strategy_edges.cuh"
#endif
