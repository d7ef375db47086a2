// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <sluice/kmer_model.hpp>
#include <sluice/motif.hpp>
#include <sluice/resume.hpp>
#include <sluice/stage.hpp>
#include <string>
#include <vector>

#include "kmer_training/trainer.hpp"

namespace sluice::kmer_training {
namespace {

// Reads to k-mers: keeps events and bases of all reads, and trains when the last has come.
class KmerTraining {
 public:
  struct Parameters {
    std::string alphabet = "nucleotide";
    std::string motif = "cpg";
    std::int64_t rounds = 5;
    std::int64_t min_observations = 1;
    std::int64_t max_bases = 200'000'000;
    std::int64_t min_recalib_events = 200;
    double max_var = 2.5;
  };
  enum class Reason : std::uint32_t { no_events, read_too_short, beyond_max_bases };

  static void describe(Describe<KmerTraining>& d) {
    d.id("kmer_training").summary("trains a k-mer model from the events and bases of reads").regroup("read", "kmer").work_unit("base").sums();
    d.doc(
        "Each round aligns every read's events to its own bases (ABEA) by the model so far, scales the read to it, and takes the mean of what fell "
        "on "
        "a k-mer, without outliers, as an observation of its level. What is expected of a level before it is seen, a linear model with few "
        "parameters "
        "tells, which all k-mers teach together: for k-mers without M the error of the start's model by base and place; for those with M the shift "
        "from "
        "the unmodified k-mer, by the place of M, the neighbours of M, and what other bases change there. Each level is the mean of both, weighted "
        "by "
        "how sure they are: k-mers that were seen often have their own, all others the expected one. Spreads stay near that of the start. After each "
        "round a line through the levels brings them back to the units of the model that the training began with. In the methylation alphabet the "
        "bases "
        "hold M for 5-methylcytosine; k-mers with M before another letter than G are left as they are. `motif`: M is the modified base of another "
        "motif; "
        "k-mers where it can't be are left.\n\n"
        "Reads stay in memory until the end, about 30 bytes a base; those after max_bases are not used.");
    d.uses("model", "kmer", "the model to begin with");
    d.needs("read_id", "utf8", "name of the read")
        .needs("event_mean", "list<f32>", "pA")
        .needs("bases", "utf8", "the whole read; M: the modified base");
    d.gives("kmer", "utf8", "letters of the k-mer; rows come in rank order").gives("level_mean", "f32", "expected current of the k-mer, pA");
    d.gives("level_stdv", "f32", "its standard deviation, pA").gives("log_level_stdv", "f32", "natural logarithm of level_stdv");
    d.gives("observations", "i64", "visits of the k-mer in reads that the last round aligned");
    d.option("alphabet", &Parameters::alphabet, "letters of the model: A C G T, or with M for 5-methylcytosine")
        .choices({"nucleotide", "methylation"});
    d.option("motif", &Parameters::motif, "whose modified base M is: cpg, gpc, dam, dcm, or LETTERS:POSITION:CODE, for example GATC:1:a");
    d.option("rounds", &Parameters::rounds, "how often all reads are aligned").range(1, 100);
    d.option("min_observations", &Parameters::min_observations, "k-mers seen less often have the level that the others make expected").range(1, 1e9);
    d.option("max_bases", &Parameters::max_bases, "reads are used up to so many bases in all").range(1, 1e12).unit("bases");
    d.option("min_recalib_events", &Parameters::min_recalib_events, "least aligned k-mers of a read").range(1, 1e6);
    d.option("max_var", &Parameters::max_var, "reads whose events spread more than this are not used; raise it for a rough first model")
        .range(0, 1000);
    d.reason("no_events", "the read has no events");
    d.reason("read_too_short", "the read is shorter than one k-mer");
    d.reason("beyond_max_bases", "max_bases have been read");
  }

  static void check_parameters(const Parameters& p) {
    if (parse_motif(p.motif).name != "cpg" && p.alphabet != "methylation")
      throw Failure::usage("motif '" + p.motif + "' is for a model with modified bases, and alphabet = \"nucleotide\"",
                           "set alphabet = \"methylation\"");
  }

  KmerTraining(const Setup& setup, const Parameters& p)
      : rounds_(p.rounds),
        max_bases_(static_cast<std::uint64_t>(p.max_bases)),
        trainer_(start_levels(setup, p), parse_motif(p.motif), training_parameters(p)) {
    resume(setup, [&](StateReader& from) { restore(from, setup.saved().size() > 1 ? Parts::several : Parts::one); });
  }

