// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/base/quote.h>
#include <patchfem/base/rank_group.h>
#include <patchfem/base/threads.h>
#include <patchfem/base/transport.h>
#include <patchfem/mpi/mpi_communicator.h>
#include <patchfem/mpi/mpi_rank_group.h>

#include <sched.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <future>
#include <map>
#include <numeric>
#include <set>

namespace PatchFEM
{
  namespace
  {
    using Shared = std::shared_ptr<const MPICommunicator>;

    /** The number that the environment variable @p name holds, or @p otherwise. */
    std::size_t number_from_environment(const char *const name, const std::size_t otherwise)
    {
      const char *const text = std::getenv(name);
      if (text == nullptr)
        return otherwise;
      char           *end    = nullptr;
      const long long number = std::strtoll(text, &end, 10);
      require(end != text && *end == 0 && number > 0, "The environment variable ", name, " is ", quote(text),
              "; it must be a whole number above 0.");
      return static_cast<std::size_t>(number);
    }

    /** Ranks that see the same devices, in ascending order; the first of them has looked. */
    struct Neighbours
    {
      std::vector<int>         ranks;
      std::vector<std::string> devices; ///< what tells them apart
    };

    /** How ranks are divided. */
    struct Division
    {
      std::vector<RankGroup::Share> groups;              ///< by their first ranks
      std::vector<int>              group_of, device_of; ///< [rank], the latter among those that it sees
      int                           n_idle = 0;          ///< devices

      bool owns(const int rank) const { return groups[group_of[rank]].ranks.front() == rank; }
    };

    /** Devices of each place in equal shares, each for neighbouring ranks of @p n_all. */
    Division divide(const std::vector<Neighbours> &neighbours, const int n_all)
    {
      Division result;
      result.group_of.resize(n_all);
      result.device_of.resize(n_all);
      for (const Neighbours &some : neighbours)
      {
        const std::size_t n_ranks = some.ranks.size(), n = std::min(n_ranks, some.devices.size());
        result.n_idle += static_cast<int>(some.devices.size() - n);
        for (std::size_t i = 0; i < n_ranks; ++i)
        {
          const std::size_t device = i * n / n_ranks;
          if (i == 0 || device != (i - 1) * n / n_ranks)
            result.groups.push_back({{}, some.devices[device]});
          result.groups.back().ranks.push_back(some.ranks[i]);
          result.device_of[some.ranks[i]] = static_cast<int>(device);
        }
      }
      std::sort(result.groups.begin(), result.groups.end(),
                [](const auto &a, const auto &b) { return a.ranks.front() < b.ranks.front(); });
      for (std::size_t g = 0; g < result.groups.size(); ++g)
        for (const int rank : result.groups[g].ranks)
          result.group_of[rank] = static_cast<int>(g);
      return result;
    }

    /** Those of the same machine and CUDA_VISIBLE_DEVICES, without their devices; collective. */
    std::vector<Neighbours> neighbours(const Communicator &ranks, const std::vector<int> &machines)
    {
      using Bytes               = Communicator::Bytes;
      const char *const visible = std::getenv("CUDA_VISIBLE_DEVICES");
      const std::string text    = visible == nullptr ? "all" : "=" + std::string(visible);
      const auto        texts   = ranks.all_gather(Bytes(text.begin(), text.end()));

      std::map<std::pair<int, Bytes>, std::vector<int>> same;
      for (int rank = 0; rank < ranks.size(); ++rank)
        same[{machines[rank], texts[rank]}].push_back(rank);
      std::vector<Neighbours> result;
      for (const auto &[place, list] : same)
        result.push_back({list, {}});
      return result;
    }

    using Devices = std::shared_future<std::vector<std::string>>;

    /** Gives @p result the devices that the first of each found; collective. */
    void tell_devices(std::vector<Neighbours> &result,
                      const Communicator      &ranks,
                      const std::vector<int>  &machines,
                      const Devices           &found)
    {
      using Bytes = Communicator::Bytes;
      std::string seen; // one behind the other, each with its length
      ranks.agree_on_errors([&] {
        if (found.valid())
          for (const std::string &device : found.get())
            seen += static_cast<char>(device.size()) + device;
      });
      const auto all = ranks.all_gather(Bytes(seen.begin(), seen.end()));
      for (Neighbours &some : result)
      {
        const Bytes &of_first = all[some.ranks.front()];
        for (auto next = of_first.begin(); next != of_first.end();)
        {
          const auto length = *next++;
          some.devices.emplace_back(next, next + length);
          next += length;
        }
      }
      std::set<std::pair<int, std::string>> known;
      for (const Neighbours &some : result)
        for (const std::string &device : some.devices)
          require(
              known.emplace(machines[some.ranks.front()], device).second, "Rank ", some.ranks.front(),
              " has another CUDA_VISIBLE_DEVICES than other ranks of its machine, but shows it one of their devices; "
              "let these sets be equal, or have no device in common.");
    }

