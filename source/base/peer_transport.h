// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/base/transport.h>

namespace PatchFEM
{
  /** The indices of destinations, one's behind the other's. */
  std::vector<int> list_of(const std::vector<Destination> &destinations);

  /** Collective: null where @p reason says what speaks against it; whether ranks have one device counts unless @p forced. */
  std::shared_ptr<const Transport>
  peer_transport(const Communicator &ranks, const Backend &backend, bool forced, std::string &reason);
} // namespace PatchFEM
