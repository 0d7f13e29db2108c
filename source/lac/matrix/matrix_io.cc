// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/base/exceptions.h>
#include <patchfem/base/write_file.h>
#include <patchfem/lac/matrix/matrix_io.h>

#include <cstdio>
#include <fstream>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "The raw file of linear systems is little-endian; this machine needs a conversion here."
#endif

namespace PatchFEM
{
  namespace
  {
    template <typename T>
    void put(std::ostream &out, const T *values, const std::size_t n)
    {
      out.write(reinterpret_cast<const char *>(values), static_cast<std::streamsize>(n * sizeof(T)));
    }

    template <typename T>
    void get(std::ifstream &in, T *values, const std::size_t n)
    {
      in.read(reinterpret_cast<char *>(values), static_cast<std::streamsize>(n * sizeof(T)));
    }

    /** The first 24 bytes, and whether the file is as long as they say. Leaves @p in behind them. */
    struct Header
    {
      std::int64_t sizes[2]  = {0, 0};
      std::int32_t blocks[2] = {0, 0};
      bool         fits      = false;

      explicit Header(std::ifstream &in)
      {
        const std::int64_t length = in.seekg(0, std::ios::end).tellg();
        in.seekg(0);
        get(in, sizes, 2);
        get(in, blocks, 2);
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
      const std::int64_t sizes[2]  = {A.n_rows, static_cast<std::int64_t>(A.values.size())};
      const std::int32_t blocks[2] = {system.block_size, system.n_near_null};
      put(out, sizes, 2);
      put(out, blocks, 2);
      put(out, A.row_offsets.data(), A.row_offsets.size());
      put(out, A.columns.data(), A.columns.size());
      put(out, A.values.data(), A.values.size());
      put(out, system.rhs.data(), system.rhs.size());
      put(out, system.near_null.data(), system.near_null.size());
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
    require(in.good(), "The file " + file_name + " cannot be read.");
    const Header header(in);
    require(header.fits, "The file " + file_name + " is not a linear system: its length does not fit its header.");
    LinearSystem     system;
    HostCSR<double> &A = system.matrix;
    A.n_rows = A.n_columns = static_cast<int>(header.sizes[0]);
    system.block_size      = header.blocks[0];
    system.n_near_null     = header.blocks[1];
    A.row_offsets.resize(header.sizes[0] + 1);
    A.columns.resize(header.sizes[1]);
    A.values.resize(header.sizes[1]);
    system.rhs.resize(header.sizes[0]);
    system.near_null.resize(header.sizes[0] * header.blocks[1]);
    get(in, A.row_offsets.data(), A.row_offsets.size());
    get(in, A.columns.data(), A.columns.size());
    get(in, A.values.data(), A.values.size());
    get(in, system.rhs.data(), system.rhs.size());
    get(in, system.near_null.data(), system.near_null.size());
    require(in.good(), "The file " + file_name + " could not be read to its end.");
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
