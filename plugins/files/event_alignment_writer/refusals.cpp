// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "event_alignment_writer/refusals.hpp"

#include <algorithm>
#include <sluice/failure.hpp>
#include <string>

namespace sluice::event_alignment_writer {

void refuse_table_options(std::string_view options, std::string_view form) {
  constexpr std::string_view asked = "=true";
  while (!options.empty()) {
    const std::size_t end = std::min(options.find(' '), options.size());
    const std::string_view word = options.substr(0, end);
    if (word.ends_with(asked))
      throw Failure::usage(std::string(word.substr(0, word.size() - asked.size())) + " is an option of the event table, not of " + std::string(form),
                           "leave it out, or write the table (--format tsv)");
    options.remove_prefix(std::min(end + 1, options.size()));
  }
}

void refuse_binary_name(std::string_view path, std::string_view form) {
  for (const std::string_view suffix : {".bam", ".cram"})
    if (path.ends_with(suffix))
      throw Failure::usage("'" + std::string(path) + "': " + std::string(form) + " is text", "choose a name without " + std::string(suffix));
}

void refuse_dna(std::string_view pore, std::string_view form) {
  if (pore.empty() || pore.starts_with("rna")) return;
  throw Failure::usage(std::string(form) + " read direct RNA, and the pore '" + std::string(pore) + "' is of DNA",
                       "give signal of direct RNA; if it is, and the header of the signal file is wrong: --pore rna004");
}

}  // namespace sluice::event_alignment_writer
