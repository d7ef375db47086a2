// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The column basecaller_tags: what the basecaller said of a read beside its bases, as tags of BAM. Sources of reads and alignments copy these tags
// out of their records and add what the file's header says; the stage basecaller_tags makes columns of them.
//
// Names and meanings: dorado's SAM specification. ts and ns (samples of the read's part), pi and sp (whose part), mv (moves), st (start), sv
// (scaling), du (duration), pt and pa (poly(A) tail), dx (duplex), BC (barcode), RG (read group). From the header: DS (description of the read
// group), and PG, which here is the basecaller's name and version with a blank between them ("dorado 1.3.0").

#include <htslib/sam.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <sluice/hts/handles.hpp>
#include <sluice/hts/tag_walk.hpp>
#include <string>
#include <string_view>

namespace sluice::hts {

inline constexpr std::string_view basecaller_tag_names = "ts,ns,pi,sp,mv,st,sv,du,pt,pa,dx,BC,RG,DS";

// Knows one header.
class BasecallerTags {
 public:
  BasecallerTags() = default;
  explicit BasecallerTags(sam_hdr_t& header) {
    std::string_view text = header_text(header);
    bool is_basecaller = false;
    while (!text.empty()) {
      const std::string_view line = text.substr(0, text.find('\n'));
      text.remove_prefix(std::min(line.size() + 1, text.size()));
      if (line.starts_with("@RG\t") && !field(line, "ID").empty() && !field(line, "DS").empty())
        descriptions_.emplace(field(line, "ID"), text_tag("DS", field(line, "DS")));
      // `dorado aligner` and `dorado trim` have lines of their own; of others the first one of a basecaller's name counts.
      const std::string_view name = field(line, "PN");
      if (!line.starts_with("@PG\t") || is_basecaller || (name != "dorado" && name != "guppy" && name != "bonito")) continue;
      is_basecaller = field(line, "ID").starts_with("basecaller");
      if (program_.empty() || is_basecaller) program_ = text_tag("PG", std::string(name) + " " + std::string(field(line, "VN")));
    }
  }

  // Appends those of a record's tags. Behind a damaged one there are none. Records without any of them get nothing.
  void append(std::string_view tags, std::string& taken) const {
    const std::size_t before = taken.size();
    while (!tags.empty()) {
      const std::optional<std::size_t> bytes = first_tag_bytes(tags);
      if (!bytes) break;
      const std::string_view tag = tags.substr(0, *bytes);
      tags.remove_prefix(*bytes);
      if (!is_one(tag[0], tag[1])) continue;
      taken += tag;
      if (tag.starts_with("RGZ") && !descriptions_.empty())
        if (const auto description = descriptions_.find(tag.substr(tag_value_at, tag.size() - tag_value_at - 1)); description != descriptions_.end())
          taken += description->second;
    }
    if (taken.size() > before) taken += program_;
  }

 private:
  static bool is_one(char first, char second) {
    for (std::size_t at = 0; at < basecaller_tag_names.size(); at += 3)
      if (basecaller_tag_names[at] == first && basecaller_tag_names[at + 1] == second) return true;
    return false;
  }
  static std::string_view field(std::string_view line, std::string_view name) {
    for (std::size_t at = line.find('\t'); at != std::string_view::npos; at = line.find('\t', at)) {
      ++at;
      if (line.substr(at, name.size()) == name && line.substr(at + name.size(), 1) == ":") {
        const std::string_view value = line.substr(at + name.size() + 1);
        return value.substr(0, value.find('\t'));
      }
    }
    return {};
  }
  static std::string text_tag(std::string_view name, std::string_view value) { return std::string(name) + "Z" + std::string(value) + '\0'; }

  std::map<std::string, std::string, std::less<>> descriptions_;  // of read groups, by ID: the tag DS
  std::string program_;                                           // the tag PG; "": unknown
};

}  // namespace sluice::hts
