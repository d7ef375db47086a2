// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <algorithm>
#include <sluice/input_text.hpp>
#include <sluice/motif.hpp>
#include <sluice/stage.hpp>

#include "kmer_model/builtin_models.hpp"
#include "kmer_model/model_file.hpp"
#include "kmer_model/model_store.hpp"
#include "kmer_model/model_text.hpp"
#include "kmer_model/shorter_kmers.hpp"
#include "kmer_model/synthetic_methylation.hpp"

namespace sluice::kmer_model {
namespace {

// A pore model from a file, or a built-in one for the pore of the signal.
class KmerModelResource {
 public:
  struct Parameters {
    std::optional<Path> path;
    std::string pore = "auto";
    std::string alphabet = "nucleotide";
    bool synthetic_methylation = false;
    std::string motif = "cpg";
    std::string if_missing = "fail";
    std::optional<std::int32_t> kmer_size;
  };
  static void describe(Describe<KmerModelResource>& d) {
    d.id("kmer_model").summary("loads a k-mer model: the expected current of every k-mer").resource("kmer");
    d.doc(
        "From `path`: the text format of nanopolish and f5c, plain, gzip or xz; every k-mer of the alphabet must be there once. Or C source of f5c, "
        "or a "
        "folder with a checkout of it: the array that it compiles in for the pore. Without `path`: the "
        "built-in model for the pore, which `auto` takes from the signal file's header, or where there is none the one that `sluice model add` has "
        "kept. One row per k-mer in rank order (first base most significant; A C G T, or A C G M T with "
        "M = 5-methylcytosine). "
        "Attributes: k, alphabet, name, source, pore (r9, r10, rna_r9, rna004; \"\" if neither `pore` nor the signal file says), motif (whose "
        "modified "
        "base M is: as the file's line `#alphabet` says, cpg for a built-in model; \"\" if nothing says).\n\n"
        "`synthetic_methylation` makes a methylation model from the nucleotide model (of `path`, or built-in) by made-up shifts: only for reads that "
        "simulate_signal made with "
        "the same model.");
    d.option("path", &Parameters::path, "model file; left out: the built-in model for the pore, or one that was added").reads();
    d.option("pore", &Parameters::pore, "pore and kit of the built-in model; auto: as the signal file says")
        .choices({"auto", "r9", "r10", "rna_r9", "rna004"});
    d.option("alphabet", &Parameters::alphabet, "nucleotide (A C G T) or methylation (A C G M T)").choices({"nucleotide", "methylation"});
    d.option("synthetic_methylation", &Parameters::synthetic_methylation, "make up a methylation model for simulated reads");
    d.option("motif", &Parameters::motif, "whose modified base is made up: cpg, gpc, dam, dcm, or LETTERS:POSITION:CODE");
    d.option("if_missing", &Parameters::if_missing,
             "where no model of the pore is built in or was added: fail, or give a model without rows and warn")
        .choices({"fail", "empty"});
    d.option("kmer_size", &Parameters::kmer_size,
             "make a nucleotide model of k-mers of so many bases of a longer one: means over the bases beside them; without it the model as it is")
        .range(1, max_k)
        .unit("bases");
    d.uses("signal", "signal_file", "the file whose header says the pore", Needed::optional);
    d.gives("level_mean", "f32", "expected current of the k-mer, pA");
    d.gives("level_stdv", "f32", "its standard deviation, pA");
    d.gives("log_level_stdv", "f32", "natural logarithm of level_stdv");
    d.work_unit("row");
  }

  static void check_parameters(const Parameters& p) {
    if (p.synthetic_methylation && p.alphabet != "methylation")
      throw Failure::usage("synthetic_methylation needs alphabet = \"methylation\"", "set alphabet, or leave synthetic_methylation out");
    if (!p.path || p.path->empty()) refuse_rna(p, p.pore);
    parse_motif(p.motif);
    if (p.kmer_size && p.alphabet != "nucleotide") throw Failure::usage("a methylation model of shorter k-mers can't be made", "leave kmer_size out");
  }

