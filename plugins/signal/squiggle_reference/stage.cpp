// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <sluice/kmer_model.hpp>
#include <sluice/squiggle_reference.hpp>
#include <sluice/stage.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "squiggle_reference/levels.hpp"

namespace sluice::squiggle_reference {
namespace {

// The expected squiggles of reference sequences, on both strands.
class SquiggleReference {
 public:
  using Parameters = NoParameters;

  static void describe(Describe<SquiggleReference>& d) {
    d.id("squiggle_reference")
        .summary("the levels that reference sequences are expected to give in the pore, both strands")
        .resource("squiggle_target");
    d.doc(
        "One row per contig, in the order of the reference. The level of a k-mer is its mean current in the model, less the mean and over the "
        "standard deviation of the levels of all k-mers of all contigs on both strands, in steps of 1/16, clipped to +-63. A k-mer with a letter "
        "other than A, C, G, T has the level 63, farther than real ones, so that alignments cross one such letter at a price and no run of them. "
        "Attributes: k, steps, limit, shift and scale (pA), pore (of the model) and bases (of all contigs).\n\n"
        "For DNA: direct RNA passes the pore with its 3' end first, so its model is refused.");
    d.uses("reference", "contig", "sequences to be recognised; load them with ambiguous = \"n\"");
    d.uses("model", "kmer", "the nucleotide k-mer model of the pore");
    d.gives("name", "utf8", "name of the contig");
    d.gives("forward_level", "list<i16>", "levels of the contig's k-mers, in the order in which they pass the pore");
    d.gives("reverse_level", "list<i16>", "levels of the k-mers of its reverse complement, in the order in which they pass the pore");
    d.work_unit("base");
  }
  SquiggleReference(const Setup& setup, const Parameters&)
      : reference_(setup.resource("reference")), model_(kmer_model_view(setup.resource("model"))), pore_(setup.resource("model").attribute("pore")) {
    if (model_.alphabet != Alphabet::nucleotide)
      throw Failure::usage("the model is a methylation model", std::string("give ") + setup.instance() + " the nucleotide model");
    if (pore_.starts_with("rna"))
      throw Failure::usage("the signal is of direct RNA (" + pore_ + "), and targets are recognised in signal of DNA only: RNA passes the pore " +
                               "with its 3' end first, at another speed",
                           "give signal of DNA; if it is, and the header of the signal file is wrong, set the pore (--pore r9 or r10)");
  }

  void process(const Call& call, Output& out) const {
    const TextView names = reference_.text("name"), bases = reference_.text("bases");
    const std::int64_t contigs = reference_.rows();
    const LevelScaling scaling = scaling_of(bases);
    const std::vector<std::int16_t> levels = quantized_levels(model_.level_mean, scaling);

    out.set_rows(contigs);
    std::vector<std::string_view> name_rows;
    for (std::int64_t contig = 0; contig < contigs; ++contig) name_rows.push_back(names[contig]);
    out.text_rows("name", name_rows);
    const Buffer offsets = out.offsets([&](std::int64_t contig) { return kmers_of(bases[contig].size(), model_.k); });
    const std::span<std::int16_t> forward = out.list<std::int16_t>("forward_level", offsets);
    const std::span<std::int16_t> reverse = out.list<std::int16_t>("reverse_level", offsets);
    const std::span<const std::int64_t> at = offsets.as<std::int64_t>();
    for (std::int64_t contig = 0; contig < contigs; ++contig) {
      const auto first = static_cast<std::size_t>(at[static_cast<std::size_t>(contig)]);
      const std::size_t count = kmers_of(bases[contig].size(), model_.k);
      call.parallel_for(count, std::size_t{1} << 16U, [&](std::size_t begin, std::size_t end) {
        write_levels(bases[contig], model_.k, levels, begin, end, forward.subspan(first, count), reverse.subspan(first, count));
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
  LevelScaling scaling_of(const TextView& bases) const {
    KmerCounts counts(model_.k);
    std::size_t longest = 0;
    for (std::int64_t contig = 0; contig < reference_.rows(); ++contig) {
      counts.add(bases[contig]);
      longest = std::max(longest, bases[contig].size());
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
};

}  // namespace
}  // namespace sluice::squiggle_reference

SLUICE_PLUGIN("squiggle_reference", "0.1.0", "MIT", sluice::squiggle_reference::SquiggleReference);
