// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Look-ups by name in files that others still write (sluice/followed_files.hpp): files are taken up as they come, and a batch with names that are in
// none of them waits. It waits for files, never for memory or for other batches, so it always ends.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <sluice/follow_state.hpp>
#include <sluice/followed_files.hpp>
#include <sluice/stage.hpp>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

namespace sluice {

// Of a blocking map: used by one thread at a time.
class FollowedLookup {
 public:
  using File = FollowedFiles::File;
  enum class Growth : std::uint8_t { none, possible };
  enum class Taken : std::uint8_t { nothing, part, all };
  // Takes up what has come of a file since, and adds it to `records`; with Growth::none there will be no more. Throws Failure.
  using TakeUp = std::function<Taken(const Call&, File&, Growth, std::uint64_t& records)>;
  // Of a batch.
  struct Missing {
    std::size_t count = 0;
    std::string_view first;
  };

  // The rows of a batch, by their `read_id` or another column of names, of which has(name) is false.
  template <class Has>
  static Missing missing_reads(const Batch& in, const Has& has, const char* column = "read_id") {
    const TextView read_ids = in.text(column);
    Missing missing;
    for (std::int64_t row = 0; row < in.rows(); ++row)
      if (in.ok(row) && !has(read_ids[row]) && missing.count++ == 0) missing.first = read_ids[row];
    return missing;
  }

  // `incomplete`: the stage's reason under which files are named that could be taken in part only, or not. `records`: what they have, for messages.
  FollowedLookup(FollowRules rules, std::uint32_t incomplete, std::string records, TakeUp take_up)
      : idle_seconds_(rules.idle_seconds),
        files_(without_idle_end(std::move(rules))),
        incomplete_(incomplete),
        records_(std::move(records)),
        take_up_(std::move(take_up)) {
    refuse_unfollowed(files_.rules().inputs);
  }

  // What to do with rows that are still missing: they fail, or, as nobody needs them any more, are left out on purpose.
  enum class Rest : std::uint8_t { is_lost, is_not_needed };
  // Until missing() is nothing, or nothing more is to be waited for.
  template <class FindMissing>
  Rest wait(const Call& call, const FindMissing& missing) {
    Missing now = missing();
    while (now.count > 0 && !ended_) {
      const FollowState state = follow_state(call);
      if (state == FollowState::not_needed) return Rest::is_not_needed;
      if (seconds() - looked_at_ < look_seconds && state == FollowState::goes_on) {
        if (is_idle()) break;
        std::this_thread::sleep_for(nap);
        continue;
      }
      look(call);
      if (is_idle()) break;
      now = missing();
      if (now.count > 0 && !ended_) say_wait(call, now);
    }
    return Rest::is_lost;
  }
  // After the last batch: what is not whole is named, if it mattered.
  void finish(const Call& call) {
    if (follow_state(call) == FollowState::not_needed || std::exchange(ended_, true)) return;
    files_.end_because("the run ends");
    look(call);
  }

 private:
  static constexpr double look_seconds = 1;
  static constexpr auto nap = std::chrono::milliseconds(100);
  static double seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }
  // Who has waited for so long waits no longer, but later batches look again: something may have come after all.
  static FollowRules without_idle_end(FollowRules rules) {
    if (const double idle = std::exchange(rules.idle_seconds, 0); idle > 0) rules.settle_seconds = std::min(rules.settle_seconds, idle);
    return rules;
  }
  bool is_idle() const { return idle_seconds_ > 0 && looked_at_ - files_.changed() >= idle_seconds_; }

  void look(const Call& call) {
    looked_at_ = seconds();
    if (follow_state(call) == FollowState::ends) files_.end_because("interrupted");
    files_.look(looked_at_);
    ended_ = !files_.end().empty();
    for (File& file : files_.files()) {
      if (!file.problem.empty()) {
        if (!file.told) name_incomplete(call, file, file.problem);
      } else if (file.state != FollowedFiles::State::done) {
        take_up(call, file);
      }
    }
  }
  void take_up(const Call& call, File& file) {
    const bool is_whole = file.whole > 0 && file.mark != EndMark::missing;
    if (!ended_ && !is_whole && file.bytes <= file.offered) return;
    std::uint64_t& records = records_of_[&file];
    const bool is_new = file.state == FollowedFiles::State::waiting;
    file.offered = file.bytes;
    try {
      const Taken taken = take_up_(call, file, ended_ || is_whole ? Growth::none : Growth::possible, records);
      if (taken == Taken::nothing) return;
      file.state = taken == Taken::all ? FollowedFiles::State::done : FollowedFiles::State::begun;
      if (is_new) call.info("takes up '" + file.path + "'");
    } catch (const Failure& failure) {
      if (failure.status() != SLUICE_ERROR_INPUT) throw;
      if (ended_ || is_whole) name_incomplete(call, file, failure.what());
    }
  }
  void name_incomplete(const Call& call, File& file, const std::string& what) {
    const std::string text = "'" + file.path + "': " + std::to_string(records_of_[&file]) + " " + records_ + " were taken, then: " + what;
    call.account(incomplete_, 1, text);
    call.warn("incomplete: " + text);
    if (file.problem.empty()) file.problem = what;
    file.told = true;
    file.state = FollowedFiles::State::done;
  }
  void say_wait(const Call& call, const Missing& missing) {
    if (missing.first == said_of_) return;
    said_of_ = missing.first;
    call.info("waits for " + std::to_string(missing.count) + " reads of a batch, the first of them '" + std::string(missing.first) +
              "' (Ctrl-C ends it)");
  }

  double idle_seconds_;
  FollowedFiles files_;
  std::uint32_t incomplete_;
  std::string records_;
  TakeUp take_up_;
  std::map<const File*, std::uint64_t> records_of_;
  double looked_at_ = -look_seconds;
  std::string said_of_;
  bool ended_ = false;
};

}  // namespace sluice
