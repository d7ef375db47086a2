// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The signal of FAST5 files: chunks as HDF5's filters left them: deflate, shuffle, and filter 32020, VBZ. A chunk of VBZ is u32 its unpacked bytes,
// then, mostly in zstd, StreamVByte of 16-bit values: two bits each in front of all (lowest first: 1 to 4 bytes), which mostly are zigzag deltas.
// It is not the VBZ of POD5 (vbz.hpp).

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "signal_reader/slow5_format.hpp"

namespace sluice::signal_reader {

inline constexpr RecordFormat fast5_format = {FileFormat::fast5, RecordCompression::none, SignalCompression::hdf5};

// What stands in front of the chunks of a record. See Fast5Table::Chunk.
struct Fast5Piece {
  std::uint32_t samples = 0, bytes = 0, values = 0, steps = 0;
};

// Working memory for it, used for one record after the other.
class Fast5Decoder {
 public:
  Fast5Decoder();
  Fast5Decoder(const Fast5Decoder&) = delete;
  ~Fast5Decoder();

  // Decodes the samples of a chunk to `out`; false when its bytes are too few or too many, and some of `out` may then have been written.
  bool decode(const Fast5Piece& piece, std::span<const char> bytes, std::int16_t* out);

  // Appends the first samples of a record, as many as `wanted` asks for. `pieces` is what follows its fields, or the beginning of that. On failure
  // leaves `samples` as it was.
  RecordStatus decode_beginning(std::span<const char> pieces, bool is_whole, const SamplesWanted& wanted, const SignalRecord& record,
                                std::vector<std::int16_t>& samples);

  std::size_t capacity() const { return buffers_[0].capacity() + buffers_[1].capacity(); }

 private:
  struct Contexts;
  bool undo(unsigned step, std::span<const char> from, std::size_t values, std::vector<char>& to);
  bool inflate(std::span<const char> from, std::size_t values, std::vector<char>& to);
  bool undo_vbz(unsigned step, std::span<const char> from, std::size_t values, std::vector<char>& to);

  std::unique_ptr<Contexts> contexts_;
  std::vector<char> buffers_[2], streams_;
};

}  // namespace sluice::signal_reader
