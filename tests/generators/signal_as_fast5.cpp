// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Writes reads of a BLOW5 file as FAST5.
//   signal_as_fast5 FORM[:CHUNK] fixed|variable multi|shared|single FROM.blow5 TO [FIRST COUNT]
// FORM and the rest are those of fast5_fixture.hpp. multi, shared: TO is a file; single: it is a folder, and gets a file a read.
#include <charconv>
#include <filesystem>
#include <iostream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "signal_reader/read_metadata.hpp"
#include "signal_reader/signal_file.hpp"
#include "unit/files/signal_reader/fast5_fixture.hpp"

namespace {

using namespace sluice::signal_reader;

std::size_t number(std::string_view text) {
  std::size_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) throw std::invalid_argument("'" + std::string(text) + "' is not a whole number");
  return value;
}

fast5_fixture::Form form_of(const std::string& packing, const std::string& types) {
  const std::size_t colon = std::min(packing.find(':'), packing.size());
  return {packing.substr(0, colon), colon < packing.size() ? number(std::string_view(packing).substr(colon + 1)) : 0,
          types == "fixed" ? fast5_fixture::Types::fixed : fast5_fixture::Types::variable};
}

// The header of the BLOW5 file has both groups in one.
fast5_fixture::Run run_of(const Slow5Header& header) {
  fast5_fixture::Run run{{{"run_id", std::string(header.attribute("run_id"))}}, {}};
  for (const auto& [name, values] : header.attributes)
    if (name != "run_id" && !values.empty() && !values[0].empty())
      (name.starts_with("flow_cell") ? run.tracking : run.context).emplace_back(name, values[0]);
  return run;
}

std::vector<fast5_fixture::Read> reads_of(const SignalFile& from, std::size_t first, std::size_t count) {
  std::vector<fast5_fixture::Read> reads;
  RecordCursor cursor(from);
  std::span<const char> stored;
  RecordPlace place;
  while (cursor.next(stored, place)) {
    if (cursor.records() <= first || reads.size() == count) continue;
    RecordDecoder decoder;
    SignalRecord record;
    ReadMetadata metadata;
    std::vector<std::int16_t> samples;
    if (!read_metadata(stored, from.header(), decoder, metadata) ||
        decoder.decode(stored, from.header().records, record, samples) != RecordStatus::ok)
      throw std::runtime_error("a record can't be decoded");
    const auto known = [](std::int64_t value) { return std::max<std::int64_t>(value, 0); };
    reads.push_back({.id = std::string(record.read_id),
                     .samples = std::move(samples),
                     .digitisation = record.digitisation,
                     .offset = record.offset,
                     .range = record.range,
                     .sampling_rate = record.sampling_rate,
                     .channel = known(metadata.channel),
                     .mux = known(metadata.mux),
                     .read_number = known(metadata.read_number),
                     .start_sample = known(metadata.start_sample),
                     .median_before = metadata.median_before,
                     .end_reason = metadata.end_reason});
  }
  return reads;
}

void convert(const std::vector<std::string>& arguments) {
  const fast5_fixture::Form form = form_of(arguments[0], arguments[1]);
  const SignalFile from(arguments[3]);
  const fast5_fixture::Run run = run_of(from.header());
  const bool all = arguments.size() == 5;
  const std::vector<fast5_fixture::Read> reads = reads_of(from, all ? 0 : number(arguments[5]), all ? SIZE_MAX : number(arguments[6]));
  if (arguments[2] != "single") return fast5_fixture::write_multi(arguments[4], reads, run, form, arguments[2] == "shared");
  for (std::size_t i = 0; i < reads.size(); ++i) {
    const std::string name = std::to_string(1000000 + i).substr(1);
    fast5_fixture::write_single((std::filesystem::path(arguments[4]) / ("read_" + name + ".fast5")).string(), reads[i], run, form);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.size() != 5 && arguments.size() != 7) {
    std::cerr << "signal_as_fast5 FORM[:CHUNK] fixed|variable multi|shared|single FROM.blow5 TO [FIRST COUNT]\n";
    return 2;
  }
  try {
    convert(arguments);
  } catch (const std::exception& problem) {
    std::cerr << "signal_as_fast5: " << problem.what() << '\n';
    return 1;
  }
  return 0;
}
