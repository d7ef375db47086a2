// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Text that grows without being cleared first, for numbers that are written in place.

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <string_view>

namespace sluice::event_alignment_writer {

class TextBuffer {
 public:
  // Where to write up to `bytes` more; end_at() says how many there were.
  char* room(std::size_t bytes) {
    if (capacity_ - size_ < bytes) grow(std::max(size_ + bytes, size_ + size_ / 2));
    return text_.get() + size_;
  }
  void end_at(const char* end) { size_ = static_cast<std::size_t>(end - text_.get()); }
  void add(std::string_view text) {
    std::memcpy(room(text.size()), text.data(), text.size());
    size_ += text.size();
  }
  void clear() { size_ = 0; }

  const char* data() const { return text_.get(); }
  std::size_t size() const { return size_; }
  std::string_view view() const { return {text_.get(), size_}; }

 private:
  void grow(std::size_t capacity) {
    auto larger = std::make_unique_for_overwrite<char[]>(capacity);
    if (size_ > 0) std::memcpy(larger.get(), text_.get(), size_);
    text_ = std::move(larger);
    capacity_ = capacity;
  }
  std::unique_ptr<char[]> text_;
  std::size_t size_ = 0, capacity_ = 0;
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
