// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>

#include "signal_reader/slow5_format.hpp"

namespace sluice::signal_reader {
namespace {

static_assert(std::endian::native == std::endian::little, "BLOW5 is little-endian and is read without byte swaps");

constexpr std::string_view blow5_magic{"BLOW5\1", 6};
constexpr std::string_view text_magic = "#slow5_version\t";
constexpr std::size_t fixed_header_bytes = 64;
// A file that claims more read groups than this is damaged: MinKNOW runs have one, merges of a few thousand runs exist.
constexpr std::uint32_t max_read_groups = 1U << 20;

template <class T>
T load(std::span<const char> bytes, std::size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

HeaderStatus malformed(std::string& problem, const std::string& text) {
  problem = text;
  return HeaderStatus::malformed;
}

// Takes one line off `text`; false when no newline is left.
bool take_line(std::string_view& text, std::string_view& line) {
  const std::size_t end = text.find('\n');
  if (end == std::string_view::npos) return false;
  line = text.substr(0, end);
  text.remove_prefix(end + 1);
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  return true;
}

bool parse_version(std::string_view text, std::uint8_t (&version)[3]) {
  for (int part = 0; part < 3; ++part) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), version[part]);
    if (error != std::errc()) return false;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (part < 2 && (text.empty() || text.front() != '.')) return false;
    if (part < 2) text.remove_prefix(1);
  }
  return text.empty();
}

HeaderStatus check_version(const Slow5Header& header, std::string& problem) {
  // 1.0.0 is 0.2.0 with its number raised. What a later major version means is unknown.
  if (header.version[0] <= 1) return HeaderStatus::ok;
  problem = "file version " + std::to_string(header.version[0]) + "." + std::to_string(header.version[1]) + "." + std::to_string(header.version[2]) +
            " is newer than 1.x, the newest that sluice reads";
  return HeaderStatus::unsupported;
}

// What a line of column types or names has behind those of every file.
std::vector<std::string> words_behind(std::string_view line, std::size_t count) {
  std::vector<std::string> words;
  for (std::size_t number = 0;; ++number) {
    const std::size_t end = std::min(line.find('\t'), line.size());
    if (number >= count) words.emplace_back(line.substr(0, end));
    if (end == line.size()) return words;
    line.remove_prefix(end + 1);
  }
}

// The lines from the attributes to the column names, which binary and text files share. `text` starts at the first of them.
HeaderStatus parse_lines(std::string_view text, Slow5Header& header, std::size_t& used, std::string& problem) {
  const std::size_t length = text.size();
  std::string_view line;
  constexpr std::size_t usual_columns = 8;
  std::vector<std::string> types;
  bool types_seen = false;
  while (take_line(text, line)) {
    if (line.starts_with('@')) {
      if (types_seen) return malformed(problem, "the header has an attribute line after its column types");
      line.remove_prefix(1);
      const std::size_t name_end = std::min(line.find('\t'), line.size());
      std::vector<std::string> values;
      std::string_view rest = line.substr(name_end);
      while (!rest.empty()) {
        rest.remove_prefix(1);
        const std::string_view value = rest.substr(0, std::min(rest.find('\t'), rest.size()));
        values.emplace_back(value == "." ? std::string_view() : value);
        rest.remove_prefix(value.size());
      }
      if (name_end == 0) return malformed(problem, "the header has an attribute without a name");
      if (values.size() > header.read_groups)
        return malformed(problem, "header attribute '" + std::string(line.substr(0, name_end)) + "' has " + std::to_string(values.size()) +
                                      " values for " + std::to_string(header.read_groups) + " read groups");
      header.attributes.emplace_back(std::string(line.substr(0, name_end)), std::move(values));
    } else if (!types_seen) {
      if (!line.starts_with("#char*\tuint32_t\tdouble\tdouble\tdouble\tdouble\tuint64_t\tint16_t*"))
        return malformed(problem, "the header's line of column types does not start with the eight types of every SLOW5 file");
      types_seen = true;
      types = words_behind(line, usual_columns);
    } else {
      if (!line.starts_with("#read_id\tread_group\tdigitisation\toffset\trange\tsampling_rate\tlen_raw_signal\traw_signal"))
        return malformed(problem, "the header's line of column names does not start with the eight names of every SLOW5 file");
      const std::vector<std::string> names = words_behind(line, usual_columns);
      if (types.size() != names.size())
        return malformed(
            problem, "the header has " + std::to_string(types.size()) + " types and " + std::to_string(names.size()) + " names of auxiliary columns");
      for (std::size_t i = 0; i < types.size(); ++i) header.auxiliary.emplace_back(types[i], names[i]);
      used = length - text.size();
      return HeaderStatus::ok;
    }
  }
  return HeaderStatus::incomplete;
}

