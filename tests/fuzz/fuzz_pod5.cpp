// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// A POD5 file with changed bytes, and any bytes as the whole file, as one of its tables, and as compressed signal.
// Run: build/fuzz/bin/fuzz_pod5 -max_len=4096 CORPUS
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>

#include "signal_reader/pod5_reads.hpp"
#include "signal_reader/vbz.hpp"
#include "unit/files/signal_reader/pod5_fixture.hpp"

using namespace sluice::signal_reader;

namespace {

void read(std::string_view bytes) {
  const MemoryBytes file({bytes.data(), bytes.size()});
  try {
    const Pod5Reads reads(file);
    if (reads.bytes() > bytes.size()) std::abort();
    RecordDecoder decoder;
    std::vector<char> stored;
    std::vector<std::int16_t> samples;
    std::uint64_t place = 0;
    for (std::size_t i = 0; i < reads.size(); ++i) {
      const RecordPlace record_place = reads.place_at(place);
      if (record_place.bytes == 0) std::abort();
      stored.resize(static_cast<std::size_t>(record_place.bytes));
      reads.copy(record_place, stored.data(), stored.size());
      SignalRecord record;
      samples.clear();
      const RecordStatus status = decoder.decode(stored, reads.header().records, record, samples);
      if (status == RecordStatus::ok ? samples.size() != record.sample_count : !samples.empty()) std::abort();
      place += record_place.bytes;
    }
    if (reads.place_at(place).bytes != 0) std::abort();
  } catch (const FormatProblem&) {
  }
}

std::string made(bool compressed) {
  std::vector<pod5_fixture::Read> reads;
  for (int i = 0; i < 5; ++i) {
    std::vector<std::int16_t> samples;
    for (int s = 0; s < 40 * i; ++s) samples.push_back(static_cast<std::int16_t>(400 + (s * s + i) % 300));
    reads.push_back({"0000000" + std::to_string(i) + "-1111-2222-3333-444444444444", samples, 6, 0.1F, i % 2 == 0 ? "run_a" : "run_b"});
  }
  return pod5_fixture::pod5_file(reads, {{"run_a"}, {"run_b"}}, {compressed, 50, {2}, {3}, true});
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::string files[] = {made(false), made(true)};
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  read(bytes);
  std::int16_t decoded[64];
  for (const std::size_t count : {1, 7, 8, 64}) decode_svb16({data, size}, count, decoded);
  try {
    const MemoryBytes table({bytes.data(), bytes.size()});
    const ArrowFile file(table, 0, bytes.size());
  } catch (const FormatProblem&) {
  }
  if (size == 0) return 0;
  // Each five bytes: where, and what stands there then.
  std::string file = files[data[0] % 2];
  for (std::size_t at = 1; at + 5 <= size; at += 5) {
    std::uint32_t place = 0;
    std::memcpy(&place, data + at, 4);
    file[place % file.size()] = static_cast<char>(data[at + 4]);
  }
  read(file);
  return 0;
}
