// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "signal_reader/chemistry.hpp"

#include <doctest/doctest.h>

#include <vector>

using namespace sluice::signal_reader;

namespace {

struct Case {
  const char *flow_cell, *kit, *type, *configuration;
  double rate_hz;
  const char* name;
  bool is_doubtful;
};

void check(const std::vector<Case>& cases) {
  for (const Case& c : cases) {
    CAPTURE(c.flow_cell);
    CAPTURE(c.kit);
    CAPTURE(c.type);
    CAPTURE(c.configuration);
    const Chemistry found = chemistry_of({c.flow_cell, c.kit, c.type, c.configuration, c.rate_hz});
    CHECK(found.name == c.name);
    CAPTURE(found.doubt);
    CHECK(found.doubt.empty() != c.is_doubtful);
  }
}

}  // namespace

TEST_CASE("flow cell and kit together tell the chemistry") {
  check({{"FLO-MIN106", "SQK-LSK109", "genomic_dna", "", 4000, "dna_r9", false},
         {"FLO-MIN106D", "SQK-RNA002", "rna", "", 3012, "rna_r9", false},
         {"FLO-MIN114", "SQK-LSK114", "", "", 5000, "dna_r10", false},
         {"FLO-PRO114M", "sqk-nbd114-96", "genomic_dna", "", 4000, "dna_r10", false},
         {"FLO-PRO114M", "SQK-LSK114-XL-260", "", "", 4000, "dna_r10", true},
         {"FLO-MIN114", "SQK--260LSK114-XL-260", "", "", 4000, "dna_r10", true},
         {"FLO-MIN114", "SQK-APK114", "", "", 5000, "dna_r10", true},
         {"FLO-PRO114HD", "SQK-ULK114", "", "", 5000, "dna_r10", false},
         {"FLO-MIN004RA", "SQK-DRB004-24", "rna", "", 4000, "rna_004", false},
         {"FLO-PRO004RA", "SQK-RNA004-XL", "", "", 4000, "rna_004", false},
         {"flo-pro112", "sqk-q20ea", "genomic_dna", "", 4000, "dna_r10_4", false},
         {"FLO-PRO112", "SQK-LSK112", "", "", 4000, "dna_r10_4", false},
         {"FLO-MIN106", "SQK-LSK112", "genomic_dna", "", 4000, "dna_r9", false},
         {"FLO-MIN111", "SQK-LSK110", "genomic_dna", "", 4000, "dna_r10_3", false},
         {"FLO-FLG111", "SQK-LSK109", "", "", 4000, "dna_r10_3", false},
         {"FLO-MIN110", "SQK-LSK109", "", "", 4000, "dna_r10_0", false},
         {"FLO-MIN107", "SQK-LSK108", "", "", 4000, "dna_r9_5", false},
         {"FLO-MIN107", "SQK-RNA001", "", "", 3000, "rna_r9", false},
         {"flo-min106", "sqk-rna001", "", "", 3012, "rna_r9", false},
         {"FLO-MIN106", "SQK-LSK109", "cdna", "dna_r9.4.1_450bps_hac.cfg", 4000, "dna_r9", false},
         {"FLO-MIN114", "SQK-LSK114", "", "dna_r10.4.1_e8.2_400bps_sup@v4.1.0", 4000, "dna_r10", false}});
}

TEST_CASE("each speaks alone where the other is missing") {
  check({{"FLO-PRO114M", "", "genomic_dna", "", 5000, "dna_r10", false},
         {"FLO-MIN004RA", "", "", "", 4000, "rna_004", false},
         {"FLO-MIN106", "", "genomic_dna", "", 4000, "dna_r9", false},
         {"FLO-MIN106", "", "rna", "", 3012, "rna_r9", false},
         {"FLO-PRO002", "", "", "", 4000, "dna_r9", true},
         {"FLO-PRO002", "", "", "", 3012, "rna_r9", true},
         {"", "SQK-DRB004-24", "", "", 4000, "rna_004", false},
         {"", "SQK-RNA002", "rna", "", 3012, "rna_r9", false},
         {"", "sqk-rad004", "genomic_dna", "", 4000, "dna_r9", true},
         {"", "sqk-lsk108", "", "", 4000, "dna_r9", true},
         {"", "sqk-lsk108", "", "dna_r10.3_450bps_hac.cfg", 4000, "dna_r10_3", false},
         {"", "sqk-q20ea", "", "dna_r10.4_e8.1_sup.cfg", 4000, "dna_r10_4", false},
         {"FLO-MIN106", "", "", "rna_r9.4.1_70bps_hac.cfg", 3012, "rna_r9", false},
         {"FLO-MIN106", "SQK-NEW006", "", "", 4000, "dna_r9", true},
         {"FLO-MIN114", "SQK-NEW006", "", "", 5000, "dna_r10", false},
         {"", "SQK-16S114-24", "", "", 5000, "dna_r10", false},
         {"", "SQK-LSK112", "genomic_dna", "", 4000, "dna_r9", true},
         {"", "SQK-NEW001", "genomic_dna", "", 4000, "dna_r9", true},
         {"", "SQK-NEW002-24", "genomic_dna", "", 4000, "dna_r9", true},
         {"", "SQK-NEW003", "genomic_dna", "", 4000, "dna_r9", true},
         {"", "SQK-NEW004", "rna", "", 4000, "rna_004", true},
         {"", "SQK-NEW005", "", "", 3012, "rna_r9", true},
         {"", "SQK-NEW006", "genomic_dna", "", 4000, "dna_r9", true},
         {"", "", "", "", 0, "dna_r9", true},
         {"", "", "rna", "", 3012, "rna_r9", false},
         {"", "", "rna", "", 0, "rna_r9", true},
         {"", "", "rna", "", 4000, "rna_004", true},
         {"FLO-NEW001", "", "", "", 4000, "dna_r9", true},
         {"", "", "", "dna_r10.4.1_e8.2_260bps_sup@v4.1.0", 4000, "dna_r10", true},
         {"", "", "", "dna_r9.5_450bps.cfg", 4000, "dna_r9_5", false},
         {"", "", "", "rna002_70bps_hac@v3", 3012, "rna_r9", false},
         {"", "", "", "rna_rp4_130bps_sup.cfg", 4000, "rna_004", false},
         {"", "", "", "dna_r10.4.1_e8.2_400bps_5khz_sup.cfg", 5000, "dna_r10", false},
         {"", "", "", "rna004_130bps_sup@v5.0.0", 4000, "rna_004", false}});
}

