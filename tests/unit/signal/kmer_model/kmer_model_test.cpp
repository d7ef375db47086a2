// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <doctest/doctest.h>
#include <zlib.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sluice/testing.hpp>

#include "kmer_model/stage.cpp"  // the stage class has no header of its own

using namespace sluice::kmer_model;
using sluice::Alphabet;
using sluice::testing::BatchBuilder;
using sluice::testing::Result;
using sluice::testing::run_stage;
using sluice::testing::TemporaryFolder;

namespace {

const std::string shared = SLUICE_SHARED_DIR;

// Level = rank + 0.5, stdv = 1 + rank % 3.
std::string model_text(std::uint32_t k, Alphabet alphabet) {
  const std::string letters = alphabet == Alphabet::nucleotide ? "ACGT" : "ACGMT";
  std::string text = "#name made up\nkmer\tlevel_mean\tlevel_stdv\tsd_mean\n";
  for (std::size_t rank = 0; rank < sluice::kmer_count(alphabet, k); ++rank) {
    std::string kmer(k, 'A');
    std::size_t rest = rank;
    for (std::uint32_t i = k; i-- > 0; rest /= letters.size()) kmer[i] = letters[rest % letters.size()];
    text += kmer + "\t" + std::to_string(rank) + ".5\t" + std::to_string(1 + rank % 3) + "\t0.9\n";
  }
  return text;
}

std::string problem_of(const std::string& text, Alphabet alphabet = Alphabet::nucleotide) {
  KmerModel model;
  ModelProblem problem;
  return parse_kmer_model(text, alphabet, model, problem) ? "" : std::to_string(problem.line) + ": " + problem.what;
}

std::string without_line(std::string text, const std::string& begin) {
  const std::size_t at = text.find("\n" + begin) + 1;
  return text.erase(at, text.find('\n', at) + 1 - at);
}

bool says(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// The user's data folder while this lives.
class DataFolder {
 public:
  DataFolder() { set(folder_.path()); }
  ~DataFolder() { before_.empty() ? ::unsetenv("XDG_DATA_HOME") : ::setenv("XDG_DATA_HOME", before_.c_str(), 1); }
  DataFolder(const DataFolder&) = delete;
  static void set(const std::string& path) { ::setenv("XDG_DATA_HOME", path.c_str(), 1); }
  std::string models() const { return folder_.path() + "/sluice/models"; }
  std::string write(const std::string& name, const std::string& content) const {
    std::ofstream(folder_.path() + "/" + name, std::ios::binary) << content;
    return folder_.path() + "/" + name;
  }

 private:
  const std::string before_ = std::getenv("XDG_DATA_HOME") == nullptr ? "" : std::getenv("XDG_DATA_HOME");
  const TemporaryFolder folder_;
};

Result store(const sluice::testing::ParameterTexts& parameters) { return run_stage<ModelStore>().with(parameters).run(); }

std::string models_of(const Result& result) {
  std::string text;
  for (const auto& batch : result.batches) {
    const auto names = batch.view().text("model_name"), origins = batch.view().text("model_origin");
    for (std::int64_t row = 0; row < batch.rows(); ++row) text += std::string(names[row]) + " " + std::string(origins[row]) + "\n";
  }
  return text;
}

Result load(const sluice::testing::ParameterTexts& parameters) { return run_stage<KmerModelResource>().with(parameters).run(); }

}  // namespace

TEST_CASE("a model has its levels by rank, whatever the order of the lines") {
  for (const Alphabet alphabet : {Alphabet::nucleotide, Alphabet::methylation}) {
    std::string text = model_text(3, alphabet);
    const std::size_t at = text.find("\nCCC") + 1;  // the line moves to the end
    const std::string line = text.substr(at, text.find('\n', at) + 1 - at);
    text.erase(at, line.size());
    text += line;
    KmerModel model;
    ModelProblem problem;
    REQUIRE(parse_kmer_model(text, alphabet, model, problem));
    CHECK(model.k == 3);
    CHECK(model.name == "made");
    REQUIRE(model.level_mean.size() == sluice::kmer_count(alphabet, 3));
    for (std::size_t rank = 0; rank < model.level_mean.size(); ++rank) {
      CHECK(model.level_mean[rank] == static_cast<float>(rank) + 0.5F);
      CHECK(model.level_stdv[rank] == static_cast<float>(1 + rank % 3));
      CHECK(model.log_level_stdv[rank] == static_cast<float>(std::log(static_cast<double>(model.level_stdv[rank]))));
    }
    CHECK(model.level_mean[sluice::kmer_rank(alphabet, "GTA")] == static_cast<float>(sluice::kmer_rank(alphabet, "GTA")) + 0.5F);
  }
}

TEST_CASE("the header line, comments, blanks, CRLF, U and a last line without an end are fine") {
  CHECK(problem_of("A 1 1\nC 2 1\nG 3 1\nU 4 1") == "");
  CHECK(problem_of("\xef\xbb\xbf#x\nA 1 1\nC 2 1\nG 3 1\nT 4 1\n") == "");  // a byte order mark
  CHECK(problem_of("#x\r\n\r\nkmer level_mean\r\nA\t1\t1\r\nC\t2\t1\r\n  G 3 1 9 9\r\nT\t4e0\t1\r\n") == "");
}

TEST_CASE("a wrong model is refused with line and k-mer") {
  const std::string good = model_text(2, Alphabet::nucleotide);
  CHECK(says(problem_of(without_line(good, "CG")), "0: 1 of the 16 2-mers of the nucleotide alphabet are missing, first 'CG'"));
  CHECK(says(problem_of(good + "AC\t1\t1\n"), "19: k-mer 'AC' comes twice"));
  CHECK(says(problem_of(good + "ACG\t1\t1\n"), "19: k-mer 'ACG' has 3 letters, the first one 2"));
  CHECK(says(problem_of(good + "AN\t1\t1\n"), "19: k-mer 'AN' has a letter outside"));
  CHECK(says(problem_of(good + "AM\t1\t1\n"), "M is for methylation models"));
  CHECK(says(problem_of(good, Alphabet::methylation), "9 of the 25"));
  for (const char* number : {"nan", "inf", "1e99", "x", "1.5x"}) {
    CHECK(says(problem_of(std::string("A\t") + number + "\t1\n"), "1: k-mer 'A': the second column"));
    CHECK(says(problem_of(std::string("A\t1\t") + number + "\n"), "1: k-mer 'A': the third column"));
  }
  CHECK(says(problem_of("A\t1\t0\n"), "third column"));
  CHECK(says(problem_of("A\t1\t-1\n"), "third column"));
  CHECK(says(problem_of(""), "no k-mer"));
  CHECK(says(problem_of("#only\nkmer a b\n"), "no k-mer"));
  CHECK(says(problem_of(std::string(4000, 'A') + "\t1\t1\n"), "k may be 11 at most"));
  CHECK(says(problem_of("AAAAAAAAAAAA\t1\t1\n"), "k may be 11 at most"));
  CHECK(says(problem_of("AAAAAAAAAAA\t1\t1\n", Alphabet::methylation), "too short for the 48828125 11-mers"));
  CHECK(says(problem_of(std::string("\0\0\0", 3)), "letter outside"));
}

TEST_CASE("the resource reads plain and gzip files and says k, alphabet, name and source") {
  const TemporaryFolder folder;
  const std::string plain = folder.path() + "/a.model", packed = folder.path() + "/a.model.gz";
  const std::string text = model_text(4, Alphabet::methylation);
  std::ofstream(plain) << text;
  gzFile file = gzopen(packed.c_str(), "wb");
  gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
  gzclose(file);
  for (const std::string& path : {plain, packed}) {
    const Result result = load({{"path", path}, {"alphabet", "methylation"}});
    REQUIRE(result.ok());
    const auto model = result.batch().view();
    CHECK(model.rows() == 625);
    CHECK(model.attribute("k") == "4");
    CHECK(model.attribute("alphabet") == "methylation");
    CHECK(model.attribute("source") == path);
    CHECK(model.column<float>("level_mean")[624] == 624.5F);
  }
  std::filesystem::resize_file(packed, std::filesystem::file_size(packed) / 2);
  CHECK(says(load({{"path", packed}, {"alphabet", "methylation"}}).message, "truncated"));
  std::ofstream(plain, std::ios::app) << "AAAA\t1\t1\n";
  const Result twice = load({{"path", plain}, {"alphabet", "methylation"}});
  CHECK(twice.status == SLUICE_ERROR_INPUT);
  CHECK(says(twice.message, "a.model':628: k-mer 'AAAA' comes twice"));
  CHECK(says(load({{"path", folder.path() + "/none"}}).message, "cannot be opened"));
  CHECK(says(load({{"path", folder.path()}}).message, "folder"));
  std::ofstream(folder.path() + "/empty").close();
  CHECK(says(load({{"path", folder.path() + "/empty"}}).message, "is empty"));
}

TEST_CASE("a pore without a built-in model asks for a file") {
  const DataFolder nothing_added;
  const Result methylation = load({{"pore", "r10"}, {"alphabet", "methylation"}});
  CHECK(methylation.status == SLUICE_ERROR_USAGE);
  CHECK(says(methylation.message, "no built-in methylation model for the pore 'r10'"));
  CHECK(says(methylation.remedy, "--methylation-model FILE"));
  CHECK(says(methylation.remedy, "f5c"));
  CHECK(says(methylation.remedy, "sluice model add r10-5mc f5c"));
  CHECK(says(load({{"pore", "rna004"}, {"alphabet", "methylation"}}).message, "methylation is called on DNA only"));
  const auto rna = BatchBuilder("signal_file", 0).attribute("chemistry", "rna_r9").build();
  const Result of_rna = run_stage<KmerModelResource>().with({{"alphabet", "methylation"}}).resource("signal", rna).run();
  CHECK(of_rna.status == SLUICE_ERROR_USAGE);
  CHECK(says(of_rna.message, "methylation is called on DNA only, and the pore 'rna_r9' is of direct RNA"));
  CHECK(load({}).status == SLUICE_ERROR_USAGE);
  const Result none = load({{"pore", "r10"}, {"alphabet", "methylation"}, {"if_missing", "empty"}});
  REQUIRE(none.ok());
  CHECK(none.batch().view().rows() == 0);
  CHECK(none.logged("there is no built-in methylation model for the pore 'r10', so that none is used"));
  CHECK(load({{"synthetic_methylation", true}}).status == SLUICE_ERROR_USAGE);
}

TEST_CASE("a methylation model from a file is refused for a signal file of RNA, unless the pore is said") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/a.model";
  std::ofstream(path) << model_text(3, Alphabet::methylation);
  const auto run = [&](const char* chemistry, const char* pore) {
    const auto signal = BatchBuilder("signal_file", 0).attribute("chemistry", chemistry).build();
    return run_stage<KmerModelResource>().with({{"path", path}, {"alphabet", "methylation"}, {"pore", pore}}).resource("signal", signal).run();
  };
  CHECK(says(run("rna_004", "auto").message, "methylation is called on DNA only, and the pore 'rna004' is of direct RNA"));
  CHECK(run("rna_004", "r9").batch().view().attribute("pore") == "r9");
  CHECK(run("dna_r10", "auto").batch().view().attribute("pore") == "r10");
  CHECK(run("dna_r11", "auto").batch().view().attribute("pore").empty());
  CHECK(load({{"path", path}, {"alphabet", "methylation"}}).batch().view().attribute("pore").empty());
}

