// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <sluice/kmer_model.hpp>
#include <sluice/motif.hpp>
#include <sluice/numbered_rows.hpp>
#include <sluice/sequencing_run.hpp>
#include <sluice/stage.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "simulate_signal/basecaller_tags.hpp"
#include "simulate_signal/reference_repeats.hpp"
#include "simulate_signal/sequencing_plan.hpp"
#include "simulate_signal/simulate_read.hpp"
#include "simulate_signal/simulated_run.hpp"

namespace sluice::simulate_signal {
namespace {

KmerModelView model_view(const Batch& batch, Alphabet alphabet, const char* slot) {
  const KmerModelView view = kmer_model_view(batch);
  if (view.alphabet != alphabet) {
    const std::string name = alphabet == Alphabet::nucleotide ? "nucleotide" : "methylation";
    throw Failure::usage("the resource in slot '" + std::string(slot) + "' is no " + name + " k-mer model",
                         "give a model of the alphabet '" + name + "'");
  }
  return view;
}

class SimulateSignal {
 public:
  struct Parameters : SimulationParameters {
    std::int64_t reads = 1000;
    std::int64_t seed_number = 1;
    std::string length_distribution_name = "gamma";
    std::string strands_name = "auto";
    std::string molecule_name = "auto";
    std::string motif_name = "cpg";
    bool moves = false, poly_a = false;
    std::int32_t move_stride = 0;
    double split_share = 0;
  };

