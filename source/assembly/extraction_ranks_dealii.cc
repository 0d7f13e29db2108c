// SPDX-License-Identifier: LGPL-2.1-or-later
#include "assembly/extraction_steps_dealii.h"
#include "assembly/owner_lines_dealii.h"

#include <patchfem/base/exceptions.h>
#include <patchfem/base/threads.h>

#include <deal.II/grid/tria.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <numeric>

namespace PatchFEM::internal
{
  namespace
  {
    /**
     * The work of extract_element_tables() on one of several ranks. Cells are read once, into slots (RankDofs), and
     * what follows concerns the few unknowns at the borders of ranks, but for two passes over the slots of own cells:
     * one to number nodes and one to find the cells that others need. Where unknowns of nodes come in blocks, as deal.II
     * numbers those of an FESystem on vertices, these have one slot of 4 bytes for each node.
     */
    template <int dim>
    class RankExtraction : ExtractionBase<dim>
    {
    public:
      RankExtraction(const std::shared_ptr<const MPICommunicator> &communicator, const ExtractionInput<dim> &input)
          : Base(input), ranks(*communicator), dofs(communicator, input.dof_handler.locally_owned_dofs())
      {
        tables.ranks.communicator = communicator;
      }

      ElementTables run()
      {
        ranks.agree_on_errors([&] { find_cells(); });
        make_batches();
        ranks.agree_on_errors([&] {
          for (unsigned int b = 0; b < tables.batches.size(); ++b)
            read_cells(b);
          if (!read_slots(true) || !number_owned_blocks())
          {
            read_slots(false);
            number_owned_nodes();
          }
          read_faces();
        });
        check_faces();
        n_cell_slots = dofs.size();
        lines        = closed_lines_of_owners(dofs, constraints, dof_handler.n_dofs());

        std::map<int, Communicator::Bytes> records;
        ranks.agree_on_errors([&] {
          choose_copies();
          for (const RankTables::Copies &copies : tables.ranks.sent)
            records[copies.rank] = record(copies);
        });
        const std::map<int, Communicator::Bytes> received = ranks.exchange(records);
        ranks.agree_on_errors([&] {
          for (const auto &[rank, bytes] : received)
            append(rank, bytes);
        });
        number_ghosts();
        ranks.agree_on_errors([&] {
          write_cells();
          write_constraints();
          write_points();
        });
        if (points_are_nodes) // those of masters' nodes, which no cell here may have
          Partitioner(tables.ranks.communicator, tables.ranks.n_owned_nodes, tables.ranks.ghosts)
              .update_ghosts(tables.points.data(), dim);
        return std::move(tables);
      }

    private:
      using Base = ExtractionBase<dim>;
      using Base::dof_handler, Base::triangulation, Base::constraints, Base::data, Base::n_components, Base::geometry,
          Base::points_are_nodes, Base::tables;
      using typename Base::Accessor;
      using CellIterator = typename dealii::Triangulation<dim>::cell_iterator;
      using Place        = std::pair<int, int>; ///< level and index of a cell

      const Communicator &ranks;
      RankDofs            dofs;
      int                 n_cell_slots = 0; ///< those before have a cell of this rank
      SlotLines           lines;            ///< closed

      std::vector<std::vector<Place>>        cells_of_fe;
      std::vector<unsigned int>              fe_of_batch;
      std::vector<std::vector<unsigned int>> local_dofs; ///< [batch]: deal.II's local index of [shape][component]

      /// Given components of a node's unknowns: all, or 1 where slots of the others follow that of the first.
      int n_given = 1;
      int unknowns_per_slot() const { return n_components / n_given; }

      std::vector<std::vector<int>> slots;           ///< [batch]: [own cell][shape][given component]
      std::vector<int>              unknown_of_slot; ///< in the tables, or -1

