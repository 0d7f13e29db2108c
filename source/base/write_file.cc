// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/base/exceptions.h>
#include <patchfem/base/write_file.h>

#include <cerrno>
#include <cstdio>
#include <fstream>
#include <system_error>

namespace PatchFEM
{
  namespace
  {
    /** Keeps why the first write failed: the stream only knows that it did. */
    class FileBuffer : public std::filebuf
    {
    public:
      int reason = 0;

    protected:
      int_type overflow(const int_type c) override
      {
        const int_type result = std::filebuf::overflow(c);
        keep(traits_type::eq_int_type(result, traits_type::eof()));
        return result;
      }

      std::streamsize xsputn(const char *const text, const std::streamsize n) override
      {
        const std::streamsize written = std::filebuf::xsputn(text, n);
        keep(written != n);
        return written;
      }

    private:
      void keep(const bool failed)
      {
        if (failed && reason == 0)
          reason = errno;
      }
    };
  } // namespace

  void write_file(const std::string &name, const std::function<void(std::ostream &)> &write)
  {
    const std::string temporary = name + ".part";
    FileBuffer        buffer;
    // An old one may belong to somebody else, or be a link.
    std::remove(temporary.c_str());
    if (buffer.open(temporary, std::ios::out | std::ios::binary | std::ios::trunc) == nullptr)
      buffer.reason = errno;
    else
    {
      std::ostream out(&buffer);
      try
      {
        write(out);
      }
      catch (...)
      {
        // Writers throw what they like when the stream has failed, which is then the reason.
        if (buffer.reason == 0)
        {
          buffer.close();
          std::remove(temporary.c_str());
          throw;
        }
      }
      const bool whole  = out.good();
      const bool closed = buffer.close() != nullptr;
      if (whole && closed && std::rename(temporary.c_str(), name.c_str()) == 0)
        return;
      if (buffer.reason == 0)
        buffer.reason = errno;
      std::remove(temporary.c_str());
    }
    throw Error("The file ", name, " cannot be written: ", std::generic_category().message(buffer.reason),
                "; make room or choose another folder.");
  }
} // namespace PatchFEM
