// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// The time that is left, along courses of runs that are written by hand.
#include "observe/time_left.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>

#include "unit/config/example_stages.hpp"

using namespace sluice;

namespace {

// reads -> lookup -> count (sites) -> sites, with what the file says of the last.
Plan plan_of(const std::string& of_sites = "", const std::string& of_lookup = "") {
  Diagnostics diagnostics;
  const std::string text = "[pipeline]\nname = \"m\"\n[stages.read]\nuse = \"reader\"\nparams.path = \"x\"\n[stages.lookup]\nuse = \"lookup\"\n" +
                           of_lookup + "[stages.count]\nuse = \"count\"\n[stages.sites]\nuse = \"write_sites\"\nparams.output = \"y\"\n" + of_sites;
  auto resolved = resolve_pipeline(parse_pipeline(text, "test.toml", diagnostics), {}, example::registry(), diagnostics);
  Plan plan = make_plan(std::move(resolved), "auto", {"cpu"}, diagnostics);
  REQUIRE(!diagnostics.has_errors());
  return plan;
}

constexpr std::uint64_t all_reads = 10'000, all_sites = 50'000;

// How things stand: parts of the rows that a stage has had (given, of source and regroup), and the seconds of its calls.
struct Moment {
  double seconds = 0, read = 0, looked_up = 0, counted = 0, gathered = 0, sites = 0;
  double reading = 0, looking_up = 0, counting = 0, writing = 0;
  double gathered_said = -1, written_said = -1;
};

RunStatistics snapshot(const Moment& now) {
  RunStatistics s;
  s.elapsed_seconds = now.seconds;
  s.source_progress = now.read;
  const auto rows = [](double part, std::uint64_t all) { return static_cast<std::uint64_t>(part * static_cast<double>(all)); };
  const auto add = [&](const char* name, const char* role, std::uint64_t in, std::uint64_t out, double busy, double progress) {
    StageStatistics& stage = s.stages.emplace_back();
    stage.name = name, stage.role = role, stage.rows_in = in, stage.rows_out = out, stage.busy_seconds = busy, stage.progress = progress;
  };
  add("read", "source", 0, rows(now.read, all_reads), now.reading, now.read);
  add("lookup", "map", rows(now.looked_up, all_reads), rows(now.looked_up, all_reads), now.looking_up, -1);
  add("count", "regroup", rows(now.counted, all_reads), rows(now.gathered, all_sites), now.counting, now.gathered_said);
  add("sites", "sink", rows(now.sites, all_sites), rows(now.sites, all_sites), now.writing, now.written_said);
  return s;
}

// The worst ratio of what is said to what is true, and the other way round, from a tenth of the run on.
double worst_factor(const Plan& plan, double seconds, const std::function<Moment(double)>& at) {
  TimeLeft time_left(plan);
  double worst = 1;
  for (double now = 0.02 * seconds; now < 0.95 * seconds; now += 0.02 * seconds) {
    const TimeLeft::Estimate left = time_left.after(snapshot(at(now)));
    if (now < 0.1 * seconds) continue;
    REQUIRE(left.seconds >= 0);
    REQUIRE(left.share > 0);
    REQUIRE(left.share <= 1);
    worst = std::max({worst, left.seconds / (seconds - now), (seconds - now) / std::max(left.seconds, 1e-9)});
  }
  return worst;
}

double ramp(double now, double from, double to) { return std::clamp((now - from) / (to - from), 0.0, 1.0); }

}  // namespace

TEST_CASE("a run whose stages work side by side") {
  // What is read runs ahead by the batches that are under way.
  const auto at = [](double now) {
    Moment m{now};
    m.read = std::min(1.0, ramp(now, 0, 100) * 1.05 + 0.02), m.looked_up = m.counted = ramp(now, 0.5, 100), m.gathered = m.sites = m.counted * 0.98;
    m.reading = 3 * m.read, m.looking_up = 180 * m.looked_up, m.counting = m.counted, m.writing = 8 * m.sites;
    return m;
  };
  CHECK(worst_factor(plan_of(), 100, at) < 1.2);
}

TEST_CASE("a regroup that gathers everything, and most of the work behind it") {
  // As polish: mapped in 2 of 10 s, then all of the rest.
  const auto at = [](double now) {
    Moment m{now};
    m.read = m.looked_up = m.counted = ramp(now, 0, 2), m.gathered = now < 2 ? 0 : 1, m.sites = ramp(now, 2, 10);
    m.reading = 0.2 * m.read, m.looking_up = 3.5 * m.looked_up, m.counting = 0.1 * m.counted, m.writing = 16 * m.sites;
    return m;
  };
  CHECK(worst_factor(plan_of("usual_share = 0.82\n"), 10, at) < 1.3);
  // What is usual may be wrong by far, and is forgotten once the stage is seen.
  CHECK(worst_factor(plan_of("usual_share = 0.7\n"), 10, at) < 2);
  CHECK(worst_factor(plan_of(), 10, at) > 5);  // nobody foresees it
}

