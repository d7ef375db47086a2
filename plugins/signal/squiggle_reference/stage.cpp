// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <algorithm>
#include <mutex>
#include <sluice/kmer_model.hpp>
#include <sluice/squiggle_reference.hpp>
#include <sluice/stage.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "squiggle_reference/levels.hpp"

namespace sluice::squiggle_reference {
namespace {

// The expected squiggles of reference sequences.
class SquiggleReference {
 public:
  struct Parameters {
    std::string strands = "auto";
  };

  static void describe(Describe<SquiggleReference>& d) {
    d.id("squiggle_reference").summary("the levels that reference sequences are expected to give in the pore").resource("squiggle_target");
    d.doc(
        "One row per contig, in the order of the reference. The level of a k-mer is its mean current in the model, less the mean and over the "
        "standard deviation of the levels of all k-mers of all contigs on their strands, in steps of 1/16, clipped to +-63. A k-mer with a letter "
        "other than A, C, G, T has the level 63, farther than real ones, so that alignments cross one such letter at a price and no run of them. "
        "Attributes: k, steps, limit, shift and scale (pA), pore (of the model) and bases (of all contigs).\n\n"
        "Direct RNA passes the pore with its 3' end first, so levels are in the order of falling positions there. With strands = auto its targets "
        "are "
        "the contigs as they are written, 5' to 3', as transcripts are, or the strand that a region names (column region_strand of the reference); "
        "of DNA both strands.");
    d.uses("reference", "contig", "sequences to be recognised; load them with ambiguous = \"n\"");
    d.uses("model", "kmer", "the nucleotide k-mer model of the pore");
    d.gives("name", "utf8", "name of the contig");
    d.gives("forward_level", "list<i16>", "levels of the contig's k-mers, in the order in which they pass the pore; empty: not a target");
    d.gives("reverse_level", "list<i16>",
            "levels of the k-mers of its reverse complement, in the order in which they pass the pore; empty: not a target");
    d.option("strands", &Parameters::strands,
             "strands whose reads are targets; auto: both of DNA; of direct RNA the region's, or else the forward one")
        .choices({"auto", "both", "forward"});
    d.work_unit("base");
  }
  SquiggleReference(const Setup& setup, const Parameters& parameters)
      : reference_(setup.resource("reference")),
        model_(kmer_model_view(setup.resource("model"))),
        pore_(setup.resource("model").attribute("pore")),
        first_end_(first_end_of(pore_)),
        strands_(parameters.strands) {
    if (model_.alphabet != Alphabet::nucleotide)
      throw Failure::usage("the model is a methylation model", std::string("give ") + setup.instance() + " the nucleotide model");
  }

  void process(const Call& call, Output& out) const {
    const TextView names = reference_.text("name"), bases = reference_.text("bases");
    const std::int64_t contigs = reference_.rows();
    const LevelScaling scaling = scaling_of(call, bases);
    const std::vector<std::int16_t> levels = quantized_levels(model_.level_mean, scaling);

    out.set_rows(contigs);
    std::vector<std::string_view> name_rows;
    for (std::int64_t contig = 0; contig < contigs; ++contig) name_rows.push_back(names[contig]);
    out.text_rows("name", name_rows);
    const StrandLevels forward(out, "forward_level", [&](std::int64_t contig) { return levels_of(contig, Strands::forward); });
    const StrandLevels reverse(out, "reverse_level", [&](std::int64_t contig) { return levels_of(contig, Strands::reverse); });
    for (std::int64_t contig = 0; contig < contigs; ++contig) {
      const std::size_t count = kmers_of(bases[contig].size(), model_.k);
      call.parallel_for(count, std::size_t{1} << 16U, [&](std::size_t begin, std::size_t end) {
        write_levels(bases[contig], model_.k, levels, first_end_, begin, end, forward[contig], reverse[contig]);
      });
    }
    out.set_attribute("k", std::to_string(model_.k));
    out.set_attribute("steps", std::to_string(squiggle_steps));
    out.set_attribute("limit", std::to_string(squiggle_limit));
    out.set_attribute("shift", std::to_string(scaling.shift));
    out.set_attribute("scale", std::to_string(scaling.scale));
    out.set_attribute("pore", pore_);
    std::size_t all_bases = 0;
    for (std::int64_t contig = 0; contig < contigs; ++contig) all_bases += bases[contig].size();
    out.set_attribute("bases", std::to_string(all_bases));
  }

