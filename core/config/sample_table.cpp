// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "config/sample_table.hpp"

#include <algorithm>
#include <optional>
#include <set>

#include "config/pipeline_file.hpp"
#include "config/text_fields.hpp"

namespace sluice {
namespace {

constexpr std::string_view name_column = "sample", placeholder = "{sample}";
constexpr std::size_t most_samples = 1000, longest_sample_name = 100;

// A sample's name becomes a part of file names.
bool is_sample_name(std::string_view name) {
  constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.+";
  return !name.empty() && name.size() <= longest_sample_name && name.front() != '.' && name.front() != '-' &&
         name.find_first_not_of(letters) == std::string_view::npos;
}

class TableText {
 public:
  TableText(const std::filesystem::path& file, Diagnostics& diagnostics) : file_(file.string()), diagnostics_(diagnostics) {}

  SampleTable read(std::string_view text) {
    if (text.find('\0') != std::string_view::npos) return error("there is a zero byte", "is this a table of samples?"), table_;
    while (!text.empty() && table_.samples.size() <= most_samples) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      std::string_view line = text.substr(0, end);
      text.remove_prefix(std::min(end + 1, text.size()));
      ++line_;
      if (line.ends_with('\r')) line.remove_suffix(1);
      if (line_ == 1 && line.starts_with("\xef\xbb\xbf")) line.remove_prefix(3);
      if (line.empty() || line.front() == '#') continue;
      if (header_.empty()) {
        if (!read_header(line)) return {};
      } else {
        read_sample(line);
      }
    }
    if (table_.samples.size() > most_samples) error("there are more than " + std::to_string(most_samples) + " samples", "divide the table");
    line_ = 0;
    if (header_.empty() || (table_.samples.empty() && !diagnostics_.has_errors()))
      error("there are no samples in it", "the first line names the columns, one of them 'sample', and every other line is a sample");
    return std::move(table_);
  }

 private:
  void error(const std::string& message, const std::string& remedy) { diagnostics_.error({file_, line_, 0}, "", message, remedy); }

  bool read_header(std::string_view line) {
    header_ = text_fields(line, '\t');
    std::set<std::string> seen;
    for (const std::string& column : header_) {
      if (column.empty()) return error("a column has no name", "name it, and separate columns by one tab"), false;
      if (!seen.insert(column).second) return error("two columns are called '" + column + "'", "take one out"), false;
      if (column != name_column) table_.columns.push_back(column);
    }
    if (seen.contains(std::string(name_column))) return true;
    error("there is no column 'sample'",
          line.find('\t') == std::string_view::npos ? "is it a table whose columns are separated by tabs?" : "add one, with a name for each line");
    return false;
  }

  void read_sample(std::string_view line) {
    const std::vector<std::string> fields = text_fields(line, '\t');
    if (fields.size() != header_.size())
      return error("the line has " + std::to_string(fields.size()) + " fields, the first one " + std::to_string(header_.size()),
                   "separate fields by one tab; a field may be empty");
    Sample sample;
    sample.where = {file_, line_, 0};
    for (std::size_t i = 0; i < fields.size(); ++i)
      if (header_[i] == name_column)
        sample.name = fields[i];
      else if (!fields[i].empty())
        sample.parameters[header_[i]] = fields[i];
    if (!is_sample_name(sample.name))
      return error("a sample can't be called '" + sample.name.substr(0, longest_sample_name) + "'",
                   "names have letters, digits, '_', '-', '+' and '.', at most " + std::to_string(longest_sample_name) +
                       " of them, as they stand in file names");
    if (!names_.insert(sample.name).second) return error("two samples are called '" + sample.name + "'", "give one of them another name");
    table_.samples.push_back(std::move(sample));
  }

  std::string file_;
  Diagnostics& diagnostics_;
  int line_ = 0;
  std::vector<std::string> header_;
  std::set<std::string> names_;
  SampleTable table_;
};

}  // namespace

SampleTable parse_samples(std::string_view text, const std::filesystem::path& file, Diagnostics& diagnostics) {
  return TableText(file, diagnostics).read(text);
}

SampleTable load_samples(const std::filesystem::path& file, Diagnostics& diagnostics) {
  constexpr std::size_t largest = 4 << 20;
  const std::optional<std::string> text = read_pipeline_text(file, diagnostics, "the table of samples", largest);
  if (text && text->size() > largest) {
    diagnostics.error({file.string(), 0, 0}, "", "the table of samples has more than 4 MiB", "is this really a table of samples?");
    return {};
  }
  return text ? parse_samples(*text, file, diagnostics) : SampleTable{};
}

std::string with_sample(std::string text, const std::string& sample) {
  for (std::size_t at = 0; (at = text.find(placeholder, at)) != std::string::npos; at += sample.size()) text.replace(at, placeholder.size(), sample);
  return text;
}

}  // namespace sluice
