// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/base/quote.h>

#include <algorithm>
#include <cstdio>

namespace PatchFEM
{
  namespace
  {
    /** The bytes of the UTF-8 character at the start of @p text; 0 if there is none, or one of control. */
    std::size_t length_of_character(const std::string_view text)
    {
      const auto byte = [&](const std::size_t i) -> unsigned int { return static_cast<unsigned char>(text[i]); };
      const unsigned int first = byte(0);
      if (first < 0x80)
        return first >= 0x20 && first != 0x7f ? 1 : 0;
      const std::size_t  length  = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
      const unsigned int marks[] = {0xc0, 0xe0, 0xf0}, least[] = {0xa0, 0x800, 0x10000};
      unsigned int       code = first - marks[length - 2]; // huge for what is no first byte
      for (std::size_t i = 1; i < length; ++i)
      {
        if (i >= text.size() || (byte(i) & 0xc0) != 0x80)
          return 0;
        code = code << 6 | (byte(i) & 0x3f);
      }
      const bool is_half_of_a_pair = code / 0x800 == 0x1b;
      return code >= least[length - 2] && code < 0x110000 && !is_half_of_a_pair ? length : 0;
    }
  } // namespace

  std::string printable(const std::string_view text, const std::size_t most)
  {
    std::string result;
    for (std::size_t i = 0, next; i < text.size(); i = next)
    {
      const std::size_t length = length_of_character(text.substr(i));
      next                     = i + std::max<std::size_t>(length, 1);
      if (next > most)
        return result + "...";
      char code[8];
      std::snprintf(code, sizeof(code), "\\x%02x", static_cast<unsigned char>(text[i]));
      result += length > 0 ? text.substr(i, length) : text[i] == '\n' ? "\\n" : text[i] == '\t' ? "\\t" : code;
    }
    return result;
  }

  std::string quote(const std::string_view text)
  {
    return "'" + printable(text) + "'";
  }

  std::string quote_file(const std::string_view name)
  {
    return "'" + printable(name, 400) + "'";
  }
} // namespace PatchFEM