TEST_CASE("a model of another kit than the reads is warned of") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/a.model";
  const auto said = [&](const std::string& kit, const char* chemistry, const char* pore) {
    std::ofstream(path) << "#kit\t" << kit << "\n" << model_text(3, Alphabet::nucleotide);
    const auto signal = BatchBuilder("signal_file", 0).attribute("chemistry", chemistry).build();
    return run_stage<KmerModelResource>().with({{"path", path}, {"pore", pore}}).resource("signal", signal).run().logged("do they belong together?");
  };
  CHECK(said("r9.4_70bps", "rna_004", "auto"));
  CHECK(said("r9.4_450bps", "rna_004", "auto"));
  CHECK(said("r9.4_450bps", "dna_r10", "auto"));
  CHECK(said("rna004_130bps", "rna_r9", "auto"));
  CHECK(said("r10.4.1_400bps", "dna_r9", "auto"));
  CHECK(said("r9.4_450bps", "dna_r9", "r10"));
  CHECK_FALSE(said("r9.4_450bps", "dna_r9", "auto"));
  CHECK_FALSE(said("r9.4_70bps", "rna_r9", "auto"));
  CHECK_FALSE(said("none", "rna_r9", "auto"));
  CHECK_FALSE(said("r9.4_450bps", "dna_r10_3", "auto"));  // no pore that is known
}

