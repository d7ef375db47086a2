// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The base-level alignments of reads as base_alignment gives them: for stages that write or use them.

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <sluice/stage.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::overlap {

struct ReadAlignment {
  std::int32_t target = 0;  // number of the contig in the index
  bool is_reverse = false;
  std::int32_t query_start = 0, query_end = 0;  // in sequencing orientation, end exclusive
  std::int32_t target_start = 0, target_end = 0;
  std::int32_t matches = 0, columns = 0, ambiguous = 0;  // columns: without the ambiguous ones
  std::int32_t edit_distance = 0, score = 0, best_score = 0;
  double divergence = 0;  // a gap counts as one column
  std::int32_t anchors = 0, chain_score = 0, second_chain_score = -1;
  bool is_primary = false, is_first = false, is_inversion = false;
  std::uint8_t split = 0, mapping_quality = 0;
  std::uint8_t transcript_strand = 0;    // 1: the read runs along the transcript, 2: against it, else: unknown
  std::span<const std::uint32_t> cigar;  // in BAM encoding and reference orientation, without clips
  std::string_view difference, mismatches;
};

struct ReadAlignmentColumn {
  const char *name, *type, *doc;
};
inline constexpr ReadAlignmentColumn read_alignment_columns[] = {
    {"aligned_target", "list<i32>", "contig of each alignment"},
    {"aligned_is_reverse", "list<u8>", "1: it is on the reverse strand"},
    {"aligned_query_start", "list<i32>", "its first base of the read"},
    {"aligned_query_end", "list<i32>", "the end of its part of the read"},
    {"aligned_target_start", "list<i32>", "its first base of the contig"},
    {"aligned_target_end", "list<i32>", "its end on the contig"},
    {"aligned_matches", "list<i32>", "columns with equal bases"},
    {"aligned_columns", "list<i32>", "columns without an N"},
    {"aligned_ambiguous", "list<i32>", "columns with an N"},
    {"edit_distance", "list<i32>", "mismatches, gap bases and columns with an N"},
    {"alignment_score", "list<i32>", "its score"},
    {"aligned_best_score", "list<i32>", "the score by which it is ranked"},
    {"aligned_divergence", "list<f64>", "differences per column"},
    {"aligned_anchors", "list<i32>", "anchors of its chain"},
    {"aligned_chain_score", "list<i32>", "score of its chain"},
    {"aligned_second_score", "list<i32>", "best score of a chain secondary to it, -1: none"},
    {"aligned_is_primary", "list<u8>", "0: secondary"},
    {"aligned_is_first", "list<u8>", "1: the read's first primary one"},
    {"aligned_is_inversion", "list<u8>", "1: an inverted stretch"},
    {"aligned_split", "list<u8>", "bits: a part was split off behind it, it was split off"},
    {"aligned_mapq", "list<u8>", "mapping quality"},
    {"aligned_transcript_strand", "list<u8>", "1: the read runs along the transcript, 2: against it, else: unknown"},
    {"cigar_count", "list<i32>", "its operations in aligned_cigar"},
    {"aligned_cigar", "list<u32>", "operations of all alignments"},
};

// Declares the columns that ReadAlignments reads.
template <class Stage>
void needs_read_alignments(Describe<Stage>& d, Needed needed = Needed::always) {
  for (const ReadAlignmentColumn& column : read_alignment_columns) d.needs(column.name, column.type, column.doc, needed);
}
inline bool read_alignments_available(const Setup& setup) {
  return std::all_of(std::begin(read_alignment_columns), std::end(read_alignment_columns),
                     [&](const ReadAlignmentColumn& column) { return setup.available(column.name); });
}

// Which of the texts goes with them. difference_and_shifts: the column of difference holds ds tags instead of cs tags.
enum class TagText : std::uint8_t { none, difference, mismatches, difference_and_shifts };
constexpr bool is_difference(TagText text) { return text == TagText::difference || text == TagText::difference_and_shifts; }

class ReadAlignments {
 public:
  ReadAlignments(const Batch& in, TagText text)
      : in_(&in),
        text_(text),
        target_(ints("aligned_target")),
        query_start_(ints("aligned_query_start")),
        query_end_(ints("aligned_query_end")),
        target_start_(ints("aligned_target_start")),
        target_end_(ints("aligned_target_end")),
        matches_(ints("aligned_matches")),
        columns_(ints("aligned_columns")),
        ambiguous_(ints("aligned_ambiguous")),
        edit_distance_(ints("edit_distance")),
        score_(ints("alignment_score")),
        best_score_(ints("aligned_best_score")),
        anchors_(ints("aligned_anchors")),
        chain_score_(ints("aligned_chain_score")),
        second_score_(ints("aligned_second_score")),
        operations_(ints("cigar_count")),
        divergence_(in.list<double>("aligned_divergence")),
        is_reverse_(bytes("aligned_is_reverse")),
        is_primary_(bytes("aligned_is_primary")),
        is_first_(bytes("aligned_is_first")),
        is_inversion_(bytes("aligned_is_inversion")),
        split_(bytes("aligned_split")),
        mapq_(bytes("aligned_mapq")),
        transcript_strand_(bytes("aligned_transcript_strand")),
        cigar_(in.list<std::uint32_t>("aligned_cigar")) {}

  std::size_t count(std::int64_t row) const { return target_[row].size(); }
  // contigs: of the index, which every alignment must be on.
  void read(std::int64_t row, std::size_t contigs, std::vector<ReadAlignment>& alignments) const {
    const std::size_t count = target_[row].size();
    for (const auto* list : {&query_start_, &query_end_, &target_start_, &target_end_, &matches_, &columns_, &ambiguous_, &edit_distance_, &score_,
                             &best_score_, &anchors_, &chain_score_, &second_score_, &operations_})
      if ((*list)[row].size() != count) refuse();
    for (const auto* list : {&is_reverse_, &is_primary_, &is_first_, &is_inversion_, &split_, &mapq_, &transcript_strand_})
      if ((*list)[row].size() != count) refuse();
    if (divergence_[row].size() != count) refuse();
    std::string_view texts;
    if (text_ != TagText::none) texts = in_->text(is_difference(text_) ? "difference_text" : "mismatch_text")[row];
    std::span<const std::uint32_t> operations = cigar_[row];
    alignments.clear();
    for (std::size_t i = 0; i < count; ++i) {
      const auto length = static_cast<std::size_t>(std::max(operations_[row][i], 0));
      if (length > operations.size()) refuse();
      if (static_cast<std::size_t>(static_cast<std::uint32_t>(target_[row][i])) >= contigs)
        throw Failure::input("an alignment is on contig " + std::to_string(target_[row][i]) + ", which the index does not have");
      const std::string_view text = texts.substr(0, texts.find('\n'));
      texts.remove_prefix(std::min(text.size() + 1, texts.size()));
      alignments.push_back({.target = target_[row][i],
                            .is_reverse = is_reverse_[row][i] != 0,
                            .query_start = query_start_[row][i],
                            .query_end = query_end_[row][i],
                            .target_start = target_start_[row][i],
                            .target_end = target_end_[row][i],
                            .matches = matches_[row][i],
                            .columns = columns_[row][i],
                            .ambiguous = ambiguous_[row][i],
                            .edit_distance = edit_distance_[row][i],
                            .score = score_[row][i],
                            .best_score = best_score_[row][i],
                            .divergence = divergence_[row][i],
                            .anchors = anchors_[row][i],
                            .chain_score = chain_score_[row][i],
                            .second_chain_score = second_score_[row][i],
                            .is_primary = is_primary_[row][i] != 0,
                            .is_first = is_first_[row][i] != 0,
                            .is_inversion = is_inversion_[row][i] != 0,
                            .split = split_[row][i],
                            .mapping_quality = mapq_[row][i],
                            .transcript_strand = transcript_strand_[row][i],
                            .cigar = operations.first(length),
                            .difference = is_difference(text_) ? text : std::string_view(),
                            .mismatches = text_ == TagText::mismatches ? text : std::string_view()});
      operations = operations.subspan(length);
    }
  }

 private:
  [[noreturn]] static void refuse() {
    throw Failure::input("the lists of a read's alignments differ in length", "this is a bug in the stage that gives them");
  }
  ListView<std::int32_t> ints(const char* column) const { return in_->list<std::int32_t>(column); }
  ListView<std::uint8_t> bytes(const char* column) const { return in_->list<std::uint8_t>(column); }

  const Batch* in_;
  TagText text_;
  ListView<std::int32_t> target_, query_start_, query_end_, target_start_, target_end_, matches_, columns_, ambiguous_, edit_distance_, score_,
      best_score_, anchors_, chain_score_, second_score_, operations_;
  ListView<double> divergence_;
  ListView<std::uint8_t> is_reverse_, is_primary_, is_first_, is_inversion_, split_, mapq_, transcript_strand_;
  ListView<std::uint32_t> cigar_;
};

// The tags that minimap2 puts on an alignment, in its order, each with a tab in front; what follows s2 and goes before rl differs between SAM and
// PAF.
namespace tags {

template <class Integer>
void append_integer(std::string& text, Integer value) {
  char digits[24];
  text.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
}
inline void append(std::string& text, std::string_view name_and_type, std::int64_t value) {
  text += name_and_type;
  append_integer(text, value);
}
inline void append_scores(std::string& text, const ReadAlignment& alignment) {
  append(text, "\tNM:i:", alignment.edit_distance);
  append(text, "\tms:i:", alignment.best_score);
  append(text, "\tAS:i:", alignment.score);
  append(text, "\tnn:i:", alignment.ambiguous);
  if (alignment.transcript_strand == 1 || alignment.transcript_strand == 2) text += alignment.transcript_strand == 1 ? "\tts:A:+" : "\tts:A:-";
  text += "\ttp:A:";
  text += alignment.is_primary ? (alignment.is_inversion ? 'I' : 'P') : (alignment.is_inversion ? 'i' : 'S');
  append(text, "\tcm:i:", alignment.anchors);
  append(text, "\ts1:i:", alignment.chain_score);
  if (alignment.is_primary) append(text, "\ts2:i:", alignment.second_chain_score);
  text += "\tde:f:";
  if (alignment.divergence == 0) {
    text += '0';
  } else {
    char digits[32];
    text.append(digits, std::to_chars(digits, digits + sizeof digits, alignment.divergence, std::chars_format::fixed, 4).ptr);
  }
  if (alignment.split != 0) append(text, "\tzd:i:", alignment.split);
}
inline void append_cigar(std::string& text, std::span<const std::uint32_t> cigar) {
  for (const std::uint32_t operation : cigar) {
    append_integer(text, operation >> 4);
    text += "MIDNSHP=XB??????"[operation & 15U];
  }
}
inline void append_text(std::string& text, TagText which, const ReadAlignment& alignment) {
  if (which == TagText::difference) text.append("\tcs:Z:").append(alignment.difference);
  if (which == TagText::difference_and_shifts) text.append("\tds:Z:").append(alignment.difference);
  if (which == TagText::mismatches) text.append("\tMD:Z:").append(alignment.mismatches);
}

}  // namespace tags
}  // namespace sluice::overlap