  static void describe(Describe<SimulateSignal>& d) {
    d.id("simulate_signal")
        .source("read")
        .rows_named_by("read_id")
        .positions()
        .parts()
        .summary("makes reads with signal, bases with errors, truth alignment and methylation truth from a reference and a k-mer model")
        .doc(
            "A read is a stretch of the reference on either strand. Each of its k-mers stays for minimum_dwell plus a gamma-distributed number of "
            "samples at the "
            "level of the model, with Gaussian noise; k-mers that hold a methylated CpG (or another motif's modified base) take their level from the "
            "methylation model. The bases are "
            "those of the "
            "stretch with substitutions, insertions and deletions. Reads come in the order of their positions. All numbers are a function of the "
            "seed and the "
            "number of the read: the output does not depend on threads or batches. With split_share some reads of the sequencer hold two molecules, "
            "as reads "
            "that a basecaller splits: the row of one of them has the signal of both, with the name that signal_read_id says, the row of the other "
            "none.")
        .work_unit("base");
    d.uses("reference", "contig", "where the molecules come from")
        .uses("model", "kmer", "levels of canonical k-mers")
        .uses("methylation_model", "kmer",
              "levels of k-mers with a modified base (M); without it, or without rows in it, no site is methylated and no truth is made",
              Needed::optional)
        .uses("run", "sequencing_run", "what the run was: for tags and run_id", Needed::optional);
    d.option("reads", &Parameters::reads, "number of reads; 80 bytes of memory each").range(0, 1e7);
    d.option("seed", &Parameters::seed_number, "what all random numbers depend on");
    d.option("length_distribution", &Parameters::length_distribution_name, "shape of the read lengths").choices({"gamma", "lognormal", "fixed"});
    d.option<double>("mean_length", &Parameters::mean_length, "mean read length").range(50, 1e8).unit("bases");
    d.option<double>("length_variation", &Parameters::length_variation, "standard deviation of the read lengths over their mean").range(0.01, 1);
    d.option<std::int64_t>("minimum_length", &Parameters::minimum_length, "shorter reads are made this long; shorter contigs get no reads")
        .range(50, 1e8)
        .unit("bases");
    d.option("strands", &Parameters::strands_name, "strands that the reads come from; auto: both of DNA, the forward one (a transcript) of RNA")
        .choices({"auto", "both", "forward", "reverse"});
    d.option("molecule", &Parameters::molecule_name, "RNA passes the pore with its 3' end first; auto: as the model's pore says")
        .choices({"auto", "dna", "rna"});
    d.option<double>("error_rate", &Parameters::error_rate, "errors of the basecaller per base").range(0, 0.5);
    d.option<double>("substitution_share", &Parameters::substitution_share, "share of the errors that are substitutions").range(0, 1);
    d.option<double>("insertion_share", &Parameters::insertion_share, "share of the errors that are insertions; the rest are deletions").range(0, 1);
    d.option<bool>("modified_bases", &Parameters::modified_bases,
                   "write a modified base as M, for kmer_training; else as the base, as basecallers do");
    d.option("motif", &Parameters::motif_name, "whose modified base is in some molecules: cpg, gpc, dam, dcm, or LETTERS:POSITION:CODE");
    d.option<double>("mean_dwell", &Parameters::mean_dwell,
                     "mean time of a k-mer in the pore; 0: R9 450 bases/s, R10 400, RNA004 130, R9 RNA 70, at the sampling rate, whole samples")
        .range(0, 10000)
        .unit("samples");
    d.option<double>("dwell_shape", &Parameters::dwell_shape, "shape of the gamma distribution above the minimum dwell").range(1, 1000);
    d.option<std::int32_t>("minimum_dwell", &Parameters::minimum_dwell, "shortest time of a k-mer in the pore").range(1, 1000).unit("samples");
    d.option<std::string>("adapter", &Parameters::adapter,
                          "bases that pass the pore before the molecule, in that order, at most 10,000: in the signal only, not in the bases");
    d.option<double>("adapter_level", &Parameters::adapter_level,
                     "mean level of the adapter of RNA, which is DNA: 64 in RNA004; 0: as if it were RNA")
        .range(0, 1000)
        .unit("pA");
    d.option<double>("missing_adapters", &Parameters::missing_adapters, "share of reads without the adapter").range(0, 1);
    d.option<double>(
         "tail_length", &Parameters::tail_length,
         "mean length of the poly(A) tail of RNA, between adapter and molecule, in the signal only; 0: none; its standard deviation is half of it")
        .range(0, 10000)
        .unit("bases");
    d.option<double>("noise", &Parameters::noise, "noise of every sample, in the k-mer's level_stdv").range(0, 100);
    d.option<double>("level_noise", &Parameters::level_noise, "noise of the level at each visit of a k-mer, in the k-mer's level_stdv").range(0, 100);
    d.option<double>("scale_jitter", &Parameters::scale_jitter, "standard deviation of a read's scale around 1").range(0, 0.2);
    d.option<double>("shift_jitter", &Parameters::shift_jitter, "standard deviation of a read's shift around 0").range(0, 1000).unit("pA");
    d.option<double>("drift_jitter", &Parameters::drift_jitter, "standard deviation of a read's drift around 0").range(0, 1000).unit("pA/s");
    d.option<double>("methylated_sites", &Parameters::methylated_sites,
                     "share of sites (CpGs, or those of the motif) that are methylated in some molecules")
        .range(0, 1);
    d.option<double>("frequency_alpha", &Parameters::frequency_alpha, "alpha of the beta distribution of those sites' frequencies").range(0.01, 1000);
    d.option<double>("frequency_beta", &Parameters::frequency_beta, "beta of the beta distribution of those sites' frequencies").range(0.01, 1000);
    d.option<double>("sampling_rate", &Parameters::sampling_rate, "samples per second; 0: that of `run`, 4,000 without it").range(0, 1e6).unit("Hz");
    d.option<double>("digitisation", &Parameters::digitisation, "steps of the analogue-to-digital converter").range(1, 1e9);
    d.option<double>("range", &Parameters::range, "current over all steps of the converter").range(1e-3, 1e9).unit("pA");
    d.option<double>("offset", &Parameters::offset, "what is added to a raw value before it is scaled to pA").range(-30000, 30000);
    d.option("moves", &Parameters::moves, "tag mv: in which block of the signal each base begins");
    d.option("move_stride", &Parameters::move_stride, "samples a block of moves; 0: 6 for RNA and at 5 kHz, else 5").range(0, 127).unit("samples");
    d.option("poly_a", &Parameters::poly_a, "tags pt and pa: length and place of the true poly(A) tail");
    d.option("split_share", &Parameters::split_share, "share of molecules that share a read of the sequencer with another one").range(0, 1);

    d.gives("read_id", "utf8", "in the form of a UUID; ends with the read's number")
        .gives("contig", "utf8", "reference name")
        .gives("ref_start", "i64", "first base on the reference, 0-based")
        .gives("ref_end", "i64", "one past the last base on the reference")
        .gives("is_reverse", "u8", "1: the read is of the reverse strand")
        .gives("flag", "u16", "SAM flag: 0 or 16")
        .gives("mapq", "u8", "60")
        .gives("cigar", "list<u32>", "true alignment of the bases: M, I, D in BAM encoding, in reference orientation")
        .gives("record_index", "i64", "ordinal in the output order")
        .gives("bases", "utf8", "with errors, in sequencing orientation")
        .row_length("bases", "base")
        .gives("qualities", "utf8", "Phred + 33, in sequencing orientation")
        .gives("tags", "binary", "what a basecaller says of the read, as in BAM; empty without `run`", Needed::optional)
        .gives("raw_signal", "list<i16>", "digitised current; of a read of two molecules in the row of one", Needed::optional)
        .gives("signal_read_id", "utf8", "name of the read that raw_signal is of; empty: it is in another row", Needed::optional)
        .gives("sequencer_channel", "i32", "channel of the flow cell, from 1")
        .gives("mux", "i32", "well of the channel, from 1")
        .gives("start_sample", "i64", "first sample of the sequencer's read since the run began")
        .gives("read_number", "i64", "number of the sequencer's read on its channel")
        .gives("run_id", "utf8", "sequencing run, empty without `run`")
        .gives("end_reason", "utf8", "why the read ended")
        .gives("digitisation", "f64", "steps of the converter")
        .gives("range", "f64", "pA over all steps")
        .gives("offset", "f64", "pA = (raw + offset) * range / digitisation")
        .gives("sampling_rate", "f64", "Hz")
        .gives("truth_site", "list<i64>",
               "sites of the molecule: CpGs by the forward strand's C, others by their first base there, 0-based, ascending")
        .gives("truth_methylated", "list<u8>", "per truth_site: 1 if this molecule's is methylated")
        .gives("truth_frequency", "list<f32>", "per truth_site: share of all molecules in which it is");
  }