TEST_CASE("a regroup that gives what it has gathered as there is room for it") {
  const auto course = [](double said) {
    return [said](double now) {
      Moment m{now};
      m.read = m.looked_up = m.counted = ramp(now, 0, 4), m.gathered = 0, m.sites = ramp(now, 4, 20);  // counted when it has given all
      m.reading = 0.2 * m.read, m.looking_up = 7 * m.looked_up, m.counting = 0.1 * m.counted, m.writing = 32 * m.sites;
      m.gathered_said = said > 0 && now > 4 ? std::min(1.0, m.sites + 0.02) : -1;  // ahead by what is under way
      return m;
    };
  };
  CHECK(worst_factor(plan_of("usual_share = 0.8\n"), 20, course(1)) < 1.7);
  CHECK(worst_factor(plan_of("usual_share = 0.8\n"), 20, course(0)) > 3);  // it has to say what is still to come
}

TEST_CASE("what a regroup says of its rows holds for those behind it") {
  Diagnostics diagnostics;
  const std::string text =
      "[pipeline]\nname = \"m\"\n[stages.read]\nuse = \"reader\"\nparams.path = \"x\"\n[stages.lookup]\nuse = \"lookup\"\n"
      "[stages.table]\nuse = \"write_reads\"\nparams.output = \"z\"\n[stages.count]\nuse = \"count\"\ninputs = [\"lookup\"]\n"
      "[stages.sites]\nuse = \"write_sites\"\nparams.output = \"y\"\n";
  auto resolved = resolve_pipeline(parse_pipeline(text, "test.toml", diagnostics), {}, example::registry(), diagnostics);
  const Plan plan = make_plan(std::move(resolved), "auto", {"cpu"}, diagnostics);
  REQUIRE(!diagnostics.has_errors());
  RunStatistics s = snapshot({.seconds = 10,
                              .read = 0.5,
                              .looked_up = 0.5,
                              .counted = 0.5,
                              .gathered = 0.5,
                              .sites = 0.5,
                              .reading = 1,
                              .looking_up = 10,
                              .counting = 0.1,
                              .writing = 2,
                              .gathered_said = 0.25});
  s.stages.insert(s.stages.begin() + 2, StageStatistics{});
  s.stages[2].name = "table", s.stages[2].role = "sink", s.stages[2].rows_in = s.stages[2].rows_out = all_reads / 2, s.stages[2].busy_seconds = 1;
  // The sites are a quarter of all that come, as the regroup says; everything else is half done.
  const double share = (1 + 10 + 1 + 0.1 + 2) / (2 * (1 + 10 + 1 + 0.1) + 4 * 2);
  CHECK(TimeLeft(plan).after(s).share == doctest::Approx(share));
}

TEST_CASE("a sink that does much of its work at the end") {
  // As sort: read in 6 s, merged in 4.
  bool says = false;
  const auto at = [&says](double now) {
    Moment m{now};
    if (says && now > 6) m.written_said = ramp(now, 6, 10);
    m.read = m.looked_up = m.counted = m.gathered = m.sites = ramp(now, 0, 6);
    m.reading = 3 * m.read, m.looking_up = 5 * m.looked_up, m.counting = 0.1 * m.counted, m.writing = 2 * m.sites;
    return m;
  };
  CHECK(worst_factor(plan_of("usual_share_at_end = 0.4\n"), 10, at) < 1.1);
  CHECK(worst_factor(plan_of("usual_share_at_end = 0.3\n"), 10, at) > 3);
  says = true;
  CHECK(worst_factor(plan_of("usual_share_at_end = 0.3\n"), 10, at) < 1.8);
}

TEST_CASE("a sink that says that it has no last step") {
  // As map's, which sorts only if it is asked to.
  const auto course = [](double said) {
    return [said](double now) {
      Moment m{now};
      m.written_said = said;
      m.read = m.looked_up = m.counted = m.gathered = m.sites = ramp(now, 0, 10);
      m.reading = 3 * m.read, m.looking_up = 5 * m.looked_up, m.counting = 0.1 * m.counted, m.writing = 2 * m.sites;
      return m;
    };
  };
  CHECK(worst_factor(plan_of("usual_share_at_end = 0.4\n"), 10, course(1)) < 1.1);
  CHECK(worst_factor(plan_of("usual_share_at_end = 0.4\n"), 10, course(-1)) > 2);
}

TEST_CASE("resources are made once, and a beginning says nothing") {
  const auto at = [](double now) {
    Moment m{now};
    m.read = m.looked_up = m.counted = m.gathered = m.sites = ramp(now, 5, 10);
    m.looking_up = 10 * m.looked_up;
    return m;
  };
  const Plan plan = plan_of();
  TimeLeft time_left(plan);
  RunStatistics s = snapshot(at(6));
  StageStatistics index;
  index.role = "resource", index.busy_seconds = 5;
  s.stages.insert(s.stages.begin(), index);
  CHECK(time_left.after(s).seconds == doctest::Approx(4));
  RunStatistics early = snapshot(at(5.05));
  CHECK(time_left.after(early).seconds < 0);
  early.source_progress = -1;
  CHECK(time_left.after(early).seconds < 0);
}
