// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Tables that f5c and nanopolish wrote, read back into the columns they were printed from.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <sluice/testing.hpp>
#include <string>
#include <vector>

#include "methylation_writer/methylation_table.hpp"

namespace expected_table {

// The bytes of a .gz, .xz or plain file; empty when it is absent.
inline std::string contents(const std::string& path) {
  if (!std::filesystem::exists(path)) return {};
  const std::string program = path.ends_with(".xz") ? "xz -dc '" : path.ends_with(".gz") ? "gzip -dc '" : "cat '";
  std::string bytes;
  std::FILE* pipe = ::popen((program + path + "'").c_str(), "r");
  std::vector<char> block(1 << 16);
  for (std::size_t got = 1; got > 0;) {
    got = std::fread(block.data(), 1, block.size(), pipe);
    bytes.append(block.data(), got);
  }
  ::pclose(pipe);
  return bytes;
}

inline std::vector<std::string> lines(const std::string& text) {
  std::vector<std::string> result;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    result.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return result;
}

inline std::vector<std::string> fields(const std::string& line) {
  std::vector<std::string> result(1);
  for (const char c : line) {
    if (c == '\t')
      result.emplace_back();
    else
      result.back() += c;
  }
  return result;
}

// A reference resource from FASTA text.
inline sluice::testing::TestBatch reference(const std::string& fasta) {
  std::vector<std::string> names, bases;
  for (const std::string& line : lines(fasta)) {
    if (line.starts_with('>')) {
      names.push_back(line.substr(1, line.find_first_of(" \t") - 1));
      bases.emplace_back();
    } else {
      for (const char c : line) bases.back() += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    }
  }
  return sluice::testing::BatchBuilder("contig", static_cast<std::int64_t>(names.size())).text("name", names).text("bases", bases).build();
}

inline std::string printed(double value) {
  char text[64];
  std::snprintf(text, sizeof text, "%.2f", value);
  return text;
}

// Two log-likelihoods that print as given and whose difference prints as `ratio`: the printed digits alone do not determine the third.
inline bool find_log_likelihoods(const std::string& ratio, const std::string& methylated, const std::string& unmethylated, float& m, float& u) {
  for (int i = 0; i <= 10; ++i)
    for (int j = 0; j <= 10; ++j) {
      u = static_cast<float>(std::atof(unmethylated.c_str()) + 0.00099 * (i % 2 == 0 ? i / 2 : -(i + 1) / 2));
      m = static_cast<float>(static_cast<double>(u) + std::atof(ratio.c_str()) + 0.00099 * (j % 2 == 0 ? j / 2 : -(j + 1) / 2));
      if (printed(u) == unmethylated && printed(m) == methylated && printed(static_cast<double>(m) - static_cast<double>(u)) == ratio) return true;
    }
  return false;
}

// Rows "read" of a call-methylation table (version 1 has no strand: all forward), a batch of at most `rows_per_batch` reads each.
// Lines whose numbers could not be reproduced are counted in `lost`.
inline std::vector<sluice::testing::TestBatch> reads(const std::string& table, std::size_t rows_per_batch, int& lost) {
  std::vector<sluice::testing::TestBatch> batches;
  std::vector<std::string> read_id, contig;
  std::vector<std::uint8_t> is_reverse;
  std::vector<std::vector<std::int64_t>> start, end;
  std::vector<std::vector<std::int32_t>> motifs;
  std::vector<std::vector<float>> methylated, unmethylated;
  const auto close = [&] {
    batches.push_back(sluice::testing::BatchBuilder("read", static_cast<std::int64_t>(read_id.size()))
                          .text("read_id", read_id)
                          .text("contig", contig)
                          .column<std::uint8_t>("is_reverse", is_reverse)
                          .list<std::int64_t>("site_start", start)
                          .list<std::int64_t>("site_end", end)
                          .list<std::int32_t>("site_motifs", motifs)
                          .list<float>("log_lik_methylated", methylated)
                          .list<float>("log_lik_unmethylated", unmethylated)
                          .sequence(batches.size())
                          .build());
    read_id.clear(), contig.clear(), is_reverse.clear(), start.clear(), end.clear(), motifs.clear(), methylated.clear(), unmethylated.clear();
  };
  bool header = true;
  bool has_strand = false;
  for (const std::string& line : lines(table)) {
    if (header) {
      has_strand = line.find("\tstrand\t") != std::string::npos;
      header = false;
      continue;
    }
    std::vector<std::string> f = fields(line);
    if (!has_strand) f.insert(f.begin() + 1, "+");
    const std::uint8_t reverse = f[1] == "-" ? 1 : 0;
    const std::int64_t position = std::atoll(f[2].c_str());
    const bool same_read =
        !read_id.empty() && read_id.back() == f[4] && contig.back() == f[0] && is_reverse.back() == reverse && start.back().back() < position;
    if (!same_read) {
      if (read_id.size() == rows_per_batch) close();
      read_id.push_back(f[4]);
      contig.push_back(f[0]);
      is_reverse.push_back(reverse);
      start.emplace_back(), end.emplace_back(), motifs.emplace_back(), methylated.emplace_back(), unmethylated.emplace_back();
    }
    start.back().push_back(position);
    end.back().push_back(std::atoll(f[3].c_str()));
    motifs.back().push_back(std::atoi(f[9].c_str()));
    methylated.back().push_back(0);
    unmethylated.back().push_back(0);
    if (!find_log_likelihoods(f[5], f[6], f[7], methylated.back().back(), unmethylated.back().back())) ++lost;
  }
  close();
  return batches;
}

}  // namespace expected_table