TEST_CASE("a synthetic methylation model keeps unmethylated k-mers and warns") {
  const TemporaryFolder folder;
  std::ofstream(folder.path() + "/a.model") << model_text(3, Alphabet::nucleotide);
  const Result result = load({{"path", folder.path() + "/a.model"}, {"alphabet", "methylation"}, {"synthetic_methylation", true}});
  REQUIRE(result.ok());
  CHECK(result.logged("synthetic"));
  const auto levels = result.batch().view().column<float>("level_mean");
  REQUIRE(levels.size() == 125);
  CHECK(levels[sluice::kmer_rank(Alphabet::methylation, "ACT")] == static_cast<float>(sluice::kmer_rank(Alphabet::nucleotide, "ACT")) + 0.5F);
  CHECK(levels[sluice::kmer_rank(Alphabet::methylation, "AMG")] != static_cast<float>(sluice::kmer_rank(Alphabet::nucleotide, "ACG")) + 0.5F);
}

TEST_CASE("the plugin finds its built-in models beside itself, and the signal file chooses") {
#ifdef SLUICE_PLUGIN_DIR
  const std::string plugin = std::string(SLUICE_PLUGIN_DIR) + "/kmer_model.so";
  if (!std::filesystem::exists(plugin)) {
    MESSAGE("skipped: ", plugin, " is not built");
    return;
  }
  const auto stage = sluice::testing::stage_of(*sluice::testing::load_plugin(plugin), "kmer_model");
  struct Expected {
    const char *chemistry, *k, *pore;
  };
  for (const auto& [chemistry, k, pore] :
       std::vector<Expected>{{"dna_r9", "6", "r9"}, {"dna_r10", "9", "r10"}, {"rna_r9", "5", "rna_r9"}, {"rna_004", "9", "rna004"}}) {
    const auto signal = BatchBuilder("signal_file", 0).attribute("chemistry", chemistry).build();
    const Result result = run_stage(stage).resource("signal", signal).run();
    CAPTURE(result.message);
    REQUIRE(result.ok());
    CHECK(result.batch().view().attribute("k") == k);
    CHECK(result.batch().view().attribute("pore") == pore);
    CHECK_FALSE(result.logged("it is taken for"));
    const auto doubtful =
        BatchBuilder("signal_file", 0).attribute("chemistry", chemistry).attribute("chemistry_doubt", "does not say its sequencing kit").build();
    CHECK(run_stage(stage).resource("signal", doubtful).run().logged("does not say its sequencing kit: it is taken for " + std::string(chemistry)));
    CHECK_FALSE(run_stage(stage).with({{"pore", pore}}).resource("signal", doubtful).run().logged("sequencing kit"));
    CHECK_FALSE(run_stage(stage).with({{"pore", pore}}).resource("signal", signal).run().logged("taken for"));
    const std::string other = chemistry == std::string("dna_r9") ? "rna004" : "r9";
    CHECK(run_stage(stage)
              .with({{"pore", other}})
              .resource("signal", signal)
              .run()
              .logged("says that its reads are of " + std::string(chemistry) + ", and they are taken for the pore " + other));
    CHECK_FALSE(run_stage(stage).with({{"pore", other}}).resource("signal", doubtful).run().logged("taken for"));
  }
  CHECK(run_stage(stage).with({{"pore", "r9"}, {"alphabet", "methylation"}}).run().batch().view().rows() == 15625);
#else
  MESSAGE("skipped: SLUICE_PLUGIN_DIR is not set");
#endif
}

