// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Any bytes as the tags of a read: decoded wholly, or refused; and as an alignment record. The first byte says how many of the others are ML and
// bases, the rest is MM.
// Run: build/fuzz/bin/fuzz_modification_tags -max_len=2000 CORPUS tests/fuzz/modification_tags_seeds
#include <algorithm>
#include <cstdlib>

#include "modification_pileup/aligned_states.hpp"
#include "modification_pileup/base_calls.hpp"

using namespace sluice::modification_pileup;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::span<const std::uint8_t> rest(data + 1, size - 1);
  const auto ml = rest.first(std::min<std::size_t>(data[0] & 15U, rest.size()));
  const auto letters = rest.subspan(ml.size(), std::min<std::size_t>(data[0] >> 1U, rest.size() - ml.size()));
  const auto mm = rest.subspan(ml.size() + letters.size());
  std::vector<std::uint8_t> bases(letters.begin(), letters.end());
  for (std::uint8_t& base : bases) base %= 5;
  BaseCallDecoder decoder;
  const FilterThresholds thresholds{{256, 300, 400, 512}};
  const DecodeStatus status = decoder.decode(bases, {reinterpret_cast<const char*>(mm.data()), mm.size()}, ml, {.thresholds = thresholds});
  if (status == DecodeStatus::fine) {
    if (decoder.sequenced().size() != bases.size() || (!decoder.opposite().empty() && decoder.opposite().size() != bases.size())) std::abort();
    for (const auto states : {decoder.sequenced(), decoder.opposite()})
      for (const std::uint8_t state : states)
        if (state < state_other || state >= state_call + decoder.kinds().count) std::abort();
  }
  AlignmentRecord record;
  if (!record.parse({reinterpret_cast<const char*>(data), size})) return 0;
  std::vector<std::uint8_t> codes;
  record.decode_bases(codes);
  record.text_tag("MM"), record.bytes_tag("ML"), record.integer_tag("MN");
  AlignedStates aligned;
  if (!align_states(record, codes, {}, aligned)) return 0;
  std::int64_t covered = 0;
  for (const std::int64_t length : aligned.block_length) covered += length;
  if (covered != static_cast<std::int64_t>(aligned.base.size())) std::abort();
  return 0;
}
