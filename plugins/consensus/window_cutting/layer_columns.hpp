// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Columns that say where the layers of a window lie on their reads, which windows carry on until the letters are fetched.

namespace sluice::window_cutting {

// declare(name, type, help): Describe::gives or needs.
template <class Declare>
void describe_layer_columns(Declare&& declare) {
  declare("layer_query", "list<i64>", "per layer: row of its read in the store");
  declare("layer_query_start", "list<i32>", "per layer: first base on the read, forward strand");
  declare("layer_query_end", "list<i32>", "per layer: end on the read");
  declare("layer_is_reverse", "list<u8>", "per layer: 1: the read's reverse complement belongs to the target");
}

}  // namespace sluice::window_cutting
