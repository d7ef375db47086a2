// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "run/run_life.hpp"

namespace sluice {

static_assert(std::atomic<std::uint32_t>::is_always_lock_free);  // signal handlers use it

std::uint32_t RunLife::after(std::uint32_t life, LifeEvent event, LifeAnswer answer) {
  const auto in = [&](LifeState state) { life = (life & ~static_cast<std::uint32_t>(state_bits)) | static_cast<std::uint32_t>(state); };
  const bool is_interrupt = event == LifeEvent::first_interrupt || event == LifeEvent::second_interrupt;
  if (is_interrupt || event == LifeEvent::end_of_followed) life |= asked;
  if (answer == LifeAnswer::stands) return life;
  if (answer == LifeAnswer::ends_input) return life | ends;
  life |= is_interrupt || event == LifeEvent::end_all ? interruption : failure;
  switch (answer) {
    case LifeAnswer::never_begins:
      in(LifeState::ended);
      return life | dropped;
    case LifeAnswer::finishes:
      in(LifeState::stopping);
      return life | part;
    case LifeAnswer::drops:
      in(LifeState::stopping);
      return life | dropped;
    case LifeAnswer::takes_back:
      return life | dropped;
    default:
      return life;
  }
}

template <class Choose>
LifeAnswer RunLife::tell_chosen(Choose&& event_in) {
  std::uint32_t life = life_.load();
  for (;;) {
    const LifeEvent event = event_in(life);
    const LifeAnswer answer = life_answer(static_cast<LifeState>(life & state_bits), event);
    if (life_.compare_exchange_weak(life, after(life, event, answer))) return answer;
  }
}

LifeAnswer RunLife::tell(LifeEvent event) {
  return tell_chosen([event](std::uint32_t) { return event; });
}

LifeAnswer RunLife::interrupt() {
  return tell_chosen([](std::uint32_t life) { return (life & asked) != 0 ? LifeEvent::second_interrupt : LifeEvent::first_interrupt; });
}

bool RunLife::step(LifeState next) {
  std::uint32_t life = life_.load();
  for (;;) {
    const bool goes_on = (life & dropped) == 0;
    if (!goes_on && next != LifeState::ended) return false;
    if (life_.compare_exchange_weak(life, (life & ~static_cast<std::uint32_t>(state_bits)) | static_cast<std::uint32_t>(next))) return goes_on;
  }
}

}  // namespace sluice
