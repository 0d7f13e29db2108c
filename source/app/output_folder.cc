// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/app/output_folder.h>
#include <patchfem/base/exceptions.h>
#include <patchfem/base/quote.h>
#include <patchfem/lac/matrix/matrix_io.h>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <functional>
#include <regex>
#include <vector>

namespace PatchFEM
{
  namespace fs = std::filesystem;

  namespace
  {
    bool is_own(const fs::path &file)
    {
      static const std::regex own(
          "(report\\.json|(results|steps)\\.csv|parameters\\.prm|solution\\.pvd|solution-[0-9]+(\\.[0-"
          "9]+)?\\.p?vtu)(\\.part)?");
      return std::regex_match(file.filename().string(), own);
    }

    void remove_files(const std::string &folder, const std::function<bool(const fs::path &)> &selected)
    {
      std::error_code       failure;
      std::vector<fs::path> files;
      for (fs::directory_iterator entry(folder, failure), end; !failure && entry != end; entry.increment(failure))
        if (selected(entry->path()) && !entry->is_directory())
          files.push_back(entry->path());
      for (std::size_t i = 0; !failure && i < files.size(); ++i)
        fs::remove(files[i], failure);
      require(!failure, "Results of an earlier run in ", folder, " cannot be removed (", failure.message(),
              "); choose another folder with --output.");
    }
  } // namespace

  OutputFolder::OutputFolder(const std::string &name, const bool locks) : folder(name), locks(locks)
  {
    lock();
  }

  OutputFolder::~OutputFolder()
  {
    if (descriptor >= 0)
      close(descriptor);
  }

  void OutputFolder::lock()
  {
    if (!locks || folder.empty() || descriptor >= 0)
      return;
    descriptor = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    require(descriptor < 0 || flock(descriptor, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK,
            "Another run is writing into the output folder ", folder,
            "; wait for its end, or choose another with --output.");
  }

  void OutputFolder::make()
  {
    std::error_code failure, unknown;
    fs::create_directories(folder, failure);
    std::string reason;
    if (fs::is_symlink(folder, unknown) && !fs::exists(folder, unknown))
      reason = "it is a symbolic link to " + fs::read_symlink(folder, unknown).string() + ", which does not exist";
    else if (failure)
      reason = failure.message();
    else if (!fs::is_directory(folder, unknown))
      reason = "there is a file of that name";
    else
    {
      lock();
      if (locks && descriptor < 0)
        reason = std::generic_category().message(errno);
    }
    require(reason.empty(), "The output folder ", printable(folder, 400), " cannot be made (", reason,
            "); choose another with --output.");
  }

  void OutputFolder::check_input(const std::string &file) const
  {
    std::error_code failure;
    // Both a link in the folder and what it points to are lost when they are replaced.
    for (const fs::path &path : {fs::path(file), fs::canonical(file, failure)})
      if (is_own(path) && fs::equivalent(path.has_parent_path() ? path.parent_path() : ".", folder, failure))
        throw Error("The file ", file, " is read by this run, which would replace it in the output folder ", folder,
                    "; rename it, or choose another folder with --output.");
  }

  void OutputFolder::check_export(const std::string &file_name) const
  {
    if (file_name.empty())
      return;
    const std::string entry = "The entry Export system is " + quote(file_name) + ", ";
    require(fs::path(file_name).filename() == file_name && file_name != "." && file_name != ".." &&
                file_name.size() <= 200,
            entry, "which is not the name of a file in the output folder, such as system.bin.");
    require(!is_own(file_name) && fs::path(file_name).extension() != ".part", entry,
            "which is a name of the run's own files; choose another, such as system.bin.");
    const std::string     file = path(file_name);
    std::error_code       failure;
    const fs::file_status status = fs::symlink_status(file, failure);
    require(!fs::exists(status) || (fs::is_regular_file(status) && is_linear_system(file)), entry,
            "but there is one in ", folder, " that no earlier run exported; choose another name.");
  }

  void OutputFolder::remove_unfinished() const
  {
    remove_files(folder, [](const fs::path &file) { return is_own(file) && file.extension() == ".part"; });
  }

  void OutputFolder::remove_results(const std::string &export_name) const
  {
    remove_files(folder, [&](const fs::path &file) {
      const fs::path name = file.filename();
      return (is_own(name) && name != "report.json") || (!export_name.empty() && name == export_name);
    });
  }
} // namespace PatchFEM
