// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Shows: a stage in C++ built out of tree, in parallel over rows, with an option and a reason to fail.
// Run: cmake -B build -DCMAKE_PREFIX_PATH=PREFIX && cmake --build build && sluice inspect base_composition --plugin-dir build
#include <algorithm>
#include <sluice/stage.hpp>
#include <string_view>

class BaseComposition {
 public:
  struct Parameters {
    double max_n_share = 1.0;
  };
  enum class Reason : std::uint32_t { too_many_n };

  static void describe(sluice::Describe<BaseComposition>& d) {
    d.id("base_composition").summary("share of G and C, and of N, in every read").map("read").work_unit("base");
    d.doc("Both shares are of all letters of the read; for an empty read they are 0.");
    d.needs("bases", "utf8", "the read").gives("gc_share", "f64", "0 to 1").gives("n_share", "f64", "0 to 1");
    d.option("max_n_share", &Parameters::max_n_share, "reads with more N fail").range(0, 1);
    d.reason("too_many_n", "more N than max_n_share");
  }

  BaseComposition(const sluice::Setup&, const Parameters& parameters) : parameters_(parameters) {}

  void process(const sluice::Call& call, const sluice::Batch& in, sluice::Output& out) {
    const auto bases = in.text("bases");
    const auto gc = out.column<double>("gc_share"), n = out.column<double>("n_share");
    call.parallel_for(static_cast<std::size_t>(in.rows()), 16, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        const auto row = static_cast<std::int64_t>(i);
        if (!in.ok(row) || bases[row].empty()) continue;
        const std::string_view read = bases[row];
        const auto length = static_cast<double>(read.size());
        gc[i] = static_cast<double>(std::count_if(read.begin(), read.end(), [](char base) { return base == 'G' || base == 'C'; })) / length;
        n[i] = static_cast<double>(std::count(read.begin(), read.end(), 'N')) / length;
        if (n[i] > parameters_.max_n_share) out.fail(row, Reason::too_many_n);
      }
    });
  }

 private:
  Parameters parameters_;
};

SLUICE_PLUGIN("base_composition", "1.0.0", "MIT", BaseComposition);