  static void check_parameters(const Parameters& parameters) {
    parse_motif(parameters.motif_name);
    // Whether the molecule is RNA may be known from the model only.
    SimulationParameters checked = parameters;
    checked.molecule = parameters.molecule_name == "dna" ? Molecule::dna : Molecule::rna;
    if (checked.sampling_rate == 0) checked.sampling_rate = 4000;
    if (checked.mean_dwell == 0) checked.mean_dwell = checked.minimum_dwell + 1;
    if (const std::string problem = problem_with(checked); !problem.empty()) throw Failure::usage(problem, "see `sluice inspect simulate_signal`");
  }

  SimulateSignal(const Setup& setup, const Parameters& parameters)
      : parameters_(parameters),
        wants_tags_(setup.wanted("tags")),
        // Where the bases lie in the signal is known when it is made.
        signal_(setup.wanted("raw_signal") || (wants_tags_ && setup.has_resource("run")) ? Simulator::Signal::make : Simulator::Signal::leave_out),
        wants_signal_(setup.wanted("raw_signal")),
        wants_signal_read_id_(setup.wanted("signal_read_id")) {
    parameters_.seed = static_cast<std::uint64_t>(parameters.seed_number);
    parameters_.motif = parse_motif(parameters.motif_name);
    parameters_.length_distribution = parameters.length_distribution_name == "gamma"       ? LengthDistribution::gamma
                                      : parameters.length_distribution_name == "lognormal" ? LengthDistribution::lognormal
                                                                                           : LengthDistribution::fixed;
    const bool is_rna =
        parameters.molecule_name == "rna" || (parameters.molecule_name == "auto" && setup.resource("model").attribute("pore").starts_with("rna"));
    parameters_.molecule = is_rna ? Molecule::rna : Molecule::dna;
    if (setup.has_resource("run")) run_.emplace(setup.resource("run"));
    if (parameters_.sampling_rate == 0) parameters_.sampling_rate = run_ ? run_->sampling_rate : 4000;
    if (parameters_.mean_dwell == 0)
      parameters_.mean_dwell = std::round(parameters_.sampling_rate / bases_per_second(setup.resource("model").attribute("pore")));
    if (const std::string problem = problem_with(parameters_); !problem.empty())
      throw Failure::usage(problem, "see `sluice inspect simulate_signal`");
    parameters_.strands = parameters.strands_name == "forward"          ? Strands::forward
                          : parameters.strands_name == "reverse"        ? Strands::reverse
                          : parameters.strands_name == "auto" && is_rna ? Strands::forward
                                                                        : Strands::both;

    const Batch reference = setup.resource("reference");
    const TextView names = reference.text("name"), bases = reference.text("bases");
    for (std::int64_t row = 0; row < reference.rows(); ++row) contigs_.push_back({names[row], bases[row]});

    const KmerModelView nucleotide = model_view(setup.resource("model"), Alphabet::nucleotide, "model");
    std::optional<KmerModelView> methylation;
    if (setup.has_resource("methylation_model") && setup.resource("methylation_model").rows() > 0) {
      methylation = model_view(setup.resource("methylation_model"), Alphabet::methylation, "methylation_model");
      require_model_of(parameters_.motif, setup.resource("methylation_model").attribute("motif"));
      if (methylation->k != nucleotide.k)
        throw Failure::usage(
            "the methylation model has k = " + std::to_string(methylation->k) + ", the nucleotide model " + std::to_string(nucleotide.k),
            "give two models of one pore");
    }
    k_ = nucleotide.k;
    if (run_) prepare_tags();
    simulator_ = std::make_unique<Simulator>(parameters_, contigs_, nucleotide, methylation ? &*methylation : nullptr);
    if (parameters_.reads > 0) {
      places_ = simulator_->place_reads(parameters_.reads);
      if (places_.empty())
        throw Failure::usage("no contig of the reference has " + std::to_string(parameters_.minimum_length) + " bases that are not N",
                             "lower minimum_length or give another reference");
      if (std::ssize(places_) < parameters_.reads)
        setup.warn("only " + std::to_string(places_.size()) + " reads are made: almost all of the reference is N");
    }
    plan_ = plan_sequencing(parameters_, places_, parameters_.split_share);
    rows_ = NumberedRows(setup, places_.size());
  }
  std::string position() const { return rows_.position(); }

