// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Text files of shards become one, for sinks that write a TextOutput or a TableOutput: see sluice/file_joining.hpp. Needs libdeflate and libzstd, not
// HTSlib.

#include <sluice/call.hpp>
#include <sluice/failure.hpp>
#include <sluice/file_ending.hpp>
#include <sluice/file_parts.hpp>
#include <sluice/hts/part_text.hpp>
#include <sluice/hts/text_output.hpp>
#include <string>
#include <string_view>

namespace sluice::hts {

// What files of this name are put together as. Throws Failure::usage where they can't be.
inline std::string joined_text_form(std::string_view path) {
  if (has_ending(path, ".arrow") || has_ending(path, ".parquet"))
    throw Failure::usage("a file of Arrow or Parquet is one table", "write text: .tsv, .gz or .zst");
  return has_ending(path, ".gz") ? "BGZF text" : has_ending(path, ".zst") ? "zstd text" : "text";
}

inline void throw_if_cancelled(const Call& call) {
  if (call.cancelled()) throw Failure(SLUICE_ERROR_CANCELLED, "the run ends");
}

// `level` as the sink gives it to its output.
inline void join_text(const Call& call, const FilesToJoin& files, int level = -1) {
  TextOutput output(call, files.output, level);
  join_parts<PartText>(
      files,
      [&](std::string_view header) {
        if (!header.empty()) output.header(header);
      },
      [&](std::string_view piece) {
        throw_if_cancelled(call);
        output.write(call, piece);
      });
  output.finish(call);
}

// What a sink derives from whose parameter `output` names such a file.
template <int level = -1>
struct JoinsText {
  static std::string joined_form(const auto& parameters) { return joined_text_form(parameters.output); }
  static void join_files(const Call& call, const auto&, const FilesToJoin& files) { join_text(call, files, level); }
};

}  // namespace sluice::hts