      /// Cells of other ranks: [batch]: [cell][shape] slots of nodes' first unknowns, [cell][geometry][dim] positions.
      std::vector<std::vector<int>>    received_nodes;
      std::vector<std::vector<double>> received_points;
      /// A line of one of their unknowns: the slot of its node's first one, the component, and the line in lines.
      struct ReceivedLine
      {
        int first_slot, component, line;
      };
      std::vector<ReceivedLine> received_lines;

      int n_shape(const int b) const { return tables.batches[b].reference.n_shape; }
      int n_geometry(const int b) const { return tables.batches[b].reference.n_geometry; }

      /** The places of all active cells that @p is_wanted, of elements with unknowns. */
      template <typename Predicate>
      std::vector<std::vector<Place>> places_of(const Predicate &is_wanted) const
      {
        std::vector<std::vector<Place>> result(dof_handler.get_fe_collection().size());
        for (unsigned int level = 0; level < triangulation.n_levels(); ++level)
          for (unsigned int index = 0; index < triangulation.n_raw_cells(level); ++index)
          {
            const Accessor cell(&triangulation, level, index, &dof_handler);
            if (cell.used() && !cell.has_children() && is_wanted(cell) && cell.get_fe().n_dofs_per_cell() > 0)
              result[cell.active_fe_index()].push_back({static_cast<int>(level), static_cast<int>(index)});
          }
        return result;
      }

      Accessor cell_at(const Place &place) const
      {
        return Accessor(&triangulation, place.first, place.second, &dof_handler);
      }

      void find_cells()
      {
        this->check();
        cells_of_fe = places_of([](const Accessor &cell) { return cell.is_locally_owned(); });
      }

      /** One for each element that has a cell on some rank. */
      void make_batches()
      {
        std::vector<std::int64_t> n_cells;
        for (const std::vector<Place> &cells : cells_of_fe)
          n_cells.push_back(static_cast<std::int64_t>(cells.size()));
        ranks.maximum(n_cells.data(), static_cast<int>(n_cells.size()));
        ranks.agree_on_errors([&] {
          for (unsigned int i = 0; i < n_cells.size(); ++i)
            if (n_cells[i] > 0)
            {
              fe_of_batch.push_back(i);
              CellTable &batch = tables.batches.emplace_back();
              batch.n_cells    = static_cast<int>(cells_of_fe[i].size());
              local_dofs.push_back(this->tabulate_element(i, batch));
              tables.ranks.n_own_cells.push_back(batch.n_cells);
            }
          slots.resize(tables.batches.size());
          received_nodes.resize(tables.batches.size());
          received_points.resize(tables.batches.size());
        });
      }

      const std::vector<Place> &own_cells(const int b) const { return cells_of_fe[fe_of_batch[b]]; }

      void read_cells(const int b)
      {
        const std::vector<Place> &places = own_cells(b);
        CellTable                &batch  = tables.batches[b];
        batch.material_ids.resize(places.size());
        batch.active_index.resize(places.size());
        parallel_for(places.size(), [&](const std::int64_t i) {
          const Accessor cell   = cell_at(places[i]);
          batch.material_ids[i] = static_cast<int>(cell.material_id());
          batch.active_index[i] = static_cast<int>(cell.active_cell_index());
        });
      }

      /** Of own cells, those of nodes if unknowns come @p in_blocks; false if they do not. */
      bool read_slots(const bool in_blocks)
      {
        n_given     = in_blocks ? 1 : n_components;
        bool result = true;
        for (unsigned int b = 0; b < tables.batches.size() && result; ++b)
          result = read_slots(b, own_cells(b), slots[b]);
        return result;
      }

