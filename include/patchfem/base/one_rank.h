// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/base/communicator.h>

namespace PatchFEM
{
  /** A process by itself, which needs no MPI. */
  class OneRank : public Communicator
  {
  public:
    using Communicator::all_gather, Communicator::exchange, Communicator::sum, Communicator::maximum;

    int                  rank() const override { return 0; }
    int                  size() const override { return 1; }
    int                  machine() const override { return 0; }
    void                 sum(double *, int) const override {}
    void                 sum(std::int64_t *, int) const override {}
    void                 maximum(std::int64_t *, int) const override {}
    std::vector<Bytes>   all_gather(const Bytes &bytes) const override { return {bytes}; }
    std::map<int, Bytes> exchange(const std::map<int, Bytes> &messages) const override { return messages; }

    std::unique_ptr<Channel> channel(const std::vector<Link> &sends, const std::vector<Link> &receives) const override
    {
      return std::make_unique<Copies>(sends, receives);
    }

  private:
    struct Copies : Channel
    {
      Copies(const std::vector<Link> &sends, const std::vector<Link> &receives) : sends(sends), receives(receives) {}

      void start() override {}
      void finish() override
      {
        for (std::size_t i = 0; i < sends.size(); ++i)
          std::memcpy(receives[i].data, sends[i].data, sends[i].bytes);
      }

      std::vector<Link> sends, receives;
    };
  };
} // namespace PatchFEM
