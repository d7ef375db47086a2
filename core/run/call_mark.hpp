// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Which stage's code a thread is in, so that a crash there, or an exit(), can be named. That code sees the C locale.

#include <sluice/abi.h>

#include <cstddef>
#include <cstdint>

#include "machine/c_locale.hpp"

namespace sluice {

class CallMark {
 public:
  static constexpr std::uint64_t no_batch = UINT64_MAX;
  // Marks this thread for as long as the object lives. It also gives the thread a stack for signals, so that an overflow of its own can be told.
  explicit CallMark(const sluice_host& host, std::uint64_t sequence = no_batch, std::int64_t rows = 0);
  // On a thread that works for a call of another one; null: `host` alone is known.
  CallMark(const CallMark* caller, const sluice_host& host);
  CallMark(const CallMark&) = delete;
  ~CallMark();

  static const CallMark* current();
  // Of the batch that this thread is called with; no_batch: none.
  static std::uint64_t current_sequence() { return current() == nullptr ? no_batch : current()->sequence_; }
  // [async-signal-safe] "stage 'abea' of plugin 'abea', batch 12 (70 rows)" of this thread, or a word that it is none of sluice's calls.
  // Returns the number of bytes.
  static std::size_t describe_current(char* text, std::size_t capacity);

 private:
  const sluice_host* host_;
  std::uint64_t sequence_;
  std::int64_t rows_;
  const CallMark* outer_;
  const CLocale locale_;
};

}  // namespace sluice
