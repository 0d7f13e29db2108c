// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/base/backend.h>

#include <functional>

namespace PatchFEM
{
  /**
   * A fixed sequence of kernels that is launched many times. On CUDA it is captured once into a CUDA graph, so that a
   * launch costs one call; elsewhere a launch calls the function again. While it is recorded the function must only
   * launch kernels on @p backend: no allocation, no host copies, no synchronisation.
   */
  class Graph
  {
  public:
    Graph(const Backend &backend, std::function<void()> function);
    ~Graph();
    Graph(const Graph &)            = delete;
    Graph &operator=(const Graph &) = delete;

    void launch();

  private:
    const Backend               backend;
    const std::function<void()> function;
    void                       *executable = nullptr; ///< CUDA's graph
  };
} // namespace PatchFEM
