// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <charconv>
#include <deque>
#include <fstream>
#include <map>
#include <queue>
#include <sluice/failure.hpp>
#include <utility>

#include "machine/atomic_file.hpp"
#include "shard/merged_report.hpp"
#include "shard/shard_set.hpp"

namespace sluice {
namespace {

constexpr std::string_view account_header = "read\tstage\treason";
constexpr std::string_view nameless_middle = " without a name)";
constexpr std::size_t account_piece = std::size_t{256} << 10;

// "(12 without a name)<tab>stage<tab>reason": 12, and what follows.
bool parse_nameless(const std::string& line, std::uint64_t& count, std::string& rest) {
  if (!line.starts_with('(')) return false;
  const auto [end, error] = std::from_chars(line.data() + 1, line.data() + line.size(), count);
  const std::string_view behind(end, static_cast<std::size_t>(line.data() + line.size() - end));
  if (error != std::errc() || !behind.starts_with(nameless_middle) || behind.find('\t') != nameless_middle.size()) return false;
  rest = behind.substr(nameless_middle.size());
  return true;
}

// The lines of one table, which are sorted, but for those of the stages in `left_out`.
class AccountLines {
 public:
  AccountLines(const std::filesystem::path& path, const std::set<std::string>& left_out) : file_(path), left_out_(&left_out) {
    std::string header;
    if (!std::getline(file_, header) || header != account_header)
      throw Failure::input("'" + path.string() + "' is no table of lost rows", "run the shard again with --account");
  }
  bool next(std::string& line) {
    while (std::getline(file_, line))
      if (left_out_->empty() || !left_out_->contains(stage_of(line))) return true;
    return false;
  }

 private:
  static std::string stage_of(const std::string& line) {
    const std::size_t end = line.rfind('\t'), begin = end == 0 || end == std::string::npos ? end : line.rfind('\t', end - 1);
    return begin == std::string::npos || begin >= end ? std::string() : line.substr(begin + 1, end - begin - 1);
  }
  std::ifstream file_;
  const std::set<std::string>* left_out_;
};

std::vector<std::filesystem::path> accounts_of(const std::vector<ShardManifest>& shards) {
  std::vector<std::filesystem::path> paths;
  for (const ShardManifest& shard : shards) {
    if (shard.account.name.empty())
      throw Failure::usage("--account: the run of " + shard.text() + " wrote no table of lost rows",
                           "run each shard with --account, or leave it out here");
    check_content(shard, shard.account, [] { return false; });
    paths.push_back(shard.place.parent_path() / shard.account.name);
  }
  return paths;
}

}  // namespace

std::string write_merged_account(const std::vector<ShardManifest>& shards, const std::set<std::string>& alike,
                                 const std::vector<std::filesystem::path>& more, const std::filesystem::path& file) {
  std::vector<std::filesystem::path> paths = accounts_of(shards);
  paths.insert(paths.end(), more.begin(), more.end());
  const std::set<std::string> nothing;
  const auto lines_of = [&](std::size_t table) { return AccountLines(paths[table], table > 0 && table < shards.size() ? alike : nothing); };
  std::map<std::string, std::uint64_t> nameless;  // by stage and reason
  for (std::size_t table = 0; table < paths.size(); ++table) {
    AccountLines lines = lines_of(table);
    std::uint64_t count = 0;
    std::string rest;
    for (std::string line; lines.next(line);)
      if (parse_nameless(line, count, rest)) nameless[rest] += count;
  }
  std::vector<std::string> summed;
  for (const auto& [rest, count] : nameless) summed.push_back("(" + std::to_string(count) + std::string(nameless_middle) + rest);
  std::sort(summed.begin(), summed.end());

  struct Head {
    std::string line;
    std::size_t table;
  };
  const auto later = [](const Head& a, const Head& b) { return a.line > b.line; };
  std::priority_queue<Head, std::vector<Head>, decltype(later)> heads(later);
  std::deque<AccountLines> tables;
  std::size_t at = 0;
  const auto push_next = [&](std::size_t table) {
    std::uint64_t count = 0;
    std::string rest;
    Head head{"", table};
    if (table == tables.size()) {
      if (at < summed.size()) heads.push({summed[at++], table});
      return;
    }
    while (tables[table].next(head.line))
      if (!parse_nameless(head.line, count, rest)) return heads.push(std::move(head));
  };
  for (std::size_t table = 0; table < paths.size(); ++table) tables.push_back(lines_of(table));
  for (std::size_t table = 0; table <= tables.size(); ++table) push_next(table);
  std::string piece = std::string(account_header) + "\n";
  return write_atomically(file, [&] {
    std::string given = std::exchange(piece, "");
    while (!heads.empty() && given.size() < account_piece) {
      const Head head = heads.top();
      heads.pop();
      given += head.line + "\n";
      push_next(head.table);
    }
    return given;
  });
}

}  // namespace sluice
