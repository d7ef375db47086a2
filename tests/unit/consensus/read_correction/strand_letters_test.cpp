// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "read_correction/strand_letters.hpp"

#include <doctest/doctest.h>
#include <hwy/targets.h>

#include <random>
#include <sluice/sequence/bases.hpp>
#include <string>

using namespace sluice::read_correction;

namespace {

// Letter by letter.
std::string plain_strand(Strand strand, std::string letters) {
  if (strand == Strand::reverse) letters = std::string(letters.rbegin(), letters.rend());
  for (char& letter : letters) {
    if (strand == Strand::reverse) letter = sluice::complement_of(letter);
    if (letter == 'U') letter = 'T';
    if (std::string_view("ACGT").find(letter) == std::string_view::npos) letter = 'N';
  }
  return letters;
}

}  // namespace

TEST_CASE("letters of a strand and codes are those of one letter after the other, on every instruction set") {
  std::mt19937 random(31);
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    for (std::size_t size = 0; size < 300; ++size) {
      std::string letters(size, 'A');
      // All bytes there are, in half of the rounds.
      for (char& letter : letters) letter = size % 2 == 0 ? "ACGTUNacgtu"[random() % 11] : static_cast<char>(random() % 256);
      for (const Strand strand : {Strand::forward, Strand::reverse}) {
        std::string turned = letters + '!';
        to_strand(strand, turned.data(), size);
        CHECK(turned == plain_strand(strand, letters) + '!');
      }
      std::string codes(size + 1, '!'), expected;
      to_codes(letters.data(), size, codes.data());
      for (const char letter : letters) expected.push_back(static_cast<char>(sluice::nucleotide_code(letter)));
      CHECK(codes == expected + '!');
    }
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}
