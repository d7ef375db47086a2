// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// XXH3 with 64 bits, of bytes that come in pieces.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace sluice {

class Checksum {
 public:
  Checksum();
  ~Checksum();
  void add(std::string_view bytes);
  std::uint64_t value() const;
  // 16 hexadecimal digits, as `xxhsum -H3` writes them.
  std::string text() const;
  static std::string text_of(std::string_view bytes);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace sluice
