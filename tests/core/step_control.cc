// SPDX-License-Identifier: LGPL-2.1-or-later
#include "message_of.h"

#include <patchfem/base/step_control.h>

#include <gtest/gtest.h>

#include <functional>
#include <limits>

using namespace PatchFEM;

namespace
{
  using Sizes = std::vector<double>;

  /** The sizes that are tried from 0 to @p end. */
  Sizes tried(StepControl &steps, const double end, const std::function<StepControl::Outcome(double, double)> &attempt)
  {
    Sizes  sizes;
    double time = 0.;
    while (time < end && sizes.size() < 100)
      time = steps.advance(time, end, [&](const double size) {
        sizes.push_back(size);
        return attempt(time, size);
      });
    EXPECT_EQ(time, end);
    return sizes;
  }

  void expect_sizes(const Sizes &sizes, const Sizes &expected)
  {
    ASSERT_EQ(sizes.size(), expected.size());
    for (std::size_t i = 0; i < sizes.size(); ++i)
      EXPECT_NEAR(sizes[i], expected[i], 1e-12) << i;
  }

  TEST(StepControl, TakesEqualSteps)
  {
    StepControl steps({0.1});
    EXPECT_EQ(tried(steps, 1., [](double, double) { return 1; }), Sizes(10, 0.1)); // bit by bit
    EXPECT_EQ(steps.n_cut_backs(), 0u);
  }

  TEST(StepControl, GrowsAndShrinksByCorrections)
  {
    StepControl growing({1., 3.});
    expect_sizes(tried(growing, 11., [](double, double) { return 4; }), {1., 1.5, 2.25, 3., 3., 0.25});
    StepControl shrinking({1.});
    expect_sizes(tried(shrinking, 1.875, [](double time, double) { return time < 1. ? 9 : 5; }), {1., 0.5, 0.375});
  }

  TEST(StepControl, CutsBack)
  {
    StepControl steps({1.});
    expect_sizes(tried(steps, 2.,
                       [](const double time, const double size) {
                         if (time + size > 0.2 && size > 0.3)
                           throw StepFailure("It fails.");
                         return 5;
                       }),
                 {1., 0.25, 0.25, 0.25, 0.25, 0.25, 0.25, 0.25, 0.25});
    EXPECT_EQ(steps.n_cut_backs(), 1u);
  }

  TEST(StepControl, SaysWhyItGivesUp)
  {
    StepControl::AdditionalData data;
    data.max_cut_backs = 2;
    const auto fails   = [](const double size) -> int { throw StepFailure("It fails with ", size, "."); };
    const auto message = [&] { return message_of([&] { StepControl(data).advance(3., 8., fails); }); };
    EXPECT_EQ(message(),
              "The step from 3 to 3.0625 fails, and is not tried shorter after 2 cut backs: It fails with 0.0625.");
    data.least = 0.25;
    EXPECT_EQ(message(),
              "The step from 3 to 3.25 fails, and is not tried shorter after 1 cut backs: It fails with 0.25.");
    // Another Error is none of a step.
    EXPECT_EQ(message_of([&] { StepControl().advance(0., 1., [](double) -> int { throw Error("Bad."); }); }), "Bad.");
    EXPECT_EQ(message_of([] { StepControl({0.}); }), "The first step must be above 0, not 0.");
    EXPECT_EQ(message_of([] { StepControl({2., 1.}); }), "The largest step, 1, must not be below the first, 2.");
    EXPECT_EQ(message_of([] { StepControl({2., 0., 3.}); }), "The least step, 3, must not be above the first, 2.");
  }

  TEST(StepControl, FollowsTheErrorInTime)
  {
    using Outcome = StepControl::Outcome;
    StepControl steps({1., 8.});
    // An error of size^2 / 4 that is to be below 1, of a scheme of first order: 0.9 of the size that has it, 2.
    const Sizes sizes = tried(steps, 8.6, [](double, const double size) { return Outcome(1, size * size / 4.); });
    expect_sizes(sizes, {1., 1.5, 1.8, 1.8, 1.8, 0.7});
    // 25 times the tolerance: a fifth of the step is tried. Where it is not a number, too.
    for (const double error : {1e9, std::numeric_limits<double>::quiet_NaN()})
    {
      StepControl again({1.});
      expect_sizes(tried(again, 0.4, [&](double, const double size) { return Outcome(5, size > 0.3 ? error : 0.); }),
                   {0.4, 0.08, 0.08, 0.08, 0.08, 0.08});
    }
    EXPECT_EQ(
        message_of([] {
          StepControl({1., 0., 0.9}).advance(0., 5., [](double) { return Outcome(1, 4.); });
        }),
        "The step from 0 to 1 fails, and is not tried shorter after 0 cut backs: The error in time is 4 times its "
        "tolerance.");
  }

  TEST(Amplitudes, AreLinearBetweenPoints)
  {
    const Amplitudes amplitudes(" ramp: 0 0, 1 1, 3 0.5; gust of wind : 2 -1e1 ; ", "Loads/Amplitudes");
    const auto       ramp = [&](const double time) { return amplitudes.value("ramp", time); };
    EXPECT_EQ(ramp(-1.), 0.);
    EXPECT_EQ(ramp(0.), 0.);
    EXPECT_EQ(ramp(0.25), 0.25);
    EXPECT_EQ(ramp(1.), 1.);
    EXPECT_EQ(ramp(2.), 0.75);
    EXPECT_EQ(ramp(3.), 0.5);
    EXPECT_EQ(ramp(9.), 0.5);
    for (const double time : {0., 2., 4.})
      EXPECT_EQ(amplitudes.value("gust of wind", time), -10.);
    EXPECT_TRUE(amplitudes.has("ramp"));
    EXPECT_FALSE(amplitudes.has("gust"));
    EXPECT_EQ(amplitudes.next_point(-1.), 0.);
    EXPECT_EQ(amplitudes.next_point(0.), 1.);
    EXPECT_EQ(amplitudes.next_point(1. - 1e-12), 2.);
    EXPECT_EQ(amplitudes.next_point(2.), 3.);
    EXPECT_EQ(amplitudes.next_point(3.), std::numeric_limits<double>::infinity());
    EXPECT_FALSE(Amplitudes("", "Loads/Amplitudes").has(""));
  }

  TEST(Amplitudes, SayWhatIsWrong)
  {
    const auto message = [](const std::string &text) {
      return message_of([&] { Amplitudes(text, "Loads/Amplitudes").value("ramp", 0.); });
    };
    const std::string begin = "The entry Loads/Amplitudes has ";
    for (const std::string text : {"0 0, 1 1", ": 0 0"})
      EXPECT_EQ(message(text),
                begin + "'" + text + "' where a table with its name is expected, such as 'ramp: 0 0, 1 1'.");
    EXPECT_EQ(message("ramp: 0 0; ramp: 1 1"), begin + "two tables with the name 'ramp'.");
    for (const std::string point : {"1", "1 a", "1 1 1", "", "nan 1", "1 inf"})
      EXPECT_EQ(message("ramp: 0 0, " + point + ", 2 2"),
                begin + "'" + point + "' in table 'ramp' where a time and a value are expected, such as '0.5 1'.");
    EXPECT_EQ(message("ramp: 0 0, 0 1"),
              begin + "time 0 in table 'ramp' behind one that is not before it; times must increase.");
    EXPECT_EQ(message("ramp:"), begin + "no point in table 'ramp'; write a time and a value, such as '0 1'.");
    EXPECT_EQ(message("gust: 0 0"), begin + "no table 'ramp'.");
  }
} // namespace
