// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The k-mer of the reference under a position that moves along it, and its rank on the strand of the read.

#include <cstddef>
#include <cstdint>
#include <sluice/kmer_model.hpp>
#include <string_view>

namespace sluice::event_alignment_writer {

class KmerWindow {
 public:
  KmerWindow(std::string_view contig_bases, std::uint32_t k) : bases_(contig_bases), k_(k) {}

  // Ranks are carried over from the k-mer before; elsewhere they are made anew.
  void move_to(std::int32_t position) {
    const auto at = static_cast<std::size_t>(position);
    if (position != position_ + 1 || position_ < 0)
      for (std::size_t i = at; i < at + k_; ++i) push(bases_[i]);
    else
      push(bases_[at + k_ - 1]);
    position_ = position;
  }
  std::string_view bases() const { return bases_.substr(static_cast<std::size_t>(position_), k_); }
  std::uint32_t rank() const { return rank_; }
  std::uint32_t complement_rank() const { return complement_rank_; }  // of the reverse complement

 private:
  void push(char base) {
    const std::uint8_t found = base_code(Alphabet::nucleotide, base);
    const std::uint32_t code = found == 0xFF ? 0 : found;
    const std::uint32_t top = 2 * (k_ - 1);
    rank_ = (rank_ & ((1U << top) - 1)) << 2 | code;
    complement_rank_ = complement_rank_ >> 2 | (3 - code) << top;
  }
  std::string_view bases_;
  std::uint32_t k_;
  std::int32_t position_ = -1;
  std::uint32_t rank_ = 0, complement_rank_ = 0;
};

// Writes the k bases of a rank.
inline char* put_kmer(char* at, std::uint32_t rank, std::uint32_t k) {
  for (std::uint32_t i = k; i > 0; --i, rank >>= 2) at[i - 1] = "ACGT"[rank & 3];
  return at + k;
}

}  // namespace sluice::event_alignment_writer
