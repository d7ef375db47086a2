// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The tags that reads have in their files (SAM specification, sections 1.5 and 4.2.4), in the encoding of BAM: as they stand in records, or made of
// what `samtools fastq -T` writes behind the names of FASTQ.

#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>

namespace sluice::read_bases {

// Which tags are taken.
class TagChoice {
 public:
  // "all", "none", or names with commas between them. Throws Failure (usage).
  explicit TagChoice(std::string_view text);
  bool takes(std::string_view name) const { return all_ || names_.contains(name); }
  bool takes_any() const { return all_ || !names_.empty(); }

 private:
  bool all_ = false;
  std::set<std::string, std::less<>> names_;
};

// Those of the column basecaller_tags.
const TagChoice& of_basecallers();

enum class TagState : std::uint8_t {
  sound,
  damaged,  // a name, type, size or character that can't be: that tag is left out, and what follows it if nobody knows where it ends
};

// Appends those of the tags of a record that are taken.
TagState append_tags(std::span<const std::uint8_t> tags, const TagChoice& choice, std::string& taken);

// Appends those that are taken of the words of a comment, with tabs between them, that are tags. Others are no damage.
TagState append_comment_tags(std::string_view comment, const TagChoice& choice, std::string& taken);

}  // namespace sluice::read_bases
