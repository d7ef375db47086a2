// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <sluice/condition.hpp>
#include <sluice/resume.hpp>
#include <sluice/stage.hpp>
#include <stdexcept>
#include <string>

#include "row_selection/bound_condition.hpp"
#include "row_selection/name_share.hpp"

namespace sluice::row_selection {
namespace {

class Where {
 public:
  struct Parameters {
    std::string condition;
  };
  // In the order of the reason() calls below.
  enum class Reason : std::uint32_t { not_true, unknown };

  static void describe(Describe<Where>& d) {
    d.id("where").summary("keeps the rows of which a condition is true").map("*").work_unit("row");
    d.doc(
        "A condition compares columns, numbers, 'texts' and len(column), of texts and lists, with ==, !=, <, <=, >, >= and in [...], and joins "
        "comparisons with and, or, not and parentheses. Numbers are computed with by +, -, * and /. A comparison with NaN is unknown, and stays so "
        "under not; rows pass only where the whole is "
        "true. "
        "The others are filtered, not bad: they are counted under their reason, and --max-bad-reads does not look at them.");
    d.needs("*", "*", "the columns that the condition names", Needed::optional);
    d.option("condition", &Parameters::condition, "mapq >= 20 and (contig in ['chr1', 'chrX'] or len(bases) > 500)").required().condition();
    d.reason("not_true", "the condition is not true of the row");
    d.reason("unknown", "a number that decides is NaN");
  }

  Where(const Setup&, const Parameters& p) : condition_(parse_condition(p.condition)) {}

  void process(const Call&, const Batch& in, Output& out) {
    const BoundCondition condition(condition_, in);
    for (std::int64_t row = 0; row < in.rows(); ++row) {
      if (!in.ok(row)) continue;
      const Truth truth = condition.of(row);
      if (truth != Truth::yes) out.filter(row, truth == Truth::no ? Reason::not_true : Reason::unknown);
    }
  }

 private:
  ConditionNode condition_;
};

class Head {
 public:
  struct Parameters {
    std::int64_t rows = 0;
  };
  enum class Reason : std::uint32_t { behind_the_last };

  static void describe(Describe<Head>& d) {
    d.id("head").summary("keeps the first rows").map("*").work_unit("row").ordered();
    d.doc(
        "The first rows that arrive without having failed or been filtered before. When they are there, and all that the source gives comes through "
        "this "
        "stage, the source is not read on. Rows that had been read by then are filtered: how many there are depends on the size of the batches.");
    d.option("rows", &Parameters::rows, "so many").required().range(0, 0x1p53);
    d.reason("behind_the_last", "the rows that were asked for are there already");
  }

  Head(const Setup& setup, const Parameters& p) : left_(p.rows) {
    resume(setup, [this](StateReader& from) { left_ = from.value<std::int64_t>(); });
  }

  // False: no more rows are needed.
  bool process(const Call&, const Batch& in, Output& out) {
    for (std::int64_t row = 0; row < in.rows(); ++row) {
      if (!in.ok(row)) continue;
      if (left_ > 0)
        --left_;
      else
        out.filter(row, Reason::behind_the_last);
    }
    return left_ > 0;
  }
  void save(const Call&, StateWriter& to) const { to.value(left_); }

 private:
  std::int64_t left_;
};

class Sample {
 public:
  struct Parameters {
    double fraction = 0;
    std::int64_t seed = 11;
    std::string column = "read_id";
  };
  enum class Reason : std::uint32_t { not_drawn };

  static void describe(Describe<Sample>& d) {
    d.id("sample").summary("keeps a share of the rows, drawn by their names").map("*").work_unit("row");
    d.doc(
        "A hash of the row's name and the seed decides: the same names are drawn in every order, batch and run, all rows of one name or none, and a "
        "smaller "
        "fraction of the same seed is a part of a larger one. So many rows are kept as the fraction says on average, not exactly.");
    d.needs("*", "*", "the column with the names", Needed::optional);
    d.option("fraction", &Parameters::fraction, "share of the names that are kept").required().range(0, 1);
    d.option("seed", &Parameters::seed, "another seed draws others").range(0, 0x1p53);
    d.option("column", &Parameters::column, "text column with the names").columns();
    d.reason("not_drawn", "the row's name is not in the sample");
  }

  static void check_parameters(const Parameters& p) {
    if (p.column.find(',') != std::string::npos) throw Failure::usage("column names more than one column", "name the one that has the names");
  }

  Sample(const Setup&, const Parameters& p) : p_(p) {}

  void process(const Call&, const Batch& in, Output& out) {
    const sluice_column* column = in.find(p_.column);
    if (column == nullptr) throw std::logic_error("a batch lacks the column '" + p_.column + "', which the plan has seen");
    const std::string_view type = column->type;
    if (type != "utf8" && type != "binary")
      throw Failure::usage("column '" + p_.column + "' holds no texts but " + column->type, "name the column that has the rows' names");
    const TextView names = in.text(p_.column);
    for (std::int64_t row = 0; row < in.rows(); ++row)
      if (in.ok(row) && !is_in_share(names[row], static_cast<std::uint64_t>(p_.seed), p_.fraction)) out.filter(row, Reason::not_drawn);
  }

 private:
  Parameters p_;
};

}  // namespace
}  // namespace sluice::row_selection

SLUICE_PLUGIN("row_selection", "0.1.0", "MIT", sluice::row_selection::Where, sluice::row_selection::Head, sluice::row_selection::Sample);
