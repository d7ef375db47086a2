/* SPDX-License-Identifier: MIT
 * SPDX-FileCopyrightText: The sluice authors
 *
 * The layout of the ABI's structs as a table: "sluice_batch" and its size, "sluice_batch.rows" and where it lies, "SLUICE_MAP" and its value. */
#ifndef SLUICE_TESTS_ABI_LAYOUT_H
#define SLUICE_TESTS_ABI_LAYOUT_H

#include <stddef.h>

struct layout_entry {
  const char* name;
  size_t value;
};

/* Both give the number of entries. */
size_t frozen_layout(const struct layout_entry** all);
size_t layout_of_today(const struct layout_entry** all);

#endif
