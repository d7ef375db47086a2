// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "simulate_signal/basecaller_tags.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <map>
#include <optional>
#include <sluice/testing.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "made_up_model.hpp"

using namespace sluice;
using namespace sluice::simulate_signal;
using namespace sluice::testing;

namespace {

// Tags as BAM has them: numbers of type i, f and arrays of c and i as numbers, Z as text.
struct Tags {
  explicit Tags(std::string_view bytes) {
    const auto take = [&bytes]<class T>(T) {
      T value;
      std::memcpy(&value, bytes.data(), sizeof value);
      bytes.remove_prefix(sizeof value);
      return value;
    };
    while (!bytes.empty()) {
      const std::string name(bytes.substr(0, 2));
      const char type = bytes[2];
      bytes.remove_prefix(3);
      if (type == 'i') numbers[name] = {static_cast<double>(take(std::int32_t{}))};
      if (type == 'f') numbers[name] = {take(float{})};
      if (type == 'Z') {
        texts[name] = bytes.substr(0, bytes.find('\0'));
        bytes.remove_prefix(texts[name].size() + 1);
      }
      if (type != 'B') continue;
      const char element = bytes[0];
      bytes.remove_prefix(1);
      const auto count = take(std::uint32_t{});
      for (std::uint32_t i = 0; i < count; ++i) numbers[name].push_back(element == 'c' ? take(std::int8_t{}) : take(std::int32_t{}));
    }
  }
  double number(const std::string& name) const { return numbers.at(name).at(0); }
  // Samples of the read's part at which bases begin.
  std::vector<std::int64_t> starts() const {
    const std::vector<double>& moves = numbers.at("mv");
    std::vector<std::int64_t> starts;
    for (std::size_t block = 1; block < moves.size(); ++block)
      if (moves[block] != 0) starts.push_back(static_cast<std::int64_t>(number("ts") + moves[0] * static_cast<double>(block - 1)));
    return starts;
  }
  std::map<std::string, std::vector<double>> numbers;
  std::map<std::string, std::string> texts;
};

TestBatch run(const std::string& version = "2.1.0", const std::string& model = "dna_r10.4.1_e8.2_400bps_sup@v5.2.0") {
  return BatchBuilder("sequencing_run", 1)
      .text("run_id", {"a_run"})
      .text("experiment_type", {"genomic_dna"})
      .text("sequencing_kit", {"sqk-lsk114"})
      .text("flow_cell_product", {"FLO-MIN114"})
      .text("flow_cell_id", {"FAS1"})
      .text("basecall_model", {model})
      .text("basecaller_version", {version})
      .column<double>("sampling_rate", {4000.0})
      .column<std::int64_t>("acquisition_start", {1'767'225'600'000})
      .build();
}
const sluice_plugin_info& plugin() {
  static const sluice_plugin_info* const info = load_plugin(SLUICE_PLUGIN_DIR "/simulate_signal.so");
  return *info;
}
StageRun simulation(const ParameterTexts& more, const TestBatch& of_run, const std::string& pore = "r10") {
  const MadeUpModel made(Alphabet::nucleotide, 5);
  ParameterTexts parameters = more;
  parameters.insert(
      {{"reads", 40}, {"mean_length", 800.0}, {"moves", true}, {"adapter", "GGCGTCTGCTTGGGTGTTTAACCTTTTTTTTTTAATGTACTTCGTTCAGTTACGTATTGCT"}});
  return run_stage(stage_of(plugin(), "simulate_signal"))
      .with(parameters)
      .resource("reference", BatchBuilder("contig", 1).text("name", {"one"}).text("bases", {synthesize_contig(1, 0, 20000, 0.5, 1)}).build())
      .resource("model", BatchBuilder("kmer", static_cast<std::int64_t>(made.mean.size()))
                             .column<float>("level_mean", made.mean)
                             .column<float>("level_stdv", made.stdv)
                             .column<float>("log_level_stdv", made.log_stdv)
                             .attribute("k", "5")
                             .attribute("alphabet", "nucleotide")
                             .attribute("pore", pore)
                             .build())
      .resource("run", of_run);
}
struct Row {
  std::string read_id, signal_read_id, bases, end_reason;
  Tags tags;
  std::vector<std::int16_t> signal;
  std::int32_t channel, mux;
  std::int64_t start_sample, read_number;
};
std::vector<Row> rows_of(const Result& result) {
  std::vector<Row> rows;
  for (const TestBatch& batch : result.batches) {
    const auto view = batch.view();
    for (std::int64_t row = 0; row < batch.rows(); ++row) {
      const auto i = static_cast<std::size_t>(row);
      const auto signal = view.list<std::int16_t>("raw_signal")[row];
      rows.push_back({std::string(view.text("read_id")[row]), std::string(view.text("signal_read_id")[row]), std::string(view.text("bases")[row]),
                      std::string(view.text("end_reason")[row]), Tags(view.text("tags")[row]),
                      std::vector<std::int16_t>(signal.begin(), signal.end()), view.column<std::int32_t>("sequencer_channel")[i],
                      view.column<std::int32_t>("mux")[i], view.column<std::int64_t>("start_sample")[i],
                      view.column<std::int64_t>("read_number")[i]});
    }
  }
  return rows;
}

}  // namespace