    class MPIRankGroup : public RankGroup
    {
    public:
      MPIRankGroup(const Shared           &all,
                   const Division         &division,
                   const std::vector<int> &machines,
                   const Backend          &backend,
                   const std::string      &what)
          : backend(backend), all(all), division(division), own(part(*all, division.group_of[all->rank()]))
      {
        const int n_groups = static_cast<int>(division.groups.size());
        if (n_groups > 1)
        {
          const Shared of_owners = part(*all, own->rank() == 0 ? 0 : MPI_UNDEFINED);
          if (own->rank() == 0)
            all_owners = of_owners;
        }
        for (int rank = 0; rank < all->size(); ++rank)
          n_members += machines[rank] == machines[all->rank()] && !division.owns(rank);

        const auto plural = [](const int n) { return n > 1 ? "s" : ""; };
        text = text_of(all->size(), " ranks ", n_groups < all->size() ? "share" : "have", " ", n_groups, " ", what,
                       plural(n_groups), ", owned by rank", plural(n_groups));
        for (const Share &share : division.groups)
          text += (&share == &division.groups.front() ? " " : ", ") + std::to_string(share.ranks.front());

        own->agree_on_errors([&] { most_window_bytes = number_from_environment("PATCHFEM_WINDOW_BYTES", SIZE_MAX); });
        CPU_ZERO(&of_rank);
        sched_getaffinity(0, sizeof(of_rank), &of_rank);
        CPU_ZERO(&of_all);
        for (const cpu_set_t &set : own->all_gather(of_rank))
          CPU_OR(&of_all, &of_all, &set);
        n_threads = std::min(static_cast<int>(own->sum(std::int64_t(max_threads()))), CPU_COUNT(&of_all));
      }

      const Communicator                 &ranks() const override { return *own; }
      std::shared_ptr<const Communicator> owners() const override { return all_owners; }
      const std::vector<Share>           &groups() const override { return division.groups; }
      const std::vector<int>             &group_of() const override { return division.group_of; }

      void connect() const override
      {
        all->agree_on_errors([&] { backend.stream(); });
        all->agree_on_errors([&] {
          if (all_owners != nullptr && backend.kind() == BackendKind::cuda)
            transport_of(*all_owners, backend);
        });
      }

      std::string description() const override
      {
        std::string result = text;
        if (all_owners != nullptr && all_owners->device_transport != nullptr)
        {
          const Transport &transport = *all_owners->device_transport;
          result += ", which exchange by " + transport.name() +
                    (transport.reason.empty() ? "" : " since " + transport.reason);
        }
        if (division.n_idle > 0)
          result += text_of("; ", division.n_idle, division.n_idle > 1 ? " others are" : " other is", " idle");
        return result;
      }

      using RankGroup::broadcast, RankGroup::gather, RankGroup::scatter;

    protected:
      void broadcast(void *const data, const std::size_t bytes) const override { own->broadcast(data, bytes); }

      void gather(const void *const from, const std::vector<std::size_t> &bytes, void *const all) const override
      {
        const auto own_part   = static_cast<const char *>(from);
        const auto of_members = static_cast<char *>(all);
        through_window(bytes, own->rank() > 0, [&](const Piece &piece) {
          if (own->rank() > 0)
            std::memcpy(piece.window, own_part + piece.begin, piece.n);
          else
            std::memcpy(of_members + piece.begin_of_all, piece.window, piece.n);
        });
        if (own->rank() == 0 && bytes[0] > 0)
          std::memcpy(all, from, bytes[0]);
      }

      void scatter(const void *const all, const std::vector<std::size_t> &bytes, void *const to) const override
      {
        const auto of_members = static_cast<const char *>(all);
        const auto own_part   = static_cast<char *>(to);
        through_window(bytes, own->rank() == 0, [&](const Piece &piece) {
          if (own->rank() == 0)
            std::memcpy(piece.window, of_members + piece.begin_of_all, piece.n);
          else
            std::memcpy(own_part + piece.begin, piece.window, piece.n);
        });
        if (own->rank() == 0 && bytes[0] > 0)
          std::memcpy(to, all, bytes[0]);
      }