TEST_CASE("what contradicts is doubted") {
  check({{"FLO-MIN106", "SQK-LSK114", "", "", 4000, "dna_r9", true},
         {"FLO-MIN114", "SQK-LSK109", "", "", 4000, "dna_r10", true},
         {"FLO-MIN114", "SQK-LSK112", "", "", 4000, "dna_r10", true},
         {"FLO-MIN112", "SQK-LSK109", "", "", 4000, "dna_r10_4", true},
         {"FLO-MIN114", "SQK-RNA002", "rna", "", 3012, "rna_r9", true},
         {"FLO-MIN106", "SQK-RNA004", "rna", "", 4000, "rna_004", true},
         {"FLO-MIN004RA", "SQK-RNA002", "rna", "", 4000, "rna_004", true},
         {"FLO-MIN004RA", "SQK-LSK114", "", "", 4000, "rna_004", true},
         {"FLO-MIN114", "SQK-LSK114", "rna", "", 5000, "dna_r10", true},
         {"FLO-MIN114", "SQK-LSK114", "", "dna_r9.4.1_450bps_hac.cfg", 5000, "dna_r10", true},
         {"FLO-PRO112", "sqk-lsk112", "", "dna_r10.4.1_e8.2_fast_prom.cfg", 4000, "dna_r10_4", true},
         {"FLO-MIN106", "", "", "", 20000, "dna_r9", true},
         {"FLO-MIN106", "SQK-LSK109", "", "", 20000, "dna_r9", true},
         {"FLO-MIN106", "SQK-LSK109", "", "", 5000, "dna_r9", true},
         {"", "sqk-lsk109", "rna", "", 4000, "rna_004", true}});
}

TEST_CASE("the first runs of RNA004 say RNA002, with the rate or the basecaller's configuration of RNA004") {
  check({{"FLO-PRO002", "sqk-rna002", "genomic_dna", "r9p4p1-w97a_m2.cfg", 4000, "rna_004", false},
         {"FLO-PRO002", "sqk-rna002", "genomic_dna", "", 4000, "rna_004", true},
         {"", "sqk-rna002", "", "", 4000, "rna_004", true},
         {"FLO-PRO002", "sqk-rna002", "rna", "", 3012, "rna_r9", false}});
}

TEST_CASE("a doubt says what both sides say") {
  const auto doubt = [](const ChemistryFacts& facts) { return chemistry_of(facts).doubt; };
  CHECK(doubt({"FLO-MIN106", "SQK-LSK114", "", "", 4000}) ==
        "says the flow cell FLO-MIN106 and the sequencing kit 'SQK-LSK114', which do not belong together");
  CHECK(doubt({"FLO-PRO112", "sqk-lsk112", "", "dna_r10.4.1_e8.2_fast_prom.cfg", 4000}) ==
        "was basecalled as dna_r10 ('dna_r10.4.1_e8.2_fast_prom.cfg')");
  CHECK(doubt({"", "sqk-lsk108", "", "", 4000}) ==
        "is of the sequencing kit 'sqk-lsk108', which was used with the pores R9.4.1, R9.5, R10 and R10.3, and does not say its flow cell");
  CHECK(doubt({"FLO-MIN106", "SQK-LSK109", "", "", 20000}) == "has a sampling rate of 20000 Hz, which runs of dna_r9 do not have");
}