TEST_CASE("the tags of a whole read are those of its signal") {
  for (const bool is_rna : {false, true}) {
    CAPTURE(is_rna);
    const auto rows = rows_of(simulation({}, run(), is_rna ? "rna004" : "r10").expect_rows(40));
    for (const Row& row : rows) {
      const Tags& tags = row.tags;
      CHECK(row.signal_read_id == row.read_id);
      CHECK(tags.number("ns") == static_cast<double>(row.signal.size()));
      CHECK(tags.number("du") == doctest::Approx(static_cast<double>(row.signal.size()) / 4000));
      CHECK(tags.number("ch") == row.channel);
      CHECK(tags.number("mx") == row.mux);
      CHECK(tags.number("rn") == static_cast<double>(row.read_number));
      CHECK(tags.number("qs") > 5);
      CHECK(tags.texts.at("sv") == "pa");
      CHECK(tags.texts.at("RG") == "a_run_dna_r10.4.1_e8.2_400bps_sup@v5.2.0");
      CHECK(tags.texts.at("st") == utc_text(1'767'225'600'000 + row.start_sample / 4));
      CHECK(!tags.texts.contains("pi"));
      // The adapter, 60 k-mers of 8.9 samples, is cut off: of DNA by the stride behind 10 samples, of RNA by fifties.
      const auto first = static_cast<std::int64_t>(tags.number("ts"));
      CHECK(first > 300);
      CHECK(first < 900);
      CHECK((is_rna ? first % 50 : (first - 10) % 5) == 0);
      const std::vector<double>& moves = tags.numbers.at("mv");
      CHECK(moves[0] == (is_rna ? 6 : 5));
      CHECK(moves[1] == 1);
      CHECK(std::ssize(moves) - 1 == (static_cast<std::int64_t>(row.signal.size()) - first) / static_cast<std::int64_t>(moves[0]));
      CHECK(tags.starts().size() == row.bases.size());
    }
  }
}

