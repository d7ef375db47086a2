// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The signal of a record that is stored in pieces: u32 pieces; of each a `Piece`, which has the members samples and bytes; then their bytes.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "signal_reader/slow5_format.hpp"

namespace sluice::signal_reader {

// The pieces of a record one after the other.
template <class Piece>
class PieceCursor {
 public:
  explicit PieceCursor(std::span<const char> bytes) : bytes_(bytes) {}

  // False: the bytes end before.
  bool begin() {
    if (bytes_.size() < sizeof pieces_) return false;
    std::memcpy(&pieces_, bytes_.data(), sizeof pieces_);
    data_ = sizeof pieces_ + std::uint64_t{pieces_} * sizeof(Piece);
    return bytes_.size() >= data_;
  }
  bool at_end() const { return next_ == pieces_; }
  bool is_complete() const { return at_end() && data_ == bytes_.size(); }
  Piece piece() const {
    Piece piece;
    std::memcpy(&piece, bytes_.data() + sizeof pieces_ + std::size_t{next_} * sizeof piece, sizeof piece);
    return piece;
  }
  bool is_here() const { return piece().bytes <= bytes_.size() - data_; }
  std::span<const char> take() {
    const std::span<const char> piece_bytes = bytes_.subspan(static_cast<std::size_t>(data_), piece().bytes);
    data_ += piece_bytes.size();
    ++next_;
    return piece_bytes;
  }

 private:
  std::span<const char> bytes_;
  std::uint32_t pieces_ = 0, next_ = 0;
  std::uint64_t data_ = 0;  // of the next piece
};

// Appends the first samples of a record, as many as `wanted` asks for, of which `pieces` is what follows its fields, or the beginning of that; on
// failure leaves `samples` as it was. Pieces are decoded whole, by decode(piece, its bytes, samples), which says whether they are sound.
template <class Piece, class Decode>
RecordStatus decode_pieces(std::span<const char> pieces, bool is_whole, const RecordFormat& format, const SamplesWanted& wanted,
                           const SignalRecord& record, std::vector<std::int16_t>& samples, const Decode& decode) {
  const std::size_t before = samples.size();
  const auto give_up = [&](RecordStatus status) {
    samples.resize(before);
    return status == RecordStatus::incomplete && is_whole ? RecordStatus::corrupt : status;
  };
  PieceCursor<Piece> cursor(pieces);
  if (!cursor.begin()) return give_up(RecordStatus::incomplete);
  const auto count = static_cast<std::size_t>(record.sample_count);
  std::size_t want = std::min(wanted(record, {}), count);
  for (std::size_t have = 0, decoded = 0;;) {
    while (decoded < want) {
      if (cursor.at_end()) return give_up(RecordStatus::corrupt);
      if (!cursor.is_here()) return give_up(RecordStatus::incomplete);
      const Piece piece = cursor.piece();
      if (piece.samples > count - decoded || piece.samples > most_samples(piece.bytes, format)) return give_up(RecordStatus::corrupt);
      samples.resize(before + decoded + piece.samples);
      if (!decode(piece, cursor.take(), samples.data() + before + decoded)) return give_up(RecordStatus::corrupt);
      decoded += piece.samples;
    }
    if (want == count && !(decoded == count && cursor.is_complete())) return give_up(RecordStatus::corrupt);
    have = want;
    want = std::min(wanted(record, std::span(samples).subspan(before, have)), count);
    if (want <= have) break;
  }
  samples.resize(before + want);
  return RecordStatus::ok;
}

}  // namespace sluice::signal_reader
