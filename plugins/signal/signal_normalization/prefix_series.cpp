// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "signal_normalization/prefix_series.hpp"

#include <algorithm>
#include <charconv>
#include <sluice/resume.hpp>
#include <string_view>

namespace sluice::signal_normalization {

void PrefixSeries::describe(Describe<PrefixSeries>& d) {
  d.id("prefix_series")
      .summary("gives each read once for each of several lengths of its prefix")
      .regroup("read", "read")
      .concatenates()
      .rows_named_by("read_id")
      .work_unit("sample");
  d.doc("For calibration: what comes after it sees the same read with every prefix_bases. Failed reads are left out.");
  d.needs("read_id", "utf8", "identifier").needs("raw_signal", "list<i16>", "samples of the converter");
  d.needs("digitisation", "f64", "number of the converter's levels").needs("range", "f64", "the converter's range, pA");
  d.needs("sampling_rate", "f64", "Hz");
  d.needs("sample_count", "i64", "samples of the whole read: beginnings are refused", Needed::optional);
  d.gives("read_id", "utf8", "identifier").gives("raw_signal", "list<i16>", "samples of the converter, all of them");
  d.gives("digitisation", "f64", "number of the converter's levels").gives("range", "f64", "the converter's range, pA");
  d.gives("sampling_rate", "f64", "Hz").gives("prefix_bases", "f64", "signal to use of this row, behind the adapter, in bases");
  d.option("prefix_bases", &Parameters::prefix_bases, "lengths, separated by commas, ascending").unit("bases");
}

namespace {

std::vector<double> ascending_lengths(const std::string& list) {
  std::vector<double> lengths;
  std::string_view rest = list;
  const auto refuse = [&] { throw Failure::usage("prefix_bases '" + list + "' is no ascending list of positive numbers", "for example 50,100,250"); };
  for (bool more = true; more;) {
    const std::size_t end = std::min(rest.find(','), rest.size());
    double bases = 0;
    const auto [parsed, error] = std::from_chars(rest.data(), rest.data() + end, bases);
    if (error != std::errc() || parsed != rest.data() + end || !(bases > 0) || bases > 1e6) refuse();
    if (!lengths.empty() && bases <= lengths.back()) refuse();
    lengths.push_back(bases);
    more = end < rest.size();
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return lengths;
}

}  // namespace

void PrefixSeries::check_parameters(const Parameters& parameters) { ascending_lengths(parameters.prefix_bases); }

PrefixSeries::PrefixSeries(const Setup& setup, const Parameters& parameters) : prefix_bases_(ascending_lengths(parameters.prefix_bases)) {
  resume(setup);
}

void PrefixSeries::process(const Call&, const Batch& in, Output& out) const {
  std::vector<std::int64_t> from;  // the input's row of each row
  for (std::int64_t row = 0; row < in.rows(); ++row)
    if (in.ok(row)) from.insert(from.end(), prefix_bases_.size(), row);
  if (from.empty()) return;
  out.set_rows(static_cast<std::int64_t>(from.size()));
  const TextView read_id = in.text("read_id");
  std::vector<std::string_view> ids;
  for (const std::int64_t row : from) ids.push_back(read_id[row]);
  out.text_rows("read_id", ids);
  const ListView<std::int16_t> raw_signal = in.list<std::int16_t>("raw_signal");
  if (in.has("sample_count"))
    for (const std::int64_t row : from)
      if (static_cast<std::int64_t>(raw_signal[row].size()) < in.column<std::int64_t>("sample_count")[static_cast<std::size_t>(row)])
        throw Failure::usage("only the beginning of a read was decoded, and prefix_series takes whole reads",
                             "leave prefix_bases of signal_decode out");
  const Buffer offsets = out.offsets([&](std::int64_t row) { return raw_signal[from[static_cast<std::size_t>(row)]].size(); });
  const std::span<std::int16_t> samples = out.list<std::int16_t>("raw_signal", offsets);
  for (std::size_t i = 0; i < from.size(); ++i)
    std::copy(raw_signal[from[i]].begin(), raw_signal[from[i]].end(), samples.begin() + offsets.as<std::int64_t>()[i]);
  for (const char* name : {"digitisation", "range", "sampling_rate"}) {
    const std::span<const double> values = in.column<double>(name);
    const std::span<double> copies = out.column<double>(name);
    for (std::size_t i = 0; i < from.size(); ++i) copies[i] = values[static_cast<std::size_t>(from[i])];
  }
  const std::span<double> prefix_bases = out.column<double>("prefix_bases");
  for (std::size_t i = 0; i < from.size(); ++i) prefix_bases[i] = prefix_bases_[i % prefix_bases_.size()];
  out.set_work(static_cast<double>(samples.size()));
  out.emit();
}

}  // namespace sluice::signal_normalization
