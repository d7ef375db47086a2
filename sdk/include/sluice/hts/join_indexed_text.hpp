// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Tables of shards become one with its index, for sinks that write an arrow::IndexedTable: see sluice/file_joining.hpp.

#include <sluice/hts/join_text.hpp>
#include <sluice/hts/tabix_index.hpp>
#include <sluice/staged_file.hpp>
#include <string>
#include <string_view>

namespace sluice::hts {

// `columns` as the sink gives them to its output.
inline void join_indexed_text(const Call& call, const FilesToJoin& files, TabixColumns columns) {
  if (!has_ending(files.output, ".gz") || is_special_file(files.output)) return join_text(call, files);
  TextOutput output(call, files.output);
  TabixIndex index(columns);
  std::string lines;
  const auto write = [&](std::string_view whole) {
    throw_if_cancelled(call);
    index.add(whole, *output.blocks());
    output.write(call, whole);
    index.take_known(*output.blocks());
  };
  join_parts<PartText>(
      files,
      [&](std::string_view header) {
        if (!header.empty()) output.header(header);
      },
      [&](std::string_view piece) {
        lines += piece;
        const std::size_t end = lines.rfind('\n') + 1;  // 0: there is none
        write(std::string_view(lines).substr(0, end));
        lines.erase(0, end);
      });
  if (!lines.empty()) write(lines);
  output.finish(call);
  index.finish(call, files.output, *output.blocks());
}

// What a sink derives from whose parameter `output` names such a file.
template <TabixColumns columns>
struct JoinsIndexedText {
  static std::string joined_form(const auto& parameters) { return joined_text_form(parameters.output); }
  static void join_files(const Call& call, const auto&, const FilesToJoin& files) { join_indexed_text(call, files, columns); }
};

}  // namespace sluice::hts
