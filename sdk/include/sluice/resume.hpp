// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Going on behind an instance that saved its state: the other half of a stage's save().

#include <cstdint>
#include <sluice/failure.hpp>
#include <sluice/saved_state.hpp>
#include <sluice/stage.hpp>
#include <string_view>
#include <type_traits>

namespace sluice {

inline Failure damaged_state() { return Failure::input("the saved state of a stage is damaged", "begin the run anew, without --resume"); }

// restore(StateReader&) for each state that there is, which it must read to its end. In the constructor, when all else is as for a new instance.
template <class Restore>
void resume(const Setup& setup, Restore&& restore) {
  for (const std::string_view saved : setup.saved()) {
    StateReader state(saved);
    restore(state);
    if (!state.at_end()) throw damaged_state();
  }
}

// Of a stage without a state of its own: there is nothing to restore.
inline void resume(const Setup& setup) {
  resume(setup, [](StateReader&) {});
}

// Rows member by member, so that bytes between them do not matter.
template <class Rows, class Row = typename Rows::value_type, class... Values>
void save_rows(StateWriter& to, const Rows& rows, Values Row::*... members) {
  to.value(std::uint64_t{rows.size()});
  for (const Row& row : rows) (to.value(row.*members), ...);
}
template <class Value>
using StoredAs = std::conditional_t<std::is_same_v<Value, bool>, std::uint8_t, Value>;  // no other byte than 0 and 1 is a bool
template <class Rows, class Row = typename Rows::value_type, class... Values>
void restore_rows(StateReader& from, Rows& rows, Values Row::*... members) {
  rows.clear();
  for (auto count = from.value<std::uint64_t>(); count > 0; --count) {
    Row& row = rows.emplace_back();
    ((row.*members = static_cast<Values>(from.value<StoredAs<Values>>())), ...);
  }
}

}  // namespace sluice
