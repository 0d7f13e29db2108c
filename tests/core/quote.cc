// SPDX-License-Identifier: LGPL-2.1-or-later
// What messages show of what users wrote.
#include <gtest/gtest.h>
#include <patchfem/base/quote.h>

using namespace PatchFEM;

TEST(Quote, ShowsPrintableTextAsItIs)
{
  EXPECT_EQ(quote(""), "''");
  EXPECT_EQ(quote("sin(pi*x) 'y'"), "'sin(pi*x) 'y''");
  EXPECT_EQ(quote("Stra\xc3\x9f"
                  "e \xe2\x82\xac \xf0\x9f\x98\x80"),
            "'Stra\xc3\x9f"
            "e \xe2\x82\xac \xf0\x9f\x98\x80'");
  EXPECT_EQ(quote(std::string(60, 'a')), "'" + std::string(60, 'a') + "'");
}

TEST(Quote, ShortensWhatIsLong)
{
  EXPECT_EQ(quote(std::string(200000, 'a')), "'" + std::string(60, 'a') + "...'");
  EXPECT_EQ(quote_file(std::string(401, 'a')), "'" + std::string(400, 'a') + "...'");
  // No half of a character.
  EXPECT_EQ(printable("aa\xe2\x82\xac", 4), "aa...");
  EXPECT_EQ(printable("aa\xe2\x82\xac", 5), "aa\xe2\x82\xac");
}

TEST(Quote, EscapesWhatNoTerminalShouldGet)
{
  EXPECT_EQ(printable("a\tb\nc\r"), "a\\tb\\nc\\x0d");
  EXPECT_EQ(printable("\x1b[31m\x7f"), "\\x1b[31m\\x7f");
  EXPECT_EQ(printable(std::string_view("a\0b", 3)), "a\\x00b");
  // Latin 1, a control character of it in UTF-8, forms too long, half of a pair, beyond Unicode, cut off.
  EXPECT_EQ(printable("\xe4"), "\\xe4");
  EXPECT_EQ(printable("\xc2\x9b"), "\\xc2\\x9b");
  EXPECT_EQ(printable("\xc0\xaf"), "\\xc0\\xaf");
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");
  EXPECT_EQ(printable("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");
  EXPECT_EQ(printable("\xe2\x82"), "\\xe2\\x82");
}
