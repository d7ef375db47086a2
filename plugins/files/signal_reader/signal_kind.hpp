// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Which kind a signal file is of: files of a run are of one. Its chemistry is here what its header says, whatever the basecaller says beside it.

#include <map>
#include <sluice/batch.hpp>
#include <sluice/failure.hpp>
#include <string>
#include <type_traits>

#include "signal_reader/chemistry.hpp"
#include "signal_reader/signal_file.hpp"

namespace sluice::signal_reader {

inline std::map<std::string, std::string> kind_of(const SignalFile& file) {
  const Slow5Header& header = file.header();
  return {{"format", name(header.records.format)},
          {"record_compression", name(header.records.record_compression)},
          {"signal_compression", name(header.records.signal_compression)},
          {"header_chemistry", chemistry_of(header, telling_read_group(header)).name}};
}

// The files of a run agree in what first(attribute) says of the first one. A table without reads says nothing.
template <class First>
requires std::is_invocable_v<First, const char*>
void refuse_difference(const SignalFile& file, const std::string& first_path, const First& first) {
  if (file.table() != nullptr && file.extent().begin == file.extent().end && file.header().records.format == FileFormat::fast5) return;
  for (const auto& [attribute, value] : kind_of(file))
    if (const std::string expected(first(attribute.c_str())); value != expected)
      throw Failure::input("signal files '" + first_path + "' and '" + file.path() +
                               "' differ: " + (attribute == "header_chemistry" ? "chemistry" : attribute) + " " + expected + " and " + value,
                           "give those that belong together, each kind in a run of its own, or convert them with slow5tools");
}

// The same, in what the resource signal_file says.
inline void refuse_difference(const SignalFile& file, const std::string& first_path, const Batch& signal) {
  refuse_difference(file, first_path, [&signal](const char* attribute) { return signal.attribute(attribute); });
}

// Of the records, by the resource signal_file.
inline RecordFormat record_format(const Batch& signal) {
  RecordFormat format;
  if (!parse_names(signal.attribute("format"), signal.attribute("record_compression"), signal.attribute("signal_compression"), format))
    throw Failure::usage("the resource in slot 'signal' does not say its format and compression", "use the resource stage signal_file");
  return format;
}

}  // namespace sluice::signal_reader
