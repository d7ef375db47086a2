// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The state of an instance as bytes: what save() writes and Setup::saved() gives back. Read in the order of writing, by the same build.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <sluice/failure.hpp>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace sluice {

// Throws Failure with the status of a write that has failed.
class StateWriter {
 public:
  using Write = sluice_status (*)(void* to, const void* data, std::size_t bytes);
  StateWriter(Write write, void* to) : write_(write), to_(to) {}

  // Numbers, enums, and structs of them without pointers (and without padding, as states of equal instances are equal).
  template <class T>
  requires std::has_unique_object_representations_v<T> || std::is_floating_point_v<T>
  void value(const T& value) { write(&value, sizeof value); }
  void text(std::string_view text) {
    value(std::uint64_t{text.size()});
    write(text.data(), text.size());
  }
  template <class T>
  requires std::is_trivially_copyable_v<T>
  void values(const std::vector<T>& values) {
    value(std::uint64_t{values.size()});
    write(values.data(), values.size() * sizeof(T));
  }

 private:
  void write(const void* data, std::size_t bytes) {
    if (const sluice_status status = write_(to_, data, bytes); status != SLUICE_OK) throw Failure(status, "the state of a stage could not be saved");
  }

  Write write_;
  void* to_;
};

// Every read that goes beyond the end throws Failure::input.
class StateReader {
 public:
  explicit StateReader(std::string_view bytes) : rest_(bytes) {}

  template <class T>
  requires std::is_trivially_copyable_v<T> T value() {
    T value;
    std::memcpy(&value, take(1, sizeof value).data(), sizeof value);
    return value;
  }
  std::string_view text() { return take(value<std::uint64_t>(), 1); }
  template <class T>
  requires std::is_trivially_copyable_v<T> std::vector<T> values() {
    const auto count = value<std::uint64_t>();
    const std::string_view bytes = take(count, sizeof(T));
    std::vector<T> values(static_cast<std::size_t>(count));
    if (count > 0) std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }
  // All has been read?
  bool at_end() const { return rest_.empty(); }

 private:
  std::string_view take(std::uint64_t count, std::size_t each) {
    if (count > rest_.size() / each) throw Failure::input("the saved state of a stage is damaged", "begin the run anew, without --resume");
    const std::string_view taken = rest_.substr(0, static_cast<std::size_t>(count) * each);
    rest_.remove_prefix(taken.size());
    return taken;
  }
  std::string_view rest_;
};

}  // namespace sluice