      /** @p result becomes [cell][shape][given component] of cells of the element of batch @p b; false if it cannot. */
      bool read_slots(const int b, const std::vector<Place> &places, std::vector<int> &result)
      {
        const std::vector<unsigned int>                        &local = local_dofs[b];
        const int                                               step  = unknowns_per_slot();
        std::vector<std::vector<std::pair<std::size_t, Index>>> foreign(max_threads());
        std::atomic<bool>                                       follow{true};
        result.resize(places.size() * local.size() / step);
        on_all_threads([&](const int thread, const int n_threads) {
          std::vector<Index> indices(local.size());
          for (std::size_t i = places.size() * thread / n_threads;
               i < places.size() * (thread + 1) / n_threads && follow; ++i)
          {
            cell_at(places[i]).get_dof_indices(indices);
            for (std::size_t k = 0; k < local.size(); k += step)
            {
              const std::size_t place = (i * local.size() + k) / step;
              const Index       dof   = indices[local[k]];
              const int         slot  = dofs.owned_slot(dof);
              result[place]           = slot;
              if (slot < 0)
                foreign[thread].emplace_back(place, dof);
              bool here =
                  step == 1 || slot < 0 || (slot % step == 0 && dofs.owned_slot(dof + step - 1) == slot + step - 1);
              for (int c = 1; c < step; ++c)
                here = here && indices[local[k + c]] == dof + c;
              if (!here)
                follow = false;
            }
          }
        });
        if (!follow)
          return false;
        for (const auto &of_thread : foreign)
          for (const auto &[place, dof] : of_thread)
          {
            result[place] = dofs.slot(dof);
            for (int c = 1; c < step; ++c)
              if (dofs.slot(dof + c) != result[place] + c)
                follow = false;
          }
        return follow;
      }

      /** Calls @p function(k, slot) for each of an own cell's unknowns k, [shape][component]. */
      template <typename Function>
      void visit_slots(const int b, const std::size_t cell, const Function &function) const
      {
        const int        step = unknowns_per_slot(), n = static_cast<int>(local_dofs[b].size()) / step;
        const int *const given = slots[b].data() + cell * n;
        for (int i = 0; i < n; ++i)
          for (int c = 0; c < step; ++c)
            function(i * step + c, given[i] + c);
      }

      /** Nodes are numbered as their slots are: then unknowns are slots. False if an owned one has no own cell, or a part. */
      bool number_owned_blocks()
      {
        const int         n = dofs.n_owned(), n_nodes = n / n_components;
        std::vector<char> met(n_nodes, 0);
        for (const std::vector<int> &of_batch : slots)
          for (const int slot : of_batch)
            if (slot < n)
              met[slot / n_components] = 1;
        if (n_nodes * n_components != n || std::find(met.begin(), met.end(), 0) != met.end())
          return false;
        unknown_of_slot.resize(n);
        std::iota(unknown_of_slot.begin(), unknown_of_slot.end(), 0);
        name_owned(n_nodes);
        return true;
      }

      /** Nodes of which this rank has the first unknown, in the order of these. */
      void number_owned_nodes()
      {
        constexpr int first = -2;
        const int     n     = dofs.n_owned();
        unknown_of_slot.assign(n, -1);
        int        n_nodes = 0;
        const auto meet    = [&](const std::vector<int> &nodes) {
          for (std::size_t i = 0; i < nodes.size(); i += n_components)
            if (nodes[i] < n && unknown_of_slot[nodes[i]] != first)
            {
              unknown_of_slot[nodes[i]] = first;
              ++n_nodes;
            }
        };
        for (const std::vector<int> &of_batch : slots)
          meet(of_batch);
        std::vector<std::vector<int>> of_ghosts; // where an owned node has no own cell
        if (std::int64_t(n_nodes) * n_components != n)
        {
          const auto places = places_of([](const Accessor &cell) { return cell.is_ghost(); });
          for (unsigned int b = 0; b < tables.batches.size(); ++b)
          {
            read_slots(b, places[fe_of_batch[b]], of_ghosts.emplace_back());
            meet(of_ghosts.back());
          }
        }
        bool fits = std::int64_t(n_nodes) * n_components == n;
        int  next = 0;
        for (int slot = 0; slot < n; ++slot)
          if (unknown_of_slot[slot] == first)
          {
            unknown_of_slot[slot] = next;
            next += n_components;
          }
        const auto claim = [&](const std::vector<int> &nodes) {
          for (std::size_t i = 0; i < nodes.size(); i += n_components)
            for (int c = 1; c < n_components; ++c)
              if (nodes[i] >= n || nodes[i + c] >= n)
                fits = fits && nodes[i] >= n && nodes[i + c] >= n;
              else
              {
                int      &unknown  = unknown_of_slot[nodes[i + c]];
                const int expected = unknown_of_slot[nodes[i]] + c;
                fits               = fits && (unknown == -1 || unknown == expected);
                unknown            = expected;
              }
        };
        for (const auto *list : {&slots, &of_ghosts})
          for (const std::vector<int> &nodes : *list)
            claim(nodes);
        require(fits, "The ", n, " degrees of freedom of one process do not form ", n_nodes, " nodes of ", n_components,
                " unknowns: use one numbering without gaps for all components.");
        name_owned(n_nodes);
      }

