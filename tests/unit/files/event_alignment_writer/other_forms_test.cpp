// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <doctest/doctest.h>

#include "unit/files/event_alignment_writer/made_alignments.hpp"

namespace {

// Events 1 to 6 on the contig "one" (ACGTACGTTTGACCATGGTA): two on position 2, a skip of two positions, two on position 5, a bad event on 6, one
// on 7.
made::Read forward_dna() {
  made::Read read;
  read.name = "r", read.contig = "one", read.record_index = 9;
  read.event_start = {0, 4, 7, 12, 20, 22, 29}, read.event_length = {4, 3, 5, 6, 2, 7, 4};
  read.event_mean = {1, 80, 90, 70, 60, 50, 55}, read.event_stdv = {1, 1.5F, 2.5F, 1, 2, 3, 4};
  read.raw.assign(40, 500);
  read.scale = 2, read.shift = 10;
  read.path_event = {1, 2, 3, 4, 5, 6}, read.path_position = {2, 2, 5, 5, 6, 7}, read.path_state = {1, 1, 1, 1, 0, 1};
  return read;
}
made::Read reverse_dna() {
  made::Read read = forward_dna();
  read.is_reverse = true;
  read.path_event = {6, 5, 4, 3, 2, 1};
  return read;
}
// The events of RNA are last first, so that they ascend with the reference while their samples descend.
made::Read forward_rna() {
  made::Read read = forward_dna();
  std::reverse(read.event_start.begin(), read.event_start.end());
  std::reverse(read.event_length.begin(), read.event_length.end());
  read.path_event = {0, 1, 2, 3, 4, 5};
  return read;
}

std::string written(const char* stage, const made::Read& read) {
  return made::run(stage, {made::batch({read})}).with({{"output", "x"}}).run().files.at("x");
}

}  // namespace

TEST_CASE("m6anet's table has one line a position, weighted by the lengths of its events") {
  const std::string header = "contig\tposition\treference_kmer\tread_index\tevent_level_mean\tevent_stdv\tevent_length\t\n";
  CHECK(written("event_alignment_m6anet", forward_dna()) == header +
                                                                "one\t2\tGTA\t9\t38.12\t2.125\t0.00106\t\n"
                                                                "one\t5\tCGT\t9\t28.75\t1.250\t0.00125\t\n"
                                                                "one\t6\tGTT\t9\t-nan\t-nan\t-nan\t\n"
                                                                "one\t7\tTTT\t9\t22.50\t4.000\t0.00100\t\n");
  CHECK(written("event_alignment_m6anet", reverse_dna()).find("GTA\t9\t-nan\t-nan\t-nan\t\n") != std::string::npos);
  CHECK(made::run("event_alignment_m6anet", {made::batch({forward_dna()})})
            .with({{"output", "x"}, {"read_names", true}})
            .run()
            .files.at("x")
            .find("\tread_name\tevent_level_mean\tevent_stdv\tevent_length\t\none\t2\tGTA\tr\t38.12") != std::string::npos);
}

TEST_CASE("PAF counts the samples of every k-mer in the order of the signal") {
  CHECK(written("event_alignment_paf", forward_dna()) == "r\t40\t4\t33\t+\tone\t18\t2\t8\t4\t6\t255\tsc:f:2.00\tsh:f:10.00\tss:Z:8,2D10,7,4,\n");
  made::Read gap = forward_dna();
  gap.path_event = {1, 3, 6}, gap.path_position = {2, 3, 5}, gap.path_state = {1, 1, 1};
  CHECK(written("event_alignment_paf", gap) == "r\t40\t4\t33\t+\tone\t18\t2\t6\t3\t4\t255\tsc:f:2.00\tsh:f:10.00\tss:Z:3,5I6,1D11I4,\n");
  CHECK(written("event_alignment_paf", reverse_dna()) == "r\t40\t4\t33\t-\tone\t18\t2\t8\t4\t6\t255\tsc:f:2.00\tsh:f:10.00\tss:Z:3,5,10,2D11,\n");
  CHECK(written("event_alignment_paf", forward_rna()) == "r\t40\t4\t33\t+\tone\t18\t8\t2\t4\t6\t255\tsc:f:2.00\tsh:f:10.00\tss:Z:3,5,10,2D11,\n");
}

TEST_CASE("the summary counts how events go along the reference") {
  const std::string header =
      "read_index\tread_name\tfast5_path\tmodel_name\tstrand\tnum_events\tnum_steps\tnum_skips\tnum_stays\ttotal_"
      "duration\tshift\tscale\tdrift\tvar\n";
  CHECK(written("event_alignment_summary", forward_dna()) == header + "9\tr\tslow5\tdna\ttemplate\t6\t2\t1\t2\t0.01\t10.000\t2.000\t0.000\t1.250\n");
  CHECK(written("event_alignment_summary", forward_rna()) == header + "9\tr\tslow5\trna\ttemplate\t6\t2\t1\t2\t0.01\t10.000\t2.000\t0.000\t1.250\n");
}

TEST_CASE("a read without aligned events has no line in any form") {
  made::Read empty = forward_dna();
  empty.path_event.clear(), empty.path_position.clear(), empty.path_state.clear();
  CHECK(written("event_alignment_paf", empty).empty());
  for (const char* stage : {"event_alignment_tsv", "event_alignment_m6anet", "event_alignment_summary"}) {
    const std::string text = written(stage, empty);
    CHECK(text.find('\n') == text.size() - 1);
  }
}
