// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The resource squiggle_index, and what the stages see of it. Private to the plugin.

#include <charconv>
#include <cstdint>
#include <memory>
#include <sluice/squiggle_reference.hpp>
#include <sluice/stage.hpp>
#include <string>
#include <string_view>

#include "signal_seeding/search_choice.hpp"
#include "signal_seeding/squiggle_index.hpp"

namespace sluice::signal_seeding {

class SquiggleIndexResource {
 public:
  struct Parameters {
    std::string search = "auto";
    std::int32_t run = 0;
    std::int32_t symbol_bits = IndexParameters().symbol_bits;
    std::int32_t least_difference = IndexParameters().least_difference;
  };

  static void describe(Describe<SquiggleIndexResource>& d) {
    d.id("squiggle_index").summary("where runs of events lie in the expected signal of the targets").resource("squiggle_index").work_unit("level");
    d.doc(
        "Expected levels of neighbouring k-mers that are alike are one event; levels of events are written as symbols that are equally frequent; "
        "runs of "
        "symbols are looked up by signal_seeding (the idea of RawHash, Firtina et al. 2023). One row, everything in list columns. Attributes: search "
        "(what was "
        "chosen: sdtw has no index), symbol_bits, run (events of a seed), bucket_bits, position_bits, least_difference.\n\n"
        "With search = auto the targets decide: what costs sdtw more than 20 ms a read of 250 bases (45 Gcells/s, one core), targets of some 600,000 "
        "bases, is "
        "looked up, and sdtw aligns where seeds say. The choice does not depend on the machine, since it may change results.");
    d.uses("target", "squiggle_target", "expected levels of the targets, both strands");
    d.option("search", &Parameters::search, "sdtw: align to all of the targets; seeds: only where runs of events agree; auto: by what it would cost")
        .choices({"auto", "sdtw", "seeds"});
    d.option("run", &Parameters::run, "events of a seed; 0: so many that there are two to sixteen times as many seeds as columns").range(0, 16);
    d.option("symbol_bits", &Parameters::symbol_bits, "levels of events are written as one of 2^n symbols").range(1, 4);
    d.option("least_difference", &Parameters::least_difference, "levels that differ less are one event, in 1/64 standard deviations").range(0, 252);
    d.gives("block_begin", "list<u64>", "first entry of every 65,536th bucket, and the end of all")
        .gives("bucket_begin", "list<u32>", "first entry of each bucket, from its block's on")
        .gives("entry", "list<u32>", "check << position_bits | column of a run's last event, lower 32 bits")
        .gives("entry_high", "list<u8>", "upper 8 bits; empty if there are none")
        .gives("seed_present", "list<u64>", "a bit for each seed: it has an entry; empty: not known")
        .gives("strand_begin", "list<i64>", "first column of each strand of each target, and the end of the last")
        .gives("symbol_border", "list<i16>", "levels that part the symbols, steps of 1/64")
        .gives("columns_per_event", "list<f64>", "one number: k-mers of an event, mean");
  }
  SquiggleIndexResource(const Setup& setup, const Parameters& parameters) : target_(setup.resource("target")), search_(parameters.search) {
    parameters_.run = parameters.run;
    parameters_.symbol_bits = parameters.symbol_bits;
    parameters_.least_difference = parameters.least_difference;
  }

  void process(const Call& call, Output& out) const {
    const SquiggleReferenceView reference(target_);
    const std::vector<Strand> strands = strands_of(reference);
    const SearchChoice choice = choose_search(search_, reference.levels(), parameters_);
    call.info(choice.reason);
    auto index = std::make_shared<SquiggleIndex>();
    if (choice.search == Search::seeds) {
      const SeedForm form = seed_form(reference.levels(), parameters_);
      if (form.entry_bits() > most_entry_bits || form.seed_bits() > most_seed_bits)
        throw Failure::usage("seeds of " + std::to_string(form.run) + " events of " + std::to_string(form.symbol_bits) + " bits in " +
                                 std::to_string(reference.levels()) + " levels do not fit the index",
                             "give a smaller run or symbol_bits, or less of a target");
      *index = build_index(strands, parameters_, [&call](std::size_t count, const std::function<void(std::size_t)>& body) {
        call.parallel_for(count, 1, [&](std::size_t begin, std::size_t end) {
          if (call.cancelled()) throw Failure(SLUICE_ERROR_CANCELLED, "making the squiggle index was cancelled");
          for (std::size_t i = begin; i < end; ++i) body(i);
        });
      });
    }
    out.set_rows(1);
    const auto give = [&]<class T>(const char* name, std::span<T> values) {
      static const T none{};
      const Buffer offsets = out.offsets([&](std::int64_t) { return values.size(); });
      out.add(name, list_column<T>(1, offsets, Buffer::adopt(index, values.empty() ? &none : values.data(), values.size() * sizeof(T))));
    };
    give("block_begin", std::span(index->block_begin));
    give("bucket_begin", index->bucket_begin.span());
    give("entry", index->entry.span());
    give("entry_high", index->entry_high.span());
    give("seed_present", index->seed_present.span());
    give("strand_begin", std::span(index->strand_begin));
    give("symbol_border", std::span(index->borders));
    give("columns_per_event", std::span(index->columns_per_event));
    const auto say = [&](const char* name, std::int32_t number) { out.set_attribute(name, std::to_string(number)); };
    out.set_attribute("search", choice.search == Search::seeds ? "seeds" : "sdtw");
    say("symbol_bits", index->form.symbol_bits);
    say("run", index->form.run);
    say("bucket_bits", index->form.bucket_bits);
    say("position_bits", index->form.position_bits);
    say("least_difference", index->least_difference);
  }

 private:
  Batch target_;
  std::string search_;
  IndexParameters parameters_;
};

// Is the search by seeds? Throws Failure if the batch is not of this plugin.
inline bool is_by_seeds(const Batch& resource) { return resource.attribute("search") == "seeds"; }

// The arrays belong to the resource.
inline SquiggleIndexView index_view(const Batch& resource) {
  const auto number = [&](std::string_view attribute) {
    const std::string_view text = resource.attribute(attribute);
    std::int32_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size())
      throw Failure::input("the squiggle index has no " + std::string(attribute), "use the resource squiggle_index of this version");
    return value;
  };
  SquiggleIndexView view;
  view.form = {number("symbol_bits"), number("run"), number("bucket_bits"), number("position_bits")};
  view.least_difference = number("least_difference");
  view.borders = resource.list<std::int16_t>("symbol_border")[0];
  view.block_begin = resource.list<std::uint64_t>("block_begin")[0];
  view.bucket_begin = resource.list<std::uint32_t>("bucket_begin")[0];
  view.entry = resource.list<std::uint32_t>("entry")[0];
  view.entry_high = resource.list<std::uint8_t>("entry_high")[0];
  view.seed_present = resource.list<std::uint64_t>("seed_present")[0];
  view.strand_begin = resource.list<std::int64_t>("strand_begin")[0];
  const auto columns_per_event = resource.list<double>("columns_per_event")[0];
  if (!columns_per_event.empty()) view.columns_per_event = columns_per_event[0];
  return view;
}

}  // namespace sluice::signal_seeding