TEST_CASE("names of models are a pore, and perhaps 5mC") {
  CHECK(parse_model_name("r10-5mc").pore == "r10");
  CHECK(parse_model_name("r10-5mc").alphabet == Alphabet::methylation);
  for (const char* name : {"r9", "r10", "rna_r9", "rna004", "r9-5mc", "r10-5mc"}) CHECK(parse_model_name(name).name() == name);
  for (const char* name : {"", "-5mc", "r11", "r10-6ma", "R10", "r10-5mc-5mc", "rna004-5mc", "../r10", "r10/.."})
    CHECK_THROWS_WITH_AS(parse_model_name(name), (std::string("'") + name + "' is no name of a model").c_str(), sluice::Failure);
}

TEST_CASE("what can't be added says why, and nothing changes") {
  const DataFolder data;
  const auto refused = [&](const std::string& name, const std::string& path) {
    const Result result = store({{"action", "add"}, {"name", name}, {"path", path}});
    CHECK_FALSE(result.ok());
    CHECK_FALSE(std::filesystem::exists(data.models() + "/" + name + ".model"));
    return result.message;
  };
  const std::string small = data.write("small.model", model_text(3, Alphabet::methylation));
  CHECK(says(refused("r10-5mc", small), "has 3-mers, and models of the pore r10 have 9-mers"));
  CHECK(says(refused("r10-5mc", data.write("nucleotide.model", model_text(3, Alphabet::nucleotide))), "61 of the 125 3-mers"));
  CHECK(says(refused("r10-5mc", data.write("rubbish", "rubbish")), "rubbish':1: "));
  CHECK(says(refused("r10-5mc", data.write("empty", "")), "is empty"));
  CHECK(says(refused("r10-5mc", data.models() + "/none"), "cannot be opened"));
  CHECK(says(refused("r9-5mc", small), "there is a built-in model 'r9-5mc'"));
  CHECK(says(refused("r10-6ma", small), "is no name of a model"));
  CHECK(store({{"action", "add"}, {"name", "r10-5mc"}}).status == SLUICE_ERROR_USAGE);
  CHECK(store({{"action", "remove"}}).status == SLUICE_ERROR_USAGE);
  CHECK(says(store({{"action", "remove"}, {"name", "r10-5mc"}}).message, "there is no model 'r10-5mc'"));
  CHECK(says(store({{"action", "remove"}, {"name", "r9"}}).message, "is built in"));
}

