// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "sam_writer/carried_tags.hpp"

#include <cerrno>
#include <cstring>
#include <limits>
#include <new>
#include <optional>
#include <sluice/allocated.hpp>
#include <sluice/failure.hpp>
#include <sluice/hts/tag_walk.hpp>
#include <span>
#include <vector>

namespace sluice::sam_writer {
namespace {

// Of the records that are written, and of an alignment that the input may have had.
constexpr const char* alignment_tags[] = {"NM", "ms", "AS", "nn", "tp", "cm", "s1", "s2", "de", "dv", "zd", "SA", "cs", "ds", "MD",
                                          "rl", "CG", "AM", "CC", "CP", "H0", "H1", "H2", "HI", "IH", "MC", "MQ", "NH", "TS", "UQ"};
// Positions, probabilities, length of SEQ; the first two also by the names that they had before they were in the specification.
struct ModificationNames {
  const char *positions, *probabilities;
};
constexpr ModificationNames modification_names[] = {{"MM", "ML"}, {"Mm", "Ml"}};

void remove(bam1_t& record, const char* name) {
  while (std::uint8_t* const tag = bam_aux_get(&record, name))
    if (bam_aux_del(&record, tag) != 0) return;
}
// Of minimap2 it is the strand of the transcript, a letter; of dorado a number of samples, which stays.
void remove_transcript_strand(bam1_t& record) {
  for (std::size_t at = 0, all = 0; all = static_cast<std::size_t>(bam_get_l_aux(&record)), at < all;) {
    std::uint8_t* const tag = bam_get_aux(&record) + at;
    const std::string_view rest(reinterpret_cast<const char*>(tag), all - at);
    const std::optional<std::size_t> bytes = hts::first_tag_bytes(rest);
    if (!bytes) return;
    if (!rest.starts_with("tsA"))
      at += *bytes;
    else if (bam_aux_del(&record, tag + hts::tag_name_bytes) != 0)
      return;
  }
}
void remove_modifications(bam1_t& record) {
  for (const ModificationNames& names : modification_names) {
    remove(record, names.positions);
    remove(record, names.probabilities);
  }
  remove(record, "MN");
}

// None: it is there, but is no array of bytes.
std::optional<std::vector<std::uint8_t>> bytes_of_array(const std::uint8_t* tag) {
  if (tag[0] != 'B' || tag[1] != 'C') return std::nullopt;
  const std::uint8_t* const values = tag + 6;
  return std::vector<std::uint8_t>(values, values + bam_auxB_len(tag));
}

// False: what the record says of modifications does not fit the read.
bool cut_tags(const bam1_t& whole, bam1_t& record, const ModificationNames& names, std::string_view bases, ReadPart part) {
  const std::uint8_t* const positions = bam_aux_get(&whole, names.positions);
  const std::uint8_t* const values = bam_aux_get(&whole, names.probabilities);
  if (positions == nullptr) return values == nullptr;
  if (positions[0] != 'Z') return false;
  std::optional<std::vector<std::uint8_t>> probabilities;
  if (values != nullptr && !(probabilities = bytes_of_array(values))) return false;
  const auto cut = cut_modifications(reinterpret_cast<const char*>(positions + 1),
                                     probabilities ? std::optional<std::span<const std::uint8_t>>(*probabilities) : std::nullopt, bases, part);
  if (!cut) return false;
  const auto text_bytes = static_cast<int>(cut->positions.size() + 1);
  bool done = bam_aux_update_str(&record, names.positions, text_bytes, cut->positions.c_str()) == 0;
  if (cut->probabilities) {
    std::uint8_t nothing = 0;  // HTSlib wants a place even for no values
    std::uint8_t* const data = cut->probabilities->empty() ? &nothing : const_cast<std::uint8_t*>(cut->probabilities->data());
    done = done && bam_aux_update_array(&record, names.probabilities, 'C', static_cast<std::uint32_t>(cut->probabilities->size()), data) == 0;
  }
  if (!done || bam_aux_update_int(&record, "MN", static_cast<std::int64_t>(part.end - part.begin)) != 0)
    throw Failure::memory("no memory for the tags of an alignment record");
  return true;
}

}  // namespace

CarriedTags::CarriedTags() : whole_(allocated(bam_init1())), part_(allocated(bam_init1())), header_(allocated(sam_hdr_init())) {}

void CarriedTags::begin_read(std::string_view tags, std::string_view bases, ReadGroupTag read_group) {
  bases_ = bases;
  has_part_ = false;
  uncut_ = 0;
  constexpr std::size_t most = std::numeric_limits<std::int32_t>::max() / 2;
  if (tags.size() > most) tags = {};
  if (bam_set1(whole_.get(), 1, "r", BAM_FUNMAP, -1, -1, 0, 0, nullptr, -1, -1, 0, 0, nullptr, nullptr, tags.size() + 1) < 0)
    throw Failure::memory("no memory for the tags of a read");
  if (!tags.empty()) std::memcpy(whole_->data + whole_->l_data, tags.data(), tags.size());
  whole_->l_data += static_cast<int>(tags.size());
  whole_->data[whole_->l_data] = 0;  // HTSlib takes a text without its end for a tag
  if (tags.empty()) return;
  errno = 0;
  if (bam_aux_get(whole_.get(), "!!") == nullptr && errno == EINVAL)  // no tag's name: the search looks at all of them
    throw Failure::input("the tags of a read are not as BAM has them", "this is a bug in the stage that gives them");
  for (const char* name : alignment_tags) remove(*whole_, name);
  remove_transcript_strand(*whole_);
  if (read_group == ReadGroupTag::replaced) remove(*whole_, "RG");
}

const bam1_t& CarriedTags::of_part(ReadPart part) {
  if (part == ReadPart{0, bases_.size()} || bam_get_l_aux(whole_.get()) == 0) return *whole_;
  if (!has_part_ || made_ != part) cut(part);
  return *part_;
}

void CarriedTags::cut(ReadPart part) {
  made_ = part;
  has_part_ = true;
  if (bam_copy1(part_.get(), whole_.get()) == nullptr) throw Failure::memory("no memory for the tags of a read");
  if (part.begin == part.end) return remove_modifications(*part_);
  const std::uint8_t* const length = bam_aux_get(part_.get(), "MN");
  bool fits = length == nullptr || bam_aux2i(length) == static_cast<std::int64_t>(bases_.size());
  for (const ModificationNames& names : modification_names) fits = fits && cut_tags(*whole_, *part_, names, bases_, part);
  if (fits) return;
  ++uncut_;
  remove_modifications(*part_);
}

std::string_view CarriedTags::bytes(ReadPart part) {
  const bam1_t& record = of_part(part);
  return {reinterpret_cast<const char*>(bam_get_aux(&record)), static_cast<std::size_t>(bam_get_l_aux(&record))};
}

void CarriedTags::append_text(ReadPart part, std::string& line) {
  const bam1_t& record = of_part(part);
  if (bam_get_l_aux(&record) == 0) return;
  line_.l = 0;
  if (sam_format1(header_.get(), &record, &line_) < 0) throw Failure::memory("no memory for the tags of a read");
  constexpr std::string_view fields = "r\t4\t*\t0\t0\t*\t*\t0\t0\t*\t*";
  line.append(line_.s + fields.size(), line_.l - fields.size());
}

}  // namespace sluice::sam_writer
