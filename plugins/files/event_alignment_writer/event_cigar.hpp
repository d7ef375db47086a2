// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The alignment of events instead of bases as a SAM record, as nanopolish eventalign --sam and f5c with --sam-out-version 1 write it.

#include <cstdint>

#include "event_alignment_writer/event_path.hpp"
#include "event_alignment_writer/text_buffer.hpp"

namespace sluice::event_alignment_writer {

// Appends the line, with its newline: in its CIGAR S are events before the first one, M is an event on the next k-mer, I one on the same k-mer, D are
// k-mers without events. The path must be sound and have rows.
void append_event_record(const Alignment& alignment, std::uint8_t mapq, TextBuffer& text);

}  // namespace sluice::event_alignment_writer