TEST_CASE("an added model is found, listed, replaced and removed") {
  const DataFolder data;
  const Result before = load({{"pore", "r10"}, {"alphabet", "methylation"}});
  CHECK(says(before.message, "no built-in methylation model"));
  const std::string text = model_text(9, Alphabet::methylation);
  const std::string packed = data.write("a.gz", "");
  gzFile file = gzopen(packed.c_str(), "wb1");
  gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
  gzclose(file);
  const std::string built_in = models_of(store({}));
  const Result added = store({{"action", "add"}, {"name", "r10-5mc"}, {"path", packed}});
  REQUIRE_MESSAGE(added.ok(), added.message);
  CHECK(says(models_of(added), "r10-5mc added\n"));
  CHECK(models_of(store({})) == models_of(added));
  const std::string kept = data.models() + "/r10-5mc.model";
  CHECK(std::filesystem::file_size(kept) == std::filesystem::file_size(packed));
  const auto r10 = BatchBuilder("signal_file", 0).attribute("chemistry", "dna_r10").build();
  const Result found = run_stage<KmerModelResource>().with({{"alphabet", "methylation"}}).resource("signal", r10).run();
  REQUIRE_MESSAGE(found.ok(), found.message);
  CHECK(found.batch().rows() == 1953125);
  CHECK(found.batch().view().attribute("source") == kept);
  // A second one takes its place; what else lies there is left alone and not listed.
  std::ofstream(data.models() + "/notes.txt") << "mine";
  std::ofstream(data.models() + "/other.model") << "mine";
  CHECK(store({{"action", "add"}, {"name", "r10-5mc"}, {"path", kept}}).ok());
  CHECK(models_of(store({})) == models_of(added));
  CHECK(models_of(store({{"action", "remove"}, {"name", "r10-5mc"}})) == built_in);
  CHECK_FALSE(std::filesystem::exists(kept));
  CHECK(std::filesystem::exists(data.models() + "/notes.txt"));
  // A folder that cannot be made.
  DataFolder::set(data.write("file", "no folder") + "/below");
  CHECK(store({{"action", "add"}, {"name", "r10-5mc"}, {"path", packed}}).status == SLUICE_ERROR_OUTPUT);
}

TEST_CASE("the stage keeps the stage contract") {
  const DataFolder data;
  CHECK(sluice::testing::contract_problems<ModelStore>() == std::vector<std::string>{});
  const TemporaryFolder folder;
  std::ofstream(folder.path() + "/a.model") << model_text(3, Alphabet::nucleotide);
  CHECK(sluice::testing::contract_problems<KmerModelResource>({.parameters = {{"path", folder.path() + "/a.model"}}}) == std::vector<std::string>{});
}

TEST_CASE("the shared models load, xz included") {
  if (shared.empty() || !std::filesystem::exists(shared + "/models")) {
    MESSAGE("skipped: ", shared, "/models is absent");
    return;
  }
  CHECK(load({{"path", shared + "/models/r9.4_450bps.cpg.6mer.template.model"}, {"alphabet", "methylation"}}).batch().view().rows() == 15625);
  CHECK(load({{"path", shared + "/models/r9.4_70bps.u_to_t_rna.5mer.template.model"}}).batch().view().rows() == 1024);
  const Result standin = load({{"path", shared + "/models/r10_standin.nucleotide.9mer.model.xz"}});
  REQUIRE(standin.ok());
  CHECK(standin.batch().view().rows() == 262144);
}
