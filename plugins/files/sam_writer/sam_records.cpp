// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "sam_writer/sam_records.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <sluice/failure.hpp>
#include <sluice/hts/bam_bytes.hpp>
#include <sluice/hts/stored_record.hpp>
#include <sluice/sequence/bases.hpp>

namespace sluice::sam_writer {
namespace {

namespace tags = overlap::tags;

// What pairs with a letter, in its case; other letters stay.
constexpr std::array<char, 256> complements = [] {
  std::array<char, 256> table{};
  for (std::size_t letter = 0; letter < table.size(); ++letter) {
    const char c = static_cast<char>(letter), pair = is_base(c) ? iupac_complement(c) : c;
    table[letter] = is_base(c) && c >= 'a' ? static_cast<char>(pair - 'A' + 'a') : pair;
  }
  return table;
}();
// minimap2 reads a U as a T.
constexpr char as_dna(char base) { return base == 'U' ? 'T' : base == 'u' ? 't' : base; }

struct Clips {
  std::int32_t left, right;
};
Clips clips_of(const ReadAlignment& alignment, std::size_t read_length) {
  const std::int32_t before = alignment.query_start, behind = static_cast<std::int32_t>(read_length) - alignment.query_end;
  return alignment.is_reverse ? Clips{behind, before} : Clips{before, behind};
}

void append_clip(std::string& text, std::int32_t bases, char letter) {
  if (bases <= 0) return;
  tags::append_integer(text, bases);
  text += letter;
}

void append_clipped_cigar(std::string& text, const ReadAlignment& alignment, Clips clips, char letter) {
  append_clip(text, clips.left, letter);
  tags::append_cigar(text, alignment.cigar);
  append_clip(text, clips.right, letter);
}

// Fields of BAM count operations in 16 bits.
bool needs_tag(const ReadAlignment& alignment, Clips clips) {
  return alignment.cigar.size() + (clips.left > 0 ? 1 : 0) + (clips.right > 0 ? 1 : 0) > 0xFFFF;
}
// What stands for a CIGAR in a tag: `bases` of the read are there, and none of them is aligned.
void append_placeholder(std::string& text, const ReadAlignment& alignment, std::size_t bases) {
  tags::append_integer(text, bases);
  text += 'S';
  tags::append_integer(text, alignment.target_end - alignment.target_start);
  text += 'N';
}
void append_cigar_tag(std::string& text, const ReadAlignment& alignment, Clips clips, char letter) {
  const std::uint32_t clip = letter == 'H' ? BAM_CHARD_CLIP : BAM_CSOFT_CLIP;
  text += "\tCG:B:I";
  const auto append = [&](std::uint32_t operation) {
    text += ',';
    tags::append_integer(text, operation);
  };
  if (clips.left > 0) append(static_cast<std::uint32_t>(clips.left) << BAM_CIGAR_SHIFT | clip);
  for (const std::uint32_t operation : alignment.cigar) append(operation);
  if (clips.right > 0) append(static_cast<std::uint32_t>(clips.right) << BAM_CIGAR_SHIFT | clip);
}

// Bases [begin, end) of the read and their qualities, as two fields.
void append_sequence(std::string& text, const ReadRecord& read, std::size_t begin, std::size_t end, bool is_reverse) {
  const std::string_view bases = read.bases.substr(begin, end - begin);
  std::size_t at = text.size();
  text.resize(at + bases.size());
  if (is_reverse)
    std::transform(bases.rbegin(), bases.rend(), text.begin() + static_cast<std::ptrdiff_t>(at),
                   [](char base) { return complements[static_cast<unsigned char>(as_dna(base))]; });
  else
    std::transform(bases.begin(), bases.end(), text.begin() + static_cast<std::ptrdiff_t>(at), as_dna);
  if (bases.empty()) text += '*';
  text += '\t';
  if (read.qualities.empty() || read.qualities.size() != read.bases.size()) {
    text += '*';
    return;
  }
  const std::string_view qualities = read.qualities.substr(begin, end - begin);
  at = text.size();
  text.append(qualities);
  if (is_reverse) std::reverse(text.begin() + static_cast<std::ptrdiff_t>(at), text.end());
}

// One operation for what is aligned and one for the rest of the longer side.
void append_other_alignments(std::string& text, const MinimizerIndexView& index, const ReadRecord& read, const ReadAlignment& own) {
  bool any = false;
  for (const ReadAlignment& other : read.alignments) {
    if (&other == &own || !other.is_primary) continue;
    if (!any) text += "\tSA:Z:";
    any = true;
    text.append(index.contig_name(static_cast<std::size_t>(other.target))) += ',';
    tags::append_integer(text, other.target_start + 1);
    text += other.is_reverse ? ",-," : ",+,";
    const std::int32_t on_query = other.query_end - other.query_start, on_target = other.target_end - other.target_start;
    const Clips clips = clips_of(other, read.bases.size());
    append_clip(text, clips.left, 'S');
    append_clip(text, std::min(on_query, on_target), 'M');
    append_clip(text, on_query - on_target, 'I');
    append_clip(text, on_target - on_query, 'D');
    append_clip(text, clips.right, 'S');
    text += ',';
    tags::append_integer(text, static_cast<std::int32_t>(other.mapping_quality));
    text += ',';
    tags::append_integer(text, other.edit_distance);
    text += ';';
  }
}

void append_read_group(std::string& text, const RecordOptions& options) {
  if (!options.read_group.empty()) text.append("\tRG:Z:").append(options.read_group);
}

void end_line(std::string& text, const ReadRecord& read, const MoreTags& more_tags, ReadPart part) {
  if (!read.comment.empty()) text.append("\t").append(read.comment);
  if (more_tags) more_tags(text, part);
  text += '\n';
}

void append_unmapped(std::string& text, const ReadRecord& read, const RecordOptions& options, const MoreTags& more_tags) {
  text.append(read.id).append("\t4\t*\t0\t0\t*\t*\t0\t0\t");
  append_sequence(text, read, 0, read.bases.size(), false);
  append_read_group(text, options);
  tags::append(text, "\trl:i:", read.repeat_length);
  end_line(text, read, more_tags, {0, read.bases.size()});
}

void append_mapped(std::string& text, const MinimizerIndexView& index, const ReadRecord& read, const ReadAlignment& own, const RecordOptions& options,
                   const MoreTags& more_tags) {
  const bool is_supplementary = own.is_primary && !own.is_first, soft = options.clipping == Clipping::soft;
  const std::uint32_t flag =
      (own.is_reverse ? BAM_FREVERSE : 0U) | (own.is_primary ? 0U : BAM_FSECONDARY) | (is_supplementary ? BAM_FSUPPLEMENTARY : 0U);
  text.append(read.id) += '\t';
  tags::append_integer(text, flag);
  text += '\t';
  text.append(index.contig_name(static_cast<std::size_t>(own.target))) += '\t';
  tags::append_integer(text, own.target_start + 1);
  text += '\t';
  tags::append_integer(text, static_cast<std::int32_t>(own.mapping_quality));
  text += '\t';
  const Clips clips = clips_of(own, read.bases.size());
  const bool is_part = is_supplementary || (!own.is_primary && options.secondary_bases == SecondaryBases::written);
  const char letter = is_part && !soft ? 'H' : 'S';
  const bool is_whole = soft || own.is_first, has_tag = options.long_cigar == LongCigar::tag && needs_tag(own, clips);
  const auto begin = static_cast<std::size_t>(is_whole ? 0 : own.query_start);
  const std::size_t end = is_whole ? read.bases.size() : is_part ? static_cast<std::size_t>(own.query_end) : begin;
  if (has_tag)
    append_placeholder(text, own, end - begin);
  else
    append_clipped_cigar(text, own, clips, letter);
  text += "\t*\t0\t0\t";
  if (end > begin)
    append_sequence(text, read, begin, end, own.is_reverse);
  else
    text += "*\t*";
  append_read_group(text, options);
  tags::append_scores(text, own);
  if (own.is_primary) append_other_alignments(text, index, read, own);
  tags::append_text(text, options.text, own);
  if (has_tag) append_cigar_tag(text, own, clips, letter);
  tags::append(text, "\trl:i:", read.repeat_length);
  end_line(text, read, more_tags, {begin, end});
}

}  // namespace

void append_sam(std::string& text, const MinimizerIndexView& index, const ReadRecord& read, const RecordOptions& options, const MoreTags& more_tags) {
  if (read.alignments.empty()) return append_unmapped(text, read, options, more_tags);
  for (const ReadAlignment& alignment : read.alignments)
    if (alignment.is_primary || options.secondary == Secondary::written) append_mapped(text, index, read, alignment, options, more_tags);
}

bool is_sam_name(std::string_view name) {
  constexpr std::size_t longest = 254;
  return !name.empty() && name.size() <= longest && name.front() != '@' &&
         std::all_of(name.begin(), name.end(), [](char c) { return c >= '!' && c <= '~'; });
}

bool is_sam_tags(std::string_view comment) {
  const auto is_tag = [](std::string_view text) {
    const auto is_letter = [](char c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'); };
    return text.size() >= 5 && is_letter(text[0]) && (is_letter(text[1]) || (text[1] >= '0' && text[1] <= '9')) && text[2] == ':' &&
           std::string_view("AifZHB").find(text[3]) != std::string_view::npos && text[4] == ':';
  };
  for (std::size_t begin = 0; begin <= comment.size(); begin = std::min(comment.find('\t', begin), comment.size()) + 1)
    if (!is_tag(comment.substr(begin, comment.find('\t', begin) - begin))) return false;
  return true;
}

void refuse_read(const std::string& what, std::string_view name, std::string_view comment) {
  constexpr std::size_t most_shown = 60;
  if (is_sam_name(name) && !comment.empty())
    throw Failure::input("the records of read '" + std::string(name) + "' do not fit " + what + ": what follows its name, '" +
                             std::string(comment.substr(0, most_shown)) + (comment.size() > most_shown ? "...'" : "'") +
                             ", is no tag of SAM, or has a value that its type can't hold",
                         "do not copy comments, or keep what tags there are (--keep-tags)");
  if (is_sam_name(name))
    throw Failure::input("the records of read '" + std::string(name) + "' do not fit " + what +
                             ": BAM and CRAM hold no more than 2^31 bytes a record, "
                             "and 2^28 bases under a CIGAR of more than 65,535 operations",
                         "write SAM or PAF, or leave the read out");
  std::string shown(name.substr(0, most_shown));
  std::replace_if(
      shown.begin(), shown.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  throw Failure::input("read '" + shown + (name.size() > most_shown ? "...'" : "'") + " does not fit " + what + ": its name has " +
                           std::to_string(name.size()) +
                           " characters, and those of SAM, BAM and CRAM are 1 to 254 printable ones, of which the first is no @",
                       "rename the read, or write PAF");
}

bool BamRecords::make(sam_hdr_t& header, std::string_view lines, std::span<const std::string> tags, const std::function<bool(const bam1_t&)>& take) {
  for (std::size_t i = 0; !lines.empty(); ++i) {
    const std::string_view line = lines.substr(0, lines.find('\n'));
    lines.remove_prefix(std::min(line.size() + 1, lines.size()));
    line_.l = 0;
    const auto parse = [&] { return kputsn(line.data(), line.size(), &line_) < 0 ? -1 : sam_parse1(&line_, &header, record_.get()); };
    if (hts::with_memory(parse) < 0) return false;
    if ((i < tags.size() && !append_tags(tags[i])) || !take(*record_)) return false;
  }
  return true;
}

bool BamRecords::append(sam_hdr_t& header, std::string_view lines, std::span<const std::string> tags, std::string& bytes) {
  const std::size_t before = bytes.size();
  if (make(header, lines, tags, [&](const bam1_t& record) { return hts::append_bam_record(record, bytes); })) return true;
  bytes.resize(before);
  return false;
}

bool BamRecords::store(sam_hdr_t& header, std::string_view lines, std::span<const std::string> tags, std::string& bytes) {
  const std::size_t before = bytes.size();
  const auto take = [&](const bam1_t& record) {
    const std::size_t at = bytes.size();
    hts::append_u32(bytes, 0);
    hts::store_record(record, bytes);
    const auto length = static_cast<std::uint32_t>(bytes.size() - at - sizeof(std::uint32_t));
    std::memcpy(bytes.data() + at, &length, sizeof length);
    return true;
  };
  if (make(header, lines, tags, take)) return true;
  bytes.resize(before);
  return false;
}

// False: the record would be longer than BAM can say.
bool BamRecords::append_tags(std::string_view tags) {
  bam1_t& record = *record_;
  const std::size_t bytes = static_cast<std::size_t>(record.l_data) + tags.size();
  if (bytes > std::numeric_limits<std::int32_t>::max() / 2) return false;
  if (bytes > record.m_data) {
    void* const memory = std::realloc(record.data, bytes);  // HTSlib's own allocator
    if (memory == nullptr) throw Failure::memory("no memory for the tags of an alignment record");
    record.data = static_cast<std::uint8_t*>(memory);
    record.m_data = static_cast<std::uint32_t>(bytes);
  }
  std::copy(tags.begin(), tags.end(), record.data + record.l_data);
  record.l_data = static_cast<int>(bytes);
  return true;
}

ReadGroup parse_read_group(std::string_view text) {
  if (text.empty()) return {};
  if (!text.starts_with("@")) return {"@RG\tID:" + std::string(text), std::string(text)};
  ReadGroup group;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 1 < text.size() && (text[i + 1] == 't' || text[i + 1] == '\\'))
      group.line += text[++i] == 't' ? '\t' : '\\';
    else
      group.line += text[i];
  }
  const std::size_t at = group.line.find("\tID:");
  if (at != std::string::npos) group.id = group.line.substr(at + 4, group.line.find('\t', at + 4) - (at + 4));
  const bool has_one_id = !group.id.empty() && group.line.find("\tID:", at + 1) == std::string::npos;
  if (!group.line.starts_with("@RG\t") || !has_one_id || group.line.find('\n') != std::string::npos)
    throw Failure::usage("read_group '" + std::string(text) + "' is no line of a read group with an ID",
                         "write it as @RG\\tID:name\\tSM:sample, or give the ID alone");
  return group;
}

}  // namespace sluice::sam_writer
