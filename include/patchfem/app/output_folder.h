// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <string>

namespace PatchFEM
{
  /**
   * The folder of a run's results. The run's own are `report.json`, `parameters.prm`, `solution.pvd`, the pictures
   * `solution-3.vtu`, `solution-3.pvtu` with pieces `solution-3.0001.vtu`, each of these names with `.part` behind it
   * while it is written, and the file of `Export system`. A run replaces and removes what has these names alone.
   *
   * It has the folder for itself: while an object lives that was locked the folder is refused to others, but on file
   * systems without locks. The lock is on the folder and not a file in it, so that it ends with the process.
   */
  class OutputFolder
  {
  public:
    /**
     * Locks the folder if it is there already and @p locks, which is to be so on one rank. An empty @p name stands for
     * a folder that is not known. Throws Error if another run writes into it.
     */
    OutputFolder(const std::string &name, bool locks);
    ~OutputFolder();
    OutputFolder(const OutputFolder &)            = delete;
    OutputFolder &operator=(const OutputFolder &) = delete;

    const std::string &name() const { return folder; }

    std::string path(const std::string &file_name) const { return folder + "/" + file_name; }

    /** Makes the folder unless it is there, and locks it; Error with the reason if that is not possible. */
    void make();

    /** Throws Error if the run would replace @p file, which it reads. An empty name stands for none. */
    void check_input(const std::string &file) const;

    /**
     * Throws Error if @p file_name, which `Export system` names, is not the name of a file in the folder, is one of the
     * names above, or is there and was not exported by an earlier run. An empty name stands for none.
     */
    void check_export(const std::string &file_name) const;

    /** Removes what interrupted runs left unfinished. */
    void remove_unfinished() const;

    /** Removes the run's own files but `report.json`, and @p export_name. */
    void remove_results(const std::string &export_name) const;

  private:
    const std::string folder;
    const bool        locks;
    int               descriptor = -1;

    void lock();
  };
} // namespace PatchFEM