      /** deal.II's indices of the unknowns of owned nodes. */
      void name_owned(const int n_nodes)
      {
        tables.ranks.n_owned_nodes = n_nodes;
        tables.dof_indices.resize(dofs.n_owned());
        parallel_for(dofs.n_owned(), [&](const std::int64_t slot) {
          tables.dof_indices[unknown_of_slot[slot]] = dofs.dof(static_cast<int>(slot));
        });
      }

      void read_faces()
      {
        if (!data.all_boundary_faces && data.boundary_ids.empty())
          return;
        for (unsigned int b = 0; b < tables.batches.size(); ++b)
          for (int i = 0; i < tables.batches[b].n_cells; ++i)
            Base::read_faces(cell_at(own_cells(b)[i]), b, i, tables.faces);
        tables.ranks.n_own_faces = static_cast<int>(tables.faces.size());
      }

      /** Each id asked for must be on some rank. */
      void check_faces()
      {
        std::set<int> here;
        for (const FaceEntry &face : tables.faces)
          here.insert(face.boundary_id);
        std::set<dealii::types::boundary_id> missing = data.boundary_ids;
        for (const Communicator::Bytes &ids :
             ranks.all_gather(Communicator::pack(std::vector<int>(here.begin(), here.end()))))
          for (const int id : Communicator::unpack<int>(ids))
            missing.erase(id);
        if (ranks.maximum(std::int64_t(missing.size())) == 0)
          return;
        // Of own cells alone: a fully distributed mesh has faces of ghost cells with ids that mean nothing.
        std::set<dealii::types::boundary_id> own;
        for (const std::vector<Place> &cells : cells_of_fe)
          for (const Place &place : cells)
            for (const auto &face : cell_at(place).face_iterators())
              if (face->at_boundary())
                own.insert(face->boundary_id());
        const auto all = ranks.concatenate(std::vector<dealii::types::boundary_id>(own.begin(), own.end()));
        const std::set<dealii::types::boundary_id> present(all.begin(), all.end());
        ranks.agree_on_errors([&] { check_boundary_ids(missing, present); });
      }

