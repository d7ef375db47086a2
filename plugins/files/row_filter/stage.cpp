// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <charconv>
#include <optional>
#include <sluice/stage.hpp>
#include <stdexcept>
#include <string>
#include <string_view>

namespace sluice::row_filter {
namespace {

class RowFilter {
 public:
  struct Parameters {
    std::string column;
    std::optional<double> minimum, maximum;
    std::optional<std::string> equals;
  };
  // In the order of the reason() calls below.
  enum class Reason : std::uint32_t { below_minimum, above_maximum, not_equal };

  static void describe(Describe<RowFilter>& d) {
    d.id("row_filter").summary("keeps the rows whose value in a column is in a range, or equal to one").map("*").work_unit("row");
    d.doc(
        "minimum and maximum are compared with a number, and with the length of a text (letters) or of a list (values). Rows that do not pass are "
        "filtered, not bad: they are counted under their reason, and --max-bad-reads does not look at them.");
    d.needs("*", "*", "the column that is looked at", Needed::optional);
    d.option("column", &Parameters::column, "the column that is looked at").required().columns();
    d.option("minimum", &Parameters::minimum, "rows with less are filtered");
    d.option("maximum", &Parameters::maximum, "rows with more are filtered");
    d.option("equals", &Parameters::equals, "rows with another number or text are filtered");
    d.reason("below_minimum", "the value is less than minimum, or no number");
    d.reason("above_maximum", "the value is more than maximum");
    d.reason("not_equal", "the value is not what equals says");
  }

  static void check_parameters(const Parameters& p) {
    if (p.column.find(',') != std::string::npos) throw Failure::usage("column names more than one column", "use a row_filter for each");
    if (!p.minimum && !p.maximum && !p.equals) throw Failure::usage("nothing is asked of the column", "give minimum, maximum or equals");
    if (p.minimum && p.maximum && *p.minimum > *p.maximum) throw Failure::usage("minimum is above maximum", "exchange them");
  }

  RowFilter(const Setup&, const Parameters& p) : p_(p) {}

  void process(const Call&, const Batch& in, Output& out) {
    const sluice_column* column = in.find(p_.column);
    if (column == nullptr) throw std::logic_error("a batch lacks the column '" + p_.column + "', which the plan has seen");
    const std::string_view type = column->type;
    if (type == "utf8" || type == "binary") return filter_text(in, out);
    if (type.starts_with("list<")) return filter_lists(in, *column, out);
    if (type == "i8") return filter_numbers<std::int8_t>(in, out);
    if (type == "u8") return filter_numbers<std::uint8_t>(in, out);
    if (type == "i16") return filter_numbers<std::int16_t>(in, out);
    if (type == "u16") return filter_numbers<std::uint16_t>(in, out);
    if (type == "i32") return filter_numbers<std::int32_t>(in, out);
    if (type == "u32") return filter_numbers<std::uint32_t>(in, out);
    if (type == "i64") return filter_numbers<std::int64_t>(in, out);
    if (type == "u64") return filter_numbers<std::uint64_t>(in, out);
    if (type == "f32") return filter_numbers<float>(in, out);
    filter_numbers<double>(in, out);
  }

 private:
  std::optional<Reason> out_of_range(double value) const {
    if (p_.minimum && !(value >= *p_.minimum)) return Reason::below_minimum;
    if (p_.maximum && !(value <= *p_.maximum)) return Reason::above_maximum;
    return std::nullopt;
  }
  template <class ReasonOf>
  static void filter(const Batch& in, Output& out, ReasonOf&& reason_of) {
    for (std::int64_t row = 0; row < in.rows(); ++row)
      if (in.ok(row))
        if (const std::optional<Reason> reason = reason_of(row)) out.filter(row, *reason);
  }

  template <Element T>
  void filter_numbers(const Batch& in, Output& out) const {
    T wanted{};
    if (p_.equals) {
      const char* end = p_.equals->data() + p_.equals->size();
      const auto parsed = std::from_chars(p_.equals->data(), end, wanted);
      if (parsed.ec != std::errc() || parsed.ptr != end)
        throw Failure::usage("equals: column '" + p_.column + "' holds no '" + *p_.equals + "'", "give a number of its type: sluice plan shows it");
    }
    const auto values = in.column<T>(p_.column.c_str());
    filter(in, out, [&](std::int64_t row) -> std::optional<Reason> {
      const T value = values[static_cast<std::size_t>(row)];
      if (const auto reason = out_of_range(static_cast<double>(value))) return reason;
      return p_.equals && !(value == wanted) ? std::optional(Reason::not_equal) : std::nullopt;
    });
  }
  void filter_text(const Batch& in, Output& out) const {
    const TextView texts = in.text(p_.column.c_str());
    filter(in, out, [&](std::int64_t row) -> std::optional<Reason> {
      if (const auto reason = out_of_range(static_cast<double>(texts[row].size()))) return reason;
      return p_.equals && texts[row] != *p_.equals ? std::optional(Reason::not_equal) : std::nullopt;
    });
  }
  void filter_lists(const Batch& in, const sluice_column& column, Output& out) const {
    if (p_.equals) throw Failure::usage("equals: column '" + p_.column + "' holds lists", "give minimum or maximum, which look at their lengths");
    const auto* offsets = static_cast<const std::int64_t*>(column.array->buffers[1]) + column.array->offset;
    filter(in, out, [&](std::int64_t row) { return out_of_range(static_cast<double>(offsets[row + 1] - offsets[row])); });
  }

  Parameters p_;
};

}  // namespace
}  // namespace sluice::row_filter

SLUICE_PLUGIN("row_filter", "0.1.0", "MIT", sluice::row_filter::RowFilter);