  bool process(const Call& call, Output& out) {
    // A batch is at least one read; further ones while the work and the bytes (a base's signal, text and truth) stay below the target.
    const double bytes_per_base = signal_ == Simulator::Signal::make ? 4 + 2 * parameters_.mean_dwell : 4;
    std::size_t count = 0;
    double work = 0;
    while (rows_.next + count < rows_.end) {
      const auto bases = static_cast<double>(places_[rows_.next + count].length);
      if (count > 0 && (work + bases > call.target_work() || (work + bases) * bytes_per_base > static_cast<double>(call.target_bytes()))) break;
      work += bases;
      ++count;
    }
    if (reads_.size() < count) reads_.resize(count);
    if (tags_.size() < count) tags_.resize(count);
    call.parallel_for(count, 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) make_row(rows_.next + i, reads_[i], tags_[i]);
    });
    write(count, out);
    out.set_work(work);
    rows_.next += count;
    return !rows_.is_empty();
  }

 private:
  // As ONT names its chemistries.
  static double bases_per_second(std::string_view pore) { return pore == "r10" ? 400 : pore == "rna004" ? 130 : pore == "rna_r9" ? 70 : 450; }
  void prepare_tags() {
    tagging_.moves = parameters_.moves;
    tagging_.poly_a = parameters_.poly_a;
    const bool is_rna = parameters_.molecule == Molecule::rna, is_5_khz = parameters_.sampling_rate >= 4500;
    tagging_.stride = parameters_.move_stride != 0 ? parameters_.move_stride : is_rna || is_5_khz ? 6 : 5;
    // Models since 4.3 of R10.4.1 at 5 kHz, and all of generation 5.
    tagging_.is_scaled_in_pa =
        run_->basecall_model.find("@v5") != std::string_view::npos || run_->basecall_model.find("@v4.3") != std::string_view::npos;
    tagging_.split_start = split_start_of(run_->basecaller_version);
  }

  bool has_parents_signal(std::size_t row) const { return plan_[row].partner > static_cast<std::int64_t>(row); }