      /** A cell goes to the owners of its nodes and of the masters of its unknowns. */
      void choose_copies()
      {
        // Slots of cells that others may need: most cells have none of them. In blocks those of nodes stand for all.
        std::vector<char> concerns(n_cell_slots, 0);
        for (int slot = 0; slot < n_cell_slots; ++slot)
          if (slot >= dofs.n_owned() || lines.line(slot) >= 0)
            concerns[slot - slot % unknowns_per_slot()] = 1;
        std::map<int, RankTables::Copies> copies;
        std::vector<int>                  owners;
        const auto                        meet = [&](const int slot) {
          if (slot >= dofs.n_owned() && (owners.empty() || owners.back() != dofs.owner(slot)))
            owners.push_back(dofs.owner(slot));
        };
        for (unsigned int b = 0; b < slots.size(); ++b)
          for (int cell = 0; cell < tables.batches[b].n_cells; ++cell)
          {
            const int  n     = n_shape(b) * n_given;
            const auto given = slots[b].begin() + std::ptrdiff_t(cell) * n;
            if (std::none_of(given, given + n, [&](const int slot) { return concerns[slot]; }))
              continue;
            owners.clear();
            visit_slots(b, cell, [&](int, const int slot) {
              meet(slot);
              const int line = lines.line(slot);
              if (line >= 0)
                for (std::int64_t m = lines.offsets[line]; m < lines.offsets[line + 1]; ++m)
                  meet(lines.entries[m].first);
            });
            if (owners.size() > 1)
            {
              std::sort(owners.begin(), owners.end());
              owners.erase(std::unique(owners.begin(), owners.end()), owners.end());
            }
            for (const int rank : owners)
            {
              RankTables::Copies &of_rank = copies[rank];
              of_rank.cells.resize(slots.size());
              of_rank.cells[b].push_back(cell);
            }
          }
        for (auto &[rank, of_rank] : copies)
        {
          of_rank.rank = rank;
          for (int f = 0; f < tables.ranks.n_own_faces; ++f)
          {
            const std::vector<int> &cells = of_rank.cells[tables.faces[f].batch];
            if (std::binary_search(cells.begin(), cells.end(), tables.faces[f].cell))
              of_rank.faces.push_back(f);
          }
          tables.ranks.sent.push_back(std::move(of_rank));
        }
      }

      /** The positions of a cell's geometry nodes, [geometry][dim]. */
      void write_positions(const int b, const int cell, double *const positions) const
      {
        const Place &place = own_cells(b)[cell];
        if (geometry.of_cells != nullptr)
        {
          const auto points =
              SupportPoints<dim>::compute(*geometry.of_cells, CellIterator(&triangulation, place.first, place.second));
          for (int g = 0; g < n_geometry(b); ++g)
            for (int d = 0; d < dim; ++d)
              positions[g * dim + d] = points[g][d];
          return;
        }
        const Accessor accessor = cell_at(place);
        for (int g = 0; g < n_geometry(b); ++g)
          for (int d = 0; d < dim; ++d)
            positions[g * dim + d] = accessor.vertex(g)[d];
      }

      /** What append() reads: for each batch its cells, and behind them the faces. */
      Communicator::Bytes record(const RankTables::Copies &copies) const
      {
        Writer              writer;
        std::vector<double> positions;
        std::vector<int>    of_cell;
        for (unsigned int b = 0; b < slots.size(); ++b)
        {
          const CellTable &batch = tables.batches[b];
          const int        n     = static_cast<int>(local_dofs[b].size());
          writer.put(static_cast<int>(copies.cells[b].size()));
          positions.resize(n_geometry(b) * dim);
          of_cell.resize(n);
          for (const int cell : copies.cells[b])
          {
            visit_slots(b, cell, [&](const int k, const int slot) { of_cell[k] = slot; });
            writer.put(batch.material_ids[cell]);
            writer.put(batch.active_index[cell]);
            write_positions(b, cell, positions.data());
            writer.put(positions.data(), positions.size());
            for (int k = 0; k < n; k += n_components)
              writer.put(dofs.dof(of_cell[k]));
            writer.put(static_cast<int>(
                std::count_if(of_cell.begin(), of_cell.end(), [&](const int s) { return lines.line(s) >= 0; })));
            for (int k = 0; k < n; ++k)
            {
              const int line = lines.line(of_cell[k]);
              if (line < 0)
                continue;
              writer.put(k);
              writer.put(lines.inhomogeneity[line]);
              writer.put(static_cast<int>(lines.offsets[line + 1] - lines.offsets[line]));
              for (std::int64_t m = lines.offsets[line]; m < lines.offsets[line + 1]; ++m)
              {
                writer.put(dofs.dof(lines.entries[m].first));
                writer.put(lines.entries[m].second);
              }
            }
          }
        }
        writer.put(static_cast<int>(copies.faces.size()));
        for (const int f : copies.faces)
        {
          FaceEntry               face  = tables.faces[f];
          const std::vector<int> &cells = copies.cells[face.batch];
          face.cell = static_cast<int>(std::lower_bound(cells.begin(), cells.end(), face.cell) - cells.begin());
          writer.put(face);
        }
        return std::move(writer.bytes);
      }

