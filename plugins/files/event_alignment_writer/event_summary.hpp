// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// One line an alignment: how its events went along the reference, and the read's scaling (f5c eventalign --summary).

#include <string_view>

#include "event_alignment_writer/event_path.hpp"
#include "event_alignment_writer/text_buffer.hpp"

namespace sluice::event_alignment_writer {

// With its newline.
std::string_view summary_header();

// The path must be sound.
void append_summary(const Alignment& alignment, TextBuffer& text);

}  // namespace sluice::event_alignment_writer