 private:
  // The levels of one strand of all contigs.
  class StrandLevels {
   public:
    template <class Size>
    StrandLevels(Output& out, const char* column, Size&& size) : offsets_(out.offsets(size)), levels_(out.list<std::int16_t>(column, offsets_)) {}
    std::span<std::int16_t> operator[](std::int64_t contig) const {
      const auto at = offsets_.as<std::int64_t>().subspan(static_cast<std::size_t>(contig), 2);
      return levels_.subspan(static_cast<std::size_t>(at[0]), static_cast<std::size_t>(at[1] - at[0]));
    }

   private:
    Buffer offsets_;
    std::span<std::int16_t> levels_;
  };

  // Strands of a contig whose reads are targets.
  Strands strands_of(std::int64_t contig) const {
    if (strands_ == "both" || (strands_ == "auto" && first_end_ == FirstEnd::five_prime)) return Strands::both;
    if (strands_ == "forward" || !reference_.has("region_strand")) return Strands::forward;
    constexpr std::uint8_t reverse_only = 2;
    return reference_.column<std::uint8_t>("region_strand")[static_cast<std::size_t>(contig)] == reverse_only ? Strands::reverse : Strands::forward;
  }
  std::size_t levels_of(std::int64_t contig, Strands strand) const {
    const Strands strands = strands_of(contig);
    return strands == Strands::both || strands == strand ? kmers_of(reference_.text("bases")[contig].size(), model_.k) : 0;
  }
  LevelScaling scaling_of(const Call& call, const TextView& bases) const {
    KmerCounts counts(model_.k);
    std::mutex mutex;  // of counts
    // A table of counts is written for each piece, which has to be worth it.
    const std::size_t piece = std::max(std::size_t{1} << 20U, counts.counts().size());
    std::size_t longest = 0;
    for (std::int64_t contig = 0; contig < reference_.rows(); ++contig) {
      longest = std::max(longest, bases[contig].size());
      call.parallel_for(kmers_of(bases[contig].size(), model_.k), piece, [&](std::size_t begin, std::size_t end) {
        KmerCounts of_piece(model_.k);
        of_piece.add(bases[contig].substr(begin, end - begin + model_.k - 1), strands_of(contig));
        const std::lock_guard lock(mutex);
        counts.add(of_piece);
      });
    }
    if (longest < model_.k)
      throw Failure::input("target '" + std::string(reference_.attribute("path")) + "': its longest sequence has " + std::to_string(longest) +
                               " bases, fewer than a k-mer of the model (" + std::to_string(model_.k) + ")",
                           "give a longer target");
    LevelScaling scaling = level_scaling(model_.level_mean, counts.counts());
    // A target of one k-mer, or of one base repeated, has no spread of its own.
    if (scaling.scale == 0) scaling = level_scaling(model_.level_mean, std::vector<std::uint64_t>(model_.level_mean.size()));
    if (scaling.scale == 0) throw Failure::input("all levels of the k-mer model are alike", "give the model of a pore");
    return scaling;
  }

  Batch reference_;
  KmerModelView model_;
  std::string pore_;
  FirstEnd first_end_;
  std::string strands_;
};

}  // namespace
}  // namespace sluice::squiggle_reference

SLUICE_PLUGIN("squiggle_reference", "0.1.0", "MIT", sluice::squiggle_reference::SquiggleReference);
