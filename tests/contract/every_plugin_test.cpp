// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// The contract suite over every plugin of the build, or of the folder that SLUICE_CONTRACT_PLUGINS names: descriptors, made-up rows, and whatever
// needs no sample. Stages with samples of their own run the whole suite in tests/unit/FOLDER.
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <set>
#include <sluice/testing.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace {

std::vector<const sluice_plugin_info*> plugins() {
  const char* other = std::getenv("SLUICE_CONTRACT_PLUGINS");
  std::vector<const sluice_plugin_info*> loaded;
  for (const auto& entry : std::filesystem::directory_iterator(other != nullptr ? other : SLUICE_PLUGIN_DIR))
    if (entry.path().extension() == ".so") loaded.push_back(sluice::testing::load_plugin(entry.path().string()));
  return loaded;
}

// The role that the parameter itself has, apart from files beside it; 0: none.
sluice_role role_of(const sluice_stage_descriptor& stage, std::size_t parameter) {
  for (std::size_t i = 0; i < stage.role_count; ++i)
    if (stage.roles[i].parameter == parameter && stage.roles[i].suffix == nullptr) return stage.roles[i].role;
  return 0;
}

struct CheckAnswer {
  sluice_status status = SLUICE_OK;
  std::string message, remedy;
};

// What the stage says of parameters, given as a user would type them, before there is an instance.
CheckAnswer check(std::string_view id, const sluice::testing::ParameterTexts& given) {
  for (const sluice_plugin_info* plugin : plugins())
    for (std::size_t s = 0; s < plugin->stage_count; ++s) {
      const sluice_stage_descriptor& stage = *plugin->stage(s);
      if (id != stage.id || stage.check == nullptr) continue;
      std::vector<sluice_value> values;
      for (std::size_t p = 0; p < stage.parameter_count; ++p) {
        sluice_value value = stage.parameters[p].default_value;
        value.type = stage.parameters[p].type;
        if (value.text == nullptr) value.text = "";
        if (const auto found = given.find(stage.parameters[p].name); found != given.end()) {
          value.is_set = 1;
          value.text = found->second.c_str();
          value.integer = found->second == "true" ? 1 : std::atoll(value.text);
          value.real = std::atof(value.text);
        }
        values.push_back(value);
      }
      sluice_error error{};
      CheckAnswer answer;
      answer.status = stage.check(values.data(), sizeof(sluice_value), &error);
      answer.message = error.message;
      answer.remedy = error.remedy;
      return answer;
    }
  throw std::runtime_error("no stage '" + std::string(id) + "' with rules between its parameters");
}

}  // namespace

