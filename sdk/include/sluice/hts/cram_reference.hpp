// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Is the FASTA that a CRAM is decoded with, or compressed against, the one of its header? HTSlib does not ask: it compares MD5 sums for slices of one
// contig alone, so that other bases come out of slices of several contigs, and version 1.16 crashes where a contig is missing. The sum of a whole
// contig is M5 of @SQ (SAM specification, 1.3.1): of its letters in upper case.

#include <htslib/faidx.h>
#include <htslib/hts.h>
#include <htslib/sam.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <sluice/failure.hpp>
#include <sluice/hts/handles.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::hts {

class CramReference {
 public:
  // `header`: as it was before HTSlib got the reference, after whose lengths it changes its own; `name`: of the CRAM, as messages call it; `fasta`:
  // "": none was given, and HTSlib takes the file that the header names (UR). Throws Failure (input) where a contig has another length there, or none
  // of them is there.
  CramReference(sam_hdr_t& header, std::string fasta, std::string name)
      : header_(&header), fasta_(std::move(fasta)), name_(std::move(name)), is_checked_(static_cast<std::size_t>(sam_hdr_nref(&header))) {
    if (fasta_.empty()) return;
    given_.reset(fai_load3(fasta_.c_str(), nullptr, nullptr, 0));
    if (!given_) return;  // HTSlib says more of it
    std::size_t found = 0;
    for (int i = 0; i < sam_hdr_nref(header_); ++i) found += has_contig(i) ? 1 : 0;
    if (found == 0 && !is_checked_.empty())
      throw failure("no contig of its header is in the reference '" + fasta_ + "', for instance '" + contig(0) + "'");
  }

  // All contigs must be there, as HTSlib needs them to compress. Throws Failure (input).
  void require_all() const {
    for (int i = 0; given_ && i < sam_hdr_nref(header_); ++i)
      if (!has_contig(i)) throw failure("contig '" + contig(i) + "' of its header is not in the reference '" + fasta_ + "'");
  }

  // Before the bases of a record of this contig are used (-1: of none): compares the sums, once for each contig that has one in the header. Throws
  // Failure (input).
  void check(std::int32_t number) {
    if (number < 0 || is_checked_[static_cast<std::size_t>(number)]) return;
    is_checked_[static_cast<std::size_t>(number)] = true;
    const std::string expected = tag(number, "M5");
    if (expected.empty()) return;
    if (given_ && has_contig(number)) return compare(number, expected, *given_, fasta_);
    // What these name is looked for first, by the sum.
    if (std::getenv("REF_PATH") != nullptr || std::getenv("REF_CACHE") != nullptr) return;
    std::string place = tag(number, "UR");
    if (place.starts_with("file:")) place.erase(0, place.starts_with("file://") ? 7 : 5);
    if (place.empty() || place.find("://") != std::string::npos) return;
    if (named_place_ != place) named_.reset(fai_load3((named_place_ = place).c_str(), nullptr, nullptr, 0));
    if (named_ && faidx_has_seq(named_.get(), contig(number).c_str()) != 0) compare(number, expected, *named_, place);
  }

 private:
  struct ReleaseIndex {
    void operator()(faidx_t* index) const { fai_destroy(index); }
  };
  using FastaIndex = std::unique_ptr<faidx_t, ReleaseIndex>;

  std::string contig(int number) const { return sam_hdr_tid2name(header_, number); }
  std::string tag(int number, const char* key) const {
    kstring_t value = KS_INITIALIZE;
    const bool found = sam_hdr_find_tag_id(header_, "SQ", "SN", contig(number).c_str(), key, &value) == 0;
    std::string text = found && value.l > 0 ? std::string(value.s, value.l) : std::string();
    ks_free(&value);
    return text;
  }
  bool has_contig(int number) const {
    const std::string name = contig(number);
    if (faidx_has_seq(given_.get(), name.c_str()) == 0) return false;
    const std::int64_t expected = sam_hdr_tid2len(header_, number), bases = faidx_seq_len(given_.get(), name.c_str());
    if (bases != expected)
      throw failure("contig '" + name + "' has " + std::to_string(expected) + " bases in its header and " + std::to_string(bases) +
                    " in the reference '" + fasta_ + "'");
    return true;
  }
  void compare(int number, std::string expected, const faidx_t& index, const std::string& fasta) const {
    std::transform(expected.begin(), expected.end(), expected.begin(), [](char c) { return c >= 'A' && c <= 'F' ? static_cast<char>(c + 32) : c; });
    const std::string sum = sum_of(number, index, fasta);
    if (sum != expected)
      throw failure("contig '" + contig(number) + "' is another sequence in the reference '" + fasta + "': its MD5 sum is " + sum +
                    ", and that of the header (M5) " + expected);
  }
  std::string sum_of(int number, const faidx_t& index, const std::string& fasta) const {
    constexpr hts_pos_t letters_at_once = hts_pos_t{1} << 22;
    const std::unique_ptr<hts_md5_context, decltype(&hts_md5_destroy)> sum(hts_md5_init(), hts_md5_destroy);
    if (!sum) throw std::bad_alloc();
    const hts_pos_t bases = sam_hdr_tid2len(header_, number);
    for (hts_pos_t begin = 0; begin < bases; begin += letters_at_once) {
      hts_pos_t count = 0;
      const std::unique_ptr<char, decltype(&std::free)> letters(
          faidx_fetch_seq64(&index, contig(number).c_str(), begin, std::min(begin + letters_at_once, bases) - 1, &count), std::free);
      if (!letters || count <= 0) throw failure("contig '" + contig(number) + "' of the reference '" + fasta + "' can't be read");
      std::transform(letters.get(), letters.get() + count, letters.get(),
                     [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
      hts_md5_update(sum.get(), letters.get(), static_cast<unsigned long>(count));
    }
    std::array<unsigned char, 16> digest{};
    std::array<char, 33> text{};
    hts_md5_final(digest.data(), sum.get());
    hts_md5_hex(text.data(), digest.data());
    return text.data();
  }
  Failure failure(const std::string& what) const { return Failure::input(name_ + ": " + what, "give the FASTA file that the reads were aligned to"); }

  sam_hdr_t* header_;
  std::string fasta_, name_, named_place_;
  std::vector<bool> is_checked_;
  FastaIndex given_, named_;
};

}  // namespace sluice::hts
