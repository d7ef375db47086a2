// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Types of the tags of BAM records (SAM specification, 4.2.4).

#include <cstddef>

namespace sluice::hts {

// Bytes of a value of fixed size; 0: none has this type.
constexpr std::size_t tag_value_bytes(char type) {
  switch (type) {
    case 'A':
    case 'c':
    case 'C':
      return 1;
    case 's':
    case 'S':
      return 2;
    case 'i':
    case 'I':
    case 'f':
      return 4;
    case 'd':
      return 8;
    default:
      return 0;
  }
}

// Of an element of an array (type B), whose types are fewer; 0: it can't be one.
constexpr std::size_t tag_element_bytes(char type) { return type == 'A' || type == 'd' ? 0 : tag_value_bytes(type); }

}  // namespace sluice::hts
