// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// For functions of C libraries that make something and return null where there is no memory for it.

#include <new>

namespace sluice {

// What was made. Throws std::bad_alloc for null.
template <class T>
T* allocated(T* made) {
  if (made == nullptr) throw std::bad_alloc();
  return made;
}

}  // namespace sluice
