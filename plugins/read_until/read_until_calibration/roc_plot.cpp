// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "read_until_calibration/roc_plot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>

namespace sluice::read_until_calibration {
namespace {

constexpr double left = 70, top = 20, width = 560, height = 400;
constexpr double least_rate = 0.001;

double x_of(double rate) { return left + width * (1 - std::log10(std::max(rate, least_rate)) / std::log10(least_rate)); }
double y_of(double recall) { return top + height * (1 - recall); }

// Colours that people with any colour vision can tell apart (Okabe and Ito 2008).
constexpr std::array colours = {"#000000", "#E69F00", "#56B4E9", "#009E73", "#0072B2", "#D55E00", "#CC79A7"};

void append_axes(std::string& svg) {
  const auto out = std::back_inserter(svg);
  fmt::format_to(out, "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"none\" stroke=\"#000\"/>\n", left, top, width, height);
  for (const double rate : {0.001, 0.01, 0.1, 1.0})
    fmt::format_to(out,
                   "<line x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1}\" y2=\"{2}\" stroke=\"#ccc\"/><text x=\"{0:.1f}\" y=\"{3}\" "
                   "text-anchor=\"middle\">{4} %</text>\n",
                   x_of(rate), top, top + height, top + height + 18, rate * 100);
  for (const double recall : {0.0, 0.2, 0.4, 0.6, 0.8, 1.0})
    fmt::format_to(
        out,
        "<line x1=\"{0}\" x2=\"{1}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\" stroke=\"#ccc\"/><text x=\"{3}\" y=\"{4:.1f}\" text-anchor=\"end\">{5} %</text>\n",
        left, left + width, y_of(recall), left - 6, y_of(recall) + 4, recall * 100);
  fmt::format_to(out, "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">false positive rate</text>\n", left + width / 2, top + height + 40);
  fmt::format_to(out, "<text transform=\"translate(16,{}) rotate(-90)\" text-anchor=\"middle\">recall</text>\n", top + height / 2);
}

// A curve goes along before it goes up. Only its corners are drawn.
void append_curve(std::string& svg, const RocCurve& curve) {
  const auto out = std::back_inserter(svg);
  const auto corner = [&](double rate, double recall) { fmt::format_to(out, "{:.1f},{:.1f} ", x_of(rate), y_of(recall)); };
  for (std::size_t i = 0; i < curve.points.size(); ++i) {
    const OperatingPoint& now = curve.points[i];
    const bool first = i == 0, last = i + 1 == curve.points.size();
    if (!first && now.false_positive_rate != curve.points[i - 1].false_positive_rate) corner(now.false_positive_rate, curve.points[i - 1].recall);
    if (first || last || curve.points[i + 1].false_positive_rate != now.false_positive_rate) corner(now.false_positive_rate, now.recall);
  }
}

}  // namespace

std::string roc_plot(const ScoresByPrefix& scores) {
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" font-family=\"sans-serif\" font-size=\"12\">\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n",
      left + width + 30, top + height + 55);
  append_axes(svg);
  const auto out = std::back_inserter(svg);
  std::size_t drawn = 0;
  for (const auto& [bases, prefix] : scores) {
    const RocCurve curve = roc_curve(prefix.scores);
    if (curve.targets == 0 || curve.others == 0) continue;
    const char* colour = colours[drawn % colours.size()];
    fmt::format_to(out, "<polyline fill=\"none\" stroke=\"{}\" stroke-width=\"1.5\" points=\"", colour);
    append_curve(svg, curve);
    const double y = top + height - 20 - 18 * static_cast<double>(drawn);
    fmt::format_to(out,
                   "\"/>\n<line x1=\"{0}\" x2=\"{1}\" y1=\"{2}\" y2=\"{2}\" stroke=\"{3}\" stroke-width=\"2\"/><text x=\"{4}\" y=\"{5}\">{6} bases, "
                   "area {7:.4f}</text>\n",
                   left + width - 190, left + width - 165, y, colour, left + width - 158, y + 4, bases, curve.area);
    ++drawn;
  }
  return svg + "</svg>\n";
}

}  // namespace sluice::read_until_calibration
