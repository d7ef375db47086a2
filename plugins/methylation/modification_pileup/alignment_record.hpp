// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// A cell of the column bam_record, looked at where it lies. Layout, little-endian, without padding:
//   i32 tid, i64 pos, u16 bin, u8 qual, u8 l_extranul, u16 flag, u16 l_qname, u32 n_cigar, i32 l_qseq, i32 mtid, i64 mpos, i64 isize, i32 l_data,
//   then l_data bytes: name (l_qname bytes with its NULs), CIGAR, packed SEQ, QUAL, tags, as BAM has them.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace sluice::modification_pileup {

// Operations of a CIGAR by their codes in BAM.
enum class CigarOperation : std::uint8_t { match, insertion, deletion, reference_skip, soft_clip, hard_clip, padding, equal, different };

struct CigarPart {
  CigarOperation operation;
  std::int64_t length;
};

class AlignmentRecord {
 public:
  static constexpr std::uint16_t reverse_flag = 0x10, qc_fail_flag = 0x200, duplicate_flag = 0x400;

  // False: sizes that do not fit, or tags that are none.
  bool parse(std::string_view bytes);
  // The same of a record elsewhere. `rest`: CIGAR, packed SEQ, QUAL and tags.
  bool assign(std::int64_t position, std::uint16_t flag, std::uint64_t operations, std::uint64_t bases, std::string_view rest);

  std::int64_t position() const { return position_; }
  std::uint16_t flag() const { return flag_; }
  bool is_reverse() const { return (flag_ & reverse_flag) != 0; }
  std::size_t cigar_parts() const { return cigar_.size() / 4; }
  // Codes above `different` do not occur: parse() has seen to it.
  CigarPart cigar_part(std::size_t index) const;
  std::size_t base_count() const { return base_count_; }
  // Bases as the record stores them: two a byte, high half first.
  std::string_view packed_bases() const { return packed_bases_; }
  // Phred, of each base as the record stores them; all 255: it has none.
  std::string_view qualities() const { return qualities_; }
  // Bases in sequencing orientation: A 0, C 1, G 2, T 3, anything else 4.
  void decode_bases(std::vector<std::uint8_t>& codes) const;

  // The content of a tag: text without its NUL, the bytes of an array of u8, or an integer of any size.
  std::optional<std::string_view> text_tag(std::string_view name) const;
  std::optional<std::span<const std::uint8_t>> bytes_tag(std::string_view name) const;
  std::optional<std::int64_t> integer_tag(std::string_view name) const;
  bool has_tag(std::string_view name) const { return find(name).type != '\0'; }

 private:
  struct Tag {
    char type = '\0';  // as in BAM; '\0': there is none
    std::string_view value;
  };
  // Takes the first tag off `rest`. False: it is none.
  static bool next_tag(std::string_view& rest, std::string_view& name, Tag& tag);
  Tag find(std::string_view name) const;

  std::int64_t position_ = 0;
  std::uint16_t flag_ = 0;
  std::size_t base_count_ = 0;
  std::string_view cigar_, packed_bases_, qualities_, tags_;
};

}  // namespace sluice::modification_pileup
