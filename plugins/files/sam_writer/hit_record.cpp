// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "sam_writer/hit_record.hpp"

#include <htslib/kstring.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <sluice/hts/bam_bytes.hpp>
#include <sluice/sequence/bases.hpp>

namespace sluice::sam_writer {
namespace {

constexpr std::uint32_t clip_soft = BAM_CSOFT_CLIP, clip_hard = BAM_CHARD_CLIP;
}  // namespace

bool RecordWriter::add_tags(const sam_hdr_t& header, const ReadRecord& read, const HitRecord& hit, const RecordOptions& options) {
  bool fits = true;
  const auto number = [&](const char* tag, std::int64_t value) { fits = fits && bam_aux_update_int(record_.get(), tag, value) == 0; };
  const auto text = [&](const char* tag, std::string_view value) {
    const std::string copy(value);
    fits = fits && bam_aux_update_str(record_.get(), tag, static_cast<int>(copy.size()) + 1, copy.c_str()) == 0;
  };
  number("NM", hit.edit_distance);
  number("AS", hit.alignment_score);
  const char type = hit.is_primary ? 'P' : 'S';
  fits = fits && bam_aux_append(record_.get(), "tp", 'A', 1, reinterpret_cast<const std::uint8_t*>(&type)) == 0;
  number("cm", hit.anchors);
  number("s1", hit.chain_score);
  if (hit.second_chain_score >= 0) number("s2", hit.second_chain_score);
  number("rl", read.repeat_length);
  if (hit.is_primary) {
    others_.clear();
    for (const HitRecord& other : read.hits) {
      if (!other.is_primary || &other == &hit) continue;
      std::int64_t query = 0, target = 0;
      for (const std::uint32_t operation : other.cigar) {
        if ((bam_cigar_type(operation & 15U) & 1) != 0) query += operation >> 4;
        if ((bam_cigar_type(operation & 15U) & 2) != 0) target += operation >> 4;
      }
      const auto length = static_cast<std::int32_t>(read.bases.size());
      const std::int32_t left = other.is_reverse ? length - other.query_end : other.query_start;
      const std::int32_t right = other.is_reverse ? other.query_start : length - other.query_end;
      const std::int64_t both = std::min(query, target);
      others_ += std::string(sam_hdr_tid2name(&header, other.target)) + ',' + std::to_string(other.target_start + 1) + ',' +
                 (other.is_reverse ? '-' : '+') + ',';
      if (left > 0) others_ += std::to_string(left) + 'S';
      others_ += std::to_string(both) + 'M';
      if (query > both) others_ += std::to_string(query - both) + 'I';
      if (target > both) others_ += std::to_string(target - both) + 'D';
      if (right > 0) others_ += std::to_string(right) + 'S';
      others_ += ',' + std::to_string(other.mapq) + ',' + std::to_string(other.edit_distance) + ';';
    }
    if (!others_.empty()) text("SA", others_);
  }
  if (options.write_difference) text("cs", hit.difference);
  if (options.write_mismatches) text("MD", hit.mismatches);
  return fits;
}

bool RecordWriter::make_record(const sam_hdr_t& header, const ReadRecord& read, const HitRecord* hit, const RecordOptions& options) {
  const bool is_first = hit == nullptr || hit == read.hits.data();
  const bool is_secondary = hit != nullptr && !hit->is_primary;
  std::uint16_t flag = 0;
  if (hit == nullptr) flag |= BAM_FUNMAP;
  if (hit != nullptr && hit->is_reverse) flag |= BAM_FREVERSE;
  if (is_secondary) flag |= BAM_FSECONDARY;
  if (!is_secondary && !is_first) flag |= BAM_FSUPPLEMENTARY;

  // A secondary record has no bases; a supplementary one only its own part, unless the rest is clipped softly.
  const bool hard = !is_secondary && !is_first && options.supplementary_clipping == Clipping::hard;
  cigar_.clear();
  bases_.clear();
  qualities_.clear();
  if (!is_secondary) {
    const std::size_t begin = hard ? static_cast<std::size_t>(hit->query_start) : 0;
    const std::size_t end = hard ? static_cast<std::size_t>(hit->query_end) : read.bases.size();
    bases_ = read.bases.substr(begin, end - begin);
    if (read.qualities.size() == read.bases.size()) qualities_ = read.qualities.substr(begin, end - begin);
    for (char& quality : qualities_) quality = static_cast<char>(quality - 33);
    if (qualities_.empty()) qualities_.assign(bases_.size(), static_cast<char>(0xFF));
  }
  if (hit != nullptr) {
    const auto length = static_cast<std::int32_t>(read.bases.size());
    std::uint32_t left = static_cast<std::uint32_t>(hit->query_start), right = static_cast<std::uint32_t>(length - hit->query_end);
    if (hit->is_reverse) {
      std::swap(left, right);
      std::reverse(bases_.begin(), bases_.end());
      std::transform(bases_.begin(), bases_.end(), bases_.begin(), iupac_complement);
      std::reverse(qualities_.begin(), qualities_.end());
    }
    const std::uint32_t clip = hard ? clip_hard : clip_soft;
    if (left > 0) cigar_.push_back(left << 4 | clip);
    cigar_.insert(cigar_.end(), hit->cigar.begin(), hit->cigar.end());
    if (right > 0) cigar_.push_back(right << 4 | clip);
  }
  const std::string id(read.id);
  if (bam_set1(record_.get(), id.size(), id.c_str(), flag, hit == nullptr ? -1 : hit->target, hit == nullptr ? -1 : hit->target_start,
               hit == nullptr ? 0 : hit->mapq, cigar_.size(), cigar_.data(), -1, -1, 0, bases_.size(), bases_.data(), qualities_.data(), 0) < 0)
    return false;
  if (hit != nullptr && !add_tags(header, read, *hit, options)) return false;
  return options.read_group.empty() ||
         bam_aux_update_str(record_.get(), "RG", static_cast<int>(options.read_group.size()) + 1, options.read_group.c_str()) == 0;
}

bool RecordWriter::make_records(const sam_hdr_t& header, const ReadRecord& read, const RecordOptions& options, Form form, std::string& output) {
  const std::size_t before = output.size();
  const auto add = [&](const HitRecord* hit) {
    if (!make_record(header, read, hit, options)) return false;
    if (form == Form::bam) return hts::append_bam_record(*record_, output);
    kstring_t line = KS_INITIALIZE;
    const bool made = sam_format1(&header, record_.get(), &line) >= 0;
    if (made) output.append(line.s, line.l).push_back('\n');
    ks_free(&line);
    return made;
  };
  bool made = !read.hits.empty() || add(nullptr);
  for (const HitRecord& hit : read.hits) made = made && add(&hit);
  if (!made) output.resize(before);
  return made;
}

bool RecordWriter::append_sam(const sam_hdr_t& header, const ReadRecord& read, const RecordOptions& options, std::string& text) {
  return make_records(header, read, options, Form::sam, text);
}
bool RecordWriter::append_bam(const sam_hdr_t& header, const ReadRecord& read, const RecordOptions& options, std::string& bytes) {
  return make_records(header, read, options, Form::bam, bytes);
}

}  // namespace sluice::sam_writer