TEST_CASE("parameters that do not go together are refused before a stage is made") {
  if (std::getenv("SLUICE_CONTRACT_PLUGINS") != nullptr) return;  // the rules of this tree's own stages
  struct Rule {
    const char* stage;
    sluice::testing::ParameterTexts parameters;
    const char* message;  // a part of it; "": they are fine
  };
  const Rule rules[] = {
      {"event_detection", {{"window_short", 9}, {"window_long", 5}}, "window_short (9 samples) must be smaller than window_long (5)"},
      {"event_detection", {{"window_short", 6}}, "must be smaller"},
      {"event_detection", {{"window_short", 6}, {"preset", "rna"}}, ""},
      {"poa_consensus", {{"alignment", "local"}, {"match", -1}}, "a local alignment needs a positive score"},
      {"poa_consensus", {{"match", -1}}, ""},
      {"minimizer_seeding", {{"for_only", true}, {"rev_only", true}}, "leave nothing"},
      {"minimizer_seeding", {{"for_only", true}}, ""},
      {"read_until_decision", {{"threshold", 1}, {"thresholds", "t.tsv"}}, "exclude each other"},
      {"read_until_decision", {{"threshold", 1}, {"thresholds", ""}}, ""},
      {"read_until_decision_stream", {{"threshold", 1}, {"thresholds", "t.tsv"}}, "exclude each other"},
      {"flow_cell", {{"repeat", true}}, "would never end"},
      {"flow_cell", {{"repeat", true}, {"duration_seconds", 10}}, ""},
      {"prefix_series", {{"prefix_bases", "250,100"}}, "no ascending list"},
      {"prefix_series", {{"prefix_bases", "50,x"}}, "no ascending list"},
      {"prefix_series", {}, ""},
      {"simulate_signal", {{"substitution_share", 0.9}, {"insertion_share", 0.9}}, "add up to at most 1"},
      {"simulate_signal", {{"mean_dwell", 2}, {"minimum_dwell", 5}}, "mean_dwell must be above minimum_dwell"},
      {"simulate_signal", {}, ""},
      {"table_writer", {{"columns", "read_id,,bases"}}, "empty name"},
      {"table_writer", {{"columns", "read_id,bases"}}, ""},
      {"row_filter", {{"column", "a,b"}, {"minimum", 1}}, "more than one column"},
      {"row_filter", {{"column", "a"}}, "nothing is asked"},
      {"row_filter", {{"column", "a"}, {"minimum", 2}, {"maximum", 1}}, "minimum is above maximum"},
      {"row_filter", {{"column", "a"}, {"equals", "x"}}, ""},
      {"sample", {{"column", "a,b"}, {"fraction", 0.5}}, "more than one column"},
      {"fm_index", {{"format", "fastmap"}, {"text", "forward"}}, "both strands"},
      {"fm_index", {{"format", "fastmap"}}, ""},
      {"kmer_model", {{"synthetic_methylation", true}}, "needs alphabet"},
      {"kmer_model", {{"alphabet", "methylation"}, {"pore", "rna_r9"}}, "methylation is called on DNA only"},
      {"kmer_model", {{"alphabet", "methylation"}, {"pore", "rna_r9"}, {"path", "own.model"}}, ""},
      {"kmer_model", {}, ""},
      {"methylation_hmm", {{"region", "chr1:x-5"}}, ""},  // a contig may be called so
      {"methylation_hmm", {{"region", "chr1:100-50"}}, "its first position, 100, is greater than its last, 50"},
      {"methylation_hmm", {{"region", "chr1:100-100"}}, ""},
      {"methylation_hmm", {{"region", "chr1"}}, ""},
      {"event_alignment", {{"region", "chr1:0-5"}}, ""},
      {"event_alignment", {{"region", "chr1:1,000-2,000"}}, ""},
      {"alignment_reader", {{"region", "chr1:1-2-3"}}, "not contig:first-last"},
      {"alignment_reader", {{"region", "chr1:1,000-50"}}, "its first position, 1000, is greater than its last, 50"},
      {"alignment_reader", {{"region", "HLA-A*01:01:01:01"}}, ""},
      {"alignment_reader", {{"region", "{odd:5-3}"}}, ""},
      {"alignment_reader", {{"region", "chr1:100-"}}, ""},
      {"overlap_reader", {{"directions", "both"}}, "needs keep = all"},
      {"overlap_reader", {{"directions", "both"}, {"keep", "all"}}, ""},
      {"read_reader", {{"keep_tags", "MM,M"}}, "no name of a tag"},
      {"read_reader", {{"keep_tags", "MM,ML"}}, ""},
      {"modbam_writer", {{"alignments", "a.bam"}}, ""},
      {"modification_calls", {{"filter_threshold", "0.8,X:1"}}, "is no probability"},
      {"modification_calls", {{"filter_threshold", "0.8,A:1"}}, ""},
      {"modification_pileup", {{"combine_strands", true}}, "is for CpGs"},
      {"modification_pileup", {{"combine_strands", true}, {"cpg", true}}, ""},
      {"modification_pileup", {{"combine_strands", true}, {"motif", "dam"}}, ""},
      {"modification_pileup", {{"combine_strands", true}, {"motif", "CAR:1:a"}}, "reverse complement"},
      {"modification_pileup", {{"cpg", true}, {"motif", "dam,DRACH:2:a"}}, ""},
      {"modification_pileup", {{"cpg", true}, {"motif", "dam,cpg"}}, "is given twice"},
      {"modification_pileup", {{"motif", "dam,"}}, "it is empty"},
      {"modification_pileup", {{"motif", "dam,CHH:0:m"}, {"combine_strands", true}}, "reverse complement"},
      {"modification_calls", {{"ignore", "h,"}}, "has what is no code"},
      {"modification_calls", {{"edge_filter", "4,8,9"}}, "is no number of bases"},
      {"modification_threshold", {{"alignments", "a.bam"}, {"edge_filter", "x"}}, "is no number of bases"},
      {"in_regions", {{"regions", "a.bed"}, {"contig", "a,b"}}, "more than one column"},
      {"in_regions", {{"regions", "a.bed"}, {"start", ""}}, "that every row has"},
      {"methylation_states", {{"motif", "GATC:9:a"}}, "lies outside"},
      {"methylation_hmm", {{"motif", ""}}, "it is empty"},
      {"methylation_hmm", {{"motif", "CHH:0:m"}}, "overlap itself"},
      {"methylation_hmm", {{"motif", "GATC:1:a"}}, ""},
      {"methylation_tsv", {{"output", "x"}, {"motif", "dama"}}, "no name that sluice knows"},
      {"methylation_frequency", {{"motif", "GATC:1:m"}}, "is a modification of C"},
      {"frequency_writer", {{"output", "x"}, {"motif", "CAR:1:a"}, {"combine_strands", true}}, "no sites in common"},
      {"modbam_writer", {{"alignments", "a.bam"}, {"motif", "GATC:1:"}}, "neither a small letter"},
      {"kmer_training", {{"motif", "dam"}}, "for a model with modified bases"},
      {"simulate_signal", {{"motif", "N:0:m"}}, "has to be A, C, G or T"},
      {"event_alignment_tsv", {{"output", "x"}, {"samples", true}, {"collapse_events", true}}, "exclude each other"},
      {"event_alignment_tsv", {{"output", "x.bam"}}, "is text"},
      {"event_alignment_tsv", {{"output", "x"}, {"samples", true}}, ""},
      {"event_alignment_m6anet", {{"output", "x"}, {"table_options", "samples=true"}}, "of the event table"},
      {"event_alignment_paf", {{"output", "x"}, {"table_options", "signal_index=true"}}, "of the event table"},
      {"event_alignment_paf", {{"output", "x"}, {"table_options", "samples=false signal_index=false"}}, ""},
      {"event_alignment_sam", {{"output", "x.cram"}, {"alignments", "a.bam"}}, "CRAM"},
      {"event_alignment_sam", {{"output", "x.bam"}, {"alignments", "a.bam"}}, ""},
      {"event_alignment_summary", {{"output", "x.bam"}}, "is text"},
      {"simulated_run", {{"run_id", "a\tb"}}, "holds a blank, a tab"},
      {"simulated_run", {}, ""},
  };
  for (const Rule& rule : rules) {
    CAPTURE(rule.stage);
    CAPTURE(rule.message);
    const CheckAnswer answer = check(rule.stage, rule.parameters);
    CAPTURE(answer.message);
    CHECK(answer.status == (*rule.message == '\0' ? SLUICE_OK : SLUICE_ERROR_USAGE));
    CHECK(answer.message.find(rule.message) != std::string::npos);
    if (answer.status != SLUICE_OK) CHECK(!answer.remedy.empty());
  }
}

