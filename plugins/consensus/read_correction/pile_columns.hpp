// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Columns of rows of the type "pile", and where the layers of a piece lie, which windows carry on until their letters are fetched.

namespace sluice::read_correction {

// declare(name, type, help): Describe::gives or needs.
template <class Declare>
void describe_pile_columns(Declare&& declare) {
  declare("target_index", "i64", "row of the read that is corrected in the store");
  declare("target_overlaps", "i64", "overlaps on it");
  declare("pile_query", "list<i64>", "per overlap: row of the overlapping read in the store");
  declare("pile_target_start", "list<i32>", "per overlap: first base on the target");
  declare("pile_target_end", "list<i32>", "per overlap: end on the target");
  declare("pile_query_start", "list<i32>", "per overlap: first base on the query, forward strand");
  declare("pile_query_end", "list<i32>", "per overlap: end on the query");
  declare("pile_matches", "list<i32>", "per overlap: matching bases; 0: unknown");
  declare("pile_is_reverse", "list<u8>", "per overlap: 1: the query's reverse complement matches");
}

template <class Declare>
void describe_layer_columns(Declare&& declare) {
  declare("layer_query", "list<i64>", "per layer: row of its read in the store");
  declare("layer_query_start", "list<i32>", "per layer: first base on the read, forward strand");
  declare("layer_query_end", "list<i32>", "per layer: end on the read");
  declare("layer_is_reverse", "list<u8>", "per layer: 1: the read's reverse complement belongs to the target");
}

}  // namespace sluice::read_correction