  void process(const Call& call, const Batch& in, Output&) {
    const TextView ids = in.text("read_id"), bases = in.text("bases");
    const auto events = in.list<float>("event_mean");
    for (std::int64_t row = 0; row < in.rows(); ++row) {
      if (!in.ok(row)) continue;
      if (trainer_.bases() + bases[row].size() > max_bases_) {
        call.account(Reason::beyond_max_bases, 1, std::string(ids[row]));
        is_full_ = true;
        continue;
      }
      const AddStatus status = trainer_.add(events[row], bases[row]);
      if (status == AddStatus::no_events) call.account(Reason::no_events, 1, std::string(ids[row]));
      if (status == AddStatus::read_too_short) call.account(Reason::read_too_short, 1, std::string(ids[row]));
      reads_ += status == AddStatus::added ? 1 : 0;
    }
    call.keeps(trainer_.memory_bytes());
  }

  void finish(const Call& call, Output& out) {
    const Trainer::Parallel parallel = [&call](std::size_t count, const std::function<void(std::size_t, std::size_t)>& body) {
      call.parallel_for(count, 1, body);
    };
    Round last;
    for (std::int64_t round = 0; round < rounds_; ++round) {
      last = trainer_.run_round(parallel);
      call.keeps(trainer_.memory_bytes());
    }
    if (reads_ > 0 && last.aligned_reads * 2 < reads_)
      call.warn("only " + std::to_string(last.aligned_reads) + " of " + std::to_string(reads_) +
                " reads could be aligned by the trained model: is the first model one of this pore, and are these the bases of these reads?");
    say_how_much_was_seen(call, last);
    call.count("reads aligned in the last round", static_cast<double>(last.aligned_reads));
    call.count("k-mers trained", static_cast<double>(last.trained_kmers));
    call.count("k-mers with M trained", static_cast<double>(last.trained_modified_kmers));
    call.count("mean change of the last round, pA", last.mean_change);
    give(out);
  }
  void save(const Call&, StateWriter& to) const {
    to.value(reads_);
    to.value(std::uint8_t{is_full_});
    trainer_.save(to);
  }

 private:
  enum class Parts : std::uint8_t { one, several };
  // Which reads are beyond max_bases depends on all that came before.
  void restore(StateReader& from, Parts parts) {
    reads_ += from.value<std::uint64_t>();
    is_full_ = from.value<std::uint8_t>() != 0;
    trainer_.restore(from, [&](Trainer::SavedRead&& read) {
      if (trainer_.bases() + read.bases > max_bases_) is_full_ = true;
      trainer_.add(std::move(read));
    });
    if (is_full_ && parts == Parts::several)
      throw Failure::usage("the parts of the reads have more than max_bases, and which are left out depends on all of them together",
                           "raise max_bases for all parts, or use fewer reads");
  }
  void say_how_much_was_seen(const Call& call, const Round& last) const {
    const auto share = [](std::uint64_t trained, std::uint64_t all) { return std::to_string(trained) + " of " + std::to_string(all); };
    const std::uint64_t modified = trainer_.modified_kmers();
    std::string text = "k-mers that were seen: " + share(last.trained_kmers - last.trained_modified_kmers, trainer_.kmers() - modified);
    if (modified > 0) text += " without M, " + share(last.trained_modified_kmers, modified) + " with M";
    call.info(text + "; the others have the level that these make expected");
    if (modified > 0 && last.trained_modified_kmers == 0)
      call.warn("no k-mer with M was seen, so that M is what it was in the first model: are the modified bases M in the bases of the reads?");
  }
  static Levels start_levels(const Setup& setup, const Parameters& p) {
    const KmerModelView model = kmer_model_view(setup.resource("model"));
    Levels levels = levels_in(p.alphabet == "methylation" ? Alphabet::methylation : Alphabet::nucleotide, model, parse_motif(p.motif).base);
    if (levels.k == 0)
      throw Failure::usage("the model to begin with is a methylation model, and alphabet = \"nucleotide\"",
                           "give a nucleotide model, or set alphabet");
    return levels;
  }
  static TrainingParameters training_parameters(const Parameters& p) {
    TrainingParameters parameters;
    parameters.min_observations = static_cast<std::uint32_t>(p.min_observations);
    parameters.recalibration.min_recalibration_events = static_cast<std::uint32_t>(p.min_recalib_events);
    parameters.recalibration.max_var = static_cast<float>(p.max_var);
    return parameters;
  }

