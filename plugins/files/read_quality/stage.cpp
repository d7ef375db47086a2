// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <cmath>
#include <limits>
#include <sluice/sequence/mean_quality.hpp>
#include <sluice/stage.hpp>
#include <string_view>

namespace sluice::read_quality {
namespace {

// NaN: there is no letter of A, C, G, T and U.
double gc_share(std::string_view bases) {
  std::size_t gc = 0, at = 0;
  for (const char base : bases) {
    const char letter = static_cast<char>(base & ~0x20);
    gc += letter == 'G' || letter == 'C' ? 1 : 0;
    at += letter == 'A' || letter == 'T' || letter == 'U' ? 1 : 0;
  }
  return gc + at == 0 ? std::numeric_limits<double>::quiet_NaN() : static_cast<double>(gc) / static_cast<double>(gc + at);
}

class ReadQuality {
 public:
  struct Parameters {};
  static void describe(Describe<ReadQuality>& d) {
    d.id("read_quality").summary("mean quality, share of G and C, and length of each read").map("read").work_unit("base");
    d.doc(
        "The mean quality is that of basecallers, -10 log10 of the mean probability of an error, not the mean of the qualities. Each column is "
        "computed if a stage behind asks for it, say where: mean_quality >= 10 and read_bases >= 500.");
    d.needs("bases", "utf8", "the read").needs("qualities", "utf8", "Phred + 33", Needed::optional);
    d.gives("mean_quality", "f64", "-10 log10 of the mean probability of an error; NaN without qualities", Needed::optional);
    d.gives("gc_share", "f64", "G and C among A, C, G, T and U; NaN without any of them", Needed::optional);
    d.gives("read_bases", "i64", "bases of the read", Needed::optional);
  }

  ReadQuality(const Setup& setup, const Parameters&)
      : has_qualities_(setup.available("qualities")),
        wants_quality_(setup.wanted("mean_quality")),
        wants_gc_(setup.wanted("gc_share")),
        wants_bases_(setup.wanted("read_bases")) {}

  void process(const Call& call, const Batch& in, Output& out) const {
    const TextView bases = in.text("bases"), qualities = in.text(has_qualities_ ? "qualities" : "bases");
    const auto column = [&]<class T>(bool wanted, const char* name, T) { return wanted ? out.column<T>(name) : std::span<T>(); };
    const auto quality = column(wants_quality_, "mean_quality", double{}), gc = column(wants_gc_, "gc_share", double{});
    const auto length = column(wants_bases_, "read_bases", std::int64_t{});
    call.parallel_for(static_cast<std::size_t>(in.rows()), 16, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        const auto row = static_cast<std::int64_t>(i);
        if (!in.ok(row)) continue;
        const std::string_view text = has_qualities_ ? qualities[row] : std::string_view();
        if (wants_quality_) quality[i] = text.empty() ? std::numeric_limits<double>::quiet_NaN() : mean_quality(text);
        if (wants_gc_) gc[i] = gc_share(bases[row]);
        if (wants_bases_) length[i] = static_cast<std::int64_t>(bases[row].size());
      }
    });
  }

 private:
  bool has_qualities_, wants_quality_, wants_gc_, wants_bases_;
};

}  // namespace
}  // namespace sluice::read_quality

SLUICE_PLUGIN("read_quality", "0.1.0", "MIT", sluice::read_quality::ReadQuality);
