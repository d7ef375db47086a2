// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Shows: a stage that changes reads. Columns are immutable, so it takes reads and gives other reads: a regroup from read to read.
// Run: cmake -B build -DCMAKE_PREFIX_PATH=PREFIX && cmake --build build && sluice inspect trim_ends --plugin-dir build
#include <sluice/stage.hpp>
#include <string_view>
#include <vector>

class TrimEnds {
 public:
  struct Parameters {
    std::int64_t bases = 50;
  };
  enum class Reason : std::uint32_t { too_short };

  static void describe(sluice::Describe<TrimEnds>& d) {
    d.id("trim_ends").summary("cuts bases off both ends of every read").regroup("read", "read").work_unit("base");
    d.doc("Adapters lie at the ends. Reads of which nothing is left are dropped.");
    d.needs("read_id", "utf8", "").needs("bases", "utf8", "");
    d.gives("read_id", "utf8", "as it was").gives("bases", "utf8", "what is left of the read");
    d.option("bases", &Parameters::bases, "cut off each end").range(0, 1e6).unit("bases");
    d.reason("too_short", "nothing is left of the read");
  }

  TrimEnds(const sluice::Setup&, const Parameters& parameters) : end_(static_cast<std::size_t>(parameters.bases)) {}

  void process(const sluice::Call& call, const sluice::Batch& in, sluice::Output& out) {
    const auto names = in.text("read_id"), bases = in.text("bases");
    std::vector<std::string_view> kept_names, kept_bases;
    for (std::int64_t row = 0; row < in.rows(); ++row) {
      if (!in.ok(row)) continue;
      if (bases[row].size() <= 2 * end_) {
        call.account(Reason::too_short, 1, std::string(names[row]));
        continue;
      }
      kept_names.push_back(names[row]);
      kept_bases.push_back(bases[row].substr(end_, bases[row].size() - 2 * end_));
    }
    if (kept_names.empty()) return;
    out.set_rows(static_cast<std::int64_t>(kept_names.size()));
    out.text_rows("read_id", kept_names);
    out.text_rows("bases", kept_bases);
    out.emit();
  }

 private:
  std::size_t end_;
};

SLUICE_PLUGIN("trim_ends", "1.0.0", "MIT", TrimEnds);
