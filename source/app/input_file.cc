// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/app/input_file.h>
#include <patchfem/base/exceptions.h>

#include <boost/algorithm/string/predicate.hpp>
#include <boost/iostreams/copy.hpp>
#include <boost/iostreams/device/back_inserter.hpp>
#include <boost/iostreams/filter/gzip.hpp>
#include <boost/iostreams/filtering_stream.hpp>

#include <fstream>

namespace PatchFEM
{
  bool is_compressed(const std::string &file_name)
  {
    return boost::algorithm::iends_with(file_name, ".gz");
  }

  std::string read_input_file(const std::string &file_name, const std::string &what)
  {
    namespace io = boost::iostreams;
    std::ifstream file(file_name, std::ios::binary);
    require(file.good(), what,
            " cannot be opened; check its name, which is relative to the folder of the parameter file.");
    require(file.peek() != std::ifstream::traits_type::eof(), what, " is empty or not a file.");
    std::string content;
    try
    {
      io::filtering_istream in;
      if (is_compressed(file_name))
        in.push(io::gzip_decompressor());
      in.push(file);
      io::copy(in, io::back_inserter(content));
    }
    catch (const io::gzip_error &)
    {
      throw Error(what, " is no gzip file, or not a whole one; compress it again, or take .gz from the name of one "
                        "that is not compressed.");
    }
    require(!file.bad(), what, " cannot be read to its end.");
    require(!content.empty(), what, " is empty.");
    return content;
  }
} // namespace PatchFEM
