// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once

#include <clocale>

namespace sluice {

// While it lives, this thread has the C locale, whatever the host program has set: printf, strtod and HTSlib's texts write and read 0.5, not 0,5.
// Two stores to memory of the thread.
class CLocale {
 public:
  CLocale() : before_(::uselocale(::newlocale(LC_ALL_MASK, "C", nullptr))) {}  // the C library's own object, never freed
  ~CLocale() { ::uselocale(before_); }
  CLocale(const CLocale&) = delete;

 private:
  const locale_t before_;
};

}  // namespace sluice