TEST_CASE("moves lie where the k-mers of the bases do") {
  for (const Molecule molecule : {Molecule::dna, Molecule::rna}) {
    CAPTURE(molecule == Molecule::rna);
    SimulationParameters parameters;
    parameters.molecule = molecule;
    parameters.error_rate = 0;
    parameters.noise = parameters.level_noise = 0;
    parameters.scale_jitter = parameters.shift_jitter = 0;
    parameters.mean_dwell = 20;
    parameters.mean_length = 600;
    parameters.adapter = "ACGTTGCATGCACTGATCGATCAGC";
    const MadeUpModel model(Alphabet::nucleotide, 9);
    const std::string bases = synthesize_contig(1, 0, 5000, 0.5, 1);
    const std::vector<Contig> contigs = {{"one", bases}};
    const Simulator simulator(parameters, contigs, model.view(), nullptr);
    const TestBatch run_batch = run();
    const SequencingRun of_run(run_batch.view());
    for (const Placement& place : simulator.place_reads(10)) {
      Simulator::Read read;
      simulator.simulate(place, Simulator::Signal::make, read);
      const Tags tags(basecaller_tags({&read, place, {}, {}, 0}, of_run, {.moves = true, .stride = 5}, molecule, 9));
      const std::vector<std::int64_t> starts = tags.starts();
      REQUIRE(starts.size() == read.bases.size());
      // The level of a base's middle is that of its k-mer: of DNA the one whose 8th base it is, of RNA the one whose third base it is.
      std::size_t right = 0, seen = 0;
      for (std::size_t in_time = 10; in_time + 11 < starts.size(); ++in_time) {
        const std::size_t base = molecule == Molecule::rna ? read.bases.size() - 1 - in_time : in_time;
        const std::size_t kmer = base - (molecule == Molecule::rna ? 2 : 7);
        std::size_t rank = 0;
        for (std::size_t i = 0; i < 9; ++i) rank = rank * 4 + std::string_view("ACGT").find(read.bases[kmer + i]);
        const auto middle = static_cast<std::size_t>((starts[in_time] + starts[in_time + 1]) / 2);
        const double level = (read.raw_signal[middle] + parameters.offset) * parameters.range / parameters.digitisation;
        right += std::abs(level - static_cast<double>(model.mean[rank])) < 0.2 ? 1 : 0;
        ++seen;
      }
      CHECK(static_cast<double>(right) > 0.85 * static_cast<double>(seen));
    }
  }
}

TEST_CASE("the parts of split reads are where their tags say, before and after dorado 2.1.0") {
  const auto whole = rows_of(simulation({}, run()).expect_rows(40));
  const auto whole_rna = rows_of(simulation({}, run(), "rna004").expect_rows(40));
  for (const bool is_rna : {false, true})
    for (const std::string version : {"1.4.0", "2.1.0"}) {
      CAPTURE(is_rna);
      CAPTURE(version);
      const auto rows = rows_of(simulation({{"split_share", 1.0}}, run(version), is_rna ? "rna004" : "r10").expect_rows(40));
      std::map<std::string, const Row*> parents;
      for (const Row& row : rows)
        if (!row.signal_read_id.empty()) parents[row.signal_read_id] = &row;
      CHECK(parents.size() == 20);
      for (std::size_t i = 0; i < rows.size(); ++i) {
        const Tags& tags = rows[i].tags;
        CHECK(rows[i].bases == (is_rna ? whole_rna : whole)[i].bases);
        REQUIRE(parents.contains(tags.texts.at("pi")));
        const Row& parent = *parents[tags.texts.at("pi")];
        CHECK(rows[i].channel == parent.channel);
        CHECK(tags.number("rn") == -1);
        const std::int64_t front = !is_rna && version == "1.4.0" ? 10 : 0;
        const auto start = static_cast<std::int64_t>(tags.number("sp")) + front, samples = static_cast<std::int64_t>(tags.number("ns"));
        REQUIRE(start + samples <= std::ssize(parent.signal));
        CHECK(std::vector<std::int16_t>(parent.signal.begin() + start, parent.signal.begin() + start + samples) ==
              (is_rna ? whole_rna : whole)[i].signal);
        CHECK(tags.texts.at("st") == utc_text(1'767'225'600'000 + (parent.start_sample + start + 2) / 4));
        CHECK(static_cast<std::int64_t>(tags.number("ts")) % (is_rna ? 50 : 5) == 0);
        CHECK(tags.starts().size() == rows[i].bases.size());
      }
    }
}