  // `tags` are empty if nobody wants them. Of reads of two molecules the row that stands first has the signal of both.
  void make_row(std::size_t row, Simulator::Read& read, std::string& tags) {
    const SequencedRead& sequenced = plan_[row];
    simulator_->simulate(places_[row], signal_, read);
    tags.clear();
    if (sequenced.partner < 0) {
      if (wants_tags_ && run_) tags = basecaller_tags({&read, places_[row], sequenced, {}, 0}, *run_, tagging_, parameters_.molecule, k_);
      return;
    }
    if (signal_ == Simulator::Signal::leave_out) return;
    const auto other = static_cast<std::size_t>(sequenced.partner);
    auto partner = partners_.take();
    const bool needs_partner = has_parents_signal(row) || !sequenced.is_first;
    if (needs_partner) simulator_->simulate(places_[other], signal_, *partner);
    const auto [lead, gap] = gaps_of(std::min(row, other));
    const std::int64_t start = std::ssize(lead) + (sequenced.is_first ? 0 : std::ssize(partner->raw_signal) + std::ssize(gap));
    if (wants_tags_ && run_)
      tags = basecaller_tags({&read, places_[row], sequenced, parent_id(parameters_.seed, places_[std::min(row, other)].index), start}, *run_,
                             tagging_, parameters_.molecule, k_);
    if (!has_parents_signal(row)) return read.raw_signal.clear();
    const Simulator::Read &first = sequenced.is_first ? read : *partner, &second = sequenced.is_first ? *partner : read;
    std::vector<std::int16_t> both = lead;
    for (const std::vector<std::int16_t>* part : {&first.raw_signal, &gap, &second.raw_signal}) both.insert(both.end(), part->begin(), part->end());
    read.raw_signal = std::move(both);
  }
  // Open pore before and between the molecules of the pair whose first row is `row`.
  std::pair<std::vector<std::int16_t>, std::vector<std::int16_t>> gaps_of(std::size_t row) const {
    constexpr double open_pore = 210, spread = 4;  // pA
    RandomStream random(parameters_.seed, static_cast<std::uint64_t>(places_[row].index), Purpose::open_pore);
    const auto make = [&](std::int64_t samples) {
      std::vector<std::int16_t> made(static_cast<std::size_t>(samples));
      for (std::int16_t& sample : made) {
        const double picoamps = open_pore + spread * 2 * (random.uniform() + random.uniform() - 1);
        sample =
            static_cast<std::int16_t>(std::clamp(picoamps * parameters_.digitisation / parameters_.range - parameters_.offset, -32768.0, 32767.0));
      }
      return made;
    };
    const std::int64_t lead = parameters_.molecule == Molecule::rna ? 0 : trimmed_front;
    auto first = make(lead);
    return {std::move(first), make(20 + static_cast<std::int64_t>(random.below(180)))};
  }

