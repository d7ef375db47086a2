// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "alignment_reader/reference_agreement.hpp"

#include <doctest/doctest.h>

#include <sluice/hts/handles.hpp>
#include <string>
#include <vector>

using namespace sluice::alignment_reader;

namespace {

Agreement agreement_of(std::int64_t start, const std::vector<std::uint32_t>& cigar, const std::string& bases, std::string_view contig) {
  const sluice::hts::Record record(bam_init1());
  REQUIRE(bam_set1(record.get(), 1, "r", 0, 0, start, 60, cigar.size(), cigar.data(), -1, -1, 0, bases.size(), bases.data(), nullptr, 0) >= 0);
  Agreement agreement;
  add_record(*record, contig, agreement);
  return agreement;
}
std::uint32_t operation(std::uint32_t length, std::uint32_t code) { return length << BAM_CIGAR_SHIFT | code; }

}  // namespace

// Enough of them to say something.
const std::string many = "ACGTTGCAACGGTCATTGCA";

TEST_CASE("aligned bases are compared where the CIGAR puts them") {
  // Soft clip TT, ACG matches, A inserted, G of the reference deleted, TT matches with one difference.
  const Agreement agreement = agreement_of(
      2, {operation(2, BAM_CSOFT_CLIP), operation(3, BAM_CMATCH), operation(1, BAM_CINS), operation(1, BAM_CDEL), operation(22, BAM_CMATCH)},
      "TTACGATA" + many, "NNacgGTT" + many + "NN");
  CHECK(agreement.records == 1);
  CHECK(agreement.bases == 25);
  CHECK(agreement.equal == 24);
  CHECK(agreement.agreeing == 1);
}

TEST_CASE("ambiguous bases, places behind the contig and records without bases do not count") {
  CHECK(agreement_of(0, {operation(24, BAM_CMATCH)}, "ANGT" + many, "ACNT" + many).bases == 22);
  CHECK(agreement_of(2, {operation(24, BAM_CMATCH)}, many + "ACGT", "TT" + many + "AC").bases == 22);
  const Agreement none = agreement_of(0, {operation(4, BAM_CMATCH)}, "", "ACGT");
  CHECK(none.records == 0);
  CHECK(none.share() == 1);
}

TEST_CASE("a record agrees when half of its bases do, and few bases say nothing") {
  std::string half = many;
  for (std::size_t i = 0; i < half.size() / 2; ++i) half[i] = half[i] == 'A' ? 'C' : 'A';
  const Agreement agrees = agreement_of(0, {operation(20, BAM_CMATCH)}, half, many);
  CHECK(agrees.records == 1);
  CHECK(agrees.agreeing == 1);
  half.back() = half.back() == 'A' ? 'C' : 'A';
  const Agreement differs = agreement_of(0, {operation(20, BAM_CMATCH)}, half, many);
  CHECK(differs.records == 1);
  CHECK(differs.agreeing == 0);
  CHECK(agreement_of(0, {operation(19, BAM_CMATCH)}, many.substr(0, 19), many).records == 0);
}