TEST_CASE("every path of every stage says whether it is read or written") {
  for (const sluice_plugin_info* plugin : plugins())
    for (std::size_t s = 0; s < plugin->stage_count; ++s) {
      const sluice_stage_descriptor& stage = *plugin->stage(s);
      CAPTURE(stage.id);
      for (std::size_t p = 0; p < stage.parameter_count; ++p) {
        const sluice_role role = role_of(stage, p);
        CAPTURE(stage.parameters[p].name);
        if (stage.parameters[p].type == SLUICE_PATH)
          CHECK_MESSAGE((role == SLUICE_ROLE_READS || role == SLUICE_ROLE_WRITES), "a path without reads() or writes()");
        else
          CHECK_MESSAGE((role == 0 || role == SLUICE_ROLE_COLUMNS || role == SLUICE_ROLE_CONDITION),
                        "reads() or writes() on an option that is no path");
      }
      for (std::size_t r = 0; r < stage.role_count; ++r)
        if (stage.roles[r].suffix != nullptr) CHECK_MESSAGE(stage.roles[r].suffix[0] == '.', "a file beside a path needs a suffix");
    }
}

TEST_CASE("every plugin keeps the contract of all stages") {
  std::set<std::string> ids;
  for (const sluice_plugin_info* plugin : plugins()) {
    CAPTURE(plugin->name);
    for (const std::string& problem : sluice::testing::contract_problems(*plugin)) FAIL_CHECK(problem);
    for (std::size_t i = 0; i < plugin->stage_count; ++i) CHECK_MESSAGE(ids.insert(plugin->stage(i)->id).second, plugin->stage(i)->id);
  }
  CHECK(!ids.empty());
}
