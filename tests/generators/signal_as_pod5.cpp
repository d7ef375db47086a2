// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Writes reads of a BLOW5 file as POD5, along the published layout and not as POD5's own tools do: small batches, which they hardly write.
//   signal_as_pod5 vbz|plain FROM.blow5 TO.pod5 [FIRST COUNT]
#include <charconv>
#include <cstdint>
#include <fstream>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "signal_reader/signal_file.hpp"
#include "unit/files/signal_reader/pod5_fixture.hpp"

namespace {

using namespace sluice::signal_reader;

std::size_t number(std::string_view text) {
  std::size_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) throw std::invalid_argument("'" + std::string(text) + "' is not a whole number");
  return value;
}

void convert(const std::vector<std::string>& arguments) {
  const SignalFile from(arguments[1]);
  const std::size_t first = arguments.size() > 3 ? number(arguments[3]) : 0, count = arguments.size() > 3 ? number(arguments[4]) : SIZE_MAX;
  pod5_fixture::Run run{.id = "run_a",
                        .kit = std::string(from.header().attribute("sequencing_kit")),
                        .experiment_type = std::string(from.header().attribute("experiment_type"))};
  std::vector<pod5_fixture::Read> reads;
  RecordCursor cursor(from);
  RecordDecoder decoder;
  std::span<const char> stored;
  RecordPlace place;
  while (cursor.next(stored, place)) {
    if (cursor.records() <= first || reads.size() == count) continue;
    SignalRecord record;
    std::vector<std::int16_t> samples;
    if (decoder.decode(stored, from.header().records, record, samples) != RecordStatus::ok) throw std::runtime_error("a record can't be decoded");
    run.rate = static_cast<std::uint16_t>(record.sampling_rate);
    run.adc_min = static_cast<std::int16_t>(-record.digitisation / 2);
    run.adc_max = static_cast<std::int16_t>(record.digitisation / 2 - 1);
    reads.push_back(
        {std::string(record.read_id), samples, static_cast<float>(record.offset), static_cast<float>(record.range / record.digitisation)});
  }
  const pod5_fixture::Options options{.compressed = arguments[0] == "vbz", .piece = 2000, .read_batches = {7, 3}, .signal_batches = {5, 31}};
  std::ofstream to(arguments[2], std::ios::binary);
  to << pod5_fixture::pod5_file(reads, {run}, options);
  if (!to.flush()) throw std::runtime_error("cannot write '" + arguments[2] + "'");
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if ((arguments.size() != 3 && arguments.size() != 5) || (arguments[0] != "vbz" && arguments[0] != "plain")) {
    std::cerr << "signal_as_pod5 vbz|plain FROM.blow5 TO.pod5 [FIRST COUNT]\n";
    return 2;
  }
  try {
    convert(arguments);
  } catch (const std::exception& problem) {
    std::cerr << "signal_as_pod5: " << problem.what() << '\n';
    return 1;
  }
  return 0;
}