  KmerModelResource(const Setup& setup, const Parameters& p)
      : alphabet_(p.alphabet == "methylation" ? Alphabet::methylation : Alphabet::nucleotide),
        synthetic_(p.synthetic_methylation),
        motif_(parse_motif(p.motif)),
        pore_(p.pore),
        kmer_size_(static_cast<std::uint32_t>(p.kmer_size.value_or(0))) {
    const bool has_signal = setup.has_resource("signal");
    if (p.pore == "auto") {
      pore_ = has_signal ? pore_of(setup.resource("signal").attribute("chemistry")) : "";
      refuse_rna(p, pore_);
    } else if (has_signal && alphabet_ == Alphabet::nucleotide) {
      warn_of_another(setup);
    }
    if (p.path && !p.path->empty()) {
      path_ = *p.path;
      source_ = path_;
      return;
    }
    if (!has_signal && pore_.empty())
      throw Failure::usage("resource '" + std::string(setup.instance()) + "': pore = \"auto\" needs the resource 'signal'",
                           "set pore, give a model file, or add resources.signal (stage signal_file)");
    if (pore_.empty()) {
      const std::string doubt(setup.resource("signal").attribute("chemistry_doubt"));
      throw Failure::usage("there is no built-in model for the signal file's chemistry '" +
                               std::string(setup.resource("signal").attribute("chemistry")) + "'" + (doubt.empty() ? "" : "; the file " + doubt),
                           "give a model file: --model FILE, or another pore if the file's header is wrong: --pore");
    }
    if (p.pore == "auto" && alphabet_ == Alphabet::nucleotide) warn_of_doubt(setup);
    const Alphabet in_file = synthetic_ ? Alphabet::nucleotide : alphabet_;
    const std::string_view file = builtin_model_file(pore_, in_file);
    const ModelUse use{pore_, in_file};
    if (file.empty()) {
      path_ = find_added_model(use);
      source_ = path_;
      if (!path_.empty()) return;
      const std::string problem = "there is no built-in " + p.alphabet + " model for the pore '" + pore_ + "'";
      if (p.if_missing == "fail") throw Failure::usage(problem, remedy_for(use));
      setup.warn(problem + ", so that none is used; 'sluice model add " + use.name() + " FILE' keeps one");
      return;
    }
    path_ = find_builtin_model(std::string(file));
    if (path_.empty()) throw Failure::input("the built-in model '" + std::string(file) + "' is not installed (share/sluice/models)", remedy_for(use));
    source_ = "built-in " + std::string(file);
    is_built_in_ = true;
  }

  void process(const Call& call, Output& out) {
    if (path_.empty()) return give_none(out);
    auto [model, file, layout] = load_model(path_, {pore_, synthetic_ ? Alphabet::nucleotide : alphabet_});
    const char first = byte_of(file, 0);
    if (layout == ModelLayout::text && first != '\x1f' && first != '\xFD' && byte_of(file, -1) != '\n')
      call.warn(open_end_text("k-mer model '" + file + "'"));
    if (synthetic_) {
      model = synthesize(model, motif_);
      call.warn("the methylation model is synthetic (made up from '" + source_ + "'): calls on real reads mean nothing");
    }
    if (kmer_size_ > model.k)
      throw Failure::usage(
          "model '" + source_ + "' has " + std::to_string(model.k) + "-mers, and " + std::to_string(kmer_size_) + "-mers are asked for",
          "give --kmer-model-size " + std::to_string(model.k) + " or less, or leave it out");
    if (kmer_size_ > 0 && kmer_size_ < model.k) {
      std::uint32_t first = 0;
      model = shortened(model, kmer_size_, first);
      call.info("bases " + std::to_string(first + 1) + " to " + std::to_string(first + kmer_size_) + " of the k-mers of '" + source_ + "' are used");
    }
    if (const std::string_view own = pore_of_kit(model.kit); !pore_.empty() && !own.empty() && own != pore_)
      call.warn("model '" + source_ + "' says that it is of " + model.kit + " (pore " + std::string(own) +
                "), and the reads are taken for the pore " + pore_ + ": do they belong together?");
    out.set_rows(static_cast<std::int64_t>(model.level_mean.size()));
    give(out, "level_mean", model.level_mean);
    give(out, "level_stdv", model.level_stdv);
    give(out, "log_level_stdv", model.log_level_stdv);
    out.set_attribute("k", std::to_string(model.k));
    out.set_attribute("alphabet", model.alphabet == Alphabet::methylation ? "methylation" : "nucleotide");
    out.set_attribute("name", model.name.empty() ? source_ : model.name);
    out.set_attribute("source", source_);
    out.set_attribute("pore", pore_);
    out.set_attribute("motif", motif_of(model));
  }

