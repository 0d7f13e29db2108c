// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/base/exceptions.h>
#include <patchfem/base/quote.h>
#include <patchfem/base/voxel_image.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <set>
#include <sstream>

namespace PatchFEM
{
  namespace
  {
    /** Bytes of a value of a VTK type that labels may have in binary files; 0 for another. */
    int size_of_type(const std::string &type)
    {
      if (type == "unsigned_char" || type == "char")
        return 1;
      if (type == "unsigned_short" || type == "short")
        return 2;
      return type == "unsigned_int" || type == "int" ? 4 : 0;
    }

    class Reader
    {
    public:
      Reader(std::istream &in, const std::string &name) : file(in), name(name) {}

      VoxelImage read()
      {
        std::string line;
        std::getline(file, line);
        check(line.rfind("# vtk DataFile", 0) == 0, "does not start with '# vtk DataFile' as VTK's legacy files do");
        std::getline(file, line); // a title
        const std::string encoding = word();
        check(encoding == "ASCII" || encoding == "BINARY", "has neither ASCII nor BINARY in its third line");

        VoxelImage            image;
        std::array<long, 3>   points{{0, 0, 0}};
        std::array<double, 3> spacing{{1., 1., 1.}};
        long                  n_values = 0;
        bool                  on_cells = false;
        std::set<std::string> seen;
        for (std::string key = word(); key != "SCALARS"; key = word())
        {
          check(!key.empty(), "has no SCALARS with the labels");
          // Two spellings of spacing, and data of cells or of points.
          const std::string what = key == "ASPECT_RATIO" ? "SPACING" : key == "POINT_DATA" ? "CELL_DATA" : key;
          check(seen.insert(what).second, "has ", quote(key), " for the second time; a file holds one image");
          if (key == "DATASET")
            check(word() == "STRUCTURED_POINTS", "has a DATASET that is not STRUCTURED_POINTS");
          else if (key == "DIMENSIONS")
            for (long &n : points)
              n = integer("DIMENSIONS");
          else if (key == "ORIGIN")
            for (double &x : image.origin)
              x = real("ORIGIN");
          else if (key == "SPACING" || key == "ASPECT_RATIO")
            for (double &x : spacing)
              x = real(key.c_str());
          else if (key == "CELL_DATA" || key == "POINT_DATA")
          {
            on_cells = key == "CELL_DATA";
            n_values = integer(key.c_str());
          }
          else
            fail("has ", quote(key),
                 " where DIMENSIONS, ORIGIN, SPACING, CELL_DATA, POINT_DATA or SCALARS was expected");
        }
        for (const char *key : {"DATASET", "DIMENSIONS", "ORIGIN", "SPACING", "CELL_DATA"})
          check(seen.count(key) > 0, "has no ", key, " before its SCALARS");
        check(std::min({points[0], points[1], points[2]}) >= 1, "has DIMENSIONS that are not positive");
        check(spacing[0] > 0. && std::isfinite(spacing[0]) && std::abs(spacing[1] - spacing[0]) <= 1e-6 * spacing[0] &&
                  (points[2] == 1 || std::abs(spacing[2] - spacing[0]) <= 1e-6 * spacing[0]),
              "has cells that are not cubes: all of SPACING must be one positive number");
        image.h         = spacing[0];
        double expected = 1.;
        for (int d = 0; d < 3; ++d)
        {
          const long n = on_cells ? std::max(1L, points[d] - 1) : points[d];
          check(n <= std::numeric_limits<int>::max(), "has too many cells");
          image.n[d] = static_cast<int>(n);
          expected *= n;
          if (!on_cells)
            image.origin[d] -= 0.5 * image.h;
        }
        check(expected == static_cast<double>(n_values), "has ", n_values, " values, which do not fit its DIMENSIONS");

        word(); // the array's name
        const std::string type = word();
        std::getline(file, line);
        int n_components = 1;
        std::istringstream(line) >> n_components;
        check(n_components == 1, "has SCALARS with several components");
        check(word() == "LOOKUP_TABLE", "has no LOOKUP_TABLE behind its SCALARS");
        std::getline(file, line);
        const bool ascii = encoding == "ASCII";
        const int  size  = ascii ? 1 : size_of_type(type);
        check(size > 0, "is binary with values of the type ", quote(type), "; use unsigned_char, or ASCII");
        check(bytes_left() / size >= n_values, "ends before the last of its values");
        image.labels.resize(n_values);
        if (ascii)
          for (unsigned char &label : image.labels)
            label = to_label(real("SCALARS"));
        else
          read_binary(size, image.labels);
        // VTK's own writer may describe the array behind it, up to an empty line.
        std::string rest_of_file = word();
        if (rest_of_file == "METADATA")
        {
          for (std::getline(file, line); std::getline(file, line) && !line.empty() && line != "\r";)
          {}
          rest_of_file = word();
        }
        check(rest_of_file.empty(), "goes on behind the last of the ", n_values,
              " values that it declares; leave one array of labels alone");
        return image;
      }

    private:
      std::istream     &file;
      const std::string name;

      template <typename... Parts>
      [[noreturn]] void fail(const Parts &...parts) const
      {
        throw Error("The image ", printable(name, 400), " ", parts..., ".");
      }

      template <typename... Parts>
      void check(const bool condition, const Parts &...parts) const
      {
        if (!condition)
          fail(parts...);
      }

      std::string word()
      {
        std::string result;
        file >> result;
        return result;
      }

      double real(const char *what)
      {
        double value = 0.;
        file >> value;
        check(!file.fail(), "ends or has something that is no number in ", what);
        return value;
      }

      long integer(const char *what)
      {
        const double value = real(what);
        check(value == std::floor(value) && std::abs(value) < 1e15, "has ", what, " that are not integers");
        return static_cast<long>(value);
      }

      /** From here to the end of the file. */
      std::int64_t bytes_left()
      {
        file.clear(); // the end may have been met
        const std::streamoff here = file.tellg();
        file.seekg(0, std::ios::end);
        const std::streamoff end = file.tellg();
        file.seekg(here);
        return end - here;
      }

      unsigned char to_label(const double value) const
      {
        check(value == 0. || value == 1. || value == 2., "has the label ", value,
              "; there are 0 for solid, 1 for fluid and 2 for air");
        return static_cast<unsigned char>(value);
      }

      /** Numbers of @p size bytes with the most significant one first. */
      void read_binary(const int size, std::vector<unsigned char> &labels)
      {
        std::vector<unsigned char> bytes(labels.size() * size);
        file.read(reinterpret_cast<char *>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
        check(static_cast<std::size_t>(file.gcount()) == bytes.size(), "ends before the last of its values");
        for (std::size_t i = 0; i < labels.size(); ++i)
        {
          std::uint32_t value = 0;
          for (int b = 0; b < size; ++b)
            value = value << 8 | bytes[i * size + b];
          labels[i] = to_label(value);
        }
      }
    };
  } // namespace

  VoxelImage read_voxel_image(std::istream &in, const std::string &name)
  {
    return Reader(in, name).read();
  }
} // namespace PatchFEM
