// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Which stretch of the raw signal lies on which k-mers of the reference, as the tags si and ss of f5c eventalign --sam and --paf say it.

#include <cstdint>

#include "event_alignment_writer/event_path.hpp"
#include "event_alignment_writer/text_buffer.hpp"

namespace sluice::event_alignment_writer {

struct SignalAlignment {
  std::int64_t start_sample = 0, end_sample = 0;
  // Lowest k-mer and behind the highest; the other way round for RNA, whose signal begins at the 3' end.
  std::int64_t start_kmer = 0, end_kmer = 0;
  std::int64_t matched_kmers = 0;

  std::int64_t kmers() const { return start_kmer < end_kmer ? end_kmer - start_kmer : start_kmer - end_kmer; }
};

// Appends the text of ss, in the order of the signal: for each k-mer with events nD if n k-mers before it have none, nI if n samples before it are
// left out, and n, for its n samples. The path must be sound and have rows.
SignalAlignment append_signal_alignment(const EventPath& path, const Events& events, TextBuffer& ss);

// Appends the line of f5c eventalign --paf, with its newline.
void append_paf(const Alignment& alignment, std::int64_t samples, std::uint32_t k, TextBuffer& text);

}  // namespace sluice::event_alignment_writer
