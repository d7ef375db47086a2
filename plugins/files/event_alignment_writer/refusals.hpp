// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// What a form does not do is refused, not left out without a word. All throw Failure::usage.

#include <string_view>

namespace sluice::event_alignment_writer {

// Options of the event table that were asked of another form: words such as samples=true; "=false" is fine.
void refuse_table_options(std::string_view options, std::string_view form);

// A name that promises another kind of file than text, which the form is.
void refuse_binary_name(std::string_view path, std::string_view form);

// A model of DNA, by its resource's attribute `pore`, where the form is of direct RNA. "" is taken for RNA: nobody knows.
void refuse_dna(std::string_view pore, std::string_view form);

}  // namespace sluice::event_alignment_writer
