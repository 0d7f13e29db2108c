// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/base/exceptions.h>
#include <patchfem/base/write_file.h>
#include <patchfem/lac/matrix/matrix_io.h>

#include <array>
#include <cstdio>
#include <fstream>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "The raw file of linear systems is little-endian; this machine needs a conversion here."
#endif

namespace PatchFEM
{
  namespace
  {
    /** An array of any kind with data() and size(). */
    template <typename Values>
    void put(std::ostream &out, const Values &values)
    {
      out.write(reinterpret_cast<const char *>(values.data()),
                static_cast<std::streamsize>(values.size() * sizeof(*values.data())));
    }

    template <typename Values>
    void get(std::istream &in, Values &values)
    {
      in.read(reinterpret_cast<char *>(values.data()),
              static_cast<std::streamsize>(values.size() * sizeof(*values.data())));
    }

    template <typename T>
    void get(std::istream &in, std::vector<T> &values, const std::int64_t n)
    {
      values.resize(n);
      get(in, values);
    }

    /** The first 24 bytes, and whether the file is as long as they say. Leaves @p in behind them. */
    struct Header
    {
      std::array<std::int64_t, 2> sizes{};
      std::array<std::int32_t, 2> blocks{};
      bool                        fits = false;

      explicit Header(std::ifstream &in)
      {
        const std::int64_t length = in.seekg(0, std::ios::end).tellg();
        in.seekg(0);
        get(in, sizes);
        get(in, blocks);
        const std::int64_t limit = INT64_C(1) << 40;
        fits = in.good() && sizes[0] >= 0 && sizes[0] < INT32_MAX && sizes[1] >= 0 && sizes[1] < limit &&
               blocks[0] >= 1 && blocks[1] >= 0 &&
               length == 24 + 8 * (sizes[0] + 1) + 12 * sizes[1] + 8 * sizes[0] * (1 + std::int64_t(blocks[1]));
      }
    };
  } // namespace

  void write_linear_system(const LinearSystem &system, const std::string &file_name)
  {
    const HostCSR<double> &A = system.matrix;
    check_host_csr(A);
    require(system.rhs.size() == static_cast<std::size_t>(A.n_rows) && system.block_size >= 1 &&
                system.n_near_null >= 0 &&
                system.near_null.size() == static_cast<std::size_t>(A.n_rows) * system.n_near_null,
            "The right-hand side or the near-null space of a system to be written does not fit its matrix.");
    write_file(file_name, [&](std::ostream &out) {
      put(out, std::array<std::int64_t, 2>{A.n_rows, static_cast<std::int64_t>(A.values.size())});
      put(out, std::array<std::int32_t, 2>{system.block_size, system.n_near_null});
      put(out, A.row_offsets);
      put(out, A.columns);
      put(out, A.values);
      put(out, system.rhs);
      put(out, system.near_null);
    });
  }

  bool is_linear_system(const std::string &file_name)
  {
    std::ifstream in(file_name, std::ios::binary);
    return Header(in).fits;
  }

  LinearSystem read_linear_system(const std::string &file_name)
  {
    std::ifstream in(file_name, std::ios::binary);
    require(in.good(), "The file ", file_name, " cannot be read.");
    const Header header(in);
    require(header.fits, "The file ", file_name, " is not a linear system: its length does not fit its header.");
    LinearSystem     system;
    HostCSR<double> &A = system.matrix;
    A.n_rows = A.n_columns = static_cast<int>(header.sizes[0]);
    system.block_size      = header.blocks[0];
    system.n_near_null     = header.blocks[1];
    get(in, A.row_offsets, header.sizes[0] + 1);
    get(in, A.columns, header.sizes[1]);
    get(in, A.values, header.sizes[1]);
    get(in, system.rhs, header.sizes[0]);
    get(in, system.near_null, header.sizes[0] * header.blocks[1]);
    require(in.good(), "The file ", file_name, " could not be read to its end.");
    check_host_csr(A);
    return system;
  }

  void write_matrix_market(const HostCSR<double> &matrix, const std::string &file_name)
  {
    check_host_csr(matrix);
    write_file(file_name, [&](std::ostream &out) {
      out << "%%MatrixMarket matrix coordinate real general\n"
          << matrix.n_rows << ' ' << matrix.n_columns << ' ' << matrix.values.size() << '\n';
      char line[80];
      for (int row = 0; row < matrix.n_rows; ++row)
        for (std::int64_t e = matrix.row_offsets[row]; e < matrix.row_offsets[row + 1]; ++e)
          out.write(line, std::snprintf(line, sizeof(line), "%d %d %.17g\n", row + 1, matrix.columns[e] + 1,
                                        matrix.values[e]));
    });
  }
} // namespace PatchFEM