TEST_CASE("reads of a channel do not overlap, and some do not end by themselves") {
  const auto rows =
      rows_of(simulation({{"reads", 3000}, {"mean_length", 300.0}, {"minimum_length", 100}, {"split_share", 0.1}}, run()).expect_rows(3000));
  std::map<std::int32_t, std::map<std::int64_t, std::int64_t>> times;
  std::map<std::string, std::size_t> reasons;
  std::size_t split = 0;
  for (const Row& row : rows) {
    ++reasons[row.end_reason];
    split += row.tags.texts.contains("pi") ? 1 : 0;
    if (!row.signal_read_id.empty()) times[row.channel][row.start_sample] = row.start_sample + std::ssize(row.signal);
  }
  for (const auto& [channel, reads] : times) {
    CHECK(channel >= 1);
    CHECK(channel <= 512);
    std::int64_t end = 0;
    for (const auto& [start, stop] : reads) {
      CHECK(start > end);
      end = stop;
    }
  }
  CHECK(split > 200);
  CHECK(split < 400);
  CHECK(reasons["signal_positive"] > 2800);
  CHECK(reasons["unblock_mux_change"] > 20);
  CHECK(reasons["mux_change"] > 20);
}

TEST_CASE("the true poly(A) tail is in pt and pa") {
  const auto rows = rows_of(simulation({{"tail_length", 60.0}, {"poly_a", true}}, run(), "rna004").expect_rows(40));
  for (const Row& row : rows) {
    const double bases = row.tags.number("pt");
    const std::vector<double>& place = row.tags.numbers.at("pa");
    REQUIRE(place.size() == 5);
    CHECK(place[0] == place[1]);
    CHECK(place[0] - row.tags.number("ts") < 50);
    CHECK(place[0] >= row.tags.number("ts"));
    CHECK((place[2] - place[1]) / 8.9 == doctest::Approx(bases).epsilon(0.5));
    CHECK(place[3] == -1);
  }
}

TEST_CASE("the simulated run has kit and model of the pore, or what is given") {
  const auto run_of = [](const ParameterTexts& parameters) {
    const Result made = run_stage(stage_of(plugin(), "simulated_run")).with(parameters).run();
    REQUIRE(made.ok());
    const SequencingRun of_run(made.batches.at(0).view());
    return std::string(of_run.experiment_type) + " " + std::string(of_run.sequencing_kit) + " " + std::string(of_run.flow_cell_product) + " " +
           std::string(of_run.basecall_model);
  };
  CHECK(run_of({{"pore", "r9"}}) == "genomic_dna sqk-lsk109 FLO-MIN106 dna_r9.4.1_e8_sup@v3.3");
  CHECK(run_of({{"pore", "r10"}}) == "genomic_dna sqk-lsk114 FLO-MIN114 dna_r10.4.1_e8.2_400bps_sup@v4.1.0");
  CHECK(run_of({{"pore", "r10"}, {"sampling_rate", 5000.0}}) == "genomic_dna sqk-lsk114 FLO-MIN114 dna_r10.4.1_e8.2_400bps_sup@v5.2.0");
  CHECK(run_of({{"pore", "rna_r9"}}) == "rna sqk-rna002 FLO-MIN106 rna002_70bps_hac@v3");
  CHECK(run_of({{"pore", "rna004"}, {"sequencing_kit", "other"}, {"flow_cell", "cell"}}) == "rna other cell rna004_130bps_sup@v5.2.0");
  CHECK(run_stage(stage_of(plugin(), "simulated_run")).with({{"run_id", "two words"}}).run().status == SLUICE_ERROR_USAGE);
}

TEST_CASE("times are written as in SAM") {
  CHECK(utc_text(0) == "1970-01-01T00:00:00.000+00:00");
  CHECK(utc_text(951'782'399'999) == "2000-02-28T23:59:59.999+00:00");
  CHECK(utc_text(951'782'400'001) == "2000-02-29T00:00:00.001+00:00");
  CHECK(utc_text(1'767'225'600'000) == "2026-01-01T00:00:00.000+00:00");
  CHECK(split_start_of("2.1.0") == SplitStart::in_the_read);
  CHECK(split_start_of("2.0.9") == SplitStart::behind_trimmed_front);
  CHECK(split_start_of("0.9.1+c8c2c9f") == SplitStart::behind_trimmed_front);
  CHECK(split_start_of("10.0") == SplitStart::in_the_read);
}