 private:
  void give_none(Output& out) const {
    out.set_rows(0);
    for (const char* column : {"level_mean", "level_stdv", "log_level_stdv"}) give(out, column, {});
    for (const auto& [name, value] : {std::pair("k", "0"), std::pair("alphabet", alphabet_ == Alphabet::methylation ? "methylation" : "nucleotide"),
                                      std::pair("name", ""), std::pair("source", ""), std::pair("motif", "")})
      out.set_attribute(name, value);
    out.set_attribute("pore", pore_);
  }
  static void refuse_rna(const Parameters& p, const std::string& pore) {
    if (p.alphabet == "methylation" && pore.starts_with("rna"))
      throw Failure::usage("methylation is called on DNA only, and the pore '" + pore + "' is of direct RNA",
                           "give signal of DNA; if it is, and the header of the signal file is wrong, set the pore");
  }
  static std::string remedy_for(const ModelUse& use) {
    const bool methylation = use.alphabet == Alphabet::methylation;
    const std::string file = std::string(methylation ? "--methylation-model" : "--model") + " FILE";
    if (methylation && use.pore == "r10")
      return "f5c has one in its source, which the two lines below keep once and for all; or give another one with " + file +
             "; docs/methylation-models.md trains one\n    git clone --depth 1 https://github.com/hasindu2008/f5c\n    sluice model add " +
             use.name() + " f5c";
    return "give a model file: " + file + ", or once and for all: sluice model add " + use.name() + " FILE";
  }
  // "" for a chemistry that is none of signal_file's.
  static std::string pore_of(std::string_view chemistry) {
    if (chemistry == "dna_r9") return "r9";
    if (chemistry == "dna_r10") return "r10";
    if (chemistry == "rna_r9") return "rna_r9";
    if (chemistry == "rna_004") return "rna004";
    return {};
  }
  // "" for what is not known; models of nanopolish and f5c say r9.4_450bps and r9.4_70bps.
  static std::string_view pore_of_kit(std::string_view kit) {
    const auto says = [&](std::string_view part) { return kit.find(part) != std::string_view::npos; };
    if (says("rna004") || says("rna_004") || says("RNA004")) return "rna004";
    if (says("_70bps")) return "rna_r9";
    if (says("r10.4.1")) return "r10";
    return says("r9.4_450bps") ? "r9" : "";
  }
  static std::string first_file(const Batch& signal) {
    const std::string_view paths = signal.attribute("path");
    return "signal file '" + std::string(paths.substr(0, paths.find('\n'))) + "'";
  }
  // A pore that was given, for reads whose header says, without a doubt, that they are of another one.
  void warn_of_another(const Setup& setup) const {
    const Batch signal = setup.resource("signal");
    const std::string_view chemistry = signal.attribute("chemistry");
    if (chemistry.empty() || !signal.attribute("chemistry_doubt").empty() || pore_of(chemistry) == pore_) return;
    setup.warn(first_file(signal) + " says that its reads are of " + std::string(chemistry) + ", and they are taken for the pore " + pore_ +
               ": leave --pore out, unless the header is wrong");
  }
  // A header that says too little, or two things, may be of another pore's reads.
  static void warn_of_doubt(const Setup& setup) {
    const Batch signal = setup.resource("signal");
    const std::string doubt(signal.attribute("chemistry_doubt"));
    if (doubt.empty()) return;
    setup.warn(first_file(signal) + " " + doubt + ": it is taken for " + std::string(signal.attribute("chemistry")) +
               "; if it is another pore's, give --pore");
  }
  // The built-in methylation models are of CpG. "#alphabet methylation" and the like say nothing of where M can be.
  std::string motif_of(const KmerModel& model) const {
    if (model.alphabet == Alphabet::nucleotide) return "";
    if (synthetic_) return motif_.name;
    if (is_built_in_) return "cpg";
    try {
      return parse_motif(model.alphabet_name).name;
    } catch (const Failure&) {
      return "";
    }
  }
  static KmerModel synthesize(const KmerModel& nucleotide, const Motif& motif) {
    KmerModel made;
    made.k = nucleotide.k;
    made.alphabet = Alphabet::methylation;
    made.name = nucleotide.name + " with synthetic " + (motif.name == "cpg" ? "5mC" : motif.name);
    const std::size_t count = kmer_count(made.alphabet, made.k);
    made.level_mean.resize(count);
    made.level_stdv.resize(count);
    made.log_level_stdv.resize(count);
    if (!synthesize_methylation(nucleotide.view(), motif, made.level_mean, made.level_stdv, made.log_level_stdv))
      throw Failure::usage("a synthetic methylation model cannot be made for k = " + std::to_string(made.k),
                           "give a model file: --methylation-model FILE");
    return made;
  }
  static void give(Output& out, const char* name, const std::vector<float>& values) {
    const std::span<float> column = out.column<float>(name);
    std::copy(values.begin(), values.end(), column.begin());
  }

