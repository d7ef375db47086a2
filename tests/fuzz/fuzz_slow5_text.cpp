// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Any bytes as a SLOW5 or BLOW5 file: header, then records as text lines, as BLOW5 payloads of every compression, and as an index.
// Run: build/fuzz/bin/fuzz_slow5_text -max_len=2000 CORPUS tests/fuzz/slow5_text_seeds
#include <algorithm>
#include <cstdlib>
#include <string>
#include <string_view>

#include "signal_reader/signal_index.hpp"
#include "signal_reader/slow5_format.hpp"

using namespace sluice::signal_reader;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static RecordDecoder decoder;
  const std::span<const char> file(reinterpret_cast<const char*>(data), size);
  Slow5Header header;
  std::string problem;
  std::size_t begin = 0;
  if (parse_header(file, header, problem) == HeaderStatus::ok) {
    if (header.first_record > size) std::abort();
    begin = static_cast<std::size_t>(header.first_record);
  }
  SignalRecord record;
  std::vector<std::int16_t> samples;
  const auto decode = [&](std::span<const char> stored, const RecordFormat& format) {
    samples.assign(3, 7);
    if (decoder.decode(stored, format, record, samples) == RecordStatus::ok) {
      if (samples.size() != record.sample_count + 3 || record.read_id.empty()) std::abort();
    } else if (samples.size() != 3) {
      std::abort();
    }
    decoder.decode_fields(stored, format, record);
    // The beginning of it: what is decoded is what is decoded of the whole, or the whole is damaged. Asked for in steps, of all bytes and of some.
    const std::vector<std::int16_t> whole(samples.begin() + 3, samples.end());
    for (const std::size_t given : {stored.size(), stored.size() / 2}) {
      std::size_t wanted = 3;
      samples.assign(3, 7);
      const auto status = decoder.decode_beginning(
          {stored.first(given), stored.size()}, format,
          [&](const SignalRecord&, std::span<const std::int16_t> first) { return first.size() < 40 ? wanted = first.size() * 2 + 3 : wanted; },
          record, samples);
      if (status == RecordStatus::ok) {
        if (samples.size() != 3 + std::min<std::uint64_t>(wanted, record.sample_count) || record.read_id.empty()) std::abort();
        if (!whole.empty() && (samples.size() - 3 > whole.size() || !std::equal(samples.begin() + 3, samples.end(), whole.begin()))) std::abort();
      } else if (samples.size() != 3 ||
                 (status == RecordStatus::incomplete && given == stored.size() && given != 0 && format.format != FileFormat::slow5)) {
        std::abort();
      }
    }
  };
  std::string_view rest(file.data() + begin, size - begin);
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    decode({line.data(), line.size()}, {FileFormat::slow5, RecordCompression::none, SignalCompression::none});
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
  }
  for (const auto record_compression : {RecordCompression::none, RecordCompression::zlib, RecordCompression::zstd})
    for (const auto signal_compression : {SignalCompression::none, SignalCompression::svb_zd, SignalCompression::ex_zd})
      decode(file.subspan(begin), {FileFormat::blow5, record_compression, signal_compression});
  SignalIndex index;
  if (parse_index(file, {0, 1'000'000}, index) == IndexStatus::ok && index.size() != 0 && !index.find(index.read_id(0))) std::abort();
  return 0;
}
