// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Which model base-called the reads of a file: what its beginning says of all of them.

#include <algorithm>
#include <sluice/descriptor_path.hpp>
#include <sluice/hts/handles.hpp>
#include <sluice/hts/input_end.hpp>
#include <sluice/hts/open_input.hpp>
#include <string>
#include <string_view>

namespace sluice::hts {

namespace basecall_model_detail {

// The value behind KEY in a text of such, up to a blank, a comma or a semicolon.
inline std::string_view value_behind(std::string_view text, std::string_view key) {
  const std::size_t at = text.find(key);
  if (at == std::string_view::npos) return {};
  text.remove_prefix(at + key.size());
  return text.substr(0, text.find_first_of(" \t\r\n,;"));
}

// Of a line of a FASTQ or FASTA header, or of a header line @RG: pairs as dorado (DS) and MinKNOW write them; else the name of dorado's read group,
// RUN_MODEL or RUN_MODEL_BARCODE.
inline std::string model_in(std::string_view line) {
  for (const std::string_view key : {"basecall_model=", "basecall_model_version_id=", "model_version_id="})
    if (const std::string_view value = value_behind(line, key); !value.empty()) return std::string(value);
  for (const std::string_view key : {"\tRG:Z:", " RG:Z:", "\tID:"}) {
    const std::string_view group = value_behind(line, key), model = group.substr(std::min(group.find('_') + 1, group.size()));
    if (model.starts_with("dna_r") || model.starts_with("rna0") || model.starts_with("rna_r")) return std::string(model);
  }
  return {};
}

}  // namespace basecall_model_detail

// "": it does not say. Looked at are the lines @RG of SAM, BAM and CRAM, and the first line of FASTA and FASTQ (plain or gzip). What can't be opened
// or read, or only once (a pipe), says nothing here: who reads the file says what is wrong.
inline std::string basecall_model_of(const std::string& path) {
  silence();
  if (names_descriptor(path) || !is_regular(path)) return {};
  if (const File file = open_file(path); file && (file->format.format == sam || file->format.format == bam || file->format.format == cram)) {
    const Header header(sam_hdr_read(file.get()));
    if (!header) return {};
    std::string_view text = header_text(*header);
    while (!text.empty()) {
      const std::string_view line = text.substr(0, text.find('\n'));
      text.remove_prefix(std::min(line.size() + 1, text.size()));
      if (std::string model = line.starts_with("@RG\t") ? basecall_model_detail::model_in(line) : std::string(); !model.empty()) return model;
    }
    return {};
  }
  const Bgzf file = open_bgzf(path);
  if (!file) return {};
  char beginning[4096];
  const ssize_t got = bgzf_read(file.get(), beginning, sizeof beginning);
  if (got <= 0 || (beginning[0] != '@' && beginning[0] != '>')) return {};
  const std::string_view text(beginning, static_cast<std::size_t>(got));
  return basecall_model_detail::model_in(text.substr(0, text.find('\n')));
}

}  // namespace sluice::hts