  Alphabet alphabet_;
  bool synthetic_, is_built_in_ = false;
  Motif motif_;
  std::string pore_, path_, source_;
  std::uint32_t kmer_size_;
};

// Source: the models that there are. What `sluice model` runs.
class ModelStore {
 public:
  struct Parameters {
    std::string action = "list";
    std::optional<std::string> name;
    std::optional<Path> path;
  };
  static void describe(Describe<ModelStore>& d) {
    d.id("model_store")
        .summary("keeps k-mer models of pores that have none built in, and gives those that there are")
        .source("model")
        .work_unit("row");
    d.doc(
        "Models lie as NAME.model in $XDG_DATA_HOME/sluice/models, or ~/.local/share/sluice/models. `add` checks a model and puts it there: "
        "text of nanopolish and f5c (plain, gzip or xz) as it is, the array of f5c's src/methmodel.c (f5c 1.5 and later) or src/model.h as text; a "
        "folder is a checkout of f5c. From then on kmer_model finds it where no model is built in. After the action all models "
        "are given, by name.");
    d.option("action", &Parameters::action, "what to do first").choices({"list", "add", "remove"});
    d.option("name", &Parameters::name, "the pore, with -5mc behind it for a methylation model: r10-5mc");
    d.option("path", &Parameters::path, "model file to add, C source of f5c, or a folder with a checkout of f5c").reads();
    d.gives("model_name", "utf8", "pore, with -5mc behind it for a methylation model")
        .gives("model_origin", "utf8", "built-in or added")
        .gives("model_path", "utf8", "its file");
  }
  static void check_parameters(const Parameters& p) {
    if (p.action == "list") return;
    if (!p.name || p.name->empty()) throw Failure::usage("action = \"" + p.action + "\" needs a name", "set name");
    if (p.action == "add" && (!p.path || p.path->empty())) throw Failure::usage("action = \"add\" needs a file", "set path");
  }
  ModelStore(const Setup&, const Parameters& p) : parameters_(p) {}

  bool process(const Call&, Output& out) const {
    if (parameters_.action == "add") add_model(parse_model_name(*parameters_.name), *parameters_.path);
    if (parameters_.action == "remove") remove_model(parse_model_name(*parameters_.name));
    std::vector<std::string> names, origins, paths;
    for (const KnownModel& model : known_models()) {
      names.push_back(model.use.name());
      origins.emplace_back(model.is_built_in ? "built-in" : "added");
      paths.push_back(model.path);
    }
    out.set_rows(static_cast<std::int64_t>(names.size()));
    out.text_rows("model_name", names);
    out.text_rows("model_origin", origins);
    out.text_rows("model_path", paths);
    return false;
  }

 private:
  Parameters parameters_;
};

}  // namespace
}  // namespace sluice::kmer_model

SLUICE_PLUGIN("kmer_model", "0.1.0", "MIT", sluice::kmer_model::KmerModelResource, sluice::kmer_model::ModelStore);
