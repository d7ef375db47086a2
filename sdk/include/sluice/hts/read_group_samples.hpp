// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Read groups of alignment files that are read together. Records name their group by its ID, so one ID for two samples would give the reads of both
// to the first one's.

#include <htslib/sam.h>

#include <algorithm>
#include <functional>
#include <map>
#include <sluice/failure.hpp>
#include <sluice/hts/handles.hpp>
#include <sluice/hts/header_input.hpp>
#include <string>
#include <string_view>
#include <utility>

namespace sluice::hts {

class ReadGroupSamples {
 public:
  // Adds a group of a file, or of whatever messages call so. Throws Failure (input): it has the ID of another one, and another sample.
  void add(std::string_view id, std::string_view sample, const std::string& path) {
    const auto [known, is_new] = samples_.try_emplace(std::string(id), std::string(sample), path);
    const auto& [of, in] = known->second;
    if (!is_new && of != sample)
      throw Failure::input("read group '" + std::string(id) + "' is of sample '" + of + "' in " + in + ", and of sample '" + std::string(sample) +
                               "' in " + path + ": their reads could not be told apart",
                           "put the files together with `samtools merge`, which renames such read groups, or give each a run of its own");
  }
  // The @RG lines of a file that say a sample (SM).
  void add(sam_hdr_t& header, const std::string& path) {
    Line sample;
    for (int i = 0; i < sam_hdr_count_lines(&header, "RG"); ++i) {
      const char* id = sam_hdr_line_name(&header, "RG", i);
      if (id == nullptr || sam_hdr_find_tag_pos(&header, "RG", i, "SM", &sample) != 0) continue;
      add(id, {sample.s, sample.l}, "'" + path + "'");
    }
  }

 private:
  std::map<std::string, std::pair<std::string, std::string>, std::less<>> samples_;  // by ID: sample, and the file that said so
};

// Of header lines that several files have in common.
inline void refuse_two_samples(std::string_view lines) {
  ReadGroupSamples samples;
  while (!lines.empty()) {
    const std::string_view line = lines.substr(0, lines.find('\n'));
    lines.remove_prefix(std::min(line.size() + 1, lines.size()));
    if (const std::string_view sample = header_field(line, "SM"); line.starts_with("@RG\t") && !sample.empty())
      samples.add(header_field(line, "ID"), sample, "one of the files of reads");
  }
}

}  // namespace sluice::hts
