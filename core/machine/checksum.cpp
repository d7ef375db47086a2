// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "machine/checksum.hpp"

#define XXH_INLINE_ALL
#include <fmt/format.h>
#include <xxhash.h>

#include <new>

namespace sluice {

struct Checksum::State {
  std::unique_ptr<XXH3_state_t, XXH_errorcode (*)(XXH3_state_t*)> xxh3{XXH3_createState(), XXH3_freeState};
};

Checksum::Checksum() : state_(std::make_unique<State>()) {
  if (!state_->xxh3) throw std::bad_alloc();
  XXH3_64bits_reset(state_->xxh3.get());
}
Checksum::~Checksum() = default;
void Checksum::add(std::string_view bytes) { XXH3_64bits_update(state_->xxh3.get(), bytes.data(), bytes.size()); }
std::uint64_t Checksum::value() const { return XXH3_64bits_digest(state_->xxh3.get()); }
std::string Checksum::text() const { return fmt::format("{:016x}", value()); }
std::string Checksum::text_of(std::string_view bytes) {
  Checksum sum;
  sum.add(bytes);
  return sum.text();
}

}  // namespace sluice