HeaderStatus parse_binary(std::span<const char> bytes, Slow5Header& header, std::string& problem) {
  if (bytes.size() < fixed_header_bytes + 4) return HeaderStatus::incomplete;
  std::memcpy(header.version, bytes.data() + 6, 3);
  if (const HeaderStatus status = check_version(header, problem); status != HeaderStatus::ok) return status;
  const auto record_compression = load<std::uint8_t>(bytes, 9);
  const auto signal_compression = load<std::uint8_t>(bytes, 14);
  if (record_compression > 2) {
    problem = "record compression " + std::to_string(record_compression) + " is not one that sluice reads (none, zlib, zstd)";
    return HeaderStatus::unsupported;
  }
  if (signal_compression > 2) {
    problem = "signal compression " + std::to_string(signal_compression) + " is not one that sluice reads (none, svb-zd, ex-zd)";
    return HeaderStatus::unsupported;
  }
  header.records = {FileFormat::blow5, static_cast<RecordCompression>(record_compression), static_cast<SignalCompression>(signal_compression)};
  header.read_groups = load<std::uint32_t>(bytes, 10);
  if (header.read_groups == 0 || header.read_groups > max_read_groups)
    return malformed(problem, "the header says " + std::to_string(header.read_groups) + " read groups");
  const std::uint64_t end = fixed_header_bytes + 4 + std::uint64_t{load<std::uint32_t>(bytes, fixed_header_bytes)};
  if (bytes.size() < end) return HeaderStatus::incomplete;
  header.first_record = end;
  std::size_t used = 0;
  const std::string_view text(bytes.data() + fixed_header_bytes + 4, end - fixed_header_bytes - 4);
  const HeaderStatus status = parse_lines(text, header, used, problem);
  return status == HeaderStatus::incomplete ? malformed(problem, "the header ends before its column names") : status;
}

HeaderStatus parse_text(std::span<const char> bytes, Slow5Header& header, std::string& problem) {
  std::string_view text(bytes.data(), bytes.size());
  std::string_view line;
  if (!take_line(text, line)) return HeaderStatus::incomplete;
  if (!parse_version(line.substr(text_magic.size()), header.version)) return malformed(problem, "line 1: the version is not of the form 1.2.3");
  if (const HeaderStatus status = check_version(header, problem); status != HeaderStatus::ok) return status;
  if (!take_line(text, line)) return HeaderStatus::incomplete;
  constexpr std::string_view groups = "#num_read_groups\t";
  const char* end = line.data() + line.size();
  if (!line.starts_with(groups) || std::from_chars(line.data() + groups.size(), end, header.read_groups).ptr != end || header.read_groups == 0 ||
      header.read_groups > max_read_groups)
    return malformed(problem, "line 2: expected '#num_read_groups' and their number");
  header.records = {FileFormat::slow5, RecordCompression::none, SignalCompression::none};
  std::size_t used = 0;
  const std::size_t before = bytes.size() - text.size();
  const HeaderStatus status = parse_lines(text, header, used, problem);
  header.first_record = before + used;
  return status;
}

constexpr const char* format_names[] = {"slow5", "blow5", "pod5", "fast5"};
constexpr const char* record_compression_names[] = {"none", "zlib", "zstd"};
constexpr const char* signal_compression_names[] = {"none", "svb-zd", "ex-zd", "vbz", "hdf5"};

template <class Enum, std::size_t n>
bool find_name(std::string_view text, const char* const (&names)[n], Enum& out) {
  for (std::size_t i = 0; i < n; ++i)
    if (text == names[i]) return out = static_cast<Enum>(i), true;
  return false;
}

}  // namespace

const char* name(FileFormat format) { return format_names[static_cast<std::size_t>(format)]; }
const char* name(RecordCompression compression) { return record_compression_names[static_cast<std::size_t>(compression)]; }
const char* name(SignalCompression compression) { return signal_compression_names[static_cast<std::size_t>(compression)]; }

bool parse_names(std::string_view format, std::string_view record_compression, std::string_view signal_compression, RecordFormat& out) {
  return find_name(format, format_names, out.format) && find_name(record_compression, record_compression_names, out.record_compression) &&
         find_name(signal_compression, signal_compression_names, out.signal_compression);
}

std::string_view Slow5Header::attribute(std::string_view name, std::uint32_t read_group) const {
  for (const auto& [key, values] : attributes)
    if (key == name) return read_group < values.size() ? std::string_view(values[read_group]) : std::string_view();
  return {};
}

HeaderStatus parse_header(std::span<const char> start_of_file, Slow5Header& header, std::string& problem) {
  header = {};
  const std::string_view start(start_of_file.data(), start_of_file.size());
  for (const std::string_view magic : {blow5_magic, text_magic}) {
    const std::size_t known = std::min(magic.size(), start.size());
    if (start.substr(0, known) != magic.substr(0, known)) continue;
    if (known < magic.size()) return HeaderStatus::incomplete;
    return magic == blow5_magic ? parse_binary(start_of_file, header, problem) : parse_text(start_of_file, header, problem);
  }
  problem =
      start.starts_with("\x1f\x8b") ? "it is compressed with gzip as a whole, and has to be decompressed" : "it starts neither as BLOW5 nor as SLOW5";
  return HeaderStatus::not_slow5;
}

}  // namespace sluice::signal_reader
