// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Letters of reads for each instruction set that the processor has, and for plain code.
#include "read_bases/letters.hpp"

#include <sluice/sequence/bases.hpp>

#include "unit/instruction_sets.hpp"

using namespace sluice::read_bases;

TEST_CASE("bases and qualities are converted and checked alike by every instruction set") {
  std::string bases, normal, qualities;
  for (std::size_t i = 0; i < 101; ++i) {
    bases += "ACGTacgtNnUuRYKM"[i * 7 % 16];
    normal += sluice::normal_bases[static_cast<unsigned char>(bases.back())];
    qualities += static_cast<char>('!' + i % 94);
  }
  sluice::testing::for_each_instruction_set([&] {
    for (std::size_t size = 0; size <= bases.size(); ++size) {
      CAPTURE(size);
      std::string made(size, '\0');
      const LetterLines lines{bases.data(), 0, size + 1, size + 2};
      CHECK(copy_bases(lines, size, made.data()));
      CHECK(made == normal.substr(0, size));
      const LetterLines of_qualities{qualities.data(), 0, size + 1, size + 2};
      CHECK(copy_qualities(of_qualities, size, made.data()));
      CHECK(made == qualities.substr(0, size));
      if (size == 0) continue;
      std::string wrong = bases.substr(0, size);
      wrong[size / 2] = '*';
      CHECK_FALSE(copy_bases({wrong.data(), 0, size + 1, size + 2}, size, made.data()));
      wrong = qualities.substr(0, size);
      wrong[size - 1] = ' ';
      CHECK_FALSE(copy_qualities({wrong.data(), 0, size + 1, size + 2}, size, made.data()));
    }
  });
}