      void append(const int rank, const Communicator::Bytes &bytes)
      {
        Reader               reader(bytes);
        RankTables::Received received{rank, {}, 0};
        std::vector<int>     first_cell;
        for (unsigned int b = 0; b < slots.size(); ++b)
        {
          CellTable &batch = tables.batches[b];
          received.n_cells.push_back(reader.get<int>());
          first_cell.push_back(batch.n_cells);
          for (int i = 0; i < received.n_cells[b]; ++i)
          {
            batch.material_ids.push_back(reader.get<int>());
            batch.active_index.push_back(reader.get<int>());
            std::vector<double> &points = received_points[b];
            points.resize(points.size() + n_geometry(b) * dim);
            reader.get(points.data() + points.size() - n_geometry(b) * dim, n_geometry(b) * dim);
            const std::size_t first_node = received_nodes[b].size();
            for (int shape = 0; shape < n_shape(b); ++shape)
              received_nodes[b].push_back(dofs.slot(reader.get<Index>()));
            for (int n = reader.get<int>(); n > 0; --n)
            {
              const int    k         = reader.get<int>();
              const double value     = reader.get<double>();
              const int    n_entries = reader.get<int>();
              for (int m = 0; m < n_entries; ++m)
              {
                const int master = dofs.slot(reader.get<Index>());
                lines.entries.push_back({master, reader.get<double>()});
              }
              received_lines.push_back(
                  {received_nodes[b][first_node + k / n_components], k % n_components, lines.finish_line(value)});
            }
          }
          batch.n_cells += received.n_cells[b];
        }
        received.n_faces = reader.get<int>();
        for (int f = 0; f < received.n_faces; ++f)
        {
          tables.faces.push_back(reader.get<FaceEntry>());
          tables.faces.back().cell += first_cell[tables.faces.back().batch];
        }
        tables.ranks.received.push_back(std::move(received));
      }