  void write(std::size_t count, Output& out) const {
    out.set_rows(static_cast<std::int64_t>(count));
    std::vector<std::string> ids(count);
    for (std::size_t i = 0; i < count; ++i) ids[i] = Simulator::read_id(parameters_.seed, places_[rows_.next + i].index);
    out.text_rows("read_id", ids);
    const auto starts = out.column<std::int64_t>("ref_start"), ends = out.column<std::int64_t>("ref_end"),
               indices = out.column<std::int64_t>("record_index");
    const auto reverse = out.column<std::uint8_t>("is_reverse"), mapq = out.column<std::uint8_t>("mapq");
    const auto flags = out.column<std::uint16_t>("flag");
    const auto digitisation = out.column<double>("digitisation"), range = out.column<double>("range"), offset = out.column<double>("offset"),
               rate = out.column<double>("sampling_rate");
    std::vector<std::string_view> contigs(count), bases(count), qualities(count), end_reasons(count), runs(count, run_ ? run_->run_id : "");
    std::vector<std::string> signal_ids(count);
    const auto channels = out.column<std::int32_t>("sequencer_channel"), muxes = out.column<std::int32_t>("mux");
    const auto start_samples = out.column<std::int64_t>("start_sample"), numbers = out.column<std::int64_t>("read_number");
    for (std::size_t i = 0; i < count; ++i) {
      const Placement& place = places_[rows_.next + i];
      contigs[i] = contigs_[static_cast<std::size_t>(place.contig)].name;
      bases[i] = reads_[i].bases;
      qualities[i] = reads_[i].qualities;
      starts[i] = place.start;
      ends[i] = place.start + place.length;
      indices[i] = static_cast<std::int64_t>(rows_.next + i);
      reverse[i] = place.is_reverse ? 1 : 0;
      flags[i] = place.is_reverse ? 16 : 0;
      mapq[i] = 60;
      digitisation[i] = parameters_.digitisation;
      range[i] = parameters_.range;
      offset[i] = parameters_.offset;
      rate[i] = parameters_.sampling_rate;
      const SequencedRead& sequenced = plan_[rows_.next + i];
      channels[i] = sequenced.channel;
      muxes[i] = sequenced.mux;
      start_samples[i] = sequenced.start_sample;
      numbers[i] = sequenced.read_number;
      end_reasons[i] = end_reason(parameters_.seed, place.index);
      if (sequenced.partner < 0)
        signal_ids[i] = ids[i];
      else if (has_parents_signal(rows_.next + i))
        signal_ids[i] = parent_id(parameters_.seed, place.index);
    }
    out.text_rows("end_reason", end_reasons);
    out.text_rows("run_id", runs);
    if (wants_signal_read_id_) out.text_rows("signal_read_id", signal_ids);
    if (wants_tags_) out.text_rows("tags", std::span(tags_).first(count), "binary");
    out.text_rows("contig", contigs);
    out.text_rows("bases", bases);
    out.text_rows("qualities", qualities);
    lists<std::uint32_t>(count, out, "cigar", &Simulator::Read::cigar);
    if (wants_signal_) lists<std::int16_t>(count, out, "raw_signal", &Simulator::Read::raw_signal);
    lists<std::int64_t>(count, out, "truth_site", &Simulator::Read::sites);
    lists<std::uint8_t>(count, out, "truth_methylated", &Simulator::Read::methylated);
    lists<float>(count, out, "truth_frequency", &Simulator::Read::frequencies);
  }
  template <class T>
  void lists(std::size_t count, Output& out, const char* name, std::vector<T> Simulator::Read::*member) const {
    const Buffer ends = out.offsets([&](std::int64_t row) { return (reads_[static_cast<std::size_t>(row)].*member).size(); });
    const std::span<T> values = out.list<T>(name, ends);
    std::size_t at = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const std::vector<T>& row = reads_[i].*member;
      std::copy(row.begin(), row.end(), values.begin() + static_cast<std::ptrdiff_t>(at));
      at += row.size();
    }
  }

  Parameters parameters_;
  bool wants_tags_;
  Simulator::Signal signal_;
  bool wants_signal_, wants_signal_read_id_;
  std::vector<Contig> contigs_;
  std::unique_ptr<Simulator> simulator_;
  std::uint32_t k_ = 0;
  std::optional<SequencingRun> run_;
  TagParameters tagging_;
  std::vector<Placement> places_;
  std::vector<SequencedRead> plan_;  // one a place
  Workspaces<Simulator::Read> partners_;
  std::vector<std::string> tags_;
  std::vector<Simulator::Read> reads_;  // one a row of a batch, kept for its memory
  NumberedRows rows_;                   // places that are to be made
};

constexpr std::int64_t most_repeat_bases = 100'000'000;

class SyntheticReference {
 public:
  struct Parameters {
    std::int64_t contigs = 1;
    std::int64_t length = 48502;
    std::int64_t seed = 1;
    double gc_content = 0.5;
    double cpg_ratio = 1.0;
    double repeats = 0;
    std::int64_t repeat_families = 20;
    std::string repeat_length = "300..6000";
    double repeat_divergence = 0.05;
    double tandem_repeats = 0;
    std::string tandem_unit_length = "171";
    double tandem_divergence = 0.02;
  };

