// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The tags that a read brings from its file, as each of its records carries them.

#include <htslib/kstring.h>
#include <htslib/sam.h>

#include <cstdint>
#include <sluice/hts/handles.hpp>
#include <string>
#include <string_view>

#include "sam_writer/modification_cut.hpp"

namespace sluice::sam_writer {

enum class ReadGroupTag : std::uint8_t { taken, replaced };  // replaced: the records have another one already

// Tags of alignments, earlier ones or those that sam_writer writes, are left out. MM and ML describe the bases in sequencing orientation whatever the
// strand, so they stay as they are in records with all bases; where a part remains they are cut to it, with MN for its length, or left out if they do
// not fit the read. Records without bases have none of them. Other tags stay as they are, also those with values per base, as nobody knows which
// have. Not thread-safe: one object per thread.
class CarriedTags {
 public:
  CarriedTags();
  ~CarriedTags() { ks_free(&line_); }
  CarriedTags(const CarriedTags&) = delete;

  // The read that follows; `tags` in the encoding of BAM. The views have to stay.
  void begin_read(std::string_view tags, std::string_view bases, ReadGroupTag read_group);
  // Of a record with that part of the read: in the encoding of BAM, valid until the next call.
  std::string_view bytes(ReadPart part);
  // As SAM has them, each with a tab in front.
  void append_text(ReadPart part, std::string& line);
  // Records of this read that lost MM and ML because these do not fit it.
  std::uint32_t uncut() const { return uncut_; }

 private:
  const bam1_t& of_part(ReadPart part);
  void cut(ReadPart part);

  hts::Record whole_, part_;
  ReadPart made_;  // what part_ is
  bool has_part_ = false;
  std::string_view bases_;
  std::uint32_t uncut_ = 0;
  hts::Header header_;
  kstring_t line_ = KS_INITIALIZE;
};

}  // namespace sluice::sam_writer
