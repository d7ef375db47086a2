// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Samples as text, scaled to the model. A read has some hundred different raw values, each of them in many samples, so each is formatted once.

#include <array>
#include <cstdint>
#include <memory>
#include <sluice/number_text.hpp>
#include <vector>

#include "event_alignment_writer/event_path.hpp"
#include "event_alignment_writer/raw_signal.hpp"

namespace sluice::event_alignment_writer {

class SampleTexts {
 public:
  // Room that put() needs at most.
  static constexpr std::size_t bytes = 16;

  void begin(const RawSignal& signal, const Scaling& scaling) {
    for (const std::int16_t raw : made_) entry(raw).length = 0;
    made_.clear();
    signal_ = signal;
    scaling_ = scaling;
  }
  // The sample and a comma behind it.
  char* put(char* at, std::int16_t raw) {
    Entry& text = entry(raw);
    if (text.length == 0) make(raw, text);
    std::memcpy(at, &text, bytes);
    return at + text.length;
  }

 private:
  struct Entry {
    std::array<char, bytes - 1> text;
    std::uint8_t length;  // with the comma; 0: not made yet
  };
  static_assert(sizeof(Entry) == bytes);

  Entry& entry(std::int16_t raw) { return (*entries_)[static_cast<std::uint16_t>(raw)]; }
  void make(std::int16_t raw, Entry& entry);

  using Entries = std::array<Entry, 65536>;
  std::unique_ptr<Entries> entries_ = std::make_unique<Entries>();
  std::vector<std::int16_t> made_;
  RawSignal signal_;
  Scaling scaling_;
};

}  // namespace sluice::event_alignment_writer
