// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// One line a position, as m6anet reads it (f5c eventalign --m6anet): means over the events that match the reference's k-mer.

#include <cstdint>
#include <sluice/kmer_model.hpp>
#include <string_view>

#include "event_alignment_writer/event_path.hpp"
#include "event_alignment_writer/text_buffer.hpp"

namespace sluice::event_alignment_writer {

enum class ReadColumn : std::uint8_t { index, name };

// With its newline.
std::string_view m6anet_header(ReadColumn column);

// Appends the lines of an alignment whose path is sound. On a reverse record the model's k-mer is the complement of the reference's, so no event
// matches and the means are not numbers, as in f5c's table.
void append_m6anet(const Alignment& alignment, std::uint32_t k, ReadColumn column, TextBuffer& text);

}  // namespace sluice::event_alignment_writer
