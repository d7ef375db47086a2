// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Text that grows without being cleared first, for numbers that are written in place.

#include <cstddef>
#include <cstring>
#include <sluice/kept_buffer.hpp>
#include <string_view>

namespace sluice::event_alignment_writer {

class TextBuffer {
 public:
  // Where to write up to `bytes` more; end_at() says how many there were.
  char* room(std::size_t bytes) {
    text_.reserve(text_.size() + bytes);
    return text_.data() + text_.size();
  }
  void end_at(const char* end) { text_.set_size(static_cast<std::size_t>(end - text_.data())); }
  void add(std::string_view text) { text_.append(text); }
  void clear() { text_.clear(); }

  const char* data() const { return text_.data(); }
  std::size_t size() const { return text_.size(); }
  std::string_view view() const { return {text_.data(), text_.size()}; }

 private:
  KeptBuffer<char> text_;
};

// Copies whole blocks, in place of a call for some ten bytes: there must be room for one more behind both ends.
inline constexpr std::size_t block_bytes = 32;
inline char* put_blocks(char* at, std::string_view text) {
  for (std::size_t done = 0; done < text.size(); done += block_bytes) std::memcpy(at + done, text.data() + done, block_bytes);
  return at + text.size();
}

// Copies text to where there is room; returns its end.
inline char* put(char* at, std::string_view text) {
  std::memcpy(at, text.data(), text.size());
  return at + text.size();
}

}  // namespace sluice::event_alignment_writer
