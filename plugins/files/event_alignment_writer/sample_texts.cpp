// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "event_alignment_writer/sample_texts.hpp"

#include <algorithm>

namespace sluice::event_alignment_writer {

void SampleTexts::make(std::int16_t raw, Entry& entry) {
  // As f5c: in double precision, kept in single.
  const auto scaled = static_cast<float>((double{signal_.pico_amps(raw)} - double{scaling_.shift}) / double{scaling_.scale});
  std::array<char, general_text_bytes + 1> text{};
  char* const end = put_general(text.data(), scaled);
  *end = ',';
  const auto length = static_cast<std::size_t>(end + 1 - text.data());
  std::copy_n(text.begin(), length, entry.text.begin());  // 12 characters at most, as in -1.23457e+38
  entry.length = static_cast<std::uint8_t>(length);
  made_.push_back(raw);
}

}  // namespace sluice::event_alignment_writer
