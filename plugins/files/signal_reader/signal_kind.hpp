// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Which kind a signal file is of: files of a run are of one. Its chemistry is here what its header says, whatever the basecaller says beside it.

#include <map>
#include <sluice/failure.hpp>
#include <string>

#include "signal_reader/chemistry.hpp"
#include "signal_reader/signal_file.hpp"

namespace sluice::signal_reader {

inline std::map<std::string, std::string> kind_of(const SignalFile& file) {
  const Slow5Header& header = file.header();
  return {{"format", name(header.records.format)},
          {"record_compression", name(header.records.record_compression)},
          {"signal_compression", name(header.records.signal_compression)},
          {"header_chemistry", chemistry_of(header).name}};
}

// The files of a run agree in what first(attribute) says of the first one.
template <class First>
void refuse_difference(const SignalFile& file, const std::string& first_path, const First& first) {
  for (const auto& [attribute, value] : kind_of(file))
    if (const std::string expected(first(attribute.c_str())); value != expected)
      throw Failure::input("signal files '" + first_path + "' and '" + file.path() +
                               "' differ: " + (attribute == "header_chemistry" ? "chemistry" : attribute) + " " + expected + " and " + value,
                           "give those that belong together, each kind in a run of its own, or convert them with slow5tools");
}

}  // namespace sluice::signal_reader