  void give(Output& out) const {
    const Levels& levels = trainer_.levels();
    const std::size_t count = levels.mean.size();
    out.set_rows(static_cast<std::int64_t>(count));
    const Buffer ends = out.offsets([&](std::int64_t) { return std::size_t{levels.k}; });
    char* letters = out.text("kmer", ends).data();
    const auto mean = out.column<float>("level_mean"), stdv = out.column<float>("level_stdv"), log_stdv = out.column<float>("log_level_stdv");
    const auto observations = out.column<std::int64_t>("observations");
    for (std::size_t rank = 0; rank < count; ++rank) {
      const std::string kmer = spell(rank, levels.alphabet, levels.k);
      letters = std::copy(kmer.begin(), kmer.end(), letters);
      mean[rank] = levels.mean[rank];
      stdv[rank] = levels.stdv[rank];
      log_stdv[rank] = levels.log_stdv[rank];
      observations[rank] = trainer_.observations()[rank];
    }
    out.emit();
  }

  std::int64_t rounds_;
  std::uint64_t max_bases_;
  Trainer trainer_;
  std::uint64_t reads_ = 0;
  bool is_full_ = false;  // a read was left out
};

// Sink: a k-mer model as text that nanopolish, f5c and the stage kmer_model read.
class KmerModelWriter {
 public:
  struct Parameters {
    Path output;
    std::string name = "trained";
    std::string kit = "unknown";
    std::string motif = "cpg";
  };
  static void describe(Describe<KmerModelWriter>& d) {
    d.id("kmer_model_writer").summary("writes a k-mer model in the text format of nanopolish and f5c").sink("kmer").work_unit("row");
    d.doc(
        "Columns kmer, level_mean, level_stdv, sd_mean, sd_stdv and weight (the observations); sd_mean and sd_stdv are 1: no program named here uses "
        "them.");
    d.needs("kmer", "utf8", "letters of the k-mer").needs("level_mean", "f32", "pA").needs("level_stdv", "f32", "pA");
    d.needs("observations", "i64", "visits of the k-mer");
    d.option("output", &Parameters::output, "where to write the model; - is standard output").required().writes();
    d.option("name", &Parameters::name, "name of the model, for its head");
    d.option("kit", &Parameters::kit, "kit of the reads, for its head");
    d.option("motif", &Parameters::motif, "whose modified base M is; its head says so (#alphabet) unless it is cpg");
  }
  static void check_parameters(const Parameters& p) { parse_motif(p.motif); }

  KmerModelWriter(const Setup& setup, const Parameters& p) : parameters_(p), file_(setup, p.output) {
    for (const std::string* text : {&p.name, &p.kit})
      if (text->empty() || text->find_first_of(" \t\r\n") != std::string::npos)
        throw Failure::usage("'" + *text + "': name and kit are words of a model's head, without blanks", "use for example trained_r9");
    resume(setup, [this](StateReader& from) { head_written_ = from.value<std::uint8_t>() != 0; });
  }

  void commit(const Call& call, const Batch& in) {
    const TextView kmers = in.text("kmer");
    const auto mean = in.column<float>("level_mean"), stdv = in.column<float>("level_stdv");
    const auto observations = in.column<std::int64_t>("observations");
    std::string text;
    for (std::int64_t row = 0; row < in.rows(); ++row) {
      if (!in.ok(row)) continue;
      if (!head_written_) text += head(kmers[row].size());
      head_written_ = true;
      const auto at = static_cast<std::size_t>(row);
      char numbers[128];
      const int length = std::snprintf(numbers, sizeof numbers, "\t%.6f\t%.6f\t1.0\t1.0\t%lld\n", static_cast<double>(mean[at]),
                                       static_cast<double>(stdv[at]), static_cast<long long>(observations[at]));
      text.append(kmers[row]).append(numbers, static_cast<std::size_t>(length));
    }
    file_.write(text);
    call.count("k-mers written", static_cast<double>(in.rows()));
  }
  void finish(const Call&, Output&) { file_.close(); }
  void save(const Call&, StateWriter& to) const { to.value(std::uint8_t{head_written_}); }

 private:
  std::string head(std::size_t k) const {
    return "#ont_model_name\t" + parameters_.name + "\n#kit\t" + parameters_.kit + "\n#strand\ttemplate\n#k\t" + std::to_string(k) +
           (parameters_.motif == "cpg" ? "" : "\n#alphabet\t" + parameters_.motif) + "\nkmer\tlevel_mean\tlevel_stdv\tsd_mean\tsd_stdv\tweight\n";
  }

  Parameters parameters_;
  OutputFile file_;
  bool head_written_ = false;
};

}  // namespace
}  // namespace sluice::kmer_training

SLUICE_PLUGIN("kmer_training", "0.1.0", "MIT", sluice::kmer_training::KmerTraining, sluice::kmer_training::KmerModelWriter);