      void touch(void *const memory, const std::size_t bytes) const override
      {
        constexpr std::size_t page = 4096;
        for_each((bytes + page - 1) / page, bytes,
                 [&](const std::int64_t i) { static_cast<volatile char *>(memory)[i * page] = 0; });
      }

      void take_cores() const override
      {
        threads_of_rank = max_threads();
        sched_setaffinity(0, sizeof(of_all), &of_all);
        set_max_threads(n_threads);
      }

      void give_back_cores() const override
      {
        set_max_threads(threads_of_rank);
        sched_setaffinity(0, sizeof(of_rank), &of_rank);
      }

    private:
      /** The ranks of @p all with the same @p color, which may be MPI_UNDEFINED: null. Collective. */
      static Shared part(const MPICommunicator &all, const int color)
      {
        all.barrier(); // what follows cannot be waited for, and now does not take long
        MPI_Comm same;
        MPI_Comm_split(all.mpi(), color, all.rank(), &same);
        if (same == MPI_COMM_NULL)
          return nullptr;
        auto result = std::make_shared<const MPICommunicator>(same);
        MPI_Comm_free(&same);
        return result;
      }

      /** Calls @p body(i) for all i < @p n, on an owner by the threads of all, if @p bytes are worth waking them. */
      template <typename Body>
      void for_each(const std::int64_t n, const std::size_t bytes, const Body &body) const
      {
        constexpr std::size_t least = 1 << 20;
        if (own->rank() > 0 || bytes < least)
        {
          for (std::int64_t i = 0; i < n; ++i)
            body(i);
          return;
        }
        take_cores();
        parallel_for(n, body);
        give_back_cores();
      }

      /** A part of what a member sends in gather() or receives in scatter(). */
      struct Piece
      {
        std::size_t begin, begin_of_all, n; ///< bytes, among its own and in the order of ranks
        char       *window;
      };

      /**
       * Calls @p move for the pieces that concern this rank, which it @p writes or reads: one half of a window is written
       * while the other is read.
       */
      template <typename Move>
      void through_window(const std::vector<std::size_t> &bytes, const bool writes, const Move &move) const
      {
        using Clock        = std::chrono::steady_clock;
        const auto start   = Clock::now();
        const int  n_ranks = own->size();
        const auto most    = n_ranks > 1 ? *std::max_element(bytes.begin() + 1, bytes.end()) : 0;
        char       come    = 0;
        broadcast(&come, 1); // members sleep until the owner comes
        if (windows.empty() && n_ranks > 1)
          make_windows();
        std::vector<std::size_t> offsets{0};
        std::partial_sum(bytes.begin(), bytes.end(), std::back_inserter(offsets));
        const std::size_t half = window_bytes / 2, n_pieces = most > 0 ? (most + half - 1) / half : 0;
        const int         first = own->rank() > 0 ? own->rank() : 1, last = own->rank() > 0 ? own->rank() : n_ranks - 1;
        for (std::size_t step = 0; n_pieces > 0 && step <= n_pieces; ++step)
        {
          if (writes ? step < n_pieces : step > 0)
          {
            const std::size_t piece = writes ? step : step - 1, begin = piece * half;
            for_each(last - first + 1, std::min(half * n_ranks, offsets.back() - bytes[0]), [&](const std::int64_t i) {
              if (const std::int64_t rank = first + i; bytes[rank] > begin)
                move(Piece{begin, offsets[rank] + begin, std::min(bytes[rank] - begin, half),
                           windows[rank] + piece % 2 * half});
            });
          }
          MPI_Win_sync(window);
          own->barrier();
          MPI_Win_sync(window);
        }
        gathered.seconds += std::chrono::duration<double>(Clock::now() - start).count();
        gathered.bytes += static_cast<double>(offsets.back() - bytes[0]);
      }

      /** One for each member. They stay until MPI ends. */
      void make_windows() const
      {
        constexpr std::size_t usual = 4 << 20, least = 4096;
        struct statvfs        system;
        std::size_t           available = most_window_bytes;
        // Half of what there is: others may come, and the system kills who touches pages that it does not have.
        if (statvfs("/dev/shm", &system) == 0)
          available = std::min<std::size_t>(available, std::size_t(system.f_bavail) * system.f_frsize / 2);
        available    = -own->maximum(-static_cast<std::int64_t>(std::min<std::size_t>(available, INT64_MAX)));
        window_bytes = std::min(usual, available / std::max<std::size_t>(n_members, 1) / least * least);
        own->agree_on_errors([&] {
          require(window_bytes > 0,
                  "Ranks hand their part of the mesh over through shared memory, on this machine at least ",
                  n_members * least, " bytes, but ", available,
                  " are there: give /dev/shm more, or start fewer ranks.");
        });
        char *base = nullptr;
        MPI_Win_allocate_shared(static_cast<MPI_Aint>(own->rank() > 0 ? window_bytes : 0), 1, MPI_INFO_NULL, own->mpi(),
                                &base, &window);
        MPI_Win_lock_all(MPI_MODE_NOCHECK, window);
        for (int rank = 0; rank < own->size(); ++rank)
        {
          MPI_Aint size;
          int      unit;
          void    *memory = nullptr;
          MPI_Win_shared_query(window, rank, &size, &unit, &memory);
          windows.push_back(static_cast<char *>(memory));
        }
        gathered.window_bytes = static_cast<double>(window_bytes) * static_cast<double>(n_members);
      }