      /** Ghosts are the foreign nodes of all cells that are here now and of masters of their unknowns. */
      void number_ghosts()
      {
        dofs.find_owners();
        const int         n_owned = dofs.n_owned();
        std::vector<char> needed(dofs.size() - n_owned, 0);
        const auto        need = [&](const int slot) {
          if (slot >= n_owned)
            needed[slot - n_owned] = 1;
        };
        const auto need_masters = [&](const int line) {
          for (std::int64_t m = lines.offsets[line]; m < lines.offsets[line + 1]; ++m)
            need(lines.entries[m].first);
        };
        for (const std::vector<int> &of_batch : slots)
          for (std::size_t i = 0; i < of_batch.size(); i += n_given)
            need(of_batch[i]);
        for (const std::vector<int> &of_batch : received_nodes)
          for (const int slot : of_batch)
            need(slot);
        for (int slot = 0; slot < n_cell_slots; ++slot)
          if (lines.line(slot) >= 0)
            need_masters(lines.line(slot));
        for (const ReceivedLine &received : received_lines)
          need_masters(received.line);

        std::vector<int> asked;
        for (int slot = n_owned; slot < dofs.size(); ++slot)
          if (needed[slot - n_owned])
            asked.push_back(slot);
        unknown_of_slot.resize(dofs.size(), -1); // of foreign ones the owner's unknown at first
        std::vector<std::pair<Partitioner::Ghost, std::vector<unsigned int>>> nodes; // with their indices
        dofs.ask_owners(
            asked,
            [&](const int slot, Writer &writer) {
              const int first = unknown_of_slot[slot] / n_components * n_components;
              writer.put(unknown_of_slot[slot]);
              writer.put(tables.dof_indices.data() + first, n_components);
            },
            [&](const int slot, Reader &reader) {
              unknown_of_slot[slot] = reader.get<int>();
              nodes.push_back(
                  {{dofs.owner(slot), unknown_of_slot[slot] / n_components}, std::vector<unsigned int>(n_components)});
              reader.get(nodes.back().second.data(), n_components);
            });

        ranks.agree_on_errors([&] {
          std::sort(nodes.begin(), nodes.end(), [](const auto &a, const auto &b) { return a.first < b.first; });
          std::vector<Partitioner::Ghost> &ghosts = tables.ranks.ghosts;
          for (const auto &[ghost, indices] : nodes)
            if (ghosts.empty() || !(ghosts.back() == ghost))
            {
              ghosts.push_back(ghost);
              tables.dof_indices.insert(tables.dof_indices.end(), indices.begin(), indices.end());
            }
          require(tables.dof_indices.size() < std::size_t(std::numeric_limits<int>::max()), "A process has ",
                  tables.dof_indices.size(),
                  " unknowns, its own and others', more than 32-bit indices can count: use more processes.");
          tables.n_nodes = tables.ranks.n_owned_nodes + static_cast<int>(ghosts.size());
          for (const int slot : asked)
          {
            const Partitioner::Ghost ghost{dofs.owner(slot), unknown_of_slot[slot] / n_components};
            const auto               place = std::lower_bound(ghosts.begin(), ghosts.end(), ghost) - ghosts.begin();
            unknown_of_slot[slot]          = (tables.ranks.n_owned_nodes + static_cast<int>(place)) * n_components +
                                    unknown_of_slot[slot] % n_components;
          }
          for (const std::vector<int> &of_batch : slots)
            for (std::size_t i = 0; i < of_batch.size(); i += n_given)
              if (of_batch[i] >= n_owned)
                for (int c = 1; c < n_components; ++c)
                  unknown_of_slot[n_given == 1 ? of_batch[i] + c : of_batch[i + c]] = unknown_of_slot[of_batch[i]] + c;
        });
      }

      void write_cells()
      {
        for (unsigned int b = 0; b < slots.size(); ++b)
        {
          std::vector<int> &nodes = tables.batches[b].nodes;
          const std::size_t n_own = slots[b].size() / n_given;
          nodes.resize(n_own + received_nodes[b].size());
          parallel_for(n_own,
                       [&](const std::int64_t i) { nodes[i] = unknown_of_slot[slots[b][i * n_given]] / n_components; });
          for (std::size_t i = 0; i < received_nodes[b].size(); ++i)
            nodes[n_own + i] = unknown_of_slot[received_nodes[b][i]] / n_components;
        }
      }

      /** Of all unknowns of the cells that are here. Lines of one unknown are the same wherever they come from. */
      void write_constraints()
      {
        std::vector<std::pair<int, int>> all; // unknown, line
        for (int slot = 0; slot < n_cell_slots; ++slot)
          if (lines.line(slot) >= 0 && unknown_of_slot[slot] >= 0) // ghost cells may have brought others
            all.emplace_back(unknown_of_slot[slot], lines.line(slot));
        for (const ReceivedLine &received : received_lines)
          all.emplace_back(unknown_of_slot[received.first_slot] + received.component, received.line);
        if (!std::is_sorted(all.begin(), all.end()))
          std::sort(all.begin(), all.end());
        const auto same = [](const auto &a, const auto &b) { return a.first == b.first; };
        all.erase(std::unique(all.begin(), all.end(), same), all.end());

        ConstraintTable &table = tables.constraints;
        table.offsets.assign(1, 0);
        for (const auto &[unknown, line] : all)
        {
          table.constrained.push_back(unknown);
          table.inhomogeneity.push_back(lines.inhomogeneity[line]);
          for (std::int64_t m = lines.offsets[line]; m < lines.offsets[line + 1]; ++m)
          {
            table.masters.push_back(unknown_of_slot[lines.entries[m].first]);
            table.weights.push_back(lines.entries[m].second);
          }
          table.offsets.push_back(static_cast<std::int64_t>(table.masters.size()));
        }
      }

