// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The one life of a run: its states, what may happen in each, and what is done then (docs/design/ending.md).

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace sluice {

enum class LifeState : std::uint8_t {
  made,        // planned; nothing is open
  running,     // sources give, stages work
  stopping,    // no more is read: what is in flight is finished, or dropped
  publishing,  // all work is done: outputs are synced and get their names
  ended        // the outcome is fixed
};
constexpr std::size_t life_state_count = 5;

enum class LifeEvent : std::uint8_t {
  first_interrupt,   // Ctrl-C, SIGTERM, sluice_run_interrupt()
  second_interrupt,  // again; or the first one where the user has ended the followed input before, or nothing can be kept
  end_of_followed,   // the followed input gets no more
  exception,         // a stage or the engine fails
  lost_device,       // a device answers no more
  full_disk,         // an output can't be written
  no_memory,         // an allocation fails, or a thread can't be started
  end_all            // sluice_end_all_runs()
};
constexpr std::size_t life_event_count = 8;

enum class LifeAnswer : std::uint8_t {
  stands,        // nothing changes
  never_begins,  // the run is over: nothing was opened
  ends_input,    // sources that follow give what is there; the run is a whole one
  finishes,      // sources end; what is in flight is finished, and kept as NAME.partial
  drops,         // everything in flight is dropped; no output is kept
  completes,     // the outputs get their names; the run says that it was interrupted
  takes_back     // no output gets its name, and those that have one lose it
};

// What is done: by state, then by event, in the order of their declarations.
constexpr auto life_answers = [] {
  using enum LifeAnswer;
  // clang-format off
  return std::array<std::array<LifeAnswer, life_event_count>, life_state_count>{{
      //               first_interrupt  second_interrupt  end_of_followed  exception     lost_device  full_disk     no_memory     end_all
      /* made */       {never_begins,   never_begins,     ends_input,      never_begins, stands,      never_begins, never_begins, never_begins},
      /* running */    {finishes,       drops,            ends_input,      drops,        stands,      drops,        drops,        drops},
      /* stopping */   {stands,         drops,            stands,          drops,        stands,      drops,        drops,        drops},
      /* publishing */ {completes,      takes_back,       stands,          takes_back,   stands,      takes_back,   takes_back,   completes},
      /* ended */      {stands,         stands,           stands,          stands,       stands,      stands,       stands,       stands},
  }};
  // clang-format on
}();
constexpr LifeAnswer life_answer(LifeState state, LifeEvent event) {
  return life_answers[static_cast<std::size_t>(state)][static_cast<std::size_t>(event)];
}

class RunLife {
 public:
  // Something has happened. What is asked for below answers accordingly when this returns. [thread-safe, async-signal-safe]
  LifeAnswer tell(LifeEvent event);
  // Another interrupt of whoever has the run: the first or the second, by what was told before. [thread-safe, async-signal-safe]
  LifeAnswer interrupt();

  // The run's own steps, one after the other. False: the work has been dropped (taken back) before; the step to `ended` is made then, too.
  bool step(LifeState next);

  LifeState state() const { return static_cast<LifeState>(life_.load(std::memory_order_relaxed) & state_bits); }
  // Sources end.
  bool stops() const { return state() == LifeState::stopping || has(dropped); }
  // Everything in flight ends.
  bool drops() const { return has(dropped); }
  bool failed() const { return has(failure); }
  bool input_ended() const { return has(ends); }
  // Was it interrupted before the outcome was fixed? Then it keeps all (completes), what was finished, or nothing (drops).
  bool interrupted() const { return has(interruption); }
  bool keeps_part() const { return has(part); }
  // Has it ended with everything under its name?
  bool has_whole_outputs() const { return state() == LifeState::ended && !drops() && !failed() && !keeps_part(); }

 private:
  // One word: the state, and what has happened so far.
  enum : std::uint32_t { state_bits = 7, dropped = 8, failure = 16, interruption = 32, part = 64, ends = 128, asked = 256 };
  bool has(std::uint32_t flag) const { return (life_.load(std::memory_order_relaxed) & flag) != 0; }
  static std::uint32_t after(std::uint32_t life, LifeEvent event, LifeAnswer answer);
  template <class Choose>
  LifeAnswer tell_chosen(Choose&& event_in);

  std::atomic<std::uint32_t> life_{0};
};

}  // namespace sluice