      static void set_max_threads([[maybe_unused]] const int n)
      {
#ifdef _OPENMP
        omp_set_num_threads(n);
#endif
      }

      const Backend backend; ///< of this rank alone
      const Shared  all;

      Division    division;
      Shared      own, all_owners;
      std::size_t n_members = 0; ///< members on this machine, of all groups
      std::string text;
      std::size_t most_window_bytes = 0;
      cpu_set_t   of_rank, of_all;
      int         n_threads = 1;

      mutable int                 threads_of_rank = 1;
      mutable MPI_Win             window          = MPI_WIN_NULL;
      mutable std::vector<char *> windows; ///< [rank]
      mutable std::size_t         window_bytes = 0;
    };
  } // namespace

  MPI_Comm communicator_of_owners(const Backend &backend, const MPI_Comm communicator)
  {
    if (backend.group() == nullptr)
      return communicator;
    const auto owners = std::dynamic_pointer_cast<const MPICommunicator>(backend.group()->owners());
    return owners != nullptr ? owners->mpi() : MPI_COMM_SELF;
  }

  Backend backend_of_ranks(const std::string &name, const MPI_Comm communicator)
  {
    return look_for_backend(name, communicator)();
  }

  std::function<Backend()> look_for_backend(const std::string &name, const MPI_Comm communicator)
  {
    const Shared all    = MPICommunicator::of(communicator);
    const auto   of_all = [&] { return [backend = Backend(name)] { return backend; }; };
    if (all->size() == 1)
      return of_all();
    const bool  emulated  = name == "emulated_device";
    std::size_t n_devices = 0; // that are emulated
    all->agree_on_errors([&] {
      if (emulated)
        n_devices = number_from_environment("PATCHFEM_EMULATED_DEVICES", 0);
      else if (name != "auto" && name != "cuda")
        Backend{name}; // may not exist
    });
    if (name != "auto" && name != "cuda" && n_devices == 0)
      return of_all();

    const std::vector<int>        machines = all->all_gather(all->machine());
    const std::vector<Neighbours> places   = neighbours(*all, machines);
    const auto                    look     = [emulated, n_devices]() -> std::vector<std::string> {
      if (!emulated)
        return Backend::cuda_devices();
      std::vector<std::string> devices;
      for (std::size_t i = 0; i < n_devices; ++i)
        devices.push_back(text_of("emulated device ", i));
      return devices;
    };
    Devices found; // of the first rank of each place
    all->agree_on_errors([&] {
      for (const Neighbours &some : places)
        if (some.ranks.front() == all->rank())
          found = std::async(std::launch::async, look).share();
    });

    return [=, some = places]() mutable {
      tell_devices(some, *all, machines, found);
      const auto none =
          std::find_if(some.begin(), some.end(), [](const Neighbours &those) { return those.devices.empty(); });
      if (name == "auto" && none != some.end())
        return Backend(BackendKind::host);
      all->agree_on_errors([&] {
        if (none != some.end() && all->rank() == none->ranks.front())
          Backend{name}; // says why
      });
      const Division division = divide(some, all->size());
      const bool     owns     = division.owns(all->rank());
      Backend        backend(BackendKind::host);
      all->agree_on_errors([&] {
        if (owns && !emulated)
          Backend::choose_cuda_device(division.device_of[all->rank()]);
        if (owns)
          backend = Backend(emulated ? BackendKind::emulated_device : BackendKind::cuda);
      });
      // Never destroyed: what lives on a back end may outlive every other static object.
      static auto *const groups = new std::vector<std::unique_ptr<const RankGroup>>;
      groups->push_back(
          std::make_unique<MPIRankGroup>(all, division, machines, backend, emulated ? "emulated device" : "GPU"));
      return Backend(backend, groups->back().get());
    };
  }
} // namespace PatchFEM