      /** Vertices are known by their nodes: the first shape functions of a cell belong to its vertices. */
      void write_points()
      {
        std::size_t      n_points = 0;
        std::vector<int> point_of_node;
        if (geometry.of_cells != nullptr)
          for (const CellTable &batch : tables.batches)
            n_points += std::size_t(batch.n_cells) * batch.reference.n_geometry;
        else if (points_are_nodes)
          n_points = tables.n_nodes;
        else
        {
          point_of_node.assign(tables.n_nodes, -1);
          for (const CellTable &batch : tables.batches)
            for (int cell = 0; cell < batch.n_cells; ++cell)
              for (int g = 0; g < batch.reference.n_geometry; ++g)
                point_of_node[batch.nodes[std::size_t(cell) * batch.reference.n_shape + g]] = 0;
          for (int &point : point_of_node)
            if (point == 0)
              point = static_cast<int>(n_points++);
        }
        require(n_points < std::size_t(std::numeric_limits<int>::max()), "A process has ", n_points,
                " geometry nodes, more than 32-bit indices can count: use a mapping of degree 1 or more processes.");
        tables.points.resize(n_points * dim);

        std::size_t first_point = 0;
        for (unsigned int b = 0; b < slots.size(); ++b)
        {
          CellTable &batch = tables.batches[b];
          const int  n_own = tables.ranks.n_own_cells[b], n = n_geometry(b);
          if (!points_are_nodes)
            batch.geometry.resize(std::size_t(batch.n_cells) * n);
          const auto write = [&](const std::int64_t begin, const std::int64_t end) {
            std::vector<double> positions(n * dim);
            for (std::int64_t cell = begin; cell < end; ++cell)
            {
              const int *const nodes = batch.nodes.data() + cell * batch.reference.n_shape;
              if (cell < n_own && points_are_nodes) // as below, without a copy between, in half of the time
              {
                const Accessor accessor = cell_at(own_cells(b)[cell]);
                for (int g = 0; g < n; ++g)
                  for (int d = 0; d < dim; ++d)
                    tables.points[std::size_t(nodes[g]) * dim + d] = accessor.vertex(g)[d];
                continue;
              }
              if (cell < n_own)
                write_positions(b, static_cast<int>(cell), positions.data());
              else
                std::copy_n(received_points[b].data() + (cell - n_own) * n * dim, n * dim, positions.data());
              for (int g = 0; g < n; ++g)
              {
                std::size_t point = first_point + cell * n + g;
                if (points_are_nodes)
                  point = nodes[g];
                else if (geometry.of_cells == nullptr)
                  point = point_of_node[nodes[g]];
                if (!points_are_nodes)
                  batch.geometry[cell * n + g] = static_cast<int>(point);
                std::copy_n(positions.data() + g * dim, dim, tables.points.data() + point * dim);
              }
            }
          };
          if (geometry.of_cells != nullptr)
            for_shares(batch.n_cells, write);
          else // cells share vertices
            write(0, batch.n_cells);
          first_point += std::size_t(batch.n_cells) * n;
        }
      }
    };
  } // namespace

  template <int dim>
  ElementTables extract_on_ranks(const std::shared_ptr<const MPICommunicator> &communicator,
                                 const ExtractionInput<dim>                   &input)
  {
    return RankExtraction<dim>(communicator, input).run();
  }

  template ElementTables extract_on_ranks(const std::shared_ptr<const MPICommunicator> &, const ExtractionInput<2> &);
  template ElementTables extract_on_ranks(const std::shared_ptr<const MPICommunicator> &, const ExtractionInput<3> &);
} // namespace PatchFEM::internal
