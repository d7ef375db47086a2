// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// What mutants.py puts into a source: each mutant is compiled in beside the original, and SLUICE_MUTANT=NUMBER chooses one when the program starts
// (0, or not set: none). So a test program is built once for all mutants of a stage.
// The numbers of those that have become code to run, not a number that the compiler has used up, are in the section .sluice_mutants.
// SLUICE_MUTANT=-1 chooses none, and appends the numbers of all that a run came past to the file SLUICE_MUTANTS_REACHED.

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <type_traits>

namespace sluice_mutants {

constexpr int at_most = 4096;
inline unsigned char reached[at_most] = {};

inline int choose() {
  const char* number = std::getenv("SLUICE_MUTANT");
  if (number == nullptr) return 0;
  const int chosen = std::atoi(number);
  if (chosen == -1)
    std::atexit([] {
      const char* path = std::getenv("SLUICE_MUTANTS_REACHED");
      std::FILE* file = path == nullptr ? nullptr : std::fopen(path, "a");
      if (file == nullptr) return;
      for (int id = 0; id < at_most; ++id)
        if (reached[id] != 0) std::fprintf(file, "%d\n", id);
      std::fclose(file);
    });
  return chosen;
}
inline const int chosen = choose();

template <int id>
constexpr bool active() {
  if (std::is_constant_evaluated()) return false;
  asm volatile(".pushsection .sluice_mutants, \"\"\n.long %c0\n.popsection" : : "i"(id));
  if (chosen == id) return true;
  if (chosen == -1) reached[id] = 1;
  return false;
}

template <int id, class T>
constexpr T value(T original, T mutant) {
  return active<id>() ? mutant : original;
}

// `a < less<7>() > b` is `a < b`, or `a <= b` for mutant 7; the others in the same way. Precedence stays.
template <int id>
struct less {};
template <int id>
struct less_equal {};
template <int id>
struct greater {};
template <int id>
struct greater_equal {};
template <int id>
struct equal {};
template <int id>
struct unequal {};
template <class Operator, class T>
struct Left {
  const T& value;
};

template <class T, int id>
constexpr Left<less<id>, T> operator<(const T& a, less<id>) {
  return {a};
}
template <class T, int id>
constexpr Left<less_equal<id>, T> operator<=(const T& a, less_equal<id>) {
  return {a};
}
template <class T, int id>
constexpr Left<greater<id>, T> operator>(const T& a, greater<id>) {
  return {a};
}
template <class T, int id>
constexpr Left<greater_equal<id>, T> operator>=(const T& a, greater_equal<id>) {
  return {a};
}
template <class T, int id>
constexpr Left<equal<id>, T> operator==(const T& a, equal<id>) {
  return {a};
}
template <class T, int id>
constexpr Left<unequal<id>, T> operator!=(const T& a, unequal<id>) {
  return {a};
}

template <class T, int id, class U>
constexpr bool operator>(Left<less<id>, T> a, const U& b) {
  return active<id>() ? a.value <= b : a.value < b;
}
template <class T, int id, class U>
constexpr bool operator>(Left<less_equal<id>, T> a, const U& b) {
  return active<id>() ? a.value < b : a.value <= b;
}
template <class T, int id, class U>
constexpr bool operator>(Left<greater<id>, T> a, const U& b) {
  return active<id>() ? a.value >= b : a.value > b;
}
template <class T, int id, class U>
constexpr bool operator>(Left<greater_equal<id>, T> a, const U& b) {
  return active<id>() ? a.value > b : a.value >= b;
}
template <class T, int id, class U>
constexpr bool operator==(Left<equal<id>, T> a, const U& b) {
  return active<id>() ? a.value != b : a.value == b;
}
template <class T, int id, class U>
constexpr bool operator!=(Left<unequal<id>, T> a, const U& b) {
  return active<id>() ? a.value == b : a.value != b;
}

}  // namespace sluice_mutants