  static void describe(Describe<SyntheticReference>& d) {
    d.id("synthetic_reference")
        .source("contig")
        .positions()
        .parts()
        .summary("makes random contigs, so that a demo needs no genome")
        .doc(
            "Every base depends on the one before only through the frequency of CpG; repeats are then written over them where chance puts them, and "
            "may "
            "cover each other. The same bases for the same parameters, everywhere.")
        .work_unit("base");
    d.option("contigs", &Parameters::contigs, "number of contigs, named synthetic_1, synthetic_2, ...").range(1, 1e6);
    d.option("length", &Parameters::length, "length of each contig").range(1, 1e8).unit("bases");
    d.option("seed", &Parameters::seed, "what the bases depend on");
    d.option("gc_content", &Parameters::gc_content, "share of G and C").range(0.05, 0.95);
    d.option("cpg_ratio", &Parameters::cpg_ratio, "CpGs over those expected from independent bases: 1 as in lambda phage, 0.2 as in the human genome")
        .range(0, 1.9);
    d.option("repeats", &Parameters::repeats, "bases of copies of repeat families, over the contig's").range(0, 0.95);
    d.option("repeat_families", &Parameters::repeat_families, "how many families there are, which all contigs share").range(1, 100000);
    d.option("repeat_length", &Parameters::repeat_length, "bases of a family, as 300..6000; half of its copies have lost their beginning");
    d.option("repeat_divergence", &Parameters::repeat_divergence, "differences of a copy from its family, per base").range(0, 0.5);
    d.option("tandem_repeats", &Parameters::tandem_repeats, "bases of arrays of 500 to 30,000 bases of a unit, over the contig's").range(0, 0.95);
    d.option("tandem_unit_length", &Parameters::tandem_unit_length, "bases of an array's unit, as 2..171");
    d.option("tandem_divergence", &Parameters::tandem_divergence, "differences of a unit's copy from the unit, per base").range(0, 0.5);
    d.gives("name", "utf8", "contig name").gives("bases", "utf8", "A, C, G, T").row_length("bases", "base");
  }

  static void check_parameters(const Parameters& p) {
    for (const std::string* text : {&p.repeat_length, &p.tandem_unit_length})
      if (!parse_length_range(*text))
        throw Failure::usage("'" + *text + "' is no range of lengths", "give two numbers from 1 to 1000000, as 300..6000, or one");
    if (p.repeats > 0 && p.repeat_families * parse_length_range(p.repeat_length)->most > most_repeat_bases)
      throw Failure::usage("the repeat families may have more than 100 Mbases", "give fewer repeat_families, or a smaller repeat_length");
  }

  SyntheticReference(const Setup& setup, const Parameters& p) : parameters_(p), rows_(setup, static_cast<std::uint64_t>(p.contigs)) {
    RepeatParameters repeats;
    repeats.interspersed = p.repeats;
    repeats.families = p.repeat_families;
    repeats.family_length = *parse_length_range(p.repeat_length);
    repeats.divergence = p.repeat_divergence;
    repeats.tandem = p.tandem_repeats;
    repeats.unit_length = *parse_length_range(p.tandem_unit_length);
    repeats.unit_divergence = p.tandem_divergence;
    repeats.gc_content = p.gc_content;
    repeats.cpg_ratio = p.cpg_ratio;
    repeats_ = Repeats(static_cast<std::uint64_t>(p.seed), repeats);
  }

  std::string position() const { return rows_.position(); }

  bool process(const Call& call, Output& out) {
    if (rows_.is_empty()) return out.set_rows(0), false;
    const double wanted = std::min(call.target_work(), static_cast<double>(call.target_bytes())) / static_cast<double>(parameters_.length);
    const auto rows = static_cast<std::size_t>(std::clamp(wanted, 1.0, static_cast<double>(rows_.end - rows_.next)));
    std::vector<std::string> names(rows), bases(rows);
    call.parallel_for(rows, 1 + least_part / static_cast<std::size_t>(parameters_.length), [&](std::size_t begin, std::size_t end) {
      for (std::size_t row = begin; row < end; ++row) {
        const std::uint64_t contig = rows_.next + row;
        names[row] = "synthetic_" + std::to_string(contig + 1);
        bases[row] = synthesize_contig(static_cast<std::uint64_t>(parameters_.seed), contig, parameters_.length, parameters_.gc_content,
                                       parameters_.cpg_ratio);
        repeats_.add_to(contig, bases[row]);
      }
    });
    out.set_rows(static_cast<std::int64_t>(rows));
    out.text_rows("name", names);
    out.text_rows("bases", bases);
    out.set_work(static_cast<double>(rows) * static_cast<double>(parameters_.length));
    rows_.next += rows;
    return !rows_.is_empty();
  }

 private:
  static constexpr std::size_t least_part = 10000;  // bases that a thread makes at a time: some 50 us
  Parameters parameters_;
  Repeats repeats_;
  NumberedRows rows_;
};

}  // namespace
}  // namespace sluice::simulate_signal

SLUICE_PLUGIN("simulate_signal", "0.1.0", "MIT", sluice::simulate_signal::SimulateSignal, sluice::simulate_signal::SyntheticReference,
              sluice::simulate_signal::SimulatedRun);
