// SPDX-License-Identifier: LGPL-2.1-or-later
#include <gtest/gtest.h>
#include <patchfem/app/report.h>

#include <filesystem>
#include <fstream>
#include <sstream>

using namespace PatchFEM;

namespace
{
  /** A folder that is there for one test. */
  struct Folder
  {
    const std::string name =
        (std::filesystem::temp_directory_path() / ("patchfem_report_" + std::to_string(getpid()))).string();

    Folder() { std::filesystem::create_directory(name); }
    ~Folder() { std::filesystem::remove_all(name); }

    std::string read(const std::string &file) const
    {
      std::ifstream      in(name + "/" + file);
      std::ostringstream text;
      text << in.rdbuf();
      return text.str();
    }
  };
} // namespace

TEST(AppReport, CsvGrowsAndTakesNewColumns)
{
  const Folder folder;
  CsvFile      file;
  const auto   add = [&](const CsvFile::Row &row) { file.add(folder.name + "/a.csv", row); };
  add({{"x", "1"}});
  add({{"x", "2"}});
  EXPECT_EQ(folder.read("a.csv"), "x\n1\n2\n");
  add({{"x", "3"}, {"a,b", "4"}});
  add({{"x", "5"}, {"a,b", "6"}});
  EXPECT_EQ(folder.read("a.csv"), "x,\"a,b\"\n1,\n2,\n3,4\n5,6\n");
}

TEST(AppReport, StepsAreRowsAndInTheReport)
{
  const Folder folder;
  OutputFolder output(folder.name, true);
  RunReport    report("solid", output, MPI_COMM_SELF);
  report.start("", "");
  testing::internal::CaptureStdout();
  StepReport step;
  step.end  = 1.;
  step.size = 0.25;
  step.newton.resize(3);
  step.newton[0].solution.n_iterations = 4;
  step.newton[1].solution.n_iterations = 5;
  step.newton[2].residual              = 1e-9;
  for (int k = 1; k <= 4; ++k)
  {
    step.time        = 0.25 * k;
    step.n_cut_backs = k == 2;
    step.seconds     = k;
    step.results     = {{{"reactions", "top"}, "force_x", 10. * k, {}}};
    report.add_step(step);
  }
  const std::string said = testing::internal::GetCapturedStdout();
  EXPECT_NE(said.find("Step 1 to 0.25: 2 corrections, 9 iterations, residual 1e-09, 1 s, 3 s left\n"),
            std::string::npos)
      << said;
  EXPECT_NE(said.find("2 s, 1 cut backs, 3 s left\n"), std::string::npos) << said; // two of the mean of 1 and 2
  EXPECT_NE(said.find("4 s\n"), std::string::npos) << said;
  report.finish();

  EXPECT_EQ(folder.read("results.csv"), "step,time,reactions/top/force_x\n1,0.25,10\n2,0.5,20\n3,0.75,30\n4,1,40\n");
  EXPECT_EQ(folder.read("steps.csv").substr(0, 90),
            "step,time,size,corrections,iterations,truncated,cut_backs,residual,seconds\n1,0.25,0.25,2,9");
  const auto json = nlohmann::json::parse(folder.read("report.json"));
  ASSERT_EQ(json["steps"].size(), 4u);
  EXPECT_EQ(json["steps"][1]["cut_backs"], 1);
  EXPECT_EQ(json["steps"][3]["corrections"][1]["iterations"], 5);
  EXPECT_EQ(json["steps"][3]["results"]["reactions"]["top"]["force_x"], 40.);
}
