// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Any bytes as a whole SLOW5, BLOW5 or POD5 file that is read from its beginning to its end, and again by the places that were found.
// Run: build/fuzz/bin/fuzz_blow5_file -max_len=4096 CORPUS tests/fuzz/blow5_file_seeds
#include "fuzzed_file.hpp"
#include "signal_reader/signal_file.hpp"

using namespace fuzzing;
using namespace sluice::signal_reader;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // BLOW5 ends with a mark, which the fuzzer need not find.
  std::string bytes(text_of(data, size));
  if (bytes.starts_with("\x89HDF")) return 0;  // FAST5 is read by a program of its own
  if (bytes.starts_with("BLOW5") && !bytes.ends_with("5WOLB")) bytes += "5WOLB";
  const FileOf file(bytes);
  for (const auto growth : {SignalFile::Growth::none, SignalFile::Growth::possible})
    read_or_refuse([&] {
      SignalFile signal(file.path(), growth);
      require(signal.extent().begin <= signal.extent().end && signal.extent().end <= signal.file_bytes());
      RecordCursor cursor(signal);
      RecordDecoder decoder;
      SignalRecord record;
      RecordPlace place{};
      std::vector<std::int16_t> samples;
      std::vector<char> again;
      for (std::span<const char> stored; cursor.next(stored, place);) {
        samples.clear();
        if (decoder.decode(stored, signal.header().records, record, samples) != RecordStatus::ok) continue;
        require(samples.size() == record.sample_count);
        require(signal.read_if_there(place, again) && again.size() == stored.size() && std::equal(stored.begin(), stored.end(), again.begin()));
        signal.read_fields(place, decoder, again, record);
      }
      require(cursor.share_read() >= 0 && cursor.share_read() <= 1);
      for (const std::uint64_t begin : {std::uint64_t{0}, std::uint64_t{7}, std::uint64_t{size}}) {
        RecordCursor part(signal, {begin, begin + 100});
        while (part.next_place(place)) {
        }
        signal.read_if_there({begin, size}, again);
      }
    });
  return 0;
}
