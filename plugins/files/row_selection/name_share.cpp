// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "row_selection/name_share.hpp"

namespace sluice::row_selection {
namespace {

// Vigna, splitmix64: the constants of its finalizer.
std::uint64_t mixed(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

}  // namespace

std::uint64_t hash_of_name(std::string_view name, std::uint64_t seed) {
  std::uint64_t hash = 0xcbf29ce484222325ULL ^ mixed(seed);
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return mixed(hash);
}

bool is_in_share(std::string_view name, std::uint64_t seed, double share) {
  return share >= 1 || static_cast<double>(hash_of_name(name, seed) >> 11) < share * 0x1p53;
}

}  // namespace sluice::row_selection
