// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <doctest/doctest.h>

#include <random>
#include <sluice/motif.hpp>
#include <string>
#include <vector>

namespace sluice {
namespace {

std::string refusal(const std::string& text) {
  try {
    parse_motif(text);
  } catch (const Failure& failure) {
    CHECK(failure.status() == SLUICE_ERROR_USAGE);
    CHECK(failure.remedy().find("GATC:1:a") != std::string::npos);
    return failure.what();
  }
  return "";
}

TEST_CASE("nanopolish's motifs have names") {
  const Motif cpg = parse_motif("cpg"), gpc = parse_motif("gpc"), dam = parse_motif("dam"), dcm = parse_motif("dcm");
  CHECK(cpg.letters == "CG");
  CHECK(cpg.forward.modified == 0);
  CHECK(cpg.reverse.modified == 1);
  CHECK(cpg.code == "m");
  CHECK(gpc.letters == "GC");
  CHECK(gpc.forward.modified == 1);
  CHECK(gpc.reverse.modified == 0);
  CHECK(dam.letters == "GATC");
  CHECK(dam.base == 'A');
  CHECK(dam.code == "a");
  CHECK(dcm.letters == "CCWGG");
  CHECK(dcm.forward.modified == 1);
  CHECK(dcm.reverse.modified == 3);
  for (const Motif& motif : {cpg, gpc, dam, dcm}) CHECK(motif.is_palindrome());
  const Motif spelled = parse_motif("gatc:1:a");
  CHECK(spelled.forward == dam.forward);
  CHECK(spelled.reverse == dam.reverse);
}

TEST_CASE("a motif finds its sites, upper case letters only, one behind the other") {
  const std::string bases = "CCAGGCCTGGCCGGccaggCCNGGCCAGG";
  const Motif dcm = parse_motif("dcm");
  std::vector<std::size_t> found;
  for (std::size_t at = find_motif(bases, dcm.forward); at != std::string::npos; at = find_motif(bases, dcm.forward, at + 5)) found.push_back(at);
  CHECK(found == std::vector<std::size_t>{0, 5, 24});
  CHECK(find_motif("", dcm.forward) == std::string::npos);
  CHECK(find_motif(bases, dcm.forward, 1000) == std::string::npos);
}

TEST_CASE("the sites of the reverse strand are those of the reverse complement") {
  std::mt19937 random(1);
  for (const char* const text : {"cpg", "gpc", "dam", "dcm", "GAAGC:2:a", "CHG:0:m", "GAHTHCCATTYT:1:a", "RAC:1:a", "A:0:a", "G:0:21839"}) {
    const Motif motif = parse_motif(text);
    for (int round = 0; round < 20; ++round) {
      std::string bases, reverse;
      for (int i = 0; i < 300; ++i) bases += "ACGT"[random() % 4];
      for (std::size_t i = bases.size(); i-- > 0;) reverse += iupac_complement(bases[i]);
      const auto length = static_cast<std::size_t>(motif.forward.length);
      for (std::size_t at = 0; at + length <= bases.size(); ++at) {
        const std::size_t there = bases.size() - length - at;
        CHECK(is_motif_site(bases.data() + at, motif.reverse) == is_motif_site(reverse.data() + there, motif.forward));
        if (is_motif_site(bases.data() + at, motif.reverse))
          CHECK(iupac_complement(bases[at + static_cast<std::size_t>(motif.reverse.modified)]) == motif.base);
      }
    }
  }
}

TEST_CASE("what is no motif is refused with the reason") {
  CHECK(refusal("") == "motif '': it is empty");
  CHECK(refusal("CPG").find("no name that sluice knows") != std::string::npos);
  CHECK(refusal("GATC").find("not three parts") != std::string::npos);
  CHECK(refusal("GATC:1").find("not three parts") != std::string::npos);
  CHECK(refusal(":0:a").find("no letters") != std::string::npos);
  CHECK(refusal("GXTC:1:a").find("IUPAC") != std::string::npos);
  CHECK(refusal("GA C:1:a").find("IUPAC") != std::string::npos);
  CHECK(refusal("GATTACAGATTACATTC:1:a").find("17 letters, and 16 are the most") != std::string::npos);
  CHECK(refusal(std::string(100000, 'A') + ":0:a").find("100000 letters") != std::string::npos);
  CHECK(refusal("GATC:4:a").find("outside its 4 letters") != std::string::npos);
  CHECK(refusal("GATC:-1:a").find("no number") != std::string::npos);
  CHECK(refusal("GATC::a").find("no number") != std::string::npos);
  CHECK(refusal("GATC:99999999999999999999:a").find("no number") != std::string::npos);
  CHECK(refusal("CCWGG:2:a").find("modified letter 'W'") != std::string::npos);
  CHECK(refusal("GATC:1:m").find("'m' is a modification of C, and the base at its position is A") != std::string::npos);
  CHECK(refusal("GATC:1:").find("neither") != std::string::npos);
  CHECK(refusal("GATC:1:ab").find("neither") != std::string::npos);
  CHECK(refusal("GATC:1:0").find("neither") != std::string::npos);
  CHECK(refusal("GATC:1:a:b").find("neither") != std::string::npos);
  CHECK(refusal("GATC:1:1234567890").find("neither") != std::string::npos);
}

TEST_CASE("a motif that can overlap itself is refused") {
  for (const char* const text : {"AA:0:a", "CHH:0:m", "GCGC:1:m", "NCG:1:m", "ANNA:0:a"})
    CHECK(refusal(text).find("overlap itself") != std::string::npos);
  CHECK(refusal("CHG:0:m").empty());
  CHECK(refusal("GANTC:1:a").empty());
}

TEST_CASE("a model of another modified base, or of other surroundings, is refused") {
  const Motif gpc = parse_motif("gpc");
  CHECK_NOTHROW(require_model_of(gpc, ""));
  CHECK_NOTHROW(require_model_of(gpc, "gpc"));
  CHECK_NOTHROW(require_model_of(gpc, "GC:1:m"));
  CHECK_NOTHROW(require_model_of(gpc, "C:0:m"));
  CHECK_THROWS_AS(require_model_of(gpc, "cpg"), Failure);
  CHECK_THROWS_AS(require_model_of(gpc, "GC:1:h"), Failure);
  CHECK_THROWS_AS(require_model_of(parse_motif("dam"), "A:0:17802"), Failure);
}

}  // namespace
}  // namespace sluice
